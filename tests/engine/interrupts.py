"""Ctrl-C at every point where Python handles signals: nothing stays half done, and no task is lost.

Run by ``test_interrupts.py``, in a process of its own.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from mixnet import autograd, nd
from mixnet.engine import ThreadedEngine, Var
from mixnet.runtime.record.record import flush
from tests import processes
from tests.line_interrupts import interrupted as at_line

# Interrupts hit finalizers, too, which can only report them.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def interrupted(at: int, folders: tuple[str, ...], work: Callable[[], object]) -> bool:
    """Interrupt ``work`` at the ``at``-th point in code of these folders; returns whether there is one.

    Python looks for signals where a function begins and where a call has returned.
    """
    left = at

    def watch(frame: Any, event: str, called: object) -> None:
        nonlocal left
        if event in ("call", "c_return") and any(f in frame.f_code.co_filename for f in folders):
            left -= 1
            if not left:
                sys.setprofile(None)
                code = frame.f_code
                raise KeyboardInterrupt(f"{event} {code.co_qualname}:{frame.f_lineno}")

    sys.setprofile(watch)
    try:
        work()
    except KeyboardInterrupt as error:
        print(at, error)
        return True
    finally:
        sys.setprofile(None)
    return False


def ends(work: Callable[[], object]) -> bool:
    """Whether ``work`` ends when another thread runs it."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout=20)
    return not thread.is_alive()


def every_point(scenario: Callable[[int], bool], most: int = 2000) -> int:
    """Interrupt at each point in turn until the scenario ends uninterrupted; returns the number of points."""
    for at in range(1, most):
        if not scenario(at):
            return at - 1
    raise AssertionError(f"more than {most} points")


@pytest.mark.parametrize("at_point", [interrupted, at_line], ids=["call", "line"])
@pytest.mark.parametrize("kind", ["push", "push_sync", "claim", "quick", "quick, free"])
def test_pushed_tasks_run_and_other_threads_continue(kind: str, at_point: Any) -> None:
    def scenario(at: int) -> bool:
        engine = ThreadedEngine()
        a, b = Var("a"), Var("b")
        gate, ran = threading.Event(), []
        engine.push(gate.wait, (), (a,), name="before")  # the variables are in use
        engine.push(lambda: None, (a,), (b,))

        def work() -> None:
            if kind == "push":
                engine.push(lambda: ran.append(at), (a,), (b,))
                gate.set()
                engine.wait_for_var(b)
            elif kind.startswith("quick"):
                if kind == "quick, free":  # starts here, not where the task before it ends
                    gate.set()
                    engine.settle(b)

                def start(done: Callable[[Any], None]) -> None:
                    if not ran:  # called again after an interrupt
                        ran.append(at)
                    done(None)

                engine.push_async(start, (a,), (b,), quick=True)
                gate.set()
                engine.wait_for_var(b)
            elif kind == "push_sync":
                gate.set()
                engine.push_sync(lambda: ran.append(at), (a,), (b,))
            else:
                gate.set()
                engine.run(engine.claim(lambda: ran.append(at), (a,), (b,)))

        came = at_point(at, ("/mixnet/engine/",), work)
        gate.set()
        if kind == "claim" and came:  # as a thread does that claims an exchange
            for task in [*b.holders, *(task for task, _ in b.queue)]:
                engine.release(task)
        assert ends(engine.wait_for_all), f"waits for ever after an interrupt at {at}, {came}"
        assert len(ran) <= 1 and (came or len(ran) == 1)
        assert not engine._pending and b.version == b.pushed and not b.holders and not b.queue
        after: list[int] = []
        engine.push(lambda: after.append(1), (a,), (b,))
        assert ends(lambda: engine.settle(b))
        assert b.error is not None or after == [1]
        engine.stop()
        return bool(came)

    assert every_point(scenario) > 20


@pytest.mark.parametrize("read", [nd.NDArray.asnumpy, lambda weight: (flush(), weight.asnumpy())])
def test_weights_are_there_after_an_interrupt(read: Callable[[nd.NDArray], object]) -> None:
    first = np.arange(20000, dtype="float32")

    def scenario(at: int) -> bool:
        weight = nd.array(first)
        weight.wait_to_read()
        weight[:] = weight * 2 - 1  # takes over the buffer
        folders = (
            "/mixnet/engine/",
            "runtime/record/segment.py",
            "runtime/record/failed.py",
            "runtime/programs/donation.py",
            "runtime/programs/executable_cache.py",
        )
        came = interrupted(at, folders, lambda: read(weight))
        results: list[np.ndarray] = []
        assert ends(lambda: results.append(weight.asnumpy())), at
        assert results, f"lost by an interrupt at {at}"
        np.testing.assert_array_equal(results[0], first * 2 - 1)
        return bool(came)

    assert not scenario(10**6)  # compiled
    assert every_point(scenario) > 20


def test_nothing_is_recorded_after_an_interrupt_in_a_scope() -> None:
    stored: list[BaseException] = []  # as notebooks keep the last one, with its frames

    def work() -> None:
        try:
            with autograd.record(), autograd.predict_mode(), ExitStack() as stack:
                stack.enter_context(autograd.pause())
        except KeyboardInterrupt as interrupt:
            stored.append(interrupt)
            raise

    def scenario(at: int) -> bool:
        came = interrupted(at, ("autograd/scope.py",), work)
        assert not autograd.is_recording() and not autograd.is_training(), at
        return bool(came)

    assert every_point(scenario) > 8
    scope = autograd.record()
    scope.__enter__()
    assert autograd.is_recording()
    scope.__exit__(None, None, None)
    assert not autograd.is_recording()


def test_an_interrupt_that_python_drops_is_raised_again() -> None:
    program = """
import gc, time
import mixnet as mx
class Dropped:
    def __del__(self):
        raise KeyboardInterrupt  # as one that is taken right here
try:
    Dropped()
    for _ in range(2000):
        time.sleep(0.01)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
class Wrong:
    def __del__(self):
        raise ValueError("of another kind")
Wrong()
"""
    process = processes.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240
    )
    assert process.stdout == "interrupted\n"
    assert "KeyboardInterrupt" not in process.stderr
    assert "ValueError: of another kind" in process.stderr
