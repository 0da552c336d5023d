"""Baum-Welch, a Kalman filter and a Gaussian process by linear algebra, a Hawkes process and a trend
model in mx.np.
"""

import mxnet as mx
import numpy as onp
from mxnet import autograd, nd

onp.random.seed(0)
mx.random.seed(0)
A = nd.array([[0.8, 0.2], [0.3, 0.7]])
B = nd.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
pi = nd.array([0.5, 0.5])
obs = onp.random.randint(0, 3, 30)
for it in range(3):
    al = [pi * B[:, obs[0]]]
    c = [al[0].sum()]
    al[0] = al[0] / c[0]
    for o in obs[1:]:
        a = nd.dot(al[-1], A) * B[:, int(o)]
        c.append(a.sum())
        al.append(a / c[-1])
    be = [nd.ones((2,))]
    for t in range(len(obs) - 1, 0, -1):
        be.insert(0, nd.dot(A, B[:, int(obs[t])] * be[0]) / c[t])
    g = nd.stack(*[a * b for a, b in zip(al, be)])
    xi = sum(
        (
            nd.expand_dims(al[t], 1)
            * A
            * nd.expand_dims(B[:, int(obs[t + 1])] * be[t + 1], 0)
            / c[t + 1]
            for t in range(len(obs) - 1)
        )
    )
    A = nd.broadcast_div(xi, xi.sum(axis=1, keepdims=True))
    oh = nd.one_hot(nd.array(obs), 3)
    B = nd.dot(g.T, oh)
    B = B / B.sum(axis=1, keepdims=True)
    pi = g[0] / g[0].sum()
    print(
        it,
        "loglik %.4f" % float(sum((nd.log(v) for v in c)).asscalar()),
        A.asnumpy().round(3).tolist(),
    )


def kalman(y, F, a, S, sig, m, V):
    ll = 0
    for t in range(y.shape[1]):
        mu = nd.linalg.gemm2(a, m.expand_dims(2), transpose_a=True).squeeze(axis=2)
        SV = nd.linalg.gemm2(V, a)
        var = nd.linalg.gemm2(a, SV, transpose_a=True) + sig**2
        L = nd.linalg.potrf(var)
        r = y[:, t : t + 1] - mu
        z = nd.linalg.trsm(L, r.expand_dims(2)).squeeze(axis=2)
        ll = ll - 0.5 * (z**2).sum(axis=1) - nd.linalg.sumlogdiag(L) - 0.5 * onp.log(2 * onp.pi)
        K = nd.linalg.gemm2(SV, nd.linalg.potri(L))
        m = m + nd.linalg.gemm2(K, r.expand_dims(2)).squeeze(axis=2)
        V = V - nd.linalg.gemm2(K, SV, transpose_b=True)
        m = nd.linalg.gemm2(F, m.expand_dims(2)).squeeze(axis=2)
        V = nd.linalg.gemm2(nd.linalg.gemm2(F, V), F, transpose_b=True) + S
    return ll


y = nd.array(onp.cumsum(onp.random.randn(3, 12), 1))
F = nd.broadcast_axis(nd.array([[[1.0, 1.0], [0, 1.0]]]), 0, 3)
a = nd.broadcast_axis(nd.array([[[1.0], [0]]]), 0, 3)
ls = nd.array([-1.0, -2.0])
lsig = nd.array([0.0])
print(ls.attach_grad())
print(lsig.attach_grad())
for it in range(4):
    with autograd.record():
        S = nd.broadcast_axis(nd.linalg.makediag(ls.exp()).expand_dims(0), 0, 3)
        l = -kalman(
            y,
            F,
            a,
            S,
            lsig.exp().reshape((1, 1, 1)),
            nd.zeros((3, 2)),
            nd.broadcast_axis(nd.eye(2).expand_dims(0), 0, 3),
        ).mean()
    l.backward()
    print("kalman", l.asscalar(), ls.grad.asnumpy(), lsig.grad.asnumpy())
    ls -= 0.05 * ls.grad
    lsig -= 0.05 * lsig.grad
X = nd.array(onp.linspace(0, 3, 12)).reshape((-1, 1))
Y = nd.sin(X) + 0.1 * nd.array(onp.random.randn(12, 1))
th = nd.array([0.0, 0.0, -2.0])
print(th.attach_grad())
for it in range(4):
    with autograd.record():
        d = (
            (X**2).sum(axis=1, keepdims=True)
            + (X**2).sum(axis=1).reshape((1, -1))
            - 2 * nd.dot(X, X.T)
        )
        K = nd.exp(th[0]) * nd.exp(-0.5 * d / nd.exp(th[1])) + nd.exp(th[2]) * nd.eye(12)
        L = nd.linalg.potrf(K)
        al = nd.linalg.trsm(L, Y)
        nll = 0.5 * (al**2).sum() + nd.linalg.sumlogdiag(L) + 6 * onp.log(2 * onp.pi)
    nll.backward()
    print("gp", nll.asscalar(), th.grad)
    th[:] = th - 0.02 * th.grad
from mxnet import np, npx

print(npx.set_np())
ev = np.array(onp.sort(onp.random.rand(10) * 10))
p = np.array([0.1, 0.2, 0.3])
print(p.attach_grad())
for it in range(3):
    with autograd.record():
        mu, al, be = np.exp(p)
        dt = ev.reshape(-1, 1) - ev.reshape(1, -1)
        k = (dt > 0).astype("float32") * np.exp(-be * np.maximum(dt, 0))
        lam = mu + al * k.sum(axis=1)
        comp = mu * 10 + al / be * (1 - np.exp(-be * (10 - ev))).sum()
        l = comp - np.log(lam).sum()
    l.backward()
    print("hawkes", l, p.grad)
    p -= 0.05 * p.grad
t = np.arange(40) / 40.0
s = np.array(onp.linspace(0.1, 0.9, 4), dtype="float32")
yy = np.array(onp.sin(onp.arange(40) / 3) + onp.arange(40) / 20, dtype="float32")
w = {k: np.zeros(n) for k, n in (("k", 1), ("m", 1), ("d", 4), ("f", 6))}
for v in w.values():
    v.attach_grad()
for it in range(5):
    with autograd.record():
        Am = (t.reshape(-1, 1) >= s.reshape(1, -1)).astype("float32")
        g = (w["k"] + np.dot(Am, w["d"])) * t + w["m"] + np.dot(Am, -s * w["d"])
        ss = np.concatenate(
            [
                np.stack([np.sin(2 * onp.pi * (i + 1) * t), np.cos(2 * onp.pi * (i + 1) * t)], 1)
                for i in range(3)
            ],
            1,
        )
        l = ((yy - g - np.dot(ss, w["f"])) ** 2).mean() + 0.01 * np.abs(w["d"]).sum()
    l.backward()
    for v in w.values():
        v[:] = v - 0.3 * v.grad
    print("prophet", l.item(), float(np.linalg.norm(w["f"])), w["d"])
