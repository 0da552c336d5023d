"""Overridden methods are called where MXNet 1.9.1 calls them, even if mixnet has a faster path.

The expected calls are those that the same programs printed under MXNet 1.9.1.
"""

from __future__ import annotations

from typing import Any

import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd

CONTEXTS = [mx.cpu(0), mx.cpu(1)]


def noted(cls: type, calls: list[str], *names: str) -> type:
    """A subclass that records the calls of some methods."""

    def method(name: str) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return getattr(super(own, self), name)(*args, **kwargs)

        return call

    own: Any = type(f"Noted{cls.__name__}", (cls,), {name: method(name) for name in names})
    return own


def dense(contexts: Any = None) -> gluon.nn.Dense:
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.One(), ctx=contexts)
    return net


def train(net: gluon.Block, trainer: gluon.Trainer, contexts: Any, steps: int = 2) -> list[float]:
    for _ in range(steps):
        with autograd.record():
            losses = [net(nd.ones((2, 3), ctx=each)).sum() for each in contexts]
        autograd.backward(losses)
        trainer.step(1)
    parameters = net.collect_params().values()
    return [round(float(each.list_data()[0].sum().asscalar()), 4) for each in parameters]


SGD = ("sgd", {"learning_rate": 0.1})


def test_overridden_parts_of_a_trainers_step_are_called() -> None:
    calls: list[str] = []
    net = dense(CONTEXTS)
    own = noted(gluon.Trainer, calls, "step", "_allreduce_grads", "_update")
    assert train(net, own(net.collect_params(), *SGD), CONTEXTS) == [1.2, -1.6]
    assert calls == ["step", "_allreduce_grads", "_update"] * 2


@pytest.mark.parametrize("on_store", [True, False])
def test_a_store_with_methods_of_its_own_is_called_for_each_key(on_store: bool) -> None:
    calls: list[str] = []
    store = mx.kv.create("local")
    store.__class__ = noted(type(store), calls, "init", "broadcast", "push", "pull", "pushpull")
    net = dense(CONTEXTS)
    trainer = gluon.Trainer(net.collect_params(), *SGD, kvstore=store, update_on_kvstore=on_store)
    assert train(net, trainer, CONTEXTS) == [1.2, -1.6]
    assert calls == ["broadcast"] * 2 + ["pushpull"] * 4


def test_a_method_set_on_a_store_is_called() -> None:
    keys: list[Any] = []
    store = mx.kv.create("local")
    before = store.pushpull

    def pushpull(key: Any, *args: Any, **kwargs: Any) -> None:
        keys.append(key)
        before(key, *args, **kwargs)

    store.pushpull = pushpull
    net = dense(CONTEXTS)
    trainer = gluon.Trainer(net.collect_params(), *SGD, kvstore=store)
    assert train(net, trainer, CONTEXTS) == [1.2, -1.6]
    assert keys == [0, 1, 0, 1]


@pytest.mark.parametrize("name", ["update", "update_multi_precision"])
def test_a_method_set_on_an_optimizer_is_called(name: str) -> None:
    rule = mx.optimizer.Adam()
    setattr(rule, name, lambda index, weight, grad, state: None)
    net = dense()
    assert train(net, gluon.Trainer(net.collect_params(), rule), [mx.cpu()], 1) == [6, 0]


def test_a_method_set_on_the_class_of_an_optimizer_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(mx.optimizer.Adam, "update", lambda self, index, *_: calls.append(index))
    net = dense()
    assert train(net, gluon.Trainer(net.collect_params(), "adam"), [mx.cpu()], 1) == [6, 0]
    assert calls == [0, 1]


def test_a_rate_of_its_own_counts_and_a_property_of_its_own_does_not() -> None:
    class ByIndex(mx.optimizer.Adam):
        def _get_lr(self, index):
            return 0.5 * (index + 1)

    class Shown(mx.optimizer.SGD):
        @property
        def learning_rate(self):
            return 0.5

    for rule, sums in ((ByIndex(), [0, -1]), (Shown(learning_rate=0.1), [4.8, -0.4])):
        net = dense()
        trainer = gluon.Trainer(net.collect_params(), rule)
        assert train(net, trainer, [mx.cpu()], 1) == pytest.approx(sums, abs=1e-3)


def test_overridden_methods_of_a_parameter_are_called() -> None:
    class Scaled(gluon.Parameter):
        def list_grad(self):
            return [10 * each for each in super().list_grad()]

    weight = Scaled("weight", shape=(2, 3))
    weight.initialize(mx.init.One())
    trainer = gluon.Trainer([weight], *SGD)
    with autograd.record():
        loss = nd.dot(weight.data(), nd.ones((3,))).sum()
    loss.backward()
    trainer.step(1)
    assert weight.data().sum().asscalar() == pytest.approx(0, abs=1e-5)
