"""Ready-made puzzles for a class: small networks, and the work of a training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet import symbol as sym
from mixnet.symbol.symbol import Symbol

# Kind, what is shown as its name, and what ``Puzzle.of`` takes: symbol, shapes, with gradients.
Network = tuple[str, str, Callable[[], Symbol], dict[str, tuple[int, ...]], bool]


def _branches() -> Symbol:
    """Three branches of different sizes, joined at the end."""
    x = sym.Variable("data")
    first = sym.Convolution(x, num_filter=8, kernel=(3, 3), pad=(1, 1), name="first")
    wide = sym.Convolution(first, num_filter=12, kernel=(3, 3), pad=(1, 1), name="wide")
    wide = sym.Convolution(wide, num_filter=4, kernel=(1, 1), name="wide_out")
    small = sym.Convolution(first, num_filter=4, kernel=(1, 1), name="small")
    pool = sym.Pooling(
        first, kernel=(3, 3), pad=(1, 1), stride=(1, 1), pool_type="avg", name="pool"
    )
    pool = sym.Convolution(pool, num_filter=2, kernel=(1, 1), name="pool_out")
    joined = sym.Concat(wide, small, pool, dim=1, name="joined")
    last: Symbol = sym.Convolution(joined, num_filter=8, kernel=(1, 1), name="last")
    return last


def _perceptron() -> Symbol:
    x = sym.FullyConnected(sym.Variable("data"), num_hidden=48, name="first")
    x = sym.FullyConnected(sym.Activation(x, "tanh", name="bend"), num_hidden=32, name="second")
    x = sym.FullyConnected(sym.Activation(x, "tanh", name="bend2"), num_hidden=10, name="third")
    loss: Symbol = sym.SoftmaxOutput(x, sym.Variable("label"), name="loss")
    return loss


def _gate() -> Symbol:
    """A gate, as in recurrent networks: two matrix products and element-wise operations."""
    x, h = sym.Variable("x"), sym.Variable("h")
    gate = sym.FullyConnected(x, num_hidden=64, name="gate")
    new = sym.FullyConnected(x, num_hidden=64, name="new")
    open_ = sym.sigmoid(gate, name="open")
    shut = sym._internal._rminus_scalar(open_, scalar=1.0, name="shut")
    product = sym.elemwise_mul(open_, h, name="keep")
    gated = sym.elemwise_mul(shut, sym.tanh(new, name="bend"), name="take")
    state: Symbol = sym.elemwise_add(product, gated, name="state")
    return state


def _softmax() -> Symbol:
    """Softmax written out: two reductions, and the operations on each row that use them."""
    x = sym.Variable("scores")
    top = sym.max(x, axis=1, keepdims=True, name="top")
    less = sym.broadcast_sub(x, top, name="less")
    power = sym.exp(less, name="exp")
    total = sym.sum(power, axis=1, keepdims=True, name="total")
    share: Symbol = sym.broadcast_div(power, total, name="share")
    return share


NETWORKS: dict[str, Network] = {
    "memory": ("memory", "three branches", _branches, {"data": (4, 4, 16, 16)}, False),
    "memory-training": (
        "memory",
        "a perceptron in training",
        _perceptron,
        {"data": (32, 64), "label": (32,)},
        True,
    ),
    "tasks-branches": ("tasks", "three branches", _branches, {"data": (4, 4, 16, 16)}, False),
    "fusion": ("fusion", "a gate", _gate, {"x": (32, 64), "h": (32, 64)}, False),
    "fusion-softmax": (
        "fusion",
        "softmax from basic operations",
        _softmax,
        {"scores": (64, 128)},
        False,
    ),
}
"""Networks of ready-made puzzles, by name."""

TASKS: dict[str, tuple[str, int, list[tuple[Any, ...]]]] = {
    "tasks": ("two batches", 2, [
        ("read 1", 2, [], ["file 1"]),
        ("decode 1", 3, ["file 1"], ["batch 1"]),
        ("step 1", 4, ["batch 1", "weights"], ["gradients"]),
        ("update 1", 2, ["gradients"], ["weights"]),
        ("log 1", 2, ["gradients"], ["log"]),
        ("read 2", 2, [], ["file 2"]),
        ("decode 2", 3, ["file 2"], ["batch 2"]),
        ("step 2", 4, ["batch 2", "weights"], ["gradients"]),
        ("update 2", 2, ["gradients"], ["weights"]),
        ("save", 3, ["weights"], ["disk"]),
        ("log 2", 2, ["gradients"], ["log"]),
    ]),
}  # fmt: skip
"""Ready-made tasks, by name: title, threads, and (name, time, reads, writes) of each task."""
