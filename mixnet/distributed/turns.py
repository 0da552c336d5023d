"""Exchanges run one after another, in the thread that needs the result or in a thread of their own.

An exchange is a generator that yields what it waits for, so it can pause in one thread and
continue in another. The thread that needs the result runs it for a few milliseconds, which
usually suffices on a fast network and saves two thread switches. If it takes longer, the
background thread continues, and the caller waits for the engine's task as for any other, open to
Ctrl-C.

``Turn._free`` decides which thread runs the generator; a generator cannot run in two threads at once. It is
released only if the exchange has to continue, so an exchange that has ended is never entered again.
``_running`` is released when ``done`` has ended the task, since its waiters go on as if it had; also if that
raises an error.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from mixnet.distributed.awaited import WITHOUT_LIMIT, Awaited, Result, Steps, Watch, happens
from mixnet.engine.task import Done
from mixnet.process.interrupt import Deferred

_SECONDS_HERE = 0.02
"""How long a thread waits for other processes in an exchange; Ctrl-C has to wait, too."""

CHECK_SECONDS = 1.0
"""How often a thread that waits checks whether the exchange can still succeed."""


class Turn:
    """One exchange. The first thread to claim it runs it until it ends or would have to wait for long.

    Args:
        steps: the exchange.
        check: called about every second of waiting; raises an error to give up.
        is_short: its messages fit into the buffers of the kernel, so the thread that begins it sends
            them at once.
    """

    def __init__(self, steps: Steps[None], check: Callable[[], None], is_short: bool = False):
        self.done: Done | None = None  # of the engine's task, set when it may begin
        self.is_short = is_short
        self.next_report = 0.0  # seconds of waiting after which it is reported
        self._steps, self._check = steps, check
        self._free = threading.Lock()  # locked while a thread runs it, and after its end
        self._running = threading.Lock()  # until its task has ended
        self._running.acquire()

    def run(self, seconds: float = 0.0, blocks: bool = False) -> Awaited | None:
        """Run it, unless another thread does.

        Args:
            seconds: to wait for other processes.
            blocks: whether it may also wait without a limit, where it has to.

        Returns:
            what it still waits for, so that another thread has to go on; None if none has to.
        """
        if not self._free.acquire(blocking=False):
            return None
        error: BaseException | None = None
        try:
            awaited = self._advance(seconds, blocks)
        except BaseException as raised:
            awaited, error = None, raised
        if awaited is not None:
            self._free.release()
            return awaited
        self._end(error)
        return None

    def _end(self, error: BaseException | None) -> None:
        done, self.done = self.done, None  # or the task and its turn hold each other
        assert done is not None
        try:
            done(error)
        finally:
            self._running.release()

    def _advance(self, seconds: float, blocks: bool) -> Awaited | None:
        end = time.monotonic() + seconds
        for awaited in self._steps:
            if not awaited and blocks:
                continue
            left = end - time.monotonic()
            if not awaited or left <= 0 or not happens(awaited, left):
                return awaited
        return None

    def check(self) -> None:
        """Give up if the exchange cannot succeed any more; unless a thread runs it, which checks itself."""
        if self._free.acquire(blocking=False):
            try:
                self._check()
            except BaseException as error:
                self._end(error)
                return
            self._free.release()

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, at most some seconds; returns whether it has."""
        has_ended = self._running.acquire(timeout=seconds)
        if has_ended:
            self._running.release()
        return has_ended


def finished(steps: Steps[Result], check: Callable[[], None]) -> Result:
    """Run an exchange to its end and return its result, waiting for the other processes.

    Args:
        steps: the exchange.
        check: called about every second of waiting; raises an error to give up.
    """
    while True:
        try:
            awaited = next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        while awaited and not happens(awaited, CHECK_SECONDS):
            check()


class _OfThread(threading.local):
    line: deque[Turn] | None = None  # turns that the thread is about to begin


class Turns:
    """The exchange whose turn it is, and the thread that goes on with it when no other does.

    The next turn is put after the end of the one before. The thread sleeps until what the turn waits for
    has happened: it is not woken for an exchange that others run meanwhile.
    """

    def __init__(self) -> None:
        self._turn: Turn | None = None
        self._watch = Watch()
        self._lock = threading.Lock()  # of the two
        self._of_thread = _OfThread()
        threading.Thread(target=self._run, name="mixnet exchanges", daemon=True).start()

    def put(self, turn: Turn) -> None:
        """Begin an exchange in this thread if it is short. The thread of exchanges goes on with it,
        unless another one does first.
        """
        line = self._of_thread.line
        if line is not None:  # the end of one turn in this thread leads to the next: no recursion
            line.append(turn)
            return
        line = self._of_thread.line = deque([turn])
        try:
            with Deferred():  # an exchange that has begun goes on
                while line:
                    self._begin(line.popleft())
        finally:
            self._of_thread.line = None

    def _begin(self, turn: Turn) -> None:
        with self._lock:
            self._turn = turn
        self._leave(turn, turn.run() if turn.is_short else WITHOUT_LIMIT)

    def run_now(self, turn: Turn) -> None:
        """Run an exchange in this thread, which needs its result, unless it has to wait for long.

        This saves waking the background thread, which would then have to wake this one.
        """
        with Deferred():
            with self._lock:
                if turn is self._turn:
                    self._watch.end()
            self._leave(turn, turn.run(_SECONDS_HERE))

    def _leave(self, turn: Turn, awaited: Awaited | None) -> None:
        """Let the thread of exchanges go on with a turn."""
        if awaited is not None:
            with self._lock:
                if turn is self._turn:  # else others have run it meanwhile
                    self._watch.begin(awaited)

    def _run(self) -> None:
        while True:
            has_happened = self._watch.wait(CHECK_SECONDS)
            with self._lock:
                turn = self._turn
                if has_happened:
                    self._watch.end()
            if turn is None:
                continue
            if not has_happened:
                turn.check()
            self._leave(turn, turn.run(_SECONDS_HERE, blocks=True))
            del turn  # a thread that sleeps holds nothing
