"""Matrix factorizations, solvers and Fourier transforms, by LAPACK and NumPy's FFT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.lapack import lu_of
from mixnet.runtime.interpret.on_numpy.table import NoRuleError, Run, rule


def _stacked(x: np.ndarray) -> Any:
    return x.reshape(int(np.prod(x.shape[:-2])), *x.shape[-2:])


def _over(x: np.ndarray, function: Callable[[Any], Any], shapes: Any, dtypes: Any) -> list[Any]:
    """Apply a function of one matrix to a stack of matrices."""
    results = [np.empty(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    rank = x.ndim - 2
    count = int(np.prod(x.shape[:-2]))
    flat = [each.reshape(count, *each.shape[rank:]) for each in results]
    for i, matrix in enumerate(_stacked(x) if count else []):
        for each, value in zip(flat, function(matrix), strict=True):
            each[i] = value
    return results


def _forms(equation: Equation) -> tuple[list[Any], list[Any]]:
    avals = [v.aval for v in equation.outvars]
    return [aval.shape for aval in avals], [aval.dtype for aval in avals]


def _or_nan(equation: Equation, function: Callable[[Any], list[Any]]) -> Run:
    """Apply a function to a stack of matrices; NaN for those for which LAPACK fails, as in XLA."""
    shapes, dtypes = _forms(equation)

    def one(matrix: np.ndarray) -> list[Any]:
        try:
            return function(matrix)
        except np.linalg.LinAlgError:
            return [np.nan] * len(shapes)

    def run(x: Any) -> Any:
        try:
            results = function(x)
        except np.linalg.LinAlgError:
            results = _over(x, one, shapes, dtypes)
        return results if len(results) > 1 else results[0]

    return run


@rule("cholesky")
def _cholesky(equation: Equation, **_: object) -> Run:
    shapes, dtypes = _forms(equation)

    def one(matrix: np.ndarray) -> Any:
        try:
            return (np.linalg.cholesky(matrix),)
        except np.linalg.LinAlgError:  # not positive definite
            return (np.nan,)

    return lambda x: _over(x, one, shapes, dtypes)[0]


@rule("eigh")
def _eigh(equation: Equation, lower: bool, subset_by_index: Any = None, **_: object) -> Run:
    if subset_by_index is not None:  # NumPy can only compute all eigenvalues
        raise NoRuleError("eigh")

    def run(x: Any) -> Any:
        # LAPACK does not converge for NaN, for which XLA returns NaN.
        if not np.isfinite(x).all():
            return [np.full_like(x, np.nan), np.full_like(x[..., 0], np.nan)]
        result = np.linalg.eigh(x, "L" if lower else "U")
        return [result.eigenvectors, result.eigenvalues]

    return run


@rule("eig")
def _eig(
    equation: Equation,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    **_: object,
) -> Run:
    if compute_left_eigenvectors:  # NumPy has only right eigenvectors
        raise NoRuleError("eig")
    dtype = equation.outvars[0].aval.dtype

    def run(x: Any) -> list[Any]:
        result = np.linalg.eig(x)
        # NumPy returns real numbers if all eigenvalues are real; in a program, the dtype is fixed.
        both = [result.eigenvalues, result.eigenvectors]
        return [each.astype(dtype, copy=False) for each in both[: 1 + compute_right_eigenvectors]]

    return _or_nan(equation, run)


@rule("svd")
def _svd(
    equation: Equation,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Any = None,
    **_: object,
) -> Run:
    if subset_by_index is not None:
        raise NoRuleError("svd")
    if not compute_uv:
        return _or_nan(equation, lambda x: [np.linalg.svd(x, compute_uv=False)])

    def run(x: Any) -> list[Any]:
        result = np.linalg.svd(x, full_matrices)
        return [result.S, result.U, result.Vh]

    return _or_nan(equation, run)


@rule("qr")
def _qr(equation: Equation, full_matrices: bool, pivoting: bool = False, **_: object) -> Run:
    if pivoting:  # NumPy does not pivot
        raise NoRuleError("qr")
    return lambda x: list(np.linalg.qr(x, "complete" if full_matrices else "reduced"))


@rule("lu")
def _lu(equation: Equation, **_: object) -> Run:
    shapes, dtypes = _forms(equation)
    factor = lu_of(dtypes[0])
    if factor is None:
        raise NoRuleError("lu")
    rows = shapes[0][-2]

    def one(matrix: np.ndarray) -> Any:
        factors, pivots = factor(matrix)
        # LAPACK returns successive row exchanges; XLA also the resulting permutation.
        order = list(range(rows))
        for i, j in enumerate(pivots):
            order[i], order[j] = order[j], order[i]
        return factors, pivots, order

    return lambda x: _over(x, one, shapes, dtypes)


@rule("lu_pivots_to_permutation")
def _permutation(equation: Equation, permutation_size: int, **_: object) -> Run:
    dtype = equation.outvars[0].aval.dtype

    def run(pivots: Any) -> Any:
        result = np.empty((*pivots.shape[:-1], permutation_size), dtype)
        result[...] = np.arange(permutation_size)
        for at in np.ndindex(pivots.shape[:-1]):
            row = result[at]
            for i, j in enumerate(pivots[at]):
                row[[i, j]] = row[[j, i]]
        return result

    return run


@rule("triangular_solve")
def _triangular_solve(
    equation: Equation,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
    **_: object,
) -> Run:
    dtype = equation.outvars[0].aval.dtype
    if dtype.str[1:] not in ("f4", "f8"):
        raise NoRuleError("triangular_solve")
    # x a = b is solved as a' x' = b'.
    is_turned = transpose_a == left_side
    is_lower = lower != is_turned

    def run(a: Any, b: Any) -> Any:
        matrix = a.swapaxes(-1, -2) if is_turned else a
        result = np.array(b if left_side else b.swapaxes(-1, -2), dtype)
        with np.errstate(all="ignore"):
            _substitute(matrix, result, is_lower, unit_diagonal)
        return result if left_side else np.ascontiguousarray(result.swapaxes(-1, -2))

    return run


def _substitute(a: Any, x: Any, is_lower: bool, is_unit: bool) -> None:
    """Solve ``a y = x`` for triangular matrices, in place: ``x`` becomes ``y``.

    Recursive: one half is solved, its contribution to the other half is a matrix product, then the other
    half is solved. Without SciPy: importing ``scipy.linalg`` takes longer than solving thousands of small
    systems.
    """
    size = a.shape[-1]
    if size <= _ROWS_ONE_BY_ONE:
        for row in range(size) if is_lower else reversed(range(size)):
            solved = slice(0, row) if is_lower else slice(row + 1, size)
            x[..., row, :] -= (a[..., row, None, solved] @ x[..., solved, :])[..., 0, :]
            if not is_unit:
                x[..., row, :] /= a[..., row, row, None]
        return
    middle = size // 2
    first, second = slice(0, middle), slice(middle, size)
    if not is_lower:
        first, second = second, first
    _substitute(a[..., first, first], x[..., first, :], is_lower, is_unit)
    x[..., second, :] -= a[..., second, first] @ x[..., first, :]
    _substitute(a[..., second, second], x[..., second, :], is_lower, is_unit)


_ROWS_ONE_BY_ONE = 8


@rule("fft")
def _fft(equation: Equation, fft_type: Any, fft_lengths: Sequence[int], **_: object) -> Run:
    # Depending on the version of JAX, an enumeration, a text or a number.
    name = str(getattr(fft_type, "name", fft_type)).lower().removeprefix("ffttype.")
    name = {"0": "fft", "1": "ifft", "2": "rfft", "3": "irfft"}.get(name, name)
    function = getattr(np.fft, name + "n")
    axes = list(range(-len(fft_lengths), 0))
    dtype = equation.outvars[0].aval.dtype
    return lambda x: function(x, fft_lengths, axes).astype(dtype, copy=False)
