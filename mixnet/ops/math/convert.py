"""Numbers of one dtype as numbers of another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


def to_dtype(data: jax.Array, dtype: DTypeLike) -> Any:
    """A cast as MXNet's: integers wrap, fractions are cut off.

    A float without a whole number of 32 bits (of 64, for dtypes of 64 bits), NaN among them,
    becomes the least such number, as processors have it; XLA would take the nearest.
    """
    wanted = jnp.dtype(dtype)
    if jnp.issubdtype(data.dtype, jnp.floating) and jnp.issubdtype(wanted, jnp.integer):
        bits = 64 if wanted.itemsize == 8 else 32
        above = 2.0 ** (bits - 1)
        limit = jax.lax.full_like(
            data, above if above <= float(jnp.finfo(data.dtype).max) else math.inf
        )
        # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
        data = jax.lax.select(jax.lax.lt(jax.lax.abs(data), limit), data, jax.lax.neg(limit))
        data = jax.lax.convert_element_type(data, jnp.int64 if bits == 64 else jnp.int32)
    return jax.lax.convert_element_type(data, wanted)


def number_of_dtype(number: Any, dtype: DTypeLike) -> Any:
    """One number, of Python or traced, in a dtype."""
    return to_dtype(jnp.asarray(number), dtype)
