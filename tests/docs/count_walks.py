"""Python calls of the walks in docs/concepts/walks.md: ``python -m tests.docs.count_walks``.

With ``--names``: the functions that each walk calls, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import mixnet as mx
from mixnet import autograd, gluon

Walk = tuple[Callable[[], object], Callable[[], object]]
"""What has to happen before, which is not counted, and the walk."""


def _nothing() -> None:
    """Some walks need nothing before them."""


def arithmetic() -> Walk:
    a = mx.nd.ones((2, 3))
    a.wait_to_read()

    def walk() -> object:
        b = a * 2 + 1
        return b.asnumpy()

    return _nothing, walk


def gradient() -> Walk:
    x = mx.nd.ones((2, 3))
    x.attach_grad()

    def walk() -> object:
        with autograd.record():
            y = (x * x).sum()
        y.backward()
        return x.grad.asnumpy()

    return _nothing, walk


def _dense() -> gluon.nn.Dense:
    net = gluon.nn.Dense(4)
    net.initialize()
    return net


def hybridized() -> Walk:
    net, x = _dense(), mx.nd.ones((2, 3))
    net.hybridize()
    return _nothing, lambda: net(x).asnumpy()


def bound() -> Walk:
    net: Any = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    heads = mx.nd.ones((2, 4))

    def walk() -> object:
        executor = net.simple_bind(mx.cpu(), data=(2, 3))
        executor.forward(is_train=True)
        executor.backward(heads)
        return executor.outputs[0].asnumpy()

    return _nothing, walk


def step() -> Walk:
    net, x = _dense(), mx.nd.ones((2, 3))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def backward() -> None:
        with autograd.record():
            y = net(x).sum()
        y.backward()

    return backward, lambda: trainer.step(2)


WALKS = [arithmetic, gradient, hybridized, bound, step]


def _run_watched(run: Callable[[], object]) -> list[str]:
    """The functions that a call of ``run`` calls, apart from itself, by their qualified names."""
    names: list[str] = []

    def watch(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            names.append(frame.f_code.co_qualname)

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return names[1:]


def names_called(walk: Walk) -> set[str]:
    """The functions that the first runs of a walk call: what is cached later is looked up there."""
    before, run = walk
    names: set[str] = set()
    for _ in range(3):
        before()
        names.update(_run_watched(run))
    return names


def calls(walk: Walk, warm: int = 4) -> int:
    """Python functions that a walk calls once it has run a few times."""
    before, run = walk
    for _ in range(warm):
        before()
        run()
    before()
    mx.nd.waitall()
    return len(_run_watched(run))


if __name__ == "__main__":
    if sys.argv[1:] == ["--names"]:
        print(json.dumps([sorted(names_called(make())) for make in WALKS]))
        sys.exit()
    for make in WALKS:
        print(f"{make.__name__:12}{calls(make()):6,}")
