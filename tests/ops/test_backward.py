"""Operators that are gradients of other operators: the results of autograd, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.base import ShapeError


def uniform(*shape: int) -> nd.NDArray:
    return nd.array(np.random.default_rng(sum(shape)).uniform(0.5, 1, shape))


def events() -> list[nd.NDArray]:
    return [
        *(uniform(2, 3), uniform(3), uniform(3), uniform(2, 3), uniform(2, 4)),
        nd.array([[0, 2, 1, 1], [2, 2, 0, 1]], dtype="int32"),
        *(nd.array([3, 4]), nd.array([5, 6])),
    ]


@pytest.mark.parametrize(
    ("name", "create", "attributes"),
    [
        ("quadratic", lambda: [uniform(2, 3)], {"a": 2.0, "b": -1.0, "c": 3.0}),
        (
            "index_copy",
            lambda: [uniform(4, 2), nd.array([2, 0], dtype="int64"), uniform(2, 2)],
            {},
        ),
        ("hawkesll", events, {}),
    ],
)
def test_gradients_are_autograds(name, create, attributes) -> None:
    inputs = create()
    forward = getattr(nd.contrib, name)
    real = [each for each in inputs if each.dtype == np.float32]
    for each in real:
        each.attach_grad()
    with mx.autograd.record():
        actual = forward(*inputs, **attributes)
    outputs = actual if isinstance(actual, list) else [actual]
    heads = [uniform(*each.shape) for each in outputs]
    mx.autograd.backward(outputs, heads)
    gradients = getattr(nd.contrib, f"backward_{name}")(*heads, *inputs, **attributes)
    gradients = gradients if isinstance(gradients, list) else [gradients]
    for each, gradient in zip(inputs, gradients, strict=True):
        expected = np.zeros(each.shape) if each.grad is None else each.grad.asnumpy()
        np.testing.assert_allclose(gradient.asnumpy(), expected, rtol=1e-6)
        assert gradient.dtype == each.dtype


def test_the_number_of_arrays_is_checked() -> None:
    with pytest.raises(ShapeError, match="takes 2"):
        nd.contrib.backward_quadratic(uniform(2))


# What MXNet 1.9.1 has where the derivative jumps.
AT_THE_BEND = {
    "abs": (lambda x: nd.abs(x), [-2, 0, 2], [-1, 0, 1]),
    "np.abs": (lambda x: mx.np.abs(x.as_np_ndarray()), [-2, 0, 2], [-1, 0, 1]),
    "norm": (lambda x: nd.norm(x, ord=1), [-2, 0, 2], [-1, 0, 1]),
    "hard_sigmoid": (lambda x: nd.hard_sigmoid(x), [-2.5, 0, 2.5], [0, 0.2, 0]),
    "MAE": (lambda x: nd.MAERegressionOutput(x, nd.zeros(3)), [-2, 0, 2], [-1, -1, 1]),
}


@pytest.mark.parametrize("name", AT_THE_BEND)
def test_gradients_where_the_derivative_jumps(name: str) -> None:
    function, values, expected = AT_THE_BEND[name]
    x = nd.array(values)
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-6)
