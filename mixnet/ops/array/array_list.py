"""Norms and checks of lists of arrays of different shapes, and setting them to zero; used by trainers."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.dtypes import Dtypes, all_own
from mixnet.ops.schema.shape_constraints import number_each, one_number


def _all_finite(arrays: Any) -> Any:
    finite = [jnp.all(jnp.isfinite(each)) for each in arrays]
    return jnp.all(jnp.stack(finite)).astype(jnp.float32).reshape(1)


@op(
    "all_finite",
    floats=True,
    differentiable=False,
    dtypes=Dtypes(own=all_own, result="float32"),
    shape_constraint=one_number,
)
def all_finite(data, *, init_output: bool = True):
    """Whether all elements are finite: 1 or 0, float32 ``(1,)``.

    ``init_output`` is accepted and ignored: the result is always that of this call.

    Source: MXNet operator ``all_finite``.
    """
    return _all_finite([data])


@op(
    "multi_all_finite",
    shape_constraint=one_number,
    floats=True,
    num_args="num_arrays",
    differentiable=False,
    dtypes=Dtypes(own=all_own, result="float32"),
)
def multi_all_finite(*data, init_output: bool = True):
    """Whether all elements of all arrays are finite: 1 or 0, float32 ``(1,)``.

    ``init_output`` is accepted and ignored: the result is always that of this call.

    Source: MXNet operator ``multi_all_finite``.
    """
    return _all_finite(data)


@op(
    "multi_sum_sq",
    dtypes=Dtypes(result="float32"),
    shape_constraint=number_each,
    floats=True,
    num_args="num_arrays",
    one_dtype=True,
    differentiable=False,
    in_amp_lists=False,
)
def multi_sum_sq(*data):
    """Sum of the squares of each array, float32 ``(number of arrays,)``.

    Source: MXNet operator ``multi_sum_sq``.
    """
    return jnp.stack([jnp.sum(jnp.square(each.astype(jnp.float32))) for each in data])


@op(
    "reset_arrays",
    outputs=0,
    states=lambda num_arrays: range(num_arrays),
    num_args=None,
    differentiable=False,
    in_amp_lists=False,
)
def reset_arrays(*data, num_arrays: int):
    """Fill the arrays with zeros, in place; there is no output.

    Raises:
        ShapeError: the number of arrays is not ``num_arrays``.

    Source: MXNet operator ``reset_arrays``.
    """
    if len(data) != num_arrays:
        raise ShapeError(f"reset_arrays: {len(data)} arrays, but num_arrays={num_arrays}.")
    return tuple(jnp.zeros_like(each) for each in data)
