"""Operators without inputs: constants and ranges."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axis, Count, DType, Extents, Long, Positive, Scalar
from mixnet.ops.schema.dtypes import number_of_dtype, to_dtype
from mixnet.ops.schema.rewrites import Rewrites, counted, diagonal, filled

ZEROS = Rewrites(constant=lambda *, shape, dtype: filled(shape, 0, dtype))
ONES = Rewrites(constant=lambda *, shape, dtype: filled(shape, 1, dtype))
EYE = Rewrites(constant=lambda *, N, M, k, dtype: diagonal(N, M or N, k, dtype))
RANGE = Rewrites(constant=counted)


def of_shape(*, shape: Extents, dtype: str, **_: object) -> list[Any]:
    """Shape and dtype of the result, which the attributes say."""
    return [(tuple(shape), jnp.dtype(dtype))]


@op("_zeros", differentiable=False, flops=0, rewrites=ZEROS, shaped_by="shape")
def zeros(*, shape: Extents = (), ctx: str = "", dtype: DType = "float32"):
    """An array of zeros, of ``shape`` and ``dtype``."""
    return jax.lax.full(shape, 0, dtype)


zeros.infer_outputs(of_shape)


@op("_ones", differentiable=False, flops=0, rewrites=ONES, shaped_by="shape")
def ones(*, shape: Extents = (), ctx: str = "", dtype: DType = "float32"):
    """An array of ones, of ``shape`` and ``dtype``."""
    return jax.lax.full(shape, 1, dtype)


ones.infer_outputs(of_shape)


@op(
    "_full",
    differentiable=False,
    flops=0,
    rewrites=Rewrites(constant=lambda *, shape, value, dtype: filled(shape, value, dtype)),
    shaped_by="shape",
    aliases=["_npi_full"],
)
def full(*, shape: Extents = (), ctx: str = "", dtype: DType = "float32", value: Scalar):
    """An array of ``shape`` and ``dtype`` filled with ``value``."""
    return jnp.broadcast_to(number_of_dtype(value, dtype), shape)


full.infer_outputs(of_shape)


@op("_eye", differentiable=False, rewrites=EYE)
def eye(*, N: Count, M: Count = 0, k: Long = 0, ctx: str = "", dtype: DType = "float32"):
    """A matrix of ``N`` rows with ones on diagonal ``k``, else zeros; it has ``M`` columns, ``N`` if 0."""
    return jnp.eye(N, M or N, k, dtype)


def steps_between(
    name: str, start: float, stop: float | None, step: float
) -> tuple[float, float, int]:
    """Where a range of numbers starts and stops, and how many it has; none if they lead away.

    Raises:
        AttributeValueError: one of the numbers is not finite, or ``step`` is 0.
    """
    start, stop = (0.0, start) if stop is None else (start, stop)
    if not step or not all(map(math.isfinite, (start, stop, step))):
        raise OperatorValueError(
            f"{name}: start={start:g}, stop={stop:g}, step={step:g} is out of range; give finite "
            f"numbers, and a step other than 0."
        )
    count = max(0, math.ceil((stop - start) / step))
    if count >= 2**31:
        raise OperatorValueError(
            f"{name}: start={start:g}, stop={stop:g}, step={step:g} is out of range; that would be "
            f"{count:g} numbers, more than an array holds."
        )
    return start, stop, count


def evenly_spaced(start: float, step: float, places: jax.Array, dtype: Any) -> Any:
    """``start + places * step`` in the arithmetic of ``dtype``, in which ``start`` and ``step`` are, too.

    So MXNet computes it: steps of whole numbers lose their fraction, as NumPy's do. Float16 alone is
    computed in float64 and rounded once.
    """
    kind = jnp.dtype(dtype)
    if jnp.issubdtype(kind, jnp.integer):
        return (int(start) + int(step) * places.astype(jnp.int64)).astype(kind)
    wide = places.astype(jnp.float64)
    if kind != jnp.float32:
        return to_dtype(start + step * wide, kind)
    # Products and sums of float32 are exact in float64 up to one rounding; XLA would fuse those of float32.
    product = jax.lax.reduce_precision(float(np.float32(step)) * wide, 8, 23)
    return (float(np.float32(start)) + product).astype(kind)


@op("_arange", differentiable=False, flops=0, rewrites=RANGE)
def arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: Positive = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType = "float32",
):
    """Numbers from ``start`` up to, but not including, ``stop``, each ``repeat`` times.

    They start at 0 if ``stop`` is None, and end before ``start``.

    Raises:
        AttributeValueError: ``step`` leads away from ``stop``.
    """
    start, stop, count = steps_between("_arange", start, stop, step)
    if (stop - start) * step < 0:
        raise OperatorValueError(
            f"_arange: step={step:g} is out of range: it leads away from start={start:g} to stop="
            f"{stop:g}; give it the other sign."
        )
    places = jnp.arange(count, dtype=jnp.int64)
    return jnp.repeat(evenly_spaced(start, step, places, dtype), repeat)


@op("_linspace", differentiable=False, aliases=["_npi_linspace"])
def linspace(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: Positive = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType = "float32",
    num: Count = 50,
    endpoint: bool = True,
):
    """``num`` evenly spaced numbers from ``start`` to ``stop``, which is left out without ``endpoint``."""
    end = 1.0 if stop is None else stop
    step = (end - start) / max(num - endpoint, 1)
    return to_dtype(start + step * jnp.arange(num, dtype=jnp.float64), dtype)


@op(
    "_contrib_arange_like",
    booleans=False,
    differentiable=False,
    in_amp_lists=False,
    aliases=["_npx_arange_like"],
)
def arange_like(
    data,
    *,
    start: float = 0.0,
    step: float = 1.0,
    repeat: Positive = 1,
    ctx: str = "",
    axis: Axis | None = None,
):
    """Numbers from ``start`` on in steps of ``step``, each ``repeat`` times, for every element of ``data``.

    Returns:
        The shape of ``data``, or ``(data.shape[axis],)`` if ``axis`` is given; in the dtype of ``data``.

    Source: MXNet operator ``_contrib_arange_like``.
    """
    shape = data.shape if axis is None else (data.shape[axis],)
    places = jnp.arange(math.prod(shape), dtype=jnp.int64) // repeat
    return evenly_spaced(start, step, places, data.dtype).reshape(shape)
