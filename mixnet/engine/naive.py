"""The naive engine: runs work at once, in the caller's thread. The mode for debugging."""

from __future__ import annotations

from collections.abc import Sequence

from mixnet.engine.engine import Engine
from mixnet.engine.task import State, Task, Work
from mixnet.engine.variable import Var


class NaiveEngine(Engine):
    """Runs each piece of work before ``push`` returns; the order of pushing is the order."""

    def claim(
        self,
        work: Work,
        reads: Sequence[Var] = (),
        writes: Sequence[Var] = (),
        resource: str = "compute",
        priority: int = 0,
        name: str = "",
        forgiving: bool = False,
        source: str | None = None,
    ) -> Task:
        task = self._task(work, reads, writes, resource, priority, name, source)
        task.forgiving = forgiving
        for var in task.writes:
            var.pushed += 1
        return task

    def run(self, task: Task) -> None:
        self._run(task)
        if task.error is not None:
            self._raise(task.error)

    def _enter(self, task: Task) -> None:
        for var in task.writes:
            var.pushed += 1
        self._run(task)

    def _run(self, task: Task) -> None:
        task.state = State.RUNNING
        if task.stamps is not None:
            task.stamps.append(task.stamps[0])  # ready when pushed
        try:
            self._work(task)
        finally:
            self._finish(task)

    def wait_for_var(self, var: Var) -> None:
        if var.error is not None:
            self._raise(var.error)

    def settle(self, var: Var) -> None:
        """Nothing is ever pending."""

    def wait_for_all(self) -> None:
        self._raise_untold()

    def stop(self) -> None:
        """Nothing is pending and there are no workers."""
