"""Comparison of whole arrays: approximate equality."""

from __future__ import annotations

import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.dtypes import Dtypes


@op(
    "_contrib_allclose",
    one_dtype=True,
    differentiable=False,
    in_amp_lists=False,
    dtypes=Dtypes(result="uint8"),
)
def allclose(a, b, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True):
    """Whether ``|a - b| <= atol + rtol |b|`` everywhere.

    Returns:
        1 or 0 as uint8, without axes.

    Raises:
        ShapeError: the arrays differ in shape.

    Source: MXNet operator ``_contrib_allclose``.
    """
    if a.shape != b.shape:
        raise ShapeError(f"_contrib_allclose: a is {a.shape}, b is {b.shape}; give equal shapes.")
    return jnp.allclose(a, b, rtol, atol, equal_nan=equal_nan).astype(jnp.uint8)
