"""Questions about whole arrays: are all numbers finite, are two arrays about the same."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mixnet.base import DTypeError, ShapeError
from mixnet.ops.registry import op


@op("_contrib_allclose", differentiable=False)
def allclose(a, b, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True):
    """Whether ``|a - b| <= atol + rtol |b|`` everywhere.

    Returns:
        1 or 0 as uint8, without axes.

    Raises:
        ShapeError: the arrays differ in shape.

    Source: MXNet operator ``_contrib_allclose``.
    """
    if a.shape != b.shape:
        raise ShapeError(f"_contrib_allclose: a is {a.shape}, b is {b.shape}; give one shape.")
    return jnp.allclose(a, b, rtol, atol, equal_nan=equal_nan).astype(jnp.uint8)


def _finite(name: str, arrays: Any) -> Any:
    for each in arrays:
        if not jnp.issubdtype(each.dtype, jnp.floating):
            raise DTypeError(f"{name}: an array of {each.dtype}; whole numbers are always finite.")
    found = [jnp.isfinite(each).all() for each in arrays]
    return jnp.stack(found).all().astype(jnp.float32).reshape(1)


@op("all_finite", differentiable=False)
def all_finite(data, *, init_output: bool = True):
    """1 if no element is infinite or NaN, else 0.

    Args:
        data: floating point.
        init_output: taken and not used: the result never depends on what ``out`` held.

    Returns:
        float32, ``(1,)``.

    Raises:
        DTypeError: the data are no floating-point numbers.

    Source: MXNet operator ``all_finite``.
    """
    return _finite("all_finite", [data])


@op("multi_all_finite", num_args="num_arrays", differentiable=False)
def multi_all_finite(*data, init_output: bool = True):
    """1 if no element of any of the arrays is infinite or NaN, else 0.

    Args:
        data: floating point.
        init_output: taken and not used: the result never depends on what ``out`` held.

    Returns:
        float32, ``(1,)``.

    Raises:
        DTypeError: some data are no floating-point numbers.

    Source: MXNet operator ``multi_all_finite``.
    """
    return _finite("multi_all_finite", data)
