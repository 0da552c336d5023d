"""Offsets in an arena: storages that are never live at the same time may overlap.

Finding the smallest arena is NP-hard. Placing the largest storages first, each in the tightest gap,
comes within a few percent of the lower bound (as in Pisarchyk and Lee, "Efficient Memory Management
for Deep Neural Net Inference", 2020). If that is not enough, storages that block others are moved to
the other end of their gap.
"""

from __future__ import annotations

from collections.abc import Sequence

ENOUGH = 1.02  # up to this multiple of the lower bound, a search is not worth the time
WORK = 500_000  # the most pairs of storages that a search compares: a fraction of a second


def place_arrays(
    sizes: Sequence[int], conflicts: Sequence[Sequence[int]], firsts: Sequence[int], bound: int
) -> list[int]:
    """Offsets in bytes such that no two storages that conflict overlap.

    Args:
        sizes: bytes of each storage.
        conflicts: for each storage the numbers of those that it must not overlap; symmetric.
        firsts: the step at which each is first needed.
        bound: a lower bound of the size of the arena.
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
    """A placement for one order of storages; some of them are at the upper end of their gap."""

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
        self.ends = [-1] * len(sizes)
        self.upper = [False] * len(sizes)
        self.rank = rank = [0] * len(sizes)
        for place, i in enumerate(order):
            rank[i] = place
        # For each storage, the conflicting ones that are placed before it.
        self.earlier = [[j for j in conflicts[i] if rank[j] < rank[i]] for i in range(len(sizes))]
        self.work = work

    def run(self) -> tuple[list[int], int]:
        """Offsets and the end of the last storage."""
        stuck = self._place_from(0)
        while stuck is not None:
            further = self._make_room(stuck)
            if further == stuck:
                i = self.order[stuck]
                self._put(i, max((self.ends[j] for j in self.earlier[i]), default=0))
                self.capacity = max(self.capacity, self.ends[i])
                further = self._place_from(stuck + 1)
            stuck = further
        return self.offsets, max(self.ends, default=0)

    def _put(self, i: int, offset: int) -> None:
        self.offsets[i], self.ends[i] = offset, offset + self.sizes[i]

    def _place_from(self, start: int) -> int | None:
        """Place storages from ``start`` on; returns the position of the first that does not fit, or None."""
        for place in range(start, len(self.order)):
            i = self.order[place]
            offset = self._gap(i)
            if offset is None:
                return place
            self._put(i, offset)
        return None

    def _gap(self, i: int) -> int | None:
        """The offset in the tightest gap below the capacity; None if there is no gap."""
        self.work -= len(self.conflicts[i])
        offsets, ends, size, position = self.offsets, self.ends, self.sizes[i], 0
        occupied = sorted([(offsets[j], ends[j]) for j in self.earlier[i]])
        occupied.append((self.capacity, self.capacity))
        least, offset = self.capacity + 1, None
        for begin, end in occupied:
            room = begin - position
            if size <= room < least:
                least, offset = room, begin - size if self.upper[i] else position
            if end > position:
                position = end
        return offset

    def _make_room(self, stuck: int) -> int | None:
        """Move one of the blocking storages so that placing proceeds beyond ``stuck``.

        Returns:
            The storage at which placing then stops; None if it does not stop, ``stuck`` if nothing helps.
        """
        in_the_way = self.earlier[self.order[stuck]]
        before = self.offsets[:], self.ends[:]
        for j in sorted(in_the_way, key=lambda j: -self.rank[j]):
            if self.work <= 0:
                break
            self.upper[j] = not self.upper[j]
            reached = self._place_from(self.rank[j])
            if reached is None or reached > stuck:
                return reached
            self.upper[j] = not self.upper[j]
            self.offsets[:], self.ends[:] = before
        return stuck
