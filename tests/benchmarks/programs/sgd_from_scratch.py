"""Lessons by hand: softmax regression, optimizers from their formulas, polynomial fits, weight
decay, dropout, k-fold; no gluon layers.
"""

import mxnet as mx
import numpy as np
from mxnet import autograd, nd

rng = np.random.RandomState(36)
X = nd.array(rng.normal(0, 1, (256, 10)))
labels = nd.array((X.asnumpy() @ rng.normal(0, 1, (10, 4))).argmax(1))
W, b = nd.array(rng.normal(0, 0.01, (10, 4))), nd.zeros(4)
params = [W, b]
for p in params:
    p.attach_grad()


def softmax(z):
    e = nd.exp(z - nd.max(z, axis=1, keepdims=True))
    return e / nd.sum(e, axis=1, keepdims=True)


def cross_entropy(p, y):
    return -nd.log(nd.pick(p, y))


def accuracy(p, y):
    return (p.argmax(axis=1) == y).mean().asscalar()


def batches(n, size):
    order = rng.permutation(n)
    for i in range(0, n, size):
        yield nd.array(order[i : i + size])


for epoch in range(3):
    for index in batches(256, 32):
        x, y = X.take(index), labels.take(index)
        with autograd.record():
            loss = cross_entropy(softmax(nd.dot(x, W) + b), y)
        loss.backward()
        for p in params:
            p[:] = p - 0.3 * p.grad / 32
    print(
        "epoch %d, loss %.4f, acc %.3f"
        % (epoch + 1, loss.mean().asscalar(), accuracy(softmax(nd.dot(X, W) + b), labels))
    )


def quadratic(kind, steps=20):
    x = nd.array([-5.0, 2.0])
    x.attach_grad()
    v, s = nd.zeros(2), nd.zeros(2)
    for t in range(1, steps + 1):
        with autograd.record():
            f = 0.1 * x[0] ** 2 + 2 * x[1] ** 2
        f.backward()
        g = x.grad
        if kind == "momentum":
            v[:] = 0.5 * v + 0.3 * g
            x[:] = x - v
        elif kind == "adagrad":
            s[:] = s + g.square()
            x[:] = x - 2.0 * g / (s + 1e-6).sqrt()
        elif kind == "rmsprop":
            s[:] = 0.9 * s + 0.1 * g.square()
            x[:] = x - 0.4 * g / (s + 1e-6).sqrt()
        else:
            v[:] = 0.9 * v + 0.1 * g
            s[:] = 0.99 * s + 0.01 * g.square()
            x[:] = x - 0.5 * (v / (1 - 0.9**t)) / ((s / (1 - 0.99**t)).sqrt() + 1e-6)
    return [round(float(e), 4) for e in x.asnumpy()]


for kind in ("momentum", "adagrad", "rmsprop", "adam"):
    print(kind, quadratic(kind))
features = nd.array(rng.normal(size=(60, 1)))
poly = nd.concat(features, nd.power(features, 2), nd.power(features, 3))
target = nd.dot(poly, nd.array([1.2, -3.4, 5.6])) + 5 + nd.array(rng.normal(0, 0.1, 60))
for degree, wd in ((3, 0), (1, 0), (3, 3)):
    w, c = nd.zeros((degree,)), nd.zeros((1,))
    for p in (w, c):
        p.attach_grad()
    for _ in range(60):
        with autograd.record():
            loss = ((nd.dot(poly[:40, :degree], w) + c - target[:40]) ** 2).mean() / 2 + wd * (
                w**2
            ).sum() / 2
        loss.backward()
        for p in (w, c):
            p -= 0.03 * p.grad
    test = ((nd.dot(poly[40:, :degree], w) + c - target[40:]) ** 2).mean()
    print(
        degree, wd, "%.3f %.3f" % (loss.asscalar(), test.asscalar()), w.asnumpy().round(2).tolist()
    )


def corr2d(image, kernel):
    h, w = kernel.shape
    out = nd.zeros((image.shape[0] - h + 1, image.shape[1] - w + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (image[i : i + h, j : j + w] * kernel).sum()
    return out


image = nd.ones((6, 8))
image[:, 2:6] = 0
print(corr2d(image, nd.array([[1, -1]])).asnumpy()[0].tolist())
kernel = nd.array([[0.3, -0.2]])
kernel.attach_grad()
edges = corr2d(image, nd.array([[1, -1]]))
for i in range(10):
    with autograd.record():
        out = nd.Convolution(
            image.reshape((1, 1, 6, 8)),
            kernel.reshape((1, 1, 1, 2)),
            no_bias=True,
            kernel=(1, 2),
            num_filter=1,
        )
        loss = ((out.reshape((6, 7)) - edges) ** 2).sum()
    loss.backward()
    kernel -= 0.02 * kernel.grad
    if i % 3 == 0:
        print("batch %d, loss %.3f" % (i, loss.asscalar()))
print(kernel.asnumpy().round(3).tolist())
