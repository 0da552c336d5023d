"""``np.linalg`` and the products of ``np`` that no MXNet operator covers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.math.linalg_factor import (
    check_float,
    check_matrix,
    cholesky_factor,
    largest_is_positive,
)
from mixnet.ops.numpy.einsum import einsum_problem
from mixnet.ops.numpy.shape import check_axis
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Shape
from mixnet.ops.schema.dtypes import SOLUTION


def _float(matrix: jax.Array) -> Any:
    return matrix if jnp.issubdtype(matrix.dtype, jnp.floating) else matrix.astype(jnp.float64)


# ---- products -------------------------------------------------------------------------------


@op("_npi_matmul", one_dtype=True, output_names=("out",))
def matmul(a, b):
    """Matrix product over the last two axes; the others broadcast.

    A vector on the left counts as a row, on the right as a column, and the result is without that axis.

    Raises:
        ShapeError: an array has no axes, or the extents do not fit.

    Source: MXNet operator ``_npi_matmul``.
    """
    if not a.ndim or not b.ndim:
        raise ShapeError("matmul takes no numbers. Use multiply or *.")
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ShapeError(
            f"matmul: the columns of {a.shape} are not the rows of {b.shape}. Transpose one."
        )
    return jnp.matmul(a, b)


@matmul.set_flops(is_product=True)
def _(inputs, outputs):
    return 2 * inputs[0][-1] * math.prod(outputs[0])


@op("_npi_einsum", one_dtype=True)
def einsum(*data, subscripts: str = "", optimize: int = 0):
    """Sums of products by Einstein's convention, as ``subscripts`` says.

    Args:
        data: as many arrays as the subscripts have terms.

    Raises:
        AttributeValueError: the subscripts are not understood or do not fit the arrays.

    Source: MXNet operator ``_npi_einsum``.
    """
    shapes = [each.shape for each in data]
    problem = einsum_problem(subscripts, shapes)
    try:
        if problem is None:
            return jnp.einsum(subscripts, *data, optimize="optimal" if optimize else "auto")
    except (ValueError, TypeError, IndexError):
        problem = "give them as in 'ij,jk->ik'"
    raise OperatorValueError(
        f"einsum: subscripts={subscripts!r} do not fit arrays of shapes {shapes}: {problem}."
    )


def _tensordot(a: Any, b: Any, axes: Any) -> Any:
    left, right = axes
    try:
        met = [(a.shape[i], b.shape[j]) for i, j in zip(left, right, strict=True)]
    except (IndexError, ValueError):
        met = [(0, 1)]
    if any(i != j for i, j in met):
        raise ShapeError(
            f"tensordot: axes {left} of {a.shape} and {right} of {b.shape} must exist, be equal "
            f"in number and have the same extents."
        )
    return jnp.tensordot(a, b, (left, right))


@op("_npi_tensordot", one_dtype=True)
def tensordot(a, b, *, a_axes_summed: Shape, b_axes_summed: Shape):
    """Sum of products over the axes ``a_axes_summed`` of ``a`` and ``b_axes_summed`` of ``b``.

    Raises:
        ShapeError: these axes do not fit.

    Source: MXNet operator ``_npi_tensordot``.
    """
    return _tensordot(a, b, (a_axes_summed, b_axes_summed))


@op("_npi_tensordot_int_axes", one_dtype=True)
def tensordot_int_axes(a, b, *, axes: int):
    """Sum of products over the last ``axes`` axes of ``a`` and the first ones of ``b``.

    Raises:
        ShapeError: these axes do not fit.

    Source: MXNet operator ``_npi_tensordot_int_axes``.
    """
    return _tensordot(a, b, (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))))


@op("_npi_polyval", one_dtype=True)
def polyval(p, x):
    """The polynomial with coefficients ``p``, highest power first, at every ``x``.

    Args:
        p: ``(order + 1,)``.

    Raises:
        ShapeError: ``p`` does not have one axis.

    Source: MXNet operator ``_npi_polyval``.
    """
    if p.ndim != 1:
        raise ShapeError(f"polyval: p is {p.shape}; the coefficients must have one axis.")
    total = jnp.zeros(x.shape, x.dtype)
    if p.shape[0] > _MOST_WRITTEN_OUT:
        return jax.lax.scan(lambda total, each: (total * x + each, None), total, p)[0]
    for each in p:
        total = total * x + each
    return total


_MOST_WRITTEN_OUT = 16
"""The most coefficients of a polynomial that is no loop: a compiler fuses its steps."""


@op("_npi_norm", output_names=("output0",))
def norm(
    data, *, ord: float = 2.0, axis: Shape | None = None, keepdims: bool = False, flag: int = -1
):
    """Norm of vectors (one axis) or matrices (two).

    Args:
        data: any shape; without ``axis`` all its axes.
        flag: which norm: -2 the 2-norm of all elements, 1 the Frobenius norm, 2 the nuclear norm,
            otherwise the one of order ``ord``.

    Raises:
        AttributeValueError: there is no such norm.

    Source: MXNet operator ``_npi_norm``.
    """
    axes = tuple(range(data.ndim)) if axis is None else axis
    data = _float(data)
    if flag == -2 or (flag == 1 and len(axes) != 2):
        return jnp.sqrt(jnp.square(data).sum(axes, keepdims=keepdims))
    order = {1: "fro", 2: "nuc"}.get(flag, int(ord) if float(ord).is_integer() else ord)
    try:
        return jnp.linalg.norm(data, order, axes[0] if len(axes) == 1 else axes, keepdims)
    except ValueError:
        raise OperatorValueError(
            f"norm: ord={ord} and flag={flag} are not a norm over axes {axes} of {data.shape}."
        ) from None


# ---- factors and systems --------------------------------------------------------------------


@op("_npi_cholesky")
def cholesky(A):
    """The lower triangular L with ``A = L · Lᵀ``; NaN where there is none.

    Args:
        A: ``(..., n, n)``, symmetric and positive definite; the lower triangle is read.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_cholesky``.
    """
    return cholesky_factor("linalg.cholesky", A)


@op("_npi_svd", outputs=3)
def svd(A):
    """Singular values: ``A = U · diag(L) · V``.

    Args:
        A: ``(..., m, n)``; k is the smaller of m and n.

    Returns:
        U ``(..., m, k)``, L ``(..., k)`` in descending order and V ``(..., k, n)``, each row of which
        has its largest element by size positive.

    Raises:
        ShapeError: fewer than two axes.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_svd``.
    """
    if A.ndim < 2:
        raise ShapeError(f"linalg.svd: the matrix is {A.shape}; it needs at least two axes.")
    check_float("linalg.svd", A)
    if not A.size:
        *batch, m, n = A.shape
        k = min(m, n)
        shapes = (*batch, m, k), (*batch, k), (*batch, k, n)
        return tuple(jnp.zeros(shape, A.dtype) for shape in shapes)
    u, values, v = jnp.linalg.svd(A, full_matrices=False)
    signs = largest_is_positive(v, -1)
    return u * jnp.swapaxes(signs, -1, -2), values, v * signs


def _without_integers(*arrays: jax.Array) -> Sequence[jax.Array]:
    """The arrays in float64 if one of them is of integers, as MXNet solves such systems."""
    if any(jnp.issubdtype(each.dtype, jnp.integer) for each in arrays):
        return [each.astype(jnp.float64) for each in arrays]
    return arrays


@op("_npi_solve", dtypes=SOLUTION)
def solve(A, B):
    """The X with ``A · X = B``.

    Args:
        A: ``(..., n, n)``, invertible.
        B: ``(..., n, m)``, or ``(..., n)``.

    Raises:
        ShapeError: the shapes do not fit each other.
        DTypeError: float16 or bool.

    Source: MXNet operator ``_npi_solve``.
    """
    A, B = _without_integers(A, B)
    check_matrix("linalg.solve", A)
    vectors = B.ndim == A.ndim - 1
    right = B[..., None] if vectors else B
    if right.ndim < 2 or right.shape[-2] != A.shape[-1]:
        raise ShapeError(f"linalg.solve: B is {B.shape}, but A is {A.shape}; they need equal rows.")
    out = jnp.linalg.solve(A, right)
    return out[..., 0] if vectors else out


@op("_npi_tensorinv", dtypes=SOLUTION)
def tensorinv(a, *, ind: int = 2):
    """The inverse of ``a`` as a map from its last axes to its first ``ind`` ones.

    Raises:
        AttributeValueError: ``ind`` is below 1.
        ShapeError: the product of the extents is not the same on both sides.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_tensorinv``.
    """
    if ind < 1:
        raise OperatorValueError(f"linalg.tensorinv: ind={ind} must be above 0.")
    if ind > a.ndim or math.prod(a.shape[:ind]) != math.prod(a.shape[ind:]):
        raise ShapeError(
            f"linalg.tensorinv: the first {ind} axes of {a.shape} and the others must have as many "
            f"elements; give another ind, or an array of such a shape."
        )
    inner = a.shape[ind:] + a.shape[:ind]
    matrix = a.reshape(math.prod(a.shape[:ind]), -1)
    check_matrix("linalg.tensorinv", matrix)
    return jnp.linalg.inv(matrix).reshape(inner)


@op("_npi_tensorsolve", dtypes=SOLUTION)
def tensorsolve(a, b, *, a_axes: Shape | None = ()):
    """The x with ``tensordot(a, x, x.ndim) = b``.

    Args:
        a: axes of ``b``, then those of the result; ``a_axes`` are moved to its end before.

    Raises:
        ShapeError: the shapes do not fit each other.
        DTypeError: float16 or bool.

    Source: MXNet operator ``_npi_tensorsolve``.
    """
    a, b = _without_integers(a, b)
    if a_axes:
        for each in a_axes:
            check_axis("linalg.tensorsolve", each, a.ndim)
        moved = [each % a.ndim for each in a_axes]
        a = a.transpose([i for i in range(a.ndim) if i not in moved] + moved)
    unknown = a.shape[b.ndim :]
    if math.prod(unknown) != b.size or a.size != b.size**2:
        raise ShapeError(
            f"linalg.tensorsolve: a is {a.shape}, b {b.shape}; a must have the axes of b, then others "
            f"with {b.size} elements in all, as many as there are unknowns."
        )
    matrix = a.reshape(b.size, -1)
    check_matrix("linalg.tensorsolve", matrix)
    return jnp.linalg.solve(matrix, b.reshape(-1)).reshape(a.shape[b.ndim :])


# ---- without a gradient, as in MXNet ----------------------------------------------------------


def _pinv(matrix: jax.Array, rcond: Any, hermitian: bool) -> Any:
    if matrix.ndim < 2:
        raise ShapeError(f"linalg.pinv: the matrix is {matrix.shape}; it needs at least two axes.")
    check_float("linalg.pinv", matrix)
    return jnp.linalg.pinv(matrix, rtol=rcond, hermitian=hermitian)


@op("_npi_pinv", differentiable=False)
def pinv(A, rcond, *, hermitian: bool = False):
    """The pseudo-inverse.

    Args:
        A: ``(..., m, n)``.
        rcond: one number or ``(...)``: singular values below it times the largest count as 0.

    Raises:
        ShapeError: fewer than two axes.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_pinv``.
    """
    return _pinv(A, rcond, hermitian)


@op("_npi_pinv_scalar_rcond", dtypes=SOLUTION, differentiable=False)
def pinv_scalar_rcond(A, *, rcond: float = 1e-15, hermitian: bool = False):
    """The pseudo-inverse; singular values below ``rcond`` times the largest count as 0.

    Args:
        A: ``(..., m, n)``.

    Raises:
        ShapeError: fewer than two axes.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_pinv_scalar_rcond``.
    """
    return _pinv(A, rcond, hermitian)


def _eigh(name: str, matrix: jax.Array, triangle: str) -> tuple[Any, Any]:
    matrix = _float(matrix)
    check_matrix(name, matrix)
    if not matrix.size:
        return jnp.zeros(matrix.shape[:-1], matrix.dtype), matrix
    values, vectors = jnp.linalg.eigh(matrix, UPLO=triangle, symmetrize_input=False)
    return values, vectors * largest_is_positive(vectors, -2)


@op("_npi_eigh", outputs=2, dtypes=SOLUTION, differentiable=False)
def eigh(A, *, UPLO: Literal["L", "U"] = "L"):
    """Eigenvalues and eigenvectors of symmetric matrices.

    Args:
        A: ``(..., n, n)``; the triangle that ``UPLO`` names, lower or upper, is read.

    Returns:
        The eigenvalues ``(..., n)`` in ascending order, and ``(..., n, n)``, whose columns are the
        eigenvectors, each with its largest element by size positive.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_eigh``.
    """
    return _eigh("linalg.eigh", A, UPLO)


@op("_npi_eigvalsh", dtypes=SOLUTION, differentiable=False)
def eigvalsh(A, *, UPLO: Literal["L", "U"] = "L"):
    """Eigenvalues of symmetric matrices, ascending.

    Args:
        A: ``(..., n, n)``; the triangle that ``UPLO`` names, lower or upper, is read.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_eigvalsh``.
    """
    return _eigh("linalg.eigvalsh", A, UPLO)[0]


def _real(values: jax.Array) -> Any:
    """The real parts; NaN where an eigenvalue is not real, since there are no complex arrays."""
    return jnp.where(jnp.imag(values) == 0, jnp.real(values), jnp.nan)


@op("_npi_eig", outputs=2, dtypes=SOLUTION, differentiable=False)
def eig(A):
    """Eigenvalues and right eigenvectors; NaN for those that are not real.

    Args:
        A: ``(..., n, n)``.

    Returns:
        The eigenvalues ``(..., n)``, and ``(..., n, n)``, whose columns are the eigenvectors.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_eig``.
    """
    A = _float(A)
    check_matrix("linalg.eig", A)
    values, vectors = jnp.linalg.eig(A)
    return _real(values), _real(vectors)


@op("_npi_eigvals", dtypes=SOLUTION, differentiable=False)
def eigvals(A):
    """Eigenvalues; NaN for those that are not real.

    Args:
        A: ``(..., n, n)``.

    Raises:
        ShapeError: the matrices are not square.
        DTypeError: neither float32 nor float64.

    Source: MXNet operator ``_npi_eigvals``.
    """
    A = _float(A)
    check_matrix("linalg.eigvals", A)
    return _real(jnp.linalg.eigvals(A))
