"""Normalizing flows: RealNVP couplings, invertible linear layers, actnorm, planar flows; linalg operators."""

import math

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

np.random.seed(19)
mx.random.seed(19)


class ActNorm(nn.HybridBlock):
    def __init__(self, dim, **kw):
        super().__init__(**kw)
        self.ready = False
        with self.name_scope():
            self.loc = self.params.get("loc", shape=(1, dim), init=mx.init.Zero())
            self.logs = self.params.get("logs", shape=(1, dim), init=mx.init.Zero())

    def data_init(self, x):
        m = x.mean(axis=0, keepdims=True)
        s = nd.sqrt(nd.mean(nd.square(x - m), axis=0, keepdims=True))
        self.loc.set_data(-m)
        self.logs.set_data(-nd.log(s + 1e-6))
        self.ready = True

    def hybrid_forward(self, F, x, loc, logs):
        return F.broadcast_mul(F.broadcast_add(x, loc), F.exp(logs)), F.sum(logs)


class InvLinear(nn.Block):
    def __init__(self, dim, **kw):
        super().__init__(**kw)
        q = np.linalg.qr(np.random.randn(dim, dim))[0].astype("f")
        with self.name_scope():
            self.W = self.params.get("W", shape=(dim, dim), init=mx.init.Constant(nd.array(q)))

    def forward(self, x):
        W = self.W.data()
        sign, logdet = nd.linalg.slogdet(W)
        return nd.dot(x, W.T), logdet

    def inverse(self, y):
        return nd.dot(y, nd.linalg.inverse(self.W.data()).T)


class Coupling(nn.HybridBlock):
    def __init__(self, dim, mask, hidden=16, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.mask = self.params.get_constant("mask", mask)
            self.net = nn.HybridSequential(prefix="st_")
            with self.net.name_scope():
                self.net.add(
                    nn.Dense(hidden, activation="relu"),
                    nn.Dense(2 * dim, weight_initializer=mx.init.Normal(0.01)),
                )
            self.scale = self.params.get("scale", shape=(1, dim), init="ones")

    def hybrid_forward(self, F, x, mask, scale):
        h = self.net(F.broadcast_mul(x, mask))
        s, t = F.split(h, num_outputs=2, axis=1)
        s = F.broadcast_mul(F.tanh(s) * 1.0, scale)
        inv = 1 - mask
        s, t = F.broadcast_mul(s, inv), F.broadcast_mul(t, inv)
        return x * F.exp(s) + t, F.sum(s, axis=1)

    def inverse(self, y):
        m = self.mask.data()
        s, t = nd.split(self.net(y * m), 2, axis=1)
        s, t = nd.tanh(s) * self.scale.data() * (1 - m), t * (1 - m)
        return (y - t) * nd.exp(-s)


class Flow(nn.Block):
    def __init__(self, dim, n, **kw):
        super().__init__(**kw)
        self.parts = []
        with self.name_scope():
            for k in range(n):
                for b in (
                    ActNorm(dim),
                    InvLinear(dim),
                    Coupling(dim, np.array([[(i + k) % 2 for i in range(dim)]], "f")),
                ):
                    self.register_child(b)
                    self.parts.append(b)

    def forward(self, x):
        total = 0
        for p in self.parts:
            if isinstance(p, ActNorm) and not p.ready:
                p.data_init(x)
            x, ld = p(x)
            total = total + ld
        return x, total

    def sample(self, z):
        for p in reversed(self.parts):
            z = (
                (z / nd.exp(p.logs.data()) - p.loc.data())
                if isinstance(p, ActNorm)
                else p.inverse(z)
            )
        return z


def moons(n):
    t = np.random.rand(n) * np.pi
    s = np.random.randint(0, 2, n)
    x = np.stack([np.cos(t) * (1 - 2 * s) + s, np.sin(t) * (1 - 2 * s) + s * 0.5], 1)
    return nd.array(x + np.random.randn(n, 2) * 0.05)


f = Flow(2, 2)
f.initialize(mx.init.Xavier())
f(moons(64))
print(f)
print({k: v.shape for k, v in f.collect_params().items()})
tr = gluon.Trainer(f.collect_params(), "adam", {"learning_rate": 1e-2})
for it in range(6):
    x = moons(48)
    with autograd.record():
        z, ld = f(x)
        nll = (0.5 * (z**2).sum(axis=1) + math.log(2 * math.pi) - ld).mean()
    nll.backward()
    tr.step(1)
    print(it, "%.5f" % nll.asscalar())
z, ld = f(x)
print(
    "%.6f" % nd.abs(f.sample(z) - x).max().asscalar()
    if nd.abs(f.sample(z) - x).max().asscalar() > 1e-4
    else "invertible",
    ld.shape,
)
for b in f.parts:
    b.hybridize() if hasattr(b, "hybridize") else None
z2, _ = f(x)
print(nd.abs(z2 - z).max().asscalar() < 1e-5)
# planar flow with lists of raw arrays and a base distribution of samples
K, D = 3, 2
params = [nd.random.normal(0, 0.3, shape=s) for _ in range(K) for s in ((D, 1), (D, 1), (1,))]
for p in params:
    p.attach_grad()
opt = mx.optimizer.create("adagrad", learning_rate=0.1)
upd = mx.optimizer.get_updater(opt)
for it in range(4):
    with autograd.record():
        z = nd.random.normal(shape=(32, D))
        logq = -0.5 * (z**2).sum(1)
        for k in range(K):
            u, w, b = params[3 * k : 3 * k + 3]
            wu = nd.dot(w.T, u)
            uh = u + (nd.log1p(nd.exp(wu)) - 1 - wu).reshape((1, 1)) * w / nd.sum(w**2)
            a = nd.tanh(nd.dot(z, w) + b)
            psi = (1 - a**2) * w.T
            logq = logq - nd.log(nd.abs(1 + nd.dot(psi, uh)) + 1e-6).reshape(-1)
            z = z + a * uh.T
        energy = 0.5 * ((nd.norm(z, axis=1) - 2) / 0.4) ** 2
        loss = (logq + energy).mean()
    loss.backward()
    for i, p in enumerate(params):
        upd(i, p.grad, p)
    print("planar %.5f" % loss.asscalar())
A = nd.array(np.random.randn(2, 3, 3))
S = nd.linalg.gemm2(A, A, transpose_b=True) + nd.eye(3).expand_dims(0)
L = nd.linalg.potrf(S)
print(
    nd.linalg.sumlogdiag(L),
    nd.linalg.det(S),
    nd.linalg.extractdiag(L)[0],
    nd.linalg.maketrian(nd.arange(1, 7).reshape((1, 6))),
)
S.attach_grad()
with autograd.record():
    y = (
        nd.linalg.trsm(nd.linalg.potrf(S), nd.ones((2, 3, 1))).sum()
        + nd.linalg.sumlogdiag(nd.linalg.potrf(S)).sum()
    )
y.backward()
print(S.grad[0].asnumpy().round(4))
q, l = nd.linalg.gelqf(nd.array(np.random.randn(2, 4)))
print(nd.dot(l, q).shape, nd.linalg.syrk(q).asnumpy().round(4))
u, w = nd.linalg.syevd(S[0])
print(w, nd.linalg.extracttrian(S).shape, nd.linalg.trmm(L, L)[0, 0], nd.linalg.potri(L).shape)
try:
    Coupling(2, [[0, 1]]).initialize()
    print("list constant ok")
except Exception as e:
    print(type(e).__name__)
try:
    f.parts[2].mask.set_data(nd.ones((1, 2)))
    print(f.parts[2].mask.grad_req, f.parts[2].mask.data())
except Exception as e:
    print(type(e).__name__)
