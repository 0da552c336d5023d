"""Gaussian process regression: linalg operators, hyperparameters by gradients of the marginal likelihood."""

import mxnet as mx
import numpy as np
from mxnet import autograd, nd

rng = np.random.RandomState(16)
x = np.sort(rng.uniform(-3, 3, 30))[:, None]
y = np.sin(1.5 * x) + 0.1 * rng.normal(size=x.shape)
X, Y = nd.array(x, dtype="float64"), nd.array(y, dtype="float64")
log_scale, log_length, log_noise = [nd.array([v], dtype="float64") for v in (0.0, 0.5, -1.0)]
params = [log_scale, log_length, log_noise]
for p in params:
    p.attach_grad()


def kernel(a, b):
    d = nd.broadcast_sub(a, b.T)
    return nd.broadcast_mul(
        nd.exp(2 * log_scale), nd.exp(-0.5 * nd.broadcast_div(d * d, nd.exp(2 * log_length)))
    )


def neg_log_likelihood():
    n = X.shape[0]
    K = kernel(X, X) + nd.broadcast_mul(nd.eye(n, dtype="float64"), nd.exp(2 * log_noise) + 1e-6)
    L = nd.linalg.potrf(K)
    alpha = nd.linalg.trsm(L, Y)
    return 0.5 * nd.sum(alpha * alpha) + nd.linalg.sumlogdiag(L) + 0.5 * n * float(
        np.log(2 * np.pi)
    ), L


for step in range(25):
    with autograd.record():
        nll, L = neg_log_likelihood()
    nll.backward()
    for p in params:
        p -= 0.02 * p.grad
        p.grad[:] = 0
    if step % 6 == 0:
        print(step, "%.5f" % nll.asscalar(), ["%.4f" % p.asscalar() for p in params])
Xs = nd.array(np.linspace(-4, 4, 9)[:, None], dtype="float64")
Ks, Kss = kernel(X, Xs), kernel(Xs, Xs)
v = nd.linalg.trsm(L, Ks)
mean = nd.linalg.gemm2(v, nd.linalg.trsm(L, Y), transpose_a=True)
cov = Kss - nd.linalg.syrk(v, transpose=True)
print(mean.asnumpy().ravel().round(3).tolist())
print(nd.diag(cov).asnumpy().round(4).tolist(), cov.dtype)
A = nd.array(rng.normal(size=(4, 4)), dtype="float64")
S = nd.linalg.gemm2(A, A, transpose_b=True) + nd.eye(4, dtype="float64")
u, lam = nd.linalg.syevd(S)
print(
    lam.asnumpy().round(4).tolist(),
    "%.6f" % nd.linalg.slogdet(S)[1].asscalar(),
    nd.linalg.det(S).asnumpy().round(3),
)
print(
    (nd.dot(nd.dot(u.T, nd.diag(lam)), u) - S).abs().max().asscalar() < 1e-10,
    nd.linalg.extracttrian(S).shape,
)
inverse = nd.linalg.potri(nd.linalg.potrf(S))
print((nd.dot(inverse, S) - nd.eye(4, dtype="float64")).abs().max().asscalar() < 1e-10)
q, l = nd.linalg.gelqf(A[:2])
print((nd.linalg.trmm(l, q) - A[:2]).abs().max().asscalar() < 1e-10)
