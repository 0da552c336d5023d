"""A program's signal handlers run between operations."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.distributed.tls import Wire
from mixnet.process import handlers
from mixnet.process.handlers import BetweenOperations, wrap_handlers
from tests import processes

CHANGED = (signal.SIGINT, signal.SIGUSR1, signal.SIGALRM)
SOURCE = """
def run(work):
    events.append("begins")
    work()
    events.append("ends")
"""


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in CHANGED}
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in before.items():
        signal.signal(number, handler)


def core(events: list[str]) -> Callable[[Callable[[], Any]], None]:
    """A function that appears to be one of the core and calls another."""
    names: dict[str, Any] = {"__name__": "mixnet.engine.example", "events": events}
    exec(SOURCE, names)
    return names["run"]


def send() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)


def handle(handler: Callable[..., Any]) -> None:
    signal.signal(signal.SIGUSR1, handler)
    wrap_handlers()


def test_a_handler_runs_when_the_core_returns() -> None:
    events: list[str] = []
    handle(lambda number, frame: events.append(f"handler of {number}"))
    core(events)(send)
    events.append("goes on")
    assert events == ["begins", "ends", f"handler of {signal.SIGUSR1:d}", "goes on"]
    time.sleep(3 * handlers._RETRY_SECONDS)
    assert len(events) == 4  # and not again
    send()
    assert len(events) == 5  # outside at once


def test_errors_of_a_handler_reach_the_program() -> None:
    events: list[str] = []

    def handler(number: int, frame: Any) -> None:
        raise TimeoutError("too long")

    handle(handler)
    with pytest.raises(TimeoutError, match="too long"):
        core(events)(send)
        time.sleep(10)
    assert events == ["begins", "ends"]
    assert sys.gettrace() is None


def test_a_handler_runs_while_a_debugger_traces() -> None:
    events: list[str] = []
    came = threading.Event()
    handle(lambda number, frame: came.set())
    sys.settrace(lambda frame, event, argument: None)
    try:
        core(events)(send)
        assert came.wait(10) and events == ["begins", "ends"]
        assert sys.gettrace() is not None
    finally:
        sys.settrace(None)


def test_a_handler_runs_during_a_long_wait(monkeypatch) -> None:
    events: list[str] = []
    came = threading.Event()
    handle(lambda number, frame: came.set())
    monkeypatch.setattr(handlers, "_PATIENCE", 0.01)

    def work() -> None:
        send()
        came.wait(20)
        events.append("waited")

    begin = time.monotonic()
    core(events)(work)
    assert came.is_set() and events == ["begins", "waited", "ends"]
    assert time.monotonic() - begin < 15


def waits_for_a_message(came: threading.Event) -> None:
    mine, other = socket.socketpair()
    with mine, other:
        Wire(mine).readline(20)


def tries_again(came: threading.Event) -> None:
    end = time.monotonic() + 20
    while not came.is_set() and time.monotonic() < end:
        handlers.pause(0.01)


@pytest.mark.parametrize("wait", [waits_for_a_message, tries_again])
def test_a_worker_that_waits_for_others_to_join_handles_signals(wait, monkeypatch) -> None:
    came = threading.Event()
    functions: list[str] = []

    def handler(number: int, frame: Any) -> None:
        functions.append(frame.f_code.co_name)
        came.set()
        raise InterruptedError

    handle(handler)
    monkeypatch.setattr(handlers, "_PATIENCE", 0.01)
    begin = time.monotonic()
    with pytest.raises(InterruptedError):
        core([])(lambda: (send(), wait(came)))
    assert functions == ["_wait_for_data" if wait is waits_for_a_message else "pause"]
    assert time.monotonic() - begin < 15


def test_only_handlers_of_a_program_are_wrapped() -> None:
    for handler in (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler, wrap_handlers):
        handle(handler)
        assert signal.getsignal(signal.SIGUSR1) is handler
    handle(print)
    wrapped = signal.getsignal(signal.SIGUSR1)
    assert isinstance(wrapped, BetweenOperations) and wrapped.handler is print
    wrap_handlers()
    assert signal.getsignal(signal.SIGUSR1) is wrapped


ASYNCIO = """
import asyncio, signal
from mixnet.process.handlers import BetweenOperations, wrap_handlers

async def main():
    wrap_handlers()
    return signal.getsignal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
during = asyncio.run(main())
assert not isinstance(during, BetweenOperations) and during is not signal.default_int_handler
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print("gone")
"""


def test_the_handler_of_asyncio_is_removed_after_its_run() -> None:
    # In a process of its own: the worker of browser tests has a loop that runs.
    done = processes.run(
        [sys.executable, "-c", ASYNCIO], capture_output=True, text=True, timeout=240
    )
    assert (done.stdout, done.stderr, done.returncode) == ("gone\n", "", 0)


def test_a_program_that_saves_in_a_handler_trains_as_without(tmp_path: Path) -> None:
    path, saved = tmp_path / "net.params", []
    x = nd.array(np.random.RandomState(0).rand(16, 8))

    def trained() -> np.ndarray:
        mx.random.seed(3)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(8, in_units=8, activation="relu"), gluon.nn.Dropout(0.3))
        net.initialize()
        net(x).wait_to_read()
        networks.append(net)
        trainer = gluon.Trainer(net.collect_params(), "adam")
        for _ in range(60):
            with autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
        return net[0].weight.data().asnumpy()

    def arm() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.005)

    def save(number: int, frame: Any) -> None:
        with autograd.pause(train_mode=False):
            networks[-1].save_parameters(str(path))
            saved.append(float(networks[-1](x).sum().asscalar()))
        arm()  # a periodic timer would leave no time for training when saving takes longer than its period

    networks: list[gluon.HybridBlock] = []
    expected = trained()
    signal.signal(signal.SIGALRM, save)
    arm()
    result = trained()
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    assert saved and np.isfinite(saved).all()
    assert set(nd.load(str(path))) == {"0.weight", "0.bias"}
    np.testing.assert_array_equal(result, expected)
