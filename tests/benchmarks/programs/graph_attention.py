"""Graph attention over lists of edges, in Gluon."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

mx.random.seed(1)
rng = np.random.RandomState(1)
n, f, c = 60, 16, 3
labels = rng.randint(0, c, n)
feats = rng.normal(size=(n, f)) + np.eye(c, f)[labels] * 2
src, dst = rng.randint(0, n, 240), rng.randint(0, n, 240)
src, dst = np.concatenate([src, np.arange(n)]), np.concatenate([dst, np.arange(n)])
S, D = nd.array(src), nd.array(dst)


class GAT(nn.HybridBlock):
    def __init__(self, out, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.fc = nn.Dense(out, use_bias=False, in_units=0)
            self.a = nn.Dense(1, use_bias=False)

    def hybrid_forward(self, F, x, s, d):
        h = self.fc(x)
        e = F.LeakyReLU(self.a(F.concat(F.take(h, s), F.take(h, d), dim=1)), slope=0.2)
        w = F.exp(e - F.max(e))
        total = F.sum(F.broadcast_mul(F.one_hot(d, 60), w), axis=0)
        w = F.broadcast_div(w, F.expand_dims(F.take(total, d), 1))
        m = F.broadcast_mul(F.take(h, s), w)
        onehot = F.one_hot(d, 60)
        return F.dot(onehot, m, transpose_a=True)


class Net(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.g1, self.g2 = GAT(8), GAT(3)

    def hybrid_forward(self, F, x, s, d):
        return self.g2(F.Activation(self.g1(x, s, d), act_type="tanh"), s, d)


net = Net()
net.initialize(mx.init.Xavier())
tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
lf = gluon.loss.SoftmaxCrossEntropyLoss()
X, Y = nd.array(feats), nd.array(labels)
for ep in range(30):
    with autograd.record():
        l = lf(net(X, S, D), Y)
    l.backward()
    tr.step(n)
    if ep % 10 == 0:
        print(ep, "%.4f" % l.mean().asscalar())
print((net(X, S, D).argmax(1) == Y).mean().asscalar() > 0.5)
