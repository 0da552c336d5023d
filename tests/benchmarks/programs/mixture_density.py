"""A mixture density network: one input, several outputs; a loss of one's own as a gluon Loss and
its gradient through logsumexp.
"""

import math

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

rng = np.random.RandomState(17)
y = rng.uniform(-10, 10, (300, 1)).astype("float32")
x = np.sin(0.75 * y) * 7 + y * 0.5 + rng.normal(0, 1, y.shape)
data = gluon.data.ArrayDataset(nd.array(x / 10), nd.array(y / 10))


class MDN(gluon.HybridBlock):
    def __init__(self, components=4, hidden=20, **kwargs):
        super(MDN, self).__init__(**kwargs)
        with self.name_scope():
            self.hidden = nn.Dense(hidden, activation="tanh")
            self.alpha, self.mu, self.sigma = (
                nn.Dense(components),
                nn.Dense(components),
                nn.Dense(components),
            )

    def hybrid_forward(self, F, x):
        h = self.hidden(x)
        return F.log_softmax(self.alpha(h)), self.mu(h), F.exp(self.sigma(h))


class MDNLoss(gluon.loss.Loss):
    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super(MDNLoss, self).__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, log_alpha, mu, sigma, y, sample_weight=None):
        z = F.broadcast_sub(mu, y) / sigma
        log = log_alpha - 0.5 * z**2 - F.log(sigma) - 0.5 * math.log(2 * math.pi)
        top = F.max(log, axis=1, keepdims=True)
        loss = -(F.log(F.sum(F.exp(F.broadcast_sub(log, top)), axis=1, keepdims=True)) + top)
        loss = gluon.loss._apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


net, criterion = MDN(), MDNLoss(weight=0.5)
net.initialize()
net(nd.zeros((1, 1)))
for p in net.collect_params().values():
    p.set_data(nd.array(rng.normal(0, 0.5, p.shape)))
net.hybridize()
criterion.hybridize()
trainer = gluon.Trainer(net.collect_params(), mx.optimizer.create("nadam", learning_rate=0.01))
loader = gluon.data.DataLoader(
    data, batch_sampler=gluon.data.BatchSampler(gluon.data.SequentialSampler(300), 50, "keep")
)
for epoch in range(12):
    total = 0
    for a, b in loader:
        with autograd.record():
            loss = criterion(*net(a), b)
        loss.backward()
        trainer.step(a.shape[0])
        total += loss.mean().asscalar()
    if epoch % 3 == 0:
        print(epoch, "%.4f" % (total / len(loader)))
log_alpha, mu, sigma = net(nd.array([[0.1]]))
print("%.4f" % nd.exp(log_alpha).sum().asscalar(), mu.shape, bool((sigma > 0).min().asscalar()))
weighted = MDNLoss(weight=0.5)(*net(a), b, nd.ones((50, 1)) * 2)
print("%.4f" % (weighted / criterion(*net(a), b)).mean().asscalar())
choice = nd.sample_multinomial(nd.exp(log_alpha), shape=200)
print(choice.shape, choice.dtype, int(choice.max().asscalar()) < 4)
