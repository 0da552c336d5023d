"""Values that one engine task produces outside of programs: copies, reductions over devices."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import call
from typing import Any

from mixnet.engine.current import current
from mixnet.engine.engine import is_reported
from mixnet.engine.task import Done
from mixnet.engine.timeline import timeline
from mixnet.engine.variable import Var
from mixnet.process import locks
from mixnet.process.source import user_source
from mixnet.runtime.value.memory import logs
from mixnet.runtime.value.value import Spec, Value, check_pending, left_to_workers

Work = Callable[[list[Any]], Sequence[Any]]


class Later:
    """The source of values that an engine task computes.

    It takes the place of a pending value's segment: readers of the value wait for ``var``.
    """

    __slots__ = ("__weakref__", "before", "lock", "references", "var")
    finished = True

    def __init__(self, name: str) -> None:
        self.var = Var(name)
        self.lock = locks.make("later")
        self.references: list[weakref.ref[Value]] = []
        self.before: dict[int, Value] = {}  # by slot: the previous value of the holder
        left_to_workers.add(self)

    def pending(self, specs: Sequence[Spec]) -> list[Value]:
        """New values that the task will fill."""
        values = [Value(spec, None, self, slot) for slot, spec in enumerate(specs)]
        self.references += map(weakref.ref, values)
        return values

    def pending_values(self, only_new: bool) -> Iterable[Value]:
        """The values that it has to fill; arguments as of a segment's method."""
        return filter(None, map(call, self.references.copy()))

    def finish(self, reason: str, wait: bool = True) -> None:
        """Wait for the task, which was pushed when it was created."""
        if is_reported(self.var.error):
            self._go_back()
        elif wait:
            current.engine.wait_for_var(self.var)

    def replaces(self, pairs: Iterable[tuple[Value, Value]]) -> None:
        """Record the previous values of holders, which are restored if the task fails.

        Args:
            pairs: each a value and the previous one of its holder.
        """
        with self.lock:
            for value, old in pairs:
                if value.array is None:
                    self.before[value.slot] = old

    def _go_back(self) -> None:
        """After a failure has been reported: restore the previous values."""
        with self.lock:
            for reference in self.references:
                value = reference()
                before = None if value is None else self.before.get(value.slot)
                if value is not None and before is not None and before.array is not None:
                    value.var, value.array = before.var, before.array
                    value.segment = None
        # Without a previous value, the error is raised again.
        if any(v.segment is self for each in self.references if (v := each()) is not None):
            current.engine.wait_for_var(self.var)

    def alias(self, value: Value) -> Value:
        """Another value for the same content."""
        with self.lock:
            if value.array is not None:
                return Value(value.spec, value.array)
            other = Value(value.spec, None, self, value.slot)
            self.references.append(weakref.ref(other))
        return other

    def fill(self, arrays: Sequence[Any]) -> None:
        """Set the arrays of values that are still referenced."""
        with self.lock:  # an alias created meanwhile would stay without an array
            for reference in self.references:
                value = reference()
                if value is not None:
                    # In this order: a reader that sees no segment must see the array.
                    value.var, value.array = self.var, arrays[value.slot]
                    value.segment = None
            self.references, self.before = [], {}


def later(
    name: str,
    sources: Sequence[Value],
    specs: Sequence[Spec],
    work: Work,
    resource: str,
    priority: int = 0,
    kind: str = "copy",
    turns: Sequence[Var] = (),
    also: Sequence[Var] = (),
) -> list[Value]:
    """Values of ``specs`` that ``work`` computes from the arrays of ``sources``; does not block.

    The task starts when all sources are computed; if one has failed, so do the results.

    Args:
        name: of the task, shown in timelines.
        sources: computed or pending, on any contexts.
        specs: of the results.
        work: gets the JAX arrays of the sources, returns those of the results.
        resource: the engine's worker, such as ``copy:cpu(0)`` or ``communication``.
        priority: larger runs earlier among what is ready.
        kind: name of the results in the memory profiler.
        turns: variables that ``work`` writes, so that such tasks run one after another.
        also: like ``turns``, but in the order of the calls: the task waits for earlier ones, and for its
            sources.
    """
    for value in sources:
        check_pending(value)
    holder = Later(name)
    values = holder.pending(specs)
    line = user_source() if logs else None
    reads = variables_of(sources, "copy to another device")
    inputs = list(sources)

    def run() -> None:
        arrays = work(arrays_of(inputs, name))
        inputs.clear()
        for log in logs:
            for spec, array in zip(specs, arrays, strict=True):
                log.created(array, kind, line, spec.context)
        holder.fill(arrays)

    push, writes = current.engine.push, (holder.var, *also)
    if not turns:
        push(run, reads, writes, resource, priority=priority, name=name)
        return values

    push_in_turn(run, reads, writes, turns, resource, priority, name)
    return values


def push_in_turn(
    run: Callable[[], None],
    reads: Sequence[Var],
    writes: Sequence[Var],
    turns: Sequence[Var],
    resource: str,
    priority: int,
    name: str,
) -> None:
    """Push a task that takes turns as soon as it can run.

    So the task that has the turn never waits for the result of a task that is waiting for the turn.

    Args:
        run: the task.
        reads: variables that it waits for.
        writes: variables of its results.
        turns: variables that tasks of its kind write one after another.
        resource: the engine's worker.
        priority: larger runs earlier among what is ready.
        name: of the task, shown in timelines.
    """
    engine = current.engine

    def run_and_end(done: Done) -> None:
        try:
            run()
        except BaseException as error:
            done(error)
            raise
        done(None)

    def start(done: Done) -> None:
        engine.push(partial(run_and_end, done), (), turns, resource, priority=priority, name=name)

    def on_wait(seconds: float) -> None:
        for turn in turns:
            engine.settle(turn)  # runs the task in this thread if no worker does

    engine.push_async(start, reads, writes, resource, priority, name, on_wait)


def variables_of(values: Sequence[Value], reason: str) -> list[Var]:
    """The variables that a task must wait for to read these values; of all of them while traced.

    Args:
        values: computed or pending; pending ones are pushed now.
        reason: for the counters.
    """
    variables = []
    for value in values:
        segment = value.segment
        if value.array is None and segment is not None:
            segment.finish(reason, wait=False)
            variables.append(segment.var)
        elif timeline.on and value.var is not None:
            variables.append(value.var)
    return variables


def arrays_of(values: Sequence[Value], name: str) -> list[Any]:
    """The arrays of values, in a task that has waited for them.

    Raises:
        BaseException: the error of one of them.
    """
    arrays = [value.array for value in values]
    for value, array in zip(values, arrays, strict=True):
        if array is None and value.segment is not None:  # only this value of its segment failed
            raise value.segment.var.error or RuntimeError(f"{name}: a source has no content")
    return arrays
