"""Samplers: the order in which samples are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError, NotDefinedError

if TYPE_CHECKING:
    from mixnet.gluon.data.dataset import Dataset


class Sampler:
    """Base of samplers: iterates over sample indices."""

    def __len__(self) -> int:
        raise NotDefinedError(f"{type(self).__name__} does not define __len__.")

    def __iter__(self) -> Iterator[Any]:
        raise NotDefinedError(f"{type(self).__name__} does not define __iter__.")


class SequentialSampler(Sampler):
    """``start``, ``start + 1``, ..., ``length`` indices."""

    def __init__(self, length: int, start: int = 0):
        self._length, self._start = length, start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """All indices below ``length`` in random order, from NumPy's global random state."""

    def __init__(self, length: int):
        self._length = length

    def __iter__(self) -> Iterator[int]:
        indices = np.arange(self._length)
        np.random.shuffle(indices)
        return iter(indices.tolist())

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples for which ``fn(sample)`` is true, evaluated once.

    Args:
        fn: the condition.
        dataset: the samples.
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Dataset):
        if not callable(fn):
            raise AttributeTypeError(
                f"FilterSampler: fn must be a function of a sample, not {fn!r:.60}."
            )
        self._fn, self._dataset = fn, dataset
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Batches of the indices of another sampler.

    Args:
        sampler: the source of indices.
        batch_size: samples per batch.
        last_batch: ``keep`` a shorter last batch, ``discard`` it, or ``rollover`` to the next time.

    An unknown ``last_batch`` is a ValueError when the batches are counted or iterated.
    """

    def __init__(self, sampler: Sampler | Sequence[int], batch_size: int, last_batch: str = "keep"):
        self._sampler, self._batch_size, self._last_batch = sampler, batch_size, last_batch
        self._prev: list[int] = []

    def __iter__(self) -> Iterator[list[int]]:
        batch, self._prev = self._prev, []
        for number in self._sampler:
            batch.append(number)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if not batch:
            return
        if self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._prev = batch
        elif self._last_batch != "discard":
            raise self._unknown()

    def __len__(self) -> int:
        count, size = len(self._sampler), self._batch_size
        if self._last_batch == "keep":
            return (count + size - 1) // size
        if self._last_batch == "discard":
            return count // size
        if self._last_batch == "rollover":
            return (count + len(self._prev)) // size
        raise self._unknown()

    def _unknown(self) -> AttributeValueError:
        return AttributeValueError(
            f"last_batch={self._last_batch!r} is not one of 'keep', 'discard' and 'rollover'."
        )
