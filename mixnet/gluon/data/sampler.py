"""Samplers: the order in which samples are taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mixnet.base import MXNetError


class Sampler:
    """Base of samplers: iterates over numbers of samples."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__.")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__.")


class SequentialSampler(Sampler):
    """``start``, ``start + 1``, ... as many as ``length``."""

    def __init__(self, length: int, start: int = 0):
        self._length, self._start = length, start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """All numbers below ``length`` in random order, by NumPy's global random state."""

    def __init__(self, length: int):
        self._length = length

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.permutation(self._length).tolist())

    def __len__(self) -> int:
        return self._length


class BatchSampler(Sampler):
    """Batches of the numbers of another sampler.

    Args:
        sampler: gives the numbers.
        batch_size: samples per batch.
        last_batch: ``keep`` a shorter last batch, ``discard`` it, or ``rollover`` to the next time.
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep"):
        if last_batch not in ("keep", "discard", "rollover"):
            raise MXNetError(f"last_batch={last_batch!r} is not 'keep', 'discard' or 'rollover'.")
        self._sampler, self._batch_size, self._last_batch = sampler, batch_size, last_batch
        self._left: list[int] = []

    def __iter__(self) -> Iterator[list[int]]:
        batch, self._left = self._left, []
        for number in self._sampler:
            batch.append(number)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._left = batch

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        return (count + len(self._left)) // self._batch_size
