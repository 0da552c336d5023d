"""Offsets in an arena: storages that are never live at the same time may overlap.

Finding the smallest arena is NP-hard. Placing the largest storages first, each in the tightest gap,
comes within a few percent of the lower bound (as in Pisarchyk and Lee, "Efficient Memory Management
for Deep Neural Net Inference", 2020). If that is not enough, storages that block others are moved to
the other end of their gap.
"""

from __future__ import annotations

from collections.abc import Sequence

ENOUGH = 1.02  # so many times the lower bound is not worth a search
WORK = 500_000  # pairs of storages that a search may look at: a fraction of a second


def place_arrays(
    sizes: Sequence[int], conflicts: Sequence[Sequence[int]], firsts: Sequence[int], bound: int
) -> list[int]:
    """Offsets in bytes such that no two storages that conflict overlap.

    Args:
        sizes: bytes of each storage.
        conflicts: for each the numbers of those that it must not overlap; symmetric.
        firsts: when each is first needed.
        bound: no arena is smaller.
    """
    numbers = range(len(sizes))
    by_size = sorted(numbers, key=lambda i: (-sizes[i], firsts[i]))
    in_time = sorted(numbers, key=lambda i: firsts[i])
    best: list[int] = []
    smallest = -1
    for order, work in ((by_size, 0), (in_time, 0), (by_size, WORK), (in_time, WORK)):
        offsets, top = _Placement(sizes, conflicts, order, bound, work).run()
        if smallest < 0 or top < smallest:
            best, smallest = offsets, top
        if smallest <= ENOUGH * bound:
            break
    return best


class _Placement:
    """One order of placing, and which storages go to the upper end of their gap."""

    def __init__(
        self,
        sizes: Sequence[int],
        conflicts: Sequence[Sequence[int]],
        order: Sequence[int],
        bound: int,
        work: int,
    ):
        self.sizes, self.conflicts, self.order = sizes, conflicts, order
        self.capacity = bound
        self.offsets = [-1] * len(sizes)
        self.upper = [False] * len(sizes)
        self.rank = [0] * len(sizes)
        for place, i in enumerate(order):
            self.rank[i] = place
        self.work = work

    def run(self) -> tuple[list[int], int]:
        """Offsets and the end of the last storage."""
        stuck = self._place_from(0)
        while stuck is not None:
            further = self._make_room(stuck)
            if further == stuck:
                i = self.order[stuck]
                self.offsets[i] = end = self._above(i)
                self.capacity = max(self.capacity, end + self.sizes[i])
                further = self._place_from(stuck + 1)
            stuck = further
        ends = [offset + size for offset, size in zip(self.offsets, self.sizes, strict=True)]
        return self.offsets, max(ends, default=0)

    def _place_from(self, start: int) -> int | None:
        """Place storages from ``start`` on; returns the position of the first that does not fit, or None."""
        for place in range(start, len(self.order)):
            i = self.order[place]
            offset = self._gap(i, place)
            if offset is None:
                return place
            self.offsets[i] = offset
        return None

    def _occupied(self, i: int, place: int) -> list[tuple[int, int]]:
        self.work -= len(self.conflicts[i])
        return sorted(
            (self.offsets[j], self.offsets[j] + self.sizes[j])
            for j in self.conflicts[i]
            if self.rank[j] < place
        )

    def _gap(self, i: int, place: int) -> int | None:
        """Where in the tightest gap below the capacity; None if there is none."""
        size, position = self.sizes[i], 0
        tightest = None
        for begin, end in [*self._occupied(i, place), (self.capacity, self.capacity)]:
            room = begin - position
            if room >= size and (tightest is None or room < tightest[0]):
                tightest = (room, begin - size if self.upper[i] else position)
            position = max(position, end)
        return None if tightest is None else tightest[1]

    def _above(self, i: int) -> int:
        return max((end for _, end in self._occupied(i, self.rank[i])), default=0)

    def _make_room(self, stuck: int) -> int | None:
        """Move one of the blocking storages so that placing proceeds beyond ``stuck``.

        Returns:
            Where it stops then, None if it does not, ``stuck`` if none helps.
        """
        in_the_way = [j for j in self.conflicts[self.order[stuck]] if self.rank[j] < stuck]
        for j in sorted(in_the_way, key=lambda j: -self.rank[j]):
            if self.work <= 0:
                break
            self.upper[j] = not self.upper[j]
            reached = self._place_from(self.rank[j])
            if reached is None or reached > stuck:
                return reached
            self.upper[j] = not self.upper[j]
            self._place_from(self.rank[j])
        return stuck
