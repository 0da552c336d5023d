"""The threaded engine: a pool of worker threads per kind of resource, ordered by variables.

A task is WAITING while variables are missing, then READY, and RUNNING on a worker, or CLAIMED by a
thread that will run it itself, then DONE. Two facts are authoritative: ``Var.holders`` with
``Var.queue``, which say who has a variable and who waits for it in push order, and the counts
``pushed`` and ``ended`` of writes. ``Var.writing``, ``Task.missing``, the heaps of the pools and the
set of pending tasks are derived from them.

Ctrl-C may interrupt the main thread in the middle of the engine's own bookkeeping. Therefore

* authoritative facts that belong together change in one statement without a call: CPython handles
  signals only at calls and backward jumps;
* code that changes the queues or ends a task catches ``BaseException`` and calls ``_mend``, which
  derives the rest again and leaves the task to the workers. That takes time proportional to the
  pending tasks, which is acceptable after an interrupt.

Work, ``on_wait`` and finalizers run without the lock. Only ``_wait`` sleeps, and only when no ready
task is one that it waits for, directly or indirectly.
"""

from __future__ import annotations

import atexit
import heapq
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from typing import Any

from mixnet.base import MXNetError
from mixnet.engine.engine import Engine
from mixnet.engine.task import State, Task
from mixnet.engine.timeline import now
from mixnet.engine.variable import Var
from mixnet.process import ending, locks
from mixnet.process.live_objects import LiveObjects
from mixnet.process.stack import CALLS_OF_PROGRAM, is_stack_left


class Pool:
    """Ready tasks of one resource and the threads that run them, started when needed."""

    def __init__(self, name: str, limit: int, lock: Any):
        self.name = name
        self.limit = limit  # threads
        self.heap: list[tuple[int, int, Task]] = []
        self.arrived = threading.Condition(lock)
        self.threads: list[threading.Thread] = []
        self.idle = 0


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.tasks: list[Task] = []  # tasks that the thread runs, the innermost last


class ThreadedEngine(Engine):
    """Runs tasks on threads as soon as their variables allow: readers in parallel, writers alone.

    A waiting thread runs the ready tasks that it waits for, directly or indirectly. So a requested value
    needs no thread switch, and a waiting worker cannot starve its own pool.

    Args:
        workers: number of threads per kind of resource, or per kind on one type of device
            (``compute:gpu``); one for kinds that are not listed.
        per_device: one pool per device (``compute:gpu(0)``); otherwise one per kind.
    """

    def __init__(self, workers: Mapping[str, int] | None = None, per_device: bool = True):
        super().__init__()
        self._workers = dict(workers or {})
        self._per_device = per_device
        self._exits = False
        self._reset()
        _engines.add(self)

    def _reset(self) -> None:
        # One lock for everything: it is held for a few list operations, never while work runs. It is
        # reentrant, because the garbage collector may run a finalizer at any line, which may push work.
        lock = locks.make("engine")
        self._lock = lock
        self._changed = threading.Condition(lock)  # type: ignore[arg-type]  # a lock in all it does
        self._waiters = 0
        self._pools: dict[str, Pool] = {}
        self._pending: set[Task] = set()
        self._waiting_for_all: set[Task] = set()  # tasks whose work waits for all others
        self._quick: deque[Task] = deque()  # ready tasks that need no worker
        self._stopping = False
        self._thread = _OfThread()

    # ---- taking tasks over ----------------------------------------------------------------------

    def _reserve(self, task: Task) -> None:
        task.state = State.CLAIMED
        self._take(task)

    def _enter(self, task: Task) -> None:
        self._take(task)

    def _take(self, task: Task) -> None:
        try:
            with self._lock:
                self._order(task)
                if not task.missing and task.state is State.WAITING:
                    self._make_ready(task)
            if self._quick:
                self._start_quick()
        except BaseException:  # Ctrl-C: a task in only some of its queues would block others
            self._mend(task)
            raise

    def _order(self, task: Task) -> None:
        """Append the task to the queues of its variables."""
        for var in task.reads:
            if var.writing or var.queue:
                var.queue.append((task, False))
                task.missing += 1
            else:
                var.holders.add(task)
        for var in task.writes:
            # One statement without a call: no interrupt comes between the two.
            var.pushed, task.pushed = var.pushed + 1, task.pushed + 1
            if var.holders or var.queue:
                var.queue.append((task, True))
                task.missing += 1
            else:
                var.writing = True
                var.holders.add(task)
        self._pending.add(task)
        if task.stamps is not None and not task.missing:
            task.stamps.append(now())

    def _grant(self, var: Var) -> None:
        """Grant a variable to the tasks at the front of its queue."""
        while var.queue:
            task, writes = var.queue[0]
            if var.writing or (writes and var.holders):
                return
            var.writing = writes
            var.holders.add(task)
            var.queue.popleft()
            task.missing -= 1
            if not task.missing:
                if task.stamps is not None:
                    task.stamps.append(now())
                if task.state is State.WAITING:
                    self._make_ready(task)

    def _make_ready(self, task: Task) -> None:
        task.state = State.READY
        if task.quick:  # not for a worker: one that never comes would keep all of them alive
            self._quick.append(task)
        else:
            self._hand_to_worker(task)

    def _hand_to_worker(self, task: Task) -> None:
        """Let a worker take a task; called with the lock."""
        pool = self._pool(task.resource)
        heapq.heappush(pool.heap, (-task.priority, task.number, task))
        if pool.idle:
            pool.arrived.notify()
        # A notified worker counts as idle until it has taken a task, so such tasks are counted, too.
        if len(pool.heap) > pool.idle and len(pool.threads) < pool.limit and not self._exits:
            self._start_worker(pool)

    def _start_worker(self, pool: Pool) -> None:
        name = f"mixnet {pool.name} {len(pool.threads)}"
        thread = threading.Thread(target=self._serve, args=(pool,), name=name, daemon=True)
        pool.threads.append(thread)
        try:
            thread.start()
        except RuntimeError:  # the system allows no more: a thread that waits runs the task
            pool.threads.remove(thread)

    def _pool(self, resource: str) -> Pool:
        kind = resource.partition(":")[0]
        name = resource if self._per_device else kind
        pool = self._pools.get(name)
        if pool is None:
            device = resource.partition("(")[0]  # compute:gpu of compute:gpu(0)
            limit = self._workers.get(device) or self._workers.get(kind, 1)
            pool = self._pools[name] = Pool(name, limit, self._lock)
        return pool

    # ---- running --------------------------------------------------------------------------------

    def _serve(self, pool: Pool) -> None:
        """The worker loop: take the first ready task, run it, repeat."""
        while True:
            with self._lock:
                while not pool.heap:
                    if self._stopping:
                        pool.threads.remove(threading.current_thread())
                        return
                    pool.idle += 1
                    pool.arrived.wait()
                    pool.idle -= 1
                task = heapq.heappop(pool.heap)[2]
                if task.state is not State.READY:  # a waiting thread has taken it
                    continue
                task.state = State.RUNNING  # no other thread may take it
            try:
                self._execute(task)
            except BaseException:
                # SystemExit of the work ends this thread: another takes its place.
                with self._lock:
                    pool.threads.remove(threading.current_thread())
                    if pool.heap:
                        self._start_worker(pool)
                raise
            del task  # a sleeping worker must not keep it alive

    def _execute(self, task: Task) -> None:
        try:
            running = self._thread.tasks
            running.append(task)
            self._work(task)
        finally:
            if task.on_wait is not None:
                self._leave(task)
            elif task.state is not State.CLAIMED:  # an interrupt may come before it starts
                try:
                    self._end(task)
                except BaseException:
                    self._mend(task, ended=True)
                    raise

    def _complete(self, task: Task, error: BaseException | None) -> None:
        try:
            with self._lock:
                if task.completed:
                    return
                # One statement without a call: no interrupt comes between the two.
                task.completed, task.error = True, error
            if isinstance(error, Exception):
                self._note(task, error)
            self._stop_clock(task, error)
            self._end(task)
        except BaseException:
            if task.completed:
                self._mend(task, ended=True)
            raise

    def _leave(self, task: Task) -> None:
        """Detach this thread from a task."""
        running = self._thread.tasks
        if running and running[-1] is task:
            running.pop()

    def _end(self, task: Task) -> None:
        self._leave(task)
        with self._lock:
            self._finish(task)
            self._pending.discard(task)
            for var in task.writes:
                if task in var.holders:
                    var.writing = False
                    var.holders.discard(task)
                if var.queue:
                    self._grant(var)
            for var in task.reads:
                var.holders.discard(task)
                if var.queue:
                    self._grant(var)
            if self._waiters:
                self._changed.notify_all()
        if self._quick:
            self._start_quick()

    def _start_quick(self) -> None:
        """Start tasks that never wait and have become ready, without the lock."""
        while self._quick:
            task = None
            try:
                with self._lock:
                    task = self._quick.popleft() if self._quick else None
                    if task is None or task.state is not State.READY:  # another thread has taken it
                        continue
                    task.state = State.CLAIMED
                self._execute(task)
            except BaseException:
                if task is not None:
                    self.release(task)
                raise

    def run_quietly(self, task: Task) -> None:
        try:
            if task.missing:
                self._wait(lambda: not task.missing, lambda: self._before(task))
            if task.state is State.CLAIMED:
                self._execute(task)
            else:  # another task's work has caught an interrupt: workers run this task
                self._wait(lambda: task.state is State.DONE, lambda: (task,))
        except BaseException:
            self.release(task)
            raise

    # ---- interrupts -------------------------------------------------------------------------------

    def release(self, task: Task) -> None:
        if task.state is State.CLAIMED:
            self._mend(task)
        elif task.state is State.RUNNING and task in self._thread.tasks:
            if task.on_wait is None:
                self._mend(task, ended=True)  # between its work and the end of the task
            else:
                self._leave(task)

    def _mend(self, task: Task, ended: bool = False) -> None:
        """Restore consistency after an interrupt of this thread at any point of the methods above.

        A task that this thread would have run is left to the workers.

        Args:
            task: the interrupted task.
            ended: whether its work has run.
        """
        running = self._thread.tasks
        if task in running:
            running.remove(task)
        with self._lock:
            if ended:
                self._take_out(task)
            elif task.state not in (State.RUNNING, State.DONE):  # otherwise a worker has taken it
                self._queue_again(task)
            self._derive_the_rest(task)
            for each in self._pending:
                if not each.missing and each.state in (State.WAITING, State.READY):
                    self._make_ready_again(each)
            for pool in self._pools.values():
                pool.arrived.notify_all()
            self._changed.notify_all()

    def _take_out(self, task: Task) -> None:
        """Finish a task whose work has run, except for state that is derived from the variables' holders."""
        self._finish(task)
        self._pending.discard(task)
        for var in task.reads + task.writes:
            var.holders.discard(task)

    def _queue_again(self, task: Task) -> None:
        """Add a task to all of its queues that it is not in yet."""
        if task.state is State.CLAIMED:
            task.state = State.WAITING
            task.context = copy_context()
        self._pending.add(task)
        for var in task.reads + task.writes:
            if task not in var.holders and not _queues(task, var):
                var.queue.append((task, var in task.writes))
        for var in task.writes[task.pushed :]:
            var.pushed, task.pushed = var.pushed + 1, task.pushed + 1

    def _derive_the_rest(self, task: Task) -> None:
        """Recompute writers and missing counts for all variables of the task and of pending tasks."""
        touched = {v: None for each in (task, *self._pending) for v in each.reads + each.writes}
        for var in touched:
            if var.queue and var.queue[0][0] in var.holders:
                var.queue.popleft()
            var.writing = any(var in each.writes for each in var.holders)
        for each in self._pending:
            each.missing = sum(_queues(each, var) for var in each.reads + each.writes)
        for var in touched:
            self._grant(var)

    def _make_ready_again(self, task: Task) -> None:
        """Make a task ready, whether it was ready before or not."""
        if task.stamps is not None and len(task.stamps) == 1:
            task.stamps.append(now())
        heap = self._pool(task.resource).heap
        # A task that a waiting thread has taken keeps its entry in the heap.
        heap[:] = [entry for entry in heap if entry[2] is not task]
        heapq.heapify(heap)
        self._make_ready(task)
        if task.quick:  # this thread would have run it, but is leaving
            self._hand_to_worker(task)

    # ---- waiting --------------------------------------------------------------------------------

    def wait_for_var(self, var: Var) -> None:
        self._wait_for_version(var)
        if var.error is not None:
            self._raise(var.error)

    def _wait_for_version(self, var: Var) -> None:
        target = var.pushed
        if var.version < target:
            running = self._thread.tasks
            if running:
                running[-1].waits_for = var
                if self._waiting_for_all:  # they do not wait for who waits for them
                    with self._lock:
                        self._changed.notify_all()
            try:
                self._wait(lambda: var.version >= target, lambda: var.holders)
            finally:
                if running:
                    running[-1].waits_for = None

    def settle(self, var: Var) -> None:
        self._wait_for_version(var)

    def wait_for_all(self) -> None:
        self._wait_quietly()
        self._raise_unreported()

    def _wait_quietly(self) -> None:
        mine = self._thread.tasks
        rest: set[Task] = set()
        added: set[Task] = set()

        def left() -> set[Task]:
            rest.difference_update([task for task in rest if task.state is State.DONE])
            return rest - self._behind_waits_for_all(mine) if mine else rest

        try:
            # Twice, since tasks such as Python operators may push more. Not until none are left: another
            # thread may go on pushing forever.
            for _ in range(2):
                with self._lock:
                    rest.update(task for task in self._pending if task not in mine)
                    added.update(task for task in mine if task not in self._waiting_for_all)
                    self._waiting_for_all |= added
                    if added:
                        self._changed.notify_all()
                self._wait(lambda: not left(), left)
        finally:
            self._waiting_for_all -= added

    def _behind_waits_for_all(self, mine: Sequence[Task]) -> set[Task]:
        """What work that waits for all, in this thread, does not wait for: it would wait for itself.

        That is work in other threads that waits for all, too, or for work of this thread, and what comes
        after it. A task that has not begun and comes after this work is not among it, but an error.
        """
        others = self._waiting_for_all - set(mine)
        others.update(each for each in self._after(mine) if each.waits_for is not None)
        return self._after(others) - set(mine)

    def _after(self, tasks: Iterable[Task]) -> set[Task]:
        """These tasks and those that wait for them, directly or indirectly; called with the lock."""
        visited = set(tasks)
        left = list(visited)
        running = [each for each in self._pending if each.waits_for is not None]
        while left:
            task = left.pop()
            queues = [var.queue for var in task.reads + task.writes if task in var.holders]
            new = {each for queue in queues for each, _ in queue}
            new.update(each for each in running if _waits_for(each, task))
            left += new - visited
            visited |= new
        return visited

    def _wait(self, until: Callable[[], bool], blockers: Callable[[], Iterable[Task]]) -> None:
        """Run ready tasks until ``until()``, which is called with the lock; called without the lock."""
        try:
            self._run_until(until, blockers)
        finally:
            if locks.checked:
                locks.ends_waiting()

    def _run_until(self, until: Callable[[], bool], blockers: Callable[[], Iterable[Task]]) -> None:
        # Nanoseconds at the first and at the latest call of ``on_wait``. They stay 0 until only
        # asynchronous tasks remain: a thread that can still run a task is not waiting for them.
        first = last_call = 0
        leaves_to_workers = self._leaves_to_workers()
        while True:
            task = None
            started: list[Task] = []
            try:
                with self._lock:
                    if until():
                        return
                    task = self._ready_below(blockers(), started)
                    if leaves_to_workers:
                        task = None
                    if task is not None:
                        task.state = State.CLAIMED
                    elif not started or now() - last_call < _ASK_AGAIN:
                        self._sleep(blockers, _ASK_AGAIN / 1e9 if started else None)
                        continue
                if task is not None:
                    if locks.checked:
                        locks.ends_waiting()
                    self._execute(task)
                    continue
            except BaseException:
                # An interrupt may come between claiming and running. Workers then run the task; a claimed
                # task that never runs would block its variables forever.
                if task is not None:
                    self.release(task)
                raise
            # Without the lock: on_wait may end its task, which needs the lock.
            last_call = now()
            first = first or last_call
            for each in started:
                assert each.on_wait is not None
                each.on_wait((last_call - first) / 1e9)

    def _leaves_to_workers(self) -> bool:
        """Whether the stack of this thread is too full to run a task; workers have stacks of their own.

        A thread that is running a task runs others, too: it may be the only worker.
        """
        return not (is_stack_left(CALLS_OF_PROGRAM) or self._exits or self._thread.tasks)

    def _sleep(self, blockers: Callable[[], Iterable[Task]], seconds: float | None) -> None:
        """Sleep until something has changed; called with the lock, which is released while sleeping."""
        if locks.checked:
            names = ", ".join(repr(each.name) for each in blockers())
            locks.about_to_wait(names or "tasks of other threads", self._lock)
        self._waiters += 1
        try:
            self._changed.wait(seconds)
        finally:
            self._waiters -= 1

    def _ready_below(self, roots: Iterable[Task], started: list[Task]) -> Task | None:
        """A ready task that ``roots`` depend on, directly or indirectly; None if all such tasks are running.

        In that case, ``started`` lists the asynchronous ones, which no thread is running.

        Raises:
            MXNetError: they wait for this thread.
        """
        mine = set(self._thread.tasks)
        visited: set[Task] = set()
        stack = list(roots)
        while stack:
            task = stack.pop()
            if task in visited:
                continue
            visited.add(task)
            if task.state is State.READY:
                return task
            if task in mine:
                raise MXNetError(
                    f"{task.name or 'work'} waits for work that can only run after it. Read the "
                    f"variable's content before pushing, or wait outside the work."
                )
            if task.missing:
                stack += self._before(task)
            elif task.waits_for is not None:
                stack += task.waits_for.holders
            elif task.on_wait is not None and task.state is State.RUNNING:
                started.append(task)
        return None

    def _before(self, task: Task) -> list[Task]:
        """Tasks that hold variables that ``task`` needs."""
        return [
            each
            for var in task.reads + task.writes
            if task not in var.holders
            for each in var.holders
        ]

    # ---- the end --------------------------------------------------------------------------------

    def stop(self) -> None:
        """Finish pushed work and end the workers; they start again with the next push."""
        self._wait_quietly()
        with self._lock:
            self._stopping = True
            threads = [thread for pool in self._pools.values() for thread in pool.threads]
            for pool in self._pools.values():
                pool.arrived.notify_all()
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5)
        self._stopping = False

    def _exit(self) -> None:
        self.stop()
        self._exits = (
            True  # tasks that other exit handlers push later run in the thread that waits for them
        )
        self._report_unreported()


_ASK_AGAIN = 1_000_000_000  # nanoseconds


def _waits_for(task: Task, other: Task) -> bool:
    return task.waits_for is not None and other in task.waits_for.holders


def _queues(task: Task, var: Var) -> bool:
    return any(each is task for each, _ in var.queue)


# ---- the end and the fork of processes ----------------------------------------------------------

_engines: LiveObjects[ThreadedEngine] = LiveObjects()


@atexit.register
def _stop_all() -> None:
    for engine in _engines.all():
        engine._exit()
    ending.stop_other_threads()


def wait_before_fork() -> None:
    """Wait for all tasks pushed so far, except in a task that forks, since it cannot wait for itself."""
    for engine in _engines.all():
        if not engine._thread.tasks:
            engine._wait_quietly()


def _before_fork() -> None:
    # A child has the memory of its parent but none of its threads, so nothing would complete a
    # half-finished update.
    wait_before_fork()
    for engine in _engines.all():
        engine._lock.acquire()


def _after_fork_in_parent() -> None:
    for engine in _engines.all():
        engine._lock.release()


def _after_fork_in_child() -> None:
    for engine in _engines.all():
        running = engine._thread.tasks
        pending = [task for task in engine._pending if task not in running]
        engine._telling = locks.make("errors")
        engine._unreported = []  # the parent reports them
        engine._reset()
        engine._thread.tasks = running
        engine._pending.update(running)
        _give_up(pending)


def _give_up(tasks: Iterable[Task]) -> None:
    """Drop tasks that other threads pushed between the wait and the fork; the parent runs them."""
    for task in tasks:
        task.state = State.DONE
        for var in (*task.reads, *task.writes):
            var.holders.discard(task)
            var.queue = deque(each for each in var.queue if each[0] is not task)
        for var in task.writes[task.ended :]:
            var.writing = False
            var.version += 1
            var.error = MXNetError(
                f"{task.name or 'work'} was in progress when process {os.getpid()} was forked: "
                f"its result exists only in the parent. Wait for it there before the fork."
            )


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
