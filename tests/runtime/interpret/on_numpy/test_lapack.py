"""Factors of matrices by the LAPACK in NumPy's wheel."""

from __future__ import annotations

import numpy as np
import pytest

from mixnet.runtime.interpret.on_numpy import lapack
from mixnet.runtime.interpret.on_numpy.lapack import lu_of


def product(factors: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    """The matrix that has these factors."""
    rows, columns = factors.shape
    count = min(rows, columns)
    lower = np.tril(factors[:, :count], -1) + np.eye(rows, count)
    matrix = lower @ np.triu(factors[:count])
    for i, j in reversed(list(enumerate(pivots))):
        matrix[[i, j]] = matrix[[j, i]]
    return matrix


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 3), (3, 5), (70, 70)])
@pytest.mark.parametrize("is_in_numpy", [True, False])
def test_the_product_of_the_factors_is_the_matrix(
    monkeypatch: pytest.MonkeyPatch, dtype: str, shape: tuple[int, int], is_in_numpy: bool
) -> None:
    if not is_in_numpy:
        monkeypatch.setattr(lapack, "function_of_wheel", lambda *_: None)
    factor = lu_of(np.dtype(dtype))
    assert factor is not None
    matrix = np.random.default_rng(0).normal(size=shape).astype(dtype)
    before = matrix.copy()
    factors, pivots = factor(matrix)
    np.testing.assert_array_equal(matrix, before)
    assert factors.dtype == matrix.dtype
    assert pivots.shape == (min(shape),)
    np.testing.assert_allclose(product(factors, pivots), matrix, rtol=1e-4, atol=1e-5)
    assert np.abs(np.tril(factors, -1)).max() <= 1  # the largest number of a column was the divisor


def test_a_singular_matrix_has_a_zero_on_its_diagonal() -> None:
    factor = lu_of(np.dtype("float64"))
    assert factor is not None
    factors, pivots = factor(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert factors.tolist() == [[2.0, 4.0], [0.5, 0.0]]
    assert pivots.tolist() == [1, 1]


def test_lapack_has_no_float16() -> None:
    assert lu_of(np.dtype("float16")) is None
