"""Stages: every field, links from lines to instructions, reasons of traces, and no side effects."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.base import AttributeTypeError, MXNetError, ShapeError
from mixnet.gluon import HybridBlock, nn
from mixnet.passes import pipeline
from mixnet.runtime.programs import executable_cache
from mixnet.stages import hlo
from mixnet.stages import program as program_of_stages
from tests import processes
from tests.lines import line_of

FIELDS = {
    "name", "steps", "forward", "backward", "jaxpr", "stablehlo", "hlo", "instructions", "groups",
    "links", "times", "memory_plan", "memory_plan_missing", "memory", "cost", "until",
}  # fmt: skip


class DenseRelu(HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, in_units=3, prefix="dense0_")  # the dense layer

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.dense(x)  # dense
        return F.relu(y)  # relu


class ConvNet(HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2D(4, 3), nn.BatchNorm()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.conv(x)  # conv
        x = self.norm(x)  # norm
        return F.relu(x)  # relu of norm


@pytest.fixture(scope="module")
def dense() -> Any:
    """A net of known operations, and its stages when it predicts."""
    net = DenseRelu()
    net.initialize()
    return net, mx.stages(net, nd.ones((2, 3)))


def nodes(program: Any) -> list[str]:
    return [node["op"] for node in program.graph["nodes"] if node["op"] is not None]


# ---- fields --------------------------------------------------------------------------------------


def test_plain_data_survives_json(dense: Any) -> None:
    _, stages = dense
    data = stages.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert set(data) == {
        "version", "kind", "name", "training", "context", "platform", "source", "cache", "notes",
        "programs",
    }  # fmt: skip
    assert set(data["programs"][0]) == FIELDS
    assert (data["kind"], data["training"], data["context"]) == ("block", False, "cpu(0)")
    assert data["platform"] == "cpu" and data["cache"]["reasons"] == ["first trace"]


def test_the_steps_are_those_of_the_pipeline_each_with_its_graph(dense: Any) -> None:
    steps = dense[1].program.steps
    assert [(step["purpose"], step["pass"]) for step in steps] == [
        (purpose, name)
        for purpose in ("graph", "segment")
        for name in ("recorded", *[each.__name__ for each in pipeline.PASSES[purpose]])
    ]
    assert steps[0]["changes"] is None and steps[0]["graph"]["nodes"]
    inline = next(step for step in steps if step["pass"] == "inline")
    (expanded,) = inline["changes"]["expanded"]
    assert len(expanded["into"]) == 2
    assert nodes(dense[1].program)[:1] == ["FullyConnected"]


def test_nodes_know_shapes_attributes_and_direction(dense: Any) -> None:
    graph = dense[1].program.graph
    by_op = {node["op"]: node for node in graph["nodes"] if node["op"]}
    fc = by_op["FullyConnected"]
    assert fc["outputs"] == [{"shape": [2, 4], "dtype": "float32", "bytes": 32}]
    assert fc["attributes"]["num_hidden"] == "4" and fc["part"] == "forward"
    inputs = [node for node in graph["nodes"] if node["op"] is None]
    assert {node["part"] for node in inputs} == {"input"}
    data = next(node for node in inputs if node["name"] == "data")
    assert data["outputs"][0]["shape"] == [2, 3]
    assert graph["heads"] == [[by_op["relu"]["id"], 0]]


def test_texts_of_every_stage(dense: Any) -> None:
    program = dense[1].program
    assert "dot_general" in program.jaxpr and program.jaxpr.startswith("{ lambda")
    assert "stablehlo.dot_general" in program.stablehlo and "loc(" not in program.stablehlo
    assert program.hlo.startswith("HloModule")
    assert program.instructions == hlo.parse(program.hlo).to_dict()


def test_times_memory_and_cost(dense: Any) -> None:
    program = dense[1].program
    assert set(program.times) == {
        "record", "passes", "jaxpr", "stablehlo", "compile", "first_run", "run",
    }  # fmt: skip
    assert all(seconds > 0 for seconds in program.times.values())
    assert all(step["seconds"] >= 0 for step in program.steps)
    # data, weight, bias, and no scalars; the result
    assert program.memory["arguments"] == 4 * (6 + 12 + 4)
    assert program.memory["outputs"] == 32
    assert program.cost["flops"] >= 2 * 2 * 3 * 4


def test_without_a_run_no_times_are_shown() -> None:
    net = DenseRelu()
    net.initialize()
    times = mx.stages(net, nd.ones((2, 3)), run=False).program.times
    assert times["first_run"] is None and times["run"] is None and times["compile"] > 0


def test_names_outside_of_ascii_lead_to_their_instructions() -> None:
    layer = mx.sym.FullyConnected(mx.sym.var("数据"), num_hidden=3, name="层")
    symbol = mx.sym.relu(layer, name="größer")
    program = mx.stages(symbol, {"数据": (2, 3)}, run=False).program
    assert [link["node"].rpartition("/")[2] for link in program.links] == ["层", "größer"]
    assert all(link["groups"] and link["instructions"] for link in program.links)
    assert all(link["stablehlo"] for link in program.links)


def test_the_memory_plan_is_computed_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []
    planned = program_of_stages.memory_plan
    monkeypatch.setattr(
        program_of_stages, "memory_plan", lambda *args: plans.append(1) or planned(*args)
    )
    net = DenseRelu()
    net.initialize()
    program = mx.stages(net, nd.ones((2, 3)), run=False).program
    assert not plans
    assert program.memory_plan["total_bytes"] == 32
    assert program.to_dict()["memory_plan"] is program.memory_plan
    assert len(plans) == 1


def test_the_text_names_what_matters(dense: Any) -> None:
    text = str(dense[1])
    for part in ("y = self.dense(x)", "dense0_fwd", "first trace", "eliminate_common",
                 "memory (XLA)", "library call", "compile"):  # fmt: skip
        assert part in text
    assert max(map(len, text.splitlines())) < 400


# ---- links ---------------------------------------------------------------------------------------


def test_a_line_leads_to_its_node_and_to_its_instructions(dense: Any) -> None:
    stages = dense[1]
    program = stages.program
    names = {row["name"]: row for each in program.instructions["computations"]
             for row in each["instructions"]}  # fmt: skip
    for mark, op, primitive in (
        ("dense", "dense0_fwd", "dot_general"),
        ("relu", "relu", "max"),
    ):
        (link,) = stages.at_line(line_of(__file__, mark), __file__)
        assert op in link["node"] and link["source"]["line"] == line_of(__file__, mark)
        assert link["instructions"] and link["groups"] and link["vanished"] is None
        scope = link["node"].replace("/", "_")
        for name in link["instructions"]:
            assert scope in names[name]["op_name"].split("/")
        for number in link["groups"]:
            assert link["node"] in program.groups[number]["nodes"]
        assert any(primitive in names[name]["op_name"] for name in link["instructions"])
        assert program.link(link["node"]) is link


def test_a_line_that_made_a_layer_leads_to_its_nodes(dense: Any) -> None:
    (link,) = dense[1].at_line(line_of(__file__, "the dense layer"))
    assert link["node"].endswith("_fwd")
    assert dense[1].at_line(1) == []


def test_nodes_lead_to_equations_and_lines_of_stablehlo(dense: Any) -> None:
    program = dense[1].program
    link = next(each for each in program.links if each["node"].endswith("_fwd"))
    assert "dot_general" in link["jaxpr"]
    rows = program.stablehlo.splitlines()
    assert any("stablehlo.dot_general" in rows[number - 1] for number in link["stablehlo"])


def test_the_users_lines_are_shown(dense: Any) -> None:
    (section,) = [each for each in dense[1].source if each["file"] == __file__]
    shown = {row["line"]: row["text"] for row in section["lines"]}
    assert shown[line_of(__file__, "dense")].strip() == "y = self.dense(x)  # dense"
    assert line_of(__file__, "the dense layer") in shown


def test_an_unknown_node_is_an_error_that_names_the_others(dense: Any) -> None:
    with pytest.raises(KeyError, match="dense0_fwd"):
        dense[1].program.link("nothing")


def test_convolution_normalization_and_relu_forward_and_backward() -> None:
    net = ConvNet()
    net.initialize()
    stages = mx.stages(net, nd.ones((2, 3, 8, 8)), train=True, run=False)
    program = stages.program
    inlined = next(step["graph"] for step in program.steps if step["pass"] == "inline")
    ops = [node["op"] for node in inlined["nodes"]]  # later passes choose other forms of them
    for op in ("Convolution", "BatchNorm", "relu"):
        assert op in ops and f"_backward_{op}" in ops
    assert not [link for link in program.links if link["node"] == "ones" and link["source"]]
    for mark in ("conv", "norm", "relu of norm"):
        parts = {link["part"] for link in stages.at_line(line_of(__file__, mark))}
        assert parts == {"forward", "backward"}
    assert program.forward is not None and program.backward is not None
    assert {node["part"] for node in program.backward["nodes"]} == {"input", "backward"}
    forward, *_ = stages.at_line(line_of(__file__, "conv"))
    kinds = {program.groups[number]["kind"] for number in forward["groups"]}
    assert "library call" in kinds
    # Two outputs of states, one result, gradients of weight, bias, gamma and beta.
    assert len(program.graph["heads"]) == 1 + 2 + 4


def test_a_node_that_a_pass_makes_of_several_has_the_lines_of_all() -> None:
    net = ConvNet()
    net.initialize()
    stages = mx.stages(net, nd.ones((2, 3, 8, 8)), run=False)
    for mark in ("conv", "norm", "relu of norm"):
        assert stages.at_line(line_of(__file__, mark)), mark

    class Twice(HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            y = F.tanh(x)  # once
            return y + F.tanh(x)  # twice

    stages = mx.stages(Twice(), nd.ones((2,)), run=False)
    (link,) = stages.at_line(line_of(__file__, "once"))
    assert link["source"]["line"] == line_of(__file__, "twice") or link["also"]
    assert link in stages.at_line(line_of(__file__, "twice"))


def test_every_node_ends_in_a_group_or_says_why_not() -> None:
    net = ConvNet()
    net.initialize()
    for train in (False, True):
        program = mx.stages(net, nd.ones((2, 3, 8, 8)), train=train, run=False).program
        assert len(program.links) == len(nodes(program))
        for link in program.links:
            assert bool(link["groups"]) != bool(link["vanished"])
        listed = {node for group in program.groups for node in group["nodes"]}
        assert listed == {link["node"] for link in program.links if link["groups"]}


def test_dropout_vanishes_when_predicting_and_draws_when_training() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.Dropout(0.5, prefix="dropout0_"))
    net.initialize()
    predict = mx.stages(net, nd.ones((4, 2)), run=False).program
    assert not any("dropout" in each["node"] for each in predict.links)
    removed = [
        name for step in predict.steps for name in (step["changes"] or {}).get("removed", ())
    ]
    assert "dropout0_fwd" in removed
    train = mx.stages(net, nd.ones((4, 2)), train=True, run=False).program
    link = next(each for each in train.links if each["node"].endswith("/dropout0_fwd"))
    assert link["groups"] and any("random" in each or "jit" in each for each in link["jaxpr"])


def test_a_reshape_is_a_view() -> None:
    stages = mx.stages(lambda x: (x * 2).reshape((6,)), nd.ones((2, 3)), run=False)
    link = stages.program.links[-1]
    assert link["groups"] == [] and "view" in link["vanished"]


def test_merged_nodes_are_listed() -> None:
    class Twice(HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.relu(x) + F.relu(x)

    steps = mx.stages(Twice(prefix="t_"), nd.ones((2,)), run=False).program.steps
    merged = [each for step in steps if step["changes"] for each in step["changes"]["merged"]]
    assert merged == [{"name": "t_relu1", "into": "t_relu0"}] or merged == [
        {"name": "t_relu0", "into": "t_relu1"}
    ]


def test_operations_have_the_names_of_the_hybridized_network() -> None:
    net = nn.HybridSequential(prefix="d_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu", in_units=3))
    net.initialize()
    x = nd.ones((2, 3))
    alone = [link["node"] for link in mx.stages(net, x, run=False).program.links]
    net.hybridize()
    net(x)
    called = [link["node"] for link in mx.stages(lambda: net(x), run=False).program.links]
    assert alone == called == ["d/d_dense0_fwd", "d/d_dense0_relu_fwd"]


def test_a_block_that_takes_no_symbols_is_traced() -> None:
    class Reads(HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.relu(x.reshape((x.shape[0], -1)))

    program = mx.stages(Reads(), nd.ones((2, 3)), run=False).program
    assert [link["node"].rpartition("/")[2] for link in program.links][-1] == "relu0"


def test_layers_of_a_sequential_lead_to_the_lines_that_made_them() -> None:
    net = nn.HybridSequential()
    net.add(
        nn.Dense(3, in_units=2),  # first layer
        nn.Dense(4, in_units=3),  # second layer
    )
    net.initialize()
    stages = mx.stages(net, nd.ones((1, 2)), run=False)
    for mark in ("first layer", "second layer"):
        (link,) = stages.at_line(line_of(__file__, mark))
        assert link["node"].endswith("_fwd")


# ---- what the runtime does -----------------------------------------------------------------------


def lowered(monkeypatch: pytest.MonkeyPatch, call: Any) -> list[Any]:
    """The graphs that are compiled while ``call`` runs."""
    results: list[Any] = []
    compile_whole = executable_cache._compile

    def watch(graph: Any, *inputs: Any) -> Any:
        results.append(graph)
        return compile_whole(graph, *inputs)

    monkeypatch.setattr(executable_cache, "_compile", watch)
    executable_cache.clear()
    call()
    monkeypatch.undo()
    return results


@pytest.mark.usefixtures("compiling_at_once")
@pytest.mark.parametrize("train", [False, True])
def test_the_program_is_the_one_that_a_call_compiles(
    monkeypatch: pytest.MonkeyPatch, train: bool
) -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Activation("relu"), nn.Dense(3), nn.Dropout(0.3))
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 3, 6, 6))
    net(x).wait_to_read()

    def call() -> None:
        if not train:
            net(x).wait_to_read()
            return
        with autograd.record():
            y = net(x)
        y.backward()
        y.wait_to_read()

    (graph,) = lowered(monkeypatch, call)
    program = mx.stages(net, x, train=train, run=False).program
    number = {node: i for i, node in enumerate(graph.nodes)}
    assert [
        (node["op"], node["inputs"]) for node in program.graph["nodes"]
    ] == [
        (node.op and node.op.name, [[number[e.node], e.index] for e in node.inputs])
        for node in graph.nodes
    ]  # fmt: skip
    assert program.graph["heads"] == [[number[e.node], e.index] for e in graph.heads]


def test_a_loss_takes_the_last_input() -> None:
    net = DenseRelu()
    net.initialize()
    loss = gluon.loss.L2Loss()
    stages = mx.stages(net, nd.ones((2, 3)), nd.ones((2, 4)), loss=loss, train=True, run=False)
    assert [row["name"] for row in stages.key["inputs"]] == ["data0", "data1"]
    assert "square" in nodes(stages.program)
    assert stages.program.graph["nodes"][stages.program.graph["heads"][0][0]]["op"] == "mean"


def test_a_frozen_block_that_trains_has_no_gradients() -> None:
    net = DenseRelu()
    net.initialize()
    net.collect_params().setattr("grad_req", "null")
    stages = mx.stages(net, nd.ones((2, 3)), train=True, run=False)
    assert stages.program.backward is None
    assert any("no gradients" in note for note in stages.notes)


def test_gradients_of_inputs_are_shown_on_request() -> None:
    net = DenseRelu()
    net.initialize()
    x = nd.ones((2, 3))
    few = len(mx.stages(net, x, train=True, run=False).program.graph["heads"])
    x.attach_grad()
    assert len(mx.stages(net, x, train=True, run=False).program.graph["heads"]) == few + 1


# ---- reasons -------------------------------------------------------------------------------------


def test_reasons_of_traces_of_a_hybridized_block() -> None:
    net = DenseRelu()
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 3))
    assert mx.stages(net, x, run=False).reasons == ["first trace"]
    net(x)
    again = mx.stages(net, x, run=False)
    assert again.known and again.reasons == []
    other = mx.stages(net, nd.ones((5, 3)), run=False)
    assert not other.known and other.reasons == ["data: shape (2, 3) -> (5, 3)"]
    assert mx.stages(net, x, train=True, run=False).reasons == ["train mode: False -> True"]
    net.hybridize()
    assert mx.stages(net, x, run=False).reasons == [
        "its compiled graphs were dropped since: by hybridize(), cast() or a new child"
    ]
    net.cast("float16")
    reasons = mx.stages(net, x.astype("float16"), run=False).reasons
    assert "data: dtype float32 -> float16" in reasons
    assert any(r.startswith("parameter") and r.endswith("float32 -> float16") for r in reasons)


def test_a_block_that_is_not_hybridized_compares_with_the_last_look() -> None:
    net = DenseRelu()
    net.initialize()
    first = mx.stages(net, nd.ones((2, 3)), run=False)
    assert any("not hybridized" in note for note in first.notes)
    assert mx.stages(net, nd.ones((2, 3)), run=False).reasons == [
        "nothing differs from the last look, and it has not run since"
    ]
    assert mx.stages(net, nd.ones((1, 3)), run=False).reasons == ["data: shape (2, 3) -> (1, 3)"]


def test_the_key_is_readable(dense: Any) -> None:
    key = dense[1].key
    assert key["context"] == "cpu(0)" and key["training"] is False
    assert key["inputs"] == [
        {"name": "data", "shape": [2, 3], "dtype": "float32", "context": "cpu(0)"}
    ]
    assert [row["shape"] for row in key["parameters"]] == [[4, 3], [4]]
    assert len(key["structure"]) == 12


@pytest.mark.usefixtures("compiling_at_once")
def test_a_function_is_compared_with_its_last_recording() -> None:
    def function(a: Any, b: Any) -> Any:
        return a * b + 1

    a = nd.ones((2, 2))
    assert mx.stages(function, a, a, run=False).reasons == ["first trace"]
    other = nd.ones((3, 2))
    assert mx.stages(function, other, nd.ones((3, 2)), run=False).reasons
    b, c = nd.ones((7, 2)), nd.ones((7, 2))
    nd.waitall()
    for _ in range(2):  # the first time may run operator by operator
        result = function(b, c)
        result.wait_to_read()
    assert mx.stages(function, b, c, run=False).known


# ---- symbols and functions -----------------------------------------------------------------------


def test_a_symbol_with_shapes_by_name_and_lines_of_its_composition() -> None:
    with mx.runtime.source_lines():
        data = mx.sym.Variable("data")
        net = mx.sym.FullyConnected(data, num_hidden=3, name="fc")  # composed
        net = mx.sym.SoftmaxOutput(net, name="softmax")
    stages = mx.stages(net, data=(4, 5), softmax_label=(4,), train=True)
    assert stages.kind == "symbol" and stages.name == "softmax"
    assert [step["pass"] for step in stages.program.steps if step["purpose"] == "graph"] == [
        "recorded", "set_training", *[each.__name__ for each in pipeline.PASSES["graph"]],
        "assign_keys",
    ]  # fmt: skip
    links = stages.at_line(line_of(__file__, "composed"))
    assert [link["node"] for link in links] == ["softmax/fc", "softmax_backward/fc_backward"]
    # The output, and gradients of weight and bias: not of what was given.
    assert len(stages.program.graph["heads"]) == 3
    assert {row["name"] for row in stages.key["inputs"]} == set(net.list_arguments())


def test_a_symbol_records_the_lines_of_its_nodes() -> None:
    net = mx.sym.relu(mx.sym.Variable("data"))
    stages = mx.stages(net, {"data": nd.ones((2, 2))})
    text = 'net = mx.sym.relu(mx.sym.Variable("data"))'
    assert [link["source"]["text"] for link in stages.program.links] == [text]
    stages = mx.stages(mx.sym.load_json(net.tojson()), {"data": nd.ones((2, 2))})
    assert [link["source"] for link in stages.program.links] == [None]
    assert stages.source == []


def test_a_symbol_with_states_and_random_numbers() -> None:
    net = mx.sym.Dropout(mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn"), p=0.5)
    program = mx.stages(net, data=(4, 2), train=True).program
    assert "_advance_stream" in nodes(program)
    assert len(program.graph["heads"]) == 1 + 2 + 2  # output, states, gamma and beta


def test_a_function_of_arrays_line_by_line() -> None:
    def function(a: Any, b: Any) -> Any:
        c = a * b  # product
        return nd.relu(c - 1).sum()  # the rest

    stages = mx.stages(function, nd.ones((3, 4)), b=nd.ones((3, 4)))
    assert stages.name == "function" and nodes(stages.program) == [
        "elemwise_mul", "_minus_scalar", "relu", "sum",
    ]  # fmt: skip
    assert len(stages.at_line(line_of(__file__, "product"))) == 1
    assert len(stages.at_line(line_of(__file__, "the rest"))) == 3
    assert [row["name"] for row in stages.key["inputs"]] == ["a", "b"]


def test_an_elementwise_function_is_one_fusion() -> None:
    program = mx.stages(lambda a, b: nd.tanh(a * b + 1) - b, nd.ones((64,)), nd.ones((64,))).program
    (group,) = program.groups
    assert group["kind"] == "fusion" and len(group["nodes"]) == 4
    assert sorted(group["inputs"]) == ["a", "b", "scalars"] and group["bytes_out"] == 256


def test_a_function_that_reads_a_value_has_a_program_for_each_segment() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        if y.sum().asscalar() > 0:
            y = y + 1
        return y

    stages = mx.stages(function, nd.ones((2,)))
    assert [program.until for program in stages.programs] == ["asnumpy", "end"]
    assert [len(nodes(program)) for program in stages.programs] == [2, 1]


def test_a_training_step_in_one_program_with_the_update() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu", in_units=3), nn.Dense(1, in_units=4))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = gluon.loss.L2Loss()

    def step(x: Any, y: Any) -> Any:
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(2)  # update
        return value

    before = {name: each.data().asnumpy() for name, each in net.collect_params().items()}
    stages = mx.stages(step, nd.ones((2, 3)), nd.ones((2, 1)), run=False)
    (program,) = stages.programs
    assert program.until == "Trainer.step"
    assert sum("sgd" in op for op in nodes(program)) == 4
    assert len(stages.at_line(line_of(__file__, "update"))) == 4
    inputs = {node["name"] for node in program.graph["nodes"] if node["op"] is None}
    assert set(before) <= inputs
    for name, each in net.collect_params().items():
        np.testing.assert_array_equal(each.data().asnumpy(), before[name])


def test_a_block_that_cannot_be_hybridized_is_called_as_a_function() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(2, in_units=3))
    net.initialize()
    stages = mx.stages(net, nd.ones((1, 3)))
    assert stages.kind == "function" and nodes(stages.program) == ["FullyConnected"]
    assert {row["name"] for row in stages.key["inputs"]} >= set(net.collect_params().keys())
    loss = gluon.loss.L2Loss()
    stages = mx.stages(net, nd.ones((1, 3)), nd.ones((1, 2)), loss=loss, run=False)
    assert nodes(stages.program)[-1] == "_backward_FullyConnected"
    assert not net[0].weight.grad().asnumpy().any()
    with pytest.raises(AttributeTypeError, match="loss= is for blocks"):
        mx.stages(lambda x: x + 1, nd.ones((1, 3)), loss=loss)


def test_an_lstm_cell_in_groups() -> None:
    size = 8

    def cell(x: Any, h: Any, c: Any, wx: Any, wh: Any, b: Any) -> Any:
        gates = nd.FullyConnected(x, wx, b, num_hidden=4 * size)
        gates = gates + nd.FullyConnected(h, wh, no_bias=True, num_hidden=4 * size)
        i, f, g, o = nd.split(gates, 4, axis=1)
        c = nd.sigmoid(f) * c + nd.sigmoid(i) * nd.tanh(g)
        return nd.sigmoid(o) * nd.tanh(c), c

    arrays = [nd.ones(s) for s in ((4, size),) * 3 + ((4 * size, size),) * 2 + ((4 * size,),)]
    program = mx.stages(cell, *arrays).program
    for name in ("FullyConnected0", "FullyConnected1"):
        kinds = {program.groups[number]["kind"] for number in program.link(name)["groups"]}
        assert "library call" in kinds
    sigmoid = [each for each in program.links if each["node"].startswith("sigmoid")]
    assert len(sigmoid) == 3
    for link in sigmoid:  # never alone: with the products or sums around it
        assert all(len(program.groups[number]["nodes"]) > 1 for number in link["groups"])


# ---- no side effects -----------------------------------------------------------------------------


def test_nothing_of_a_block_or_the_runtime_changes() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3), nn.BatchNorm(in_channels=4), nn.Dropout(0.5))
    net.initialize()
    net.hybridize()
    x = nd.random.uniform(shape=(2, 3))
    with autograd.record():
        y = net(x)
    y.backward()
    nd.waitall()
    params = net.collect_params()
    values = {name: each.data().asnumpy() for name, each in params.items()}
    gradients = {n: e.grad().asnumpy() for n, e in params.items() if e.grad_req != "null"}
    cache, key = dict(net._mx_cache), net._mx_last_key
    mx.random.seed(5)
    expected = nd.random.uniform(shape=(3,)).asnumpy()
    mx.random.seed(5)
    mx.runtime.reset_counters()
    for train in (False, True):
        mx.stages(net, x, train=train)
    counters = mx.runtime.counters()
    assert counters["programs_compiled"] == counters["operations"] == 0
    np.testing.assert_array_equal(nd.random.uniform(shape=(3,)).asnumpy(), expected)
    assert net._mx_cache == cache and net._mx_last_key is key
    for name, each in params.items():
        np.testing.assert_array_equal(each.data().asnumpy(), values[name])
        if name in gradients:
            np.testing.assert_array_equal(each.grad().asnumpy(), gradients[name])
    assert x.grad is None and not autograd.is_training()


def test_shapes_that_wait_for_data_are_completed_as_by_a_call() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4))
    net.initialize()
    mx.stages(net, nd.ones((2, 7)), run=False)
    assert net[0].weight.shape == (4, 7)


def test_looking_leaves_a_tape_alone() -> None:
    net = DenseRelu()
    net.initialize()
    x = nd.ones((2, 3))
    with autograd.record():
        y = net(x)
        mx.stages(net, x, train=True, run=False)
        y = y.sum()
    y.backward()
    assert np.isfinite(net.dense.weight.grad().asnumpy()).all()


def test_pending_operations_of_the_caller_still_run() -> None:
    net = DenseRelu()
    net.initialize()
    x = nd.ones((2, 3)) * 2
    mx.stages(net, x)
    np.testing.assert_array_equal((x + 1).asnumpy(), 3)


def test_the_disk_cache_is_not_used(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import mixnet as mx\n"
        "a = mx.nd.ones((3,))\n"
        "a.wait_to_read()\n"
        "f = lambda x: (x * 3 + 1).exp()\n"
        "first = mx.stages(f, a)\n"
        "second = mx.stages(lambda y: (y * 3 + 1).exp(), a)\n"
        "names = [g['nodes'] for s in (first, second) for g in s.program.groups]\n"
        "assert names[0] == names[1] != [], names\n"
        "f(a).wait_to_read()\n"
    )
    folder = tmp_path / "cache"
    environment = {
        **os.environ, "MIXNET_CACHE_DIR": str(folder),
        "PYTHONPATH": str(Path(mx.__file__).parents[1]),
    }  # fmt: skip
    command = [sys.executable, str(program)]
    for _ in range(2):
        processes.run(command, env=environment, check=True, timeout=240)
    assert folder.is_dir()
    assert not [each for each in folder.iterdir() if "jit_called" in each.name]


# ---- errors --------------------------------------------------------------------------------------


def test_errors_name_the_wrong_value() -> None:
    net = DenseRelu()
    net.initialize()
    x = nd.ones((2, 3))
    with pytest.raises(AttributeTypeError, match="int is not a network"):
        mx.stages(3, x)
    with pytest.raises(AttributeTypeError, match="ndarray where it takes NDArrays"):
        mx.stages(net, np.ones((2, 3)))
    with pytest.raises(AttributeTypeError, match="nothing where it takes NDArrays"):
        mx.stages(net)
    with pytest.raises(AttributeTypeError, match=r"does not take 2 inputs"):
        mx.stages(net, x, x)
    with pytest.raises(AttributeTypeError, match="not data by name"):
        mx.stages(net, data=x)
    with pytest.raises(ShapeError):
        mx.stages(net, nd.ones((2, 9)))
    with pytest.raises(AttributeTypeError, match="recorded no operation"):
        mx.stages(lambda: None)


def test_errors_for_labels_losses_and_classes() -> None:
    net, x, y = nn.HybridSequential(), nd.ones((1, 3)), nd.ones((1, 2))
    net.add(nn.Dense(2, in_units=3))
    net.initialize()
    with pytest.raises(
        AttributeTypeError, match=r"does not take 2 inputs: .* A label needs its loss: "
    ):
        mx.stages(net[0], x, y)
    for loss in ("l2", gluon.loss.L2Loss):
        for block in (net, Plain()):
            with pytest.raises(AttributeTypeError, match=r"expected a loss such as .*L2Loss"):
                mx.stages(block, x, y, loss=loss)
    with pytest.raises(AttributeTypeError, match=r"DenseRelu is a class: .*DenseRelu\(\.\.\.\)"):
        mx.stages(DenseRelu, x)


class Plain(gluon.Block):
    def forward(self, x: Any) -> Any:
        return x + 1


def test_an_operator_in_python_cuts_a_block_that_trains() -> None:
    class Copy(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("stages_copy")
    class CopyProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
            return Copy()

    class Cut(HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.Custom(x + 1, op_type="stages_copy") + 1

    x = nd.ones((2,))
    x.attach_grad()
    with pytest.raises(MXNetError, match="are 3 programs, because an operation in Python"):
        mx.stages(Cut(), x, train=True, run=False)


def test_errors_of_symbols_name_the_mistake() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    with pytest.raises(AttributeTypeError, match="no input 'dat'; it has data, fc_weight"):
        mx.stages(net, dat=(2, 3))
    with pytest.raises(ShapeError, match="give them by name"):
        mx.stages(net)
    with pytest.raises(AttributeTypeError, match="inputs by name"):
        mx.stages(net, nd.ones((2, 3)))


def test_a_symbol_block_with_too_few_inputs() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = gluon.SymbolBlock(a + b, [a, b])
    assert mx.stages(net, nd.ones((2,)), nd.ones((2,)), run=False).program.links
    with pytest.raises(AttributeTypeError, match=r"takes 2 inputs \(a, b\), not 1"):
        mx.stages(net, nd.ones((2,)))


def test_lines_of_functions_that_are_called_twice_are_those_of_the_jaxpr() -> None:
    def picked(x: Any, index: Any) -> Any:
        return nd.tanh(nd.batch_take(x, index)) + nd.batch_take(nd.exp(x), index)

    program = mx.stages(picked, nd.ones((3, 4)), nd.zeros((3,), dtype="int32"), run=False).program
    lines = program.jaxpr.splitlines()
    assert lines[0].startswith("let "), "what is called twice comes first"
    for link in program.links:
        own = [lines[number - 1] for number in link["jaxpr_lines"]]
        primitive = {"tanh": " = tanh ", "exp": " = exp "}.get(link["node"])
        if primitive is not None:
            assert len(own) == 1 and primitive in own[0]
        assert own, link["node"]
