"""``mx.np.linalg``: linear algebra."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.base import AttributeTypeError, AttributeValueError, MatrixError, SizeError
from mixnet.numpy import reduce, shape
from mixnet.numpy.call import as_axes, call, check_array, counted_from_first, is_array
from mixnet.numpy.creation import eye
from mixnet.numpy.elementwise import FUNCTIONS
from mixnet.numpy.fallback import on_host
from mixnet.numpy.products import dot, matmul

if TYPE_CHECKING:
    from mixnet.numpy.call import Array, Operable, Operand

absolute, sqrt, square = FUNCTIONS["abs"], FUNCTIONS["sqrt"], FUNCTIONS["square"]


def norm(
    x: Array,
    ord: float | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Any:
    """Norm of vectors or matrices.

    Args:
        x: any shape.
        ord: order: a number, ``inf``, ``-inf``, 'fro', 'nuc', or None for the 2-norm of all.
        axis: one axis for vectors, two for matrices; by default all axes, or with ``ord`` the
            last two.
        keepdims: keep reduced axes with extent one.

    Raises:
        AssertionError: ``x`` is not an array.
        AxisError: ``x`` does not have these axes.
        ValueError: the order is not one of the norms, or the axes are neither one nor two.
    """
    check_array("norm", x)
    axes = as_axes(axis)
    if ord is not None:
        axes = tuple(range(len(x.shape)))[-2:] if axes is None else axes
        if len(axes) not in (1, 2):
            raise AttributeValueError(
                f"norm: axis={axis} is neither one axis of vectors nor two of matrices."
            )
    elif axes is not None and len(axes) > 2:
        raise AttributeValueError(f"norm: axis={axis} is more than the two axes of matrices.")
    if ord is None or ord == "fro" or (ord == 2 and len(axes) == 1):
        return sqrt(reduce.sum(square(x), axes, keepdims=keepdims))
    return (_vector_norm if len(axes) == 1 else _matrix_norm)(x, ord, axes, keepdims)


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    size = absolute(x)
    if ord in (onp.inf, "inf"):
        return reduce.max(size, axes, keepdims)
    if ord in (-onp.inf, "-inf"):
        return reduce.min(size, axes, keepdims)
    if isinstance(ord, str):
        raise AttributeValueError(f"norm: ord={ord!r} is not a norm of vectors; use a number.")
    if ord == 0:
        return reduce.sum((x != 0).astype(x.dtype), axes, keepdims=keepdims)
    return reduce.sum(size ** float(ord), axes, keepdims=keepdims) ** (1.0 / float(ord))


def _matrix_norm(x: Any, ord: object, axes: tuple[int, ...], keepdims: bool) -> Any:
    ndim = len(x.shape)
    row, column = counted_from_first("norm", axes, ndim)
    if ord in (1, -1, onp.inf, -onp.inf, "inf", "-inf"):
        best = reduce.min if ord in (-1, -onp.inf, "-inf") else reduce.max
        sums = reduce.sum(absolute(x), row if ord in (1, -1) else column, keepdims=True)
        return best(sums, (row, column), keepdims)
    if ord not in (2, -2, "nuc"):
        raise AttributeValueError(
            f"norm: ord={ord!r} is not a norm of matrices; use 1, 2, inf, 'fro', 'nuc'."
        )
    order = [i for i in range(ndim) if i not in (row, column)]
    values = svd(shape.transpose(x, [*order, row, column]))[1]
    combine = reduce.sum if ord == "nuc" else reduce.max if ord == 2 else reduce.min
    norms = combine(values, -1)
    for each in sorted((row, column)) if keepdims else ():
        norms = shape.expand_dims(norms, each)
    return norms


def svd(a: Operand) -> Any:
    """``(UT, L, V)`` with ``a = UT · diag(L) · V``: the thin decomposition."""
    return tuple(call("_npi_svd", a))


def cholesky(a: Operand) -> Any:
    """The lower triangular L with ``a = L · Lᵀ``."""
    return call("_npi_cholesky", a)


def inv(a: Operand) -> Any:
    """The inverse matrix.

    Args:
        a: square matrices, ``(..., n, n)``.
    """
    return call("_linalg_inverse", a)


def det(a: Operand) -> Any:
    """The determinant.

    Args:
        a: square matrices, ``(..., n, n)``.
    """
    return call("_npi_det", a)


def slogdet(a: Operand) -> Any:
    """Sign of the determinant, and the logarithm of its absolute value.

    Args:
        a: square matrices, ``(..., n, n)``.
    """
    return list(call("_npi_slogdet", a))


def solve(a: Operand, b: Operand) -> Any:
    """The x with ``a · x = b``."""
    return call("_npi_solve", a, b)


def tensorinv(a: Operand, ind: int = 2) -> Any:
    """The inverse as a tensor of its first ``ind`` axes and the others."""
    return call("_npi_tensorinv", a, ind=ind)


def tensorsolve(a: Operand, b: Operand, axes: Sequence[int] | None = None) -> Any:
    """The x with ``tensordot(a, x, x.ndim) = b``.

    Args:
        a: its first axes have the shape of ``b``, the others that of ``x``.
        b: any shape.
        axes: axes of ``a`` that are moved to its end first.
    """
    return call("_npi_tensorsolve", a, b, a_axes=tuple(axes or ()))


def pinv(a: Operand, rcond: float | Array = 1e-15, hermitian: bool = False) -> Any:
    """The pseudo-inverse; singular values below ``rcond`` times the largest count as 0.

    Args:
        a: matrices, ``(..., m, n)``.
        rcond: a number, or one for each matrix.
        hermitian: whether ``a`` is symmetric; the result is the same.
    """
    if is_array(rcond):
        return call("_npi_pinv", a, rcond, hermitian=hermitian)
    return call("_npi_pinv_scalar_rcond", a, rcond=float(rcond), hermitian=hermitian)


def eig(a: Operand) -> Any:
    """Eigenvalues and right eigenvectors of a general matrix whose eigenvalues are real."""
    return tuple(call("_npi_eig", a))


def eigh(a: Operand, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix.

    Args:
        a: square matrices, ``(..., n, n)``.
        UPLO: the triangle that is read: 'L' or 'U'.
    """
    return tuple(call("_npi_eigh", a, UPLO=UPLO))


def eigvals(a: Operand) -> Any:
    """Eigenvalues of a general matrix whose eigenvalues are real."""
    return call("_npi_eigvals", a)


def eigvalsh(a: Operand, UPLO: str = "L") -> Any:
    """Eigenvalues of a symmetric matrix.

    Args:
        a: square matrices, ``(..., n, n)``.
        UPLO: the triangle that is read: 'L' or 'U'.
    """
    return call("_npi_eigvalsh", a, UPLO=UPLO)


def multi_dot(arrays: Sequence[Any], *, out: Operable | None = None) -> Any:
    """Product of several matrices, in the order that takes the fewest operations.

    Args:
        arrays: matrices; the first and the last may be vectors.
        out: an array for the result.

    Raises:
        ValueError: fewer than two arrays, or neighbours whose extents differ.
        LinAlgError: an array between the first and the last is no matrix, or one of these has more than two
            axes.
    """
    if len(arrays) < 2:
        raise AttributeValueError("multi_dot takes at least two arrays.")
    shapes = [each.shape for each in arrays]
    if any(len(each) != 2 for each in shapes[1:-1]) or any(
        len(each) not in (1, 2) for each in (shapes[0], shapes[-1])
    ):
        raise MatrixError(
            f"multi_dot: the shapes are {', '.join(map(str, shapes))}; all but the first and the last, which "
            f"may be vectors, must be matrices."
        )
    if any(a[-1] != b[0] for a, b in itertools.pairwise(shapes)):
        raise SizeError(
            f"multi_dot: the shapes are {', '.join(map(str, shapes))}; the last axis of each must have the "
            f"extent of the first axis of the next."
        )
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if len(arrays) > len(letters) - 2:
        product = arrays[0]
        for each in arrays[1:]:
            product = dot(product, each)
        return product
    terms, at = [], 0
    for each in arrays:
        terms.append(letters[at : at + len(each.shape)])
        at += len(each.shape) - 1
    joined = "".join(terms)
    free = "".join(c for c in dict.fromkeys(joined) if joined.count(c) == 1)
    return call(
        "_npi_einsum", *arrays, out=out, subscripts=f"{','.join(terms)}->{free}", optimize=1
    )


def matrix_power(a: Array, n: int) -> Any:
    """The matrix times itself ``n`` times; its inverse for n below 0.

    Args:
        a: square matrices, ``(..., n, n)``.
        n: a whole number.

    Raises:
        LinAlgError: ``a`` has fewer than two axes, or its last two have different extents.
        TypeError: ``n`` is not a whole number.
    """
    if not isinstance(n, (int, onp.integer)):
        raise AttributeTypeError(f"matrix_power: n={n!r:.60} must be a whole number.")
    if len(a.shape) < 2 or a.shape[-1] != a.shape[-2]:
        raise MatrixError(f"matrix_power: a must be square matrices, (..., n, n), not {a.shape}.")
    if n < 0:
        return matrix_power(inv(a), -n)
    if n == 0:
        return shape.broadcast_to(eye(a.shape[-1], dtype=a.dtype, ctx=a.ctx), a.shape)
    half = matrix_power(a, n // 2) if n > 1 else None
    if half is None:
        return a
    square = matmul(half, half)
    return matmul(square, a) if n % 2 else square


cond = on_host("cond", onp.linalg.cond, __name__)


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    # "warn" was NumPy's default, and is MXNet's.
    return onp.linalg.lstsq(a, b, None if isinstance(rcond, str) and rcond == "warn" else rcond)


lstsq = on_host("lstsq", _lstsq, __name__)
matrix_rank = on_host("matrix_rank", onp.linalg.matrix_rank, __name__)
qr = on_host("qr", onp.linalg.qr, __name__)
