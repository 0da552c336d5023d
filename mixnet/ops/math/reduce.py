"""Reductions, argmin and argmax, and sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import AxisError, OperatorValueError
from mixnet.ops.array.plain import (
    accumulator,
    along,
    filled_like,
    in_dtype,
    shaped,
    total,
    with_axes,
)
from mixnet.ops.math.elementwise import absolute
from mixnet.ops.math.quotient import quotient
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import Axes, Axis, DType
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.ranges import Range
from mixnet.ops.schema.storage import Storage
from mixnet.private_jax.derivatives import CustomVJP


def axes_of(name: str, ndim: int, axis: Any, exclude: bool = False) -> tuple[int, ...]:
    """The axes to reduce, from 0: all for None or ``()``, the others with ``exclude``.

    Raises:
        AxisError: an axis is given twice.
    """
    axes = tuple(range(ndim)) if axis is None or axis == () else axis
    axes_reduced = tuple(sorted({each % ndim for each in axes})) if ndim else ()
    if ndim and len(axes_reduced) < len(axes):
        raise AxisError(f"{name}: axes {axes} name an axis of {ndim} twice.")
    if exclude and axis not in (None, ()):
        axes_reduced = tuple(i for i in range(ndim) if i not in axes_reduced)
    return axes_reduced


def _declare(
    name: str,
    function: Callable[..., Any],
    text: str,
    aliases: Sequence[str] = (),
    precision: Literal["full"] | None = None,
    storage: Storage | None = None,
) -> Op:
    def reduction(data, *, axis: Axes | None = None, keepdims: bool = False, exclude: bool = False):
        axes = axes_of(name, data.ndim, axis, exclude)
        out = in_dtype(function(data, axis=axes, keepdims=keepdims), data.dtype)
        return out if out.ndim else shaped(out, (1,))  # mx.nd has no arrays without axes

    reduction.__doc__ = (
        f"{text} Along ``axis``, all axes by default; ``exclude`` takes the other axes.\n\n"
        f"Returns:\n    dtype of ``data``; shape ``(1,)`` when all axes are reduced.\n\nSource: MXNet "
        f"operator ``{name}``."
    )
    return op(name, aliases=aliases, method=True, flops=1, precision=precision, storage=storage)(
        reduction
    )


def real_mean(data: jax.Array, axes: Sequence[int], keepdims: bool = False) -> Any:
    """The mean of floating-point numbers along ``axes``, which are not negative; in their dtype."""
    sums = jax.lax.reduce_sum(in_dtype(data, accumulator(data.dtype)), tuple(axes))
    # An extent may be a symbol here: of models whose extents are open.
    count = jax.lax.full_like(sums, math.prod(data.shape[each] for each in axes))
    result = in_dtype(quotient(sums, count), data.dtype)
    return with_axes(result, data.shape, axes) if keepdims else result


def _mean(data: jax.Array, axis: Any, keepdims: bool) -> Any:
    if jnp.issubdtype(data.dtype, jnp.floating):
        return real_mean(data, axis, keepdims)
    if data.dtype == jnp.bool_:  # a fraction above 0 is true
        return jnp.any(data, axis, keepdims=keepdims)
    sums = jnp.sum(data, axis, keepdims=keepdims)
    count = math.prod(data.shape[each] for each in axis)
    return jax.lax.div(sums, jnp.asarray(count, sums.dtype))


def _in_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda data, axis, keepdims: function(data, axis, dtype=data.dtype, keepdims=keepdims)


def _sum(data: jax.Array, axis: Any, keepdims: bool) -> Any:
    if jnp.issubdtype(data.dtype, jnp.floating):
        return total(data, axis, keepdims)
    return jnp.sum(data, axis, dtype=data.dtype, keepdims=keepdims)


def all_ties(
    function: Callable[..., Any], reduce: Callable[[Any, Sequence[int]], Any]
) -> Callable[..., Any]:
    """Extremes; NaN if an element is NaN. The gradient goes to every element that attains them.

    XLA's own reductions lose a NaN in large arrays.

    Args:
        function: the extreme, of ``jax.numpy``.
        reduce: the same of ``jax.lax``, which is traced in a fifth of the time.
    """

    @CustomVJP
    def extreme(data: jax.Array, *, axes: tuple[int, ...]) -> Any:
        best = reduce(data, axes)
        lost = jax.lax.reduce_or(jax.lax.ne(data, data), axes)
        return jax.lax.select(lost, filled_like(best, math.nan), best)

    def keep(data: jax.Array, *, axes: tuple[int, ...]) -> Any:
        best = extreme(data, axes=axes)
        return best, (data, best)

    def pull(residuals: Any, head: jax.Array, *, axes: tuple[int, ...]) -> Any:
        data, best = residuals
        attains = jax.lax.eq(data, along(best, data.shape, axes))
        return (jax.lax.mul(in_dtype(attains, data.dtype), along(head, data.shape, axes)),)

    extreme.defvjp(keep, pull)

    def choose(data: jax.Array, axis: Any, keepdims: bool) -> Any:
        if not data.size or not jnp.issubdtype(data.dtype, jnp.floating):
            return function(data, axis, keepdims=keepdims)
        axes = tuple(each % data.ndim for each in axis)
        result = extreme(data, axes=axes)
        return with_axes(result, data.shape, axes) if keepdims else result

    return choose


_TOTAL = storage_rules.TOTAL
_declare("sum", _sum, "Sum.", ["sum_axis", "_sparse_sum"], "full", _TOTAL)
_declare("mean", _mean, "Mean.", ["_sparse_mean"], "full", _TOTAL)
_declare("prod", _in_dtype(jnp.prod), "Product.", precision="full")
_declare("nansum", _in_dtype(jnp.nansum), "Sum, NaN counted as 0.", precision="full")
_declare("nanprod", _in_dtype(jnp.nanprod), "Product, NaN counted as 1.", precision="full")
_declare("max", all_ties(jnp.max, jax.lax.reduce_max), "Largest element.", ["max_axis"])
_declare("min", all_ties(jnp.min, jax.lax.reduce_min), "Smallest element.", ["min_axis"])


@op(
    "norm",
    method=True,
    flops=1,
    precision="full",
    aliases=["_sparse_norm"],
    storage=storage_rules.NORM,
)
def norm(
    data,
    *,
    ord: Annotated[int, Range(1, 2)] = 2,
    axis: Axes | None = None,
    out_dtype: DType | None = None,
    keepdims: bool = False,
):
    """Sum of absolute values (``ord`` 1) or Euclidean length (2) along ``axis``; of the whole array if None.

    Returns:
        The axes that remain; ``(1,)`` for the whole array.

    Source: MXNet operator ``norm``.
    """
    axes = axes_of("norm", data.ndim, axis)
    if ord == 1:
        out = jnp.sum(absolute(data), axes, keepdims=keepdims)
    else:
        wide = data.astype(jnp.float64)  # squares of large and small numbers are numbers there
        out = jnp.sqrt(jnp.sum(jnp.square(wide), axes, keepdims=keepdims))
    out = out.astype(out_dtype or data.dtype)
    return out.reshape((1,)) if out.ndim == 0 else out


@op("moments", outputs=2, output_names=["output0", "output1"], precision="full")
def moments(data, *, axes: Axes | None = None, keepdims: bool = False):
    """Mean and variance along ``axes``, of which there must be at least one.

    Returns:
        Two arrays in the dtype of ``data``; ``(1,)`` when all axes are reduced.

    Raises:
        AxisError: no axis is given.
        ShapeError: the array has no such axis.

    Source: MXNet operator ``moments``.
    """
    if not axes:
        every = tuple(range(data.ndim))
        raise AxisError(
            f"moments: axes={axes} names no axis. Give axes={every} to reduce them all."
        )
    chosen = axes_of("moments", data.ndim, axes)
    mean = _mean(data, chosen, True).astype(data.dtype)
    var = _mean(jnp.square(data - mean), chosen, keepdims).astype(data.dtype)
    mean = mean if keepdims else jnp.squeeze(mean, chosen)
    return tuple(each.reshape((1,)) if each.ndim == 0 else each for each in (mean, var))


def _declare_position(name: str, function: Callable[..., Any], text: str) -> Op:
    def position(data, *, axis: Axis | None = None, keepdims: bool = False):
        if axis is None:
            places = function(data.reshape(-1), 0).reshape((1,) * (data.ndim if keepdims else 1))
        else:
            (axis,) = axes_of(name, data.ndim, (axis,))
            places = function(data, axis)
            places = jnp.expand_dims(places, axis) if keepdims else places
            places = places.reshape((1,)) if places.ndim == 0 else places
        return places.astype(data.dtype)

    position.__doc__ = f"{text}\n\nReturns:\n    dtype of ``data``.\n\nSource: MXNet ``{name}``."
    return op(name, booleans=False, method=True, differentiable=False, flops=1)(position)


_declare_position("argmax", jnp.argmax, "Position of the largest element along ``axis``.")
_declare_position("argmin", jnp.argmin, "Position of the smallest element along ``axis``.")


@op("argmax_channel", booleans=False, method=True, differentiable=False)
def argmax_channel(data):
    """Position of the largest element along axis 1.

    Returns:
        The shape without that axis; in the dtype of ``data``.

    Source: MXNet operator ``argmax_channel``.
    """
    return jnp.argmax(data, 1).astype(data.dtype)


def _sorted_order(data: jax.Array, axis: int, is_ascend: bool) -> Any:
    """Places of the elements in order, NaN last; equal ones stay in theirs."""
    if not is_ascend:
        data = -data if jnp.issubdtype(data.dtype, jnp.floating) else ~data  # none overflows
    return jnp.argsort(data, axis, stable=True)


@op("sort", booleans=False, method=True, output_names=("output0",), aliases=["_npi_sort"])
def sort(data, *, axis: Axis | None = -1, is_ascend: bool = True):
    """The elements in order along ``axis``, of the flattened array if that is None; NaN comes last.

    Source: MXNet operator ``sort``.
    """
    data, axis = (data.reshape(-1), 0) if axis is None else (data, axis)
    order = jax.lax.stop_gradient(_sorted_order(data, axis, is_ascend))
    return jnp.take_along_axis(data, order, axis)


@op(
    "argsort",
    booleans=False,
    method=True,
    differentiable=False,
    precision="full",
    aliases=["_npi_argsort"],
)
def argsort(data, *, axis: Axis | None = -1, is_ascend: bool = True, dtype: DType = "float32"):
    """Positions of the elements in ascending or descending order along ``axis``, of ``dtype``.

    Source: MXNet operator ``argsort``.
    """
    data, axis = (data.reshape(-1), 0) if axis is None else (data, axis)
    return _sorted_order(data, axis, is_ascend).astype(dtype)


def _topk_outputs(ret_typ: str) -> int:
    return 2 if ret_typ == "both" else 1


def _topk_names(ret_typ: str) -> list[str]:
    return ["output0", "output1"] if ret_typ in ("both", "value") else ["output"]


@op(
    "topk",
    booleans=False,
    method=True,
    dtypes=Dtypes(
        result=lambda attributes: (
            attributes["dtype"] if attributes["ret_typ"] == "indices" else None
        ),
        others=lambda attributes: attributes["dtype"],
    ),
    outputs=_topk_outputs,
    output_names=_topk_names,
    precision="full",
    aliases=["_npx_topk"],
)
def topk(
    data,
    *,
    axis: Axis | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: DType = "float32",
):
    """The ``k`` largest elements along ``axis``, or the smallest with ``is_ascend``.

    Returns:
        Their positions of ``dtype`` ("indices"), their values ("value"), values and positions ("both"), or 1
        at their positions and 0 elsewhere in the shape of ``data`` ("mask").

    Source: MXNet operator ``topk``.
    """
    shape = data.shape
    data, axis = (data.reshape(-1), 0) if axis is None else (data, axis % data.ndim)
    extent = data.shape[axis]
    if k > extent:
        raise OperatorValueError(
            f"topk: k={k} is out of range: there are {extent} elements along axis {axis} of data "
            f"{shape}; give {extent} or less."
        )
    k = k if k > 0 else extent
    order = jax.lax.stop_gradient(_sorted_order(data, axis, is_ascend))
    order = jax.lax.slice_in_dim(order, 0, k, axis=axis)
    if ret_typ == "mask":
        places = jax.nn.one_hot(order, data.shape[axis], axis=-1, dtype=data.dtype)
        return jnp.moveaxis(places.sum(axis, dtype=data.dtype), -1, axis).reshape(shape)
    values = jnp.take_along_axis(data, order, axis)
    if ret_typ == "value":
        return values
    indices = order.astype(dtype)
    return (values, indices) if ret_typ == "both" else indices


@op("_np_cumsum", aliases=["cumsum"], in_amp_lists=False)
def cumsum(a, *, axis: Axis | None = None, dtype: DType | None = None):
    """Cumulative sum along ``axis``; of the flattened array if that is None."""
    counted = jnp.dtype("int64") if a.dtype == jnp.bool_ else a.dtype
    return jnp.cumsum(a, axis, dtype=dtype or counted)


@cumsum.infer_dtypes_of_known
def _(known, dtype, **_):
    is_counted = dtype is None and known[0] is not None and known[0].kind == "b"
    return (known, [jnp.dtype("int64")]) if is_counted else ((), ())
