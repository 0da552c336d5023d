"""Factorizations, inverses and determinants of the matrices on the last two axes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import DTypeError, ShapeError
from mixnet.ops.math.linalg_product import check_square
from mixnet.ops.registry import op
from mixnet.ops.schema.shape_constraints import same_as_first
from mixnet.private_jax.derivatives import CustomJVP


def check_float(name: str, matrix: jax.Array) -> None:
    """Raise unless ``matrix`` is of a dtype that factors are computed in.

    Raises:
        DTypeError: neither float32 nor float64.
    """
    if str(matrix.dtype) not in ("float32", "float64"):
        raise DTypeError(
            f"{name}: the matrix is {matrix.dtype}; it must be float32 or float64. Cast it with "
            f"astype('float32')."
        )


def check_matrix(name: str, matrix: jax.Array) -> None:
    """Raise unless ``matrix`` has equal last extents and a dtype that factors are computed in.

    Raises:
        ShapeError: the last two axes differ.
        DTypeError: neither float32 nor float64.
    """
    check_square(name, matrix)
    check_float(name, matrix)


@CustomJVP
def _symmetric(matrix: jax.Array) -> Any:
    """The symmetric matrix with the lower triangle of ``matrix``; for derivatives, ``matrix``.

    So the factors read one triangle, and their gradients are symmetric, as in MXNet.
    """
    return jnp.tril(matrix) + jnp.swapaxes(jnp.tril(matrix, -1), -1, -2)


@_symmetric.defjvp
def _(primals: jax.Array, tangents: jax.Array) -> Any:
    return _symmetric(primals[0]), tangents[0]


_TIED = 1e-4
"""Elements of a vector whose sizes differ by less, relatively, count as equally large."""


def largest_is_positive(vectors: jax.Array, axis: int) -> Any:
    """The signs, 1 or -1, that make the largest element by size of every vector positive.

    Of elements of nearly the same size it is the first, so that the last bits of a LAPACK decide nothing.
    """
    sizes = jnp.abs(vectors)
    largest = jnp.argmax(sizes >= sizes.max(axis, keepdims=True) * (1 - _TIED), axis, keepdims=True)
    chosen = jnp.take_along_axis(vectors, largest, axis)
    return jnp.where(jax.lax.stop_gradient(chosen) < 0, -1, 1).astype(vectors.dtype)


def cholesky_factor(name: str, matrix: jax.Array) -> Any:
    """The lower triangular L with ``matrix = L · Lᵀ``, of which only the lower triangle is read.

    Raises:
        ShapeError: the matrix is not square.
        DTypeError: neither float32 nor float64.
    """
    check_matrix(name, matrix)
    return jax.lax.linalg.cholesky(_symmetric(matrix), symmetrize_input=True)


@op("_linalg_potrf", aliases=["linalg_potrf"], precision="full", shape_constraint=same_as_first)
def potrf(A):
    """The lower triangular L with ``A = L · Lᵀ`` (Cholesky); NaN where there is none.

    Args:
        A: ``(..., n, n)``, symmetric and positive definite; the lower triangle is read.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_linalg_potrf``.
    """
    return cholesky_factor("linalg.potrf", A)


@op("_linalg_potri", aliases=["linalg_potri"], precision="full", shape_constraint=same_as_first)
def potri(A):
    """The inverse of ``A · Aᵀ`` for a lower triangular A.

    Args:
        A: ``(..., n, n)``; what is above the diagonal counts as 0.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_linalg_potri``.
    """
    check_matrix("linalg.potri", A)
    one = jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=A.dtype), A.shape)
    inverse = jax.lax.linalg.triangular_solve(jnp.tril(A), one, left_side=True, lower=True)
    return jnp.swapaxes(inverse, -1, -2) @ inverse


@op("_linalg_gelqf", aliases=["linalg_gelqf"], outputs=2, precision="full")
def gelqf(A):
    """Q with orthonormal rows and a lower triangular L, so that ``A = L · Q``.

    Args:
        A: ``(..., m, n)`` of full rank, m at most n.

    Returns:
        Q ``(..., m, n)`` and L ``(..., m, m)``.

    Raises:
        ShapeError: more rows than columns.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_linalg_gelqf``.
    """
    if A.ndim < 2 or A.shape[-2] > A.shape[-1]:
        raise ShapeError(
            f"linalg.gelqf: A is {A.shape}; give it (..., m, n) with m at most n. Transpose it."
        )
    check_float("linalg.gelqf", A)
    q, r = jnp.linalg.qr(jnp.swapaxes(A, -1, -2))
    return jnp.swapaxes(q, -1, -2), jnp.swapaxes(r, -1, -2)


@op("_linalg_syevd", outputs=2, precision="full")
def syevd(A):
    """Eigenvectors and eigenvalues of symmetric matrices: ``A = Uᵀ · diag(L) · U``.

    Args:
        A: ``(..., n, n)``, symmetric; the lower triangle is read.

    Returns:
        U ``(..., n, n)``, whose rows are the eigenvectors, each with its largest element by size
        positive, and L ``(..., n)`` in ascending order.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_linalg_syevd``.
    """
    check_matrix("linalg.syevd", A)
    values, vectors = jnp.linalg.eigh(_symmetric(A), symmetrize_input=True)
    vectors = vectors * largest_is_positive(vectors, -2)
    return jnp.swapaxes(vectors, -1, -2), values


@op("_linalg_inverse", aliases=["linalg_inverse", "_npi_inv"], precision="full")
def inverse(A):
    """The inverse of every matrix.

    Args:
        A: ``(..., n, n)``, invertible.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_linalg_inverse``.
    """
    check_matrix("linalg.inverse", A)
    return jnp.linalg.inv(A)


# MXNet has the next two under one name for both faces; a single determinant has shape () in mx.np.
@op("_npi_det", output_names=("output0",))
def numpy_det(A):
    """The determinant of every matrix.

    Args:
        A: ``(..., n, n)``.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_det``.
    """
    check_matrix("linalg.det", A)
    return jnp.linalg.det(A)


@op("_npi_slogdet", outputs=2)
def numpy_slogdet(A):
    """Sign of the determinant of every matrix, and the logarithm of its absolute value.

    A singular matrix has sign 0, logarithm -inf and no gradient.

    Args:
        A: ``(..., n, n)``.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_slogdet``.
    """
    check_matrix("linalg.slogdet", A)
    sign, size = jnp.linalg.slogdet(A)
    return sign, size


@numpy_slogdet.set_gradient
def _slogdet_gradient(heads, outputs, A):
    singular = (outputs[0] == 0)[..., None, None]
    invertible = jnp.where(singular, jnp.eye(A.shape[-1], dtype=A.dtype), A)
    slope = heads[1][..., None, None] * jnp.swapaxes(jnp.linalg.inv(invertible), -1, -2)
    return jnp.where(singular, 0, slope)


def _at_least_one_axis(array: jax.Array) -> Any:
    return array.reshape((1,)) if array.ndim == 0 else array


@op("_linalg_det", aliases=["linalg_det"], output_names=("output0",), precision="full")
def det(A):
    """The determinant of every matrix; of a single one with shape ``(1,)``.

    Args:
        A: ``(..., n, n)``.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_linalg_det``.
    """
    return _at_least_one_axis(numpy_det.function(A))


@op("_linalg_slogdet", aliases=["linalg_slogdet"], outputs=2, precision="full")
def slogdet(A):
    """Sign of the determinant, and the logarithm of its absolute value; ``(1,)`` for one matrix.

    A singular matrix has sign 0, logarithm -inf and no gradient.

    Args:
        A: ``(..., n, n)``.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_linalg_slogdet``.
    """
    sign, size = numpy_slogdet.function(A)
    return _at_least_one_axis(sign), _at_least_one_axis(size)


@slogdet.set_gradient
def _(heads, outputs, A):
    if A.ndim == 2:
        heads, outputs = [h[0] for h in heads], [o[0] for o in outputs]
    return _slogdet_gradient(heads, outputs, A)
