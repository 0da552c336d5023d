"""The threaded engine: a pool of worker threads per kind of resource, ordered by variables."""

from __future__ import annotations

import atexit
import heapq
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from typing import Any

from mixnet.base import MXNetError
from mixnet.engine.engine import Engine
from mixnet.engine.task import State, Task
from mixnet.engine.timeline import now
from mixnet.engine.variable import Var
from mixnet.process import ending, locks


class Pool:
    """Ready tasks of one resource and the threads that run them, started when needed."""

    def __init__(self, name: str, limit: int, lock: Any):
        self.name = name
        self.limit = limit  # threads
        self.heap: list[tuple[int, int, Task]] = []
        self.arrived = threading.Condition(lock)
        self.threads: list[threading.Thread] = []
        self.idle = 0


class ThreadedEngine(Engine):
    """Runs tasks on threads as soon as their variables allow: readers in parallel, writers alone.

    A waiting thread does not sleep while there are ready tasks on the way to what it waits
    for: it runs such tasks itself. So there is no thread switch on the path of a
    requested value, and a waiting worker cannot starve its own pool.

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
        # One lock for all: it is held for a few list operations at a time, never while work runs.
        # Reentrant, as the garbage collector may run somebody's finalizer at any line, which may push work.
        lock: Any = locks.make("engine")
        self._lock = lock
        self._changed = threading.Condition(lock)
        self._waiters = 0
        self._pools: dict[str, Pool] = {}
        self._pending: set[Task] = set()
        self._quick: deque[Task] = deque()  # ready tasks that need no worker
        self._stopping = False
        self._thread = threading.local()  # .tasks: what this thread runs, the innermost last

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
            self._start_quick()
        except (
            BaseException
        ):  # Ctrl-C: half-way in the queues it would keep others waiting for ever
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
        pool = self._pool(task.resource)
        heapq.heappush(pool.heap, (-task.priority, task.number, task))
        if task.quick:
            self._quick.append(task)
            return
        self._wake(pool)

    def _wake(self, pool: Pool) -> None:
        """Let a worker of the pool take a task; called with the lock."""
        if pool.idle:
            pool.arrived.notify()
        # A worker that was notified counts as idle until it has taken a task: those tasks are counted, too.
        if len(pool.heap) > pool.idle and len(pool.threads) < pool.limit and not self._exits:
            name = f"mixnet {pool.name} {len(pool.threads)}"
            thread = threading.Thread(target=self._serve, args=(pool,), name=name, daemon=True)
            pool.threads.append(thread)
            thread.start()

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
                if task.state is not State.READY:  # a waiting thread was quicker
                    continue
                task.state = State.RUNNING  # nobody else may take it
            self._execute(task)
            del task  # a worker that sleeps holds nothing

    def _execute(self, task: Task) -> None:
        try:
            running = self._running()
            running.append(task)
            self._work(task)
        finally:
            if task.on_wait is not None:
                self._leave(task)
            elif task.state is not State.CLAIMED:  # else: an interrupt came before it began
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
        running = self._running()
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
                self._grant(var)
            for var in task.reads:
                var.holders.discard(task)
                self._grant(var)
            if self._waiters:
                self._changed.notify_all()
        self._start_quick()

    def _start_quick(self) -> None:
        """Start tasks that never wait and have become ready, without the lock."""
        while self._quick:
            task = None
            try:
                with self._lock:
                    task = self._quick.popleft() if self._quick else None
                    if task is None or task.state is not State.READY:  # somebody was quicker
                        continue
                    task.state = State.CLAIMED
                self._execute(task)
            except BaseException:
                if task is not None:
                    self.release(task)
                raise

    def _running(self) -> list[Task]:
        try:
            return self._thread.tasks
        except AttributeError:
            self._thread.tasks = []
            return self._thread.tasks

    def run_quietly(self, task: Task) -> None:
        try:
            if task.missing:
                self._wait(lambda: not task.missing, lambda: self._before(task))
            if task.state is State.CLAIMED:
                self._execute(task)
            else:  # after an interrupt that the work of another task has caught, workers run it
                self._wait(lambda: task.state is State.DONE, lambda: (task,))
        except BaseException:
            self.release(task)
            raise

    # ---- interrupts -------------------------------------------------------------------------------

    def release(self, task: Task) -> None:
        if task.state is State.CLAIMED:
            self._mend(task)
        elif task.state is State.RUNNING and task in self._running():
            if task.on_wait is None:
                self._mend(task, ended=True)  # between its work and the end of the task
            else:
                self._leave(task)

    def _mend(self, task: Task, ended: bool = False) -> None:
        """Restore consistency after an interrupt of this thread, at any step of the above.

        The holders and the queue of a variable, and a task's counts of writes, are always correct; the rest
        is derived from them. A task that was to run here is left to the workers.

        Args:
            task: what was interrupted.
            ended: its work has run.
        """
        running = self._running()
        if task in running:
            running.remove(task)
        with self._lock:
            if ended:
                self._take_out(task)
            elif task.state not in (State.RUNNING, State.DONE):  # else: a worker was quicker
                self._queue_again(task)
            self._derive_the_rest(task)
            for each in self._pending:
                if not each.missing and each.state in (State.WAITING, State.READY):
                    self._make_ready_again(each)
            for pool in self._pools.values():
                pool.arrived.notify_all()
            self._changed.notify_all()

    def _take_out(self, task: Task) -> None:
        """Finish a task whose work has run, except for what is derived from the holders of its variables."""
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
        # An entry stays there when somebody who waits has taken the task.
        heap[:] = [entry for entry in heap if entry[2] is not task]
        heapq.heapify(heap)
        self._make_ready(task)
        if task.quick:  # this thread is on its way out of what would have run it
            self._wake(self._pool(task.resource))

    # ---- waiting --------------------------------------------------------------------------------

    def wait_for_var(self, var: Var) -> None:
        self._wait_for_version(var)
        if var.error is not None:
            self._raise(var.error)

    def _wait_for_version(self, var: Var) -> None:
        target = var.pushed
        if var.version < target:
            running = self._running()
            if running:
                running[-1].waits_for = var
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
        mine = self._running()
        rest: set[Task] = set()

        def left() -> set[Task]:
            rest.difference_update([task for task in rest if task.state is State.DONE])
            return rest

        # Twice, since what runs may push more, as operators in Python do. Not until nothing is left: another
        # thread may push for ever.
        for _ in range(2):
            with self._lock:
                rest.update(task for task in self._pending if task not in mine)
            self._wait(lambda: not left(), left)

    def _wait(self, until: Callable[[], bool], blockers: Callable[[], Iterable[Task]]) -> None:
        """Run ready tasks until ``until()``, which is called with the lock; called without the lock."""
        try:
            self._run_until(until, blockers)
        finally:
            if locks.checked:
                locks.ends_waiting()

    def _run_until(self, until: Callable[[], bool], blockers: Callable[[], Iterable[Task]]) -> None:
        # Nanoseconds at the first and at the latest call of ``on_wait``. They stay 0 until only
        # asynchronous tasks are in the way: a thread that can still run a task is not waiting for them.
        first = last_call = 0
        while True:
            task = None
            started: list[Task] = []
            try:
                with self._lock:
                    if until():
                        return
                    task = self._ready_below(blockers(), started)
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
                # An interrupt may come between the claim and the work: workers then run the task, since
                # a claimed task that nobody runs would block its variables for good.
                if task is not None:
                    self.release(task)
                raise
            # Without the lock: on_wait may end its task, which takes the lock.
            last_call = now()
            first = first or last_call
            for each in started:
                assert each.on_wait is not None
                each.on_wait((last_call - first) / 1e9)

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
        """A ready task that ``roots`` depend on, directly or indirectly; None if all of them are running.

        Then ``started`` has the asynchronous ones, which no thread is running.

        Raises:
            MXNetError: they wait for this thread.
        """
        mine = set(self._running())
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
        self._exits = True  # later pushes, from other exit handlers, run where they are waited for
        self._report_unreported()


_ASK_AGAIN = 1_000_000_000  # nanoseconds


def _queues(task: Task, var: Var) -> bool:
    return any(each is task for each, _ in var.queue)


# ---- processes end, and fork --------------------------------------------------------------------

_engines: weakref.WeakSet[ThreadedEngine] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for engine in list(_engines):
        engine._exit()
    ending.stop_other_threads()


def wait_before_fork() -> None:
    """Wait for all tasks pushed so far, except in a task that forks, which cannot wait for itself."""
    for engine in list(_engines):
        if not engine._running():
            engine._wait_quietly()


def _before_fork() -> None:
    # A child has the memory of its parent but none of its threads: what is half done in one would
    # stay so.
    wait_before_fork()
    for engine in list(_engines):
        engine._lock.acquire()


def _after_fork_in_parent() -> None:
    for engine in list(_engines):
        engine._lock.release()


def _after_fork_in_child() -> None:
    for engine in list(_engines):
        running = engine._running()
        pending = [task for task in engine._pending if task not in running]
        engine._telling = locks.make("errors")
        engine._unreported = []  # the parent tells of them
        engine._reset()
        engine._thread.tasks = running
        engine._pending.update(running)
        _give_up(pending)


def _give_up(tasks: Iterable[Task]) -> None:
    """Drop tasks that other threads pushed between the wait and the fork: the parent runs them."""
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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
