"""Exchanges run one after another, each in the thread that needs its result or in that of exchanges."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from mixnet.distributed.direct import Result, Steps
from mixnet.engine.task import Done
from mixnet.process.interrupt import Deferred

_SECONDS_HERE = 0.02
"""How long a thread that needs a result waits for other processes itself; Ctrl-C has to wait, too."""


class Turn:
    """One exchange. Whichever thread is first runs it until it has ended or would wait for long.

    Args:
        steps: the exchange.
        check: called about every second of waiting; raises an error to give up.
    """

    def __init__(self, steps: Steps[None], check: Callable[[], None]):
        self.ended = threading.Event()
        self.done: Done | None = None  # of the engine's task, set when it may begin
        self._steps, self._check = steps, check
        self._unclaimed = threading.Semaphore()

    def run(self, seconds: float | None = None) -> bool:
        """Run it, unless another thread does.

        Args:
            seconds: to wait for other processes; no limit by default.

        Returns:
            whether another thread has to go on, since those seconds were not enough.
        """
        if not self._unclaimed.acquire(blocking=False):
            return False  # and if it has ended, it stays claimed
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
    """The result of an exchange. Waits for the other processes.

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
    """The thread of exchanges, and what waits for it."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Turn] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="mixnet exchanges", daemon=True).start()

    def put(self, turn: Turn) -> None:
        """Let the thread run an exchange, unless another one does first."""
        self._waiting.put(turn)

    def run_here(self, turn: Turn) -> None:
        """Run an exchange in this thread, which needs its result, as long as it does not wait for long.

        So no other thread has to wake up for it, and then wake up this one.
        """
        with Deferred():  # an exchange that has begun goes on
            if turn.run(_SECONDS_HERE):
                self.put(turn)

    def _run(self) -> None:
        while True:
            self._waiting.get().run()
