"""``mx.nd.sparse``: row_sparse and csr arrays, and operators on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.base import AttributeValueError, ShapeError
from mixnet.context import Context, as_context
from mixnet.dtype import as_dtype
from mixnet.ndarray import operators as _operators
from mixnet.ndarray import sparse_rules as _rules  # noqa: F401 - installs the rules
from mixnet.ndarray.create import array as _dense_array
from mixnet.ndarray.create import zeros as _dense_zeros
from mixnet.ndarray.namespace import below
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse_array import BaseSparseNDArray as BaseSparseNDArray
from mixnet.ndarray.sparse_array import CSRNDArray as CSRNDArray
from mixnet.ndarray.sparse_array import RowSparseNDArray as RowSparseNDArray
from mixnet.ndarray.sparse_array import host_indices, zeros_of
from mixnet.runtime.value import from_host

add = _operators.add
subtract = _operators.subtract
multiply = _operators.multiply
divide = _operators.divide

try:
    import scipy.sparse as spsp
except ImportError:  # asscipy and scipy's matrices need it, nothing else does
    spsp = None

_OPERATORS = below("sparse")
__getattr__, __dir__ = _OPERATORS.hooks(globals())


def zeros(
    stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs: Any
) -> Any:
    """Zeros in a storage type: ``'default'``, ``'row_sparse'`` or ``'csr'``."""
    if stype == "default":
        return _dense_zeros(shape, ctx, dtype, **kwargs)
    return zeros_of(stype, shape, as_context(ctx), dtype)


def empty(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None) -> Any:
    """A sparse array in which nothing is stored yet."""
    if stype not in ("csr", "row_sparse"):
        raise AttributeValueError(f"unknown storage type: {stype!r}; take 'csr' or 'row_sparse'.")
    return zeros(stype, shape, ctx, dtype)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> Any:
    """A sparse array from a sparse array or a scipy.sparse matrix, of the same storage type.

    Raises:
        ValueError: the source is dense.
    """
    context = as_context(ctx)
    if isinstance(source_array, BaseSparseNDArray):
        made = source_array.copyto(context)
        return made if dtype is None else made.astype(dtype)
    if hasattr(source_array, "tocsr"):
        matrix = source_array.tocsr()
        matrix.sum_duplicates()
        parts = (matrix.data, matrix.indices, matrix.indptr)
        return csr_matrix(parts, matrix.shape, context, dtype or matrix.dtype)
    raise AttributeValueError(
        "sparse.array takes a sparse array; mx.nd.array(...).tostype('csr') makes one of dense data."
    )


def _ndarray_cls(handle: Any, writable: bool = True, stype: int = -1) -> Any:
    """The array itself: handles of mixnet know their storage type."""
    return handle


def _values(data: Any, context: Context, dtype: Any) -> NDArray:
    if isinstance(data, NDArray):
        made = data.as_in_context(context)
        return made.copy() if dtype is None else made.astype(dtype)
    found = np.asarray(data)
    kind = as_dtype(dtype) if dtype is not None else found.dtype
    if dtype is None and not isinstance(data, np.ndarray):
        kind = as_dtype(None)
    return NDArray._wrap(from_host(found.astype(kind), context))


def _host(values: Any) -> np.ndarray:
    found = values.asnumpy() if isinstance(values, NDArray) else np.asarray(values)
    return found.astype(np.int64)


def csr_matrix(
    arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None
) -> CSRNDArray:
    """A csr matrix.

    Args:
        arg1: dense data; a scipy.sparse or csr matrix; a shape, for zeros; ``(data, indices,
            indptr)``; or ``(data, (row, column))``.
        shape: ``(rows, columns)``; read off the positions where it is left out.
        ctx: device.
        dtype: float32, or that of the data, by default.

    Raises:
        ValueError: the positions and the shape do not fit together.
    """
    context = as_context(ctx)
    if isinstance(arg1, tuple) and len(arg1) == 2 and not isinstance(arg1[1], (tuple, list)):
        if all(isinstance(each, (int, np.integer)) for each in arg1):
            if shape is not None and tuple(shape) != tuple(arg1):
                raise AttributeValueError(f"csr_matrix: shape={shape} is not the given {arg1}.")
            return zeros_of("csr", arg1, context, dtype)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        return _from_coordinates(arg1[0], arg1[1], shape, context, dtype)
    if isinstance(arg1, tuple) and len(arg1) == 3:
        data, indices, indptr = arg1
        starts, columns = _host(indptr), _host(indices)
        if shape is None:
            shape = (len(starts) - 1, int(columns.max()) + 1 if len(columns) else 0)
        made = CSRNDArray._of(_values(data, context, dtype), starts, columns, tuple(shape))
        if len(starts) != shape[0] + 1 or made._data.shape != columns.shape:
            raise AttributeValueError(
                f"csr_matrix: {made._data.shape[0]} values, {len(columns)} columns and an indptr "
                f"of {len(starts)} do not make a matrix of shape {tuple(shape)}."
            )
        return made
    if isinstance(arg1, CSRNDArray) or hasattr(arg1, "tocsr"):
        found = array(arg1, context, dtype)
    else:
        found = _dense_array(arg1, context, dtype).tostype("csr")
    _check_shape("csr_matrix", found, shape)
    return found


def _from_coordinates(
    data: Any, where: Any, shape: Any, context: Context, dtype: Any
) -> CSRNDArray:
    if len(where) != 2:
        raise AttributeValueError(
            f"csr_matrix: (data, (rows, columns)) or (data, indices, indptr) make a matrix, not "
            f"positions in {len(where)} array(s)."
        )
    row, column = _host(where[0]), _host(where[1])
    if shape is None:
        shape = (int(row.max()) + 1, int(column.max()) + 1)
    if len(row) and (row.max() >= shape[0] or column.max() >= shape[1]):
        raise AttributeValueError(
            f"csr_matrix: a position lies outside of the shape {tuple(shape)}."
        )
    values = data.asnumpy() if isinstance(data, NDArray) else np.asarray(data)
    places, first = np.unique(row * shape[1] + column, return_inverse=True)
    total = np.zeros(len(places), values.dtype)
    np.add.at(total, first.reshape(-1), values)
    rows, columns = np.divmod(places, shape[1])
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    made = _values(total, context, dtype if dtype is not None else values.dtype)
    return CSRNDArray._of(made, starts, columns, tuple(shape))


def row_sparse_array(
    arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None
) -> RowSparseNDArray:
    """A row_sparse array.

    Args:
        arg1: dense data; a row_sparse array; a shape, for zeros; or ``(data, indices)``: rows and
            their numbers, which must rise.
        shape: read off the positions where it is left out.
        ctx: device.
        dtype: float32, or that of the data, by default.

    Raises:
        ValueError: the rows and the shape do not fit together.
    """
    context = as_context(ctx)
    if isinstance(arg1, tuple) and all(isinstance(n, (int, np.integer)) for n in arg1):
        return zeros_of("row_sparse", arg1, context, dtype)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        data, rows = _values(arg1[0], context, dtype), _host(arg1[1])
        if shape is None:
            shape = (int(rows.max()) + 1 if len(rows) else 0, *data.shape[1:])
        if data.shape[0] != len(rows) or tuple(shape[1:]) != data.shape[1:]:
            raise AttributeValueError(
                f"row_sparse_array: rows of shape {data.shape} with {len(rows)} numbers do not "
                f"make an array of shape {tuple(shape)}."
            )
        order = np.argsort(rows, kind="stable")
        if (order != np.arange(len(rows))).any():
            data, rows = data[host_indices(order, context)], rows[order]
        return RowSparseNDArray._make(data, (host_indices(rows, context),), tuple(shape))
    if isinstance(arg1, RowSparseNDArray):
        found = array(arg1, context, dtype)
    else:
        found = _dense_array(arg1, context, dtype).tostype("row_sparse")
    _check_shape("row_sparse_array", found, shape)
    return found


def _check_shape(name: str, found: NDArray, shape: Any) -> None:
    if shape is not None and tuple(shape) != found.shape:
        raise ShapeError(f"{name}: shape={tuple(shape)} is not that of the data, {found.shape}.")


def cast_storage(
    data: NDArray, stype: str, out: Any = None, name: Any = None, **kwargs: Any
) -> Any:
    """The array in a storage type: ``'default'``, ``'row_sparse'`` or ``'csr'``."""
    found = data.tostype(stype)
    if out is None:
        return found
    out[:] = found
    return out


def gs_retain(
    data: Any = None, indices: Any = None, out: Any = None, name: Any = None, **kwargs: Any
) -> Any:
    """The rows of a row_sparse array that are in ``indices``."""
    return _OPERATORS.function("retain")(data, indices, out=out)


def _tostype(self: NDArray, stype: str) -> Any:
    """The array in a storage type: ``'default'``, ``'row_sparse'`` or ``'csr'``."""
    if stype == "default":
        return self
    if stype == "csr":
        return CSRNDArray._from_dense(self)
    if stype == "row_sparse":
        return RowSparseNDArray._from_dense(self)
    raise AttributeValueError(
        f"unknown storage type: {stype!r}; take 'default', 'row_sparse' or 'csr'."
    )


def _zeros_as(self: NDArray, stype: str) -> Any:
    """Zeros of this shape in another storage type."""
    return zeros_of(stype, self.shape, self.context, self._spec.dtype)


NDArray.tostype = _tostype  # type: ignore[method-assign]
NDArray._zeros_as = _zeros_as  # type: ignore[method-assign]
