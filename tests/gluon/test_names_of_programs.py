"""Blocks, metrics and optimizers of programs have attributes and methods under any private name."""

from __future__ import annotations

from typing import Any

import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd


@pytest.mark.parametrize("name", ["_key", "_cache", "_run", "_trace", "_shortcut", "_formats"])
def test_attributes_of_a_hybridized_block(name: str) -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.dense = gluon.nn.Dense(2, in_units=3)
            setattr(self, name, "anchor")

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.dense(x) * 2

    net = Net()
    net.initialize(mx.init.One())
    net.hybridize()
    with autograd.record():
        y = net(nd.ones((1, 3)))
    y.backward()
    net.cast("float32")
    assert y.asnumpy().tolist() == [[6, 6]]
    assert net.dense.weight.grad().asnumpy().tolist() == [[2, 2, 2], [2, 2, 2]]
    assert getattr(net, name) == "anchor"


@pytest.mark.parametrize("name", ["_run", "_walk", "_cast_all", "_program", "_compile", "_trace"])
def test_methods_of_a_hybridized_block(name: str) -> None:
    def method(self: Any, F: Any, x: Any) -> Any:
        return F.relu(x) * 3

    def hybrid_forward(self: Any, F: Any, x: Any) -> Any:
        return getattr(self, name)(F, x)

    net = type("Net", (gluon.HybridBlock,), {name: method, "hybrid_forward": hybrid_forward})()
    net.initialize()
    net.hybridize()
    net.cast("float32")
    assert net(nd.array([-1, 2])).asnumpy().tolist() == [0, 6]


@pytest.mark.parametrize("name", ["_sum", "_num", "_pending", "_check", "_add"])
def test_attributes_of_a_metric(name: str) -> None:
    class Accuracy(mx.metric.Accuracy):
        def __init__(self) -> None:
            super().__init__()
            setattr(self, name, None)

    metric = Accuracy()
    metric.update([nd.array([0, 1])], [nd.array([0, 0])])
    assert metric.get() == ("accuracy", 0.5)
    assert getattr(metric, name) is None


@pytest.mark.parametrize("name", ["_steps", "_mult", "_is_mixed", "_zeros", "_changing"])
def test_attributes_of_an_optimizer(name: str) -> None:
    class Momentum(mx.optimizer.SGD):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(momentum=0.5, **kwargs)
            setattr(self, name, 0)

    weight = gluon.Parameter("weight", shape=(1,))
    weight.initialize(mx.init.One())
    trainer = gluon.Trainer([weight], Momentum(learning_rate=0.25))
    for _ in range(2):
        with autograd.record():
            y = weight.data() * 2
        y.backward()
        trainer.step(1)
    assert weight.data().asscalar() == -0.25
    assert getattr(trainer.optimizer, name) == 0


def test_a_program_creates_the_graph_before_the_first_call() -> None:
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    net.hybridize()
    assert net._cached_op is None
    net._build_cache(nd.ones((1, 3)))
    arrays = {
        "data": nd.ones((1, 3)),
        net.weight.name: net.weight.data(),
        net.bias.name: net.bias.data(),
    }
    names = net._cached_graph[1].list_inputs()
    assert net._cached_op(*[arrays[name] for name in names]).asnumpy().tolist() == [[3, 3]]
    net._clear_cached_op()
    assert net._cached_op is None


def test_a_program_creates_gradients_anew() -> None:
    weight = gluon.Parameter("weight", shape=(2,))
    weight.initialize(mx.init.One())
    with autograd.record():
        y = weight.data() * 3
    y.backward()
    assert weight.grad().asnumpy().tolist() == [3, 3]
    weight._init_grad()
    assert weight.grad().asnumpy().tolist() == [0, 0]
