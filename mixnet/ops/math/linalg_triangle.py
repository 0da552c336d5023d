"""Diagonals and triangles of matrices on the last two axes, packed into vectors and back."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import ShapeError
from mixnet.ops.math.linalg_product import check_square
from mixnet.ops.registry import op


def _triangle(size: int, offset: int, lower: bool) -> tuple[Any, Any]:
    """Rows and columns, in packed order, of the triangle that starts at diagonal ``offset``.

    Beside the main diagonal a triangle lies to one side only; ``lower`` decides on it alone.
    """
    far, near = np.tril_indices(size - abs(offset))
    if offset > 0 or (offset == 0 and not lower):
        return near, far + offset
    return far - offset, near


def _check_offset(name: str, matrix: jax.Array, offset: int) -> None:
    check_square(name, matrix)
    if abs(offset) >= matrix.shape[-1]:
        raise ShapeError(
            f"{name}: offset={offset} is outside matrices of shape {matrix.shape}; use one "
            f"between {1 - matrix.shape[-1]} and {matrix.shape[-1] - 1}."
        )


def _check_vector(name: str, vector: jax.Array) -> None:
    if vector.ndim < 1:
        raise ShapeError(f"{name}: A is {vector.shape}; it needs at least one axis.")


@op("_linalg_extractdiag", floats=True, aliases=["linalg_extractdiag"], precision="full")
def extractdiag(A, *, offset: int = 0):
    """The diagonal ``offset`` places above the main one (below it for a negative one).

    Args:
        A: ``(..., n, n)``.

    Returns:
        ``(..., n - abs(offset))``.

    Raises:
        ShapeError: the matrices are not square or have no such diagonal.

    Source: MXNet operator ``_linalg_extractdiag``.
    """
    _check_offset("linalg.extractdiag", A, offset)
    return jnp.diagonal(A, offset, -2, -1)


@op("_linalg_makediag", floats=True, aliases=["linalg_makediag"], precision="full")
def makediag(A, *, offset: int = 0):
    """Matrices that are 0 but for a diagonal ``offset`` places above the main one.

    Args:
        A: the diagonals, ``(..., n)``.

    Returns:
        ``(..., n + abs(offset), n + abs(offset))``.

    Raises:
        ShapeError: no axis.

    Source: MXNet operator ``_linalg_makediag``.
    """
    _check_vector("linalg.makediag", A)
    size = A.shape[-1] + abs(offset)
    places = np.arange(A.shape[-1])
    empty = jnp.zeros((*A.shape[:-1], size, size), A.dtype)
    return empty.at[..., places + max(-offset, 0), places + max(offset, 0)].set(A)


@op("_linalg_extracttrian", floats=True, aliases=["linalg_extracttrian"], precision="full")
def extracttrian(A, *, offset: int = 0, lower: bool = True):
    """A triangle of every matrix as a vector.

    The lower triangle goes row by row, the upper one column by column. It starts at the diagonal
    ``offset`` places above the main one and leads away from the latter; with ``offset=0``
    ``lower`` selects the triangle.

    Args:
        A: ``(..., n, n)``.

    Returns:
        ``(..., m * (m + 1) / 2)`` with ``m = n - abs(offset)``.

    Raises:
        ShapeError: the matrices are not square or have no such diagonal.

    Source: MXNet operator ``_linalg_extracttrian``.
    """
    _check_offset("linalg.extracttrian", A, offset)
    rows, columns = _triangle(A.shape[-1], offset, lower)
    return A[..., rows, columns]


@op("_linalg_maketrian", floats=True, aliases=["linalg_maketrian"], precision="full")
def maketrian(A, *, offset: int = 0, lower: bool = True):
    """Triangular matrices from vectors, the inverse of ``extracttrian``.

    Args:
        A: ``(..., m * (m + 1) / 2)``.

    Returns:
        ``(..., n, n)`` with ``n = m + abs(offset)``.

    Raises:
        ShapeError: the last axis has an extent that no triangle has.

    Source: MXNet operator ``_linalg_maketrian``.
    """
    _check_vector("linalg.maketrian", A)
    extent = A.shape[-1]
    inner = (math.isqrt(8 * extent + 1) - 1) // 2
    if inner * (inner + 1) // 2 != extent:
        raise ShapeError(
            f"linalg.maketrian: A is {A.shape}; the last axis must be m·(m + 1)/2: 1, 3, 6, 10, ..."
        )
    size = inner + abs(offset)
    rows, columns = _triangle(size, offset, lower)
    return jnp.zeros((*A.shape[:-1], size, size), A.dtype).at[..., rows, columns].set(A)


@op("_linalg_sumlogdiag", floats=True, aliases=["linalg_sumlogdiag"], precision="full")
def sumlogdiag(A):
    """Sum of the logarithms of the main diagonal.

    Args:
        A: ``(..., n, n)``.

    Returns:
        ``(...)``; ``(1,)`` for a single matrix.

    Raises:
        ShapeError: the matrices are not square.

    Source: MXNet operator ``_linalg_sumlogdiag``.
    """
    check_square("linalg.sumlogdiag", A)
    out = jnp.log(jnp.diagonal(A, 0, -2, -1)).sum(-1)
    return out.reshape((1,)) if out.ndim == 0 else out
