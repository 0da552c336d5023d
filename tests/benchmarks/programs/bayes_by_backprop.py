"""Bayes by backprop: mean and rho of every weight, Gaussian prior mixture, a minimum over ELBO;
noise from NumPy.
"""

import collections

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet import ndarray as nd

rng = np.random.RandomState(15)
x = np.linspace(-2, 2, 64)[:, None]
y = np.sin(2 * x) + rng.normal(0, 0.1, x.shape)
X, Y = nd.array(x), nd.array(y)
shapes = [(1, 12), (12,), (12, 12), (12,), (12, 1), (1,)]
mus = [nd.array(rng.normal(0, 0.4, s)) for s in shapes]
rhos = [nd.array(np.full(s, -4.0)) for s in shapes]
variational_params = mus + rhos
for p in variational_params:
    p.attach_grad()


def softplus(v):
    return nd.log(1.0 + nd.exp(v))


def gaussian(v, mu, sigma):
    scaling = 1.0 / nd.sqrt(2.0 * np.pi * (sigma**2))
    return scaling * nd.exp(-((v - mu) ** 2) / (2.0 * sigma**2))


def scale_mixture_prior(v, pi=0.25, s1=float(np.exp(-0.2)), s2=float(np.exp(-2.0))):
    first = pi * gaussian(v, 0.0, nd.array([s1]))
    second = (1 - pi) * gaussian(v, 0.0, nd.array([s2]))
    return nd.log(first + second)


def log_gaussian(v, mu, sigma):
    return -0.5 * np.log(2.0 * np.pi) - nd.log(sigma) - (v - mu) ** 2 / (2 * sigma**2)


def forward(data, params):
    for w, b, last in zip(params[::2], params[1::2], (False, False, True)):
        data = nd.dot(data, w) + b
        if not last:
            data = nd.maximum(data, nd.zeros_like(data))
    return data


history = collections.OrderedDict()
state = [nd.zeros(p.shape) for p in variational_params]
for step in range(60):
    eps = [nd.array(rng.normal(0, 1, s)) for s in shapes]
    with autograd.record():
        sigmas = [softplus(r) for r in rhos]
        params = [m + s * e for m, s, e in zip(mus, sigmas, eps)]
        out = forward(X, params)
        log_likelihood = nd.sum(log_gaussian(Y, out, nd.array([0.2])))
        log_prior = sum([nd.sum(scale_mixture_prior(p)) for p in params])
        log_q = sum([nd.sum(log_gaussian(p, m, s)) for p, m, s in zip(params, mus, sigmas)])
        loss = 1.0 / 10 * (log_q - log_prior) - log_likelihood
    loss.backward()
    for p, m in zip(variational_params, state):
        m[:] = 0.9 * m + 0.1 * p.grad
        p[:] = p - 0.0005 * nd.clip(m, -20, 20)
    history[step] = loss.asscalar()
print(["%.2f" % history[s] for s in (0, 1, 2, 5, 10, 20)])
print("falls", history[59] < history[0] / 2)
snr = nd.concat(*[(nd.abs(m) / softplus(r)).reshape((-1,)) for m, r in zip(mus, rhos)], dim=0)
print(snr.shape, "%.2f" % nd.mean(snr).asscalar())
