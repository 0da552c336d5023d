"""Additional samplers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mixnet.base import CheckError
from mixnet.gluon.data import sampler

__all__ = ["IntervalSampler", "SplitSampler"]


class IntervalSampler(sampler.Sampler):
    """The indices 0, ``interval``, ``2 interval``, ... below ``length``, then 1, ``interval + 1``, ...

    Args:
        length: number of samples.
        interval: distance between indices.
        rollover: continue from the next offset; otherwise only the first pass.

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


class SplitSampler(sampler.Sampler):
    """The indices of one worker: all workers get equally many, without overlap.

    The remainder of the division is left out, so that workers that synchronize have equal numbers of batches.

    Args:
        length: number of samples.
        num_parts: number of workers, ``kv.num_workers``.
        part_index: index of this worker, ``kv.rank``.
        shuffle: a new random order in each pass, from NumPy's global random state; the part stays the same.

    Raises:
        AssertionError: there is no such part, or it would be empty.

    Example::

        >>> list(gluon.contrib.data.SplitSampler(7, num_parts=2, part_index=1, shuffle=False))
        [3, 4, 5]
    """

    def __init__(self, length: int, num_parts: int = 1, part_index: int = 0, shuffle: bool = True):
        if not 0 <= part_index < num_parts:
            raise CheckError(
                f"SplitSampler: part_index={part_index} of num_parts={num_parts}; parts are "
                "counted from 0. Give "
                f"num_parts=kv.num_workers and part_index=kv.rank."
            )
        if length < num_parts:
            raise CheckError(
                f"SplitSampler: length={length} samples are too few for num_parts={num_parts}."
            )
        self._length = length // num_parts
        self._start = self._length * part_index
        self._shuffle = shuffle

    def __iter__(self) -> Iterator[int]:
        numbers = np.arange(self._start, self._start + self._length)
        if self._shuffle:
            np.random.shuffle(numbers)
        return iter(numbers.tolist())

    def __len__(self) -> int:
        return self._length
