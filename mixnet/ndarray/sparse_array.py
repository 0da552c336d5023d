"""The base of sparse arrays: handles to the stored values and their positions."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.base import (
    AttributeKindError,
    AttributeTypeError,
    AttributeValueError,
    FileFormatError,
    MXNetError,
    NotDefinedError,
    NotSupportedForSparseNDArray,
    ShapeError,
)
from mixnet.context import Context
from mixnet.dtype import as_dtype
from mixnet.ndarray.create import array as dense_array
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.link import Link
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find
from mixnet.runtime.devices.host_value import on_host
from mixnet.runtime.value.state import note_writes, state
from mixnet.runtime.value.value import Spec, Value, from_host

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.dtype import DTypeLike


def host_indices(values: ArrayLike, context: Context) -> NDArray:
    """An int64 array of positions."""
    return NDArray._wrap(on_host(np.array(values, np.int64), context))


def distinct(numbers: np.ndarray) -> np.ndarray:
    """The different ones of numbers, rising; ``np.unique`` takes three times as long."""
    ordered = np.sort(numbers, axis=None)
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    different: np.ndarray = ordered[is_first]
    return different


def places_among(numbers: np.ndarray, sought: np.ndarray, extent: int) -> np.ndarray | None:
    """Where each of ``sought`` is among numbers; None unless all are there.

    Args:
        numbers: different ones, rising.
        sought: the numbers to find.
        extent: all are below, if they are valid.
    """
    if not len(numbers):
        return None if len(sought) else np.zeros(0, np.int64)
    if extent < 64 * len(sought) and numbers[0] >= 0 and numbers[-1] < extent:
        # A table takes less time than searching for each.
        table = np.zeros(extent, np.int64)
        table[numbers] = np.arange(len(numbers))
        places = table.take(sought, mode="clip")
    else:
        places = np.minimum(np.searchsorted(numbers, sought), len(numbers) - 1)
    return places if np.array_equal(numbers[places], sought) else None


def rounded_up(count: int) -> int:
    """A number of stored values or rows with room for up to a quarter more, so that arrays share programs."""
    return count + -count % (1 << max(count.bit_length() - 3, 0))


def out_of_range(name: str, positions: np.ndarray, extent: int) -> str:
    """A phrase that says what is wrong with the rows or columns in ``indices``; empty if nothing is."""
    if len(positions) and (positions.min() < 0 or positions.max() >= extent):
        return f"a {name} in indices is not between 0 and {extent - 1}"
    return ""


class BaseSparseNDArray(NDArray):
    """The base of csr and row_sparse arrays. Shape, dtype and context are fixed."""

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
        # The stored values are on a tape, and so is the array that they make.
        with RecordingScope(True, None):
            self._variable = self._dense()._read()
        return self._variable

    def _stored_value(self) -> Value:
        return self._data._read()

    def _with_stored(self, change: Callable[[NDArray], NDArray]) -> Self:
        """A new array with other stored values at the same positions.

        Args:
            change: of the stored values, each on its own.
        """
        return self._make(change(self._data), self._aux, self.shape)

    def _is_variable(self) -> bool:
        """Whether autograd records reads of the array."""
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

    @classmethod
    def _zeros(cls, shape: tuple[int, ...], context: Context, dtype: np.dtype) -> Self:
        """Zeros, none of which is stored."""
        raise NotImplementedError

    def _zeros_like(self) -> Self:
        return self._zeros(self.shape, self.context, self._spec.dtype)

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

        Args:
            stype: its own, or ``'default'``.

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
            full_check: check all positions; otherwise only their number.
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
        array = self._from_bytes(state["handle"])
        if not isinstance(array, BaseSparseNDArray) or array.stype != self.stype:
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
