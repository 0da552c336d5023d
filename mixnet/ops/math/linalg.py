"""Matrix products."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules


@op(
    "dot",
    floats=True,
    one_dtype=True,
    method=True,
    precision="widest",
    aliases=["_sparse_dot"],
    storage=storage_rules.DOT,
)
def dot(
    lhs,
    rhs,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
):
    """Sum of products over the last axis of the left and the first axis of the right array.

    ``transpose_a`` sums over the first axis of the left one, ``transpose_b`` over the last of the right one.

    Returns:
        The other axes of the left, then of the right array; ``(1,)`` for two vectors.

    Raises:
        ShapeError: the summed axes differ; or two vectors are to be transposed.

    Source: MXNet operator ``dot``.
    """
    if lhs.ndim == 1 and rhs.ndim == 1 and (transpose_a or transpose_b):
        raise ShapeError(
            f"dot: vectors {lhs.shape} and {rhs.shape} cannot be transposed "
            f"(transpose_a={transpose_a}, transpose_b={transpose_b}). Leave out transpose_a and transpose_b."
        )
    left, right = (0 if transpose_a else lhs.ndim - 1), (rhs.ndim - 1 if transpose_b else 0)
    _check("dot", lhs, rhs, left, right)
    if lhs.ndim == 2 and rhs.ndim == 2:
        # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
        axes = ((left,), (right,)), ((), ())
        out = jax.lax.dot_general(lhs, rhs, axes, preferred_element_type=lhs.dtype)
    else:
        out = jnp.tensordot(lhs, rhs, ((left,), (right,)))
    return out.reshape((1,)) if out.ndim == 0 else out


@dot.set_flops(is_product=True)
def _(inputs, outputs):
    # (rows·k)(k·columns)/(rows·columns) is k², whatever is transposed.
    k = math.isqrt(math.prod(inputs[0]) * math.prod(inputs[1]) // max(math.prod(outputs[0]), 1))
    return 2 * k * math.prod(outputs[0])


@op("batch_dot", floats=True, one_dtype=True, precision="widest", aliases=["_npx_batch_dot"])
def batch_dot(
    lhs,
    rhs,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
):
    """Matrix products of two batches: ``(..., n, k)`` and ``(..., k, m)`` give ``(..., n, m)``.

    Source: MXNet operator ``batch_dot``.
    """
    if lhs.ndim < 3 or lhs.shape[:-2] != rhs.shape[:-2]:
        raise ShapeError(
            f"batch_dot: shapes {lhs.shape} and {rhs.shape} must both be (batch, rows, columns) "
            f"with equal batches."
        )
    a = jnp.swapaxes(lhs, -1, -2) if transpose_a else lhs
    b = jnp.swapaxes(rhs, -1, -2) if transpose_b else rhs
    _check("batch_dot", a, b, a.ndim - 1, b.ndim - 2)
    return a @ b


@batch_dot.set_flops(is_product=True)
def _(inputs, outputs, transpose_a):
    return 2 * inputs[0][-2 if transpose_a else -1] * math.prod(outputs[0])


def _check(name: str, lhs: jax.Array, rhs: jax.Array, left: int, right: int) -> None:
    if not lhs.ndim or not rhs.ndim or lhs.shape[left] != rhs.shape[right]:
        raise ShapeError(
            f"{name}: axis {left} of the left array {lhs.shape} and axis {right} of the right one "
            f"{rhs.shape} must have the same extent. Transpose one (transpose_a, transpose_b)."
        )


@op("khatri_rao", floats=True, one_dtype=True, differentiable=False, precision="full")
def khatri_rao(*args):
    """Kronecker products of the columns of matrices.

    Args:
        args: ``(n_i, columns)`` each.

    Returns:
        ``(product of all n_i, columns)``; the rows of the last matrix vary fastest.

    Raises:
        ShapeError: they are not matrices, or differ in their columns.

    Source: MXNet operator ``khatri_rao``.
    """
    if any(each.ndim != 2 or each.shape[1] != args[0].shape[1] for each in args):
        raise ShapeError(
            f"khatri_rao: {', '.join(str(each.shape) for each in args)} must be matrices with the "
            f"same number of columns."
        )
    out = args[0]
    for each in args[1:]:
        out = (out[:, None] * each).reshape(-1, each.shape[1])
    return out
