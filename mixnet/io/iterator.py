"""DataIter: the interface of all iterators."""

from __future__ import annotations

from typing import Any

from mixnet.io.batch import DataBatch


class DataIter:
    """Base of iterators over batches: override ``iter_next`` and the getters, or ``next``.

    Modules need these of an iterator: ``provide_data`` and ``provide_label``, lists of
    :class:`DataDesc`; ``next``, which raises StopIteration at the end of an epoch; ``reset``.

    Args:
        batch_size: samples in a batch.
    """

    def __init__(self, batch_size: int = 0):
        self.batch_size = batch_size

    def __iter__(self) -> Any:
        return self

    def reset(self) -> None:
        """Go back to the first batch."""

    def next(self) -> DataBatch:
        """The next batch.

        Raises:
            StopIteration: the epoch is over; ``reset`` begins another.
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> bool | int:
        """Move to the next batch; whether there is one."""
        return None  # type: ignore[return-value] # what a class that overrides `next` alone has

    def getdata(self) -> Any:
        """Data of the batch: a list of arrays."""

    def getlabel(self) -> Any:
        """Labels of the batch: a list of arrays."""

    def getindex(self) -> Any:
        """Indices of the samples, None if unknown."""

    def getpad(self) -> Any:
        """Number of samples at the end of the batch that only fill it up."""
