"""Exchanges run one after another, in the thread that needs the result or in a thread of their own.

An exchange is a generator that yields what it waits for, so it can pause in one thread and
continue in another. The thread that needs the result runs it for a few milliseconds, which
usually suffices on a fast network and saves two thread switches. If it takes longer, the
background thread continues, and the caller waits for the engine's task as for any other, open to
Ctrl-C.

``Turn._unclaimed`` decides which thread runs the generator; a generator cannot run in two threads
at once. It is released only if the exchange has to continue, so an exchange that has ended is
never entered again. ``ended`` is set before ``done`` is called, so that its waiters wake up even
if ending the task raises an error.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from mixnet.distributed.direct import Result, Steps
from mixnet.engine.task import Done
from mixnet.process.interrupt import Deferred

_SECONDS_HERE = 0.02
"""How long a thread that needs a result waits for other processes itself. Ctrl-C is deferred meanwhile."""


class Turn:
    """One exchange. The first thread to claim it runs it until it ends or would have to wait for long.

    Args:
        steps: the exchange.
        check: called about every second of waiting; raises an error to give up.
    """

    def __init__(self, steps: Steps[None], check: Callable[[], None]):
        self.ended = threading.Event()
        self.done: Done | None = None  # ends the engine's task; set when the exchange may begin
        self._steps, self._check = steps, check
        self._unclaimed = threading.Semaphore()

    def run(self, seconds: float | None = None) -> bool:
        """Run it, unless another thread does.

        Args:
            seconds: to wait for other processes; no limit by default.

        Returns:
            Whether another thread has to continue, because the time was not enough.
        """
        if not self._unclaimed.acquire(blocking=False):
            return False  # another thread runs it, or it has ended
        error: BaseException | None = None
        try:
            is_over = self._advance(seconds)
        except BaseException as raised:
            is_over, error = True, raised
        if not is_over:
            self._unclaimed.release()
            return True
        self.ended.set()
        assert self.done is not None
        self.done(error)
        return False

    def _advance(self, seconds: float | None) -> bool:
        end = None if seconds is None else time.monotonic() + seconds
        for events in self._steps:
            if events is None:
                if end is not None:
                    return False
                continue
            left = 1.0 if end is None else end - time.monotonic()
            while not events.poll(max(0.0, 1000 * left)):
                if end is not None:
                    return False
                self._check()
        return True


def finished(steps: Steps[Result], check: Callable[[], None]) -> Result:
    """Run an exchange to its end and return its result, waiting for the other processes.

    Args:
        steps: the exchange.
        check: called about every second of waiting; raises an error to give up.
    """
    while True:
        try:
            events = next(steps)
        except StopIteration as end:
            return end.value
        while events is not None and not events.poll(1000):
            check()


class Turns:
    """The background thread of exchanges, with its queue."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Turn] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="mixnet exchanges", daemon=True).start()

    def put(self, turn: Turn) -> None:
        """Queue an exchange for the background thread, which skips it if another thread runs it first."""
        self._waiting.put(turn)

    def run_here(self, turn: Turn) -> None:
        """Run an exchange in this thread, which needs its result, unless it has to wait for long.

        This saves waking the background thread, which would then have to wake this one.
        """
        with Deferred():  # Ctrl-C must not cut an exchange in half: the other processes would hang
            if turn.run(_SECONDS_HERE):
                self.put(turn)

    def _run(self) -> None:
        while True:
            self._waiting.get().run()
