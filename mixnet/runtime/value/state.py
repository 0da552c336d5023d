"""Per-thread state: pending segments, and whether the thread records a tape, trains or traces."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from mixnet.graph.node import Entry, Node
from mixnet.process.live_objects import LiveObjects

Result = TypeVar("Result")


class Segments(dict[Any, Any]):
    """Pending segments of one thread by context; other threads can wait for them."""


segments_of_threads: LiveObjects[Segments] = LiveObjects()


def pending_segments() -> list[Any]:
    """Segments of all threads that have not been pushed yet."""
    return [
        s
        for segments in segments_of_threads.all()
        for s in list(segments.values())
        if not s.finished
    ]


class ThreadState(threading.local):
    """One per thread, read on every operation."""

    segment: Any = None  # the pending segment of the context used last
    segments: Segments  # context -> pending segment
    recording: bool = False  # autograd keeps operations
    training: bool = False  # operators behave as in training
    trace: Any = None  # the trace or host run that receives operations, if any
    # Context -> variables of segments that the engine has.
    handed_over: defaultdict[Any, deque[Any]]
    bulk: Any = 0  # operations a segment may hold, 0: the setting's value; or what tasks have set
    meetings: list[Any]  # open meetings of devices for which this thread has called
    isolation: Any = None  # set while a recording is only inspected: see ``stages.isolate``
    undo: Any = None  # weak reference to a list of writes that may have to be undone
    # Value -> node: variables of a tape only while this thread runs an executor.
    variables: Any = None

    def __init__(self) -> None:
        self.segments = Segments()
        segments_of_threads.add(self.segments)
        self.handed_over = defaultdict(deque)
        self.meetings = []


state = ThreadState()


def tape_entry(value: Any) -> Entry | None:
    """Where a value is on the tape that this thread records; None for a constant."""
    variables = state.variables
    node = variables.get(value) if variables else None
    if node is not None:
        return Entry(node)
    return None if value.node is None else Entry(value.node, value.index)


def with_variables(variables: Mapping[Any, Node], work: Callable[[], Result]) -> Result:
    """Call ``work``, for which these values are variables of the tape.

    They are variables for this thread alone: executors of several threads may share an argument, and each
    has an array of its own for the gradient.
    """
    before, state.variables = state.variables, variables
    try:
        return work()
    finally:
        state.variables = before


@contextmanager
def untraced() -> Iterator[None]:
    """Scope in which operations are recorded for execution, even within a trace or on the host."""
    before, state.trace = state.trace, None
    try:
        yield
    finally:
        state.trace = before


@contextmanager
def separate_recording() -> Iterator[None]:
    """Scope for Python code that a program calls back: its recording is separate from pending operations.

    The thread that waits for a program may be the one that runs it. Operations that this thread recorded
    earlier may read the program's results, so the callback must not wait for them.
    """
    names = (
        "segment", "segments", "handed_over", "meetings", "trace", "isolation", "undo", "bulk", "variables",
    )  # fmt: skip
    before = {name: getattr(state, name) for name in names}
    state.segment, state.segments = None, Segments()
    state.handed_over, state.meetings = defaultdict(deque), []
    state.trace = state.isolation = state.undo = state.variables = None
    segments_of_threads.add(state.segments)
    try:
        yield
        for segment in list(state.segments.values()):
            if not segment.finished:
                segment.finish("end of a callback", wait=False)
    finally:
        for name, value in before.items():
            setattr(state, name, value)


class NotedWrites(list[tuple[Any, str, Any, Any]]):
    """Writes of a thread, in order: the object, its attribute, the content before and after."""

    __slots__ = ("__weakref__", "_placed", "_places", "start")

    def __init__(self) -> None:
        self.start = 0  # of the innermost scope that may undo them
        self._places: dict[int, int] = {}  # id of an array -> where its latest write was noted
        self._placed = 0  # the number of writes that are in ``_places``

    def join(self, first: int) -> None:
        """Join writes of arrays, noted from ``first`` on and done, with those before them in this scope.

        Otherwise an array that is written in a loop would keep every content in memory, though only the
        first one can be restored.
        """
        if first <= self.start:  # a change writes each array once
            return
        for place in range(self._placed, first):
            self._places[id(self[place][0])] = place
        replaced: dict[int, tuple[Any, str, Any, Any]] = {}  # entries before ``first``
        rest: list[tuple[Any, str, Any, Any]] = []
        places: dict[int, int] = {}
        for entry in self[first:]:
            handle, attribute, before, after = entry
            place = places.get(id(handle), self._places.get(id(handle), -1))
            earlier = None
            if self.start <= place < first:
                earlier = replaced.get(place, self[place])
            elif first <= place < first + len(rest):
                earlier = rest[place - first]
            if (
                earlier is None
                or earlier[0] is not handle
                or earlier[1] != attribute
                or earlier[3] is not before
            ):
                places[id(handle)] = first + len(rest)
                rest.append(entry)
                continue
            joined = (handle, attribute, earlier[2], after)
            if place < first:
                replaced[place] = joined
            else:
                rest[place - first] = joined
        begin = min(replaced, default=first)
        changed = [replaced.get(place, self[place]) for place in range(begin, first)] + rest
        self[begin:] = changed  # at once: after an interrupt, all of them can still be undone
        self._places.update(places)
        self._placed = len(self)

    def drop(self, start: int) -> None:
        """Forget all writes from ``start`` on."""
        del self[start:]
        self._placed = min(self._placed, start)


def note_writes(writes: Iterable[tuple[Any, str, Any, Any]]) -> None:
    """Note writes that are about to happen, if they may have to be undone.

    Args:
        writes: object, attribute, content before and after.
    """
    earlier = noted_writes()
    if earlier is not None:
        earlier.extend(writes)


def noted_writes() -> NotedWrites | None:
    """The list in which this thread notes its writes; None if none will be undone."""
    return None if state.undo is None else state.undo()


def is_tracing() -> bool:
    """Whether operations of this thread become nodes of a graph, so that values have no data."""
    return state.trace is not None and not state.trace.host


def is_on_host() -> bool:
    """Whether operations of this thread run immediately on NumPy arrays."""
    return state.trace is not None and state.trace.host
