"""Plans of backward: they record the operations that would be derived again, for every kind of tape."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.autograd import plan, tape


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Each test starts without plans."""
    plan._plans.clear()
    plan._latest.clear()
    yield


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that gets an entry whenever gradients are derived."""
    results: list[int] = []
    differentiate = tape.differentiate

    def counted(*args: object, **kwargs: object) -> object:
        results.append(1)
        return differentiate(*args, **kwargs)

    monkeypatch.setattr(tape, "differentiate", counted)
    return results


def gradients(
    of: Callable[..., nd.NDArray], *inputs: np.ndarray, **options: object
) -> list[np.ndarray]:
    variables = [nd.array(each) for each in inputs]
    for each in variables:
        each.attach_grad()
    with autograd.record():
        result = of(*variables)
    result.backward(**options)
    return [each.grad.asnumpy() for each in variables]


FUNCTIONS: dict[str, Callable[..., nd.NDArray]] = {
    "numbers": lambda x, y: ((x * 3.5 + y) / 2.5).sum(),
    "used twice": lambda x, y: (x * y + x * x).sum(),
    "one of several outputs": lambda x, y: (nd.split(x, 3, axis=1)[1] * 2).sum() + y.sum(),
    "without a gradient": lambda x, y: (nd.BlockGrad(x) * y).sum(),
    "unused": lambda x, y: (x * 2).sum(),
    "no reduction": lambda x, y: nd.exp(x) * y,
    "kept outputs": lambda x, y: nd.softmax(x).sum() + nd.tanh(y).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_second_backward_reuses_the_plan(
    name: str, derivations: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(2, 3)) for _ in range(4)]
    first = gradients(FUNCTIONS[name], *inputs[:2])
    again = gradients(FUNCTIONS[name], *inputs[:2])
    others = gradients(FUNCTIONS[name], *inputs[2:])
    assert len(derivations) == 1
    monkeypatch.setattr(plan, "structure", lambda *args: None)
    monkeypatch.setattr(plan, "latest", lambda heads: None)
    for planned, arrays in ((first, inputs[:2]), (again, inputs[:2]), (others, inputs[2:])):
        derived = gradients(FUNCTIONS[name], *arrays)
        assert len(derived) == len(planned) == 2
        for one, other in zip(planned, derived, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_plan_uses_the_scalars_of_the_call() -> None:
    for factor in (2.0, 3.0, 5.0):
        (actual,) = gradients(lambda x, by=factor: (x * by).sum(), np.ones((2, 2)))
        assert (actual == factor).all()


def test_the_readers_of_each_value_are_part_of_the_structure() -> None:
    """The same operations on the same shapes, and other inputs."""
    one, other = np.full((2, 2), 2.0), np.full((2, 2), 3.0)
    for function, expected in (
        (lambda x, y: (x * y).sum(), (3.0, 2.0)),
        (lambda x, y: (x * x).sum(), (4.0, 0.0)),
        (lambda x, y: (y * y).sum(), (0.0, 6.0)),
        (lambda x, y: (y * x).sum(), (3.0, 2.0)),
    ):
        for actual, value in zip(gradients(function, one, other), expected, strict=True):
            assert (actual == value).all()


def test_the_variables_with_gradients_are_part_of_the_structure() -> None:
    for request, expected in (("write", 6.0), ("null", None), ("add", 12.0), ("write", 6.0)):
        x, y = nd.full((2,), 2.0), nd.full((2,), 3.0)
        x.attach_grad()
        y.attach_grad(request)
        for _ in range(2):
            with autograd.record():
                z = (x * y * y).sum()
            z.backward()
        assert (x.grad.asnumpy() == 9.0).all()
        if expected is not None:
            assert (y.grad.asnumpy() == 2 * expected).all()


def test_head_gradients_and_several_heads() -> None:
    for scale in (1.0, 4.0):
        x = nd.array([1.0, 2.0])
        x.attach_grad()
        with autograd.record():
            heads = [x * x, x * 3]
        autograd.backward(heads, [nd.array([scale, 1.0]), None])
        assert x.grad.asnumpy().tolist() == [2 * scale + 3, 7.0]


def test_a_retained_tape_can_be_differentiated_again(derivations: list[int]) -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad("add")
    with autograd.record():
        y = (x * x).sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    assert x.grad.asnumpy().tolist() == [6.0, 12.0] and len(derivations) == 1


def test_a_tape_of_a_known_structure_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = []
    walk = plan.walk
    monkeypatch.setattr(plan, "walk", lambda heads: walks.append(1) or walk(heads))
    for _ in range(4):
        gradients(lambda x, y: (x * y).sum(), np.ones((2,)), np.ones((2,)))
    assert len(walks) == 1


def test_a_freed_tape_of_a_known_structure_is_an_error() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = (x * x).sum()
        y.backward()
        with pytest.raises(mx.MXNetError, match="freed by an earlier backward"):
            y.backward()
    assert x.grad.asnumpy().tolist() == [2.0, 4.0]


def test_results_of_a_freed_tape_are_constants_each_time() -> None:
    x, w = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    x.attach_grad()
    w.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = x * x
            first = y.sum()
        first.backward()
        with autograd.record():
            second = (y * w).sum()
        second.backward()
        assert x.grad.asnumpy().tolist() == [2.0, 4.0]
        assert w.grad.asnumpy().tolist() == [1.0, 4.0]


def test_a_result_in_place_of_a_variable_is_another_structure() -> None:
    x, w = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    x.attach_grad()
    w.attach_grad()
    for is_result in (False, True, False, True):
        with autograd.record():
            factor = nd.exp(x) if is_result else x
            (factor * w).sum().backward()
        value = np.exp([1.0, 2.0]) if is_result else np.array([1.0, 2.0])
        slope = value if is_result else 1.0
        np.testing.assert_allclose(w.grad.asnumpy(), value, rtol=1e-6)
        np.testing.assert_allclose(x.grad.asnumpy(), slope * np.array([3.0, 4.0]), rtol=1e-6)


def test_functions_in_python_run_every_time() -> None:
    calls = []

    class Square(autograd.Function):
        def forward(self, x: nd.NDArray) -> nd.NDArray:
            self.save_for_backward(x)
            return x * x

        def backward(self, head: nd.NDArray) -> nd.NDArray:
            calls.append(1)
            return head * 2 * self.saved_tensors[0]

    for value in (1.0, 2.0, 3.0):
        (actual,) = gradients(lambda x: Square()(x).sum(), np.full((2,), value))
        assert (actual == 2 * value).all()
    assert len(calls) == 3


@pytest.mark.parametrize("hybridize", [False, True])
def test_states_move_and_draws_differ_in_every_step(
    hybridize: bool, derivations: list[int]
) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8), gluon.nn.BatchNorm(), gluon.nn.Dropout(0.5), gluon.nn.Dense(1))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    x = nd.array(np.random.default_rng(0).normal(size=(16, 4)))
    net(x)
    means, actual = [], []
    for _ in range(4):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        means.append(net[1].running_mean.data().asnumpy().copy())
        actual.append(net[3].weight.grad().asnumpy().copy())
    for before, after in itertools.pairwise(means):
        assert (before != after).any()
    assert (actual[0] != actual[1]).any()
    assert len(derivations) == 1


@pytest.mark.parametrize("limit", [{"MOST_NODES": 20}, {"MOST_PLANS": 4}])
def test_plans_are_forgotten_when_there_are_too_many(
    limit: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in limit.items():
        monkeypatch.setattr(plan, name, number)
    monkeypatch.setattr(plan, "_size", 0)
    for n in range(1, 12):
        (actual,) = gradients(lambda x: (x * 2).sum(), np.ones((n,)))
        assert (actual == 2).all()
        assert len(plan._plans) <= 7 and len(plan._latest) <= 7
