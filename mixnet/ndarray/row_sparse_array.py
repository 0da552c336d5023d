"""Arrays of which some rows are stored, and their sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    IndexingError,
    ShapeError,
)
from mixnet.context import Context
from mixnet.ndarray.create import array as dense_array
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse_array import BaseSparseNDArray, host_indices, out_of_range
from mixnet.ops.registry import find
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Value, from_host

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which some rows, slices along the first axis, are stored; the others are 0."""

    __slots__ = ("_room", "_stored")

    _room: tuple[NDArray, NDArray] | None
    """Rows and their numbers with room for more: see :func:`sum_of_rows`."""
    _stored: NDArray | None
    """The stored rows; with spare capacity, None until they are needed."""

    @property
    def _data(self) -> NDArray:
        if self._stored is None:
            assert self._room is not None
            count = self._aux[0].shape[0]
            self._stored = invoke(
                find("slice_axis"), (self._room[0],), {"axis": 0, "begin": 0, "end": count}
            )
        return self._stored

    @_data.setter
    def _data(self, data: NDArray) -> None:
        self._stored, self._room = data, None

    def _stored_value(self) -> Value:
        return self._roomy[0]._read()

    @property
    def _roomy(self) -> tuple[NDArray, NDArray]:
        """Rows and their numbers; rows whose number is beyond the last row are dropped."""
        return self._room or (self._data, self._aux[0])

    @property
    def stype(self) -> str:
        """``'row_sparse'``."""
        return "row_sparse"

    def _dense(self) -> NDArray:
        return invoke(find("_rows_to_dense"), self._roomy, {"shape": self.shape})

    def _replace(self, other: BaseSparseNDArray) -> None:
        room = other._room if isinstance(other, RowSparseNDArray) else None
        if room is None or state.undo is not None:
            super()._replace(other)
        else:
            self._aux, self._stored, self._room = other._aux, None, room
            self._variable = None

    @classmethod
    def _from_dense(cls, dense: NDArray) -> RowSparseNDArray:
        values = dense.asnumpy()
        if not values.ndim:
            raise ShapeError("A row_sparse array has rows; an array without axes has none.")
        rows = np.nonzero(values.any(tuple(range(1, values.ndim))))[0]
        return cls._rows_of(dense, rows)

    @classmethod
    def _zeros(cls, shape: tuple[int, ...], context: Context, dtype: np.dtype) -> RowSparseNDArray:
        data = NDArray._wrap(from_host(np.zeros((0, *shape[1:]), dtype), context))
        return cls._make(data, (host_indices(np.zeros(0), context),), shape)

    def _fill(self, number: float | np.number) -> None:
        full = dense_array(np.full(self.shape, number), self.context, self.dtype)
        self._replace(self._rows_of(full, np.arange(self.shape[0])))

    @classmethod
    def _rows_of(cls, dense: NDArray, rows: ArrayLike) -> RowSparseNDArray:
        """The rows with these numbers of a dense array."""
        indices = host_indices(rows, dense.context)
        data = invoke(find("_take_rows"), (dense, indices), {})
        return cls._make(data, (indices,), dense.shape)

    def _write_rows(self, parts: Any, add: bool) -> None:
        """Set the array to, or with ``add`` add to it, the sum of pairs of row numbers and rows."""
        pairs = [(NDArray._wrap(rows), NDArray._wrap(data)) for rows, data in parts]
        if add and self._data.shape[0]:
            pairs.insert(0, (self._aux[0], self._data))
        self._replace(sum_of_rows(pairs, self.shape))

    def _rows_at(self, rows: ArrayLike) -> NDArray:
        """The rows with these numbers, 0 where one is not stored."""
        places = self._places(rows)
        if places is not None:
            where = host_indices(places, self.context)
            return invoke(find("_take_rows"), (self._data, where), {})
        rows_read = invoke(
            find("_take_rows"), (self._dense(), host_indices(rows, self.context)), {}
        )
        inside = (np.asarray(rows) >= 0) & (np.asarray(rows) < self.shape[0])
        if inside.all():
            return rows_read
        mask = dense_array(
            inside.reshape(-1, *[1] * (self.ndim - 1)), self.context, self._spec.dtype
        )
        return invoke(find("broadcast_mul"), (rows_read, mask), {})

    def _places(self, rows: ArrayLike) -> np.ndarray | None:
        """Where the rows with these numbers are stored; None unless all of them are."""
        stored = self._aux[0].asnumpy()
        places = np.searchsorted(stored, rows)
        if len(stored) and (stored[np.minimum(places, len(stored) - 1)] == rows).all():
            return places
        return None

    def _put_rows(self, rows: ArrayLike, data: NDArray) -> None:
        """Store these rows, in place of those that were there."""
        base, indices, places = self._data, self._aux[0], self._places(rows)
        if places is None:
            stored = indices.asnumpy()
            union = np.union1d(stored, rows)
            base = dense_array(
                np.zeros((len(union), *self.shape[1:]), self._spec.dtype), self.context, self.dtype
            )
            if len(stored):
                where = host_indices(np.searchsorted(union, stored), self.context)
                base = invoke(find("_put_rows"), (base, where, self._data), {})
            indices, places = host_indices(union, self.context), np.searchsorted(union, rows)
        where = host_indices(places, self.context)
        merged = invoke(find("_put_rows"), (base, where, data), {})
        self._set(merged, (indices,))

    def _disorder(self) -> str:
        return "indices must rise" if (np.diff(self._aux[0].asnumpy()) <= 0).any() else ""

    def _misplaced(self) -> str:
        return out_of_range("row", self._aux[0].asnumpy(), self.shape[0])

    def __getitem__(self, key: object) -> RowSparseNDArray:
        """The array itself, ``array[:]``."""
        if isinstance(key, slice) and key == slice(None):
            return self
        raise AttributeValueError(
            "A row_sparse array is indexed by [:] alone; use retain() for rows."
        )

    def retain(self, *args: object, **kwargs: object) -> RowSparseNDArray:
        """The array with only the rows in the one argument, ``indices``.

        Args:
            args: the indices.
            kwargs: ``indices``, instead of the argument by position.

        Raises:
            AttributeTypeError: there is not one argument.
            IndexingError: there is no such row.
        """
        arguments = [*args, *kwargs.values()]
        if len(arguments) != 1:
            raise AttributeTypeError(
                f"retain takes one argument, the row numbers, not {len(arguments)}."
            )
        (indices,) = arguments
        if not isinstance(indices, NDArray):
            return self._retained(indices)
        retained = invoke(find("_sparse_retain"), (self, indices), {})
        assert isinstance(retained, RowSparseNDArray)
        return retained

    def _retained(self, indices: object) -> RowSparseNDArray:
        numbers = indices.asnumpy() if isinstance(indices, NDArray) else np.asarray(indices)
        rows = numbers.astype(np.int64).reshape(-1)
        outside = rows[(rows < 0) | (rows >= self.shape[0])]
        if outside.size:
            raise IndexingError(f"retain: row {outside[0]} of an array of {self.shape[0]} rows.")
        if not self._aux[0].size:  # as in MXNet, none of them is stored then
            return self.copy()
        where = host_indices(rows, self.context)
        return type(self)._make(self._rows_at(rows), (where,), self.shape)

    def _store_all_rows(self) -> None:
        """Store zeros for every row if none is stored, as MXNet's optimizers do with their states."""
        if self._aux[0].shape[0]:
            return
        data = NDArray._wrap(from_host(np.zeros(self.shape, self.dtype), self.context))
        rows = host_indices(np.arange(self.shape[0]), self.context)
        self._replace(type(self)._make(data, (rows,), self.shape))


def sum_of_rows(pairs: Any, shape: tuple[int, ...]) -> RowSparseNDArray:
    """A row_sparse array from pairs of row numbers, in any order and repeated, and rows.

    How many different rows there are changes from batch to batch. So that programs do not, the
    result has room for as many rows as were given, and numbers behind the last row where it is
    not used; it is cut to size when somebody looks at the rows themselves.
    """
    context = pairs[0][1].context
    numbers = np.concatenate([rows.asnumpy() for rows, _ in pairs]).astype(np.int64)
    # Negative numbers count from the end, as indexing has it.
    union, places = np.unique(
        np.where(numbers < 0, numbers + shape[0], numbers), return_inverse=True
    )
    data = pairs[0][1]
    if len(pairs) > 1:
        data = invoke(find("Concat"), [each for _, each in pairs], {"dim": 0})
    where = host_indices(places.reshape(-1), context)
    room = len(numbers)
    total = invoke(find("_sum_rows"), (data, where), {"count": room})
    result: RowSparseNDArray = RowSparseNDArray._make(total, (host_indices(union, context),), shape)
    if room > len(union):
        spare = np.full(room - len(union), shape[0])
        result._room = (total, host_indices(np.concatenate([union, spare]), context))
        result._stored = None
    return result
