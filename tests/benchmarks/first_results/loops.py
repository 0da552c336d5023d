"""Loops over elements, growing shapes and random numbers."""

from __future__ import annotations


def growing(mx):
    """300 shapes that are not read before the end."""
    mx.npx.set_np()
    np = mx.np
    xs = np.random.normal(0, 1, (300,))
    results = [np.sum(np.exp(-((xs[:i] - xs[i]) ** 2))) for i in range(300)]
    return float(results[-1])


def growing_torch(torch):
    """The same in PyTorch."""
    xs = torch.randn(300)
    results = [torch.sum(torch.exp(-((xs[:i] - xs[i]) ** 2))) for i in range(300)]
    return float(results[-1])


def elements(mx):
    """Each of 2,000 elements by itself."""
    mx.npx.set_np()
    return float([v**2 for v in mx.np.arange(-10, 10, 0.01)][-1])


def elements_torch(torch):
    """The same in PyTorch."""
    return float([v**2 for v in torch.arange(-10, 10, 0.01)][-1])


def noise(mx):
    """1,000 steps that draw a number each."""
    mx.npx.set_np()
    np = mx.np
    x = np.zeros((1,))
    for _ in range(1000):
        x = x - 0.1 * (2 * x + np.random.normal(0, 1, (1,)))
    return float(x[0])


def noise_torch(torch):
    """The same in PyTorch."""
    x = torch.zeros(1)
    for _ in range(1000):
        x = x - 0.1 * (2 * x + torch.randn(1))
    return float(x)


def sparse(mx):
    """20 csr batches with different numbers of stored values."""
    import numpy

    total = 0.0
    weight = mx.nd.ones((1000, 4))
    for i in range(20):
        dense = numpy.zeros((32, 1000), "float32")
        dense[numpy.arange(32 + i) % 32, numpy.arange(32 + i) * 7 % 1000] = 1
        total += mx.nd.sparse.dot(mx.nd.array(dense).tostype("csr"), weight).sum().asscalar()
    return total
