"""Arrays of which some rows are stored, and their sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

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
from mixnet.ndarray.sparse_array import (
    BaseSparseNDArray,
    host_indices,
    out_of_range,
    places_among,
    rounded_up,
)
from mixnet.ops.registry import find
from mixnet.runtime.value.state import note_writes, state
from mixnet.runtime.value.value import Value, from_host

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class _Room:
    """Rows and their numbers with room for more, see :func:`sum_of_rows`.

    Args:
        rows: the stored rows, and any others behind them.
        numbers: of all these; a number beyond the last row of the array for those that are not stored.
        count: how many rows are stored.
    """

    __slots__ = ("_stored", "count", "numbers", "rows")

    def __init__(self, rows: NDArray, numbers: NDArray, count: int):
        self.rows, self.numbers, self.count = rows, numbers, count
        self._stored: NDArray | None = None

    def stored(self) -> NDArray:
        """The stored rows alone, cut out when they are first asked for."""
        if self._stored is None:
            attributes = {"axis": 0, "begin": 0, "end": self.count}
            self._stored = invoke(find("slice_axis"), (self.rows,), attributes)
        return self._stored


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which some rows, slices along the first axis, are stored; the others are 0."""

    __slots__ = ("_numbers_of_all", "_room", "_stored")

    _room: _Room | None
    _stored: NDArray | None
    """The stored rows; None if there is room for more."""
    _numbers_of_all: NDArray | None
    """Row numbers that were found to be those of all rows, in order."""

    @classmethod
    def _make(cls, data: NDArray, aux: tuple[NDArray, ...], shape: tuple[int, ...]) -> Self:
        self = super()._make(data, aux, shape)
        self._numbers_of_all = None
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._numbers_of_all = None

    @property
    def _data(self) -> NDArray:
        if self._room is not None:
            return self._room.stored()
        assert self._stored is not None
        return self._stored

    @_data.setter
    def _data(self, data: NDArray) -> None:
        self._stored, self._room = data, None

    def _stored_value(self) -> Value:
        return self._roomy[0]._read()

    @property
    def _roomy(self) -> tuple[NDArray, NDArray]:
        """Rows and their numbers; rows whose number is beyond the last row are dropped."""
        room = self._room
        return (self._data, self._aux[0]) if room is None else (room.rows, room.numbers)

    def _with_stored(self, change: Callable[[NDArray], NDArray]) -> Self:
        room = self._room
        if room is None:
            return super()._with_stored(change)
        changed = self._make(change(room.rows), self._aux, self.shape)
        changed._stored, changed._room = None, _Room(changed._data, room.numbers, room.count)
        return changed

    def _rows_with_room(self) -> NDArray:
        """The stored rows with others behind them, a rounded number in all."""
        if self._room is not None:
            return self._room.rows
        count = self._data.shape[0]
        room = rounded_up(count)
        if room == count:
            return self._data
        where = host_indices(np.minimum(np.arange(room), count - 1), self.context)
        return invoke(find("_take_rows"), (self._data, where), {})

    @property
    def stype(self) -> str:
        """``'row_sparse'``."""
        return "row_sparse"

    def _has_all_rows(self) -> bool:
        """Whether every row is stored, in order: then the stored rows are the dense content."""
        numbers = self._aux[0]
        if numbers.shape[0] != self.shape[0]:
            return False
        if self._numbers_of_all is not numbers:  # handles of row numbers are not written to
            if not np.array_equal(numbers.asnumpy(), np.arange(self.shape[0])):
                return False
            self._numbers_of_all = numbers
        return True

    def _dense(self) -> NDArray:
        if self._has_all_rows():
            stored = self._data._read()
            if stored.node is None:
                return NDArray._wrap(stored.alias())
        return invoke(find("_rows_to_dense"), self._roomy, {"shape": self.shape})

    def _replace(self, other: BaseSparseNDArray) -> None:
        assert isinstance(other, RowSparseNDArray)
        self._change(other._stored, other._room, other._aux)

    def _set(self, data: NDArray, aux: tuple[NDArray, ...]) -> None:
        self._change(data, None, aux)

    def _change(self, stored: NDArray | None, room: _Room | None, aux: tuple[NDArray, ...]) -> None:
        if state.undo is not None:
            changes = {"_stored": stored, "_room": room, "_aux": aux}
            note_writes([(self, name, getattr(self, name), new) for name, new in changes.items()])
        self._stored, self._room, self._aux, self._variable = stored, room, aux, None

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
        if self._has_all_rows():
            numbers = np.asarray(rows)
            return numbers if ((numbers >= 0) & (numbers < self.shape[0])).all() else None
        return places_among(self._aux[0].asnumpy(), np.asarray(rows), self.shape[0])

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

    Rows with numbers beyond the last row are dropped. How many different rows there are changes from
    batch to batch. So that programs do not, the result has room for as many rows as were given, and
    numbers behind the last row where it is not used; it is cut to size when somebody looks at the rows
    themselves.
    """
    context, extent = pairs[0][1].context, shape[0]
    numbers = np.concatenate([rows.asnumpy() for rows, _ in pairs]).astype(np.int64)
    # Negative numbers count from the end, as indexing has it.
    numbers = np.where(numbers < 0, numbers + extent, numbers)
    data = pairs[0][1]
    if len(pairs) > 1:
        data = invoke(find("Concat"), [each for _, each in pairs], {"dim": 0})
    room = len(numbers)
    stored = np.flatnonzero(numbers < extent)
    if len(stored) < room:
        numbers, room = numbers[stored], rounded_up(len(stored))
        where = host_indices(np.resize(stored, room), context)
        data = invoke(find("_take_rows"), (data, where), {})
    union, places = _united(numbers, extent)
    unused = np.full(room - len(places), room)
    where = host_indices(np.concatenate([places, unused]), context)
    total = invoke(find("_sum_rows"), (data, where), {"count": room})
    return rows_in_room(total, union, shape)


def rows_in_room(rows: NDArray, numbers: np.ndarray, shape: tuple[int, ...]) -> RowSparseNDArray:
    """A row_sparse array of the first of these rows, as many as there are numbers.

    Args:
        rows: the rows, and any others behind them.
        numbers: of the stored rows, rising.
        shape: of the array.
    """
    context, count, room = rows.context, len(numbers), rows.shape[0]
    result: RowSparseNDArray = RowSparseNDArray._make(
        rows, (host_indices(numbers, context),), shape
    )
    if room > count:
        spare = np.full(room - count, shape[0])
        numbers_in_room = host_indices(np.concatenate([numbers, spare]), context)
        result._stored, result._room = None, _Room(rows, numbers_in_room, count)
    return result


def _united(numbers: np.ndarray, extent: int) -> tuple[np.ndarray, np.ndarray]:
    """The different ones among numbers below ``extent``, rising, and the place of each number there."""
    if len(numbers) < extent // 16:
        # Sorting these takes less time than looking at all that there could be.
        union, places = np.unique(numbers, return_inverse=True)
        return union, places.reshape(-1)
    is_there = np.zeros(extent, bool)
    is_there[numbers] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[numbers]
