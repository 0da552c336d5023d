"""Operations where Python's stack is nearly full, as in a deep recursion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.process.stack import CALLS_OF_PUSH, is_stack_left

Result = TypeVar("Result")


@pytest.fixture(autouse=True)
def _low_limit() -> Iterator[None]:
    before, depth = sys.getrecursionlimit(), 0
    while is_stack_left(before - depth):
        depth += 1
    sys.setrecursionlimit(depth + 400)
    yield
    sys.setrecursionlimit(before)


def where_few_calls_are_left(calls: int, work: Callable[[], Result]) -> Result:
    if is_stack_left(calls):
        return where_few_calls_are_left(calls, work)
    return work()


def test_a_step_without_room_for_it_leaves_weights_that_can_be_read() -> None:
    net = gluon.nn.Dense(1, in_units=3, use_bias=False)
    net.initialize(mx.init.Zero())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    data = nd.ones((1, 3))

    def step() -> None:
        with autograd.record():
            loss = -net(data)
        loss.backward()
        trainer.step(1)
        loss.asnumpy()

    step()
    steps, failures = 1.0, 0
    for calls in range(15, 250, 5):
        try:
            where_few_calls_are_left(calls, step)
        except RecursionError:
            failures += 1
        assert not autograd.is_recording()
        (weights,) = {*net.weight.data().asnumpy().ravel().tolist()}
        assert weights in (steps, steps + 1)
        steps = weights
    assert failures and steps > 10


def test_pending_operations_run_where_a_compiler_has_no_room() -> None:
    data = nd.arange(7)
    assert where_few_calls_are_left(70, (data * 2 + 1).asnumpy).tolist() == [*range(1, 15, 2)]


def test_too_little_room_is_an_error_that_says_so_and_changes_nothing() -> None:
    result = nd.ones((2,)) * 3
    with pytest.raises(RecursionError, match=r"fewer than 60 calls are left.*setrecursionlimit"):
        where_few_calls_are_left(CALLS_OF_PUSH - 10, result.asnumpy)
    assert result.asnumpy().tolist() == [3.0, 3.0]
