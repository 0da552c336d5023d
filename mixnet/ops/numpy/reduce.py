"""Reductions and statistics of ``mx.np``; reducing all axes returns an array of shape ``()``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mixnet.base import AxisError, DTypeError, OperatorValueError, ShapeError
from mixnet.ops.math.quotient import quotient
from mixnet.ops.math.reduce import all_ties
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axis, Count, DType, Shape
from mixnet.ops.schema.dtypes import COUNT, FRACTION, PLACES, TRUTH, Dtypes, to_dtype
from mixnet.ops.schema.ranges import AxisOf


def numpy_axes(name: str, ndim: int, axis: Any) -> tuple[int, ...]:
    """The axes to reduce, from 0; all for None, none for ``()``.

    Raises:
        AxisError: the array has no such axis, or one is given twice.
    """
    if axis is None or (not ndim and tuple(axis) in ((0,), (-1,))):  # NumPy takes these as well
        return tuple(range(ndim))
    AxisOf().check(name, "axis", tuple(axis), ndim)
    axes = tuple(each % ndim for each in axis)
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: axis={tuple(axis)} has an axis twice.")
    return axes


def _is_float(array: jax.Array) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))


def _summed_dtype(a: jax.Array, dtype: str | None) -> Any:
    # Booleans are counted in int64; other dtypes stay, whatever NumPy does.
    return dtype or (jnp.int64 if a.dtype == jnp.bool_ else a.dtype)


@op("_np_sum", dtypes=COUNT)
def sum_(
    a,
    *,
    axis: Shape | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
    initial: float | None = None,
):
    """Sum along axes, all by default; booleans are added up in int64.

    Source: MXNet operator ``_np_sum``.
    """
    axes = numpy_axes("sum", a.ndim, axis)
    result_dtype = _summed_dtype(a, dtype)
    total = jnp.sum(a, axes, dtype=_inner_dtype(a, result_dtype), keepdims=keepdims)
    return to_dtype(total, result_dtype) + _start(initial, 0, result_dtype)


def _inner_dtype(a: jax.Array, result_dtype: Any) -> Any:
    """What is computed in: fractions are cut off the result, not off the numbers."""
    return (
        jnp.float64 if _is_float(a) and jnp.issubdtype(result_dtype, jnp.integer) else result_dtype
    )


def _start(initial: float | None, neutral: int, dtype: DTypeLike) -> Any:
    return jnp.asarray(neutral if initial is None else initial, dtype)


@op("_np_prod", aliases=["_np_product"], dtypes=COUNT)
def prod(
    a,
    *,
    axis: Shape | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
    initial: float | None = None,
):
    """Product along axes, all by default.

    Source: MXNet operator ``_np_prod``.
    """
    axes = numpy_axes("prod", a.ndim, axis)
    result_dtype = _summed_dtype(a, dtype)
    product = jnp.prod(a, axes, dtype=_inner_dtype(a, result_dtype), keepdims=keepdims)
    return to_dtype(product, result_dtype) * _start(initial, 1, result_dtype)


def _declare_extreme(
    name: str, function: Callable[..., Any], reduce: Callable[..., Any], meet: Any, text: str
) -> None:
    choose = all_ties(function, reduce)

    def extreme(
        a, *, axis: Shape | None = None, keepdims: bool = False, initial: float | None = None
    ):
        axes = numpy_axes(name, a.ndim, axis)
        if not all(a.shape[each] for each in axes):
            if initial is None:
                raise ShapeError(
                    f"{name}: an array of shape {a.shape} has no elements along axes {axes}."
                )
            return jnp.full(function(a, axes, keepdims=keepdims, initial=0).shape, initial, a.dtype)
        result = choose(a, axes, keepdims)
        return result if initial is None else meet(result, jnp.asarray(initial, a.dtype))

    extreme.__doc__ = (
        f"{text} Along axes, all by default.\n\nSource: MXNet operator ``_np_{name}``."
    )
    op(f"_np_{name}", aliases=[f"_np_a{name}"])(extreme)


_declare_extreme("max", jnp.max, jax.lax.reduce_max, jnp.maximum, "Largest element.")
_declare_extreme("min", jnp.min, jax.lax.reduce_min, jnp.minimum, "Smallest element.")


def _declare_truth(name: str, function: Callable[..., Any], text: str, aliases: list[str]) -> None:
    def truth(data, *, axis: Shape | None = None, keepdims: bool = False):
        return function(data != 0, numpy_axes(name, data.ndim, axis), keepdims=keepdims)

    truth.__doc__ = (
        f"{text} Along axes, all by default; booleans.\n\nSource: MXNet operator ``_np_{name}``."
    )
    op(f"_np_{name}", aliases=aliases, dtypes=TRUTH, differentiable=False)(truth)


_declare_truth("all", jnp.all, "Whether every element is true.", [])
_declare_truth("any", jnp.any, "Whether any element is true.", ["_np_sometrue"])


@op("_npi_mean", dtypes=FRACTION)
def mean(
    a,
    *,
    axis: Shape | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
    initial: float | None = None,
):
    """Mean along axes, all by default; of whole numbers in float32.

    Source: MXNet operator ``_npi_mean``.
    """
    result_dtype = dtype or (a.dtype if _is_float(a) else jnp.float32)
    axes = numpy_axes("mean", a.ndim, axis)
    if not _is_float(a) and jnp.issubdtype(result_dtype, jnp.integer):  # the sum has the dtype too
        return jnp.mean(a, axes, dtype=result_dtype, keepdims=keepdims)
    return to_dtype(_average(a, axes, _inner_dtype(a, result_dtype), keepdims), result_dtype)


def _average(a: Any, axes: tuple[int, ...], dtype: Any, keepdims: bool = False) -> Any:
    """The mean, of nothing 0; computed in float32 at least."""
    count = math.prod(a.shape[each] for each in axes)
    count = max(1, count) if isinstance(count, int) else jnp.asarray(count)  # or a symbol
    if not jnp.issubdtype(dtype, jnp.floating):
        dtype = jnp.float64
    wide = jnp.promote_types(dtype, jnp.float32)
    return quotient(jnp.sum(a, axes, dtype=wide, keepdims=keepdims), count).astype(dtype)


def _variance(a: jax.Array, axes: tuple[int, ...], ddof: int, keepdims: bool) -> Any:
    count = math.prod(a.shape[each] for each in axes)
    centred = a - _average(a, axes, a.dtype, keepdims=True)
    return quotient(jnp.sum(centred * centred, axes, keepdims=keepdims), count - ddof).astype(
        a.dtype
    )


def _root(squares: Any) -> Any:
    """The square root, with derivative 0 at 0."""
    above = squares != 0
    return jnp.where(above, jnp.sqrt(jnp.where(above, squares, 1)), 0).astype(squares.dtype)


def _declare_spread(name: str, finish: Any, text: str) -> None:
    def spread(
        a,
        *,
        axis: Shape | None = None,
        dtype: DType | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ):
        if a.dtype == jnp.bool_:
            raise DTypeError(f"{name} takes numbers, not booleans; cast with astype().")
        axes = numpy_axes(name, a.ndim, axis)
        result_dtype = jnp.dtype(dtype or a.dtype)
        inner = result_dtype if jnp.issubdtype(result_dtype, jnp.floating) else jnp.dtype("float64")
        result = finish(_variance(a.astype(inner), axes, ddof, keepdims))
        return to_dtype(result, result_dtype)

    spread.__doc__ = (
        f"{text} Along axes, all by default; the sum is divided by the count less ``ddof``. "
        f"In the dtype of the array.\n\nSource: MXNet operator ``_npi_{name}``."
    )
    op(f"_npi_{name}", output_names=(name,))(spread)


_declare_spread("var", lambda x: x, "Variance.")
_declare_spread("std", _root, "Standard deviation.")


def _declare_position(name: str, function: Callable[..., Any], text: str) -> None:
    def position(data, *, axis: int | None = None, keepdims: bool = False):
        if data.dtype == jnp.bool_:
            raise DTypeError(f"{name} takes numbers, not booleans; cast with astype().")
        if axis is not None and not numpy_axes(name, data.ndim, (axis,)):
            axis = None  # the one axis that an array without axes lets pass
        if not (data.size if axis is None else data.shape[axis]):
            raise ShapeError(f"{name}: an array of shape {data.shape} has no elements.")
        return function(data, axis, keepdims=keepdims).astype(jnp.int64)

    position.__doc__ = (
        f"{text} Along ``axis``, in the flattened array by default; int64.\n\nSource: MXNet "
        f"operator ``_npi_{name}``."
    )
    op(f"_npi_{name}", dtypes=PLACES, differentiable=False)(position)


_declare_position("argmax", jnp.argmax, "Position of the largest element.")
_declare_position("argmin", jnp.argmin, "Position of the smallest element.")


@op(
    "_npi_average",
    output_names=("output0",),
    arguments=lambda weighted: ("a", "weights") if weighted else ("a",),
    outputs=2,
    visible=lambda returned: 2 if returned else 1,
)
def average(
    a, weights=None, *, axis: Shape | None = None, returned: bool = False, weighted: bool = True
):
    """Mean along axes weighted by ``weights``, and the sum of the weights with ``returned``.

    Args:
        a: any shape.
        weights: the shape of ``a``, or 1-D with the extent of the one ``axis``.

    Source: MXNet operator ``_npi_average``.
    """
    axes = numpy_axes("average", a.ndim, axis)
    if not weighted:
        count = math.prod(a.shape[each] for each in axes)
        mean = _plain_mean(a, axes)
        if not count and _is_float(a):
            mean = jnp.full(mean.shape, jnp.nan, mean.dtype)
        return mean, jnp.full(mean.shape, count, mean.dtype)
    if weights.shape != a.shape:
        if weights.ndim != 1 or len(axes) != 1 or weights.shape[0] != a.shape[axes[0]]:
            raise ShapeError(
                f"average: weights of shape {weights.shape} fit neither a, {a.shape}, nor one axis "
                f"of it; give 1-D weights and an axis of their extent."
            )
        shape = [1] * a.ndim
        shape[axes[0]] = weights.shape[0]
        total = jnp.sum(weights.astype(a.dtype), dtype=a.dtype)
        weights = weights.reshape(shape).astype(a.dtype)
    else:
        weights = weights.astype(a.dtype)
        total = jnp.sum(weights, axes, dtype=a.dtype)
    mean = jnp.sum(a * weights, axes, dtype=a.dtype)
    return (quotient(mean, total) if _is_float(a) else jax.lax.div(mean, total)), total


def _plain_mean(a: jax.Array, axes: tuple[int, ...]) -> Any:
    return to_dtype(_average(a, axes, a.dtype if _is_float(a) else jnp.float64), a.dtype)


@op(
    "_npi_percentile",
    dtypes=Dtypes(
        own={"q": None}, of_shared=lambda dtype: "float64" if dtype == "float64" else "float32"
    ),
    booleans=False,
    arguments=lambda q_scalar: ("a",) if q_scalar is not None else ("a", "q"),
    differentiable=False,
)
def percentile(
    a,
    q=None,
    *,
    axis: Shape | None = None,
    interpolation: Literal["linear", "lower", "higher", "midpoint", "nearest"] = "linear",
    keepdims: bool = False,
    q_scalar: float | None = None,
):
    """The q-th percentiles along axes, all by default.

    Args:
        a: any shape.
        q: percentages from 0 to 100; its axes come first in the result.
        q_scalar: a single percentage instead of ``q``.

    Source: MXNet operator ``_npi_percentile``.
    """
    if q_scalar is not None and not 0 <= q_scalar <= 100:
        raise OperatorValueError(f"percentile: q={q_scalar} is not between 0 and 100.")
    percentages = jnp.asarray(q_scalar if q is None else q)
    numbers = a if a.dtype == jnp.float64 else a.astype(jnp.float32)
    axes = numpy_axes("percentile", a.ndim, axis)
    percentages = percentages.astype(numbers.dtype)

    def by(method: str) -> Any:
        return jnp.percentile(numbers, percentages, axes, method=method, keepdims=keepdims)

    if interpolation != "nearest":
        return by(interpolation).astype(numbers.dtype)
    # Half way between two elements MXNet takes the upper one.
    lower, higher = by("lower"), by("higher")
    place = percentages / 100 * (math.prod(a.shape[each] for each in axes) - 1)
    upper = place - jnp.floor(place) >= 0.5
    upper = upper.reshape(*upper.shape, *[1] * (lower.ndim - upper.ndim))
    return jnp.where(upper, higher, lower).astype(numbers.dtype)


@op("_npi_diff", booleans=False)
def diff(a, *, n: Count = 1, axis: Axis = -1):
    """Differences between neighbours along ``axis``, taken ``n`` times in a row.

    Source: MXNet operator ``_npi_diff``.
    """
    return jnp.diff(a, n, axis)


def _ends(to_begin_arr_given: bool, to_end_arr_given: bool) -> tuple[str, ...]:
    names: tuple[str, ...] = ("input1",)
    if to_begin_arr_given:
        names += ("input2",)
    return (*names, "input3") if to_end_arr_given else names


@op("_npi_ediff1d", booleans=False, arguments=_ends)
def ediff1d(
    input1,
    input2=None,
    input3=None,
    *,
    to_begin_arr_given: bool = False,
    to_end_arr_given: bool = False,
    to_begin_scalar: float | None = None,
    to_end_scalar: float | None = None,
):
    """Differences between neighbours in the flattened array, with numbers prepended and appended.

    Args:
        input1: any shape.
        input2: numbers to prepend, with ``to_begin_arr_given``.
        input3: numbers to append, with ``to_end_arr_given``.

    Source: MXNet operator ``_npi_ediff1d``.
    """
    parts = [jnp.diff(input1.reshape(-1))]
    if to_begin_arr_given or to_begin_scalar is not None:
        before = input2 if to_begin_arr_given else jnp.asarray([to_begin_scalar])
        parts.insert(0, before.reshape(-1).astype(input1.dtype))
    if to_end_arr_given or to_end_scalar is not None:
        behind = input3 if to_end_arr_given else jnp.asarray([to_end_scalar])
        parts.append(behind.reshape(-1).astype(input1.dtype))
    return jnp.concatenate(parts)
