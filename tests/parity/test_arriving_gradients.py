"""Infinite gradients that arrive at operators with indices and conditions; the numbers are MXNet 1.9.1's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from tests.each_record import each_record

INF = float("inf")
DATA = np.array([[3, 1, 2], [0.5, -2, 4]], dtype=np.float32)
PLACES = np.array([0, 1], dtype=np.float32)
PAIRS = np.array([[0, 1], [1, 0]], dtype=np.float32)
CONDITION = np.array([[1, 0, 1], [0, 1, 0]], dtype=np.float32)

# What has no gradient at all: exact zeros, whatever arrives.
WITHOUT: dict[str, Callable[[Any, Any], Any]] = {
    "topk": lambda F, x: F.topk(x, k=2),
    "mask of topk": lambda F, x: F.topk(x, k=2, ret_typ="mask"),
    "argsort": lambda F, x: F.argsort(x),
    "argmax": lambda F, x: F.argmax(x, axis=1),
    "argmin": lambda F, x: F.argmin(x, axis=1),
    "one_hot": lambda F, x: F.one_hot(x, 4),
    "round": lambda F, x: F.round(x),
    "rint": lambda F, x: F.rint(x),
    "ceil": lambda F, x: F.ceil(x),
    "floor": lambda F, x: F.floor(x),
    "trunc": lambda F, x: F.trunc(x),
    "fix": lambda F, x: F.fix(x),
    "a comparison with a number": lambda F, x: x > 1,
    "a comparison": lambda F, x: F.broadcast_equal(x, F.ones_like(x)),
    "logical_not": lambda F, x: F.logical_not(x),
    "BlockGrad": lambda F, x: F.BlockGrad(x),
    "ones_like": lambda F, x: F.ones_like(x),
    "zeros_like": lambda F, x: F.zeros_like(x),
}

# Gradients of two arrays, an infinite one arriving everywhere: of the data, then of the index.
INDEXED: dict[str, tuple[Callable[..., Any], list[np.ndarray], list[list[float]]]] = {
    "pick": (nd.pick, [DATA, PLACES], [[INF, 0, 0, 0, INF, 0], [0, 0]]),
    "take": (nd.take, [DATA, PLACES], [[INF] * 6, [0, 0]]),
    "gather_nd": (nd.gather_nd, [DATA, PAIRS], [[0, INF, 0, INF, 0, 0], [0] * 4]),
    "where": (
        lambda x, condition: nd.where(condition, x, 2 * x),
        [DATA, CONDITION],
        [[INF] * 6, [0] * 6],
    ),
    "SequenceMask": (
        lambda x, lengths: nd.SequenceMask(x, lengths, use_sequence_length=True),
        [DATA[:, :2, None], np.array([1, 2], dtype=np.float32)],
        [[INF, INF, 0, INF], [0, 0]],
    ),
}


@each_record("name", WITHOUT)
@each_record("head", [INF, float("nan")])
@each_record("is_hybrid", [False, True])
def test_what_has_no_gradient_passes_zeros(name: str, head: float, is_hybrid: bool) -> None:
    data = nd.array(DATA)
    data.attach_grad()
    data.grad[:] = 7
    block = mx.gluon.nn.HybridLambda(lambda F, x: WITHOUT[name](F, x) * head)
    block.hybridize(is_hybrid)
    with autograd.record():
        result = block(data)
    result.backward()
    np.testing.assert_array_equal(data.grad.asnumpy(), np.zeros_like(DATA))


@pytest.mark.parametrize("name", INDEXED)
def test_infinite_gradients_reach_only_what_was_read(name: str) -> None:
    function, sources, expected = INDEXED[name]
    arrays = [nd.array(each) for each in sources]
    for each in arrays:
        each.attach_grad()
    with autograd.record():
        result = function(*arrays)
    result.backward(nd.full(result.shape, INF))
    assert [each.grad.asnumpy().ravel().tolist() for each in arrays] == expected


def test_the_indices_beside_the_values_of_topk_pass_nothing() -> None:
    data = nd.array(DATA)
    data.attach_grad()
    with autograd.record():
        values, places = nd.topk(data, k=2, ret_typ="both")
        result = values.sum() + (places * INF).sum()
    result.backward()
    assert data.grad.asnumpy().tolist() == [[1, 0, 1], [1, 0, 1]]


@pytest.mark.parametrize("slope", [-0.5, 0.25, 2])
@pytest.mark.parametrize("act_type", ["leaky", "elu"])
def test_the_slope_at_nan_is_1(act_type: str, slope: float) -> None:
    data = nd.array([-2, 0, 3, float("nan"), INF])
    data.attach_grad()
    with autograd.record():
        result = nd.LeakyReLU(data, act_type=act_type, slope=slope)
    result.backward()
    below = slope if act_type == "leaky" else slope * np.exp(-2)
    np.testing.assert_allclose(data.grad.asnumpy(), [below, slope, 1, 1, 1], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int8"])
def test_the_gradient_passes_amp_cast_through_whole_numbers(dtype: str) -> None:
    data = nd.array([1, 2])
    data.attach_grad()
    with autograd.record():
        result = nd.amp_cast(data, dtype=dtype)
    result.backward()
    assert data.grad.asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("is_numpy", [False, True])
def test_an_infinite_gradient_stays_infinite_through_hypot(is_numpy: bool) -> None:
    F = mx.np if is_numpy else nd
    sides = [F.array([3, 0.5, -2]), F.array([4, 1, 2])]
    for each in sides:
        each.attach_grad()
    with autograd.record():
        result = mx.np.hypot(*sides) if is_numpy else nd.broadcast_hypot(*sides)
    result.backward(F.full((3,), INF) if is_numpy else nd.full((3,), INF), retain_graph=True)
    assert [each.grad.asnumpy().tolist() for each in sides] == [[INF, INF, -INF], [INF, INF, INF]]
    result.backward()
    length = np.hypot([3, 0.5, -2], [4, 1, 2])
    np.testing.assert_allclose(sides[0].grad.asnumpy(), [3, 0.5, -2] / length, rtol=1e-6)
    np.testing.assert_allclose(sides[1].grad.asnumpy(), [4, 1, 2] / length, rtol=1e-6)


def test_the_second_derivative_of_hypot_is_correct() -> None:
    x, y = nd.array([3.0]), nd.array([4.0])
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(nd.broadcast_hypot(x, y), [x], create_graph=True)
    slope.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [16 / 125], rtol=1e-6)


SLOPES: dict[str, Callable[[Any], Any]] = {
    "gelu": lambda x: nd.LeakyReLU(x, act_type="gelu"),
    "a line": lambda x: nd.contrib.quadratic(x, a=0, b=1, c=0),
    "a parabola": lambda x: nd.contrib.quadratic(x, a=2, b=1, c=0.5),
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gelu", [INF, np.nan, INF, -INF, INF, INF]),
        ("a line", [INF] * 6),
        ("a parabola", [INF, -INF, INF, -INF, INF, INF]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinite_gradients_meet_a_slope_as_one_factor(
    name: str, expected: list[float], dtype: str
) -> None:
    data = nd.array([1e30, -1e30, 5, -5, 0, 0.7], dtype=dtype)
    data.attach_grad()
    with autograd.record():
        result = SLOPES[name](data)
    result.backward(nd.full(6, INF, dtype=dtype))
    np.testing.assert_array_equal(data.grad.asnumpy(), expected)
