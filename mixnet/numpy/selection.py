"""Selecting, sorting and changing elements of ``mx.np`` arrays, and their diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.base import AttributeValueError, IndexingError, NotDefinedError
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.call import NUMBERS, as_array, as_operator, call, check_array, is_array
from mixnet.ops.schema.ranges import AxisOf

if TYPE_CHECKING:
    from mixnet.numpy.call import Array, Operable, Operand


def where(condition: Array | float, x: Operand | None = None, y: Operand | None = None) -> Any:
    """Elements of ``x`` where ``condition`` is true, else of ``y``; the indices without both.

    Raises:
        ValueError: one of ``x`` and ``y`` alone.
    """
    if x is None and y is None:
        return nonzero(condition)  # type: ignore[arg-type]  # which refuses numbers
    if x is None or y is None:
        raise AttributeValueError("where: give both of x and y, or neither.")
    if isinstance(condition, NUMBERS):
        return x if condition else y
    if isinstance(x, NUMBERS):
        if isinstance(y, NUMBERS):
            return call("_npi_where_scalar2", condition, x=float(x), y=float(y))
        return call("_npi_where_lscalar", condition, y, scalar=float(x))
    if isinstance(y, NUMBERS):
        return call("_npi_where_rscalar", condition, x, scalar=float(y))
    return call("_npi_where", condition, x, y)


def nonzero(a: Array) -> tuple[Any, ...]:
    """The indices of the elements that are not 0, an int64 array for each axis.

    An array without axes counts as one of a single element.
    """
    check_array("nonzero", a)
    a = a.reshape(1) if a.shape == () else a
    places = call("_npx_nonzero", a)
    return tuple(places[:, i] for i in range(places.shape[1]))


def argwhere(a: Operand) -> Any:
    """The indices of the elements that are not 0, one row each.

    Args:
        a: any shape.
    """
    places = call("_npx_nonzero", a)
    return places[:, :0] if isinstance(a, NDArray) and not a.ndim else places


def flatnonzero(a: Array) -> Any:
    """The positions in the flattened array of the elements that are not 0.

    Args:
        a: any shape.
    """
    return nonzero(a.reshape(-1))[0]


def unique(
    ar: Operand,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | Sequence[int] | None = None,
) -> Any:
    """The distinct elements in ascending order, then the requested extra results.

    Args:
        ar: any shape; flattened where ``axis`` is None.
        return_index: where each occurs first.
        return_inverse: which of them each element is.
        return_counts: how often each occurs.
        axis: compare slices along it.
    """
    results = call(
        "_npi_unique",
        ar,
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
        axis=axis,
    )
    return tuple(results) if isinstance(results, list) else results


def take(
    a: Array,
    indices: Operand,
    axis: int | None = None,
    mode: str = "raise",
    out: Operable | None = None,
) -> Any:
    """Elements at ``indices`` along ``axis``, of the flattened array by default.

    Args:
        a: any shape.
        indices: any shape; numbers and lists too.
        axis: where the indices run.
        mode: what becomes of an index out of bounds: 'clip', 'wrap' or 'raise'.

    Raises:
        IndexError: an index is out of bounds with mode 'raise'.
    """
    if mode not in ("wrap", "clip", "raise"):
        raise NotDefinedError(f"take: mode={mode!r} is not one of 'clip', 'wrap', 'raise'.")
    check_array("take", a)
    places = as_array(onp.asarray(indices) if not is_array(indices) else indices, a)
    if not isinstance(a, NDArray):
        flat = a if axis is not None else call("_npx_reshape", a, newshape=(-1,))
        return call("take", flat, places, axis=axis or 0, mode=mode)
    if mode == "raise" and isinstance(places, NDArray):
        AxisOf().check("take", "axis", axis, a.ndim)
        extent = a.size if axis is None else a.shape[axis]
        known = places._value.array
        if known is not None:  # what is computed already is checked; what is pending is clipped
            host = onp.asarray(known)
            if host.size and (host.min() < -extent or host.max() >= extent):
                raise IndexingError(
                    f"take: an index between {host.min()} and {host.max()} is out of bounds for "
                    f"axis {axis} with extent {extent}."
                )
            if host.size and host.min() < 0:
                mode = "wrap"
        mode = "wrap" if mode == "wrap" else "clip"
    if axis is None:
        return call("take", a.reshape(-1), places, out=out, axis=0, mode=mode)
    return call("take", a, places, out=out, axis=axis, mode=mode)


def tril(m: Operand, k: int = 0) -> Any:
    """Zeros above diagonal ``k``.

    Args:
        m: at least two axes; the last two are matrices.
        k: 0 is the main diagonal, 1 the one above it.
    """
    return call("_npi_tril", m, k=k)


@as_operator("_np_trace")
def trace(
    a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Operable | None = None
) -> Any:
    """Sum of a diagonal.

    Args:
        a: at least two axes.
        offset: which diagonal: 0 is the main one, 1 the one above it.
        axis1: the rows.
        axis2: the columns.
        out: an array for the result.
    """
    return call("_np_trace", a, out=out, offset=offset, axis1=axis1, axis2=axis2)


@as_operator("_np_diag")
def diag(array: Operand, k: int = 0, out: Operable | None = None) -> Any:
    """A diagonal of a matrix, or the matrix with a 1-D array as diagonal.

    Args:
        array: one axis or two.
        k: 0 is the main diagonal, 1 the one above it.
        out: an array for the result.
    """
    return call("_np_diag", array, out=out, k=k)


@as_operator("_np_diagflat")
def diagflat(array: Operand, k: int = 0, out: Operable | None = None) -> Any:
    """The matrix with the flattened array as diagonal ``k``.

    Args:
        array: any shape.
        k: 0 is the main diagonal, 1 the one above it.
        out: an array for the result.
    """
    return call("_np_diagflat", array, out=out, k=k)


@as_operator("_np_diagonal")
def diagonal(
    a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Operable | None = None
) -> Any:
    """A diagonal of two axes, along a new last axis.

    Args:
        a: at least two axes.
        offset: which diagonal: 0 is the main one, 1 the one above it.
        axis1: the rows.
        axis2: the columns.
        out: an array for the result.
    """
    return call("_np_diagonal", a, out=out, offset=offset, axis1=axis1, axis2=axis2)


def _check_order(name: str, order: str | None) -> None:
    if order is not None:
        raise NotDefinedError(f"{name}: order is for structured arrays, which are not supported.")


def sort(
    a: Operand,
    axis: int | Sequence[int] | None = -1,
    kind: str | None = None,
    order: str | None = None,
) -> Any:
    """Sorted in ascending order along ``axis``; the flattened array where it is None.

    Args:
        a: any shape.
        axis: along which; None flattens first.
        kind: ignored: every sort is stable.
        order: only None is supported.
    """
    _check_order("sort", order)
    return call("sort", a, axis=axis)


def argsort(
    a: Operand,
    axis: int | Sequence[int] | None = -1,
    kind: str | None = None,
    order: str | None = None,
) -> Any:
    """The positions that sort the array along ``axis``; int64.

    Args:
        a: any shape.
        axis: along which; None flattens first.
        kind: ignored: every sort is stable.
        order: only None is supported.
    """
    _check_order("argsort", order)
    return call("argsort", a, axis=axis, is_ascend=True, dtype="int64")


def _place(obj: Any) -> tuple[Any, dict[str, Any]]:
    """An array of positions, or the attributes of a slice or a number."""
    if isinstance(obj, slice):
        return None, {"start": obj.start, "stop": obj.stop, "step": obj.step}
    if isinstance(obj, (int, onp.integer)):
        return None, {"int_ind": int(obj)}
    if not is_array(obj):
        obj = as_array(onp.asarray(obj, onp.int64))
    if obj.dtype == onp.bool_:
        obj = nonzero(obj)[0]
    return obj, {}


def delete(arr: Array, obj: Operand, axis: int | None = None) -> Any:
    """The array without the elements at a number, a slice or an array of positions, along ``axis``.

    Args:
        arr: any shape.
        obj: a number, a slice, or an array of positions.
        axis: along which; None flattens first.
    """
    positions, attributes = _place(obj)
    if positions is not None:
        # Positions may repeat, so how many elements stay is a matter of their values.
        extent = arr.size if axis is None else arr.shape[axis]
        deleted = onp.unique(positions.asnumpy().astype(onp.int64).reshape(-1) % max(extent, 1))
        positions = as_array(deleted, arr)
    if attributes == {"start": None, "stop": None, "step": None}:
        attributes["start"] = 0
    return call("_npi_delete", arr, positions, axis=axis, **attributes)


def insert(arr: Operand, obj: Operand, values: Operand, axis: int | None = None) -> Any:
    """The array with ``values`` inserted before a number, a slice or an array of positions, along ``axis``.

    Args:
        arr: any shape.
        obj: a number, a slice, or an array of positions.
        values: a number, or an array that is broadcast.
        axis: along which; None flattens first.
    """
    positions, attributes = _place(obj)
    name = "_npi_insert_slice"
    if positions is not None:
        name = "_npi_insert_tensor"
    elif "int_ind" in attributes:
        name = "_npi_insert_scalar"
    number = float(values) if isinstance(values, NUMBERS) else None
    operands = [arr] if number is not None else [arr, as_array(values, arr)]
    if positions is not None:
        operands.append(positions)
    return call(name, *operands, val=number, axis=axis, **attributes)


def extract(condition: Array, arr: Array) -> Any:
    """The elements where ``condition`` is true, in one axis.

    Args:
        condition: of the shape of ``arr``.
        arr: any shape.
    """
    return take(arr.reshape(-1), flatnonzero(condition), 0, "clip")
