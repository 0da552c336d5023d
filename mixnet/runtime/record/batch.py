"""Batches: operations that are recorded again and again, one after the other, as those of backward.

Recorded one by one, each operation looks up the segment, its slots and its place again. A batch does this
once. Where it lands in a segment at the same place, with the same inputs, as the last time, the entries are
known, too, except for numbers and results. Results that no one will read get no value.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mixnet.runtime.record import record
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value

if TYPE_CHECKING:
    from mixnet.runtime.value.call import Call

_reference = weakref.ref


class _Varying(NamedTuple):
    """An entry that differs from run to run.

    Args:
        place: among the entries.
        item: the call and its slots.
        end: outputs up to here.
        has_numbers: whether it takes the next numbers.
        outputs: the results that are read: their specs and slots.
    """

    place: int
    item: tuple[Any, ...]
    end: int
    has_numbers: bool
    outputs: tuple[tuple[Spec, int], ...]


class _Placed(NamedTuple):
    """The entries of a batch at a place in a segment.

    Args:
        slots: those of the inputs.
        start: outputs of the segment before it.
        entries: all entries, complete except for the varying ones.
        varying: these.
    """

    slots: list[int]
    start: int
    entries: list[Any]
    varying: list[_Varying]


class Batch:
    """Known calls on one context, each of which reads inputs of the batch or results of earlier calls.

    Values are numbered: the inputs, then the results of all calls.

    Args:
        calls: the calls, with the numbers of the values that they read, and whether they take numbers.
        results: the numbers of the results that are read.
    """

    __slots__ = ("_calls", "_context", "_last", "_outputs", "_results")

    def __init__(
        self,
        calls: Iterable[tuple[Call, Sequence[int], bool]],
        results: Iterable[int],
    ):
        self._calls = tuple(calls)
        self._results = frozenset(results)
        self._context = self._calls[0][0].context
        self._outputs = sum(len(call.outputs) for call, _, _ in self._calls)
        self._last: _Placed | None = None

    @staticmethod
    def accepts(calls: Iterable[Call | None]) -> bool:
        """Whether calls can be a batch: all are known, on one context, without Python and other devices."""
        calls = list(calls)
        return bool(calls) and all(
            call is not None
            and not call.alone
            and call.parties is None
            and call.context is calls[0].context  # type: ignore[union-attr]  # the first is not None
            for call in calls
        )

    def record(
        self, values: Sequence[Value], numbers: Sequence[tuple[float, ...]] = ()
    ) -> list[Value] | None:
        """Record all calls; returns the results that are read, in order.

        Returns None, and records nothing, where calls have to be recorded one by one.

        Args:
            values: the inputs.
            numbers: of those calls that take numbers.
        """
        local = state
        if local.recording or local.bulk or local.trace is not None:
            return None
        segment = local.segment
        if segment is None or segment.context is not self._context or segment.finished:
            segment = record.open_segment(self._context)
        slots = []
        for each in values:
            slots.append(each.slot if each.segment is segment else segment.leaf(each))
        entries = segment.entries
        before = len(entries)
        start = entries[-1][1] if before else 0
        end = start + self._outputs
        # Lines are kept with single entries, and a segment may have to end within the batch.
        if type(entries) is not list or end >= record.most_outputs():
            return None
        placed = self._last
        if placed is None or placed.start != start or placed.slots != slots:
            placed = self._last = self._placed(slots, start)
        batch = placed.entries.copy()
        results = []
        position = 0  # among the numbers
        for place, item, ended, has_numbers, outputs in placed.varying:
            references = []
            for spec, slot in outputs:
                value = Value(spec, None, segment, slot)
                results.append(value)
                references.append(_reference(value))
            batch[place] = (item, ended, numbers[position] if has_numbers else (), references)
            position += has_numbers
        if len(entries) != before:  # a finalizer has recorded something
            return self.record(values, numbers)
        entries += batch  # at once: an interrupt comes before it or after it
        if segment.closing and not segment.took(entries, end):  # another thread handed it over
            return self.record(values, numbers)
        return results

    def _placed(self, inputs: list[int], start: int) -> _Placed:
        """The entries for inputs with these slots, after so many outputs of the segment."""
        slots, first = [*inputs], start
        entries: list[Any] = []
        varying = []
        for call, places, has_numbers in self._calls:
            item = (call, *[slots[i] for i in places])
            outputs = []
            for spec in call.outputs:
                if len(slots) in self._results:
                    outputs.append((spec, start))
                slots.append(start)
                start += 1
            if outputs or has_numbers:
                varying.append(_Varying(len(entries), item, start, has_numbers, tuple(outputs)))
            entries.append((item, start, (), ()))
        return _Placed(inputs, first, entries, varying)
