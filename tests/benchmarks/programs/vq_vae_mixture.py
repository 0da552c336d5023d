"""VQ-VAE with straight-through estimators, PixelShuffle; a mixture density network; a custom Function."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.contrib.nn import Identity, PixelShuffle2D

np.random.seed(23)
mx.random.seed(23)


class Quantizer(nn.Block):
    def __init__(self, k, d, decay=0.9, **kw):
        super().__init__(**kw)
        self.k, self.d, self.decay = k, d, decay
        with self.name_scope():
            self.book = self.params.get(
                "book", shape=(k, d), init=mx.init.Uniform(1.0), grad_req="null"
            )
            self.count = self.params.get(
                "count", shape=(k,), init="ones", grad_req="null", differentiable=False
            )
            self.total = self.params.get(
                "total", shape=(k, d), init=mx.init.Uniform(1.0), grad_req="null"
            )

    def forward(self, z):
        flat = z.transpose((0, 2, 3, 1)).reshape((-1, self.d))
        e = self.book.data()
        dist = (
            (flat**2).sum(1, keepdims=True)
            - 2 * nd.dot(flat, e, transpose_b=True)
            + (e**2).sum(1).expand_dims(0)
        )
        idx = dist.argmin(axis=1)
        onehot = nd.one_hot(idx, self.k)
        q = nd.Embedding(idx, e, self.k, self.d)
        if autograd.is_training():
            with autograd.pause():
                self.count.set_data(
                    self.count.data() * self.decay + onehot.sum(0) * (1 - self.decay)
                )
                self.total.set_data(
                    self.total.data() * self.decay
                    + nd.dot(onehot, flat, transpose_a=True) * (1 - self.decay)
                )
                n = self.count.data().sum()
                c = (self.count.data() + 1e-5) / (n + self.k * 1e-5) * n
                self.book.set_data(self.total.data() / c.expand_dims(1))
        commit = ((nd.BlockGrad(q) - flat) ** 2).mean()
        q = flat + nd.stop_gradient(q - flat)
        p = onehot.mean(0)
        perp = nd.exp(-(p * nd.log(p + 1e-10)).sum())
        return (
            q.reshape((z.shape[0], z.shape[2], z.shape[3], -1)).transpose((0, 3, 1, 2)),
            commit,
            perp,
        )


class VQ(nn.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.enc = nn.HybridSequential()
            self.enc.add(nn.Conv2D(8, 4, 2, 1, activation="relu"), nn.Conv2D(4, 4, 2, 1))
            self.q = Quantizer(8, 4)
            self.dec = nn.HybridSequential()
            self.dec.add(
                nn.Conv2D(16, 3, padding=1),
                PixelShuffle2D((2, 2)),
                nn.Swish(beta=1.5),
                nn.Conv2D(4, 3, padding=1),
                PixelShuffle2D(2),
                Identity(),
                nn.GELU(),
            )

    def forward(self, x):
        z, c, p = self.q(self.enc(x))
        return self.dec(z), c, p


x = nd.random.uniform(shape=(4, 1, 16, 16))
net = VQ()
net.initialize(mx.init.MSRAPrelu())
net.enc.hybridize()
net.dec.hybridize()
tr = gluon.Trainer(
    [p for p in net.collect_params().values() if p.grad_req != "null"],
    "nadam",
    {"learning_rate": 2e-3},
)
for it in range(5):
    with autograd.record():
        y, c, p = net(x)
        l = ((y - x) ** 2).mean() + 0.25 * c
    l.backward()
    tr.step(1)
    print("%.5f %.5f %.4f" % (l.asscalar(), c.asscalar(), p.asscalar()))
print(net)
print(net.q.count.data())


class MDN(nn.HybridBlock):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.h = nn.Dense(12, activation="tanh")
        self.o = nn.Dense(3 * k)

    def hybrid_forward(self, F, x, y=None):
        pi, mu, ls = F.SliceChannel(self.o(self.h(x)), num_outputs=3, axis=1)
        if y is None:
            return F.softmax(pi), mu, F.exp(ls)
        lp = F.log_softmax(pi) - ls - 0.5 * F.square(F.broadcast_sub(y, mu) / F.exp(ls)) - 0.919
        m = F.max(lp, axis=1, keepdims=True)
        return -(m + F.log(F.sum(F.exp(F.broadcast_sub(lp, m)), axis=1, keepdims=True)))


t = np.random.rand(64, 1)
X = nd.array(t + 0.3 * np.sin(2 * np.pi * t) + np.random.uniform(-0.05, 0.05, t.shape))
Y = nd.array(t)
for hyb in (False, True):
    mx.random.seed(1)
    m = MDN(3)
    m.initialize(mx.init.Normal(0.5))
    if hyb:
        m.hybridize()
    tr = gluon.Trainer(m.collect_params(), "ftrl", {"learning_rate": 0.5, "lamda1": 1e-4})
    for it in range(4):
        with autograd.record():
            l = m(X, Y)
        l.backward()
        tr.step(64)
        print(hyb, "%.5f" % l.mean().asscalar())
    m.hybridize()
    m._clear_cached_op() if hasattr(m, "_clear_cached_op") else None
    pi, mu, sd = m(X[:4])
    print(pi, sd.shape)
    comp = nd.random.multinomial(pi)
    print(
        comp,
        nd.sample_normal(nd.pick(mu, comp), nd.pick(sd, comp)),
        nd.random.normal(mu[:, 0], sd[:, 0], shape=2).shape,
    )


class Round(autograd.Function):
    def __init__(self, lo, hi):
        super().__init__()
        self.lo, self.hi = lo, hi

    def forward(self, x, s):
        self.save_for_backward(x, s)
        return nd.round(nd.clip(x / s, self.lo, self.hi)) * s, nd.sign(x)

    def backward(self, dy, dsign):
        x, s = self.saved_tensors
        inside = (x / s >= self.lo) * (x / s <= self.hi)
        return dy * inside, (dy * (1 - inside) * self.hi).sum().reshape(1) + dsign.sum() * 0


a = nd.array([-3.0, -0.2, 0.4, 1.7, 5.0])
s = nd.array([0.5])
a.attach_grad()
s.attach_grad()
with autograd.record():
    q, sg = Round(-4, 4)(a, s)
    l = (q * nd.arange(5) + sg).sum()
l.backward()
print(q, a.grad, s.grad)
f = Round(-4, 4)
try:
    with autograd.record():
        f(a, s)
        f(a, s)
    print("twice ok")
except Exception as e:
    print(type(e).__name__)
try:
    with autograd.record():
        z = Round(-4, 4)(a)
except Exception as e:
    print(type(e).__name__)
