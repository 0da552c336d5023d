"""NDArrayIter: batches of arrays in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mixnet.base import CheckError, IndexingError, NotDefinedError, ShapeError, checked_count
from mixnet.io.batch import DataBatch, DataDesc
from mixnet.io.iterator import DataIter
from mixnet.io.source import Sources, is_stored, named_sources, take_rows
from mixnet.ndarray.create import array
from mixnet.ndarray.csr_array import CSRNDArray
from mixnet.ndarray.ndarray import NDArray


class NDArrayIter(DataIter):
    """Batches of arrays in memory, or of datasets in files that can be sliced like arrays.

    Args:
        data: an array (``NDArray``, NumPy, ``scipy.sparse.csr_matrix``, ``h5py.Dataset``), a list
            or a dict of arrays, all with the samples along axis 0. Other types are converted to
            a float32 ``NDArray``.
        label: the same, or None.
        batch_size: samples in a batch.
        shuffle: draw a new order from NumPy's generator at the start and at every reset; the arrays
            are then float32.
        last_batch_handle: what to do with samples that do not fill a batch at the end of an epoch:
            ``'pad'`` fills it up with the first ones, ``'discard'`` drops them, ``'roll_over'``
            puts them at the start of the next epoch. Anything else drops them, with a warning.
        data_name: of a single array; arrays of a list are called ``_0_data_name``, ...
        label_name: the same for labels.
        layout: of all arrays.

    Raises:
        TypeError: something is not an array.
        IndexError: an array has no axes, or fewer samples than the first and ``shuffle``. Without
            ``shuffle`` the batch that needs the missing samples is an error.
        NotImplementedError: sparse data with a ``last_batch_handle`` other than ``'discard'``.
    """

    def __init__(
        self,
        data: Sources,
        label: Sources | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ):
        super().__init__(batch_size)
        self._mx_data = named_sources(data, False, data_name)
        self._mx_label = named_sources(label, True, label_name)
        sources = self._mx_data + self._mx_label
        if last_batch_handle != "discard" and any(isinstance(v, CSRNDArray) for _, v in sources):
            raise NotDefinedError(
                "NDArrayIter takes sparse data only with last_batch_handle='discard'."
            )
        checked_count("NDArrayIter: batch_size", batch_size)
        for name, source in sources:
            if not source.shape:
                raise IndexingError(
                    f"NDArrayIter: {name!r} is a single number; give an array whose first axis counts "
                    f"the samples, numpy.array([...])."
                )
        self.num_data: int = sources[0][1].shape[0]
        if shuffle:
            for name, source in sources:
                if source.shape[0] < self.num_data:
                    raise IndexingError(self._mx_too_short(name, source))
        self.idx = np.arange(self.num_data)
        self.shuffle = shuffle
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            warnings.warn(
                f"NDArrayIter: last_batch_handle={last_batch_handle!r} is not one of 'pad', 'discard', "
                f"'roll_over'; samples that do not fill a batch are dropped.",
                stacklevel=2,
            )
        self.last_batch_handle = last_batch_handle
        self.num_source = len(sources)
        self.layout = layout
        self.cursor = -batch_size
        # Rows are not moved; `_order` is the order in which they are read.
        self._mx_order: np.ndarray | None = None
        self._mx_shuffled: dict[int, Any] = {}
        self._mx_rest: np.ndarray | None = None  # rows that roll over
        if shuffle:
            self._mx_data = [(name, _fixed(source)) for name, source in self._mx_data]
            self._mx_label = [(name, _fixed(source)) for name, source in self._mx_label]
        self.reset()

    def _mx_shuffle(self) -> None:
        np.random.shuffle(self.idx)
        # A new order shuffles the last one, not the original, as MXNet does.
        self._mx_order = self.idx.copy() if self._mx_order is None else self._mx_order[self.idx]
        self._mx_shuffled.clear()

    def _mx_ordered(self, sources: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        if self._mx_order is None:
            return sources
        ordered = []
        for name, source in sources:
            if not is_stored(source) and id(source) not in self._mx_shuffled:
                self._mx_shuffled[id(source)] = (
                    source._take_rows(self._mx_order)
                    if isinstance(source, CSRNDArray)
                    else take_rows(source, self._mx_order)
                )
            ordered.append((name, self._mx_shuffled.get(id(source), source)))
        return ordered

    @property
    def data(self) -> list[tuple[str, Any]]:
        """The data by name, in the order of this epoch."""
        return self._mx_ordered(self._mx_data)

    @property
    def label(self) -> list[tuple[str, Any]]:
        """The labels by name, in the order of this epoch."""
        return self._mx_ordered(self._mx_label)

    @property
    def data_list(self) -> list[Any]:
        """The arrays of data and labels."""
        return [source for _, source in self.data + self.label]

    def _mx_described(self, sources: list[tuple[str, Any]]) -> list[DataDesc]:
        return [
            DataDesc(name, (self.batch_size, *source.shape[1:]), source.dtype, self.layout)
            for name, source in sources
        ]

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data of a batch."""
        return self._mx_described(self._mx_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the labels of a batch."""
        return self._mx_described(self._mx_label)

    def hard_reset(self) -> None:
        """Begin an epoch; rolled-over samples are discarded."""
        if self.shuffle:
            self._mx_shuffle()
        self._mx_rest = None
        self.cursor = -self.batch_size

    def reset(self) -> None:
        """Begin an epoch, with a new order if the iterator shuffles."""
        left = self.num_data - self.cursor
        rolls = self.last_batch_handle == "roll_over" and 0 < left < self.batch_size
        self._mx_rest = self._mx_numbers(self.cursor, self.num_data) if rolls else None
        if self.shuffle:
            self._mx_shuffle()
        self.cursor = -left - self.batch_size if rolls else -self.batch_size

    def iter_next(self) -> bool:
        """Move to the next batch; whether there are samples."""
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        """The next batch."""
        if not self.iter_next():
            raise StopIteration
        if self.last_batch_handle != "pad" and self.cursor + self.batch_size > self.num_data:
            raise StopIteration
        return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=None)

    def _mx_numbers(self, begin: int, end: int) -> np.ndarray:
        """Row indices for these positions of the epoch."""
        numbers = np.arange(begin, end) % self.num_data
        return numbers if self._mx_order is None else self._mx_order[numbers]

    def _mx_too_short(self, name: str, source: Any) -> str:
        return (
            f"NDArrayIter: {self._mx_data[0][0]!r} has {self.num_data} samples, {name!r} has "
            f"{source.shape[0]}; give arrays of equal length."
        )

    def _batchify(self, data_source: list[tuple[str, Any]]) -> list[NDArray]:
        begin, end = self.cursor, self.cursor + self.batch_size
        if begin >= self.num_data:
            raise CheckError(
                "DataIter needs reset: all batches have been returned. Call reset() first."
            )
        if begin < 0 and (self._mx_rest is None or end <= 0):
            raise CheckError("There is no batch before the first iter_next() or next().")
        if self.last_batch_handle != "pad":
            end = min(end, self.num_data)
        rows: slice | np.ndarray
        if begin < 0:
            rows = np.concatenate([self._mx_rest, self._mx_numbers(0, end)])
        elif self._mx_order is None and end <= self.num_data:
            rows = slice(begin, end)
        else:
            rows = self._mx_numbers(begin, end)
        last = end - 1 if isinstance(rows, slice) else int(rows.max())
        for name, source in data_source:
            if source.shape[0] <= last:
                raise ShapeError(self._mx_too_short(name, source))
        return [take_rows(source, rows) for _, source in data_source]

    def _getdata(
        self, data_source: list[tuple[str, Any]], start: int | None = None, end: int | None = None
    ) -> list[NDArray]:
        """Rows from ``start`` to ``end`` of each source; subclasses of MXNet's time call it."""
        if start is None and end is None:
            raise CheckError("_getdata takes start, end, or both.")
        return [
            take_rows(source, slice(start or 0, len(source) if end is None else end))
            for _, source in data_source
        ]

    def getdata(self) -> list[NDArray]:
        """Data of the batch.

        Raises:
            AssertionError: the epoch has ended, or has not begun.
        """
        return self._batchify(self._mx_data)

    def getlabel(self) -> list[NDArray]:
        """Labels of the batch.

        Raises:
            AssertionError: the epoch has ended, or has not begun.
        """
        return self._batchify(self._mx_label)

    def getpad(self) -> int:
        """Number of samples of the batch that occur twice in an epoch: padding, or rolled over."""
        if self.last_batch_handle == "pad" and self.cursor + self.batch_size > self.num_data:
            return self.cursor + self.batch_size - self.num_data
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return 0


def _fixed(source: object) -> Any:
    """A copy that is independent of the source, a dense one in float32; files are not copied."""
    if is_stored(source):
        return source
    if isinstance(source, CSRNDArray):
        return source.copy()
    return array(source, source.context, np.float32) if isinstance(source, NDArray) else source
