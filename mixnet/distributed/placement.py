"""Which server stores which rows of a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Part:
    """Rows of a value that one server stores.

    Args:
        server: its index.
        begin: first row.
        end: one past the last row; None: the whole value, of any rank.
    """

    server: int
    begin: int = 0
    end: int | None = None

    def of(self, whole: np.ndarray) -> np.ndarray:
        """The part of an array."""
        return whole if self.end is None else whole[self.begin : self.end]


class Placement:
    """Places values on servers: a small one on the server with the fewest bytes, a large one on all, by rows.

    All processes place the same values in the same order, so they agree without a message.

    Args:
        count: of servers.
        bound: number of elements from which a value is large.
    """

    def __init__(self, count: int, bound: int):
        self.count, self.bound = count, bound
        self.loads = [0] * count
        """Bytes on each server."""

    def place(self, shape: Sequence[int], itemsize: int) -> list[Part]:
        """The parts of the next value.

        Args:
            shape: of the value.
            itemsize: bytes of an element.
        """
        first = self.loads.index(min(self.loads))
        size = math.prod(shape)
        pieces = min(self.count, shape[0]) if shape and size >= self.bound else 1
        if pieces == 1:
            self.loads[first] += size * itemsize
            return [Part(first)]
        ends = [shape[0] * (i + 1) // pieces for i in range(pieces)]
        parts = [
            Part((first + i) % self.count, begin, end)
            for i, (begin, end) in enumerate(zip([0, *ends], ends, strict=False))
        ]
        for part, begin, end in zip(parts, [0, *ends], ends, strict=False):
            self.loads[part.server] += (end - begin) * (size // shape[0]) * itemsize
        return parts
