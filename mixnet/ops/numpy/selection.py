"""Selecting, replacing, inserting and deleting elements with NumPy semantics, for ``mx.np``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import AttributeValueError, OperatorValueError, ShapeError
from mixnet.ops.control.host_check import checked
from mixnet.ops.derive import with_attributes_of
from mixnet.ops.math.broadcast import check_broadcast
from mixnet.ops.numpy.arithmetic import promoted
from mixnet.ops.numpy.shape import check_axis
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axis, Scalar
from mixnet.ops.schema.dtypes import Dtypes, all_own, number_of_dtype, to_dtype


@op("_npi_where", dtypes=Dtypes(own={"condition": None}))
def where(condition, x, y):
    """Elements of ``x`` where ``condition`` is true, of ``y`` elsewhere; the three broadcast.

    Source: MXNet operator ``_npi_where``.
    """
    shape = x.shape
    for each in (y.shape, condition.shape):
        check_broadcast("where", shape, each)
        shape = jnp.broadcast_shapes(shape, each)
    dtype = promoted("where", x.dtype, y.dtype)
    return jnp.where(condition != 0, x.astype(dtype), y.astype(dtype))


@op("_npi_where_lscalar", dtypes=Dtypes(own={"condition": None}))
def where_lscalar(condition, x, *, scalar: Scalar = 0.0):
    """``scalar`` where ``condition`` is true, elements of ``x`` elsewhere.

    Source: MXNet operator ``_npi_where_lscalar``.
    """
    check_broadcast("where", condition.shape, x.shape)
    return jnp.where(condition != 0, number_of_dtype(scalar, x.dtype), x)


@op("_npi_where_rscalar", dtypes=Dtypes(own={"condition": None}))
def where_rscalar(condition, y, *, scalar: Scalar = 0.0):
    """Elements of ``y`` where ``condition`` is true, ``scalar`` elsewhere.

    Source: MXNet operator ``_npi_where_rscalar``.
    """
    check_broadcast("where", condition.shape, y.shape)
    return jnp.where(condition != 0, y, number_of_dtype(scalar, y.dtype))


@op("_npi_where_scalar2", differentiable=False, dtypes=Dtypes(result="float32"))
def where_scalar2(condition, *, x: Scalar = 0.0, y: Scalar = 0.0):
    """The number ``x`` where ``condition`` is true, the number ``y`` elsewhere; float32.

    Source: MXNet operator ``_npi_where_scalar2``.
    """
    return jnp.where(condition != 0, x, y).astype(jnp.float32)


def _with_positions(
    name: str, extent: int, start: Any, stop: Any, step: Any, int_ind: Any
) -> list[int]:
    """The positions along an axis that a slice or a number selects."""
    if int_ind is not None:
        if not -extent <= int_ind <= extent:
            raise ShapeError(f"{name}: index {int_ind} is out of bounds for extent {extent}.")
        return [int_ind]
    if step == 0:
        raise OperatorValueError(
            f"{name}: the step of a slice is 0; give 1, or -1 to go backwards."
        )
    return list(range(*slice(start, stop, step).indices(extent)))


@op("_npi_delete", arguments=lambda int_ind, step, start, stop: ("arr",) if (
    int_ind, step, start, stop) != (None,) * 4 else ("arr", "obj"))  # fmt: skip
def delete(
    arr,
    obj=None,
    *,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    int_ind: int | None = None,
    axis: Axis | None = None,
):
    """The array without the elements at an index, at a slice, or at the positions ``obj`` along ``axis``.

    Args:
        arr: any shape; flattened if ``axis`` is None.
        obj: positions, all different.

    Source: MXNet operator ``_npi_delete``.
    """
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    axis = check_axis("delete", axis, arr.ndim)
    extent = arr.shape[axis]
    if obj is not None:
        where = obj.reshape(-1).astype(jnp.int64)
        where = jnp.where(where < 0, where + extent, where)
        keep = jnp.ones((extent,), bool).at[where].set(False)
        order = jnp.argsort(~keep, stable=True)[: extent - where.shape[0]]
        return jnp.take(arr, order, axis)
    deleted = _with_positions("delete", extent, start, stop, step, int_ind)
    deleted_places = {each % extent for each in deleted}
    return jnp.take(
        arr, jnp.asarray([i for i in range(extent) if i not in deleted_places], int), axis
    )


def _inserted(
    arr: jax.Array, values: jax.Array, positions: jax.Array, count: int, axis: int
) -> Any:
    """``arr`` with ``values`` before each position: NumPy's insert for positions known or traced."""
    extent = arr.shape[axis]
    positions = jnp.where(positions < 0, positions + extent, positions)
    order = jnp.argsort(positions, stable=True)
    places = jnp.zeros((count,), jnp.int64).at[order].set(positions[order] + jnp.arange(count))
    old = jnp.ones((extent + count,), bool).at[places].set(False)
    rest = jnp.argsort(~old, stable=True)[:extent]
    moved = jnp.moveaxis(arr, axis, 0)
    shape = (count, *moved.shape[1:])
    result = jnp.zeros((extent + count, *moved.shape[1:]), arr.dtype)
    result = result.at[rest].set(moved)
    result = result.at[places].set(jnp.broadcast_to(to_dtype(values, arr.dtype), shape))
    return jnp.moveaxis(result, 0, axis)


def _insert_arguments(val: float | None) -> tuple[str, ...]:
    return ("arr",) if val is not None else ("arr", "values")


def _insert_tensor_arguments(val: float | None) -> tuple[str, ...]:
    return ("arr", "obj") if val is not None else ("arr", "values", "obj")


def _insert(
    arr: Any,
    values: Any,
    val: Any,
    positions: Any,
    count: int,
    axis: Axis | None,
    single: bool,
    scalar: bool = False,
) -> Any:
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    axis = check_axis("insert", axis, arr.ndim)
    if values is None:
        values = jnp.asarray(val)
    elif values.ndim:
        missing = arr.ndim - values.ndim
        values = values.reshape((1,) * missing + values.shape)
        if not scalar:  # before a single number NumPy puts the first axis of the values along axis
            values = jnp.moveaxis(values, axis, 0)
        # A single position takes the values as one block along the axis.
        if single and count == 1 and values.shape[0] > 1:
            count = values.shape[0]
            positions = jnp.broadcast_to(positions, (count,))
    _check_values(values.shape, (count, *arr.shape[:axis], *arr.shape[axis + 1 :]))
    return _inserted(arr, values, positions, count, axis)


def _check_values(values: tuple[int, ...], places: tuple[int, ...]) -> None:
    pairs = zip(reversed(values), reversed(places), strict=False)
    if len(values) > len(places) or any(count not in (1, room) for count, room in pairs):
        raise ShapeError(
            f"insert: values of shape {values} are put where there is room for {places}, the number of "
            f"positions first; give that shape, or one number."
        )


def _insert_at(arr: Any, values: Any, selection: dict[str, Any], of_number: bool) -> Any:
    """Insert where attributes select: before a position, or those of a slice."""
    axis = selection["axis"]
    extent = arr.size if axis is None else arr.shape[axis]
    places = [selection[name] for name in ("start", "stop", "step", "int_ind")]
    where = _with_positions("insert", extent, *places)
    positions, count = jnp.asarray(where, jnp.int64), len(where)
    return _insert(arr, values, selection["val"], positions, count, axis, count == 1, of_number)


_INSERTED = Dtypes(own={"values": None, "obj": None})


@op("_npi_insert_scalar", arguments=_insert_arguments, dtypes=_INSERTED)
def insert_scalar(
    arr,
    values=None,
    *,
    val: float | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    int_ind: int | None = None,
    axis: Axis | None = None,
):
    """``arr`` with values inserted before position ``int_ind`` along ``axis``; flattened if that is None.

    Source: MXNet operator ``_npi_insert_scalar``.
    """
    selection = {
        "val": val,
        "start": start,
        "stop": stop,
        "step": step,
        "int_ind": int_ind,
        "axis": axis,
    }
    return _insert_at(arr, values, selection, of_number=True)


@op("_npi_insert_slice", arguments=_insert_arguments, dtypes=_INSERTED)
@with_attributes_of(insert_scalar)
def insert_slice(arr, values=None, **selection):
    """``arr`` with values inserted before the positions of a slice along ``axis``; flattened if that is None.

    Source: MXNet operator ``_npi_insert_slice``.
    """
    return _insert_at(arr, values, selection, of_number=False)


@op("_npi_insert_tensor", arguments=_insert_tensor_arguments, dtypes=_INSERTED)
@with_attributes_of(insert_scalar)
def insert_tensor(arr, values=None, obj=None, **attributes):
    """``arr`` with values inserted before the positions ``obj`` along ``axis``; flattened if that is None.

    Source: MXNet operator ``_npi_insert_tensor``.
    """
    where = obj.reshape(-1).astype(jnp.int64)
    return _insert(
        arr, values, attributes["val"], where, where.shape[0], attributes["axis"], obj.size == 1
    )


@op("_npi_share_memory", differentiable=False, dtypes=Dtypes(own=all_own, result="bool"))
def share_memory(a, b):
    """Whether two arrays share storage: never, since the operator gets values.

    Source: MXNet operator ``_npi_share_memory``.
    """
    return jnp.zeros((), bool)


@op(
    "_npx_constraint_check",
    differentiable=False,
    calls_python=True,
    dtypes=Dtypes(usual="bool", accepts={"input": ("bool",)}),
)
def constraint_check(input, *, msg: str = "Constraint violated."):
    """Whether every element of a boolean array is true, as one boolean.

    Raises:
        ValueError: an element is false; raised where the result, or what is computed from it, is read.

    Source: MXNet operator ``_npx_constraint_check``.
    """
    return checked(jnp.all(input), AttributeValueError(msg))


@op("_npi_boolean_mask_assign_scalar")
def boolean_mask_assign_scalar(data, mask, *, value: Scalar = 0.0, start_axis: int = 0):
    """``data`` with ``value`` where the boolean ``mask`` over the axes from ``start_axis`` on is true.

    Source: MXNet operator ``_npi_boolean_mask_assign_scalar``.
    """
    return jnp.where(_over(mask, data, start_axis), number_of_dtype(value, data.dtype), data)


@op("_npi_boolean_mask_assign_tensor")
def boolean_mask_assign_tensor(data, mask, value, *, start_axis: int = 0):
    """``data`` with successive elements of ``value`` where ``mask`` is true.

    Args:
        data: any shape.
        mask: booleans over axes of ``data`` from ``start_axis`` on.
        value: one element for all, or as many along ``start_axis`` as the mask has true ones.

    Source: MXNet operator ``_npi_boolean_mask_assign_tensor``.
    """
    over = _over(mask, data, start_axis)
    behind = data.ndim - start_axis - mask.ndim
    if value.ndim < 1 or value.ndim <= behind or value.shape[-behind - 1 :][0] == 1:
        return jnp.where(over, _spread(value, data, start_axis, mask.ndim), data)
    # The n-th true place takes the n-th row; the others take any row and are not used.
    rank = jnp.maximum(jnp.cumsum(mask.reshape(-1)) - 1, 0)
    filled = jnp.take(value, rank, axis=value.ndim - behind - 1, mode="clip")
    shape = (
        filled.shape[: value.ndim - behind - 1] + mask.shape + value.shape[value.ndim - behind :]
    )
    filled = to_dtype(filled.reshape(shape), data.dtype)
    return jnp.where(over, jnp.broadcast_to(filled, data.shape), data)


def _spread(value: Any, data: Any, start_axis: int, mask_axes: int) -> Any:
    value = to_dtype(value, data.dtype)
    if value.ndim > data.ndim - mask_axes:
        # An axis of extent one stands for the mask's axes.
        at = value.ndim - (data.ndim - start_axis - mask_axes) - 1
        value = value.reshape(value.shape[:at] + (1,) * mask_axes + value.shape[at + 1 :])
    return jnp.broadcast_to(value, data.shape)


def _over(mask: jax.Array, data: jax.Array, start_axis: int) -> Any:
    axes = data.shape[start_axis : start_axis + mask.ndim]
    if mask.shape != axes:
        raise ShapeError(
            f"boolean mask of shape {mask.shape} does not fit axes {axes} of an array of shape "
            f"{data.shape}."
        )
    behind = data.ndim - start_axis - mask.ndim
    return (mask != 0).reshape((1,) * start_axis + mask.shape + (1,) * behind)
