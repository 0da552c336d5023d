"""NaN and infinities through operators, as MXNet 1.9.1 has them."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("size", [8, 20_000])
def test_extremes_keep_a_nan(size: int) -> None:
    a = np.linspace(-1, 1, size).astype("float32").reshape(4, -1)
    a[2, 1] = NAN
    for name in ("max", "min"):
        expected = getattr(a, name)(axis=1)
        np.testing.assert_array_equal(getattr(nd, name)(nd.array(a), axis=1).asnumpy(), expected)
        assert np.isnan(getattr(mx.np, name)(mx.np.array(a)).item())


def test_the_larger_and_the_smaller_of_two() -> None:
    a, b = nd.array([NAN, 1, 2]), nd.array([1, NAN, 3])
    np.testing.assert_array_equal(nd.maximum(a, b).asnumpy(), [NAN, NAN, 3])
    np.testing.assert_array_equal(nd.broadcast_minimum(a, b).asnumpy(), [NAN, NAN, 2])
    np.testing.assert_array_equal(nd.maximum(a, 1.5).asnumpy(), [NAN, 1.5, 2])
    np.testing.assert_array_equal(mx.np.maximum(mx.np.array([NAN]), 0).asnumpy(), [NAN])


def _gradient(function, *arrays):
    arrays = [nd.array(each) for each in arrays]
    for each in arrays:
        each.attach_grad()
    with mx.autograd.record():
        out = function(*arrays)
    out.backward()
    return [each.grad.asnumpy().tolist() for each in arrays]


def test_gradients_at_nan_are_those_of_mxnet() -> None:
    assert _gradient(nd.abs, [NAN, -2, 0, INF]) == [[0, -1, 0, 1]]
    assert np.isnan(_gradient(nd.relu, [NAN])[0][0])
    assert _gradient(nd.relu, [-1, 0, 2]) == [[0, 0, 1]]
    assert _gradient(nd.maximum, [NAN, 1, 2, 3], [1, NAN, 2, 4]) == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert _gradient(nd.hard_sigmoid, [NAN, INF]) == [[0, 0]]
    assert _gradient(nd.softsign, [INF, -INF, 1]) == [[0, 0, 0.25]]
    assert _gradient(lambda x: nd.smooth_l1(x, scalar=1), [INF, -INF, 1]) == [[1, -1, 1]]


def test_sign_of_nan_is_0() -> None:
    assert nd.sign(nd.array([NAN, -INF, INF, 0])).asnumpy().tolist() == [0, -1, 1, 0]


def test_the_norm_propagates_nan() -> None:
    def norm(values, **options):
        return nd.norm(nd.array(values), **options).asnumpy().tolist()

    assert np.isnan(norm([1, NAN])) and np.isnan(norm([1, NAN], ord=1))
    assert norm([INF, 1]) == [INF]
    np.testing.assert_allclose(norm([1e30, 1e30]), 2**0.5 * 1e30, rtol=1e-6)
    np.testing.assert_allclose(norm([3e-30, 4e-30]), 5e-30, rtol=1e-6)
    assert np.isnan(_gradient(nd.norm, [0, 0])).all()


def test_spread_of_equal_numbers_has_no_gradient() -> None:
    x = mx.np.array([2.0, 2, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.np.std(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_poles_of_gamma() -> None:
    actual = nd.gamma(nd.array([0, -1, -2, -1.5, 0.5])).asnumpy()
    np.testing.assert_allclose(actual, [INF, NAN, NAN, 2.3632717, 1.7724538], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float64"])
def test_positions_and_order_keep_the_dtype(dtype: str) -> None:
    x = nd.array([[3, 0, 2], [6, 5, 255 if dtype == "uint8" else -1]], dtype=dtype)
    data = x.asnumpy()
    for name in ("argmax", "argmin"):
        actual = getattr(nd, name)(x, axis=1)
        assert actual.dtype == data.dtype
        np.testing.assert_array_equal(actual.asnumpy(), getattr(data, name)(1))
    np.testing.assert_array_equal(
        nd.sort(x, is_ascend=False).asnumpy(), -np.sort(-data.astype(int))
    )
    assert nd.topk(x, k=2, ret_typ="mask").dtype == data.dtype
