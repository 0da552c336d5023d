"""Recorded and traced graphs as symbol files that MXNet reads."""

import json

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd, sym
from tests.each_record import each_record

# What Python's operators record, and the operators of the file, which MXNet 1.9.1 loads.
RECORDED = {
    "scalar": (lambda x: x + 1, ["_plus_scalar"]),
    "scalar first": (lambda x: 2 / x, ["_rdiv_scalar"]),
    "comparison": (lambda x: x > 2, ["_greater_scalar"]),
    "row": (lambda x: x[1], ["Reshape", "slice", "Reshape"]),
    "number": (lambda x: x[1, 2], ["Reshape", "slice", "Reshape"]),
    "block": (lambda x: x[:, 1:3], ["slice", "Reshape"]),
    "column": (lambda x: x[:, -1], ["slice", "Reshape"]),
    "steps": (lambda x: x[:, ::-2], ["slice"]),
    "rows": (lambda x: x[nd.array([1, -1])], ["take"]),
    "columns": (lambda x: x[:, nd.array([2, 0])], ["take"]),
}


@each_record("name", RECORDED)
def test_files_of_recorded_operators(name):
    compute, operators = RECORDED[name]
    x = nd.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x.attach_grad()
    with autograd.record():
        y = compute(x)
    text = autograd.get_symbol(y).tojson()
    nodes = [node for node in json.loads(text)["nodes"] if node["op"] != "null"]
    assert [node["op"] for node in nodes] == operators
    assert all("scalar" in node["attrs"] for node in nodes if "scalar" in node["op"])
    loaded = sym.load_json(text)
    options = {"var0": x, "null1": nd.array([1, -1] if name == "rows" else [2, 0])}
    arrays = {each: options[each] for each in loaded.list_arguments()}
    (actual,) = loaded.bind(mx.cpu(), arrays).forward()
    np.testing.assert_array_equal(actual.asnumpy(), y.asnumpy())


def test_several_index_arrays_keep_their_operator():
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    with autograd.record():
        y = x[nd.array([0, 1]), nd.array([1, 1])]
    text = autograd.get_symbol(y).tojson()
    arrays = {"var0": x, "null1": nd.array([0, 1]), "null2": nd.array([1, 1])}
    (actual,) = sym.load_json(text).bind(mx.cpu(), arrays).forward()
    assert actual.asnumpy().tolist() == [2, 4]


def test_variable_is_its_own_symbol():
    x = nd.ones((2,))
    x.attach_grad()
    assert autograd.get_symbol(x).list_arguments() == ["var0"]


def test_file_of_a_block_that_indexes():
    class Corner(gluon.HybridBlock):
        def forward(self, x):
            return x[0] + x[:, :2][1, 1]

    block = Corner()
    x = nd.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    text = block.to_symbol(x).tojson()
    used = {node["op"] for node in json.loads(text)["nodes"]}
    assert used == {"null", "Reshape", "slice", "broadcast_add"}
    loaded = sym.load_json(text)
    (actual,) = loaded.bind(mx.cpu(), {loaded.list_arguments()[0]: x}).forward()
    assert actual.asnumpy().tolist() == [6, 7, 8]


def test_a_recorded_computation_has_mxnets_names():
    x, other = nd.ones((2,)), nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = (x * other).exp()
    recorded = autograd.get_symbol(y)
    assert recorded.get_internals().list_outputs() == [
        "var0", "null1", "node_0_output", "node_1_output",
    ]  # fmt: skip


class _Scaled(autograd.Function):
    def forward(self, x, y):
        return x * 2, y + 1

    def backward(self, first, second):
        return first * 2, second


def test_a_function_of_the_program_is_a_node_that_does_not_run() -> None:
    """Names, inputs and shapes are MXNet 1.9.1's."""
    x, y = mx.nd.ones(2), mx.nd.ones(2)
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        first, second = _Scaled()(x * 3, y)
        total = first + second.sum()
    symbol = autograd.get_symbol(total)
    nodes = json.loads(symbol.tojson())["nodes"]
    assert nodes[3] == {"op": "_CustomFunction", "name": "node_1", "inputs": [[1, 0, 0], [2, 0, 0]]}
    assert symbol.get_internals().list_outputs() == [
        "var0", "node_0_output", "var1", "node_1_output0", "node_1_output1", "node_2_output",
        "node_3_output",
    ]  # fmt: skip
    assert symbol.infer_shape(var0=(2,), var1=(2,)) == ([(2,), (2,)], [(2,)], [])
    executor = symbol.simple_bind(mx.cpu(), var0=(2,), var1=(2,))
    with pytest.raises(
        mx.MXNetError, match=r"recorded autograd.Function has no Python code.*CustomOp"
    ):
        executor.forward()[0].asnumpy()
