"""Samplers in other orders."""

from __future__ import annotations

from collections.abc import Iterator

from mixnet.base import CheckError
from mixnet.gluon.data import sampler

__all__ = ["IntervalSampler"]


class IntervalSampler(sampler.Sampler):
    """0, ``interval``, ``2 interval``, ... then 1, ``interval + 1``, ... as far as ``length``.

    Args:
        length: how many samples there are.
        interval: distance of the numbers.
        rollover: start again from the next number; else only the first round.

    Raises:
        AssertionError: the interval is larger than the length.

    Example::

        >>> list(gluon.contrib.data.IntervalSampler(7, interval=3))
        [0, 3, 6, 1, 4, 2, 5]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True):
        if interval > length:
            raise CheckError(
                f"IntervalSampler: interval={interval} is larger than length={length}."
            )
        self._length, self._interval, self._rollover = length, interval, rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length
