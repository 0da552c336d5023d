"""Hybridizing changes no random numbers of threefry: each draw has the numbers of the imperative run.

Numbers of MXNet's generators are compared with MXNet's, in ``tests/ops/generators``: there, a graph does
not draw what no output needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn
from mixnet.symbol.cached_op import CachedOp
from tests.each_record import each_record


@pytest.fixture(autouse=True)
def threefry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_RANDOM", "threefry")


class Twice(gluon.HybridBlock):
    """Draws in an order that a walk from the output would not find."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        first = F.Dropout(x, p=0.5)
        second = F.Dropout(x, p=0.3)
        return second * 10 + first


class Unused(gluon.HybridBlock):
    """Draws numbers that are never read, between two draws and after them."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        first = F.Dropout(x, p=0.5)
        F.Dropout(x, p=0.5)
        second = F.Dropout(x, p=0.3)
        F.random.uniform(shape=(3,))
        return first - second


class Drawing(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        noise = F.random.normal(0, 1, shape=(4, 6))
        like = F.random.uniform_like(x)
        counts = F.random.poisson(3.0, shape=(4, 6))
        whole = F.random.randint(0, 100, shape=(4, 6)).astype("float32")
        shuffled = F.random.shuffle(x)
        classes = F.random.multinomial(F.softmax(x), shape=6, get_prob=False).astype("float32")
        return shuffled + noise * whole + like - counts + classes


class Arrays(gluon.HybridBlock):
    """Takes arrays only: forward is traced."""

    def forward(self, x: Any) -> Any:
        nd.random.uniform(shape=(2,))
        first = nd.Dropout(x, p=0.5)
        second = nd.Dropout(x, p=0.3)
        return second * 10 + first


class NumpyDrawing(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        noise = F.np.random.normal(0, 1, size=(4, 6))
        other = F.np.random.uniform(0, 1, size=(4, 6))
        return F.npx.dropout(x, p=0.5) + other * 10 + noise


class Leaky(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        rest = F.Dropout(x, p=0)
        always = F.Dropout(x, p=0.4, mode="always")
        return F.LeakyReLU(-x, act_type="rrelu") + F.LeakyReLU(rest) + F.Dropout(always, p=0.5)


class Turns(gluon.HybridBlock):
    """Draws before, in and after a loop."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        def turn(row: Any, state: Any) -> Any:
            first = F.Dropout(row, p=0.5)
            second = F.Dropout(state, p=0.3)
            return second + first, state + 1

        before = F.Dropout(x, p=0.5)
        out, last = F.contrib.foreach(turn, before, F.ones(shape=(6,)))
        return F.broadcast_add(F.Dropout(out, p=0.5), F.expand_dims(last, axis=0))


def stack() -> Any:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, in_units=6), nn.Dropout(0.5), nn.BatchNorm(in_channels=8))
    inner = nn.HybridSequential()
    inner.add(nn.Dense(6, in_units=8), nn.Dropout(0.2), Twice(), nn.Dropout(0.1))
    net.add(inner, nn.Dropout(0.3))
    return net


def values(shape: tuple[int, ...] = (4, 6)) -> np.ndarray:
    return np.random.RandomState(1).uniform(1, 2, shape).astype("float32")


def steps(net: Any, data: Any, train: bool = True) -> list[np.ndarray]:
    """Outputs, gradients and further draws of three calls from the same seed."""
    mx.random.seed(7)
    results = []
    for _ in range(3):
        x = data.copy()
        x.attach_grad()
        with autograd.record(train_mode=train):
            out = net(x)
        out.backward()
        results += [out.asnumpy(), x.grad.asnumpy()]
        results += [
            p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"
        ]
    results.append(nd.random.uniform(shape=(5,)).asnumpy())  # as many numbers were taken
    return results


def compare(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a == 0, b == 0)  # the masks
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def assert_hybridized_draws_the_same(
    net: Any, data: Any, train: bool = True, **options: Any
) -> None:
    """Steps of a network before and after ``hybridize(**options)`` give the same numbers."""
    imperative = steps(net, data, train)
    net.hybridize(**options)
    compare(imperative, steps(net, data, train))


MAKERS = [Twice, Unused, Drawing, Arrays, Leaky, Turns, stack]


@each_record("train", [True, False])
@each_record("options", [{}, {"static_alloc": True}, {"recompute": "mirror"}])
@each_record("make", MAKERS)
def test_hybridized_draws_the_same(make: Any, options: dict[str, Any], train: bool) -> None:
    data = nd.array(values())
    mx.random.seed(3)
    net = make()
    net.initialize()
    assert_hybridized_draws_the_same(net, data, train, **options)


@pytest.mark.parametrize("train", [True, False])
def test_numpy_blocks_draw_the_same(train: bool) -> None:
    with mx.util.np_array(True), mx.util.np_shape(True):
        data = mx.np.array(values())
        net = NumpyDrawing()
        assert_hybridized_draws_the_same(net, data, train)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_layers_of_recurrent_networks_draw_the_same(kind: str) -> None:
    net = getattr(gluon.rnn, kind)(5, num_layers=3, dropout=0.5, input_size=6)
    net.initialize()
    data = nd.array(values((7, 4, 6)))
    assert_hybridized_draws_the_same(net, data)


def test_a_cell_with_dropout_unrolled_draws_the_same() -> None:
    cell = gluon.rnn.HybridSequentialRNNCell()
    cell.add(gluon.rnn.ZoneoutCell(gluon.rnn.RNNCell(6, input_size=6), 0.5, 0.5))
    cell.add(gluon.rnn.DropoutCell(0.5))
    cell.add(gluon.rnn.GRUCell(6, input_size=6))

    class Unrolled(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.cell.unroll(3, x, layout="NTC", merge_outputs=True)[0]

    net = Unrolled()
    net.initialize()
    data = nd.array(values((4, 3, 6)))
    assert_hybridized_draws_the_same(net, data)


def test_only_an_inner_block_is_hybridized() -> None:
    class Outer(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.inner = stack()

        def forward(self, x: Any) -> Any:
            before = nd.Dropout(x, p=0.5)
            return nd.Dropout(self.inner(before), p=0.5) + nd.random.uniform(shape=(4, 6))

    net = Outer()
    net.initialize()
    imperative = steps(net, nd.array(values()))
    net.inner.hybridize()
    compare(imperative, steps(net, nd.array(values())))
    net.hybridize(False)
    net.inner[3].hybridize()
    compare(imperative, steps(net, nd.array(values())))


def test_an_exported_network_draws_the_same(tmp_path: Any) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(6, in_units=6), Twice(), nn.Dropout(0.5))
    net.initialize()
    data = nd.array(values())
    imperative = steps(net, data)
    net.hybridize()
    net(data)
    net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    compare(imperative, steps(again, data))
    again.hybridize()
    compare(imperative, steps(again, data))
    outer = nn.HybridSequential()
    outer.add(nn.Dropout(0.5), again, nn.Dropout(0.5))
    outer.hybridize(False)
    assert_hybridized_draws_the_same(outer, data)


def test_an_executor_draws_what_arrays_draw() -> None:
    def compute(F: Any, x: Any) -> Any:
        first = F.Dropout(x, p=0.5)
        second = F.random.uniform_like(x)
        return second + first * 3

    x = nd.array(values())
    mx.random.seed(5)
    with autograd.train_mode():
        expected = [compute(nd, x).asnumpy() for _ in range(2)]
        after = nd.random.uniform(shape=(3,)).asnumpy()
    bound = compute(mx.sym, mx.sym.var("x")).bind(mx.cpu(), {"x": x}, {"x": nd.zeros((4, 6))})
    mx.random.seed(5)
    for each in expected:
        np.testing.assert_array_equal(bound.forward(is_train=True)[0].asnumpy(), each)
        bound.backward(nd.ones((4, 6)))
        mask = (bound.grad_dict["x"].asnumpy() != 0).astype("float32")
        assert 0 < mask.sum() < 24
    np.testing.assert_array_equal(nd.random.uniform(shape=(3,)).asnumpy(), after)


@pytest.mark.parametrize("shape", [(4, 6), (3, 6)])
def test_a_symbol_as_a_function_draws_what_arrays_draw(shape: tuple[int, ...]) -> None:
    net = Turns()
    x = nd.array(values(shape))
    mx.random.seed(5)
    expected = [net(x).asnumpy() for _ in range(2)]
    expected.append(nd.random.uniform(shape=(3,)).asnumpy())
    call = CachedOp(net(mx.sym.var("data")))
    mx.random.seed(5)
    results = [call(x).asnumpy() for _ in range(2)]
    results.append(nd.random.uniform(shape=(3,)).asnumpy())
    compare(expected, results)


class TracedTurns(gluon.HybridBlock):
    """Loops in loops, on arrays."""

    def forward(self, x: Any) -> Any:
        def inner(row: Any, state: Any) -> Any:
            return nd.Dropout(row, p=0.5) + state, state + 1

        def turn(row: Any, state: Any) -> Any:
            noise = nd.random.uniform(shape=(6,))
            out, last = nd.contrib.foreach(inner, nd.stack(row, row), state)
            return out + noise, nd.Dropout(last, p=0.3)

        out, last = nd.contrib.foreach(turn, x, nd.ones((6,)))
        return out.sum(axis=1) + nd.Dropout(x, p=0.5) + last


class Whiles(gluon.HybridBlock):
    """Every turn draws, for the test too; it ends before ``max_iterations``."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        def test(i: Any, state: Any) -> Any:
            return i + F.random.uniform(shape=(1,)) * 0 < 3

        def turn(i: Any, state: Any) -> Any:
            dropped = F.Dropout(state, p=0.2)
            return dropped + F.random.uniform(shape=(4, 6)), (i + 1, dropped)

        begin = F.Dropout(x, p=0.1)
        out, _ = F.contrib.while_loop(test, turn, (F.zeros(shape=(1,)), begin), max_iterations=5)
        return out


class Branches(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        first = F.Dropout(x, p=0.5)
        positive = F.sum(first) > 0
        result = F.contrib.cond(
            positive,
            lambda: F.Dropout(first, p=0.5) + F.random.uniform(shape=(4, 6)),
            lambda: F.Dropout(first, p=0.3),
        )
        return result


class Nested(gluon.HybridBlock):
    """A branch in an open loop in a loop; unread draws among them, and draws after each."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        def turn(row: Any, state: Any) -> Any:
            def test(i: Any, value: Any) -> Any:
                F.random.uniform(shape=(1,))
                return i < F.sum(F.Dropout(row, p=0.5) > 0) + 1

            def step(i: Any, value: Any) -> Any:
                value = F.contrib.cond(
                    F.sum(F.Dropout(value, p=0.3)) > 6,
                    lambda: F.Dropout(value, p=0.5) + F.random.uniform(shape=(6,)),
                    lambda: value + 1,
                )
                F.random.normal(shape=(2,))
                return value * F.random.uniform(shape=(6,)), (i + 1, F.Dropout(value, p=0.1))

            out, last = F.contrib.while_loop(test, step, (F.zeros((1,)), row), max_iterations=4)
            return F.sum(out, axis=0) + F.random.uniform(shape=(6,)), state + last[1]

        out, last = F.contrib.foreach(turn, x, F.ones((6,)))
        return F.broadcast_add(out, F.Dropout(last, p=0.5).expand_dims(axis=0))


class TracedNested(Nested):
    def forward(self, x: Any) -> Any:
        return self.hybrid_forward(nd, x)


class WhileAndMore(Whiles):
    """Draws after a loop that ends early."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        out = super().hybrid_forward(F, x)
        return out + F.random.uniform(shape=(5, 4, 6)) + F.Dropout(out, p=0.5)


class BranchesAndMore(Branches):
    """Draws after a branch that draws less than the other."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        one, other = super().hybrid_forward(F, x), super().hybrid_forward(F, -x)
        return F.Dropout(one, p=0.5) + F.random.uniform(shape=(4, 6)) * other


LOOPS = [TracedTurns, Whiles, Branches, WhileAndMore, BranchesAndMore, Nested, TracedNested]


@pytest.mark.parametrize("make", LOOPS)
def test_loops_and_branches_draw_the_same(make: Any) -> None:
    """Inside and after them, whatever they contain and however many iterations they run."""
    net = make()
    assert_hybridized_draws_the_same(net, nd.array(values()))


def test_a_seed_within_a_loop_counts() -> None:
    def turn(row: Any, state: Any) -> Any:
        mx.random.seed(3)
        return nd.random.uniform(shape=(2,)), state

    rows, _ = nd.contrib.foreach(turn, nd.ones((2, 1)), nd.ones(1))
    mx.random.seed(3)
    np.testing.assert_array_equal(rows.asnumpy(), [nd.random.uniform(shape=(2,)).asnumpy()] * 2)


def test_no_draw_is_made_twice_behind_an_open_loop() -> None:
    net = Whiles()
    net.hybridize()
    data = nd.array(values())
    with autograd.train_mode():
        one, other = net(data).asnumpy(), net(data).asnumpy()
    rows = np.concatenate([one[:3], other[:3]]).reshape(6, -1)
    assert len({row.tobytes() for row in rows}) == 6


def test_prediction_draws_no_numbers() -> None:
    def drawn(call: Any) -> np.ndarray:
        mx.random.seed(5)
        call()
        return nd.random.uniform(shape=(3,)).asnumpy()

    data = nd.array(values())
    net, layer = stack(), gluon.rnn.LSTM(5, num_layers=2, dropout=0.5, input_size=6)
    net.initialize()
    layer.initialize()
    net(data)
    untouched = drawn(lambda: None)
    sequence = nd.array(values((3, 4, 6)))
    for _ in range(2):
        for call in (
            lambda: net(data),
            lambda: layer(sequence),
            lambda: nd.LeakyReLU(data, act_type="rrelu"),
            lambda: mx.npx.dropout(mx.np.ones(3)),
        ):
            assert np.array_equal(drawn(call), untouched)
        net.hybridize()
        layer.hybridize()


def test_calls_of_a_graph_that_draws_are_one_program() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dropout(0.5), Twice())
    net.hybridize()
    data = nd.array(values())
    with autograd.train_mode():
        net(data).asnumpy()
        nd.random.uniform(shape=(2,)).asnumpy()
        before = mx.runtime.counters()["programs_compiled"]
        masks = set()
        for _ in range(5):
            masks.add(net(data).asnumpy().tobytes())
            nd.random.uniform(shape=(2,)).asnumpy()
    assert mx.runtime.counters()["programs_compiled"] <= before + 2  # whole, after some runs
    assert len(masks) == 5


class Late(gluon.HybridBlock):
    """Parameters that wait for the data; the second branch is called first."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.one, self.other = nn.Dense(6), nn.Dense(6, activation="relu")
            self.drop, self.last = nn.Dropout(0.5), nn.Dense(3, weight_initializer=mx.init.Xavier())

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        other = self.drop(self.other(x))
        return self.last(self.drop(self.one(x)) + other)


def test_parameters_that_wait_for_data_start_the_same() -> None:
    data, result = nd.array(values()), []
    for hybridize in (False, True):
        mx.random.seed(11)
        net = Late()
        net.initialize()
        nd.random.uniform(shape=(2,))
        if hybridize:
            net.hybridize()
        with autograd.record():
            out = net(data)
        out.backward()
        params = net.collect_params().values()
        result.append([out.asnumpy()] + [p.data().asnumpy() for p in params])
    compare(*result)


def test_parameters_that_wait_draw_what_others_draw() -> None:
    results = []
    for sizes in ({}, {"in_units": 6}):
        mx.random.seed(11)
        net = nn.HybridSequential()
        net.add(nn.Dense(6, **sizes), nn.Dropout(0.5), nn.Dense(6, **sizes))
        net.initialize(mx.init.Normal())
        with autograd.record():
            net(nd.array(values()))
        results.append([p.data().asnumpy() for p in net.collect_params().values()])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_seed_after_initialize_counts() -> None:
    results = []
    for _ in range(2):
        net = nn.Dense(3)
        net.initialize()
        mx.random.seed(3)
        results.append(net(nd.array(values())).asnumpy())
    np.testing.assert_array_equal(*results)
