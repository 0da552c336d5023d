"""A mistake: a few lines of a program, the error of the last one, and required words of its message."""

from __future__ import annotations

from typing import Any, NamedTuple

# What all programs begin with. ``x`` is (2, 3), ``y`` (4, 5), ``images`` (2, 3, 8, 8).
PRELUDE = """
import numpy
import mixnet as mx
from mixnet import autograd, gluon, image, init, io, kv, lr_scheduler, metric, nd, npx
from mixnet import np as mnp, optimizer, recordio, sym
from mixnet.gluon import loss, nn, rnn
from mixnet.gluon.data import ArrayDataset, DataLoader, SimpleDataset
from mixnet.gluon.data.vision import transforms

x = nd.ones((2, 3))
y = nd.ones((4, 5))
images = nd.ones((2, 3, 8, 8))


def ready(net):
    net.initialize()
    return net


def dense():
    return ready(nn.Dense(2, in_units=3))


def mlp():
    data = sym.var("data")
    return sym.SoftmaxOutput(sym.FullyConnected(data, num_hidden=4, name="fc"), name="softmax")


def trainer(name="sgd", params=None, **more):
    return gluon.Trainer(dense().collect_params(), name, params, **more)


def batches(data_name="data", label_name="softmax_label"):
    return io.NDArrayIter(numpy.ones((8, 3)), numpy.zeros(8), 4, False, "pad", data_name, label_name)


def bound(columns=3):
    m = mx.mod.Module(mlp())
    m.bind([("data", (2, columns))], [("softmax_label", (2,))])
    return m


def begun():
    m = bound()
    m.init_params()
    return m


def executor():
    return mlp().simple_bind(mx.cpu(), data=(2, 3))
"""


class Mistake(NamedTuple):
    """A mistake.

    Args:
        code: the program after ``PRELUDE``; the mistake is in its last line.
        classes: classes that the error has, that of MXNet 1.9.1 among them where a program can
            mean to catch it.
        quoted: what the text repeats of the mistake.
        pieces: what else the text says: what was expected, and the way out.
    """

    code: str
    classes: tuple[type[BaseException], ...]
    quoted: str
    pieces: tuple[str, ...]


def mistake(code: str, classes: Any, quoted: str, *pieces: str) -> Mistake:
    """A row of a table; ``classes`` is a class or a tuple of them."""
    return Mistake(
        code.strip("\n"), classes if isinstance(classes, tuple) else (classes,), quoted, pieces
    )
