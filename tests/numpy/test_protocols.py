"""NumPy's own functions on mx.np arrays, as in MXNet 1.9.1."""

from __future__ import annotations

import numpy as onp
import pytest

from mixnet import np

X = np.array([[1.0, 2, 3], [4, 5, 6]])


def test_numpys_function_computes_what_ours_does_not_define() -> None:
    counts, edges = onp.histogram(X)
    assert counts.tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1, 1]
    assert edges.tolist() == [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6]
    assert onp.histogram(X, bins=5)[0].tolist() == [1, 1, 1, 1, 2]
    with pytest.raises(NotImplementedError, match="give range="):
        np.histogram(X, 5)


@pytest.mark.parametrize("call", [lambda: onp.multiply.outer(X, X), lambda: onp.add.reduce(X)])
def test_methods_of_numpys_functions_are_type_errors(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError, match=r"does not take mx.np arrays: give it array.asnumpy"):
        call()


@pytest.mark.parametrize("number", [onp.float32(3), onp.float64(3), onp.int64(3)])
def test_numbers_of_numpy_compare_from_the_left(number: onp.generic) -> None:
    assert (number > X).asnumpy().tolist() == [[True, True, False], [False] * 3]
    assert (number == X).asnumpy().tolist() == [[False, False, True], [False] * 3]
    assert max(number, np.array(4.0)).item() == 4
    with pytest.raises(TypeError, match="cannot be combined"):
        assert onp.full((3,), number) > X


def test_functions_of_the_host_leave_numpy_arrays_to_numpy() -> None:
    """MXNet 1.9.1 converts results only where an argument is its own array."""
    rows = [[1.0, 2.0], [3.0, 5.0]]
    for sequence in (rows, onp.array(rows)):
        assert type(np.cov(sequence)) is onp.ndarray
    assert type(np.cov(np.array(rows))) is np.ndarray
