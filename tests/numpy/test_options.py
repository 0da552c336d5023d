"""Options of a NumPy ufunc that mx.np does not have, and the errors that MXNet 1.9.1 raises for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx

NAMED: list[Any] = ["float32", np.float64, "int8"]
OTHER: list[Any] = [np.dtype("float32"), bool, float, "x", 3]


@pytest.fixture(scope="module", autouse=True)
def _arrays() -> None:
    global X
    X = mx.np.ones((2,))


@pytest.mark.parametrize("name", ["isnan", "exp", "logical_not", "add", "maximum"])
def test_a_dtype_is_refused_by_its_kind(name: str) -> None:
    function = getattr(mx.np, name)
    arrays = [X] * (2 if name in ("add", "maximum") else 1)
    for dtype in NAMED:
        with pytest.raises(NotImplementedError, match="dtype"):
            function(*arrays, dtype=dtype)
    for dtype in OTHER:
        with pytest.raises(TypeError, match="dtype"):
            function(*arrays, dtype=dtype)
    function(*arrays, dtype=None)


@pytest.mark.parametrize("name", ["true_divide", "equal", "less"])
def test_functions_without_options(name: str) -> None:
    for options in ({"where": False}, {"order": "C"}, {"dtype": "float32"}):
        with pytest.raises(TypeError, match="has no option"):
            getattr(mx.np, name)(X, X, **options)


def test_decompositions_of_nan_are_nan() -> None:
    matrices = mx.np.array([[[1, np.nan], [3, 4]], [[2, 0], [0, 4]]])
    first, second = mx.np.linalg.pinv(matrices).asnumpy()
    assert np.isnan(first).all()  # as MXNet 1.9.1
    assert second.tolist() == [[0.5, 0], [0, 0.25]]


@pytest.mark.parametrize("solve", [mx.np.linalg.solve, mx.np.linalg.tensorsolve])
def test_systems_of_integers_are_solved_in_float64(solve: Any) -> None:
    matrix, right = mx.np.array([[1, 2], [3, 4]]), mx.np.array([1, 2])
    for a, b in ((matrix.astype("int32"), right), (matrix, right.astype("int8"))):
        x = solve(a, b)
        assert x.dtype == np.float64  # as MXNet 1.9.1
        assert x.tolist() == pytest.approx([0, 0.5])
