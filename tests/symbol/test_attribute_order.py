"""Attributes are listed in the order in which MXNet 1.9.1 lists them."""

from __future__ import annotations

import json

import pytest

import mixnet as mx
from mixnet.symbol.attribute_order import listed

A = mx.sym.var("a")


@pytest.mark.parametrize(
    ("symbol", "order"),
    [
        (
            lambda: mx.sym.BatchNorm(
                A, eps=1e-3, momentum=0.9, fix_gamma=False, use_global_stats=True
            ),
            "fix_gamma momentum use_global_stats eps",
        ),
        (
            lambda: mx.sym.Pooling(
                A, global_pool=True, stride=(2, 2), kernel=(2, 2), pool_type="max"
            ),
            "stride global_pool pool_type kernel",
        ),
        (
            lambda: mx.sym.Deconvolution(
                A, kernel=(2, 2), num_filter=3, stride=(2, 2), adj=(1, 1), target_shape=(4, 4),
                workspace=512, no_bias=False, num_group=1, dilate=(1, 1), pad=(0, 0),
                layout="NCHW", cudnn_tune="off", cudnn_off=True,
            ),
            "no_bias stride cudnn_off num_group dilate num_filter pad adj target_shape kernel "
            "workspace layout cudnn_tune",
        ),
        (
            lambda: mx.sym.var(
                "b", shape=(2, 3), lr_mult=2.0, wd_mult=0.5, dtype="float16", init=mx.init.One(),
                __my__="x", attr={"q": "r", "A": "B"},
            ),
            "__my__ __dtype__ __wd_mult__ wd_mult __lr_mult__ lr_mult __shape__ __init__ A q",
        ),
        (lambda: mx.sym.concat(A, A, dim=1), "num_args dim"),
        (lambda: mx.sym.softmax(A, axis=2, dtype="float32", use_length=False),
         "dtype use_length axis"),
        (lambda: mx.sym.full((2,), 3), "dtype value shape"),
        (
            lambda: mx.sym.var("b", attr={f"k{i}": "x" for i in range(24)}),
            "k23 k10 k8 k6 k9 k16 k4 k1 k18 k0 k2 k12 k17 k13 k5 k15 k14 k7 k19 k3 k20 k21 k11 k22",
        ),
    ],
    ids=["operator", "as_declared", "thirteen", "variable", "variadic", "dtype", "created",
         "grown_twice"],
)  # fmt: skip
def test_attributes_have_mxnets_order(symbol, order: str) -> None:
    assert list(symbol().list_attr()) == order.split()


def test_attributes_of_parameters_follow_their_operator() -> None:
    net = mx.sym.Convolution(A, kernel=(3, 3), num_filter=4, stride=(1, 1), pad=(1, 1), name="c")
    actual = {name: list(attributes) for name, attributes in net.attr_dict().items()}
    order = ["num_filter", "pad", "stride", "kernel"]
    assert actual == {"c_weight": order, "c_bias": order, "c": order}
    assert mx.sym.load_json(net.tojson()).attr_dict() == net.attr_dict()


def test_all_attributes_are_preserved() -> None:
    names = [f"name_{i}" for i in range(300)]
    assert sorted(listed(names)) == sorted(names)


def test_keywords_override_the_attributes_of_the_scope() -> None:
    with mx.AttrScope(__zz__="1", __q__="2"):
        actual = mx.sym.FullyConnected(
            A, num_hidden=3, __q__="1", lr_mult=2, attr={"__lr_mult__": "7", "__y__": "1"}
        ).list_attr()
    assert list(actual.items()) == [
        ("num_hidden", "3"), ("__y__", "1"), ("__zz__", "1"), ("__lr_mult__", "2"),
        ("lr_mult", "2"), ("__q__", "2"),
    ]  # fmt: skip


def test_attributes_of_the_scope_are_last_in_variadic_operators() -> None:
    with mx.AttrScope(ctx_group="d", __lr_mult__="0.3"):
        joined, stacked = mx.sym.concat(A, A, dim=0), mx.sym.stack(A, A, axis=1, __a__="3")
    scope = ["__lr_mult__", "lr_mult", "__ctx_group__", "ctx_group"]
    assert list(joined.list_attr()) == ["num_args", *scope, "dim"]
    assert list(stacked.list_attr()) == ["num_args", *scope, "__a__", "axis"]


def test_nodes_of_one_name_share_their_dict() -> None:
    part = mx.sym.split(mx.sym.contrib.quadratic(A, a=1, b=2, c=3, name="n"), 2, axis=0, name="n")
    attributes = mx.sym.split(part[0], num_outputs=3, axis=1, name="n").attr_dict()
    assert [*attributes["n"].items()] == [
        ("c", "3"), ("b", "2"), ("a", "1"), ("axis", "1"), ("num_outputs", "3"),
    ]  # fmt: skip


def _foreach() -> mx.sym.Symbol:
    outputs, _ = mx.sym.contrib.foreach(lambda x, s: (x + s, x * s), A, mx.sym.var("s"))
    return outputs


def _while_loop() -> mx.sym.Symbol:
    variables = [mx.sym.var("i"), mx.sym.var("total")]
    outputs, _ = mx.sym.contrib.while_loop(
        lambda i, total: i < 5, lambda i, total: (i, [i + 1, total + i]), variables, 10
    )
    return outputs


def _cond() -> mx.sym.Symbol:
    return mx.sym.contrib.cond(A < 1, lambda: mx.sym.var("b") + 1, lambda: mx.sym.var("b") * 2)


@pytest.mark.parametrize(
    ("make", "order"),
    [
        (_foreach, "remain_locs in_data_locs in_state_locs num_out_data num_outputs"),
        (
            _while_loop,
            "num_outputs num_out_data func_input_locs cond_input_locs func_var_locs max_iterations",
        ),
        (_cond, "else_input_locs num_outputs then_input_locs cond_input_locs"),
    ],
)
def test_attributes_of_loops_and_branches(make, order: str) -> None:
    assert list(make().list_attr()) == ["num_args", *order.split()]
    with mx.AttrScope(ctx_group="dev1"):
        scoped = list(make().list_attr())
    assert scoped == ["num_args", "__ctx_group__", "ctx_group", *order.split()]


def test_attributes_of_a_variable_of_two_branches_are_those_of_the_first() -> None:
    assert _cond().attr_dict()["b"]["__subgraph_name__"].startswith("cond_then")


def test_variables_of_a_body_are_numbered_as_outputs() -> None:
    parts = mx.sym.split(A, num_outputs=2, name="parts")
    net, _ = mx.sym.contrib.foreach(
        lambda x, s: (x + s[0] + s[1], [s[1], s[0]]), mx.sym.var("x"), [parts[0], parts[1]]
    )
    nodes = json.loads(net.tojson())["nodes"]
    inputs = [each["name"] for each in nodes[-1]["subgraphs"][0]["nodes"] if each["op"] == "null"]
    assert inputs == ["x-0", "parts-0", "parts-1"]


def test_data_may_be_the_state_of_a_loop() -> None:
    net, _ = mx.sym.contrib.foreach(lambda x, s: (x + s, s * 2), A, mx.sym.sum(A, axis=0, name="a"))
    result = net.eval(a=mx.nd.array([[1, 2], [3, 4]]))[0]
    assert result.asnumpy().tolist() == [[5, 8], [11, 16]]
