"""An interrupted step over several devices is done completely or not at all."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests.devices import run_again_on_four_devices
from tests.line_interrupts import is_all_or_nothing

# Python cannot raise an interrupt in a finalizer; it prints a warning and continues.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

CONTEXTS = [mx.cpu(0), mx.cpu(1)]


def test_joint_on_four_devices() -> None:
    run_again_on_four_devices(__file__, "-k", "joint")


class Training:
    """A network before its third step."""

    def __init__(self, **options: Any):
        self.net = gluon.nn.Dense(2, in_units=3)
        self.net.initialize(mx.init.One(), ctx=CONTEXTS)
        self.trainer = gluon.Trainer(self.net.collect_params(), "adam", **options)
        self.data = [nd.ones((2, 3), ctx=context) * (i + 1) for i, context in enumerate(CONTEXTS)]
        for _ in range(2):
            self.learn()
            self.step()
        self.learn()

    def learn(self) -> None:
        with autograd.record():
            losses = [self.net(each).sum() for each in self.data]
        autograd.backward(losses)

    def step(self) -> None:
        self.trainer.step(2)

    def content(self) -> str:
        parameters = self.net.collect_params().values()
        arrays = [[each.asnumpy().tolist() for each in p.list_data()] for p in parameters]
        rule = self.trainer.optimizer
        return repr((arrays, rule._all_index_update_counts, rule.num_update))


WAYS: dict[str, dict[str, Any]] = {"apart": {"kvstore": None}, "sums": {"update_on_kvstore": False}}
if "MIXNET_CPU_DEVICES" in os.environ:  # several contexts of one device have no joint program
    WAYS["joint"] = {}


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_a_step_happens_on_all_devices_or_on_none(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIXNET_JOINT_STEP_AFTER", "1")
    if not options:
        training = Training()
        training.step()
        assert training.trainer._kvstore.handle._steps.are_joint
    is_all_or_nothing(partial(Training, **options), Training.step, Training.content, 211)


@pytest.mark.skipif("joint" not in WAYS, reason="needs several devices")
def test_a_joint_step_of_parameters_without_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a module."""
    monkeypatch.setenv("MIXNET_JOINT_STEP_AFTER", "1")

    class Pushed:
        def __init__(self) -> None:
            self.store = mx.kv.create("device")
            self.store.init("w", nd.ones(3))
            self.store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, momentum=0.9))
            self.weights = [nd.ones(3, context) for context in CONTEXTS]
            for _ in range(2):
                self.step()
            assert self.store.handle._steps.are_joint

        def step(self) -> None:
            gradients = [nd.ones(3, context) for context in CONTEXTS]
            self.store._step(["w"], [gradients], [self.weights])

        def content(self) -> str:
            stored = nd.zeros(3)
            self.store.pull("w", out=stored)
            return repr([each.asnumpy().tolist() for each in (stored, *self.weights)])

    is_all_or_nothing(Pushed, Pushed.step, Pushed.content, 97)


def test_an_interrupted_push_changes_all_keys_or_none() -> None:
    def store() -> mx.kv.KVStore:
        result = mx.kv.create("local")
        result.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
        result.init([0, 1], [nd.ones((2,)), nd.ones((2,))])
        return result

    def content(store: mx.kv.KVStore) -> str:
        values = [nd.zeros((2,)), nd.zeros((2,))]
        store.pull([0, 1], values)
        return str([each.asnumpy().tolist() for each in values])

    is_all_or_nothing(store, lambda each: each.push([0, 1], [nd.ones((2,))] * 2), content, 53)
