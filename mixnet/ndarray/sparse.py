"""``mx.nd.sparse``: row_sparse and csr arrays, and operators on them."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.base import (
    AttributeKindError,
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    NotAnArrayError,
    NotNumbersError,
    OperatorTypeError,
    OperatorValueError,
    ShapeError,
)
from mixnet.context import Context, as_context
from mixnet.dtype import as_dtype
from mixnet.ndarray import create as _create
from mixnet.ndarray import operators as _operators
from mixnet.ndarray import sparse_rules as _rules  # noqa: F401 - installs the rules
from mixnet.ndarray.create import array as _dense_array
from mixnet.ndarray.create import is_csr_of_scipy
from mixnet.ndarray.create import zeros as _dense_zeros
from mixnet.ndarray.csr_array import CSRNDArray as CSRNDArray
from mixnet.ndarray.namespace import below
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray as RowSparseNDArray
from mixnet.ndarray.sparse_array import BaseSparseNDArray as BaseSparseNDArray
from mixnet.ndarray.sparse_array import host_indices
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import from_host

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.dtype import DTypeLike

_KINDS: dict[str, type[CSRNDArray | RowSparseNDArray]] = {
    "csr": CSRNDArray,
    "row_sparse": RowSparseNDArray,
}

add, subtract, multiply, divide = (
    _operators.function_of(name, _operators.OPERATIONS[name].stored, __name__)
    for name in ("add", "subtract", "multiply", "divide")
)

_OPERATORS = below("sparse")
_operator, __dir__ = _OPERATORS.hooks(globals())


def __getattr__(name: str) -> Any:
    if name == "spsp":  # on demand: importing it takes a tenth of a second
        try:
            return importlib.import_module("scipy.sparse")
        except ImportError:  # asscipy and scipy's matrices need it, nothing else does
            return None
    return _operator(name)


def zeros(
    stype: str,
    shape: int | Sequence[int],
    ctx: Context | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> Any:
    """Zeros in a storage type: ``'default'``, ``'row_sparse'`` or ``'csr'``.

    Args:
        stype: the storage type.
        shape: of the whole array.
        ctx: device of the array; the current context by default.
        dtype: float32 by default.
        kwargs: for ``'default'``, those of ``mx.nd.zeros``.
    """
    if stype == "default":
        return _dense_zeros(shape, ctx, dtype, **kwargs)
    return _zeros_of(stype, shape, as_context(ctx), dtype)


def empty(
    stype: str, shape: int | Sequence[int], ctx: Context | None = None, dtype: DTypeLike = None
) -> Any:
    """A sparse array without stored values.

    Args:
        stype: ``'csr'`` or ``'row_sparse'``.
        shape: of the whole array.
        ctx: device of the array; the current context by default.
        dtype: float32 by default.
    """
    if stype not in ("csr", "row_sparse"):
        raise AttributeValueError(f"unknown storage type: {stype!r}; use 'csr' or 'row_sparse'.")
    return zeros(stype, shape, ctx, dtype)


def array(source_array: Any, ctx: Context | None = None, dtype: DTypeLike = None) -> NDArray:
    """A sparse array from a sparse array or a scipy.sparse matrix, of the same storage type.

    Args:
        source_array: the sparse array or matrix.
        ctx: device of the array; that of the source by default, or the current context for
            scipy.sparse.
        dtype: that of the source by default.

    Raises:
        ValueError: the source is dense.
    """
    context = as_context(ctx)
    if isinstance(source_array, BaseSparseNDArray):
        result = source_array.copyto(context)
        return result if dtype is None else result.astype(dtype)
    if is_csr_of_scipy(source_array):
        matrix = source_array.copy()
        matrix.sum_duplicates()
        parts = (matrix.data, matrix.indices, matrix.indptr)
        return csr_matrix(parts, matrix.shape, context, dtype or matrix.dtype)
    if isinstance(source_array, NDArray):
        raise AttributeKindError(
            "sparse.array takes a sparse array; a.tostype('csr') makes one of a dense array."
        )
    hint = ", which m.tocsr() makes of it" if _is_of_scipy(source_array) else ""
    raise AttributeValueError(
        f"sparse.array takes a sparse array or a csr matrix of scipy{hint}, not "
        f"{type(source_array).__name__}; mx.nd.array(...).tostype('csr') makes one of dense data."
    )


def _is_of_scipy(source: object) -> bool:
    """Whether it is a matrix of scipy, in any format."""
    return hasattr(source, "tocsr")


_create.on_matrix.append(array)


def _ndarray_cls(handle: object, writable: bool = True, stype: int = -1) -> Any:
    """The array itself: handles of mixnet know their storage type."""
    return handle


def _values(data: ArrayLike, context: Context, dtype: DTypeLike) -> NDArray:
    if isinstance(data, NDArray):
        result = data.as_in_context(context)
        return result.copy() if dtype is None else result.astype(dtype)
    values = _numbers(data)
    kind = as_dtype(dtype) if dtype is not None else values.dtype
    if dtype is None and not isinstance(data, np.ndarray):
        kind = as_dtype(None)
    return NDArray._wrap(from_host(values.astype(kind), context))


def _host(positions: ArrayLike) -> np.ndarray:
    on_host = positions.asnumpy() if isinstance(positions, NDArray) else _numbers(positions)
    if on_host.dtype.kind == "f" and np.isnan(on_host).any():
        raise _no_numbers(positions)
    return on_host.astype(np.int64)


def _numbers(values: ArrayLike) -> np.ndarray:
    """A NumPy array of values or positions.

    Raises:
        NotNumbersError: they are not numbers, or lists of different lengths.
    """
    with contextlib.suppress(TypeError, ValueError):
        numbers = np.asarray(values)
        return numbers.astype(np.float64) if numbers.dtype.kind in "OSU" else numbers
    raise _no_numbers(values)


def _no_numbers(values: ArrayLike) -> NotNumbersError:
    return NotNumbersError(
        f"Values and positions of a sparse array are numbers in lists of equal lengths, not "
        f"{values!r:.80}."
    )


def csr_matrix(
    arg1: Any,
    shape: tuple[int, ...] | None = None,
    ctx: Context | None = None,
    dtype: DTypeLike = None,
) -> CSRNDArray:
    """A csr matrix.

    Args:
        arg1: dense data; a csr array, or csr matrix of scipy; a shape, for zeros; ``(data, indices,
            indptr)``; or ``(data, (row, column))``.
        shape: ``(rows, columns)``; inferred from the positions if omitted.
        ctx: device.
        dtype: float32, or that of the data, by default.

    Raises:
        ValueError: the positions and the shape do not fit together.
    """
    context = as_context(ctx)
    if isinstance(arg1, tuple):
        return _csr_of_parts(arg1, shape, context, dtype)
    if isinstance(arg1, CSRNDArray) or is_csr_of_scipy(arg1):
        matrix = array(arg1, context, dtype)
    else:
        matrix = _of_dense("csr_matrix", arg1, context, dtype).tostype("csr")
    assert isinstance(matrix, CSRNDArray)
    _check_shape("csr_matrix", matrix, shape)
    return matrix


def _of_dense(
    name: str, source: int | Sequence[int], context: Context, dtype: DTypeLike
) -> NDArray:
    """A dense array of numbers, in the dtype of the source where that has one."""
    if isinstance(source, BaseSparseNDArray):
        raise AttributeValueError(
            f"{name}: a {source.stype} array cannot be converted here; use tostype."
        )
    if _is_of_scipy(source):
        raise AttributeTypeError(
            f"{name}: a {type(source).__name__} is not in csr format; use tocsr()."
        )
    if source is None:
        raise AttributeValueError(f"{name}: the source is None; give data or a shape.")
    if dtype is None and isinstance(source, np.ndarray) and source.dtype.kind == "b":
        raise DTypeError(f"{name} takes numbers, not booleans; cast with astype().")
    if dtype is None and isinstance(source, np.ndarray):
        dtype = source.dtype
    return _dense_array(source, context, dtype)


def _is_shape(values: tuple[Any, ...]) -> bool:
    return all(isinstance(each, (int, np.integer)) for each in values)


def _zeros_of_shape(
    name: str,
    stype: str,
    dimensions: tuple[Any, ...],
    shape: Any,
    context: Context,
    dtype: DTypeLike,
) -> Any:
    if shape is not None and tuple(shape) != dimensions:
        raise AttributeValueError(f"{name}: shape={tuple(shape)} is not the given {dimensions}.")
    return _zeros_of(stype, dimensions, context, dtype)


def _csr_of_parts(parts: tuple[Any, ...], shape: Any, context: Context, dtype: Any) -> CSRNDArray:
    if shape is not None and len(shape) != 2:
        raise AttributeValueError(f"csr_matrix: shape={shape} is not (rows, columns).")
    if len(parts) == 2:
        if _is_shape(parts):
            result: CSRNDArray = _zeros_of_shape("csr_matrix", "csr", parts, shape, context, dtype)
            return result
        return _from_coordinates(parts[0], parts[1], shape, context, dtype)
    if len(parts) != 3 or _is_shape(parts):
        raise AttributeValueError(
            f"csr_matrix: a tuple must be a shape (rows, columns), (data, indices, indptr) or (data, "
            f"(rows, columns)), not {parts!r:.80}."
        )
    data, indices, indptr = parts
    starts, columns = _host(indptr), _host(indices)
    if shape is None:
        _check_stored("csr_matrix", columns)
        shape = (len(starts) - 1, int(columns.max()) + 1)
    result = CSRNDArray._of(_values(data, context, dtype), starts, columns, tuple(shape))
    if len(starts) != shape[0] + 1 or result._data.shape != columns.shape:
        raise AttributeValueError(
            f"csr_matrix: {result._data.shape[0]} values, {len(columns)} columns and an indptr "
            f"of {len(starts)} do not make a matrix of shape {tuple(shape)}."
        )
    return result


def _check_stored(name: str, places: np.ndarray) -> None:
    if not len(places):
        raise AttributeValueError(
            f"{name}: there are no stored elements to infer a shape from; give shape=."
        )


def _from_coordinates(
    data: ArrayLike, where: Any, shape: Any, context: Context, dtype: DTypeLike
) -> CSRNDArray:
    if not isinstance(where, (list, tuple, np.ndarray, NDArray)) or len(where) != 2:
        raise AttributeKindError(
            f"csr_matrix: (data, (rows, columns)) or (data, indices, indptr) make a matrix, not "
            f"data and {where!r:.60}."
        )
    row, column = _host(where[0]), _host(where[1])
    if shape is None:
        _check_stored("csr_matrix", row)
        shape = (int(row.max()) + 1, int(column.max()) + 1)
    if len(row) and (row.max() >= shape[0] or column.max() >= shape[1]):
        raise AttributeValueError(f"csr_matrix: a position lies outside the shape {tuple(shape)}.")
    values = data.asnumpy() if isinstance(data, NDArray) else _numbers(data)
    places, first = np.unique(row * shape[1] + column, return_inverse=True)
    total = np.zeros(len(places), values.dtype)
    np.add.at(total, first.reshape(-1), values)
    result = _values(total, context, dtype if dtype is not None else values.dtype)
    return CSRNDArray._at(result, places, tuple(shape))


def row_sparse_array(
    arg1: Any,
    shape: tuple[int, ...] | None = None,
    ctx: Context | None = None,
    dtype: DTypeLike = None,
) -> RowSparseNDArray:
    """A row_sparse array.

    Args:
        arg1: dense data; a row_sparse array; a shape, for zeros; or ``(data, indices)``: rows and
            their numbers, which rise in a well-formed array (``check_format``).
        shape: inferred from the positions if omitted.
        ctx: device.
        dtype: float32, or that of the data, by default.

    Raises:
        ValueError: the rows and the shape do not fit together.
    """
    context = as_context(ctx)
    if isinstance(arg1, tuple):
        return _rows_of_parts(arg1, shape, context, dtype)
    if isinstance(arg1, RowSparseNDArray):
        result = array(arg1, context, dtype)
    else:
        dense = _of_dense("row_sparse_array", arg1, context, dtype)
        if not dense.shape:
            raise ShapeError("row_sparse_array: a number has no rows; give an array.")
        result = dense.tostype("row_sparse")
    assert isinstance(result, RowSparseNDArray)
    _check_shape("row_sparse_array", result, shape)
    return result


def _rows_of_parts(
    parts: tuple[Any, ...], shape: Any, context: Context, dtype: DTypeLike
) -> RowSparseNDArray:
    if len(parts) < 2 or (len(parts) > 2 and not _is_shape(parts)):
        raise AttributeKindError(
            f"row_sparse_array: a tuple must be a shape of two axes or more, or (data, indices), not "
            f"{parts!r:.80}."
        )
    if _is_shape(parts):
        result: RowSparseNDArray = _zeros_of_shape(
            "row_sparse_array", "row_sparse", parts, shape, context, dtype
        )
        return result
    data, rows = _values(parts[0], context, dtype), _host(parts[1])
    if shape is None:
        _check_stored("row_sparse_array", rows)
        shape = (int(rows.max()) + 1, *data.shape[1:])
    if data.shape[0] != len(rows) or tuple(shape[1:]) != data.shape[1:]:
        raise AttributeValueError(
            f"row_sparse_array: rows of shape {data.shape} with {len(rows)} numbers do not "
            f"make an array of shape {tuple(shape)}."
        )
    return RowSparseNDArray._make(data, (host_indices(rows, context),), tuple(shape))


def _check_shape(name: str, data: NDArray, shape: Any) -> None:
    if shape is not None and tuple(shape) != data.shape:
        raise ShapeError(f"{name}: shape={tuple(shape)} is not that of the data, {data.shape}.")


def cast_storage(
    data: NDArray | None = None,
    stype: str | None = None,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: object,
) -> Any:
    """The array in a storage type: ``'default'``, ``'row_sparse'`` or ``'csr'``.

    Args:
        data: an array.
        stype: the storage type.
        out: an array to write to, in place of a new one.
        name: has no effect on arrays.
        kwargs: none; any is an error.
    """
    if not isinstance(data, NDArray):
        raise NotAnArrayError(
            f"cast_storage: data must be an NDArray, not {type(data).__name__}. Make one with "
            f"mx.nd.array(...)."
        )
    if stype is None or kwargs:
        wrong = f"unknown argument {next(iter(kwargs))!r}" if kwargs else "stype is missing"
        raise OperatorTypeError(f"cast_storage: {wrong}. Call it as cast_storage(data, stype).")
    result = data.tostype(stype)
    if out is None:
        return result
    out[:] = result
    return out


def gs_retain(
    data: ArrayLike | None = None,
    indices: ArrayLike | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
    **kwargs: object,
) -> Any:
    """The rows of a row_sparse array that are in ``indices``.

    Args:
        data: a row_sparse array.
        out: an array to write to, in place of a new one.
        name: has no effect on arrays.
    """
    return _OPERATORS.function("retain")(data, indices, out=out)


def _zeros_of(stype: str, shape: int | Sequence[int], context: Context, dtype: DTypeLike) -> Any:
    """Zeros in a storage type; nothing is stored."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(extent < 0 for extent in extents):
        raise ShapeError(f"A shape has no negative extents, as {extents} has.")
    if stype not in _KINDS:
        raise AttributeValueError(
            f"unknown storage type: {stype!r}; use 'default', 'row_sparse' or 'csr'."
        )
    return _KINDS[stype]._zeros(extents, context, as_dtype(dtype))


def _tostype(self: NDArray, stype: str) -> Any:
    """The array in a storage type: ``'default'``, ``'row_sparse'`` or ``'csr'``."""
    if stype == "default":
        return self.copy()
    if stype in _KINDS:
        kind = _KINDS[stype]
        value = self._read()
        with RecordingScope(False, None):
            converted = kind._from_dense(NDArray._wrap(value))
        if state.recording and value.node is not None:  # the array on the tape
            converted._variable = value
        return converted
    raise OperatorValueError(
        f"unknown storage type: {stype!r}; use 'default', 'row_sparse' or 'csr'."
    )


def _zeros_as(self: NDArray, stype: str) -> Any:
    """Zeros of this shape in another storage type."""
    if stype == "default":
        return _dense_zeros(self.shape, self.context, self._spec.dtype)
    return _zeros_of(stype, self.shape, self.context, self._spec.dtype)


NDArray.tostype = _tostype  # type: ignore[method-assign]
NDArray._zeros_as = _zeros_as  # type: ignore[method-assign]
