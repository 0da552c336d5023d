"""Loops and branches: on arrays, in hybridized blocks, as symbols; against the loop written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import gluon, nd, sym
from tests.each_record import each_record

X = np.arange(6, dtype="float32").reshape(3, 2)
W = np.array([2.0, 3.0], "float32")


class Loops(gluon.HybridBlock):
    """All three, reading a parameter from inside their bodies."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.w = self.params.get("w", shape=(2,), init=mx.init.Constant(1))

    def hybrid_forward(self, F: Any, x: Any, state: Any, w: Any) -> Any:
        def body(item: Any, states: Any) -> Any:
            return item * w + states[0], [states[0] + item]

        def step(i: Any, y: Any) -> Any:
            return y * w, [i + 1, y + 1]

        stacked, last = F.contrib.foreach(body, x, [state])
        rows, values = F.contrib.while_loop(
            lambda i, y: i < 3, step, [F.zeros((1,)), state + 1], max_iterations=5
        )
        chosen = F.contrib.cond(values[0] > 2, lambda: values[1] * w, lambda: values[1] - w)
        return stacked, last[0], rows, chosen


def expected() -> list[np.ndarray]:
    state, stacked = np.zeros(2, "float32"), []
    for item in X:
        stacked.append(item * W + state)
        state = state + item
    y, rows = np.ones(2, "float32"), []
    for _ in range(3):
        rows.append(y * W)
        y = y + 1
    rows += [np.zeros(2)] * 2
    return [np.stack(stacked), state, np.stack(rows), y * W]


def expected_gradient() -> np.ndarray:
    """Of the sum of squares of the outputs with respect to ``w``."""
    stacked, _, rows, chosen = expected()
    y = np.array([1.0, 2.0, 3.0])[:, None]
    gradient: np.ndarray = 2 * ((stacked * X).sum(0) + (rows[:3] * y).sum(0) + chosen * 4)
    return gradient


@pytest.mark.parametrize("hybrid", [False, True])
def test_loops_and_branches_of_blocks_learn(hybrid: bool) -> None:
    net = Loops()
    net.initialize()
    net.w.set_data(nd.array(W))
    if hybrid:
        net.hybridize()
    with mx.autograd.record():
        outputs = net(nd.array(X), nd.zeros((2,)))
        loss = sum((each * each).sum() for each in outputs)
    loss.backward()
    for actual, reference in zip(outputs, expected(), strict=True):
        np.testing.assert_allclose(actual.asnumpy(), reference, rtol=1e-6)
    np.testing.assert_allclose(net.w.grad().asnumpy(), expected_gradient(), rtol=1e-6)


def test_a_hybridized_loop_is_one_operation_whatever_its_length() -> None:
    class Sum(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.contrib.foreach(lambda i, s: (i + s[0], [i + s[0]]), x, [F.zeros((2,))])[0]

    sizes = []
    for length in (2, 50):
        net = Sum()
        net.hybridize()
        x = nd.ones((length, 2))
        np.testing.assert_allclose(net(x).asnumpy()[-1], [length, length])
        sizes.append(len(net.to_symbol(x).graph.nodes))
    assert sizes[0] == sizes[1]


def test_dropout_draws_a_new_mask_in_every_step() -> None:
    class Drops(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.contrib.foreach(lambda i, s: (F.Dropout(i, p=0.5), s), x, [F.zeros((1,))])[0]

    net = Drops()
    net.hybridize()
    with mx.autograd.train_mode():
        masks = net(nd.ones((8, 64))).asnumpy() != 0
    assert 0.3 < masks.mean() < 0.7
    assert len({mask.tobytes() for mask in masks}) == 8
    assert (net(nd.ones((8, 64))).asnumpy() == 1).all()


def loops_as_symbols() -> Any:
    d, s, w = sym.var("d"), sym.var("s"), sym.var("w")
    out, states = sym.contrib.foreach(lambda i, t: (i * w + t[0], [t[0] + i]), d, [s])
    rows, values = sym.contrib.while_loop(
        lambda i, y: i < 3, lambda i, y: (y * w, [i + 1, y + 1]), [sym.var("i"), s + 1],
        max_iterations=5,
    )  # fmt: skip
    total = sym.sum(values[1])
    chosen = sym.contrib.cond(total > 2, lambda: values[1] * w, lambda: values[1] - w)
    return sym.Group([out, states[0], rows, chosen])


@pytest.mark.parametrize("written", [False, True])
def test_loops_and_branches_of_symbols_compute_the_same(written: bool) -> None:
    symbol = loops_as_symbols()
    if written:
        symbol = sym.load_json(symbol.tojson())
    assert symbol.list_arguments() == ["d", "s", "w", "i"]
    arrays = {"d": nd.array(X), "s": nd.zeros((2,)), "w": nd.array(W), "i": nd.zeros((1,))}
    gradients = {"w": nd.zeros((2,))}
    executor = symbol.bind(mx.cpu(), arrays, gradients)
    outputs = executor.forward(is_train=True)
    for actual, reference in zip(outputs, expected(), strict=True):
        np.testing.assert_allclose(actual.asnumpy(), reference, rtol=1e-6)
    executor.backward([2 * each for each in outputs])
    np.testing.assert_allclose(gradients["w"].asnumpy(), expected_gradient(), rtol=1e-6)


def test_a_loop_of_mxnet_is_loaded() -> None:
    fixtures = Path(__file__).parents[2] / "parity" / "fixtures"
    symbol = sym.load(str(fixtures / "foreach-symbol.json"))
    stored = np.load(fixtures / "foreach.npz")
    names = {name.rsplit("/", 1)[-1]: name for name in stored.files}
    assert symbol.list_outputs() == ["_foreach0_output0", "_foreach0_output1"]
    _, shapes, _ = symbol.infer_shape(data=(4, 2), init=(2,))
    assert shapes == [(4, 2), (2,)]
    del names


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="max_iterations"):
        nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i), nd.zeros((1,)))
    with pytest.raises(mx.MXNetError, match="first extents"):
        nd.contrib.foreach(lambda d, s: (d[0], s), [nd.ones((2,)), nd.ones((3,))], [])
    with pytest.raises(mx.MXNetError, match="1 and 2 symbols"):
        a = sym.var("a")
        sym.contrib.cond(a > 0, lambda: a, lambda: [a, a])


def test_loops_of_a_hybridized_block_are_exported(tmp_path: Path) -> None:
    net = Loops()
    net.initialize()
    net.w.set_data(nd.array(W))
    net.hybridize()
    net(nd.array(X), nd.zeros((2,)))
    symbol_file, params_file = net.export(str(tmp_path / "loops"))
    again = gluon.SymbolBlock.imports(symbol_file, ["data0", "data1"], params_file)
    outputs = again(nd.array(X), nd.zeros((2,)))
    for actual, reference in zip(outputs, expected(), strict=True):
        np.testing.assert_allclose(actual.asnumpy(), reference, rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        lambda d, s: (s[0], [s[0] + 1, s[1]]),  # no slice
        lambda d, s: (d, [s[0] + 1, s[0] + 2]),  # one state alone
        lambda d, s: (d, [s[0]]),  # a state too few
        lambda d, s: (d, [s[0], 3]),  # a number
    ],
)
def test_a_body_reads_all_slices_and_states_and_returns_as_many(body) -> None:
    x, s, t = sym.var("x"), sym.var("s"), sym.var("t")
    with pytest.raises(AssertionError) as caught:
        sym.contrib.foreach(body, x, [s, t])
    assert isinstance(caught.value, mx.MXNetError)


def test_the_arguments_and_results_of_a_while_loop_are_checked() -> None:
    i, s = sym.var("i"), sym.var("s")
    loop = sym.contrib.while_loop
    for many, one in (([i], list), (i, mx.sym.Symbol)):
        for step in (lambda i: (i, i + 1), lambda i: ([i], [i + 1]), lambda i: ([], i + 1)):
            _, states = loop(lambda i: i < 3, step, many, max_iterations=2)
            assert isinstance(states, one)
    with pytest.raises(ValueError, match="does not read the loop variable 's'"):
        loop(lambda i, s: i < 3, lambda i, s: (i, [i + 1, i]), [i, s], max_iterations=4)
    with pytest.raises(ValueError, match="must return a symbol, not list"):
        loop(lambda i: [i < 3], lambda i: (i, i + 1), i, max_iterations=4)
    with pytest.raises(mx.MXNetError, match="max_iterations is 0"):
        loop(lambda i: i < 3, lambda i: (i, i + 1), i, max_iterations=0)
    with pytest.raises(AssertionError, match="pred must be a symbol"):
        sym.contrib.cond(1, lambda: i, lambda: s)


def test_free_variables_of_nested_loops_are_arguments_by_their_names() -> None:
    x, y, w, s = (sym.var(name) for name in "xyws")
    z = w + 1

    def outer(d, state):
        out, state = sym.contrib.foreach(lambda e, t: (e * z, t + e), y, state)
        return sym.broadcast_add(out, d), state

    out, _ = sym.contrib.foreach(outer, x, s)
    assert sorted(out.list_arguments()) == ["s", "w", "x", "y"]
    arrays = {"x": [[1.0], [2.0]], "y": [[1.0], [5.0]], "s": [0.0], "w": [1.0]}
    executor = out.bind(mx.cpu(), {name: nd.array(value) for name, value in arrays.items()})
    assert executor.forward()[0].asnumpy().tolist() == [[[3.0], [11.0]], [[4.0], [12.0]]]


def test_variables_of_one_name_in_a_body_are_an_error() -> None:
    i, s, k = sym.var("i"), sym.var("s"), sym.var("k")

    def loop(first: Any, second: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            return i + first, [i + 1, s * second]

        outputs, _ = sym.contrib.while_loop(lambda i, s: i < 4, step, [i, s], max_iterations=5)
        return outputs.list_arguments()

    assert loop(k, k) == ["i", "k", "s"]
    assert loop(k, sym.var("i")) == ["i", "k", "s", "i"]  # of the loop, it is i-0
    for other in ("k", "i-0"):
        with pytest.raises(AssertionError, match=f"unique names.*{other!r}"):
            loop(k, sym.var(other))
    with pytest.raises(AssertionError, match="unique names"):
        sym.contrib.foreach(lambda d, s: (d * k + sym.var("k"), s + 1), i, s)
    condition = sym.contrib.cond(i, lambda: k + 1, lambda: sym.var("k") * 2)
    assert condition.list_arguments() == ["i", "k"]


def test_a_deferred_layer_in_a_body_learns_its_shape_from_the_slices() -> None:
    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.cell = mx.gluon.rnn.LSTMCell(4)

        def hybrid_forward(self, F, x, states):
            return F.contrib.foreach(self.cell, x, states)[0]

    net = Net()
    net.initialize()
    net.hybridize()
    assert net(nd.ones((3, 2, 5)), [nd.zeros((2, 4))] * 2).shape == (3, 2, 4)
    assert net.cell.i2h_weight.shape == (16, 5)


def test_get_symbol_returns_the_recorded_computation() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.exp(x * 2) + nd.Activation(x, act_type="tanh")
    symbol = mx.autograd.get_symbol(y)
    assert symbol.list_arguments() == ["var0"]
    assert json.loads(symbol.tojson())["nodes"][-1]["op"] == "elemwise_add"
    actual = sym.load_json(symbol.tojson()).bind(mx.cpu(), {"var0": x}).forward()[0]
    np.testing.assert_allclose(actual.asnumpy(), y.asnumpy(), rtol=1e-6)
    with pytest.raises(mx.MXNetError, match="inside autograd"):
        mx.autograd.get_symbol(nd.ones((2,)))
    y.backward(retain_graph=True)
    assert mx.autograd.get_symbol(y).tojson() == symbol.tojson()
    y.backward()
    with pytest.raises(mx.MXNetError, match="retain_graph=True keeps it"):
        mx.autograd.get_symbol(y)


class OverElements(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any, state: Any) -> Any:
        return F.contrib.foreach(lambda item, s: (item + s, s + item), x, state)


@pytest.mark.parametrize("hybrid", [False, True])
def test_elements_of_an_array_with_one_axis_are_arrays_of_one_element(hybrid: bool) -> None:
    net = OverElements()
    net.hybridize(hybrid)
    outputs, last = net(nd.array([1.0, 2.0, 3.0]), nd.array([1.0]))
    assert outputs.asnumpy().tolist() == [[2.0], [4.0], [7.0]]
    assert last.asnumpy().tolist() == [7.0]


@pytest.mark.parametrize("written", [False, True])
def test_a_loop_over_elements_as_a_symbol(written: bool) -> None:
    outputs, last = OverElements()(sym.var("d"), sym.var("s"))
    symbol = sym.Group([outputs, last])
    if written:
        symbol = sym.load_json(symbol.tojson())
    assert symbol.infer_shape(d=(3,), s=(1,))[1] == [(3, 1), (1,)]
    results = symbol.eval(d=nd.array([1.0, 2.0, 3.0]), s=nd.array([1.0]))
    assert results[0].asnumpy().tolist() == [[2.0], [4.0], [7.0]]


def test_shapes_follow_from_the_elements_of_an_array_with_one_axis() -> None:
    def body(item: Any, state: Any) -> Any:
        row = sym.reshape(item * sym.var("w") + state, shape=(1, -1))
        return sym.FullyConnected(row, num_hidden=2, name="f"), state + item

    outputs, _ = sym.contrib.foreach(body, sym.var("d"), sym.var("s"))
    names = outputs.list_arguments()
    shapes, results, _ = outputs.infer_shape(d=(3,))
    expected = {"d": (3,), "s": (1,), "w": (1,), "f_weight": (2, 1), "f_bias": (2,)}
    assert dict(zip(names, shapes, strict=True)) == expected
    assert results[0] == (3, 1, 2)


class _RunningSums(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any, state: Any) -> Any:
        return nd.contrib.foreach(lambda item, s: (item + s, s + item), x, state)


def test_elements_of_an_mx_np_array_have_no_axes() -> None:
    net = _RunningSums()
    net.hybridize()
    with mx.util.np_shape(True), mx.util.np_array(True):
        outputs, last = net(mx.np.array([1.0, 2.0, 3.0]), mx.np.array(1.0))
    assert outputs.asnumpy().tolist() == [2.0, 4.0, 7.0]
    assert last.shape == ()


def _dense(x: Any, s: Any) -> Any:
    return sym.FullyConnected(x, num_hidden=5, name="f"), s


def _nested(body: Any) -> mx.sym.Symbol:
    return sym.Group(
        sym.contrib.foreach(
            lambda row, state: sym.contrib.foreach(body, row, state), sym.var("d"), sym.var("s")
        )
    )


@each_record("written", [False, True])
@each_record(
    ("body", "start", "arguments", "results", "values"),
    [  # MXNet 1.9.1's
        (lambda x, s: (x + s, x + s), (1,), [], [(2, 1, 1), (1,)], [2, 4]),
        (lambda x, s: (x + 1, s + 1), (), [], [(2, 1, 1), ()], [2, 3]),
        (lambda x, s: (sym.sum(x), s), (), [], [(2, 1, 1), ()], [1, 2]),
        (_dense, (4,), [(5, 1), (5,)], [(2, 1, 1, 5), (4,)], [1] * 5 + [2] * 5),
    ],
)
def test_elements_in_symbols_also_have_one_element_with_numpy_shapes(
    body: Any, start: Any, arguments: Any, results: Any, values: Any, written: bool
) -> None:
    with mx.util.np_shape(True):
        symbol = _nested(body)
        if written:
            symbol = sym.load_json(symbol.tojson())
        names = symbol.list_arguments()
        shapes = [(2,), start, *arguments]
        assert symbol.infer_shape(d=(2,), s=start) == (shapes, results, [])
        arrays = {name: nd.ones(shape) for name, shape in zip(names, shapes, strict=True)}
        arrays |= {"d": nd.array([1.0, 2.0]), **({"f_bias": nd.zeros(5)} if arguments else {})}
        outputs = symbol.eval(**arrays)
        assert [each.shape for each in outputs] == results
        assert outputs[0].asnumpy().ravel().tolist() == values


def test_a_traced_loop_over_an_mx_np_array_is_the_same_in_a_file(tmp_path: Any) -> None:
    net = _RunningSums()
    net.hybridize()
    with mx.util.np_shape(True), mx.util.np_array(True):
        net(mx.np.array([1.0, 2.0, 3.0]), mx.np.array(1.0))
        net.export(str(tmp_path / "net"))
        names = ["data0", "data1"]
        again = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), names)
        outputs, last = again(mx.np.array([1.0, 2.0, 3.0]), mx.np.array(1.0))
    assert outputs.asnumpy().tolist() == [2.0, 4.0, 7.0]
    assert last.shape == ()


def test_inputs_of_a_branch_are_in_the_order_in_which_it_reads_them() -> None:
    q, a, b = (sym.var(name) for name in "qab")
    chosen = sym.contrib.cond(sym.sum(q) > 1, lambda: a * b, lambda: sym.var("q"))
    assert chosen.list_arguments() == ["q", "a", "b", "q"]


def test_a_while_loop_without_a_step_returns_its_variables() -> None:
    start = (nd.zeros((1,)), nd.ones((2,)))
    _, last = nd.contrib.while_loop(lambda i, s: i < 0, lambda i, s: (s, (i, s)), start, 3)
    assert last is start


def test_a_loop_keeps_the_form_of_its_states() -> None:
    d, s = sym.var("d"), sym.var("s")
    with pytest.raises(AssertionError, match="states"):
        sym.contrib.foreach(lambda item, state: (item, [state + 1]), d, s)


def test_the_first_step_of_a_loop_gets_the_states_that_were_given() -> None:
    collected: list[Any] = []

    def body(row: Any, states: Any) -> Any:
        states[0].append(row.sum().asscalar())
        return row, [states[0], states[1] + 1]

    _, last = nd.contrib.foreach(body, nd.array(X), [collected, nd.zeros(1)])
    assert collected == [1, 5, 9]
    assert last[0] is collected and last[1].asscalar() == 3

    initial = (nd.ones(1), nd.ones(2))
    _, last = nd.contrib.foreach(lambda row, states: (row, states), nd.array(X), initial)
    assert last is initial


def test_a_while_loop_around_another_may_end_before_its_first_step() -> None:
    i, total, step = sym.var("i"), sym.var("total"), sym.var("step")

    def rounds(i: Any, total: Any) -> Any:
        _, (_, total) = sym.contrib.while_loop(
            lambda n, t: n < 3, lambda n, t: ([], [n + 1, t + step]), [i, total], max_iterations=4
        )
        return [], [i + 1, total]

    for limit, last in ((0, [0, 0]), (2, [2, 10])):
        _, states = sym.contrib.while_loop(
            lambda i, _, limit=limit: i < limit, rounds, [i, total], max_iterations=3
        )
        values = {"i": nd.zeros((1,)), "total": nd.zeros((1,)), "step": nd.ones((1,)) * 2}
        outputs = sym.Group(states).bind(mx.cpu(), values).forward()
        assert [each.asscalar() for each in outputs] == last


def test_a_loop_over_a_sparse_variable_stacks_dense_outputs() -> None:
    state = nd.array([[1.0, 0.0]]).tostype("row_sparse")
    out, last = nd.contrib.while_loop(
        lambda i: i.sum() < 3, lambda i: (i * 10, i + 1), state, max_iterations=3
    )
    assert (out.stype, out.asnumpy().tolist()) == ("default", [[[10, 0]], [[0, 0]], [[0, 0]]])
    assert last.asnumpy().tolist() == [[2, 1]]


def test_symbolic_loops_check_their_symbols_before_their_functions() -> None:
    x, y = sym.var("x"), sym.var("y")
    with pytest.raises(AssertionError, match="foreach: data"):
        sym.contrib.foreach([x], lambda item, state: (item, state), y)
    with pytest.raises(AssertionError, match="while_loop: loop_vars"):
        sym.contrib.while_loop([x], lambda i: (i, i + 1), lambda i: i < 2, max_iterations=2)
