"""Methods that replace the package's own are called as MXNet calls them.

The expected calls are those that MXNet 1.9.1 printed for the same classes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd

CONTEXTS = [mx.cpu(0), mx.cpu(1)]
LEARNED = [24.2592, 6.0864, 0.6752, -2.832]
BROADCASTS = [("broadcast", "int")] * 4


class Watched(mx.kvstore.KVStore):
    """A store that records its calls."""

    def __init__(self) -> None:
        super().__init__(mx.kv.create("device").handle)
        self._type = "device"
        self.calls: list[tuple] = []

    def init(self, key: Any, value: Any) -> None:
        self.calls.append(("init", type(key).__name__))
        super().init(key, value)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        self.calls.append(("broadcast", type(key).__name__))
        super().broadcast(key, value, out, priority)

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        self.calls.append(("push", type(key).__name__, priority))
        super().push(key, value, priority)

    def pull(
        self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        self.calls.append(("pull", type(key).__name__, priority))
        super().pull(key, out, priority, ignore_sparse)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        self.calls.append(("pushpull", type(key).__name__, out is not None, priority))
        super().pushpull(key, value, out, priority)


def trained(trainer_of: Any, store: Any, on_store: bool, prepare: Any = None) -> list[float]:
    """Sums of the parameters after two steps over two contexts."""
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(2, in_units=3), gluon.nn.Dense(1, in_units=2))
    net.initialize(mx.init.One(), ctx=CONTEXTS)
    trainer = trainer_of(
        net.collect_params(),
        "sgd",
        {"learning_rate": 0.1},
        kvstore=store,
        update_on_kvstore=on_store,
    )
    if prepare is not None:
        prepare(trainer)
    for _ in range(2):
        with autograd.record():
            losses = [(net(nd.ones((2, 3), ctx=context)) ** 2).sum() for context in CONTEXTS]
        autograd.backward(losses)
        trainer.step(4)
    parameters = net.collect_params().values()
    return [round(float(each.data(CONTEXTS[0]).sum().asscalar()), 4) for each in parameters]


@pytest.mark.parametrize("on_store", [True, False])
def test_a_store_of_the_programs_own_class_gets_every_key(on_store: bool) -> None:
    store = Watched()
    assert trained(gluon.Trainer, store, on_store) == LEARNED
    steps = [("pushpull", "int", on_store, -i) for i in range(4)] * 2
    assert store.calls == BROADCASTS + steps


def test_a_method_set_on_a_store_is_called() -> None:
    store, keys = mx.kv.create("device"), []
    pushpull = store.pushpull

    def noted(key: Any, *arguments: Any, **options: Any) -> None:
        keys.append(key)
        pushpull(key, *arguments, **options)

    store.pushpull = noted  # type: ignore[method-assign]
    assert trained(gluon.Trainer, store, True) == LEARNED
    assert keys == [0, 1, 2, 3] * 2


class Wrapper(mx.kvstore.KVStore):
    """A store that leaves to another one what it does not define, as ByteScheduler's does."""

    def __init__(self, store: mx.kvstore.KVStore) -> None:
        self._kvstore = store

    def __del__(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kvstore, name)


@pytest.mark.parametrize("on_store", [True, False])
def test_a_wrapper_uses_the_wrapped_store(on_store: bool) -> None:
    assert trained(gluon.Trainer, Wrapper(mx.kv.create("device")), on_store) == LEARNED


def test_a_module_calls_the_methods_of_a_store() -> None:
    data, label = mx.sym.Variable("data"), mx.sym.Variable("lin_label")
    out = mx.sym.FullyConnected(data, num_hidden=1, name="fc")
    module = mx.mod.Module(
        mx.sym.LinearRegressionOutput(out, label), label_names=["lin_label"], context=CONTEXTS
    )
    batches = mx.io.NDArrayIter(np.ones((8, 3), "f"), np.ones((8,), "f"), 4, label_name="lin_label")
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(mx.init.One())
    store = Watched()
    module.init_optimizer(kvstore=store, optimizer_params={"learning_rate": 0.1})
    store.calls.clear()
    for batch in batches:
        module.forward_backward(batch)
        module.update()
    assert store.calls == [("pushpull", "str", True, 0), ("pushpull", "str", True, -1)] * 2
    weights = module.get_params()[0]
    assert weights["fc_weight"].asnumpy() == pytest.approx(0.68)
    assert weights["fc_bias"].asnumpy() == pytest.approx(-0.32)


class Halves(gluon.Trainer):
    """A trainer that records the two halves of a step."""

    calls: list[str]

    def _allreduce_grads(self) -> None:
        self.calls.append("sums")
        super()._allreduce_grads()

    def _update(self, ignore_stale_grad: bool = False) -> None:
        self.calls.append("update")
        super()._update(ignore_stale_grad)


@pytest.mark.parametrize("on_store", [True, False])
def test_overridden_halves_of_a_trainers_step_are_called(on_store: bool) -> None:
    Halves.calls = []
    assert trained(Halves, "device", on_store) == LEARNED
    assert Halves.calls == ["sums", "update"] * 2


@pytest.mark.parametrize("on_store", [True, False])
def test_a_half_of_a_step_set_on_a_trainer_is_called(on_store: bool) -> None:
    calls = []

    def prepare(trainer: gluon.Trainer) -> None:
        def sums() -> None:
            calls.append("sums")
            gluon.Trainer._allreduce_grads(trainer)

        trainer._allreduce_grads = sums  # type: ignore[method-assign]

    assert trained(gluon.Trainer, "device", on_store, prepare) == LEARNED
    assert calls == ["sums"] * 2


class Counting(mx.optimizer.Updater):
    """An updater that records its calls."""

    calls: list[str]

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        self.calls.append("update")
        super().__call__(index, grad, weight)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        self.calls.append("get")
        return super().get_states(dump_optimizer)

    def set_states(self, states: Any, *arguments: Any) -> None:
        self.calls.append("set")
        super().set_states(states, *arguments)


def test_an_updater_of_a_custom_class_is_called(tmp_path: Path) -> None:
    Counting.calls = []
    store = mx.kv.create("device")
    store._set_updater(Counting(mx.optimizer.SGD(learning_rate=0.1)))
    store.init("a", nd.ones(2))
    for _ in range(2):
        store.push("a", nd.ones(2))
    out = nd.zeros(2)
    store.pull("a", out=out)
    assert out.asnumpy() == pytest.approx(0.8)
    store.save_optimizer_states(str(tmp_path / "states"))
    store.load_optimizer_states(str(tmp_path / "states"))
    assert Counting.calls == ["update", "update", "get", "set"]


def test_updaters_set_on_a_trainer_are_called(tmp_path: Path) -> None:
    Counting.calls, trainers = [], []

    def prepare(trainer: gluon.Trainer) -> None:
        trainer._updaters = [Counting(trainer._optimizer) for _ in trainer._updaters]
        trainers.append(trainer)

    assert trained(gluon.Trainer, "device", False, prepare) == LEARNED
    trainers[0].save_states(str(tmp_path / "states"))
    trainers[0].load_states(str(tmp_path / "states"))
    assert Counting.calls == ["update"] * 4 + ["get", "set", "set"]
    assert {id(each.optimizer) for each in trainers[0]._updaters} == {id(trainers[0].optimizer)}


def seven(index: Any, weight: Any, grad: Any, state: Any) -> None:
    """An update that says that it was called."""
    for each in weight if isinstance(weight, (list, tuple)) else [weight]:
        each[:] = 7


def test_an_update_set_on_an_optimizer_is_called() -> None:
    rule = mx.optimizer.SGD(learning_rate=0.1)
    rule.update_multi_precision = seven  # type: ignore[method-assign]
    weight = nd.ones(2)
    mx.optimizer.get_updater(rule)(0, nd.ones(2), weight)
    assert weight.asnumpy().tolist() == [7, 7]


def test_an_update_set_on_a_class_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = mx.optimizer.Adam(learning_rate=0.1)
    monkeypatch.setattr(mx.optimizer.Adam, "update", lambda self, *arguments: seven(*arguments))
    weight = nd.ones(2)
    mx.optimizer.get_updater(rule)(0, nd.ones(2), weight)
    assert weight.asnumpy().tolist() == [7, 7]


def test_an_updater_of_a_custom_class_is_sent_completely() -> None:
    from mixnet.kvstore.messages import sendable

    rule = mx.optimizer.SGD(learning_rate=0.1)
    own, plain = Counting(rule), mx.optimizer.Updater(rule)
    assert sendable(own) is own and sendable(plain) is rule and sendable(seven) is seven
