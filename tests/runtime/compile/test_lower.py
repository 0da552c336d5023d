"""Lowering: an operation and its gradient in one graph are one computation."""

from __future__ import annotations

from collections import Counter

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet.gluon import nn
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.passes.differentiate import differentiate
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.programs import executable_cache

pytestmark = pytest.mark.usefixtures("compiling_at_once")


def primitives(function, *arrays) -> Counter:
    """How often each primitive of JAX occurs in a function and in the functions that it calls."""
    result: Counter = Counter()
    waiting = [jax.make_jaxpr(function)(*arrays).jaxpr]
    while waiting:
        for equation in waiting.pop().eqns:
            result[equation.primitive.name] += 1
            for value in equation.params.values():
                inner = getattr(value, "jaxpr", None)
                if inner is not None:
                    waiting.append(inner)
    return result


def test_an_exponential_and_its_gradient_take_one_exponential() -> None:
    x, head = Node(None, name="x"), Node(None, name="head")
    y = Entry(Node(find("exp"), (), (), (Entry(x),), "y"))
    (slope,) = differentiate([y], [Entry(head)], [Entry(x)])
    values = [np.array([0.5, 1.0], np.float32), np.array([2.0, 3.0], np.float32)]
    together, alone = lower(Graph((y, slope), (x, head))), lower(Graph((slope,), (x, head)))
    assert primitives(together, values)["exp"] == 1
    assert primitives(alone, values)["exp"] == 1
    np.testing.assert_allclose(together(values)[1], values[1] * np.exp(values[0]), rtol=1e-6)
    np.testing.assert_array_equal(together(values)[1], alone(values)[0])


def test_two_gradients_of_one_operation_with_different_heads_and_inputs() -> None:
    x, y = Node(None, name="x"), Node(None, name="y")
    heads = [Node(None, name=f"head{i}") for i in range(2)]
    product = Entry(Node(find("elemwise_mul"), (), (), (Entry(x), Entry(y)), "product"))
    (by_x,) = differentiate([product], [Entry(heads[0])], [Entry(x)])
    (by_y,) = differentiate([product], [Entry(heads[1])], [Entry(y)])
    run = lower(Graph((product, by_x, by_y), (x, y, *heads)))
    a, b, c, d = (np.array([value], np.float32) for value in (2, 3, 5, 7))
    assert [float(each[0]) for each in run([a, b, c, d])] == [6, 15, 14]


def test_a_gradient_of_a_gradient_in_the_same_graph() -> None:
    x, one = Node(None, name="x"), Node(None, name="one")
    square = Entry(Node(find("square"), (), (), (Entry(x),), "square"))
    power = Entry(Node(find("elemwise_mul"), (), (), (square, Entry(x)), "power"))
    (first,) = differentiate([power], [Entry(one)], [Entry(x)])
    (second,) = differentiate([first], [Entry(one)], [Entry(x)])
    run = lower(Graph((power, first, second), (x, one)))
    values = [np.array([2.0], np.float32), np.array([1.0], np.float32)]
    assert [float(each[0]) for each in run(values)] == [8, 12, 12]


class Recurrent(nn.HybridBlock):
    """Two LSTM layers of 4 units with dropout between them; maps ``(time, 3, 4)`` to the same shape."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate
        size = 2 * (2 * 4 * 4 * 4 + 2 * 4 * 4)
        self.layers = self.params.get("layers", shape=(size,), init=mx.init.Uniform(0.1))

    def hybrid_forward(self, F, x, layers):
        start = F.zeros(shape=(2, 3, 4))
        options = {"state_size": 4, "num_layers": 2, "mode": "lstm", "p": self.rate}
        return F.RNN(x, layers, start, start, **options)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_a_training_step_runs_each_loop_and_draws_each_mask_once(rate, monkeypatch) -> None:
    counts = []
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")  # otherwise the host draws

    def counting(graph):
        run = lower(graph)

        def counted(arrays, scalars=()):
            counts.append(primitives(run, arrays, scalars))
            return run(arrays, scalars)

        return counted

    net = Recurrent(rate)
    net.initialize()
    net.hybridize()
    x = mx.nd.random.uniform(shape=(5, 3, 4))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    net(x).wait_to_read()
    executable_cache.clear()
    monkeypatch.setattr(executable_cache, "lower", counting)
    try:
        for _ in range(3):
            with mx.autograd.record():
                loss = net(x).sum()
            loss.backward()
            trainer.step(1)
            loss.wait_to_read()
    finally:
        executable_cache.clear()
    assert counts[-1]["scan"] == 2 + 2  # each layer forward, each layer backward
    assert counts[-1]["random_bits"] == (1 if rate else 0)
