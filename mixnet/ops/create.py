"""Arrays made of nothing: constants and ranges."""

from __future__ import annotations

import math

import jax.numpy as jnp

from mixnet.ops.attributes import DType, Scalar, Shape
from mixnet.ops.registry import op


@op("_zeros", differentiable=False)
def zeros(*, shape: Shape = (), ctx: str = "", dtype: DType = "float32"):
    """Zeros."""
    return jnp.zeros(shape, dtype)


@op("_ones", differentiable=False)
def ones(*, shape: Shape = (), ctx: str = "", dtype: DType = "float32"):
    """Ones."""
    return jnp.ones(shape, dtype)


@op("_full", differentiable=False)
def full(*, shape: Shape = (), ctx: str = "", dtype: DType = "float32", value: Scalar):
    """One number everywhere."""
    return jnp.broadcast_to(jnp.asarray(value).astype(dtype), shape)


@op("_eye", differentiable=False)
def eye(*, N: int, M: int = 0, k: int = 0, ctx: str = "", dtype: DType = "float32"):
    """A matrix with ones on diagonal ``k``; ``M`` columns, ``N`` if 0."""
    return jnp.eye(N, M or N, k, dtype)


@op("_arange", differentiable=False)
def arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType = "float32",
):
    """Numbers from ``start`` to below ``stop``, each ``repeat`` times; from 0 if ``stop`` is None."""
    start, stop = (0.0, start) if stop is None else (start, stop)
    count = max(0, math.ceil((stop - start) / step))
    numbers = start + step * jnp.arange(count, dtype=jnp.float64)
    return jnp.repeat(numbers, repeat).astype(dtype)


@op("_linspace", differentiable=False)
def linspace(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType = "float32",
    num: int = 50,
    endpoint: bool = True,
):
    """``num`` numbers at equal distances from ``start`` to ``stop``."""
    return jnp.linspace(
        start, 1.0 if stop is None else stop, num, endpoint, dtype=jnp.float64
    ).astype(dtype)


@op("_contrib_arange_like", differentiable=False)
def arange_like(
    data,
    *,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = "",
    axis: int | None = None,
):
    """Numbers from ``start`` on, each ``repeat`` times, as many as ``data`` has.

    Returns:
        The shape of ``data``, or ``(data.shape[axis],)``, in the dtype of ``data``.

    Source: MXNet operator ``_contrib_arange_like``.
    """
    shape = data.shape if axis is None else (data.shape[axis],)
    steps = jnp.arange(math.prod(shape), dtype=jnp.int64) // repeat
    return (start + step * steps).reshape(shape).astype(data.dtype)
