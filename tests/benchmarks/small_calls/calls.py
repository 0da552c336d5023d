"""Small calls, for mixnet and for the real MXNet alike: each is a function without arguments.

``make_calls`` is imported by a Python that has only one of the two libraries, so it imports neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SHAPE = (4, 4)
Calls = dict[str, Callable[[], object]]


def make_calls(mx: Any) -> Calls:
    """All calls by title, in the order of the table."""
    groups = (arrays, nets, iterators, symbols, stores, numpys)
    return {title: call for group in groups for title, call in group(mx).items()}


def arrays(mx: Any) -> Calls:
    """Creating, reading, writing and converting arrays of ``mx.nd``."""
    nd = mx.nd
    a = nd.array(np.arange(16, dtype=np.float32).reshape(SHAPE))
    other, one = nd.zeros(SHAPE), nd.ones((1,))
    rows, numbers = [[1.0, 2.0], [3.0, 4.0]], np.ones(SHAPE, np.float32)

    def write_row() -> None:
        other[1] = 2.0

    def write_array() -> None:
        other[:] = a

    def add_in_place() -> None:
        nonlocal one
        one += 1

    return {
        "nd.array(list)": lambda: nd.array(rows),
        "nd.array(numpy)": lambda: nd.array(numbers),
        "nd.zeros((4, 4))": lambda: nd.zeros(SHAPE),
        "nd.arange(10)": lambda: nd.arange(10),
        "a[1]": lambda: a[1],
        "a[1].asnumpy()": lambda: a[1].asnumpy(),
        "a[:, 1]": lambda: a[:, 1],
        "a[1] = 2": write_row,
        "a[:] = b": write_array,
        "a += 1": add_in_place,
        "a + 1": lambda: a + 1,
        "a + b": lambda: a + other,
        "(a + 1).wait_to_read()": lambda: (a + 1).wait_to_read(),
        "(a + 1).asnumpy()": lambda: (a + 1).asnumpy(),
        "float(a.sum().asscalar())": lambda: float(a.sum().asscalar()),
        "a.asnumpy()": lambda: a.asnumpy(),
        "a.wait_to_read()": lambda: a.wait_to_read(),
        "a.shape": lambda: a.shape,
        "a.reshape((2, 8))": lambda: a.reshape((2, 8)),
        "a.copyto(b)": lambda: a.copyto(other),
        "a.copy()": lambda: a.copy(),
        "a.astype('int32')": lambda: a.astype("int32"),
        "for x in a": lambda: list(a),
        "nd.dot(a, a)": lambda: nd.dot(a, a),
        "nd.relu(a)": lambda: nd.relu(a),
        "nd.concat(a, a, dim=0)": lambda: nd.concat(a, a, dim=0),
        "a.mean().asscalar()": lambda: a.mean().asscalar(),
        "nd.random.uniform(shape=(4, 4))": lambda: nd.random.uniform(shape=SHAPE),
    }


def nets(mx: Any) -> Calls:
    """Gluon: a layer, its training step, and metrics."""
    gluon, nd = mx.gluon, mx.nd
    x = nd.ones((8, 16))
    y = nd.array(np.arange(8) % 4)
    plain, hybrid = gluon.nn.Dense(4), gluon.nn.Dense(4)
    for net in (plain, hybrid):
        net.initialize()
        net(x)
    hybrid.hybridize(static_alloc=True, static_shape=True)
    hybrid(x).wait_to_read()
    trainer = gluon.Trainer(plain.collect_params(), "sgd", {"learning_rate": 0.001})
    loss_of = gluon.loss.L2Loss()
    scores = nd.array(np.eye(4, dtype=np.float32)[np.arange(8) % 4])
    accuracy, mean_loss = mx.metric.Accuracy(), mx.metric.Loss()

    def step() -> None:
        with mx.autograd.record():
            loss = loss_of(plain(x), scores)
        loss.backward()
        trainer.step(8)

    def metric() -> None:
        accuracy.update([y], [scores])

    def metric_read() -> None:
        accuracy.update([y], [scores])
        accuracy.get()

    return {
        "net(x), a layer": lambda: plain(x),
        "net(x), hybridized": lambda: hybrid(x),
        "net(x).asnumpy(), hybridized": lambda: hybrid(x).asnumpy(),
        "step: record, backward, trainer.step": step,
        "metric.update": metric,
        "metric.update, metric.get": metric_read,
        "Loss().update": lambda: mean_loss.update(None, [scores]),
    }


def iterators(mx: Any) -> Calls:
    """A batch of a ``DataLoader`` and of an ``NDArrayIter``."""
    data, labels = np.ones((2048, 8), np.float32), np.zeros(2048, np.float32)
    dataset = mx.gluon.data.ArrayDataset(mx.nd.array(data), mx.nd.array(labels))
    of_numpy = mx.gluon.data.ArrayDataset(data, labels)

    def batches(loader: Any) -> Callable[[], object]:
        rest: list[Any] = [iter(loader)]

        def batch() -> object:
            try:
                return next(rest[0])
            except StopIteration:
                rest[0] = iter(loader)
                return next(rest[0])

        return batch

    iterator = mx.io.NDArrayIter(data, labels, 32)

    def next_batch() -> object:
        try:
            return iterator.next()
        except StopIteration:
            iterator.reset()
            return iterator.next()

    loader = mx.gluon.data.DataLoader
    return {
        "DataLoader of arrays, batch of 32": batches(loader(dataset, 32)),
        "DataLoader of numpy, batch of 32": batches(loader(of_numpy, 32)),
        "NDArrayIter.next, batch of 32": next_batch,
    }


def symbols(mx: Any) -> Calls:
    """A module's step and an executor's forward."""
    sym = mx.sym
    hidden = sym.FullyConnected(sym.Variable("data"), num_hidden=4, name="fc")
    module = mx.mod.Module(sym.SoftmaxOutput(hidden, name="softmax"), context=mx.cpu())
    module.bind([("data", (8, 16))], [("softmax_label", (8,))])
    module.init_params()
    module.init_optimizer(optimizer_params={"learning_rate": 0.001})
    batch = mx.io.DataBatch([mx.nd.ones((8, 16))], [mx.nd.zeros((8,))])
    executor = hidden.simple_bind(mx.cpu(), data=(8, 16))

    def step() -> None:
        module.forward(batch, is_train=True)
        module.backward()
        module.update()

    return {
        "mod.forward(is_train=False)": lambda: module.forward(batch, is_train=False),
        "mod.forward, backward, update": step,
        "exe.forward()": lambda: executor.forward(),
        "exe.forward()[0].asnumpy()": lambda: executor.forward()[0].asnumpy(),
    }


def stores(mx: Any) -> Calls:
    """A local store."""
    store = mx.kv.create("local")
    value, out = mx.nd.ones(SHAPE), mx.nd.zeros(SHAPE)
    store.init(3, value)

    def both() -> None:
        store.push(3, value)
        store.pull(3, out=out)

    return {"kv.push, kv.pull, local": both}


def numpys(mx: Any) -> Calls:
    """The same with ``mx.np``."""
    np_ = mx.np
    a = np_.array(np.arange(16, dtype=np.float32).reshape(SHAPE))
    other = np_.zeros(SHAPE)
    rows = [[1.0, 2.0], [3.0, 4.0]]

    def write_row() -> None:
        other[1] = 2.0

    return {
        "np.array(list)": lambda: np_.array(rows),
        "np.zeros((4, 4))": lambda: np_.zeros(SHAPE),
        "np: a[1]": lambda: a[1],
        "np: a[:, 1]": lambda: a[:, 1],
        "np: a[1] = 2": write_row,
        "np: a + 1": lambda: a + 1,
        "np: (a + 1).asnumpy()": lambda: (a + 1).asnumpy(),
        "np: float(a.sum())": lambda: float(a.sum()),
        "np: a.reshape(2, 8)": lambda: a.reshape(2, 8),
        "np: a.astype('int32')": lambda: a.astype("int32"),
        "np: for x in a": lambda: list(a),
        "np.dot(a, a)": lambda: np_.dot(a, a),
        "np.exp(a)": lambda: np_.exp(a),
        "np.random.uniform(size=(4, 4))": lambda: np_.random.uniform(size=SHAPE),
    }
