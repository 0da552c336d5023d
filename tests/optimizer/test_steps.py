"""Steps of several parameters are written at once."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.ndarray.steps import run_steps
from tests.line_interrupts import interrupted


def parameters() -> tuple[list[nd.NDArray], list[nd.NDArray]]:
    weights = [nd.ones((2,)), nd.ones((2, 3)), nd.ones((4,))]
    return weights, [nd.full(each.shape, 2.0) for each in weights]


@pytest.mark.parametrize(("name", "settings"), [("sgd", {"momentum": 0.9}), ("adam", {})])
def test_an_interrupt_leaves_all_parameters_or_none_updated(name: str, settings: dict) -> None:
    folders = ("/mixnet/ndarray/", "/mixnet/optimizer/", "/mixnet/runtime/value/")
    seen: set[bool] = set()
    for at in range(1, 100_000, 37):
        weights, gradients = parameters()
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.5, **settings))
        updater([0, 1, 2], gradients, weights)
        before = [each.asnumpy() for each in weights]
        place = interrupted(at, folders, lambda: updater([0, 1, 2], gradients, weights))  # noqa: B023
        changed = {bool((w.asnumpy() != b).all()) for w, b in zip(weights, before, strict=True)}
        assert len(changed) == 1, place
        seen |= changed
        if place is None:
            break
    assert seen == {True, False}


def test_a_step_that_reads_what_another_writes_comes_after_it() -> None:
    weight, other = nd.ones((2,)), nd.ones((2,))
    rule = mx.optimizer.create("sgd", learning_rate=1.0)
    first = rule._steps(0, weight, nd.ones((2,)), None)
    second = rule._steps(1, other, weight, None)
    run_steps(first + second)
    np.testing.assert_array_equal(weight.asnumpy(), [0, 0])
    np.testing.assert_array_equal(other.asnumpy(), [1, 1])


def test_parts_of_one_array_are_updated_as_parameters_of_their_own() -> None:
    whole = nd.ones((4,))
    rule = mx.optimizer.create("sgd", learning_rate=1.0)
    updater = mx.optimizer.get_updater(rule)
    updater([0, 1], [nd.ones((2,)), nd.full((2,), 3.0)], [whole[:2], whole[2:]])
    np.testing.assert_array_equal(whole.asnumpy(), [0, 0, -2, -2])


def test_a_subclass_that_goes_on_after_the_rule_is_called_for_each_parameter() -> None:
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
