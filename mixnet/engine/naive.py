"""The naive engine: runs each task immediately, in the caller's thread. For debugging."""

from __future__ import annotations

from mixnet.base import MXNetError
from mixnet.engine.engine import Engine
from mixnet.engine.task import State, Task
from mixnet.engine.variable import Var


class NaiveEngine(Engine):
    """Runs each task before ``push`` returns, in push order."""

    def _reserve(self, task: Task) -> None:
        for var in task.writes:
            var.pushed += 1

    def run_quietly(self, task: Task) -> None:
        self._run(task)

    def release(self, task: Task) -> None:
        """Nothing to do: there are no workers."""

    def _enter(self, task: Task) -> None:
        self._reserve(task)
        self._run(task)

    def _run(self, task: Task) -> None:
        task.state = State.RUNNING
        if task.stamps is not None:
            task.stamps.append(task.stamps[0])  # ready when pushed
        try:
            self._work(task)
            if task.on_wait is not None and not task.completed:
                task.on_wait(0.0)
                self._complete(
                    task,
                    MXNetError(
                        f"{task.name or 'work'} had not ended when its function returned, and "
                        f"the naive engine does not wait. Use the ThreadedEngine."
                    ),
                )
        finally:
            self._finish(task)

    def _complete(self, task: Task, error: BaseException | None) -> None:
        if not task.completed:
            task.completed = True
            if isinstance(error, Exception):
                self._note(task, error)
            self._stop_clock(task, error)

    def wait_for_var(self, var: Var) -> None:
        if var.error is not None:
            self._raise(var.error)

    def settle(self, var: Var) -> None:
        """Do nothing: no task is ever pending."""

    def wait_for_all(self) -> None:
        self._raise_unreported()

    def stop(self) -> None:
        """Nothing to do: nothing is pending and there are no workers."""
