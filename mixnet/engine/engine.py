"""The engine's interface: push tasks with the variables they read and write, wait for a variable."""

from __future__ import annotations

import itertools
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial

from mixnet.base import MXNetError
from mixnet.engine.task import Done, State, Task, Work
from mixnet.engine.timeline import now, timeline
from mixnet.engine.variable import Var
from mixnet.process import locks
from mixnet.process.source import user_line


def is_reported(error: BaseException | None) -> bool:
    """Whether a stored error has been raised in a waiting caller."""
    return getattr(error, "_is_reported", False)


def mark_reported(error: BaseException) -> None:
    """Mark a stored error as raised."""
    error._is_reported = True  # type: ignore[attr-defined]


def _interrupted(task: Task) -> MXNetError:
    """The error for later readers; the interrupt itself was raised in the thread that waited for the task."""
    error = MXNetError(f"{task.name or 'work without a name'} was interrupted.")
    mark_reported(error)
    return error


def _nothing() -> None:
    """The work of a task that has ended."""


RESOURCES = ("compute", "copy", "io", "communication")


class Engine(ABC):
    """Runs tasks when the variables that they read and write allow.

    Tasks that read a variable run in parallel; a task that writes it runs alone, in the
    order of pushing. So the result is the same as running all tasks in push order.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._unreported: list[BaseException] = []  # errors that no waiter has seen yet
        self._known = set(RESOURCES)
        self._telling = locks.make("errors")

    def push(
        self,
        work: Work,
        reads: Sequence[Var] = (),
        writes: Sequence[Var] = (),
        resource: str = "compute",
        priority: int = 0,
        name: str = "",
        forgiving: bool = False,
        source: str | None = None,
        resumable: bool = False,
    ) -> None:
        """Schedule ``work``; returns at once or after it has run, depending on the engine.

        An exception of ``work`` is stored in the variables it writes and raised by waits for them.

        Args:
            work: called without arguments.
            reads: variables that it only reads.
            writes: variables that it changes.
            resource: kind of worker: ``compute``, ``copy``, ``io``, ``communication``; a device
                may follow after a colon, ``compute:gpu(0)``.
            priority: among ready tasks, those with larger numbers run first.
            name: shown in timelines.
            forgiving: run even if an input has failed; ``work`` handles the errors.
            source: ``file:line`` of the user's code; determined automatically if not given.
            resumable: after a KeyboardInterrupt in ``work``, it is called again to finish.

        Raises:
            MXNetError: a variable was deleted, or the kind of resource does not exist.
        """
        task = self._task(work, reads, writes, resource, priority, name, source)
        # Scopes of the pushing thread, such as the current device, apply in the thread that runs the work.
        task.context = copy_context()
        task.forgiving, task.resumable = forgiving, resumable
        self._enter(task)

    def push_async(
        self,
        start: Callable[[Done], object],
        reads: Sequence[Var] = (),
        writes: Sequence[Var] = (),
        resource: str = "compute",
        priority: int = 0,
        name: str = "",
        on_wait: Callable[[float], object] = lambda seconds: None,
        quick: bool = False,
        source: str | None = None,
    ) -> None:
        """Schedule asynchronous work: it ends when it calls ``done``, on any thread.

        Until then it holds its variables, but no worker.

        Args:
            start: called with ``done``; ``done(None)`` ends the work, ``done(error)`` with an error. After
                a KeyboardInterrupt it is called again. It also runs if an input has failed.
            reads: variables that it only reads.
            writes: variables that it changes.
            resource: kind of worker, as for ``push``.
            priority: among ready tasks, those with larger numbers run first.
            name: shown in timelines.
            on_wait: called on a waiting thread with the seconds it has waited since the work started, at
                first with 0, then about every second. It may call ``done`` with an error to give up.
            quick: ``start`` takes microseconds and never waits: it runs in the thread that pushes it, or that
                ends the last task before it, without waking a worker.
            source: ``file:line`` of the user's code; determined automatically if not given.

        Raises:
            MXNetError: as for ``push``; or the engine is waiting for all tasks.
        """
        task = self._task(lambda: None, reads, writes, resource, priority, name, source)
        # Set after the task exists, because ``done`` needs the task that it ends.
        task.work = partial(start, partial(self._complete, task))
        task.context = copy_context()
        task.forgiving = task.resumable = True
        task.on_wait, task.quick = on_wait, quick
        self._enter(task)

    @abstractmethod
    def _complete(self, task: Task, error: BaseException | None) -> None:
        """End a task of ``push_async``, unless it has ended."""

    def push_sync(
        self,
        work: Work,
        reads: Sequence[Var] = (),
        writes: Sequence[Var] = (),
        resource: str = "compute",
        priority: int = 0,
        name: str = "",
    ) -> None:
        """``push`` and wait for the work, which runs in this thread: no thread switch.

        Args:
            writes: variables that the work writes.
            resource: the kind of worker that it belongs to.
            priority: see :meth:`push`.
            name: shown in timelines.

        Raises:
            BaseException: what the work raised, or the error of a variable that it reads.
        """
        task = self._task(work, reads, writes, resource, priority, name, None)
        try:
            self._reserve(task)
            self.run(task)
        except BaseException:
            self.release(task)
            raise

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
        resumable: bool = False,
    ) -> Task:
        """Reserve a place in the push order for work that this thread will ``run``.

        Arguments as for ``push``.
        """
        task = self._task(work, reads, writes, resource, priority, name, source)
        task.forgiving, task.resumable = forgiving, resumable
        self._reserve(task)
        return task

    @abstractmethod
    def _reserve(self, task: Task) -> None:
        """Enqueue a claimed task, which no worker may take."""

    def run(self, task: Task) -> None:
        """Run a claimed task here as soon as its variables allow.

        Raises:
            BaseException: what the work raised.
        """
        self.run_quietly(task)
        if task.error is not None:
            self._raise(task.error)

    @abstractmethod
    def run_quietly(self, task: Task) -> None:
        """Like ``run``, but errors are raised only in callers that wait for the variables."""

    @abstractmethod
    def release(self, task: Task) -> None:
        """Let workers run a claimed task, because this thread was interrupted before starting it."""

    @abstractmethod
    def _enter(self, task: Task) -> None:
        """Accept a pushed task."""

    @abstractmethod
    def wait_for_var(self, var: Var) -> None:
        """Return when all writes pushed to ``var`` so far have finished.

        Raises:
            BaseException: what the last write raised.
            MXNetError: the wait could never end, because the waiting task is what the
                variable is waiting for.
        """

    @abstractmethod
    def settle(self, var: Var) -> None:
        """Like ``wait_for_var``, but without raising the variable's error.

        Args:
            var: the variable.
        """

    @abstractmethod
    def wait_for_all(self) -> None:
        """Return when all tasks pushed so far have finished, including those that they pushed.

        Raises:
            BaseException: the first error that has not been raised yet.
        """

    @abstractmethod
    def stop(self) -> None:
        """Finish pushed tasks and stop the workers; they start again with the next push."""

    def delete_variable(self, var: Var) -> None:
        """Delete a variable once all its tasks have finished.

        Using it afterwards is an error.

        Args:
            var: the variable.
        """

        def forget() -> None:
            var.error = None

        # A task that writes the variable runs after all tasks pushed before.
        self.push(forget, (), (var,), name=f"delete {var.name}")
        var.deleted = True

    # ---- shared by the engines ------------------------------------------------------------------

    def _task(
        self,
        work: Work,
        reads: Sequence[Var],
        writes: Sequence[Var],
        resource: str,
        priority: int,
        name: str,
        source: str | None,
    ) -> Task:
        task = Task(work, reads, writes, resource, priority, name)
        for var in task.inputs + task.writes:
            if var.deleted:
                raise MXNetError(f"{name or 'push'}: {var!r} was deleted; make a new Var.")
        if resource not in self._known:
            self._check_resource(resource, name)
        task.number = next(self._numbers)
        task.source = source or user_line()
        if timeline.on:
            task.stamps = [now()]
            task.caller = timeline.caller
        return task

    def _check_resource(self, resource: str, name: str) -> None:
        if resource.partition(":")[0] not in RESOURCES:
            raise MXNetError(
                f"{name or 'push'}: there is no resource {resource!r}; use one of "
                f"{', '.join(RESOURCES)}."
            )
        self._known.add(resource)

    def _work(self, task: Task) -> None:
        """Run the work of a task, unless an input failed; the task stores its error."""
        if task.stamps is not None:
            task.stamps.append(now())
        # Results computed from a failed input fail with the same error.
        error = None
        if not task.forgiving:
            error = next((var.error for var in task.inputs if var.error is not None), None)
        try:
            task.state = State.RUNNING
            if error is None:
                # As _call does, without a call.
                task.work() if task.context is None else task.context.run(task.work)
        except Exception as raised:
            error = self._note(task, raised)
        except BaseException:  # KeyboardInterrupt also ends this thread's program
            task.state = State.RUNNING
            task.error = _interrupted(task) if error is None else error
            # Called again at once: other tasks and processes rely on the work that was begun.
            if task.resumable and error is None:
                task.error = None
                try:
                    self._call(task)
                except Exception as failed:
                    task.error = self._note(task, failed)
                    if task.on_wait is not None:
                        self._complete(task, failed)
            raise
        if task.on_wait is None:
            self._stop_clock(task, error)
        elif error is not None:
            self._complete(task, error)

    def _stop_clock(self, task: Task, error: BaseException | None) -> None:
        """Record the end of a task's work."""
        task.error = error
        if task.stamps is not None:
            task.stamps.append(now())
            for watcher in timeline.watchers:
                watcher(task)

    def _call(self, task: Task) -> None:
        if task.context is None:
            task.work()
        else:
            task.context.run(task.work)

    def _note(self, task: Task, error: Exception) -> Exception:
        """Store an exception of a task to raise it later."""
        at = f", pushed at {task.source}" if task.source else ""
        with self._telling:
            # Otherwise, the same error of several tasks, or one already reported, would be raised twice.
            if error not in self._unreported and not is_reported(error):
                # An error about several processes names their lines, and may concern another task.
                if not (isinstance(error, MXNetError) and error.names_lines):
                    error.add_note(f"raised by {task.name or 'work without a name'}{at}")
                self._unreported.append(error)
        return error

    def _finish(self, task: Task) -> None:
        """Complete a task: set versions, errors and its row in the timeline.

        If called again after an interrupt, it completes the rest.
        """
        for var in task.writes[task.ended :]:
            var.error = task.error
            # One statement without a call, so that no interrupt can separate the two.
            var.version, task.ended = var.version + 1, task.ended + 1
        if task.state is not State.DONE:
            task.state = State.DONE
            task.work = _nothing  # asynchronous work holds its task: no cycle stays
            if task.stamps is not None:
                timeline.add(task)

    def _raise(self, error: BaseException) -> None:
        """Raise a stored error in a waiting caller."""
        with self._telling:
            self._unreported = [each for each in self._unreported if each is not error]
        mark_reported(error)
        raise error

    def _raise_unreported(self) -> None:
        with self._telling:
            unreported, self._unreported = self._unreported, []
        if unreported:
            if len(unreported) > 1:
                others = "; ".join(f"{type(e).__name__}: {e}" for e in unreported[1:4])
                unreported[0].add_note(
                    f"{len(unreported) - 1} other operation(s) failed too: {others}"
                )
            for each in unreported:
                mark_reported(each)
            raise unreported[0]

    def _report_unreported(self) -> None:
        """At the end of the process, print errors that were never raised."""
        unreported, self._unreported = self._unreported, []
        # One failure reaches all results computed from it: equal texts are printed once.
        for text, times in Counter(f"{type(each).__name__}: {each}" for each in unreported).items():
            subject = "an operation" if times == 1 else f"{times} operations"
            print(
                f"mixnet: {subject} failed and nobody waited for {'it' if times == 1 else 'them'}: {text}",
                file=sys.stderr,
            )
