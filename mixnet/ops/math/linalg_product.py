"""Matrix products on the last two axes, and triangular systems (BLAS 3)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axis
from mixnet.ops.schema.shape_constraints import triangular


def _transposed(matrix: jax.Array, turned: bool) -> Any:
    return jnp.swapaxes(matrix, -1, -2) if turned else matrix


def _check_batch(name: str, **matrices: Any) -> None:
    shapes = {key: array.shape for key, array in matrices.items()}
    if any(len(shape) < 2 for shape in shapes.values()):
        raise ShapeError(f"{name}: shapes {shapes}; matrices have at least two axes.")
    if len({shape[:-2] for shape in shapes.values()}) > 1:
        raise ShapeError(
            f"{name}: shapes {shapes} must agree in all axes but the last two. Broadcast before."
        )


def check_square(name: str, matrix: jax.Array) -> None:
    """Raise unless the last two axes of ``matrix`` have one extent.

    Raises:
        ShapeError: they have not.
    """
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ShapeError(f"{name}: the matrix is {matrix.shape}; give it (..., n, n).")


def _product(name: str, a: jax.Array, b: jax.Array, transpose_a: bool, transpose_b: bool) -> Any:
    _check_batch(name, A=a, B=b)
    left, right = _transposed(a, transpose_a), _transposed(b, transpose_b)
    if left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"{name}: A is {a.shape} and B {b.shape} with transpose_a={transpose_a}, "
            f"transpose_b={transpose_b}: the columns of the first are not the rows of the second."
        )
    return left @ right


def _rows_at(name: str, array: jax.Array, axis: int) -> Any:
    """``array`` with the rows of its matrices moved from ``axis`` to where they are by default."""
    if axis == -2:
        return array
    if array.ndim < 2 or not -array.ndim <= axis < array.ndim - 1 or axis == -1:
        raise ShapeError(
            f"{name}: axis={axis} cannot hold the rows of arrays of shape {array.shape}; the "
            f"columns are on the last axis."
        )
    return jnp.moveaxis(array, axis, -2)


@op("_linalg_gemm", floats=True, one_dtype=True, aliases=["linalg_gemm"], precision="full")
def gemm(
    A,
    B,
    C,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: Axis = -2,
):
    """``alpha · op(A) · op(B) + beta · C`` for every matrix of a batch.

    Args:
        A: ``(..., n, k)``, or ``(..., k, n)`` with ``transpose_a``.
        B: ``(..., k, m)``, or ``(..., m, k)`` with ``transpose_b``.
        C: ``(..., n, m)``. The rows of all arrays are on ``axis``, the columns on the last axis.

    Raises:
        ShapeError: the shapes do not fit each other.

    Source: MXNet operator ``_linalg_gemm``.
    """
    A, B, C = (_rows_at("linalg.gemm", each, axis) for each in (A, B, C))
    product = _product("linalg.gemm", A, B, transpose_a, transpose_b)
    if product.shape != C.shape:
        raise ShapeError(f"linalg.gemm: C is {C.shape}, but the product is {product.shape}.")
    out = alpha * product + beta * C
    return out if axis == -2 else jnp.moveaxis(out, -2, axis)


@gemm.infer_inputs
def _(A, B, *, transpose_a, transpose_b, axis):
    if B is None:
        return {}
    shape = list(A)
    shape[axis] = A[-1] if transpose_a else A[axis]
    shape[-1] = B[axis] if transpose_b else B[-1]
    return {"C": tuple(shape)}


@op("_linalg_gemm2", floats=True, one_dtype=True, aliases=["linalg_gemm2"], precision="full")
def gemm2(
    A,
    B,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: Axis = -2,
):
    """``alpha · op(A) · op(B)`` for every matrix of a batch.

    Args:
        A: ``(..., n, k)``, or ``(..., k, n)`` with ``transpose_a``.
        B: ``(..., k, m)``, or ``(..., m, k)`` with ``transpose_b``. The rows of both are on
            ``axis``, the columns on the last axis.

    Raises:
        ShapeError: the shapes do not fit each other.

    Source: MXNet operator ``_linalg_gemm2``.
    """
    A, B = (_rows_at("linalg.gemm2", each, axis) for each in (A, B))
    out = alpha * _product("linalg.gemm2", A, B, transpose_a, transpose_b)
    return out if axis == -2 else jnp.moveaxis(out, -2, axis)


@gemm2.set_flops(is_product=True)
def _(inputs, outputs, transpose_a):
    return 2 * inputs[0][-2 if transpose_a else -1] * math.prod(outputs[0])


@op("_linalg_syrk", floats=True, aliases=["linalg_syrk"], precision="full")
def syrk(A, *, transpose: bool = False, alpha: float = 1.0):
    """``alpha · A · Aᵀ``, or ``alpha · Aᵀ · A`` with ``transpose``.

    Raises:
        ShapeError: fewer than two axes.

    Source: MXNet operator ``_linalg_syrk``.
    """
    return alpha * _product("linalg.syrk", A, A, transpose, not transpose)


def _triangle(name: str, a: jax.Array, b: jax.Array, rightside: bool, lower: bool) -> Any:
    check_square(name, a)
    _check_batch(name, A=a, B=b)
    if a.shape[-1] != b.shape[-1 if rightside else -2]:
        raise ShapeError(
            f"{name}: the triangular A is {a.shape} and B {b.shape} with rightside={rightside}: "
            f"the product does not exist."
        )
    return jnp.tril(a) if lower else jnp.triu(a)


_triangular_op = partial(
    op, floats=True, one_dtype=True, precision="full", shape_constraint=triangular
)


@_triangular_op("_linalg_trmm", aliases=["linalg_trmm"])
def trmm(
    A,
    B,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
):
    """``alpha · op(A) · B`` with a triangular A, or ``alpha · B · op(A)`` with ``rightside``.

    Args:
        A: ``(..., n, n)``; what is above the diagonal (below it unless ``lower``) counts as 0.
        B: ``(..., n, m)``, or ``(..., m, n)`` with ``rightside``.

    Raises:
        ShapeError: the shapes do not fit each other.

    Source: MXNet operator ``_linalg_trmm``.
    """
    triangle = _transposed(_triangle("linalg.trmm", A, B, rightside, lower), transpose)
    return alpha * (B @ triangle if rightside else triangle @ B)


@_triangular_op("_linalg_trsm", aliases=["linalg_trsm"])
def trsm(
    A,
    B,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
):
    """The X with ``op(A) · X = alpha · B`` for a triangular A; ``X · op(A)`` with ``rightside``.

    Args:
        A: ``(..., n, n)``; what is above the diagonal (below it unless ``lower``) counts as 0.
        B: ``(..., n, m)``, or ``(..., m, n)`` with ``rightside``.

    Raises:
        ShapeError: the shapes do not fit each other.

    Source: MXNet operator ``_linalg_trsm``.
    """
    triangle = _triangle("linalg.trsm", A, B, rightside, lower)
    return jax.lax.linalg.triangular_solve(
        triangle, alpha * B, left_side=not rightside, lower=lower, transpose_a=transpose
    )
