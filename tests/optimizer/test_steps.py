"""Steps of several parameters are written at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.ndarray.steps import run_steps
from mixnet.runtime.value.change import Change
from tests.line_interrupts import interrupted, is_all_or_nothing
from tests.threads import in_threads

# Python cannot raise an interrupt in a finalizer; it prints a warning and continues.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def parameters() -> tuple[list[nd.NDArray], list[nd.NDArray]]:
    weights = [nd.ones((2,)), nd.ones((2, 3)), nd.ones((4,))]
    return weights, [nd.full(each.shape, 2.0) for each in weights]


class _Counted(mx.optimizer.Optimizer):
    """Writes one array after the other, as custom optimizers do."""

    def create_state(self, index, weight):
        return nd.zeros(weight.shape)

    def update(self, index, weight, grad, state):
        self._update_count(index)
        state += grad
        weight[:] = weight - self._get_lr(index) * self._index_update_count[index] * state


def contents(updater: mx.optimizer.Updater, weights: list[nd.NDArray]) -> str:
    """Everything that a step changes."""
    rule = updater.optimizer
    states = [each for i in range(3) for each in _flat(updater.states[i])]
    arrays = [each.asnumpy().tolist() for each in (*weights, *states)]
    numbers = {name: value for name, value in vars(rule).items() if isinstance(value, (int, float))}
    return repr((arrays, numbers, rule._all_index_update_counts, vars(rule.lr_scheduler)))


def _flat(state: object) -> list[nd.NDArray]:
    states = state if isinstance(state, tuple) else (state,)
    return [each for each in states if each is not None]


@pytest.mark.parametrize(
    ("rule", "settings"),
    [
        (mx.optimizer.SGD, {"momentum": 0.9}),
        (mx.optimizer.Adam, {}),
        (mx.optimizer.Nadam, {}),
        (mx.optimizer.LARS, {"momentum": 0.9}),
        (mx.optimizer.LBSGD, {"batch_scale": 2}),
        (_Counted, {}),
    ],
)
def test_an_interrupt_leaves_everything_or_nothing_updated(rule: type, settings: dict) -> None:
    folders = ("/mixnet/", "/optimizer/test_steps.py", "lr_scheduler.py")

    def at_step_two() -> tuple[mx.optimizer.Updater, list[nd.NDArray], list[nd.NDArray]]:
        weights, gradients = parameters()
        schedule = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.5)
        updater = mx.optimizer.get_updater(rule(lr_scheduler=schedule, **settings))
        updater([0, 1, 2], gradients, weights)
        return updater, gradients, weights

    is_all_or_nothing(
        at_step_two,
        lambda step: step[0]([0, 1, 2], *step[1:]),
        lambda step: contents(step[0], step[2]),
        61,
        folders,
    )


def test_a_step_that_fails_for_one_parameter_changes_no_parameter() -> None:
    weights, gradients = parameters()
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    updater([0, 1, 2], gradients, weights)
    before = [each.asnumpy() for each in weights]
    with pytest.raises(mx.MXNetError):
        updater([0, 1, 2], [*gradients[:2], nd.ones((5,))], weights)
    assert updater.optimizer._index_update_count == {0: 1, 1: 1, 2: 1}
    for weight, old in zip(weights, before, strict=True):
        np.testing.assert_array_equal(weight.asnumpy(), old)


def test_states_that_were_made_before_an_interrupt_are_used() -> None:
    for at in range(1, 400):
        weights, gradients = parameters()
        updater = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=1.0))
        update = partial(updater, 0, gradients[0], weights[0])
        place = interrupted(at, ("/optimizer/updater.py",), update)
        update()
        steps = updater.optimizer._index_update_count[0]
        np.testing.assert_allclose(weights[0].asnumpy(), 1 - steps, atol=1e-4, err_msg=str(place))
        if place is None:
            return
    raise AssertionError("too many lines")


def test_a_step_runs_after_the_step_whose_result_it_reads() -> None:
    weight, other = nd.ones((2,)), nd.ones((2,))
    rule = mx.optimizer.create("sgd", learning_rate=1.0)
    first = rule._mx_steps(0, weight, nd.ones((2,)), None)
    second = rule._mx_steps(1, other, weight, None)
    run_steps(first + second)
    np.testing.assert_array_equal(weight.asnumpy(), [0, 0])
    np.testing.assert_array_equal(other.asnumpy(), [1, 1])


def test_parts_of_one_array_are_updated_as_separate_parameters() -> None:
    whole = nd.ones((4,))
    rule = mx.optimizer.create("sgd", learning_rate=1.0)
    updater = mx.optimizer.get_updater(rule)
    updater([0, 1], [nd.ones((2,)), nd.full((2,), 3.0)], [whole[:2], whole[2:]])
    np.testing.assert_array_equal(whole.asnumpy(), [0, 0, -2, -2])


def test_a_subclass_that_extends_update_is_called_for_each_parameter() -> None:
    class Decayed(mx.optimizer.Adam):
        def update(self, index, weight, grad, state):
            super().update(index, weight, grad, state)
            weight[:] = 0.5 * weight

    weights, gradients = parameters()
    plain, _ = parameters()
    mx.optimizer.get_updater(mx.optimizer.Adam())([0, 1, 2], gradients, plain)
    mx.optimizer.get_updater(Decayed())([0, 1, 2], gradients, weights)
    for weight, other in zip(weights, plain, strict=True):
        np.testing.assert_array_equal(weight.asnumpy(), 0.5 * other.asnumpy())


@pytest.mark.parametrize("base", ["sgd", "nag", "lars", "lamb"])
def test_an_update_impl_of_a_subclass_is_called_by_every_way_of_updating(base: str) -> None:
    calls: list[tuple[type, bool]] = []

    class Doubled(mx.optimizer.Optimizer.opt_registry[base]):
        def _update_impl(self, index, weight, grad, state, multi_precision=False):
            calls.append((type(index), multi_precision))
            super()._update_impl(index, weight, grad, state, multi_precision)

    rule, weight, grad = Doubled(multi_precision=True), nd.ones((2,)), nd.ones((2,))
    state = rule.create_state(0, weight)
    rule.update(0, weight, grad, state)
    rule.update_multi_precision(0, weight, grad, state)
    half = nd.ones((2,), dtype="float16")
    state = rule.create_state_multi_precision(1, half)
    rule.update_multi_precision(1, half, half.copy(), state)
    assert calls == [(int, False), (int, False), (int, True)]
    assert (weight < 1).asnumpy().all()
    mx.optimizer.get_updater(rule)([2, 3], [grad, grad.copy()], [weight, nd.ones((2,))])
    assert calls[3] == ((tuple if rule.aggregate_num else int), False)


def test_a_mixin_before_an_optimizer_is_called_for_each_parameter() -> None:
    class Doubled:
        """Not an optimizer itself, as horovod's is not."""

        def update_multi_precision(self, index, weight, grad, state):
            super().update_multi_precision(index, weight, 2 * grad, state)

    class DoubledNAG(Doubled, mx.optimizer.NAG):
        pass

    weight = nd.ones((2,))
    mx.optimizer.get_updater(DoubledNAG(learning_rate=1.0))(0, nd.ones((2,)), weight)
    np.testing.assert_array_equal(weight.asnumpy(), [-1, -1])


def test_repeated_steps_of_changing_numbers_follow_the_rule() -> None:
    rng = np.random.default_rng(0)
    shapes = [(2,), (2, 3), (4,)]
    gradients = rng.standard_normal((6, 9))
    values = [rng.standard_normal(shape) for shape in shapes]
    weights = [nd.array(each, dtype="float64") for each in values]
    velocities = [np.zeros(shape) for shape in shapes]
    optimizer = mx.optimizer.SGD(momentum=0.9, wd=0.1)
    updater = mx.optimizer.get_updater(optimizer)
    for number, row in enumerate(gradients):
        optimizer.lr, optimizer.rescale_grad = 0.1 * (number + 1), 1 / (number + 2)
        optimizer.set_lr_mult({1: 0.5 * number})
        own = [np.resize(row, shape) for shape in shapes]
        updater([0, 1, 2], [nd.array(each, dtype="float64") for each in own], weights)
        for i, rate in enumerate((1.0, 0.5 * number, 1.0)):
            step = own[i] / (number + 2) + 0.1 * values[i]
            velocities[i] = 0.9 * velocities[i] - 0.1 * (number + 1) * rate * step
            values[i] = values[i] + velocities[i]
            np.testing.assert_allclose(weights[i].asnumpy(), values[i], rtol=1e-6)
            np.testing.assert_allclose(
                updater.states[i].asnumpy(), velocities[i], rtol=1e-5, atol=1e-7
            )


def test_repeated_steps_start_again_where_another_thread_writes_a_weight(monkeypatch) -> None:
    weights, gradients = parameters()
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1.0))
    updater([0, 1, 2], gradients, weights)
    commit = Change.commit

    def late(attempt: Change) -> bool:
        """A thread writes just before the first commit."""
        monkeypatch.setattr(Change, "commit", commit)
        in_threads(1, lambda _: weights[1].__setitem__(slice(None), 10))
        return commit(attempt)

    monkeypatch.setattr(Change, "commit", late)
    updater([0, 1, 2], gradients, weights)
    expected = [-3, 8, -3]
    for weight, value in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(weight.asnumpy(), np.full(weight.shape, value))


@pytest.mark.parametrize("has_schedule", [False, True])
def test_parameters_of_different_counts_have_the_rates_of_their_calls(has_schedule: bool) -> None:
    schedule = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0) if has_schedule else None
    rule = mx.optimizer.SGD(learning_rate=1.0, lr_scheduler=schedule)
    updater = mx.optimizer.get_updater(rule)
    weights = [nd.zeros((1,)) for _ in range(6)]
    ones = [nd.ones((1,)) for _ in range(6)]
    updater([4, 5], ones[4:], weights[4:])
    updater([4, 5], ones[4:], weights[4:])
    updater([0, 1, 2, 3, 4, 5], ones, weights)
    moved = [-each.asscalar() for each in weights]
    # MXNet updates four parameters of SGD in one call; the rate follows the most updates counted before.
    expected = [0.5] * 4 + [1 + 0.5 + 0.25] * 2 if has_schedule else [1] * 4 + [3] * 2
    np.testing.assert_allclose(moved, expected)


class _RatesByIndex(mx.optimizer.Adam):
    """A program's own rates."""

    def _get_lr(self, index):
        return 0.5 ** (index + 1)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            mx.optimizer.LARS(learning_rate=1.0, momentum=0.5),
            [0.997668, 0.995671, 0.998334, 0.998334, 0.997543, 0.998167],
        ),
        (_RatesByIndex(), [-0.500331, 0.249622, 0.749864, 0.874966, 0.906217, 0.968744]),
        (
            mx.optimizer.Adam(learning_rate=0.1),
            [-0.83265, -2.496649, -0.333342, -0.333342, -0.833223, -0.333342],
        ),
    ],
)
def test_many_parameters_at_once_are_updated_as_in_mxnet(
    rule: mx.optimizer.Optimizer, expected: list[float]
) -> None:
    updater = mx.optimizer.get_updater(rule)
    weights = [nd.ones((1,)) for _ in range(6)]
    gradients = [nd.full((1,), i + 1.0) for i in range(6)]
    for number, updated in enumerate(([*range(6)], [0, 1, 4], [*range(6)])):
        if type(rule) is not _RatesByIndex:
            rule.set_learning_rate(1 / (number + 1))
        if number == 1:
            rule.set_lr_mult({1: 3.0})
            rule.set_wd_mult({2: 2.0})
            rule.wd = 0.1
        updater(updated, [gradients[i] for i in updated], [weights[i] for i in updated])
    np.testing.assert_allclose([each.asscalar() for each in weights], expected, rtol=2e-5)


def test_several_parameters_are_handed_over_as_tuples() -> None:
    calls: list[list[Any]] = []

    class Rule(mx.optimizer.SGD):
        def update_multi_precision(self, *arguments: Any) -> None:
            calls.append([type(each).__name__ for each in arguments] + [arguments[0]])
            super().update_multi_precision(*arguments)

    updater = mx.optimizer.get_updater(Rule(learning_rate=1))
    weights = [nd.ones((1,)) for _ in range(6)]
    updater(0, nd.ones((1,)), weights[0])
    updater(list(range(6)), [nd.ones((1,))] * 6, weights)
    kinds = ["tuple", "tuple", "tuple", "list"]  # in MXNet 1.9.1
    assert calls == [[*kinds, (0,)], [*kinds, (0, 1, 2, 3)], [*kinds, (4, 5)]]
    assert [each.asscalar() for each in weights] == [-1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_parameters_with_the_same_numbers_share_a_step(name: str) -> None:
    def rule_and_arrays() -> tuple[mx.optimizer.Optimizer, list, list, list]:
        rule = mx.optimizer.create(name, learning_rate=0.5, wd=0.25)
        weights, gradients = parameters()
        states = [rule.create_state(i, each) for i, each in enumerate(weights)]
        return rule, weights, gradients, states

    for factors, parameters_of_steps in (({}, [3]), ({2: 0.0}, [2, 1]), ({1: 0.0}, [1, 1, 1])):
        rule, *arrays = rule_and_arrays()
        rule.set_wd_mult(factors)
        steps = rule._mx_steps([0, 1, 2], *arrays)
        assert [len(each.arrays) for each in steps] == parameters_of_steps
        run_steps(steps)
        alone, *arrays_alone = rule_and_arrays()
        alone.set_wd_mult(factors)
        for i, (weight, gradient, state) in enumerate(zip(*arrays_alone, strict=True)):
            alone.update(i, weight, gradient, state)
            assert arrays[0][i].asnumpy().tolist() == weight.asnumpy().tolist()
