"""The naive engine: runs each task immediately, in the caller's thread. For debugging."""

from __future__ import annotations

import os
import threading

from mixnet.base import MXNetError
from mixnet.engine.engine import Engine
from mixnet.engine.task import State, Task
from mixnet.engine.variable import Var
from mixnet.process import locks
from mixnet.process.live_objects import LiveObjects


class NaiveEngine(Engine):
    """Runs each task before ``push`` returns, in push order.

    A task that another thread runs may write what this thread reads: then this thread waits for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = locks.make("engine")
        self._changed = threading.Condition(self._lock)  # type: ignore[arg-type]
        self._thread_of: dict[Task, int] = {}  # tasks that have not ended
        self._waits_for: dict[int, Var] = {}  # thread -> what it waits for
        self._waiting_for_all: set[int] = set()  # threads whose work waits for all tasks
        _engines.add(self)

    def _reserve(self, task: Task) -> None:
        with self._lock:
            self._thread_of[task] = threading.get_ident()
            for var in task.writes:
                var.pushed += 1
                var.holders.add(task)

    def run_quietly(self, task: Task) -> None:
        self._run(task)

    def release(self, task: Task) -> None:
        """Drop a task that will not run: there are no workers."""
        with self._lock:
            self._thread_of.pop(task, None)
            for var in task.writes:
                var.holders.discard(task)
            self._changed.notify_all()

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
            self.release(task)

    def _complete(self, task: Task, error: BaseException | None) -> None:
        if not task.completed:
            task.completed = True
            if isinstance(error, Exception):
                self._note(task, error)
            self._stop_clock(task, error)

    def wait_for_var(self, var: Var) -> None:
        self.settle(var)
        if var.error is not None:
            self._raise(var.error)

    def settle(self, var: Var) -> None:
        if not var.holders:
            return
        this = threading.get_ident()
        try:
            with self._lock:
                if self._waiting_for_all:  # they do not wait for who waits for them
                    self._changed.notify_all()
                while self._threads_that_write(var) - {this}:
                    self._waits_for[this] = var
                    self._check_circle(this)
                    locks.about_to_wait(repr(var.name), self._lock)
                    self._changed.wait()
        finally:
            self._waits_for.pop(this, None)
            locks.ends_waiting()

    def _threads_that_write(self, var: Var) -> set[int]:
        return {self._thread_of[task] for task in var.holders if task in self._thread_of}

    def _check_circle(self, this: int) -> None:
        """Refuse to wait for a thread that waits for this one, directly or indirectly."""
        writers = self._threads_that_write(self._waits_for[this]) - {this}
        if any(this in self._below(each) for each in writers):
            raise MXNetError(
                "Two threads wait for each other's work. Read the variable's content before pushing, "
                "or wait outside the work."
            )

    def wait_for_all(self) -> None:
        this = threading.get_ident()
        try:
            with self._lock:
                # Not those that are pushed from here on: another thread may go on pushing forever.
                tasks = {task for task, thread in self._thread_of.items() if thread != this}
                if this in self._thread_of.values():
                    self._waiting_for_all.add(this)
                    self._changed.notify_all()
                while self._others_to_wait_for(tasks):
                    locks.about_to_wait("tasks of other threads", self._lock)
                    self._changed.wait()
        finally:
            self._waiting_for_all.discard(this)
            locks.ends_waiting()
        self._raise_unreported()

    def _others_to_wait_for(self, tasks: set[Task]) -> set[int]:
        """The threads that run these tasks; work does not wait for threads that wait for it."""
        # A thread that ends one of them may begin another, which is not waited for.
        threads = {self._thread_of[task] for task in tasks if task in self._thread_of}
        if threading.get_ident() not in self._waiting_for_all:
            return threads
        return {each for each in threads if not self._waiting_for_all & self._below(each)}

    def _below(self, thread: int) -> set[int]:
        """A thread and those that it waits for, directly or indirectly."""
        visited, left = {thread}, [thread]
        while left:
            var = self._waits_for.get(left.pop())
            new = self._threads_that_write(var) - visited if var is not None else set()
            visited |= new
            left += new
        return visited

    def stop(self) -> None:
        """Nothing to do: nothing is pending and there are no workers."""


_engines: LiveObjects[NaiveEngine] = LiveObjects()


def _after_fork_in_child() -> None:
    """Do not wait for threads that only the parent has."""
    this = threading.get_ident()
    for engine in _engines.all():
        engine._thread_of = {
            task: thread for task, thread in engine._thread_of.items() if thread == this
        }
        engine._waits_for = {}
        engine._waiting_for_all = set()
        engine._lock = locks.make("engine")
        engine._changed = threading.Condition(engine._lock)  # type: ignore[arg-type]


os.register_at_fork(after_in_child=_after_fork_in_child)
