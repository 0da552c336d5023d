"""Products with NumPy semantics, for ``mx.np``."""

from __future__ import annotations

import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.registry import op


@op("_np_dot", floats=True, one_dtype=True)
def dot(a, b):
    """Sum of products over the last axis of ``a`` and the second to last axis of ``b``, or its only one.

    Raises:
        ShapeError: the two axes differ.

    Source: MXNet operator ``_np_dot``.
    """
    if a.ndim and b.ndim and a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeError(
            f"dot: the last axis of {a.shape} and axis {-2 if b.ndim > 1 else 0} of {b.shape} "
            f"must have the same extent."
        )
    return jnp.dot(a, b)
