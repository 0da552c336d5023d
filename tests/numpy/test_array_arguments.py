"""Arrays where a number or several are expected, and indices without elements: results of MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import mixnet as mx

np = mx.np


def _whole(number: int) -> Any:
    return np.array(number, dtype="int32")


@pytest.mark.parametrize(
    "result, expected",
    [
        (lambda: np.sum(np.array([[1, 2], [3, 4]]), axis=_whole(1)), [3, 7]),
        (lambda: np.array([[1, 2], [3, 4]]).mean(axis=_whole(0)), [2, 3]),
        (lambda: np.roll(np.array([1, 2, 3]), _whole(1)), [3, 1, 2]),
        (lambda: np.tile(np.array([1, 2]), _whole(2)), [1, 2, 1, 2]),
        (lambda: np.tile(np.array([1, 2]), np.array([2], dtype="int32")), [1, 2, 1, 2]),
        (lambda: mx.nd.sum(mx.nd.array([[1, 2], [3, 4]]), axis=_whole(1)), [3, 7]),
        (lambda: mx.nd.sum(mx.nd.array([[1, 2], [3, 4]]), axis=onp.array(0)), [4, 6]),
    ],
)
def test_an_array_without_axes_is_its_number(result: Any, expected: list[int]) -> None:
    assert result().asnumpy().tolist() == expected


def test_a_fraction_is_no_axis() -> None:
    with pytest.raises(mx.MXNetError):
        np.sum(np.ones((2, 2)), axis=np.array(1.0))


def test_indices_without_elements_keep_their_axes() -> None:
    empty = np.zeros((0, 3))
    assert np.take(empty, empty).shape == (0, 3)
    assert np.take(empty, empty, axis=0).shape == (0, 3, 3)
    assert np.take(np.zeros((2, 3)), empty, axis=1).shape == (2, 0, 3)


@pytest.mark.parametrize(
    "dtype, expected", [("int32", [1, 1, 1]), ("int64", [1, 1, 1]), ("uint8", [1, 0, 1])]
)
def test_whole_numbers_are_finite(dtype: str, expected: list[int]) -> None:
    """Except 0 of 8 bits, which infinity becomes there."""
    x = mx.nd.array([1, 0, 2], dtype=dtype)
    finite = mx.nd.contrib.isfinite(x)
    assert finite.asnumpy().tolist() == expected
    assert onp.dtype(finite.dtype).name == dtype
    symbol = mx.sym.contrib.isfinite(mx.sym.var("x"))
    assert symbol.eval(x=x)[0].asnumpy().tolist() == expected
    floats = mx.nd.array([1, onp.nan, onp.inf, -onp.inf, 1e38])
    assert mx.nd.contrib.isfinite(floats).asnumpy().tolist() == [1, 0, 0, 0, 1]


def test_an_executor_casts_head_gradients() -> None:
    """As in MXNet, where ``autograd`` refuses them."""
    x = mx.nd.array([1, 2])
    executor = (mx.sym.var("x") * 1).bind(mx.cpu(), {"x": x}, {"x": mx.nd.zeros(2)})
    executor.forward(is_train=True)
    executor.backward(mx.nd.array([1.5, 2], dtype="float64"))
    assert executor.grad_arrays[0].asnumpy().tolist() == [1.5, 2]


def test_an_unknown_device_is_reported_before_its_number() -> None:
    with pytest.raises(KeyError, match="tpu"):
        mx.Context("tpu", (0,))
