"""One small view of each kind, for the tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable

import mixnet as mx
from mixnet.widgets import ArrayView, MemoryView, ScalingView, View

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


def small_symbol() -> mx.sym.Symbol:
    """Two layers and a loss head."""
    x = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1"), "tanh", name="act")  # fmt: skip
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=4, name="fc2"), name="softmax")


@example
def memory() -> View:
    """Plans of a perceptron in training."""
    return MemoryView(small_symbol(), data=(8, 12), xla=False)


@example
def live_memory() -> View:
    """What a few lines held."""
    with mx.runtime.memory() as log:
        a = mx.nd.ones((300, 100))
        b = a * 2
        b.wait_to_read()
        del a
        c = b + 1
        c.wait_to_read()
    return MemoryView.live(log)


@example
def scaling() -> View:
    """Points as if they had been measured on four devices, and what fits them."""
    points = [{"n": n, "thr": 1000 * n / (1 + 0.1 * (n - 1)), "lo": 900.0 * n / (1 + 0.1 * (n - 1)),
               "hi": 1050.0 * n / (1 + 0.1 * (n - 1)), "repeat": 5} for n in (1, 2, 4, 8)]  # fmt: skip
    run = {
        "label": "a step",
        "origin": "simulated host devices",
        "batch": 32,
        "bytes": 1e6,
        "points": points,
    }
    return ScalingView([run])
