"""One small view of each kind, for the tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable

import mixnet as mx
from mixnet.gluon import nn
from mixnet.widgets import ArrayView, GraphView, HybridizeStepper, OpExplorer, View

EXAMPLES: dict[str, Callable[[], View]] = {}


def example(make: Callable[[], View]) -> Callable[[], View]:
    """Declare an example by the function's name."""
    EXAMPLES[make.__name__] = make
    return make


@example
def array() -> View:
    """Four axes: a slider over slices."""
    x = mx.nd.arange(120).reshape((2, 3, 4, 5))
    x.wait_to_read()
    return ArrayView(x)


@example
def stepper() -> View:
    """A small network."""
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
    net.initialize()
    return HybridizeStepper(net, mx.nd.ones((4, 3)))


@example
def explorer() -> View:
    """A convolution of two channels."""
    return OpExplorer("convolution", channels=2, pad=1)


@example
def graph() -> View:
    """Forward and backward of a small network; two blocks."""
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        for _ in range(2):
            part = mx.gluon.nn.HybridSequential(prefix=f"part{len(net)}_")
            with part.name_scope():
                part.add(
                    mx.gluon.nn.Dense(8), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Activation("relu")
                )
            net.add(part)
    return GraphView(net, (4, 6), train=True)
