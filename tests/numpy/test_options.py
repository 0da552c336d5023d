"""Options of a NumPy ufunc that mx.np does not have, and the errors that MXNet 1.9.1 raises for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import AxisError

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


# Of arange(-4, 8) in the shape (2, 2, 3), by MXNet 1.9.1: one norm for each of the two matrices.
NORMS = [
    (1, [5, 11]),
    (-1, [3, 7]),
    (np.inf, [9, 18]),
    (-np.inf, [2, 9]),
    (2, [5.398828, 11.773292]),
    ("fro", [5.5677643, 11.789825]),
    ("nuc", [6.759951, 12.397456]),
]


@pytest.mark.parametrize(("order", "expected"), NORMS)
def test_orders_of_norms_are_of_the_last_two_axes(order: Any, expected: list[float]) -> None:
    x = mx.np.arange(-4, 8).reshape(2, 2, 3)
    assert mx.np.linalg.norm(x, ord=order).tolist() == pytest.approx(expected, rel=1e-5)
    assert mx.np.linalg.norm(x, ord=order, keepdims=True).shape == (2, 1, 1)


def test_axes_that_an_array_does_not_have() -> None:
    x = mx.np.ones((2, 3))
    for call in (
        lambda: mx.np.linalg.norm(x, ord=2, axis=(0, 5)),
        lambda: mx.np.linalg.norm(mx.np.ones(()), ord=2, axis=(0, 1)),
        lambda: mx.np.tensordot(x, x, ([1], [3])),
        lambda: mx.np.inner(mx.np.ones(()), 1.5),
    ):
        with pytest.raises(AxisError, match="is out of range: the array has"):
            call()


def test_arguments_of_functions_that_numpy_computes() -> None:
    x = mx.np.array([[1.0, 0, 3]])
    assert mx.np.nanmax(x, out=mx.np.zeros(())).item() == 3  # MXNet 1.9.1 leaves out as it is
    assert type(mx.np.count_nonzero(x)) is int
    assert type(mx.np.count_nonzero(x[0], axis=0)) is np.int64
    assert mx.np.nan_to_num(float("nan"), copy=False, nan=2.0) == 2
