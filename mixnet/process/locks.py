"""The locks of arrays, programs and the engine: what each guards, their order, and their holders.

No thread waits for work, a device or another thread while it holds one of these locks. Each is held for a
few assignments, and what takes longer (running a program, calling a user's function, starting a thread) is
decided under the lock and done after it. Locks that are held together are taken in the order of ``ORDER``.
So threads cannot wait for each other in a circle.

With ``MIXNET_WATCHDOG`` set, both rules are checked whenever a lock is taken and whenever a thread is about
to wait, and holders are known by name; otherwise these are Python's own locks, and nothing is checked.

A ``threading.Condition`` is not used in place of its lock, as in ``with condition:``. Its ``__exit__`` is
Python code: Ctrl-C may come when it is entered, and the lock would stay held.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, TypeVar

from mixnet import config
from mixnet.base import MXNetError
from mixnet.process.live_objects import LiveObjects
from mixnet.units import time_text

T = TypeVar("T")

ORDER = (
    "array",  # contents of all arrays: compared with what was read, and replaced
    "custom operator",  # which objects run a custom operator, and which of its calls wait for backward
    "meetings",  # meetings of devices that are open, and who has come
    "segment",  # the operations of one segment, and whether it was handed over
    "random numbers",  # the next number of a stream
    "random numbers of the host",  # the state of MXNet's generators
    "later",  # the values that one task makes
    "files",  # which files have variables
    "engine",  # the queues of all variables and workers
    "host values",  # whether a result of a backend is on the host or on the device
    "live host values",  # which values are on the host
    "shards",  # whether an array over devices was divided into one for each
    "in flight",  # programs that may still be running
    "specs",  # which specs there are
    "errors",  # unreported errors
    "threads of BLAS",  # who wants one
    "counters",
)
"""The locks, named after what they guard; a thread that holds one may take those after it."""


class Lock(Protocol):
    """The result of ``make``: a reentrant lock."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock."""

    def release(self) -> None:
        """Give it back."""


SECONDS: float = config.get("MIXNET_WATCHDOG")
"""After so many seconds of waiting a thread is reported; 0: none is, and locks are not checked."""

checked = SECONDS > 0
"""Whether locks know their holders and check the rules; fixed when the process starts."""

_of_one_object = {"segment", "later"}
_lasting: LiveObjects[Any] = LiveObjects()  # all others: these are there after a fork


def make(name: str) -> Lock:
    """A lock that guards what ``ORDER`` says of ``name``."""
    if not checked:
        lock: Lock = _thread.RLock()  # threading.RLock is a function of Python that calls it
    else:
        lock = CheckedLock(name, ORDER.index(name))
    if name not in _of_one_object:
        _lasting.add(lock)
    return lock


def renewed(lock: object) -> Any:
    """A lock from elsewhere that is to be open in a forked process, whatever threads of its
    parent were doing.

    For locks that are held for a moment, around what can be read or written again in any state.
    """
    _lasting.add(lock)
    return lock


class cached_property(functools.cached_property[T]):  # noqa: TID251
    """``functools.cached_property`` that a forked process can read.

    Python 3.11 holds a lock of the class while a value is computed, which a thread of the parent may have
    held. Here two threads may compute the same value.
    """

    def __init__(self, compute: Callable[[Any], T]):
        super().__init__(compute)
        self.lock = contextlib.nullcontext()


class CheckedLock:
    """A reentrant lock that knows its holder, and refuses to be taken out of order.

    Args:
        name: one of ``ORDER``.
        rank: its place there.
    """

    def __init__(self, name: str, rank: int):
        self.name, self.rank = name, rank
        self.holder: int | None = None  # number of a thread
        self._lock = threading.RLock()
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock.

        Raises:
            MXNetError: this thread holds one that comes later in the order, or of the same rank.
        """
        locks = _own_locks()
        if self.holder != threading.get_ident():
            later = next((lock for lock in locks if lock.rank >= self.rank), None)
            if later is not None:
                raise MXNetError(
                    f"The lock {self.name!r} is taken while this thread holds {later.name!r}, "
                    "which comes after it "
                    "(mixnet/process/locks.py). This is a bug in mixnet: please report it "
                    "with this traceback."
                )
            waits_for[threading.get_ident()] = f"the lock {self.name!r}", time.monotonic()
        try:
            acquired = self._lock.acquire(blocking, timeout)
        finally:
            waits_for.pop(threading.get_ident(), None)
        if acquired:
            self.holder = threading.get_ident()
            self._depth += 1
            locks.append(self)
        return acquired

    def release(self) -> None:
        """Give it back."""
        self._depth -= 1
        if not self._depth:
            self.holder = None
        _own_locks().remove(self)
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]
        self.holder, self._depth = None, 0

    # What threading.Condition asks of a lock that it gives back while it waits.

    def _is_owned(self) -> bool:
        return self.holder == threading.get_ident()

    def _release_save(self) -> int:
        depth = self._depth
        for _ in range(depth):
            self.release()
        return depth

    def _acquire_restore(self, depth: int) -> None:
        for _ in range(depth):
            self.acquire()


held: dict[int, list[CheckedLock]] = {}  # thread -> what it holds, in the order of taking
waits_for: dict[int, tuple[str, float]] = {}  # thread -> what it waits for, and since when


def _own_locks() -> list[CheckedLock]:
    return held.setdefault(threading.get_ident(), [])


def about_to_wait(event: str, gives_back: object = None) -> None:
    """Say what this thread is going to wait for; ``ends_waiting`` takes it back.

    Args:
        event: for the report of who waits for whom.
        gives_back: a lock that is given back while the thread waits.

    Raises:
        MXNetError: it holds a lock. Only where locks are checked.
    """
    if checked:
        # A thread that wakes and sleeps again has waited since the first time.
        _, since = waits_for.get(threading.get_ident(), ("", time.monotonic()))
        waits_for[threading.get_ident()] = event, since
        locks = [lock for lock in _own_locks() if lock is not gives_back]
        if locks:
            ends_waiting()
            raise MXNetError(
                f"A thread is about to wait for {event} while it holds the lock {locks[-1].name!r} "
                "(mixnet/process/locks.py). This is a bug in mixnet: please report it "
                "with this traceback."
            )


def ends_waiting() -> None:
    """This thread waits no more."""
    waits_for.pop(threading.get_ident(), None)


def report() -> str:
    """Who holds what, who waits for what, and where every thread is."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = []
    for number, frame in sys._current_frames().items():
        lines.append(f"Thread {names.get(number, number)}")
        locks = [lock.name for lock in list(held.get(number, ()))]
        if locks:
            lines.append(f"  holds {', '.join(locks)}")
        wait = waits_for.get(number)  # a thread may go on while it is described
        if wait is not None:
            event, since = wait
            lines.append(f"  waits for {event}, for {time_text(time.monotonic() - since)}")
        lines += [line.rstrip() for line in traceback.format_stack(frame)]
    return "\n".join(lines)


def _watch() -> None:
    """Report, once for each wait, the threads that wait too long. Runs on a thread of its own."""
    reported: set[tuple[int, float]] = set()
    while True:
        time.sleep(SECONDS / 4)
        long = {
            (number, since)
            for number, (_, since) in waits_for.copy().items()
            if time.monotonic() - since > SECONDS
        }
        if long - reported:
            print(
                f"mixnet: a thread has waited for more than {SECONDS:g} s (MIXNET_WATCHDOG). All threads:\n"
                f"{report()}",
                file=sys.stderr,
                flush=True,
            )
        reported = long


def _start_watching() -> None:
    threading.Thread(target=_watch, name="mixnet watchdog", daemon=True).start()


def _after_fork() -> None:
    """In a child: threads that held a lock are gone, and what they waited for."""
    held.clear()
    waits_for.clear()
    for lock in _lasting.all():
        lock._at_fork_reinit()
    if checked:
        _start_watching()


os.register_at_fork(after_in_child=_after_fork)
if checked:
    _start_watching()
