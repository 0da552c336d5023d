"""Autograd state for asyncio tasks that take turns in one thread.

The state of a thread has a plain ``True`` or ``False`` for whether it records, which every operation reads.
While a scope is open that a task has entered, it is replaced by a :class:`Flag`, whose truth value is that of
the current task.
"""

from __future__ import annotations

from mixnet.process.tasks import Entered, PerTask, enter, running_loop, task_of
from mixnet.runtime.value.state import state


class Flag(PerTask):
    """A boolean that depends on the current task."""

    __slots__ = ()

    def __bool__(self) -> bool:
        loop = running_loop()
        on: bool = self.own.get(None if loop is None else task_of(loop), self.base)
        return on


class Scope:
    """An autograd scope that a task has entered."""

    def __init__(self) -> None:
        self._entered: list[Entered] = []

    def enter(self, recording: bool | None, training: bool | None) -> None:
        """Set the flags for operations of the task; None: unchanged."""
        for name, value in (("recording", recording), ("training", training)):
            if value is not None:
                enter(state, name, value, Flag, into=self._entered)

    def leave(self) -> None:
        """Restore the task's previous flags."""
        while self._entered:
            self._entered[-1].leave()
            self._entered.pop()
