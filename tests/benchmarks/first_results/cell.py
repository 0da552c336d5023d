"""An interactive cell of 20 different operations on small arrays."""

from __future__ import annotations


def prepare(mx):
    """The library has started."""
    mx.nd.array([1, 2, 3]).asnumpy()


def run(mx):
    """The cell."""
    nd = mx.nd
    a = nd.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    b = nd.ones((2, 3)) * 2
    c = nd.dot(a, b.T)
    d = nd.softmax(nd.exp(a))
    e = nd.sqrt(nd.concat(a, b, dim=0).sum(axis=0)).reshape((1, 3))
    f = nd.broadcast_add(a, e).mean()
    g = nd.relu(nd.maximum(a, b) - 3)
    h = nd.one_hot(nd.argmax(g, axis=1), 3)
    i = nd.log(nd.sigmoid(nd.tanh(nd.stack(a, b))) + 1)
    j = nd.clip(i, 0, 1)
    return [x.asnumpy() for x in (c, d, f, g.max(axis=1), h, nd.where(j > 0.5, j, j * 2))]


def run_torch(torch):
    """The same in PyTorch."""
    a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    b = torch.ones((2, 3)) * 2
    c = a @ b.T
    d = torch.softmax(torch.exp(a), -1)
    e = torch.sqrt(torch.cat([a, b]).sum(0)).reshape((1, 3))
    f = (a + e).mean()
    g = torch.relu(torch.maximum(a, b) - 3)
    h = torch.nn.functional.one_hot(torch.argmax(g, 1), 3)
    i = torch.log(torch.sigmoid(torch.tanh(torch.stack([a, b]))) + 1)
    j = torch.clip(i, 0, 1)
    return [x.numpy() for x in (c, d, f, g.max(1)[0], h, torch.where(j > 0.5, j, j * 2))]
