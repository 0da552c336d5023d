"""Pause, step and stop for a loop that runs in another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable


class StopTraining(Exception):
    """Raised in a training loop when it is stopped from the board; ``TrainingBoard.start`` catches it."""


class Control:
    """Orders for a loop; the loop asks with :meth:`obey`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._paused = False
        self._steps = 0  # that a paused loop may still make
        self._stopping = False
        self.waiting = False
        self.stopped = False  # the loop was asked to stop, and knows

    @property
    def paused(self) -> bool:
        """Whether the loop is to wait."""
        return self._paused

    @property
    def stopping(self) -> bool:
        """Whether the loop is to end, and does not know yet."""
        return self._stopping

    def reset(self) -> None:
        """Forget orders to stop, for a new run."""
        with self._lock:
            self._stopping = self.stopped = False
            self._steps = 0

    def pause(self) -> None:
        """Let the loop wait."""
        with self._lock:
            self._paused, self._steps = True, 0

    def resume(self) -> None:
        """Let it continue."""
        with self._lock:
            self._paused, self._stopping = False, False
            self._changed.notify_all()

    def step(self) -> None:
        """Let it continue for one step, then wait again."""
        with self._lock:
            if not self._paused:
                self._paused = True
            self._steps += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Let it end."""
        with self._lock:
            self._stopping = True
            self._changed.notify_all()

    def obey(self, on_wait: Callable[[], None]) -> None:
        """Wait while paused.

        Args:
            on_wait: is called as soon as the loop counts as waiting.

        Raises:
            StopTraining: the stop button was pressed.
        """
        with self._lock:
            self.waiting = self._paused and not self._steps and not self._stopping
            try:
                if self.waiting:
                    on_wait()
                self._changed.wait_for(lambda: self._stopping or not self._paused or self._steps)
            finally:
                self.waiting = False
            if self._stopping:
                self._stopping, self._paused, self.stopped = False, False, True
                raise StopTraining("Training was stopped from the board.")
            if self._paused:
                self._steps -= 1
