"""Blocks: names, attributes, hooks, summary, hybridize; names and texts are MXNet 1.9.1's."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
import warnings

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn
from tests.threads import all_at_once


def perceptron(**kwargs) -> nn.HybridSequential:
    net = nn.HybridSequential(**kwargs)
    with net.name_scope():
        net.add(nn.Dense(3, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    return net


class Part(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.hidden = nn.Dense(4)
            self.scale = self.params.get("scale", shape=(1, 4), init="ones")
            self.fixed = self.params.get_constant("fixed", [[1.0, 2.0, 3.0, 4.0]])
        self.calls: list = []

    def hybrid_forward(self, F, x, scale, fixed):
        self.calls.append((F.__name__, repr(x)))
        y = F.relu(self.hidden(x))
        return F.broadcast_mul(y, scale), [x, F.broadcast_add(y, fixed)]


# ---- names ---------------------------------------------------------------------------------------


def test_names_count_by_kind_within_scopes() -> None:
    with mx.name.NameManager():
        inside, outside = perceptron(), nn.HybridSequential()
        outside.add(nn.Dense(3), nn.Dense(2))
        empty = nn.HybridSequential(prefix="")
        with empty.name_scope():
            empty.add(nn.Dense(1))
        part = Part()
    assert [each.name for each in inside] == [
        "hybridsequential0_dense0", "hybridsequential0_batchnorm0", "hybridsequential0_dense1",
    ]  # fmt: skip
    assert [each.name for each in outside] == ["dense0", "dense1"]
    assert [each.name for each in empty] == ["dense2"] and empty.prefix == empty.name == ""
    assert list(part.collect_params()) == [
        "part0_scale", "part0_fixed", "part0_dense0_weight", "part0_dense0_bias",
    ]  # fmt: skip
    assert list(part.collect_params(".*dense|.*fixed")) == [
        "part0_fixed", "part0_dense0_weight", "part0_dense0_bias",
    ]  # fmt: skip
    assert sorted(part._collect_params_with_prefix()) == [
        "fixed", "hidden.bias", "hidden.weight", "scale",
    ]  # fmt: skip


def test_shared_parameters_have_the_names_of_the_first_block() -> None:
    first = perceptron(prefix="a_")
    second = perceptron(prefix="b_", params=first.collect_params())
    assert second[0].weight is first[0].weight and second[1].gamma is first[1].gamma
    assert (
        second[0].prefix == "b_dense0_" and next(iter(second.collect_params())) == "a_dense0_weight"
    )
    with pytest.raises(AssertionError, match=r"already exists with shape=\(3, 0\)"):
        nn.Dense(5, params=first[0].params)


def test_symbols_are_named_by_their_blocks() -> None:
    net = perceptron(prefix="net_")
    names = net(mx.sym.var("data")).get_internals().list_outputs()
    assert [name for name in names if name.endswith("output")] == [
        "net_dense0_fwd_output", "net_dense0_relu_fwd_output", "net_batchnorm0_fwd_output",
        "net_dense1_fwd_output",
    ]  # fmt: skip
    part = Part(prefix="p_")
    first, (_, second) = part(mx.sym.var("x"))
    assert (first.name, second.name) == ("p_broadcast_mul0", "p_broadcast_add0")
    one = mx.sym.var("y") + 1  # names outside of blocks count on their own
    assert one.name.startswith("_plusscalar")


# ---- attributes and text -------------------------------------------------------------------------


class Holder(gluon.Block):
    def __init__(self):
        super().__init__()
        self.layer = nn.Dense(2)
        self.parameter = gluon.Parameter("own", shape=(2,))
        self.register_child(nn.Dense(7))


def test_attributes_keep_their_kind() -> None:
    holder = Holder()
    assert repr(holder) == "Holder(\n  (layer): Dense(None -> 2, linear)\n)"
    assert not any("own" in name for name in holder.collect_params())
    for value in (3, None, nn.Flatten()):
        with pytest.raises(TypeError, match="cannot become"):
            holder.layer = value
    holder.layer = nn.Dense(5)
    assert holder._children["layer"] is holder.layer
    with pytest.raises(AssertionError, match="is already a parameter"):
        holder.parameter = gluon.Parameter("other")
    with pytest.raises(ValueError, match="Children of a HybridBlock"):
        nn.HybridSequential().add(nn.Lambda("tanh"))


def test_a_sequence_accepts_functions() -> None:
    row = nn.Sequential()
    row.add(lambda x: x * 2, nn.Dense(1, in_units=1))
    row.initialize(mx.init.One())
    assert row(mx.nd.ones((1, 1))).asscalar() == 2
    assert row[0](mx.nd.ones((1,))).asscalar() == 2


def test_a_value_is_not_implemented_for_the_symbol_of_a_hybridized_block() -> None:
    class Branch(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x if x.sum() > 0 else -x

    net = Branch()
    assert net(mx.nd.array([-1])).asscalar() == 1
    net.hybridize()
    with pytest.raises(mx.base.NotImplementedForSymbol, match="do not hybridize") as error:
        net(mx.nd.array([-1]))
    assert type(error.value).__name__ == "NotImplementedForSymbol"
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_blocks_in_a_list_cause_a_warning() -> None:
    holder = Holder()
    holder.layers = [nn.Dense(2)]
    with pytest.warns(UserWarning, match=r'"Holder.layers" is an unregistered container'):
        holder.collect_params()
    holder.register_child(holder.layers[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        holder.collect_params()


def test_sequences_are_indexed_and_sliced() -> None:
    net = perceptron(prefix="net_")
    assert len(net) == 3 and net[-1] is net[2] and [*net] == [net[0], net[1], net[2]]
    assert type(net[:2]) is nn.HybridSequential and net[:2].prefix == "net_"
    assert repr(net[:1]) == ("HybridSequential(\n  (0): Dense(None -> 3, Activation(relu))\n)")
    with pytest.raises(IndexError):
        net[5]
    row = nn.Sequential()
    row.add(nn.Dense(2))
    with pytest.warns(UserWarning, match="HybridSequential"):
        row.hybridize()
    names: list[str] = []
    assert net.apply(lambda block: names.append(block.name)) is net
    assert names == ["net_dense0_relu", "net_dense0", "net_batchnorm0", "net_dense1", "net"]


@pytest.mark.parametrize("kind", [nn.Lambda, nn.HybridLambda])
def test_lambda_layers_call_functions(kind) -> None:
    assert repr(kind("relu")) == f"{kind.__name__}(relu)"
    np.testing.assert_array_equal(kind("relu")(nd.array([-1, 2])).asnumpy(), [0, 2])
    with pytest.raises(AssertionError, match="not an operator"):
        kind("nothing")
    with pytest.raises(ValueError, match="takes a function"):
        kind(3)


# ---- hooks, summary ------------------------------------------------------------------------------


def test_hooks_are_called_and_removed() -> None:
    net = perceptron(prefix="net_")
    net.initialize()
    calls: list = []
    before = net.register_forward_pre_hook(lambda block, inputs: calls.append(len(inputs)))
    after = net[0].register_forward_hook(
        lambda block, inputs, output: calls.append((block.name, inputs[0].shape, output.shape))
    )
    net(nd.ones((2, 4)))
    assert calls[0] == 1 and ("net_dense0", (2, 4), (2, 3)) in calls
    with pytest.warns(UserWarning, match="has hooks while"):
        net.hybridize()
    before.detach()
    after.detach()
    count = len(calls)
    net(nd.ones((2, 4)))
    assert len(calls) == count
    with pytest.raises(AssertionError, match="already holds a hook"):
        after.attach(net._forward_hooks, print)
    with net.register_forward_hook(print):
        assert len(net._forward_hooks) == 1
    assert not net._forward_hooks


@pytest.mark.parametrize("monitor_all", [False, True])
def test_hooks_of_operators_get_every_result(monitor_all: bool) -> None:
    net = perceptron(prefix="net_")
    net.initialize(mx.init.One())
    x = nd.ones((2, 4))
    expected = net(x).asnumpy()
    net.hybridize()
    outputs: dict = {}
    net.register_op_hook(
        lambda name, op, array: outputs.update({name: (op, array.shape)}), monitor_all
    )
    with autograd.record(train_mode=False):
        actual = net(x)
    actual.backward()
    np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-6)
    assert abs(net[0].weight.grad().asnumpy()).sum() > 0
    assert outputs["net_dense0_fwd_output"] == ("FullyConnected", (2, 3))
    names = [name for name in outputs if name.startswith("net_batchnorm0")]
    inputs = ["data", "gamma", "beta", "moving_mean", "moving_var"] if monitor_all else []
    assert names == [f"net_batchnorm0_fwd_{each}" for each in (*inputs, "output")]
    assert ("net_dense0_relu_fwd_input0" in outputs) == monitor_all


SUMMARY = """\
--------------------------------------------------------------------------------
        Layer (type)                                Output Shape         Param #
================================================================================
               Input                                      (2, 4)               0
        Activation-1                                      (2, 3)               0
             Dense-2                                      (2, 3)              15
         BatchNorm-3                                      (2, 3)              12
             Dense-4                                      (2, 2)               8
================================================================================
Parameters in forward computation graph, duplicate included
   Total params: 35
   Trainable params: 29
   Non-trainable params: 6
Shared params in forward computation graph: 0
Unique parameters in model: 35
--------------------------------------------------------------------------------
"""


def test_a_summary_has_mxnets_text(capsys: pytest.CaptureFixture) -> None:
    net = perceptron()
    net.initialize()
    net(nd.ones((2, 4)))
    net.summary(nd.ones((2, 4)))
    assert capsys.readouterr().out == SUMMARY
    part = Part()
    part.initialize()
    part.hidden(nd.ones((2, 4)))
    part.summary(nd.ones((2, 4)))
    rows = capsys.readouterr().out.splitlines()
    assert (
        rows[5]
        == "              Part-2                    (2, 4), [(2, 4), (2, 4)]               8"
    )
    net.hybridize()
    with pytest.raises(AssertionError, match="is hybridized"):
        net.summary(nd.ones((2, 4)))


def test_a_summary_leaves_out_whatever_is_a_sequence(capsys: pytest.CaptureFixture) -> None:
    class Row(nn.HybridSequential):
        pass

    net = Row()
    side = mx.gluon.contrib.nn.HybridConcurrent(axis=1)
    side.add(nn.Dense(2), nn.Dense(3))
    net.add(side)
    net.initialize()
    net.summary(nd.ones((2, 4)))
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows[3:6]] == ["Input", "Dense-1", "Dense-2"]


# ---- hybridize -----------------------------------------------------------------------------------


def test_a_hybridized_block_runs_its_code_once_on_symbols() -> None:
    part = Part()
    part.initialize()
    x = nd.array([[1.0, -2.0, 0.5]])
    expected = part(x)
    assert part.calls[-1][0] == "mixnet.ndarray"
    part.hybridize(static_alloc=True, static_shape=True, inline_limit=3, partial_shape=True)
    part.calls.clear()
    actual = part(x)
    assert part.calls == [("mixnet.symbol", "<Symbol data>")]
    part(nd.ones((2, 3)))
    with autograd.record():
        part(x)
    assert len(part.calls) == 1
    assert isinstance(actual, list) and isinstance(actual[1], list)
    np.testing.assert_allclose(actual[0].asnumpy(), expected[0].asnumpy(), rtol=1e-6)
    np.testing.assert_array_equal(actual[1][0].asnumpy(), x.asnumpy())
    np.testing.assert_allclose(actual[1][1].asnumpy(), expected[1][1].asnumpy(), rtol=1e-6)
    part.hybridize(False)
    part(x)
    assert part.calls[-1][0] == "mixnet.ndarray"


def test_code_that_symbols_cannot_run_is_traced() -> None:
    class Sized(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.reshape(x, (x.shape[1], x.shape[0])) + nd.ones((1,))

    block = Sized()
    block.hybridize()
    assert block(nd.zeros((2, 3))).shape == (3, 2)
    assert block(nd.zeros((4, 3))).shape == (3, 4)
    np.testing.assert_array_equal(block(nd.zeros((1, 1))).asnumpy(), [[1]])


def test_children_may_be_hybridized_alone() -> None:
    net = nn.Sequential()
    net.add(Part(), nn.Lambda(lambda pair: pair[0]))
    net.initialize()
    net[0].hybridize()
    first = net(nd.ones((2, 3)))
    assert net[0].calls[-1][0] == "mixnet.symbol"
    np.testing.assert_allclose(net(nd.ones((2, 3))).asnumpy(), first.asnumpy())


@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (lambda F, x: [x[0], [x[1][0], x[0]]], [[1, [2]]], [1, [2, 1]]),
        (lambda F, x, y: x if y is None else y, [1, None], 1),
        (lambda F, x: F.split(x.reshape((2,)), 2, axis=0), [[3, 4]], None),
    ],
)
def test_inputs_and_outputs_may_be_nested(function, inputs, expected) -> None:
    def arrays(value):
        if isinstance(value, list):
            return [arrays(each) for each in value]
        return value if value is None else nd.array([value])

    def numbers(value):
        if isinstance(value, list):
            return [numbers(each) for each in value]
        return value.asscalar()

    block = nn.HybridLambda(function)
    if expected is None:
        inputs, expected = [nd.array([[3, 4]])], [3, 4]
    else:
        inputs = [arrays(each) for each in inputs]
    block.hybridize()
    assert numbers(block(*inputs)) == expected


def test_incompatible_inputs_are_refused() -> None:
    block = nn.HybridLambda(lambda F, x, y: x)
    one = nd.ones((1,))
    with pytest.raises(ValueError, match="not both"):
        block(one, mx.sym.var("x"))
    with pytest.raises(ValueError, match="at least one NDArray or Symbol"):
        block(3, 4)
    for kind, message in ((gluon.Block, "forward"), (gluon.HybridBlock, "neither")):
        with pytest.raises(NotImplementedError, match=message):
            kind()(one)
    dense = nn.Dense(2, in_units=3)
    dense.initialize()
    dense.hybridize()
    with pytest.raises(mx.MXNetError, match="4"):
        dense(nd.ones((1, 4)))


def test_shapes_and_dtypes_follow_from_the_data() -> None:
    net = perceptron()
    net.infer_shape(nd.ones((2, 7)))
    assert net[0].weight.shape == (3, 7) and net[1].running_var.shape == (3,)
    assert net[2].weight.shape == (2, 3)
    net.initialize()
    net.cast("float16")
    assert net[0].weight.dtype == "float16" and net[1].gamma.dtype == "float32"
    assert net[0].weight.grad().dtype == np.float16


def test_optimize_for_requires_a_backend() -> None:
    net = perceptron()
    net.initialize()
    with pytest.raises(ValueError, match='backend="NAME"'):
        net.optimize_for(nd.ones((2, 4)))
    net.optimize_for(nd.ones((2, 4)), backend="XLA", static_alloc=True)
    assert net._active and len(net._mx_cache) == 1 and net[0].weight.shape == (3, 4)


def test_numpy_blocks_return_numpy_arrays() -> None:
    with mx.util.np_shape(), mx.util.np_array():
        block = nn.HybridLambda(lambda F, x: x.as_nd_ndarray())
        with pytest.raises(TypeError, match=r"as_np_ndarray\(\)"):
            block(mx.np.ones((2,)))


def test_a_layer_used_twice_moves_its_statistics_twice() -> None:
    class Twice(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm(in_channels=2)

        def hybrid_forward(self, F, x, y):
            return self.norm(x) + self.norm(y)

    x, y = nd.array([[1, 2], [3, 6]]), nd.array([[11, 2], [3, 60]])
    for hybridize in (False, True):
        net = Twice()
        net.initialize()
        net.hybridize(hybridize)
        with autograd.record():
            loss = net(x, y)
        loss.backward()
        means = np.array([2, 4]), np.array([7, 31])
        first, last = means if hybridize else means[::-1]  # single operations: as backward comes
        moved = 0.9 * (0.1 * first) + 0.1 * last
        np.testing.assert_allclose(net.norm.running_mean.data().asnumpy(), moved, rtol=1e-5)


def test_results_are_independent_arrays() -> None:
    class Same(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get("scale", shape=(2,), init="ones")

        def hybrid_forward(self, F, x, scale):
            return x, scale

    net, x = Same(), nd.ones((2,))
    net.initialize()
    net.hybridize()
    for each in net(x):
        each[:] = 7
    assert x.asnumpy().tolist() == net.scale.data().asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("scope", [autograd.record, autograd.train_mode, autograd.pause])
def test_forward_sees_the_modes_of_the_first_call(scope) -> None:
    class Reports(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            modes.append((autograd.is_recording(), autograd.is_training()))
            return x * 2

    modes = []
    net = Reports()
    net.hybridize()
    with scope():
        expected = (autograd.is_recording(), autograd.is_training())
        net(nd.ones((2,)))
    net(nd.ones((2,)))
    assert modes == [expected]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_learn_independently(copied) -> None:
    net, x = perceptron(), nd.ones((2, 4))
    net.initialize(mx.init.Xavier())
    expected = net(x).asnumpy()
    net.hybridize()
    net(x)
    other = copied(net)
    np.testing.assert_allclose(other(x).asnumpy(), expected, rtol=1e-6)
    with autograd.record():
        loss = other(x).sum()
    loss.backward()
    assert other[2].bias.grad().asnumpy().tolist() == [2, 2]
    assert net[2].bias.grad().asnumpy().tolist() == [0, 0]
    other[2].bias.set_data(nd.ones((2,)))
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-6)


class LeavesOut(gluon.HybridBlock):
    """Neither computes with its second layer nor with its second input."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first, self.second = gluon.nn.Dense(2, in_units=3), gluon.nn.Dense(2, in_units=3)

    def hybrid_forward(self, F, x, y):
        return self.first(x)


def test_unused_inputs_and_layers_of_a_hybridized_block_cause_a_warning() -> None:
    net = LeavesOut(prefix="net_")
    net.initialize()
    x, y = nd.ones((1, 3)), nd.ones((1,))
    net(x, y)  # not seen where operators run one by one
    net.hybridize()
    with pytest.warns(UserWarning) as caught:
        net(x, y)
    texts = [str(each.message) for each in caught]
    assert len(texts) == 2 and {each.filename for each in caught} == {__file__}
    assert texts[0].startswith(
        "Parameter net_dense1_weight, net_dense1_bias is not used by any computation"
    )
    assert (
        texts[1].startswith("The 1-th input to HybridBlock net_ is not used") or "1-th" in texts[1]
    )
    net(nd.ones((2, 3)), y)  # said once


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_wrong_dtype_completes_shapes_before_it_is_reported(
    hybridize: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    net = gluon.nn.Dense(3)
    net.initialize()
    net.hybridize(hybridize)
    with pytest.raises(mx.MXNetError, match="int32 and float32"):
        net(nd.ones((2, 4), dtype="int32"))
    assert net.weight.shape == (3, 4)
    assert "infer_shape" not in capsys.readouterr().out
    assert net(nd.ones((2, 4))).shape == (2, 3)


def test_parameters_are_collected_while_another_thread_changes_a_container() -> None:
    """As the first call of a hybridized network, which stores its programs, does."""
    net = nn.Dense(2, in_units=3)
    net.programs = dict.fromkeys(range(1000))

    done = threading.Event()

    def collect() -> None:
        try:
            for _ in range(30):
                assert list(net.collect_params()) == [net.weight.name, net.bias.name]
        finally:
            done.set()

    def change() -> None:
        for number in itertools.count(1000):
            net.programs[number] = net.programs.pop(number - 1000)
            if done.is_set():
                break

    all_at_once(2, lambda number: change() if number else collect())
