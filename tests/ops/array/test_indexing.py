"""Picking elements: gradients against central differences."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd


@pytest.mark.parametrize(
    ("shape", "axis", "keepdims", "mode"),
    [
        ((3, 4), -1, False, "clip"),
        ((3, 4), 0, True, "wrap"),
        ((2, 3, 4), 1, False, "clip"),
        ((4,), 0, False, "clip"),
        ((2, 3, 4), 2, False, "wrap"),
    ],
)
def test_gradient_of_pick(shape, axis, keepdims, mode):
    rng = np.random.default_rng(0)
    data = rng.standard_normal(shape)
    others = np.delete(shape, axis)
    index = mx.nd.array(rng.integers(-2, 7, tuple(others) or (1,)))
    options = {"axis": axis, "keepdims": keepdims, "mode": mode}

    def total(values):
        picked = mx.nd.pick(mx.nd.array(values, dtype="float64"), index, **options).asnumpy()
        return (picked**2).sum()

    x = mx.nd.array(data, dtype="float64")
    x.attach_grad()
    with autograd.record():
        picked = mx.nd.pick(x, index, **options)
        squares = picked * picked
    squares.backward()
    expected = np.zeros(shape)
    for place in np.ndindex(*shape):
        step = np.zeros(shape)
        step[place] = 1e-4
        expected[place] = (total(data + step) - total(data - step)) / 2e-4
    assert np.count_nonzero(expected)
    np.testing.assert_allclose(x.grad.asnumpy(), expected, atol=1e-8)


def test_gradient_of_the_gradient_of_pick():
    x = mx.nd.array([[1.0, 2.0, 3.0]])
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(mx.nd.pick(x, mx.nd.array([1])) ** 3, [x], create_graph=True)
        squares = (slope * slope).sum()  # 9 x^4 at the place picked
    squares.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [[0, 36 * 8, 0]], rtol=1e-6)


def test_elements_scattered_to_one_place_have_its_gradient():
    """Numbers of MXNet 1.9.1."""
    x = mx.nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        scattered = mx.nd.scatter_nd(x, mx.nd.array([[0, 0, 1]]), shape=(2,))
    scattered.backward(mx.nd.array([5.0, 7.0]))
    assert scattered.asnumpy().tolist() == [2, 3]
    assert x.grad.asnumpy().tolist() == [5, 5, 7]


@pytest.mark.parametrize(
    ("shape", "k", "count"),
    [
        ((2, 3), -2, 0),
        ((2, 3), 3, 0),
        ((0, 3), 0, 0),
        ((0, 3), 3, 0),
        ((3, 0), -3, 0),
        ((2, 3), 1, 2),
    ],
)
def test_a_diagonal_may_be_empty(shape: tuple[int, int], k: int, count: int) -> None:
    """As in MXNet 1.9.1, up to the diagonals at either end."""
    with mx.util.np_shape(True):
        assert mx.nd.diag(mx.nd.ones(shape), k=k).shape == (count,)
        for beyond in (-shape[0] - 1, shape[1] + 1):
            with pytest.raises(mx.MXNetError, match=f"k={beyond} is out of range"):
                mx.nd.diag(mx.nd.ones(shape), k=beyond)
