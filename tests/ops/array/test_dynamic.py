"""Operators whose shapes depend on values: these are read, and graphs are cut there."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import gluon, nd, np


def test_boolean_mask_has_a_gradient() -> None:
    data = nd.array([[1, 2], [3, 4], [5, 6]])
    data.attach_grad()
    with mx.autograd.record():
        actual = nd.contrib.boolean_mask(data, nd.array([0, 1, 1]))
        loss = (actual * actual).sum()
    loss.backward()
    onp.testing.assert_array_equal(actual.asnumpy(), [[3, 4], [5, 6]])
    onp.testing.assert_array_equal(data.grad.asnumpy(), [[0, 0], [6, 8], [10, 12]])
    with pytest.raises(mx.MXNetError, match="one element for each of the 3 slices"):
        nd.contrib.boolean_mask(data, nd.array([0, 1]))


def test_masks_as_indices_have_gradients() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    with mx.autograd.record():
        y = x[x > 1.5] * 2
    y.backward()
    assert y.tolist() == [4, 6, 8]
    assert x.grad.tolist() == [[0, 2], [2, 2]]
    z = np.array([1.0, 2.0, 3.0])
    z[z > 1.5] = 0
    assert z.tolist() == [1, 0, 0]
    z[np.array([True, False, True], dtype=bool)] = np.array([7.0, 8.0])
    assert z.tolist() == [7, 0, 8]


def test_nonzero_unique_and_bincount_are_numpys() -> None:
    x = np.array([[0, 2], [2, 1]], dtype="int32")
    for actual, expected in zip(np.nonzero(x), onp.nonzero(x.asnumpy()), strict=True):
        onp.testing.assert_array_equal(actual.asnumpy(), expected)
        assert actual.dtype == onp.int64
    assert mx.npx.nonzero(x).tolist() == [[0, 1], [1, 0], [1, 1]]
    actual = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    expected = onp.unique(x.asnumpy(), return_index=True, return_inverse=True, return_counts=True)
    for ours, theirs in zip(actual, expected, strict=True):
        onp.testing.assert_array_equal(ours.asnumpy(), theirs.reshape(-1))
    assert np.unique(np.array([[1, 0], [1, 0]]), axis=0).shape == (1, 2)
    assert np.bincount(x.reshape(-1), minlength=5).tolist() == [1, 1, 2, 0, 0]
    weights = np.array([0.5, 1.0, 1.5, 2.0])
    assert np.bincount(x.reshape(-1), weights).tolist() == [0.5, 2.0, 2.5]
    with pytest.raises(mx.MXNetError, match="below 0"):
        np.bincount(np.array([-1], dtype="int32"))
    with pytest.raises(mx.MXNetError, match="whole numbers"):
        np.bincount(np.array([1.5]))
    assert np.argwhere(x).shape == (3, 2) and np.flatnonzero(x).tolist() == [1, 2, 3]


DATA = onp.arange(12, dtype="float32").reshape(4, 3)
MASK = onp.array([0, 1, 0, 1], "float32")


class Calls(gluon.HybridBlock):
    """A block that calls a function of F and its inputs."""

    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def hybrid_forward(self, F: Any, *args: Any) -> Any:
        return self.function(F, *args)


def hybridized(function: Any) -> Calls:
    block = Calls(function)
    block.hybridize()
    return block


def test_executors_are_cut_where_the_shape_depends_on_values() -> None:
    data, mask = mx.sym.var("data"), mx.sym.var("mask")
    chosen = mx.sym.contrib.boolean_mask(data * 2, mask)
    symbol = mx.sym.sum(chosen + 1, axis=0)
    with pytest.warns(UserWarning, match="cannot be inferred"):
        assert symbol.infer_shape(data=(4, 3), mask=(4,)) == (None, None, None)
    arguments, outputs, _ = symbol.infer_shape_partial(data=(4, 3), mask=(4,))
    assert (arguments, outputs) == ([(4, 3), (4,)], [()])
    arrays = {"data": nd.array(DATA), "mask": nd.array(MASK)}
    executor = symbol.bind(mx.cpu(), arrays, {"data": nd.zeros((4, 3))})
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [26, 30, 34]
    executor.backward(nd.ones((3,)))
    row = onp.array([[0.0], [2], [0], [2]]) * onp.ones(3)
    onp.testing.assert_array_equal(executor.grad_dict["data"].asnumpy(), row)
    outputs = executor.forward(is_train=True, mask=nd.array([1, 1, 1, 0]))
    assert outputs[0].asnumpy().tolist() == [21, 27, 33]


def test_outputs_of_executors_change_their_shape() -> None:
    data, mask = mx.sym.var("data"), mx.sym.var("mask")
    symbol = mx.sym.contrib.boolean_mask(data, mask) + 1
    executor = symbol.bind(mx.cpu(), {"data": nd.array(DATA), "mask": nd.array(MASK)})
    with pytest.raises(mx.MXNetError, match="known after forward"):
        _ = executor.outputs
    for rows in ([1, 3], [0, 1, 2], [2]):
        mask = onp.isin(onp.arange(4), rows).astype("float32")
        (actual,) = executor.forward(mask=nd.array(mask))
        onp.testing.assert_array_equal(actual.asnumpy(), DATA[rows] + 1)
    with pytest.raises(mx.MXNetError, match="one element for each of the 4 slices"):
        symbol.bind(mx.cpu(), {"data": nd.array(DATA), "mask": nd.array([1, 0])})
    with pytest.raises(RuntimeError, match="cannot be inferred"):  # as MXNet has it
        symbol.simple_bind(mx.cpu(), data=(4, 3), mask=(4,))


def test_hybridized_blocks_are_cut_and_learn() -> None:
    net = hybridized(lambda F, x, m: F.sum(F.contrib.boolean_mask(x * 2, m) * F.slice(x, 0, 2)))
    x, m = nd.array(DATA), nd.array(MASK)
    x.attach_grad()
    m.attach_grad()
    for _ in range(2):
        with mx.autograd.record():
            loss = net(x, m)
        loss.backward()
        assert loss.asscalar() == 272
        expected = [[6, 8, 10], [18, 22, 26], [0, 0, 0], [6, 8, 10]]
        assert x.grad.asnumpy().tolist() == expected
        assert m.grad.asnumpy().tolist() == [0, 0, 0, 0]
    with pytest.raises(mx.MXNetError, match="elemwise_mul"):  # three rows, and two
        net(x, nd.array([1, 1, 1, 0])).wait_to_read()


def test_parameters_and_states_after_a_cut_are_learned() -> None:
    class Net(gluon.HybridBlock):
        def __init__(self, units: int) -> None:
            super().__init__()
            self.dense = gluon.nn.Dense(2, in_units=units)
            self.norm = gluon.nn.BatchNorm(in_channels=2)

        def hybrid_forward(self, F: Any, x: Any, m: Any) -> Any:
            return self.norm(self.dense(F.contrib.boolean_mask(x, m)))

    net = Net(3)
    net.initialize(mx.init.Constant(0.5))
    net.hybridize()
    with mx.autograd.record():
        actual = net(nd.array(DATA), nd.array(MASK))
    actual.backward()
    onp.testing.assert_allclose(actual.asnumpy(), [[-1, -1], [1, 1]], rtol=1e-5)
    onp.testing.assert_allclose(net.norm.running_mean.data().asnumpy(), [1.05, 1.05], rtol=1e-5)
    waiting = Net(0)
    waiting.initialize()
    waiting.hybridize()
    with pytest.raises(ValueError, match="cannot be inferred"):  # as MXNet has it
        waiting(nd.array(DATA), nd.array(MASK))


def test_dropout_on_both_sides_of_a_cut_draws_each_time() -> None:
    net = hybridized(lambda F, x: F.Dropout(F.contrib.boolean_mask(F.Dropout(x), F.ones(64))))
    with mx.autograd.record():
        first, second = net(nd.ones((64,))).asnumpy(), net(nd.ones((64,))).asnumpy()
    assert set(first.tolist()) == {0.0, 4.0} and (first != second).any()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda F, a: F.np.unique(a) * 2, [0, 2, 6, 10, 12]),
        (lambda F, a: F.npx.nonzero(a), [[0, 0], [0, 2], [1, 1], [1, 2], [2, 0], [2, 2]]),
        (lambda F, a: F.np.bincount(a.astype("int32").reshape(-1)), [3, 2, 0, 2, 0, 1, 1]),
        (lambda F, a: a[a > 1], [3, 5, 6, 3]),
        (lambda F, a: F.np.where(a > 1)[1], [2, 1, 2, 2]),
    ],
)
def test_functions_of_np_run_in_hybridized_blocks(function: Any, expected: Any) -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        actual = hybridized(function)(np.array([[1.0, 0, 3], [0, 5, 6], [1, 0, 3]]))
        assert actual.tolist() == expected


def test_unique_returns_all_results_in_a_hybridized_block() -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        net = hybridized(lambda F, a: F.np.unique(a, True, True, True, axis=0))
        actual = net(np.array([[1.0, 0, 3], [0, 5, 6], [1, 0, 3]]))
        assert [each.tolist() for each in actual] == [
            [[0, 5, 6], [1, 0, 3]],
            [1, 0],
            [1, 0, 1],
            [1, 2],
        ]
        assert [each.dtype.name for each in actual] == ["float32", "int64", "int64", "int64"]


def test_a_forward_on_arrays_runs_operator_by_operator() -> None:
    calls = []

    class Chooses(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            calls.append(x)
            return nd.contrib.boolean_mask(x, x > 0) * 2

    net = Chooses()
    net.hybridize()
    assert net(nd.array([1, -1, 3])).asnumpy().tolist() == [2, 6]
    assert net(nd.array([1, -1, -3])).asnumpy().tolist() == [2]
    assert len(calls) == 3  # one trace that failed


def test_a_symbol_file_keeps_shapes_that_depend_on_values(tmp_path: Any) -> None:
    net = hybridized(lambda F, x, m: F.contrib.boolean_mask(x, m))
    net(nd.array(DATA), nd.array(MASK))
    net.export(str(tmp_path / "net"))
    loaded = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data0", "data1"])
    for _ in range(2):
        assert loaded(nd.array(DATA), nd.array(MASK)).shape == (2, 3)
        loaded.hybridize()
