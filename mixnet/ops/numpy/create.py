"""``mx.np`` arrays from shapes and ranges; shapes may be ``()`` or contain zeros."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from mixnet.ops.array.create import EYE, ONES, RANGE, ZEROS, evenly_spaced, steps_between
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Count, DType, Extents, Long, Positive, Scalar
from mixnet.ops.schema.dtypes import number_of_dtype, to_dtype
from mixnet.ops.schema.rewrites import Rewrites, diagonal


@op("_npi_zeros", differentiable=False, rewrites=ZEROS)
def zeros(*, shape: Extents = (), ctx: str = "", dtype: DType = "float32"):
    """An array of zeros, of ``shape`` and ``dtype``.

    Source: MXNet operator ``_npi_zeros``.
    """
    return jnp.zeros(shape, dtype)


@op("_npi_ones", differentiable=False, rewrites=ONES)
def ones(*, shape: Extents = (), ctx: str = "", dtype: DType = "float32"):
    """An array of ones, of ``shape`` and ``dtype``.

    Source: MXNet operator ``_npi_ones``.
    """
    return jnp.ones(shape, dtype)


@op(
    "_npi_identity",
    differentiable=False,
    rewrites=Rewrites(constant=lambda *, shape, dtype: diagonal(shape[0], shape[0], 0, dtype)),
)
def identity(*, shape: Extents = (), ctx: str = "", dtype: DType = "float32"):
    """The identity matrix of a square ``shape``.

    Source: MXNet operator ``_npi_identity``.
    """
    return jnp.eye(shape[0], dtype=dtype)


@op("_npi_eye", differentiable=False, rewrites=EYE)
def eye(
    *,
    N: Count,
    M: Count | None = None,
    k: Long = 0,
    ctx: str = "",
    dtype: DType = "float32",
):
    """A matrix of ``N`` rows and ``M`` columns with ones on diagonal ``k``, else zeros.

    Source: MXNet operator ``_npi_eye``.
    """
    return jnp.eye(N, M, k, dtype=dtype)


@op("_npi_full_like", differentiable=False)
def full_like(a, *, fill_value: Scalar, ctx: str = "", dtype: DType | None = None):
    """An array filled with ``fill_value`` in the shape of ``a``.

    Source: MXNet operator ``_npi_full_like``.
    """
    return jnp.broadcast_to(number_of_dtype(fill_value, dtype or a.dtype), a.shape)


@op("_npi_arange", differentiable=False, rewrites=RANGE)
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
    """Numbers from ``start`` up to, but not including, ``stop``; from 0 to ``start`` if ``stop`` is None.

    Source: MXNet operator ``_npi_arange``.
    """
    start, stop, count = steps_between("_npi_arange", start, stop, step)
    places = jnp.arange(count, dtype=jnp.int64)
    return jnp.repeat(evenly_spaced(start, step, places, dtype), repeat)


@op("_npi_logspace", differentiable=False)
def logspace(
    *,
    start: float,
    stop: float,
    num: Count,
    endpoint: bool = True,
    base: float = 10.0,
    ctx: str = "",
    dtype: DType = "float32",
):
    """``num`` powers of ``base`` whose exponents are evenly spaced from ``start`` to ``stop``.

    Source: MXNet operator ``_npi_logspace``.
    """
    return to_dtype(jnp.logspace(start, stop, num, endpoint, base, dtype=jnp.float64), dtype)


@op("_npi_indices", differentiable=False)
def indices(*, dimensions: Extents, dtype: DType = "int32", ctx: str = ""):
    """The indices of a grid: one array of the grid's shape for each of its axes.

    Source: MXNet operator ``_npi_indices``.
    """
    axes = range(len(dimensions))
    return jnp.stack([jax.lax.broadcasted_iota(dtype, dimensions, axis) for axis in axes])


def _declare_window(name: str, weights: tuple[float, ...], text: str) -> None:
    """A window that is a sum of cosines, in float32 as in MXNet."""

    def window(*, M: int | None = None, ctx: str = "", dtype: DType = "float32"):
        points = max(M or 0, 0)
        angles = 2 * math.pi * jnp.arange(points, dtype=jnp.float32) / max(points - 1, 1)
        waves = [weight * jnp.cos(order * angles) for order, weight in enumerate(weights)]
        return jnp.where(points == 1, 1, sum(waves[1:], weights[0])).astype(dtype)

    window.__doc__ = f"{text} It has ``M`` points.\n\nSource: MXNet operator ``_npi_{name}``."
    op(f"_npi_{name}", differentiable=False)(window)


_declare_window("hanning", (0.5, -0.5), "Hann window.")
_declare_window("hamming", (0.54, -0.46), "Hamming window.")
_declare_window("blackman", (0.42, -0.5, 0.08), "Blackman window.")
