"""Sparse arrays: handles to the stored values and their positions."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.base import (
    AttributeKindError,
    AttributeTypeError,
    AttributeValueError,
    FileFormatError,
    IndexingError,
    MXNetError,
    NotDefinedError,
    NotSupportedForSparseNDArray,
    ShapeError,
)
from mixnet.context import Context
from mixnet.dtype import as_dtype
from mixnet.ndarray.create import array as dense_array
from mixnet.ndarray.indexing import span
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import Link, NDArray
from mixnet.ops.registry import find
from mixnet.runtime.value.state import note_writes, state
from mixnet.runtime.value.value import Spec, Value, from_host

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.dtype import DTypeLike


def host_indices(values: ArrayLike, context: Context) -> NDArray:
    """An int64 array of positions."""
    return NDArray._wrap(from_host(np.asarray(values, np.int64), context))


class BaseSparseNDArray(NDArray):
    """What csr and row_sparse arrays have in common. Shape, dtype and context are fixed."""

    __slots__ = ("_aux", "_data", "_variable")
    _is_sparse = True

    _data: NDArray
    _aux: tuple[NDArray, ...]
    _variable: Value | None  # its dense counterpart on a tape

    @classmethod
    def _make(cls, data: NDArray, aux: tuple[NDArray, ...], shape: tuple[int, ...]) -> Self:
        self = cls.__new__(cls)
        spec = data._spec
        self._value = Value(Spec.of(tuple(shape), spec.dtype, spec.context))
        self._link = Link()  # sends every reader through _read
        self._data, self._aux, self._variable = data, aux, None
        return self

    # ---- reading and writing as a dense array ---------------------------------------------------

    def _dense(self) -> NDArray:
        raise NotImplementedError

    def _read(self) -> Value:
        mark = self._link.mark if self._link is not None else None
        if mark is not None and state.recording:
            if self._variable is None:  # one variable, however often it is read
                self._variable = self._dense()._read()
            mark.on(self._variable)
            return self._variable
        if self._variable is not None:
            return self._variable
        if self._stored_value().node is None:
            return self._dense()._read()
        with RecordingScope(
            True, None
        ):  # the stored values are on a tape, and so is what they make
            self._variable = self._dense()._read()
        return self._variable

    def _stored_value(self) -> Value:
        return self._data._read()

    def _is_variable(self) -> bool:
        """Whether autograd is to know what is read."""
        return state.recording and self._link is not None and self._link.mark is not None

    def _is_taped(self) -> bool:
        """Whether this array has a dense counterpart on the tape, or needs one."""
        return self._variable is not None or (
            self._link is not None and self._link.mark is not None
        )

    def detach(self) -> Any:
        """The same content, outside of the tape: a constant to autograd."""
        return self._make(self._data.detach(), self._aux, self.shape)

    def _write(self, value: Value) -> None:
        self._replace(type(self)._from_dense(NDArray._wrap(value)))

    def _store(self, value: Value) -> None:
        dtype = self.dtype
        self._replace(type(self)._from_dense(NDArray._wrap(value)).astype(dtype, copy=False))

    def _replace(self, other: BaseSparseNDArray) -> None:
        self._set(other._data, other._aux)

    def _set(self, data: NDArray, aux: tuple[NDArray, ...]) -> None:
        if state.undo is not None:
            note_writes([(self, "_data", self._data, data), (self, "_aux", self._aux, aux)])
        self._data, self._aux, self._variable = data, aux, None

    @classmethod
    def _from_dense(cls, dense: NDArray) -> Any:
        raise NotImplementedError

    def _zeros_like(self) -> Any:
        return zeros_of(self.stype, self.shape, self.context, self._spec.dtype)

    # ---- what arrays have ----------------------------------------------------------------------

    @property
    def data(self) -> NDArray:
        """The stored values, as a copy."""
        return self._data.copy()

    @property
    def indices(self) -> NDArray:
        """Positions of the stored values, int64: columns of a csr matrix, otherwise row numbers."""
        return self._aux[-1].copy()

    def _aux_data(self, i: int) -> NDArray:
        """Auxiliary array ``i``, as a copy: for csr the row pointers, then the columns; else row numbers."""
        if not 0 <= i < len(self._aux):
            raise AttributeValueError(
                f"A {self.stype} array has {len(self._aux)} auxiliary arrays; there is no number {i}."
            )
        return self._aux[i].copy()

    @property
    def _num_aux(self) -> int:
        return len(self._aux)

    @property
    def _aux_types(self) -> list[Any]:
        return [each.dtype for each in self._aux]

    def _aux_type(self, i: int) -> Any:
        return self._aux_types[i]

    @property
    def size(self) -> int:
        """Not there: MXNet does not say whether stored elements are meant.

        Raises:
            NotImplementedError: always; take ``shape``, or ``data.size``.
        """
        raise NotDefinedError("A sparse array has no size; use its shape, or data.size.")

    def asscalar(self) -> Any:
        """Not supported: use ``asnumpy()``.

        Raises:
            NotImplementedError: always.
        """
        raise NotDefinedError(
            "A sparse array cannot be converted to a number; use asnumpy().item()."
        )

    def __float__(self) -> float:
        raise AttributeTypeError(f"A {self.stype} array is not a number; use asnumpy().item().")

    __int__ = __index__ = __float__  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise AttributeValueError(
            f"A {self.stype} array is neither true nor false; look at asnumpy()."
        )

    def asnumpy(self) -> np.ndarray:
        """The dense content as a NumPy array."""
        return self._dense().asnumpy()

    def wait_to_read(self) -> None:
        """Return when the stored values are computed."""
        self._data.wait_to_read()

    def copy(self) -> Self:
        """A new array with the same content."""
        copied = invoke(find("_copy"), (self,), {})
        assert isinstance(copied, type(self))
        return copied

    __copy__ = copy

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Self:
        """The array in another dtype; itself if ``copy`` is false and it has that dtype."""
        if not copy and as_dtype(dtype) == self._spec.dtype:
            return self
        return self._make(self._data.astype(dtype), self._aux, self.shape)

    @overload
    def copyto(self, other: Context) -> Self: ...
    @overload
    def copyto(self, other: NDArray) -> NDArray | bool: ...
    def copyto(self, other: Context | NDArray) -> NDArray | bool:
        """Copy into an array, or to a device as a new array; ``False``, with a warning, into itself."""
        if isinstance(other, Context):
            moved = tuple(each.copyto(other) for each in self._aux)
            copied = self._make(self._data.copyto(other), moved, self.shape)
            if state.recording and self._is_taped():
                copied._variable = NDArray._wrap(self._read()).copyto(other)._read()
            return copied
        if other is self:
            return super().copyto(other)
        if not isinstance(other, NDArray):
            raise AttributeTypeError(
                f"copyto takes an array or a Context, not {type(other).__name__}."
            )
        if other.shape != self.shape:
            raise ShapeError(f"copyto: {self.shape} does not fit into {other.shape}.")
        if isinstance(other, BaseSparseNDArray):
            if other.stype != self.stype:
                raise AttributeTypeError(f"copyto: {self.stype} cannot be copied to {other.stype}.")
            other._replace(self.astype(other.dtype).as_in_context(other.context))
        else:
            NDArray._wrap(self._read()).copyto(other)
        return other

    def as_in_context(self, context: Context) -> Self:
        """This array if it is on ``context``, else a copy there."""
        return self if context is self.context else self.copyto(context)

    as_in_ctx = as_in_context

    def tostype(self, stype: str) -> NDArray:
        """The array in a storage type: its own or ``'default'``.

        Raises:
            ValueError: MXNet has no such conversion.
        """
        if stype == self.stype:
            return self.copy()
        if stype != "default":
            raise AttributeValueError(f"cast_storage from {self.stype} to {stype} is not supported")
        return NDArray._wrap(self._read())

    def check_format(self, full_check: bool = True) -> None:
        """Raise MXNetError unless the positions are in order and within the shape.

        Args:
            full_check: look at the positions; else at how many there are alone.
        """
        self._check_places(full_check)
        problem = self._disorder() if full_check else ""
        if problem:
            raise MXNetError(f"{type(self).__name__} of shape {self.shape}: {problem}.")

    def _check_places(self, full_check: bool = True) -> None:
        """Raise MXNetError if positions are missing or outside the shape; their order does not matter."""
        problem = self._miscount() or (self._misplaced() if full_check else "")
        if problem:
            raise MXNetError(f"{type(self).__name__} of shape {self.shape}: {problem}.")

    def _miscount(self) -> str:
        count, stored = self._aux[-1].shape[0], self._data.shape[0]
        return f"{stored} values are stored with {count} positions" if count != stored else ""

    def _misplaced(self) -> str:
        raise NotImplementedError

    def _disorder(self) -> str:
        raise NotImplementedError

    def __getitem__(self, key: object) -> Any:
        raise NotImplementedError

    def __setitem__(self, key: object, value: object) -> None:
        if not (isinstance(key, slice) and key == slice(None)):
            raise AttributeKindError(
                f"A {self.stype} array can only be assigned as a whole, array[:] = value, not at "
                f"{key!r}."
            )
        if isinstance(value, BaseSparseNDArray):
            if value is not self:
                value.copyto(self)
            return
        if isinstance(value, (int, float, np.number)):
            self._fill(value)
            return
        if not isinstance(value, (NDArray, np.ndarray)):
            raise AttributeTypeError(
                f"A {self.stype} array can only be assigned an NDArray or a NumPy array, not a "
                f"{type(value).__name__}. Make one with mx.nd.array(...)."
            )
        if isinstance(value, np.ndarray):
            warnings.warn(
                f"Assigning a NumPy array to a {self.stype} array searches it for elements that are not 0; "
                f"assign an NDArray of that storage type.",
                RuntimeWarning,
                stacklevel=3,
            )
        if value.shape != self.shape:
            raise ShapeError(
                f"A value of shape {value.shape} cannot be assigned to an array of shape {self.shape}."
            )
        self._write(dense_array(value, self.context, self.dtype)._read())

    def _write_all(self, value: object) -> None:
        self[:] = value

    def _fill(self, number: float | np.number) -> None:
        """Store the number for every element."""
        raise NotImplementedError

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n<{type(self).__name__} {shape} @{self.context}>"

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": str(self)}

    def __reduce__(self) -> tuple[Any, ...]:
        aux = tuple(each.asnumpy() for each in self._aux)
        return _unpickle, (type(self), self._data.asnumpy(), aux, self.shape, self.context)

    def __setstate__(self, state: dict[str, Any]) -> None:
        array: Any = self._from_bytes(state["handle"])
        if array.stype != self.stype:
            raise FileFormatError(
                f"The pickled array is a {type(array).__name__}, not a {type(self).__name__}."
            )
        self._value, self._link = array._value, array._link
        self._data, self._aux, self._variable = array._data, array._aux, None

    def to_dict(self) -> dict[str, Any]:
        """Plain data: shape, dtype, context, storage type, number of stored values."""
        return {
            **NDArray.to_dict(self),
            "stype": self.stype,
            "stored": list(self._data.shape),
            "state": self._data.to_dict()["state"],
        }


def _unpickle(cls: Any, data: Any, aux: Any, shape: Any, context: Context) -> Any:
    indices = tuple(host_indices(each, context) for each in aux)
    return cls._make(NDArray._wrap(from_host(data, context)), indices, shape)


def _unsupported(name: str) -> Any:
    def method(self: Any, *args: object, **kwargs: object) -> Any:
        raise NotSupportedForSparseNDArray(name, None, *args)

    method.__name__ = name
    return method


def _in_place(operation: Any) -> Any:
    def method(self: Any, other: object) -> Any:
        self[:] = operation(self, other)
        return self

    method.__name__ = f"__i{operation.__name__}__"
    return method


def _split(self: BaseSparseNDArray, *args: object, **kwargs: object) -> Any:
    """Dense parts; see the operator ``split``."""
    return self._dense().split(*args, **kwargs)


def _as_np_ndarray(self: BaseSparseNDArray) -> Any:
    """Refused: arrays of ``mx.np`` are dense."""
    raise AttributeValueError(
        f"as_np_ndarray: arrays of mx.np are dense, but this one is {self.stype}. Convert it with "
        f"tostype('default') first."
    )


BaseSparseNDArray.split = _split  # type: ignore[method-assign, assignment]
BaseSparseNDArray.as_np_ndarray = _as_np_ndarray  # type: ignore[method-assign, assignment]
for _name in ("reshape", "_view", "pad"):
    setattr(BaseSparseNDArray, _name, _unsupported(_name))
for _operation in (operator.add, operator.sub, operator.mul, operator.truediv):
    setattr(BaseSparseNDArray, f"__i{_operation.__name__}__", _in_place(_operation))


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

    def _dense(self) -> NDArray:
        arrays = (self._data, self._aux[1], self._rows())
        return invoke(find("_csr_to_dense"), arrays, {"shape": self.shape})

    @classmethod
    def _from_dense(cls, dense: NDArray) -> CSRNDArray:
        if dense.ndim != 2:
            raise ShapeError(
                f"A csr array is a matrix: it needs two axes, but shape {dense.shape} has {dense.ndim}."
            )
        rows, columns = np.nonzero(dense.asnumpy())
        context = dense.context
        indices = host_indices(columns, context)
        elements = invoke(find("_take_elements"), (dense, host_indices(rows, context), indices), {})
        return cls._make(elements, (_starts(rows, dense.shape[0], context), indices), dense.shape)

    @classmethod
    def _of(
        cls, data: NDArray, indptr: ArrayLike, indices: ArrayLike, shape: tuple[int, ...]
    ) -> CSRNDArray:
        """From stored values and positions on the host."""
        context = data.context
        aux = (host_indices(indptr, context), host_indices(indices, context))
        return cls._make(data, aux, shape)

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
        if len(columns) and (columns.min() < 0 or columns.max() >= self.shape[1]):
            return f"a column in indices is not between 0 and {self.shape[1] - 1}"
        return ""

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


def _starts(rows: ArrayLike, count: int, context: Context) -> NDArray:
    """``indptr`` of rows in rising order."""
    return host_indices(
        np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]), context
    )


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
        """Become the sum of pairs of row numbers and rows; with ``add`` on top of what is here."""
        pairs = [(NDArray._wrap(rows), NDArray._wrap(data)) for rows, data in parts]
        if add and self._data.shape[0]:
            pairs.insert(0, (self._aux[0], self._data))
        self._replace(sum_of_rows(pairs, self.shape))

    def _rows_at(self, rows: ArrayLike) -> NDArray:
        """The rows with these numbers, 0 where one is not stored."""
        stored = self._aux[0].asnumpy()
        places = np.searchsorted(stored, rows)
        if len(stored) and (stored[np.minimum(places, len(stored) - 1)] == rows).all():
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

    def _put_rows(self, rows: ArrayLike, data: NDArray) -> None:
        """Store these rows, in place of those that were there."""
        stored = self._aux[0].asnumpy()
        union = np.union1d(stored, rows)
        if len(union) == len(stored):
            base = self._data
        else:
            base = dense_array(
                np.zeros((len(union), *self.shape[1:]), self._spec.dtype), self.context, self.dtype
            )
            if len(stored):
                where = host_indices(np.searchsorted(union, stored), self.context)
                base = invoke(find("_put_rows"), (base, where, self._data), {})
        where = host_indices(np.searchsorted(union, rows), self.context)
        merged = invoke(find("_put_rows"), (base, where, data), {})
        self._set(merged, (host_indices(union, self.context),))

    def _disorder(self) -> str:
        return "indices must rise" if (np.diff(self._aux[0].asnumpy()) <= 0).any() else ""

    def _misplaced(self) -> str:
        rows = self._aux[0].asnumpy()
        if len(rows) and (rows.min() < 0 or rows.max() >= self.shape[0]):
            return f"a row in indices is not between 0 and {self.shape[0] - 1}"
        return ""

    def __getitem__(self, key: object) -> RowSparseNDArray:
        """The array itself, ``array[:]``."""
        if isinstance(key, slice) and key == slice(None):
            return self
        raise AttributeValueError(
            "A row_sparse array is indexed by [:] alone; use retain() for rows."
        )

    def retain(self, *args: object, **kwargs: object) -> RowSparseNDArray:
        """The array with only the rows in the one argument, ``indices``.

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


def zeros_of(stype: str, shape: int | Sequence[int], context: Context, dtype: DTypeLike) -> Any:
    """Zeros in a storage type; nothing is stored."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    kind = as_dtype(dtype)
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"A shape has no negative extents, as {shape} has.")
    if stype == "csr":
        if len(shape) != 2:
            raise ShapeError(
                f"A csr array is a matrix: it needs two axes, but shape {shape} has {len(shape)}."
            )
        data = NDArray._wrap(from_host(np.zeros((0,), kind), context))
        return CSRNDArray._of(data, np.zeros(shape[0] + 1), np.zeros(0), shape)
    if stype == "row_sparse":
        data = NDArray._wrap(from_host(np.zeros((0, *shape[1:]), kind), context))
        return RowSparseNDArray._make(data, (host_indices(np.zeros(0), context),), shape)
    raise AttributeValueError(
        f"unknown storage type: {stype!r}; use 'default', 'row_sparse' or 'csr'."
    )
