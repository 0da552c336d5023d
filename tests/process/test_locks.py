"""The order of locks, waiting with one held, and the watchdog."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from mixnet.base import MXNetError
from mixnet.process import locks
from tests import processes


def checked(name: str) -> locks.CheckedLock:
    return locks.CheckedLock(name, locks.ORDER.index(name))


def test_locks_are_taken_in_their_order_only() -> None:
    array, segment, other, engine = map(checked, ("array", "segment", "segment", "engine"))
    with array, segment, engine, engine:
        pass
    with segment, pytest.raises(MXNetError, match="'segment' is taken while this thread holds"):
        other.acquire()
    with engine, pytest.raises(MXNetError, match=r"'array' is taken while .* holds 'engine'"):
        array.acquire()
    assert array.acquire()
    array.release()
    assert array.holder is None and not locks.held[threading.get_ident()]


def test_a_condition_releases_a_checked_lock() -> None:
    lock = checked("engine")
    changed = threading.Condition(lock)  # type: ignore[arg-type]
    with changed:
        assert not changed.wait(0.01)
        assert lock.holder == threading.get_ident()
    assert lock.holder is None


def run(program: str, seconds: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MIXNET_WATCHDOG": seconds}
    return processes.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_waiting_with_a_lock_is_an_error_where_locks_are_checked() -> None:
    program = """
import threading
import mixnet as mx
from mixnet.process import locks
lock, var = locks.make("segment"), mx.engine.Var("slow")
started, gate = threading.Event(), threading.Event()
mx.engine.push(lambda: (started.set(), gate.wait()), writes=[var], name="slow work")
started.wait()
try:
    with lock:
        mx.engine.wait_for_var(var)
except mx.MXNetError as error:
    print(error)
gate.set()
mx.engine.wait_for_var(var)
"""
    actual = run(program, "30")
    assert "about to wait for 'slow work' while it holds the lock 'segment'" in actual.stdout
    assert not actual.stderr


def test_the_watchdog_reports_waiting_threads_and_their_locks() -> None:
    program = """
import sys, threading
import mixnet as mx
started, gate, var = threading.Event(), threading.Event(), mx.engine.Var("v")

class EndsTheWait:
    def write(self, text):
        sys.__stderr__.write(text)
        if "has waited" in text:
            threading.Timer(1, gate.set).start()  # a second report would come before

    def flush(self):
        sys.__stderr__.flush()

sys.stderr = EndsTheWait()
mx.engine.push(lambda: (started.set(), gate.wait()), writes=[var], name="work without end")
started.wait()  # a thread that waits would run what no worker has begun
mx.engine.wait_for_var(var)
print("done")
"""
    actual = run(program, "0.5")
    assert actual.stdout == "done\n"
    assert actual.stderr.count("a thread has waited for more than 0.5 s (MIXNET_WATCHDOG)") == 1
    assert "waits for 'work without end', for " in actual.stderr
    assert "mx.engine.wait_for_var(var)" in actual.stderr or "wait_for_var" in actual.stderr


def test_locks_are_pythons_own_by_default() -> None:
    program = (
        "from mixnet.process import locks; print(type(locks.make('array')).__name__, locks.checked)"
    )
    assert run(program, "0").stdout == "RLock False\n"
