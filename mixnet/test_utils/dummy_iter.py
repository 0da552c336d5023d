"""An iterator that repeats one batch, to benchmark everything except reading data."""

from __future__ import annotations

from typing import Any

from mixnet.io import DataIter


class DummyIter(DataIter):
    """Gives the first batch of an iterator forever.

    Args:
        real_iter: the iterator.
    """

    def __init__(self, real_iter: Any):
        super().__init__()
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def next(self) -> Any:
        """The batch, always the same."""
        return self.the_batch
