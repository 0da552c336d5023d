"""DataLoader: batches of a dataset, made ahead by threads if asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from mixnet.base import MXNetError
from mixnet.gluon.data.dataset import ArrayDataset, Dataset
from mixnet.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.creation import array as np_array
from mixnet.util import is_np_array
from mixnet.util import np_array as np_array_scope


def default_batchify_fn(data: list[Any]) -> Any:
    """Samples stacked to arrays: numbers, arrays, or tuples of them."""
    first = data[0]
    if isinstance(first, NDArray):
        return _array(np.stack([each.asnumpy() for each in data]))
    if isinstance(first, tuple):
        return [default_batchify_fn(list(part)) for part in zip(*data, strict=True)]
    stacked = np.asarray(data)
    return _array(stacked)


def _array(data: np.ndarray) -> NDArray:
    return (np_array if is_np_array() else array)(data, dtype=data.dtype)


class DataLoader:
    """Iterates over batches of a dataset.

    Args:
        dataset: samples.
        batch_size: samples per batch.
        shuffle: random order, anew in every epoch.
        sampler: gives the order instead.
        last_batch: ``keep`` a shorter last batch, ``discard`` it, or ``rollover``.
        batch_sampler: gives the batches' numbers instead of all of those.
        batchify_fn: makes a batch of a list of samples.
        num_workers: threads that make batches ahead; 0 makes them when asked for.
        prefetch: batches made ahead, by default twice the threads.

    Raises:
        MXNetError: arguments contradict each other.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: int = 120,
        auto_reload: bool = False,
    ):
        self._dataset = dataset
        if batch_sampler is None:
            if batch_size is None:
                raise MXNetError("DataLoader needs batch_size, or a batch_sampler.")
            if sampler is None:
                count = len(dataset)
                sampler = RandomSampler(count) if shuffle else SequentialSampler(count)
            elif shuffle:
                raise MXNetError("DataLoader: shuffle and sampler exclude each other; give one.")
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise MXNetError(
                "DataLoader: batch_sampler excludes batch_size, shuffle, sampler and last_batch."
            )
        self._batch_sampler = batch_sampler
        self._batchify = batchify_fn
        self._numpy = False
        self._workers = max(0, num_workers)
        self._prefetch = max(1, 2 * self._workers if prefetch is None else prefetch)
        self._timeout = timeout

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def _batch(self, numbers: list[int]) -> Any:
        with np_array_scope(self._numpy):  # threads have settings of their own
            return self._make(numbers)

    def _make(self, numbers: list[int]) -> Any:
        if self._batchify is None and isinstance(self._dataset, ArrayDataset):
            rows = self._dataset.rows(numbers)
            if rows is not None:
                made = [_array(row) for row in rows]
                return made if len(made) > 1 else made[0]
        samples = [self._dataset[i] for i in numbers]
        return (self._batchify or default_batchify_fn)(samples)

    def __iter__(self) -> Iterator[Any]:
        self._numpy = is_np_array()
        if not self._workers:
            for numbers in self._batch_sampler:
                yield self._batch(numbers)
            return
        with ThreadPoolExecutor(self._workers, "DataLoader") as pool:
            ahead: deque[Future[Any]] = deque()
            try:
                for numbers in self._batch_sampler:
                    ahead.append(pool.submit(self._batch, numbers))
                    if len(ahead) > self._prefetch:
                        yield ahead.popleft().result(self._timeout)
                while ahead:
                    yield ahead.popleft().result(self._timeout)
            finally:
                for each in ahead:
                    each.cancel()
