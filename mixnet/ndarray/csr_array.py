"""Matrices of which the elements that are not 0 are stored, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import (
    AttributeValueError,
    IndexingError,
    ShapeError,
    SizeError,
)
from mixnet.context import Context
from mixnet.ndarray.indexing import span
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse_array import (
    BaseSparseNDArray,
    host_indices,
    out_of_range,
    rounded_up,
)
from mixnet.ops.registry import find
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import from_host

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class CSRNDArray(BaseSparseNDArray):
    """A matrix of which the elements that are not 0 are stored, row by row."""

    __slots__ = ()

    @property
    def stype(self) -> str:
        """``'csr'``."""
        return "csr"

    @property
    def indptr(self) -> NDArray:
        """Where each row begins among the stored values, int64, one more than there are rows."""
        return self._aux[0].copy()

    def _rows(self) -> NDArray:
        """The row of each stored value."""
        starts = self._aux[0].asnumpy()
        counts = np.diff(starts)
        return host_indices(np.repeat(np.arange(self.shape[0]), counts), self.context)

    def _stored(self) -> list[NDArray]:
        """The stored values, and the column and the row of each, for a program.

        Values of 0 at the last position round their number up, so that matrices share programs.
        """
        columns, rows = self._aux[1].asnumpy(), self._rows().asnumpy()
        count, data = len(columns), self._data
        added = rounded_up(count) - count
        if added:
            values = np.concatenate([data.asnumpy(), np.zeros(added, data.dtype)])
            data = NDArray._wrap(from_host(values, self.context))
        places = [np.append(each, each[-1:].repeat(added)) for each in (columns, rows)]
        return [data, *(host_indices(each, self.context) for each in places)]

    def _dense(self) -> NDArray:
        arrays = (self._data, self._aux[1], self._rows())
        return invoke(find("_csr_to_dense"), arrays, {"shape": self.shape})

    @classmethod
    def _from_dense(cls, dense: NDArray) -> CSRNDArray:
        if dense.ndim != 2:
            raise SizeError(
                f"A csr array is a matrix: it needs two axes, but shape {dense.shape} has {dense.ndim}."
            )
        rows, columns = np.nonzero(dense.asnumpy())
        context = dense.context
        indices = host_indices(columns, context)
        elements = invoke(find("_take_elements"), (dense, host_indices(rows, context), indices), {})
        return cls._make(elements, (_starts(rows, dense.shape[0], context), indices), dense.shape)

    @classmethod
    def _zeros(cls, shape: tuple[int, ...], context: Context, dtype: np.dtype) -> CSRNDArray:
        if len(shape) != 2:
            raise ShapeError(
                f"A csr array is a matrix: it needs two axes, but shape {shape} has {len(shape)}."
            )
        data = NDArray._wrap(from_host(np.zeros((0,), dtype), context))
        return cls._of(data, np.zeros(shape[0] + 1), np.zeros(0), shape)

    @classmethod
    def _of(
        cls, data: NDArray, indptr: ArrayLike, indices: ArrayLike, shape: tuple[int, ...]
    ) -> CSRNDArray:
        """From stored values and positions on the host."""
        context = data.context
        aux = (host_indices(indptr, context), host_indices(indices, context))
        return cls._make(data, aux, shape)

    @classmethod
    def _at(cls, data: NDArray, places: np.ndarray, shape: tuple[int, ...]) -> CSRNDArray:
        """From stored values and their rising positions in the flattened matrix."""
        rows, columns = np.divmod(places, shape[1])
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
        return cls._of(data, starts, columns, shape)

    def _fill(self, number: float | np.number) -> None:
        raise AttributeValueError(
            f"A csr array cannot be filled with the number {number} for all its elements; use "
            f"zeros, or a "
            f"dense array."
        )

    def _miscount(self) -> str:
        if self._aux[0].shape[0] != self.shape[0] + 1:
            return "indptr must have one number more than there are rows"
        return super()._miscount()

    def _misplaced(self) -> str:
        starts, columns = self._aux[0].asnumpy(), self._aux[1].asnumpy()
        if len(starts) != self.shape[0] + 1 or starts[0] != 0 or starts[-1] != len(columns):
            return "indptr must have one number more than rows, from 0 to the number of values"
        if (np.diff(starts) < 0).any():
            return "indptr must not fall"
        return out_of_range("column", columns, self.shape[1])

    def _disorder(self) -> str:
        starts, columns = self._aux[0].asnumpy(), self._aux[1].asnumpy()
        rows = np.repeat(np.arange(self.shape[0]), np.diff(starts))
        if ((np.diff(rows) == 0) & (np.diff(columns) <= 0)).any():
            return "indices must rise within a row"
        return ""

    def asscipy(self) -> Any:
        """A ``scipy.sparse.csr_matrix`` with the content."""
        from scipy.sparse import csr_matrix

        parts = (self._data.asnumpy(), self._aux[1].asnumpy(), self._aux[0].asnumpy())
        return csr_matrix(parts, shape=self.shape, dtype=self.dtype)

    def __getitem__(self, key: object) -> CSRNDArray:
        """Rows, by a number or a slice of step one.

        Raises:
            IndexError: there is no such row.
            ValueError: another kind of index.
        """
        if isinstance(key, (int, np.integer)):
            number = int(key) + (self.shape[0] if key < 0 else 0)
            if not 0 <= number < self.shape[0]:
                raise IndexingError(f"row {key} of a matrix of {self.shape[0]} rows")
            key = slice(number, number + 1)
        if not isinstance(key, slice):
            raise AttributeValueError("A csr matrix is indexed by a number or a slice of rows.")
        begin, end, step = span(key, self.shape[0])
        if step != 1:
            raise AttributeValueError("A csr matrix is sliced with step 1.")
        if state.recording and self._is_taped():
            part = invoke(find("slice"), (self,), {"begin": (begin,), "end": (max(end, begin),)})
            assert isinstance(part, CSRNDArray)
            return part
        return self._slice(begin, max(end, begin), 0, self.shape[1])

    def _slice(self, begin: int, end: int, left: int, right: int) -> CSRNDArray:
        starts, columns = self._aux[0].asnumpy(), self._aux[1].asnumpy()
        first, last = int(starts[begin]), int(starts[end])
        columns, rows = (
            columns[first:last],
            np.repeat(np.arange(end - begin), np.diff(starts[begin : end + 1])),
        )
        inside = (columns >= left) & (columns < right)
        where = host_indices(np.arange(first, last)[inside], self.context)
        data = invoke(find("_take_rows"), (self._data, where), {})
        shape = (end - begin, right - left)
        indptr = _starts(rows[inside], shape[0], self.context)
        indices = host_indices(columns[inside] - left, self.context)
        return type(self)._make(data, (indptr, indices), shape)

    def _take_rows(self, rows: np.ndarray) -> CSRNDArray:
        """A matrix of these rows, in this order; no dense matrix is made.

        Args:
            rows: numbers of rows, none negative.
        """
        starts, columns = self._aux[0].asnumpy(), self._aux[1].asnumpy()
        counts = np.diff(starts)[rows]
        ends = np.cumsum(counts)
        where = np.repeat(starts[rows] - ends + counts, counts) + np.arange(counts.sum())
        data = invoke(find("_take_rows"), (self._data, host_indices(where, self.context)), {})
        indptr = host_indices(np.concatenate([[0], ends]), self.context)
        indices = host_indices(columns[where], self.context)
        return type(self)._make(data, (indptr, indices), (len(rows), self.shape[1]))


def _starts(rows: ArrayLike, count: int, context: Context) -> NDArray:
    """``indptr`` of rows in rising order."""
    return host_indices(
        np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]), context
    )
