"""A capsule network: squash, dynamic routing with batch_dot by hand, margin loss; layers with
parameters of their own.
"""

import mxnet as mx
import numpy as np
from mxnet import gluon, nd
from mxnet.gluon import nn

rng = np.random.RandomState(21)


def squash(vec, axis):
    n2 = nd.sum(nd.square(vec), axis=axis, keepdims=True)
    return nd.broadcast_mul(vec, n2 / (1 + n2) / nd.sqrt(n2 + 1e-9))


class PrimaryCaps(nn.Block):
    def __init__(self, dim, channels, **kwargs):
        super(PrimaryCaps, self).__init__(**kwargs)
        self.dim = dim
        with self.name_scope():
            self.conv = nn.Conv2D(dim * channels, kernel_size=(5, 5), strides=2)

    def forward(self, x):
        out = self.conv(x)
        return squash(out.reshape((0, self.dim, -1)), axis=1)


class DigitCaps(nn.Block):
    def __init__(self, num_in, dim_in, num_out, dim_out, routing=3, **kwargs):
        super(DigitCaps, self).__init__(**kwargs)
        self.num_in, self.num_out, self.routing = num_in, num_out, routing
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(1, num_in, num_out, dim_in, dim_out), init=mx.init.Normal(0.1)
            )

    def forward(self, x):
        batch = x.shape[0]
        u = x.transpose((0, 2, 1)).expand_dims(2).expand_dims(4)
        u = nd.repeat(u, repeats=self.num_out, axis=2)
        w = nd.repeat(self.weight.data(), repeats=batch, axis=0)
        u_hat = nd.sum(u * w, axis=3)
        b = nd.zeros((batch, self.num_in, self.num_out, 1), ctx=x.context)
        for i in range(self.routing):
            c = nd.softmax(b, axis=2)
            s = nd.sum(nd.broadcast_mul(c, u_hat), axis=1, keepdims=True)
            v = squash(s, axis=3)
            if i < self.routing - 1:
                b = b + nd.sum(nd.broadcast_mul(u_hat, v), axis=3, keepdims=True)
        return v.reshape((0, self.num_out, -1))


class Length(nn.Block):
    def forward(self, x):
        return nd.sqrt((x**2).sum(2) + 1e-9)


def margin_loss(y_pred, y):
    onehot = nd.one_hot(y, 3)
    loss = onehot * nd.square(nd.maximum(0.0, 0.9 - y_pred)) + 0.5 * (1 - onehot) * nd.square(
        nd.maximum(0.0, y_pred - 0.1)
    )
    return loss.sum(axis=1)


net = nn.Sequential()
with net.name_scope():
    net.add(
        nn.Conv2D(12, 5, activation="relu"), PrimaryCaps(4, 4), DigitCaps(64, 4, 3, 6), Length()
    )
net.initialize()
labels = np.arange(60) % 3
X = np.zeros((60, 1, 15, 15), "float32")
for i, k in enumerate(labels):
    p = rng.randint(2, 12)
    if k == 0:
        X[i, 0, p] = 1
    elif k == 1:
        X[i, 0, :, p] = 1
    else:
        X[i, 0, p - 2 : p + 3, p - 2 : p + 3] = 1
net(nd.array(X[:2]))
for p in net.collect_params().values():
    p.set_data(nd.array(rng.normal(0, 0.1 if "conv" not in p.name else 0.2, p.shape)))
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
for epoch in range(5):
    total = 0
    for i in range(0, 60, 20):
        x, y = nd.array(X[i : i + 20]), nd.array(labels[i : i + 20])
        with mx.autograd.record():
            loss = margin_loss(net(x), y)
        loss.backward()
        trainer.step(20)
        total += nd.mean(loss).asscalar()
    if epoch < 3:
        print(epoch, "%.4f" % (total / 3))
print("learns:", (net(nd.array(X)).argmax(1).asnumpy() == labels).mean() > 0.8)
net.save_params("caps.params") if hasattr(net, "save_params") else net.save_parameters(
    "caps.params"
)
print([(k, v.shape) for k, v in sorted(nd.load("caps.params").items())])
