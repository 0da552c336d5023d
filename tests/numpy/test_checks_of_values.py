"""Values that MXNet 1.9.1 refuses: constraints, and parameters of distributions given as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import autograd, gluon, np, npx
from tests.each_record import each_record


@pytest.fixture(autouse=True)
def _numpy_semantics() -> Iterator[None]:
    npx.set_np()
    yield
    npx.reset_np()


class Checked(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * F.npx.constraint_check(x > 0, "all must be positive")


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_constraint_stops_blocks(hybrid: bool) -> None:
    net = Checked()
    if hybrid:
        net.hybridize()
    assert net(np.array([1.0, 2.0])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="all must be positive"):
        net(np.array([1.0, -2.0])).asnumpy()
    assert net(np.array([3.0])).tolist() == [3]


def test_a_constraint_takes_booleans_alone() -> None:
    with pytest.raises(mx.MXNetError, match="float32"):
        npx.constraint_check(np.ones(2), "no")


def test_numbers_out_of_range_are_value_errors_by_name() -> None:
    for draw in (lambda: np.random.normal(0, -1), lambda: np.random.gamma(0, 1)):
        with pytest.raises(ValueError, match="out of range") as caught:
            draw()
        assert type(caught.value).__name__ == "ValueError"


def test_a_constraint_stops_executors() -> None:
    symbol = mx.sym.npx.constraint_check(mx.sym.var("c").as_np_ndarray(), "no")
    executor = symbol.bind(mx.cpu(), {"c": np.array([True, False], dtype="bool")})
    with pytest.raises(ValueError, match="no"):
        executor.forward()[0].asnumpy()


# What MXNet 1.9.1 refuses of an array parameter, and the nearest that it takes.
PARAMETERS = [
    (lambda v: np.random.normal(1.0, v), -1.0, 0.0),
    (lambda v: np.random.normal(np.zeros(2), v), -1.0, 0.0),
    (lambda v: np.random.gumbel(0.0, v), -1.0, 0.0),
    (lambda v: np.random.logistic(0.0, v), -1.0, 0.0),
    (lambda v: np.random.exponential(v), -1.0, 0.0),
    (lambda v: np.random.rayleigh(v), -1.0, 0.0),
    (lambda v: np.random.weibull(v), 0.0, 0.1),
    (lambda v: np.random.pareto(v), 0.0, 0.1),
    (lambda v: np.random.power(v), 0.0, 0.1),
    (lambda v: np.random.gamma(v, 1.0), 0.0, 0.1),
    (lambda v: np.random.beta(v, 1.0), 0.0, 0.1),
    (lambda v: npx.random.bernoulli(prob=v), 1.5, 1.0),
    (lambda v: npx.random.bernoulli(prob=v), -0.5, 0.0),
]


@each_record(("draw", "refused", "accepted"), PARAMETERS)
def test_array_parameters_lie_in_range(draw: Any, refused: float, accepted: float) -> None:
    with pytest.raises(ValueError, match="out of range"):
        draw(np.array([refused, 1.0]) + 0)
    assert draw(np.array([accepted, 1.0])).shape == (2,)
    draw(np.array([float("nan"), 1.0]))  # passes there too


def test_a_recorded_step_is_not_cut_for_a_check() -> None:
    scale = np.array([1.0, 2.0])
    scale.attach_grad()
    with autograd.record():
        draws = np.random.normal(0.0, scale * 2)
    draws.backward()
    assert scale.grad.shape == (2,)


@each_record(
    ("function", "arguments", "words"),
    [
        ("power", (-1,), "power: a"),
        ("beta", (-1, 2), "beta: a"),
        ("beta", (1, -2), "beta: b"),
        ("chisquare", (0,), "chisquare: df"),
        ("lognormal", (0, -1), "lognormal: sigma"),
        ("gamma", (-1,), "gamma: shape"),
    ],
)
@each_record("as_arrays", [False, True])
def test_errors_name_the_function_and_parameter_that_were_called(
    function: str, arguments: tuple, words: str, as_arrays: bool
) -> None:
    values = [np.array(each, dtype="float32") for each in arguments] if as_arrays else arguments
    with pytest.raises(ValueError, match=f"^{words}.* is out of range; give"):
        getattr(np.random, function)(*values, size=(2,))


def test_choice_needs_an_axis_to_choose_along() -> None:
    assert np.random.choice(np.ones((3, 2)), size=(4,)).shape == (4, 2)
    with pytest.raises(mx.MXNetError, match="choice: a is an array without axes"):
        np.random.choice(np.array(2.0), size=(2,))


@pytest.mark.parametrize("shape", [(3, 2.0), (3.0, 2), (True, 6), (6, None)])
def test_shapes_must_be_integers(shape: tuple) -> None:
    """MXNet 1.9.1 refuses all of them, too: 2.0 and True were 2 and 1."""
    for call in (
        mx.nd.zeros,
        lambda shape: mx.nd.random.uniform(shape=shape),
        np.zeros,
        lambda shape: mx.nd.ones((1, 1)).broadcast_to(shape),
    ):
        # Equal to (3, 2.0), and cached then.
        call(tuple(map(int, shape)) if None not in shape else (6, 1))
        with pytest.raises(mx.MXNetError, match=r"is not a shape|whole number|shape"):
            call(shape)


def test_equal_values_of_different_types_are_different_attributes() -> None:
    data = mx.nd.ones((2, 3))
    for axis in (1, (1,), 1, (1,)):
        assert mx.nd.sum(data, axis=axis).shape == (2,)
        for wrong in (True, 1.0, (1.0,), (True,)):
            with pytest.raises(mx.MXNetError, match="axis"):
                mx.nd.sum(data, axis=wrong)


@pytest.mark.parametrize("number", [3.0, True, onp.float64(3.5)])
def test_a_float_is_refused_where_an_integer_is_required(number: object) -> None:
    """``num_hidden=3.0`` is refused, as in MXNet 1.9.1."""
    with pytest.raises(mx.MXNetError, match=r"num_hidden=.* is not a whole number"):
        mx.nd.FullyConnected(
            mx.nd.ones((2, 3)), mx.nd.ones((3, 3)), num_hidden=number, no_bias=True
        )


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: np.random.randint(float("inf")), "high is a whole number, not inf"),
        (lambda: np.random.randint(2.5), "high is a whole number, not 2.5"),
        (lambda: npx.random.bernoulli(0.5, size=2.0), r"a tuple of whole numbers.*, not 2\.0"),
        (lambda: np.broadcast_to(np.ones((2, 3)), None), "a tuple of whole numbers.*, not None"),
        (lambda: np.unravel_index(np.array([1]), 2.5), r"a tuple of whole numbers.*, not 2\.5"),
        (lambda: np.array_split(np.array(1.0), 2), "axis=0 is out of range: the array has 0 axes"),
        (lambda: np.split(np.ones(3), 3, axis=1), "axis=1 is out of range: the array has 1 axes"),
    ],
)
def test_invalid_numbers_and_shapes_are_refused(call: Any, words: str) -> None:
    with pytest.raises(mx.MXNetError, match=words):
        call()


@pytest.mark.parametrize("q", [[0.5, 1.5], [-0.1], [float("nan"), 0.5]])
def test_percentiles_out_of_range_are_value_errors(q: list[float]) -> None:
    a = np.array([[10.0, 7.0, 4.0], [3.0, 2.0, 1.0]])
    percentages = np.array([100 * each for each in q])
    for call in (lambda: np.quantile(a, np.array(q)), lambda: np.percentile(a, percentages)):
        with pytest.raises(ValueError, match=r"q holds .* which is not between 0 and"):
            call()
    assert np.quantile(a, np.array([0.0, 1.0])).tolist() == [1, 10]
    assert np.percentile(a, np.array([0.0, 100.0])).tolist() == [1, 10]
