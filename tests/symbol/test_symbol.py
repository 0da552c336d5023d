"""Symbol: names, composition, inference errors, executors, gradient graphs, damaged files."""

from __future__ import annotations

import copy
import json
import operator
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, sym
from mixnet.base import MXNetError
from tests.each_record import each_record


def mlp():
    x = sym.FullyConnected(sym.Variable("data"), num_hidden=5, name="fc1")
    x = sym.Activation(x, act_type="relu", name="relu1")
    return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=3, name="fc2"), name="softmax")


def test_a_symbol_has_no_truth_value() -> None:
    with pytest.raises(mx.base.NotImplementedForSymbol, match="__bool__"):
        bool(sym.Variable("a"))


def test_automatic_names_count_by_kind() -> None:
    with mx.name.NameManager():
        a, b = sym.Variable("a"), sym.Variable("b")
        assert [(a + b).name, (a + b).name, (a * 2).name, (1 - a).name, (2**a).name] == [
            "_plus0", "_plus1", "_mulscalar0", "_rminusscalar0", "_rpower_scalar0",
        ]  # fmt: skip
        assert sym.FullyConnected(a, num_hidden=2).name == "fullyconnected0"
    with mx.name.Prefix("net_"):
        assert sym.relu(sym.Variable("a")).name == "net_relu0"


def test_attributes_come_from_arguments_and_scopes() -> None:
    with mx.AttrScope(ctx_group="dev1"):
        a = sym.Variable("a", lr_mult=0.5, shape=(2, 3))
        b = sym.relu(a, name="b")
    assert a.attr("ctx_group") == "dev1" and a.attr("lr_mult") == "0.5"
    assert b.attr_dict()["a"]["__shape__"] == "(2, 3)"
    assert b.infer_shape() == ([(2, 3)], [(2, 3)], [])


def test_attributes_of_mxnet_also_have_a_plain_name() -> None:
    node = sym.relu(sym.Variable("a"), attr={"__mood__": "calm", "lr_mult": "2"})
    assert node.list_attr() == {"__mood__": "calm", "__lr_mult__": "2", "lr_mult": "2"}
    assert node.attr("mood") is None and node.attr("__mood__") == "calm"
    x = sym.Variable("x")
    y = sym.relu(x)
    x._set_attr(mood="angry", lr_mult="3")
    assert x.list_attr() == {"mood": "angry", "__lr_mult__": "3", "lr_mult": "3"}
    assert y.attr_dict()["x"] == x.list_attr()
    with pytest.raises(ValueError, match="string"):
        x._set_attr(mood=3)


def test_symbols_are_composed_by_calls() -> None:
    inner = sym.relu(sym.Variable("x"), name="inner")
    outer = sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc")
    joined = outer(data=inner, name="joined")
    assert joined.list_arguments() == ["x", "fc_weight", "fc_bias"]
    assert outer.list_arguments() == ["data", "fc_weight", "fc_bias"]
    with pytest.raises(mx.MXNetError, match="no variable 'nothing'"):
        outer(nothing=inner)
    with pytest.raises(TypeError, match="expects symbols"):
        outer(3)


def test_a_composed_group_gives_its_name_to_the_first_output() -> None:
    x = sym.Variable("x")
    group = sym.Group([sym.exp(x, name="e"), sym.tanh(x, name="t")])
    assert group(x=sym.Variable("z"), name="c").list_outputs() == ["c_output", "t_output"]
    assert group(x=sym.Variable("z")).list_outputs() == ["e_output", "t_output"]


def test_a_weight_of_upsampling_that_is_given_is_initialized_as_one_that_is_not() -> None:
    weight = sym.Variable("w")
    sym.UpSampling(sym.Variable("x"), weight, scale=2, num_filter=1, sample_type="bilinear")
    assert weight.list_attr() == {"__init__": '["bilinear", {}]'}
    weight = sym.Variable("w", init=mx.init.One())
    sym.UpSampling(sym.Variable("x"), weight, scale=2, num_filter=1, sample_type="bilinear")
    assert weight.list_attr() == {"__init__": '["one", {}]'}


def test_a_reversed_order_of_axes_is_not_written() -> None:
    x = sym.Variable("x")
    assert x.transpose().list_attr() == {}
    assert x.transpose((1, 0)).list_attr() == {"axes": "(1, 0)"}


def test_outputs_and_groups_can_be_indexed() -> None:
    parts = sym.split(sym.Variable("x"), num_outputs=3, name="sp")
    assert parts.list_outputs() == ["sp_output0", "sp_output1", "sp_output2"]
    group = sym.Group([parts[1], sym.relu(parts["sp_output2"], name="r")])
    assert group.list_outputs() == ["sp_output1", "r_output"] and len(group) == 2
    with pytest.raises(mx.MXNetError, match="3 outputs"):
        sym.relu(parts)
    with pytest.raises(ValueError, match="sp_output9"):
        parts["sp_output9"]


@pytest.mark.filterwarnings("ignore:The shapes of these arguments")
def test_wrong_shapes_name_the_node() -> None:
    with pytest.raises(mx.MXNetError, match=r"'fc1'.*FullyConnected"):
        mlp().infer_shape(data=(4, 6), fc1_weight=(5, 7))
    a, b = sym.Variable("a"), sym.Variable("b")
    with pytest.raises(mx.MXNetError, match="Node 'total'"):
        sym.broadcast_add(a, b, name="total").infer_shape(a=(2, 3), b=(4, 5))
    arguments, _, _ = mlp().infer_shape_partial()
    assert arguments[0] == ()
    assert mlp().infer_shape() == (None, None, None)
    with pytest.raises(mx.MXNetError, match="no variable 'dta'"):
        mlp().infer_shape(dta=(2, 3))


def test_dtypes_are_inferred() -> None:
    arguments, outputs, _ = mlp().infer_type(data="float16")
    assert set(arguments) == {np.float16} and outputs == [np.float16]


@pytest.mark.parametrize(("request_", "factor"), [("write", 1), ("add", 2), ("null", 0)])
def test_executors_respect_gradient_requests(request_: str, factor: int) -> None:
    x = sym.Variable("x")
    gradient = nd.zeros((3,))
    executor = (x * x).bind(mx.cpu(), {"x": nd.array([1, 2, 3])}, {"x": gradient}, request_)
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(nd.ones((3,)))
    np.testing.assert_array_equal(gradient.asnumpy(), np.array([2, 4, 6]) * factor)


def test_mixing_symbol_and_arrays_learns() -> None:
    rng = np.random.default_rng(0)
    data, labels = rng.random((32, 4), np.float32), rng.integers(0, 3, 32)
    executor = mlp().simple_bind(mx.cpu(), data=(32, 4), softmax_label=(32,))
    for name in ("fc1_weight", "fc2_weight"):
        executor.arg_dict[name][:] = nd.random.normal(0, 0.5, executor.arg_dict[name].shape)
    losses = []
    for _ in range(60):
        (out,) = executor.forward(is_train=True, data=data, softmax_label=labels)
        executor.backward()
        for name, gradient in executor.grad_dict.items():
            if name not in ("data", "softmax_label"):
                executor.arg_dict[name] -= 0.02 * gradient
        losses.append(-np.log(out.asnumpy()[np.arange(32), labels]).mean())
    assert losses[-1] < losses[0] * 0.95


def test_executor_reshape_monitor_and_errors() -> None:
    executor = mlp().simple_bind(mx.cpu(), data=(4, 6), softmax_label=(4,))
    smaller = executor.reshape(data=(2, 6), softmax_label=(2,))
    smaller.arg_dict["fc1_weight"][:] = 2
    assert (executor.arg_dict["fc1_weight"].asnumpy() == 2).all()
    assert smaller.forward()[0].shape == (2, 3)
    outputs = []
    executor.set_monitor_callback(lambda name, array: outputs.append((name, array.shape)))
    executor.forward()
    assert ("relu1_output", (4, 5)) in outputs
    with pytest.raises(
        mx.MXNetError, match=r"data has shape \(9, 6\), but was bound with \(4, 6\)"
    ):
        executor.forward(data=nd.ones((9, 6)))
    with pytest.raises(mx.MXNetError, match="no argument 'dta'"):
        executor.forward(dta=nd.ones((4, 6)))
    with pytest.raises(mx.MXNetError, match="no array for fc1_weight"):
        mlp().bind(mx.cpu(), {"data": nd.ones((4, 6))})
    with pytest.raises(mx.MXNetError, match="no argument 'other'"):
        executor.copy_params_from({"other": nd.ones((1,))})


def test_gradient_graph_is_a_symbol() -> None:
    x, y = sym.Variable("x"), sym.Variable("y")
    gradient = sym.sin(x * y, name="s").gradient(["x"])
    assert "s_output_grad" in gradient.list_arguments()
    options = {"x": nd.array([0.3]), "y": nd.array([2.0]), "s_output_grad": nd.ones((1,))}
    np.testing.assert_allclose(gradient.eval(**options)[0].asnumpy(), 2 * np.cos(0.6), rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a complete symbol file"),
        ("[]", "no list 'nodes'"),
        ('{"nodes": [{"op": "null"}]}', "corrupted: node 0"),
        ('{"nodes": [{"op": "Nothing", "name": "a", "inputs": []}], "heads": []}', "'Nothing'"),
        (
            '{"nodes": [{"op": "Activation", "name": "act", "inputs": [], '
            '"attrs": {"act_type": "x"}}], "heads": [[0, 0, 0]]}',
            "Node 'act'",
        ),
    ],
)
def test_damaged_files_are_errors(text: str, message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        sym.load_json(text)


def test_saving_a_symbol_leaves_one_complete_file(tmp_path: Path) -> None:
    mlp().save(tmp_path / "a.json")
    assert sym.load(tmp_path / "a.json").list_arguments() == mlp().list_arguments()
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_random_symbols_draw_new_numbers_and_repeat_with_the_seed() -> None:
    executor = sym.Dropout(sym.Variable("x"), p=0.5).bind(
        mx.cpu(), {"x": nd.ones((50,))}, grad_req="null"
    )
    mx.random.seed(1)
    first = executor.forward(is_train=True)[0].asnumpy()
    second = executor.forward(is_train=True)[0].asnumpy()
    mx.random.seed(1)
    np.testing.assert_array_equal(executor.forward(is_train=True)[0].asnumpy(), first)
    assert (first != second).any()


def test_a_symbol_has_a_picture_and_a_table() -> None:
    shapes = {"data": (4, 6)}
    picture = mx.viz.draw(mlp(), shapes, backward=True)
    assert picture.svg.count("<rect") > 8 and "fc1_backward" in picture.svg
    rows = {r["name"]: r for r in mx.viz.table(mlp(), shapes)}
    assert rows["fc1"] == {
        "name": "fc1",
        "op": "FullyConnected",
        "output": (4, 5),
        "parameters": 35,
    }


def test_outputs_are_there_before_they_are_computed() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    with mx.name.NameManager():
        executor = (a * 2 + b).simple_bind(mx.cpu(), a=(2,), b=(2,))
    (early,) = executor.outputs
    assert early.shape == (2,) and executor.output_dict["_plus0_output"] is early
    actual = executor.forward(a=mx.nd.ones(2), b=np.ones(2, "float32"))
    assert actual[0].asnumpy().tolist() == early.asnumpy().tolist() == [3, 3]
    with pytest.raises(ValueError, match="a must be an NDArray or a NumPy array, not int"):
        executor.forward(a=3)
    with pytest.raises(ValueError, match="there is no argument 'q'"):
        executor.copy_params_from({"q": mx.nd.ones(1)})


def shares(one: Any, other: Any) -> bool:
    """Whether two arrays are different objects for the same memory."""
    one[:] = 3
    other[:] = 4
    return one is not other and bool((one.asnumpy() == 4).all())


def test_executors_share_the_bound_arrays() -> None:
    """What MXNet 1.9.1 shares: memory, in new arrays; nothing without ``shared_buffer``."""
    net = mx.sym.BatchNorm(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc"), name="bn"
    )
    first = net.simple_bind(mx.cpu(), data=(4, 5))
    buffers: dict = {}
    second = net.simple_bind(
        mx.cpu(), data=(2, 5), shared_exec=first, shared_arg_names=["fc_weight", "fc_bias"],
        shared_buffer=buffers,
    )  # fmt: skip
    assert shares(second.arg_dict["fc_weight"], first.arg_dict["fc_weight"])
    assert shares(second.grad_dict["fc_weight"], first.grad_dict["fc_weight"])
    assert shares(second.aux_dict["bn_moving_mean"], first.aux_dict["bn_moving_mean"])
    assert second.arg_dict["data"].shape != first.arg_dict["data"].shape
    third = net.simple_bind(mx.cpu(), data=(2, 5), shared_buffer=buffers)
    assert shares(third.arg_dict["data"], second.arg_dict["data"])
    assert shares(third.grad_dict["data"], buffers["grad of data"])
    assert not shares(third.arg_dict["fc_weight"], second.arg_dict["fc_weight"])
    assert shares(third.arg_dict["fc_bias"], buffers["fc_bias"])
    fourth = net.simple_bind(
        mx.cpu(), data=(2, 5), shared_exec=first, shared_arg_names=["fc_weight"]
    )
    assert not shares(fourth.arg_dict["fc_weight"], first.arg_dict["fc_weight"])
    assert not shares(fourth.aux_dict["bn_moving_mean"], first.aux_dict["bn_moving_mean"])


def test_shared_arguments_have_the_shapes_of_the_executor_that_shares_them() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    first = net.simple_bind(mx.cpu(), data=(4, 5))
    with pytest.raises(RuntimeError, match=r"data is in shared_arg_names.*\(4, 5\).*\(2, 5\)"):
        net.simple_bind(
            mx.cpu(), data=(2, 5), shared_exec=first, shared_arg_names=["data"], shared_buffer={}
        )


def test_a_shared_buffer_keeps_the_larger_arrays() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    buffers: dict = {}
    large = net.simple_bind(mx.cpu(), data=(4, 6), shared_buffer=buffers)
    net.simple_bind(mx.cpu(), data=(2, 3), shared_buffer=buffers)
    assert {name: array.shape for name, array in buffers.items()} == {
        "data": (4, 6), "fc_weight": (4, 6), "fc_bias": (4,),
        "grad of data": (4, 6), "grad of fc_weight": (4, 6), "grad of fc_bias": (4,),
    }  # fmt: skip
    again = net.simple_bind(mx.cpu(), data=(4, 6), shared_buffer=buffers)
    assert shares(again.arg_dict["fc_weight"], large.arg_dict["fc_weight"])


@pytest.mark.parametrize("value", ["a", None, [1], {}])
def test_only_symbols_and_numbers_are_combined(value: Any) -> None:
    symbol = mx.sym.Variable("a")
    for function in (mx.sym.maximum, mx.sym.minimum, mx.sym.pow, mx.sym.hypot):
        for operands in ((value, symbol), (symbol, value)):
            with pytest.raises(TypeError, match=f"not with {type(value).__name__}"):
                function(*operands)
    assert (symbol + Fraction(1, 4)).attr("scalar") == "0.25"


def test_two_variables_of_one_name_cannot_be_bound() -> None:
    both = mx.sym.Variable("a") + mx.sym.Variable("a")
    assert both.list_arguments() == ["a", "a"]
    with pytest.raises(ValueError, match=r"simple_bind: several variables are named 'a'"):
        both.simple_bind(mx.cpu(), a=(2,))
    with pytest.raises(ValueError, match=r"bind: several variables are named 'a'.*once"):
        both.bind(mx.cpu(), [nd.ones(2), nd.ones(2)])


def test_a_list_of_gradient_requests_has_one_for_each_argument() -> None:
    net = mx.sym.Variable("a") * mx.sym.Variable("b")
    with pytest.raises(ValueError, match="grad_req has 1 entries for the 2 arguments a, b"):
        net.simple_bind(mx.cpu(), grad_req=["write"], a=(2,), b=(2,))
    with pytest.raises(ValueError, match="grad_req has 3 entries for the 2 arguments a, b"):
        net.simple_bind(mx.cpu(), grad_req=["write", "add", "null"], a=(2,), b=(2,))
    with pytest.raises(ValueError, match="grad_req has 1 entries for the 2 arguments a, b"):
        net.bind(mx.cpu(), [nd.ones(2), nd.ones(2)], grad_req=["write"])


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        (["write", "null", "add"], (3, 7)),
        (["add", "write", "write", "null"], (10, 2)),
        (["null", "add", "write"], (7, 9)),
    ],
)
def test_bind_uses_the_first_of_too_many_gradient_requests(
    requests: list[str], expected: tuple[int, int]
) -> None:
    # Results of MXNet 1.9.1. A program binds an internal output with the requests of the whole network.
    net = mx.sym.Variable("a") * mx.sym.Variable("b")
    gradients = {"a": nd.full(1, 7), "b": nd.full(1, 7)}
    executor = net.bind(mx.cpu(), {"a": nd.full(1, 2), "b": nd.full(1, 3)}, gradients, requests)
    executor.forward(is_train=True)
    executor.backward(nd.ones(1))
    assert (gradients["a"].asscalar(), gradients["b"].asscalar()) == expected


def test_shapes_of_names_that_a_symbol_does_not_have_are_not_read() -> None:
    features = sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc")
    executor = features.simple_bind(mx.cpu(), data=(3, 4), softmax_label=(3,))
    assert sorted(executor.arg_dict) == ["data", "fc_bias", "fc_weight"]


def test_debug_str_of_one_node_is_mxnets() -> None:
    # As MXNet 1.9.1 prints it.
    assert mx.sym.Variable("x").debug_str() == "Variable:x\n"
    assert mx.sym.zeros((2,)).debug_str() == "AtomicFunctor  Op:_zeros\n"


@each_record(
    "code",
    [
        "sym.Concat()", "sym.add_n()", "sym.stack(axis=1)", "sym.khatri_rao()",
        "sym.UpSampling(scale=2, sample_type='nearest')", "sym.Concat(name='c')",
        "sym.exp(sym.Variable('x'), name=3)", "sym.exp(sym.Variable('x'), name=b'x')",
    ],
)  # fmt: skip
def test_missing_inputs_and_names_that_are_not_text_are_refused(code: str) -> None:
    """MXNet 1.9.1 refuses these, too."""
    with pytest.raises(mx.MXNetError, match=r"at least one symbol|name must be text"):
        eval(code, {"sym": mx.sym})


@pytest.mark.parametrize("operator", ["Concat", "stack", "add_n", "khatri_rao", "Crop"])
def test_missing_inputs_of_operators_with_any_number_of_them_become_variables(
    operator: str,
) -> None:
    make, x = getattr(sym, operator), sym.Variable("x")
    assert make(num_args=2, name="n").list_arguments() == ["n_arg0", "n_arg1"]
    assert make(x, num_args=2, name="n").list_arguments() == ["x", "n_arg1"]
    assert make(arg1=x, num_args=2, name="n").list_arguments() == ["n_arg0", "x"]
    assert make(arg0=x, name="n").list_arguments() == ["x"]
    for wrong in (0, -1, "a"):
        with pytest.raises(mx.MXNetError, match="must be a positive whole number"):
            make(num_args=wrong)
    with pytest.raises(mx.MXNetError, match="there are 2 symbols, but num_args=1"):
        make(x, x, num_args=1)
    with pytest.raises(TypeError, match="in order and arg1 by name"):
        make(x, arg1=x, num_args=2)


def test_variables_of_missing_inputs_have_the_attributes_of_the_node() -> None:
    joined = sym.Concat(num_args=2, name="c")
    assert joined.infer_shape(c_arg0=(1, 2), c_arg1=(1, 2)) == ([(1, 2), (1, 2)], [(1, 4)], [])
    total = sym.add_n(num_args=2, name="c")
    assert total.attr_dict() == {name: {"num_args": "2"} for name in ("c_arg0", "c_arg1", "c")}
    executor = total.bind(mx.cpu(), {"c_arg0": mx.nd.ones((2,)), "c_arg1": mx.nd.ones((2,))})
    assert executor.forward()[0].asnumpy().tolist() == [2, 2]


def test_children_of_several_outputs_of_a_node_are_listed_once() -> None:
    """The lists are those of MXNet 1.9.1."""
    a = sym.Variable("a")
    cut = sym.SliceChannel(a, num_outputs=3, name="cut")
    for symbol, children in (
        (cut, ["a"]),
        (sym.Group([cut, cut[0]]), ["a"]),
        (sym.Group([a, sym.exp(a)]), ["a"]),
        (sym.Group([cut, sym.exp(cut[1]), cut[0]]), ["a", "cut_output1"]),
        (a * a, ["a", "a"]),
    ):
        assert symbol.get_children().list_outputs() == children


def test_copies_have_their_own_nodes() -> None:
    x = mx.sym.Variable("x")
    fc = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
    for copied in (copy.copy(fc), copy.deepcopy(fc), fc(x=mx.sym.Variable("x"))):
        copied._set_attr(__mood__="1")
        copied.get_internals()["fc_weight"]._set_attr(lr_mult="2")
        assert fc.attr("__mood__") is None
        assert fc.get_internals()["fc_weight"].attr("lr_mult") is None
        assert copied.attr("num_hidden") == "2"
    other = fc(x=mx.sym.Variable("y"), name="g")
    assert mx.sym.Group([fc, other]).list_arguments() == [
        *("x", "fc_weight", "fc_bias"),
        *("y", "fc_weight", "fc_bias"),
    ]


def test_an_unknown_shape_is_inferred() -> None:
    x = mx.sym.Variable("x")
    fc = mx.sym.FullyConnected(x, num_hidden=4, name="fc")
    assert fc.infer_shape(x=(2, 3), fc_weight=()) == ([(2, 3), (4, 3), (4,)], [(2, 4)], [])
    assert fc.infer_shape_partial(x=()) == ([(), (), ()], [()], [])
    with pytest.warns(UserWarning, match="cannot be inferred"):
        assert fc.infer_shape(x=()) == (None, None, None)
    with mx.np_shape(True):
        assert (x + 1).infer_shape(x=()) == ([()], [()], [])


def test_invalid_indices_and_argument_dicts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    x = mx.sym.Variable("x")
    with pytest.raises(TypeError, match="whole numbers"):
        x[1.5]
    for wrong in (None, 3, nd.ones((1,))):
        with pytest.raises(TypeError, match="args must be a list of arrays or a dict"):
            x.bind(mx.cpu(), wrong)
    with pytest.raises(TypeError, match="tuple of whole numbers"):
        x.infer_shape(x=3)
    assert capsys.readouterr().out == ""


def test_names_and_texts_of_outputs_are_mxnets() -> None:
    x = mx.sym.Variable("x")
    kinds = {"value": ["t_output0"], "indices": ["t_output"], "both": ["t_output0", "t_output1"]}
    for kind, names in kinds.items():
        top = mx.sym.topk(x, k=1, ret_typ=kind, name="t")
        assert [each for one in top for each in one.list_outputs()] == names[: len(top)]
    assert '"indices": "[0, 1, 2]"' in mx.sym.split_v2(x, (1, 2)).tojson()
    assert '"indices": "[]"' in mx.sym.split_v2(x, 2).tojson()
    assert mx.sym.Variable("v", shape=[2, 3]).attr("__shape__") == "[2, 3]"
    assert mx.sym.Variable("v", shape=[2, 3]).infer_shape()[0] == [(2, 3)]


@pytest.mark.parametrize("other", [None, "a", [1]])
def test_a_symbol_can_be_compared_with_symbols_and_numbers_only(other: object) -> None:
    x = mx.sym.Variable("x")
    for compare in (operator.eq, operator.ne, operator.lt, operator.ge):
        with pytest.raises(TypeError, match="Symbols and numbers"):
            compare(x, other)
    assert x in [x] and isinstance(x == 2, mx.sym.Symbol)


@pytest.mark.parametrize("key", [3, None, b"x"])
def test_an_attribute_is_named_by_text(key: object) -> None:
    with pytest.raises(AttributeError, match="attr"):
        mx.sym.Variable("x").attr(key)


def test_operators_of_numpy_functions_have_their_names() -> None:
    class Plus(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.np._internal.add_scalar(x, scalar=2.0)

    net = Plus()
    for _ in range(2):
        assert net(mx.np.ones(2)).tolist() == [3, 3]
        net.hybridize()
    both = mx.sym.np._internal.add(mx.sym.np.zeros(2), mx.sym.np.ones(2))
    assert json.loads(both.tojson())["nodes"][-1]["op"] == "_npi_add"
    assert "einsum" in dir(mx.nd.np._internal) and not hasattr(mx.nd.np._internal, "sum")


@pytest.mark.parametrize("inplace", [True, False])
def test_methods_accept_inplace_as_those_of_arrays(inplace: bool) -> None:
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            x = x.expand_dims(axis=1, inplace=inplace).squeeze(1, inplace=inplace)
            return (
                x.expand_dims(0, inplace).squeeze(axis=0, inplace=inplace).flatten(inplace=inplace)
            )

    net, x = Block(), mx.nd.arange(12).reshape((2, 3, 2))
    expected = x.asnumpy().reshape(2, 6)
    np.testing.assert_array_equal(net(x).asnumpy(), expected)
    net.hybridize()
    np.testing.assert_array_equal(net(x).asnumpy(), expected)
    assert "inplace" not in net(mx.sym.var("data")).tojson()


def test_a_symbol_can_be_composed_in_place() -> None:
    symbol = mx.sym.FullyConnected(mx.sym.var("below"), num_hidden=3, name="fc").get_internals()
    assert symbol._compose(below=mx.sym.var("data") * 2) is None
    assert symbol.list_arguments() == ["data", "fc_weight", "fc_bias"]
    head = mx.sym.var("x") + 1
    head._compose(x=mx.sym.var("y"), name="sum")
    assert (head.name, head.eval(y=mx.nd.ones((2,)))[0].asnumpy().tolist()) == ("sum", [2, 2])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: (x + 1)(foo=x), "MXNetError"),
        (lambda x: mx.sym.Activation(x, act_type="relu", attr={"mood": "so"}), "MXNetError"),
        (lambda x: (x + mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.ones((1,))}), "MXNetError"),
        (lambda x: (x + mx.sym.var("x")).simple_bind(mx.cpu(), x=(1,)), "RuntimeError"),
    ],
)
def test_classes_of_errors_have_the_names_of_mxnet(call, name: str) -> None:
    with pytest.raises(mx.MXNetError) as error:
        call(mx.sym.var("x"))
    assert type(error.value).__name__ == name


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a // np.float32(2.5),
        lambda a: a & np.int64(3),
        lambda a: a + 2j,
        lambda a: mx.sym.maximum(2j, a),
        lambda a: a + np.array([2.0, 3.0]),
        lambda a: mx.sym.Variable("v", attr=3),
    ],
)
def test_what_symbols_are_not_combined_with_is_a_type_error(call: Callable) -> None:
    with pytest.raises(TypeError):
        call(mx.sym.Variable("a"))


def test_numbers_of_numpy_are_attributes() -> None:
    a = mx.sym.Variable("a")
    assert (np.float32(2.5) * a).list_attr() == {"scalar": "2.5"}
    assert (np.int64(3) - a).list_attr() == {"scalar": "3"}
    assert mx.sym.arange(np.array(2.0)).list_attr()["start"] == "2.0"


@mx.operator.register("two_results")
class _TwoResults(mx.operator.CustomOpProp):
    def list_arguments(self) -> list[str]:
        return ["data", "weight"]

    def list_outputs(self) -> list[str]:
        return ["first", "second"]


def test_operators_in_python_take_the_arguments_that_they_list() -> None:
    x, y, z = map(sym.Variable, "xyz")
    with pytest.raises(MXNetError, match="takes data, weight; 3 symbols were given by position"):
        sym.Custom(x, y, z, op_type="two_results")
    with pytest.raises(MXNetError, match=r"takes data, weight; .* and other by name"):
        sym.Custom(x, other=y, op_type="two_results")
    with pytest.raises(MXNetError, match=r"takes data, weight; .* and data by name"):
        sym.Custom(x, data=y, op_type="two_results")


def test_files_count_the_outputs_of_operators_in_python() -> None:
    symbol = sym.Custom(sym.Variable("x"), op_type="two_results", name="c")
    assert symbol.list_arguments() == ["x", "c_weight"]
    assert json.loads(symbol.tojson())["node_row_ptr"] == [0, 1, 2, 4]
