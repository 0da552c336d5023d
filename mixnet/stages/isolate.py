"""Isolated recording: what a piece of code records, without running it and without side effects."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mixnet.base import TraceError
from mixnet.context import Context
from mixnet.graph.graph import Graph
from mixnet.runtime.programs.executable_cache import is_compiled
from mixnet.runtime.record import keys
from mixnet.runtime.record.segment import Segment
from mixnet.runtime.value.state import Segments, state
from mixnet.runtime.value.undo import Writes
from mixnet.runtime.value.value import Value


@dataclass(frozen=True)
class Recorded:
    """A segment as it would have run.

    Args:
        graph: its operations; the inputs are its leaves in order, the heads what is alive.
        leaves: the values that it reads.
        scalars: its numbers, in the places that the graph's scalar slots name.
        key: what its compiled program is found by: operations, live slots and context.
        context: where it runs.
        reason: why it was cut off here.
        known: whether its program had been compiled before.
    """

    graph: Graph
    leaves: list[Value]
    scalars: list[float]
    key: tuple[Any, ...]
    context: Context
    reason: str
    known: bool

    @property
    def operations(self) -> tuple[Any, ...]:
        """Pairs of calls and slots, see ``Segment``."""
        operations: tuple[Any, ...] = self.key[0]
        return operations


class HeldSegment(Segment):
    """A segment that runs only when a value is read, and is reported before it runs."""

    __slots__ = ("is_recorded", "isolation")

    def __init__(self, context: Context):
        super().__init__(context)
        self.isolation: Isolation = state.isolation
        self.is_recorded = False

    def finish(self, reason: str, wait: bool = True) -> None:
        """Run what is pending if its values are needed now; else only end the segment here.

        Args:
            reason: why it ends.
            wait: whether a value is being waited for. The naive engine waits for none.
        """
        if state.isolation is self.isolation:
            if reason == "naive engine":
                return
            self.isolation.take(self, reason)
            if not wait and reason != "copy to another device":
                self.isolation.drop(self)
                return
        for segment in self._held_inputs():
            Segment.finish(segment, "another segment", wait=False)
        super().finish(reason, wait)

    def _held_inputs(self) -> list[HeldSegment]:
        """Held segments that this one reads from, directly or not; those that read come last."""
        segments: dict[HeldSegment, None] = {}
        stack: list[HeldSegment] = [self]
        while stack:
            for value in list(stack.pop().leaf_slots):
                below = value.segment
                if isinstance(below, HeldSegment) and not below.finished:
                    segments.pop(below, None)  # later in the list: it is needed earlier
                    segments[below] = None
                    stack.append(below)
        return list(reversed(segments))


class Isolation:
    """The programs that were recorded inside of :func:`isolated`."""

    segment = HeldSegment

    def __init__(self) -> None:
        self._recorded: list[Recorded] = []
        self.writes = Writes()

    def programs(self) -> list[Recorded]:
        """All segments so far; ask inside of the scope, while what was computed is alive."""
        self.cut("end")
        return self._recorded

    def cut(self, reason: str) -> None:
        """End the segments here, as something does that wants them to run but reads nothing."""
        for segment in list(state.segments.values()):
            if not segment.finished:
                self.take(segment, reason)
            self.drop(segment)

    def drop(self, segment: Segment) -> None:
        """Let what is recorded from now on belong to another segment."""
        if state.segments.get(segment.context) is segment:
            del state.segments[segment.context]
        if state.segment is segment:
            state.segment = None

    def take(self, segment: HeldSegment, reason: str) -> None:
        """Note a segment that is about to run, or that would be."""
        if segment.is_recorded or not segment.entries:
            return
        segment.is_recorded = True
        segment.read_entries()
        alive = [value for each in segment.references if (value := each()) is not None]
        slots = tuple(sorted({value.slot for value in alive}))
        del alive
        if not slots:
            return
        graph = segment.graph(slots)
        key = (segment.program, slots, segment.context)
        recorded = Recorded(
            graph,
            segment.leaves,
            segment.scalars,
            key,
            segment.context,
            reason,
            is_compiled(key),
        )
        self._recorded.append(recorded)


@contextmanager
def isolated() -> Iterator[Isolation]:
    """Scope in which this thread records into segments of its own, which do not run.

    Reading a value inside runs what it needs. At the end, arrays hold what they held before and
    the streams of random numbers go on where they were.

    Raises:
        TraceError: a graph is being traced.
    """
    if state.trace is not None:
        raise TraceError("A trace cannot be inspected from inside it.")
    before = state.segment, state.segments, state.isolation, state.undo
    isolation = Isolation()
    state.segment, state.segments, state.isolation = None, Segments(), isolation
    state.undo = weakref.ref(isolation.writes)
    try:
        with keys.preserved():
            yield isolation
    finally:
        state.segment, state.segments, state.isolation, state.undo = before
        isolation.writes.undo()
