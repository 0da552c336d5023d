"""Ctrl-C at every line of a push in one process: afterwards both have pushed, or it pushes again."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.distributed.processes import world

FOLDERS = ("/mixnet/kvstore/", "/mixnet/distributed/", "/mixnet/engine/")


def interrupted(at: int, work: Callable[[], object]) -> bool:
    """Press Ctrl-C at the ``at``-th line of ``work`` in these folders; returns whether there is one."""
    left = at

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if not any(folder in frame.f_code.co_filename for folder in FOLDERS):
            return None
        if event == "line":
            left -= 1
            if not left:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return left <= 0


def every_line(push: Callable[[], object], check: Callable[[], object]) -> int:
    """Interrupt a push at each of its lines; both processes keep the same values. Returns the tens of lines.

    Args:
        push: makes one exchange.
        check: raises an error if the values are not those after one more push.
    """
    agreement, lines, more, had_more = world().agreement, 0, True, True
    while more:
        lines += 1
        before = agreement.count
        if world().rank == 0:
            had_more = interrupted(lines, push)
        else:
            push()
        if agreement.count == before:  # interrupted before the exchange, which did not happen
            assert world().rank == 0
            push()
        assert agreement.count == before + 1
        check()
        if lines % 10 == 0:  # telling the other process is an exchange, too
            more = bool(world().gather(np.array([had_more]))[0][0])
    assert lines > 30, lines
    return lines


def pushes(kind: str, updates: bool, reads: bool) -> int:
    """Lines of a push, and of reading the result."""
    store = mx.kv.create(kind)
    store.init("w", nd.zeros(4))
    if updates:
        store.set_optimizer(mx.optimizer.Test())
    gradient, out = nd.ones(4), nd.zeros(4)
    expected = np.zeros(4)

    def check() -> None:
        nonlocal expected
        store.pull("w", out=out)
        expected = expected + 2 if updates else np.full(4, 2)
        values = out.asnumpy()
        assert (values == expected).all(), (kind, values, expected)

    def push_and_read() -> None:
        store.push("w", gradient)
        if reads:  # the exchange then runs in this thread
            store.pull("w", out=out)
            out.asnumpy()

    return every_line(push_and_read, check)


def steps(joint_after: int) -> int:
    """Lines of a training step; the gradient of each weight is 1."""
    weight = gluon.Parameter("w", shape=(4,))
    weight.initialize(mx.init.Zero())
    store = mx.kv.create("dist_sync")
    store.handle._steps.after = joint_after
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1, "momentum": 0}, kvstore=store)
    expected = np.zeros(4)

    def backward() -> None:
        with autograd.record():
            loss = weight.data().sum()
        loss.backward()

    def check() -> None:
        nonlocal expected
        expected = expected - 2
        values = weight.data().asnumpy()
        assert (values == expected).all(), (joint_after, values, expected)
        backward()

    backward()
    trainer.step(1)  # puts the weight into the store
    check()
    return every_line(lambda: trainer.step(1), check)


def main() -> None:
    """Pushes without and with an optimizer, one in each kind of store, and training steps.

    A push that is read begins with the lines of one that is not, and an interrupt there ends both alike.
    """
    for kind, updates, reads in (("dist_sync", False, True), ("dist_device_sync", True, False)):
        lines = pushes(kind, updates, reads)
        print(kind, "updates" if updates else "sums", lines, "lines", flush=True)
    for joint_after in (0, 2):
        print("steps", joint_after, steps(joint_after), "lines", flush=True)
    print("done", flush=True)


main()
