"""GraphView: what its payload holds, against shapes and counts by hand and against the planner
and the passes.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, MXNetError
from mixnet.gluon import nn
from mixnet.gluon.model_zoo import vision
from mixnet.passes.changes import changes
from mixnet.widgets import GraphView, page
from mixnet.widgets.graph.payload import Reader
from tests.widgets.conftest import RunCell
from tests.widgets.networks import lenet


def small_net() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        for _ in range(4):
            unit = nn.HybridSequential(prefix=f"unit{len(net)}_")
            with unit.name_scope():
                unit.add(nn.Dense(6, in_units=6), nn.Activation("relu"))
            net.add(unit)
        net.add(nn.Dense(2, in_units=6))
    return net


def row(view: GraphView, name: str) -> dict:
    """The data of one node in the view."""
    read = Reader(view.payload)
    i = read.names.index(name)
    return {
        "op": read.ops[i],
        "part": read.parts[i],
        "shape": read.outputs[i][0][0] if read.outputs[i] else None,
        "dtype": read.outputs[i][0][1] if read.outputs[i] else None,
        "bytes": read.bytes[i],
        "flops": read.flops[i],
        "block": read.path(read.blocks[i]),
        "line": read.source(i),
        "device": read.devices[i],
        "inputs": [read.names[j] for j in read.inputs[i]],
        "attributes": read.attributes[i],
    }


def test_lenet_by_hand() -> None:
    view = GraphView(lenet(), data=(2, 1, 28, 28))
    conv = row(view, "conv0")
    assert conv["op"] == "Convolution" and conv["inputs"] == ["data", "conv0_weight", "conv0_bias"]
    assert conv["shape"] == [2, 20, 24, 24] and conv["bytes"] == 2 * 20 * 24 * 24 * 4
    assert conv["flops"] == 2 * 20 * 24 * 24 * (2 * 25 + 1)
    assert "kernel=(5, 5)" in conv["attributes"]
    assert row(view, "fc0")["flops"] == 2 * 500 * (2 * 800 + 1)
    assert row(view, "conv0_weight")["part"] == "parameter"
    assert row(view, "softmax_label")["part"] == "input"
    assert view.summary().startswith("softmax: 11 operations, forward, ")


def test_gradients_are_beside_their_operation() -> None:
    view = GraphView(small_net(), (3, 6), train=True)
    names = view.payload["names"]
    backward = [name for name in names if row(view, name)["part"] == "backward"]
    assert view.payload["direction"] == "forward and backward"
    assert sum(name.endswith("_backward") for name in backward) == 9
    for name in backward:
        if name.endswith("_backward"):
            own = row(view, name.removesuffix("_backward"))
            assert row(view, name)["block"] == own["block"]
    assert row(view, "net_dense0_fwd_backward")["shape"] == [3, 6], "first the gradient of the data"


def test_equal_blocks_in_a_row_are_folded() -> None:
    view = GraphView(small_net(), (3, 6))
    blocks = view.payload["blocks"]
    assert blocks["label"] == ["unit", "unit0", "unit1", "unit2", "unit3"]
    assert blocks["repeat"] == [4, 0, 0, 0, 0] and blocks["parent"] == [-1, 0, 0, 0, 0]
    drawn = view.svg()
    view.choose(open=list(range(len(view.payload["blocks"]["label"]))))
    assert view.svg().count(">dense0<") == 4 + drawn.count(">dense0<"), "open ones are drawn open"
    view.choose(open=None)
    assert view.svg() == drawn
    assert "unit ×4" in view.svg() and "unit0" not in re.sub(r"<title>.*?</title>", "", view.svg())
    different = small_net()
    different[2][0]._units = 6
    different[2][1]._act_type = "tanh"  # now the third does something else
    assert GraphView(different, (3, 6)).payload["blocks"]["repeat"] == [0, 0, 0, 0]


def test_a_network_is_the_same_hybridized_or_not_and_nothing_is_run() -> None:
    net = small_net()
    before = GraphView(net, (3, 6))
    with pytest.raises(RuntimeError, match="initialize"):  # looking has not initialized anything
        net(mx.nd.ones((3, 6)))
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((3, 6))
    net(x)
    names = before.payload["names"]
    # The second view uses the inputs of the recorded call.
    for after in (GraphView(net, x), GraphView(net)):
        assert after.payload["names"] == names
        for name in names:
            ignored = {"line": "", "device": ""}
            assert {**row(before, name), **ignored} == {**row(after, name), **ignored}


class OnNumPy(mx.library.Backend):
    """A backend for a dense layer and what follows it; these tests never run it."""

    def takes(self, node: Any) -> bool:
        return bool(node.name in ("dense", "bent", "doubled"))


def test_the_subgraph_of_a_backend_is_a_box() -> None:
    mx.library.register_backend("OnNumPyForTheEye", OnNumPy())
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=3, name="first")
    net = mx.sym.FullyConnected(net, num_hidden=4, name="dense")
    net = mx.sym._internal._mul_scalar(mx.sym.relu(net, name="bent"), scalar=2, name="doubled")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="last")
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(5, 6))[0], strict=True))
    arrays = {name: mx.nd.ones(shape) for name, shape in shapes.items() if name != "data"}
    view = GraphView(net.optimize_for("OnNumPyForTheEye", arrays, {}), data=(5, 6))
    for name in ("dense", "bent", "doubled"):
        assert row(view, f"onnumpy2/{name}")["block"] == "onnumpy2"
    assert row(view, "first")["block"] == row(view, "last")["block"] == ""
    weight = row(view, "onnumpy2/dense_weight")
    assert (weight["part"], weight["shape"]) == ("parameter", [4, 3])
    assert row(view, "onnumpy2/dense")["inputs"][0] == "first"
    assert row(view, "last")["inputs"][0] == "onnumpy2/doubled"
    assert view.summary().startswith("last: 5 operations, forward")


class OnlyConvolutions(mx.library.Backend):
    """A backend for convolutions and normalizations; these tests never run it."""

    def takes(self, node: Any) -> bool:
        return bool(node.op.name in ("Convolution", "BatchNorm"))


@pytest.mark.parametrize("called", [False, True])
def test_the_subgraph_of_a_blocks_backend_is_drawn(called: bool) -> None:
    mx.library.register_backend("OnlyConvolutions", OnlyConvolutions())
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        inner = nn.HybridSequential()
        inner.add(nn.Conv2D(2, 1), nn.BatchNorm(), nn.Activation("relu"))
        net.add(inner, nn.Conv2D(3, 1), nn.BatchNorm(), nn.Dense(2))
    net.initialize()
    if called:
        net(mx.nd.ones((1, 2, 4, 4)))
    plain = GraphView(net, (1, 2, 4, 4))
    assert plain.payload["notes"] == []
    net.hybridize(backend="OnlyConvolutions")
    view = GraphView(net, mx.nd.ones((1, 2, 4, 4)))
    (note,) = view.payload["notes"]
    assert note == (
        "Predictions: OnlyConvolutions computes 4 of 6 operations, in 2 parts; XLA computes the other 2."
    )
    names = [name for name in view.payload["names"] if name.startswith("onlyconvolutions")]
    operations = {name.partition("/")[2] for name in names if name.endswith("_fwd")}
    assert operations == {n for n in plain.payload["names"] if "conv" in n or "batchnorm" in n} - {
        n for n in plain.payload["names"] if not n.endswith("_fwd")
    }
    for name in names:
        assert row(view, name)["block"].startswith("onlyconvolutions")
        if name.endswith("_fwd"):
            assert row(view, name)["device"].startswith("OnlyConvolutions, cpu")
    (dense,) = [name for name in view.payload["names"] if name.endswith("dense0_fwd")]
    assert row(view, dense)["device"].startswith("XLA, cpu")
    assert GraphView(net, (1, 2, 4, 4), train=True).payload["names"] != view.payload["names"]
    assert "onlyconvolutions" not in str(GraphView(net, (1, 2, 4, 4), train=True).payload["names"])


def test_blocks_of_a_resnet() -> None:
    view = GraphView(vision.resnet18_v1(), (1, 3, 64, 64))
    conv = row(view, "resnetv10_stage2_conv0_fwd")
    assert conv["block"] == "features/stage2/BasicBlockV1 0/body" and conv["shape"] == [
        1,
        128,
        8,
        8,
    ]
    assert row(view, "resnetv10_stage2__plus0")["block"] == "features/stage2/BasicBlockV1 0"
    assert view.payload["blocks"]["label"][view.payload["open"][0]] == "features"
    rows = {name: row(view, name) for name in view.payload["names"]}
    weights = [name for name, each in rows.items() if each["part"] == "parameter"]
    learned = [name for name in weights if "running" not in name]
    # The published number of parameters of ResNet-18 for 1,000 classes.
    assert sum(rows[name]["bytes"] for name in learned) == 4 * 11_689_512 and len(weights) == 102


def test_a_block_called_again_is_another_one() -> None:
    class Twice(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="twice_")
            self.cell = nn.HybridSequential(prefix="cell_")
            self.cell.add(
                nn.Dense(4, in_units=4, prefix="cell_d_"), nn.Activation("tanh", prefix="cell_a_")
            )

        def hybrid_forward(self, F, x):
            return self.cell(self.cell(x)) + x

    view = GraphView(Twice(), (2, 4))
    assert view.payload["blocks"]["label"] == ["cell", "cell #2"]


def test_a_loss_is_drawn_next_to_the_network() -> None:
    net = small_net()
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    view = GraphView(net, (3, 6), (3,), train=True, loss=loss)
    labels = view.payload["blocks"]["label"]
    assert "net" in labels and "loss" in labels
    assert row(view, "data1")["part"] == "input" and row(view, "net_dense0_fwd")["block"] == "net"
    read = Reader(view.payload)
    shown = {read.label(i) for i, name in enumerate(read.names) if "log_softmax0" in name}
    assert shown == {"log_softmax0", "∇ log_softmax0"}, "without the name of the loss"


def test_a_block_of_arrays_only_is_traced() -> None:
    class Odd(nn.HybridBlock):
        def forward(self, x):
            if x.shape[0] > 1:
                x = x * 2
            return mx.nd.relu(x)

    view = GraphView(Odd(), mx.nd.ones((2, 3)))
    assert [op for op in Reader(view.payload).ops if op] == ["_mul_scalar", "relu"]
    with pytest.raises(AttributeTypeError, match="needs arrays"):
        GraphView(Odd(), (2, 3))


def test_pending_operations_are_drawn() -> None:
    mx.nd.waitall()
    x = mx.nd.ones((2, 3))
    x.wait_to_read()
    view = GraphView((x * 2 + 1).sum())
    assert [op for op in Reader(view.payload).ops if op] == ["_mul_scalar", "_plus_scalar", "sum"]
    assert set(Reader(view.payload).devices) == {"cpu(0)"}
    ready = GraphView(x)
    assert ready.payload["notes"] == [
        "Nothing is pending: the array has been computed, or is being computed."
    ]
    assert row(ready, "array")["shape"] == [2, 3]


def test_looking_runs_nothing() -> None:
    mx.nd.waitall()
    y = mx.nd.ones((2, 3)) * 5
    GraphView(y)
    assert y.to_dict()["state"] == "pending"


def test_a_function_and_its_lines() -> None:
    def step(x, w):
        return mx.nd.relu(mx.nd.dot(x, w))

    view = GraphView(step, mx.nd.ones((2, 3)), mx.nd.ones((3, 4)))
    dot = row(view, "dot")
    assert dot["shape"] == [2, 4] and dot["flops"] == 2 * 2 * 3 * 4 and dot["inputs"] == ["x", "w"]
    file, _, line = dot["line"].rpartition(":")
    text = Path(file).read_text().splitlines()[int(line) - 1]
    assert file.endswith("test_graph.py") and "dot(x, w)" in text


def test_a_function_that_reads_a_value() -> None:
    def step(x):
        return x * 2 if float(x.sum().asscalar()) > 0 else x

    view = GraphView(step, mx.nd.ones((2,)))
    assert "2 programs run" in view.payload["notes"][0]


def test_the_operation_with_wrong_shapes_is_marked() -> None:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=2, name="conv")
    view = GraphView(mx.sym.Activation(x, act_type="relu", name="act"), data=(2, 8))
    error = view.payload["error"]
    assert view.payload["names"][error["node"]] == "conv" and "must have 4 axes" in error["text"]
    assert row(view, "fc")["shape"] == [2, 4], "what is known up to there"
    assert row(view, "act")["shape"] is None
    assert "shapes do not match at conv" in view.summary() and "✗" in view.svg()


def test_an_error_inside_of_a_block_opens_it() -> None:
    net = small_net()
    net[2].add(nn.Dense(3, in_units=7))
    view = GraphView(net, (3, 6))
    labels = view.payload["blocks"]["label"]
    assert view.payload["error"] is not None
    assert "unit2" in [labels[b] for b in view.payload["open"]]


def test_unknown_shapes_are_drawn_without_an_error() -> None:
    view = GraphView(lenet())
    assert view.payload["error"] is None and row(view, "conv0")["shape"] is None
    assert "11 operations" in view.summary()
    assert "The shape is unknown for" in GraphView(lenet(), softmax_label=(2,)).payload["notes"][0]


@pytest.mark.parametrize(
    ("target", "inputs", "named", "message"),
    [
        (3, (), {}, "int is not a graph. Pass a Symbol"),
        (small_net(), (), {}, "net needs an input"),
        (small_net(), (3,), {}, "takes NDArrays, or shapes"),
        (small_net(), ((3, 6),), {"data": (3, 6)}, "by position"),
        (lenet(), ((3, 6),), {}, "inputs by name"),
        (lenet(), (), {"dta": (3, 6)}, "no input 'dta'; it has data"),
        (lambda x: x, ((3, 6),), {}, "not on the shape"),
    ],
)
def test_wrong_targets_are_refused(target, inputs, named, message) -> None:
    with pytest.raises(AttributeTypeError, match=re.escape(message)):
        GraphView(target, *inputs, **named)


def test_measured_facts_are_shown_on_request() -> None:
    symbol = lenet()
    shapes = {"data": (2, 1, 28, 28)}
    view = GraphView(symbol, train=True, **shapes)
    view.message({"do": "measure"})  # the button
    assert view.state["overlay"] == "time"
    read, facts = Reader(view.payload), view.payload["facts"]
    times = [t for t, op in zip(facts["time"], read.ops, strict=True) if op]
    assert all(0 < t < 10 for t in times)
    expected = {n: "write" for n in symbol.list_arguments() if n not in ("data", "softmax_label")}
    plan = symbol.memory_plan(grad_req=expected, **shapes)
    planned = {a.node: a for a in plan.arrays if a.index == 0}
    for name, storage in zip(read.names, facts["storage"], strict=True):
        own = planned[name]
        assert storage == (own.kind if own.storage is None else f"storage {own.storage}")
    groups = dict(zip(read.names, facts["group"], strict=True))
    assert groups["fc0"] and "group" in view.table()[0]


def test_measuring_what_cannot_run() -> None:
    with pytest.raises(MXNetError, match="the shapes are not known"):
        GraphView(lenet()).measure()


def test_a_graph_difference_lists_the_changes_of_the_passes() -> None:
    x = mx.sym.Variable("x")
    before = (mx.sym.exp(x, name="a") + mx.sym.exp(x, name="b")).graph
    after = mx.passes.eliminate_common.eliminate_common(before, None)
    change = changes(before, after)
    view = GraphView.diff(before, after)
    status = dict(zip(view.payload["names"], view.payload["facts"]["change"], strict=True))
    assert (
        [n for n, k in status.items() if k == 6]
        == [each["name"] for each in change["merged"]]
        == ["b"]
    )
    assert [n for n, k in status.items() if k == 4] == [each["name"] for each in change["rewired"]]
    assert view.payload["notes"] == ["1 merged"]
    assert "marks a [node] that was added" in view.payload["sight"]["text"]


def test_a_difference_of_steps() -> None:
    net = small_net()
    net.initialize()
    steps = mx.stages(net, mx.nd.ones((2, 6)), run=False).program.steps
    first, second = next((a, b) for a, b in itertools.pairwise(steps) if b["pass"] == "inline")
    view = GraphView.diff(first, second)
    status = dict(zip(view.payload["names"], view.payload["facts"]["change"], strict=True))
    change = second["changes"]
    assert {n for n, k in status.items() if k == 5} == {each["name"] for each in change["expanded"]}
    inside = {name for each in change["expanded"] for name in each["into"]}
    assert {n for n, k in status.items() if k == 1} == inside | set(change["added"])
    changed = GraphView.diff(lenet(), lenet())
    assert changed.payload["notes"] == ["Nothing changed."]


class Layers(mx.gluon.HybridBlock):
    """Dense layers by name: attributes of the network."""

    def __init__(self, prefix: str, **units: int):
        super().__init__(prefix=prefix)
        with self.name_scope():
            for name, count in units.items():
                setattr(self, name, mx.gluon.nn.Dense(count, activation="relu"))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for layer in self._children.values():
            x = layer(x)
        return x


def test_a_difference_of_networks_matches_attributes() -> None:
    """``dense0`` is the hidden layer of the one and the output of the other."""
    nets = Layers("net_", hidden=4, out=2), Layers("net_", out=2)
    assert nets[0].hidden.name == nets[1].out.name
    view = GraphView.diff(*(GraphView(net, (1, 3)) for net in nets))
    change, of_block = view.payload["facts"]["change"], Reader(view.payload)
    changes = {of_block.path(of_block.blocks[i]): change[i] for i in range(1, len(change))}
    assert changes == {"out": 0, "hidden": 2}
    assert len(set(view.payload["names"])) == len(change)
    (rewired,) = [text for text in view.payload["facts"]["told"] if text]
    assert rewired.startswith("reads data, ") and "; read hidden" in rewired
    same = GraphView.diff(
        GraphView(nets[0], (1, 3)), GraphView(Layers("other_", hidden=4, out=2), (1, 3))
    )
    assert same.payload["notes"] == ["Nothing changed."]


def test_another_attribute_is_a_change() -> None:
    def net(act: str) -> mx.sym.Symbol:
        return mx.sym.Activation(mx.sym.Variable("x"), act_type=act, name="act")

    view = GraphView.diff(net("relu"), net("tanh"))
    i = view.payload["names"].index("act")
    assert view.payload["facts"]["change"][i] == 3
    assert (
        "act_type=relu" in view.payload["facts"]["told"][i]
        and "act_type=tanh" in view.payload["facts"]["told"][i]
    )


def test_selected_is_synchronized_in_both_directions() -> None:
    view = GraphView(lenet(), data=(2, 1, 28, 28))
    assert view.selected is None
    view.selected = "conv0"
    assert view.state == {"selected": "conv0"} and view.selected == "conv0"


def test_devices_of_a_symbol_are_shown() -> None:
    with mx.AttrScope(ctx_group="first"):
        x = mx.sym.exp(mx.sym.Variable("x"), name="a")
    with mx.AttrScope(ctx_group="second"):
        x = mx.sym.exp(x, name="b")
    view = GraphView(x, x=(2,))
    assert row(view, "a")["device"] == "first" and row(view, "b")["device"] == "second"


def test_a_symbol_is_grouped_by_its_names() -> None:
    x = mx.sym.Variable("data")
    for i in range(3):
        x = mx.sym.FullyConnected(x, num_hidden=4, name=f"stage_unit{i}_fc")
        x = mx.sym.Activation(x, act_type="relu", name=f"stage_unit{i}_relu")
    view = GraphView(mx.sym.exp(x, name="out"), data=(2, 4))
    assert row(view, "stage_unit1_fc")["block"] == "stage/unit1"
    assert view.payload["blocks"]["label"][:2] == ["stage", "unit"]
    assert row(view, "stage_unit1_fc_weight")["block"] == "stage/unit1"


def test_resnet152_is_small() -> None:
    view = GraphView(vision.resnet152_v1(), (1, 3, 224, 224), train=True)
    assert len(view.payload["names"]) > 1900
    assert len(page.pack(view.payload)) <= 60_000
    json.dumps(view.payload, allow_nan=False)


def test_dtypes_of_nodes_are_shown() -> None:
    net = nn.Dense(2, in_units=3, dtype="float16", prefix="d_")
    view = GraphView(net, mx.nd.ones((2, 3), dtype=np.float16))
    assert row(view, "d_fwd")["dtype"] == "float16" and row(view, "d_weight")["bytes"] == 12


def test_a_function_is_drawn_up_to_the_operation_whose_shapes_do_not_match() -> None:
    def step(x):
        y = mx.nd.relu(x)
        return mx.nd.dot(y, mx.nd.ones((9, 9)))

    view = GraphView(step, mx.nd.ones((2, 4)))
    assert "relu" in Reader(view.payload).ops
    text = view.payload["error"]["text"]
    assert "must have the same extent" in text and "return mx.nd.dot(y, mx.nd.ones((9, 9)))" in text
    assert view.summary().endswith("shapes do not match")

    def at_once(x):
        return mx.nd.dot(x, x)

    assert GraphView(at_once, mx.nd.ones((2, 4))).payload["error"] is not None


def test_recurrent_layers_with_their_own_states_are_drawn() -> None:
    view = GraphView(mx.gluon.rnn.LSTM(8, 2, input_size=4), mx.nd.ones((3, 2, 4)))
    assert any(op == "RNN" for op in Reader(view.payload).ops)


def test_shapes_need_not_be_known_for_gradients() -> None:
    x = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3, name="fc")
    view = GraphView(x, train=True)
    assert row(view, "fc_backward")["op"] == "_backward_FullyConnected"
    assert row(view, "fc_backward")["shape"] is None


def test_an_operation_between_two_layers_belongs_to_their_block() -> None:
    class Unit(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.first, self.second = nn.Dense(4, in_units=4), nn.Dense(4, in_units=4)

        def hybrid_forward(self, F, x):
            return F.relu(x + self.second(F.relu(self.first(x))))

    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4, in_units=4), Unit(), Unit(), nn.Dense(2, in_units=4))
    view = GraphView(net, (2, 4))
    for i in (0, 1):
        rows = [row(view, f"net_unit{i}_{name}") for name in ("relu0", "relu1")]
        assert [each["block"] for each in rows] == [f"unit{i}"] * 2
    assert row(view, "net_dense1_fwd")["block"] == ""
    assert view.payload["blocks"]["label"] == ["unit0", "unit1"]


def test_a_line_of_a_notebook_is_named_by_its_cell(run_as_cell_7: RunCell) -> None:
    names = run_as_cell_7("def step(x):\n    return mx.nd.relu(x)\n")
    view = GraphView(names["step"], mx.nd.ones((2, 3)))
    assert row(view, "relu")["line"] == "In[7]:2"
    assert "ipykernel" not in json.dumps(view.payload)


class Attributes(mx.gluon.nn.HybridBlock):
    """Attributes whose numbers are not those of the names that the library gives."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv1 = mx.gluon.nn.Conv2D(4, 3, activation="relu")
            self.conv2 = mx.gluon.nn.Conv2D(4, 3)
            self.out = mx.gluon.nn.Dense(2)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.out(self.conv2(self.conv1(x)))


def test_blocks_are_named_by_their_attributes() -> None:
    view = GraphView(Attributes(prefix="net_"), (1, 1, 8, 8), train=True)
    p = view.payload
    assert p["blocks"]["label"] == ["conv1"]
    labels = {p["names"][int(i)]: text for i, text in p["labels"].items()}
    assert labels["net_conv1_fwd"] == "conv2" and labels["net_dense0_fwd"] == "out"
    assert labels["net_dense0_weight"] == "out.weight"
    assert labels["net_dense0_fwd_backward"] == "∇ out"
    assert ">conv2<" in view.svg() and ">dense0" not in view.svg()


def test_a_block_that_is_one_operation_has_the_name_of_the_block() -> None:
    view = GraphView(mx.gluon.nn.Embedding(20, 4, prefix="table_"), (6,), train=True)
    assert ">table<" in view.svg() and ">∇ table<" in view.svg() and ">fwd<" not in view.svg()


def test_long_names_keep_their_ends() -> None:
    x = mx.sym.var("x")
    picture = GraphView(mx.sym.tanh(x, name="y" * 30 + "1") + x, x=(2,)).svg()
    assert f">{'y' * 13}…{'y' * 11}1<" in picture


def test_gradients_are_drawn_when_all_arguments_are_passed() -> None:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    view = GraphView(mx.sym.tanh(a * b) + a, train=True, a=(3,), b=(3,))
    assert view.payload["direction"] == "forward and backward"


def test_scalars_of_operations_are_shown() -> None:
    x = mx.sym.var("x")
    view = GraphView(x * 2 * 3.5, x=(3,))
    assert ">_mul_scalar 2<" in view.svg() and ">_mul_scalar 3.5<" in view.svg()
    p = view.payload
    attributes = [p["strings"][i] for i in p["nodes"]["attributes"]]
    assert "scalar=2\n" in attributes[1] and "scalar=3.5\n" in attributes[2]
    pending = GraphView(mx.nd.ones(3) * 4).payload
    assert "(input)" in "".join(pending["strings"]) or "scalar=4" in "".join(pending["strings"])


def test_a_difference_says_which_inputs() -> None:
    x, y = mx.sym.var("x"), mx.sym.var("y")
    view = GraphView.diff(mx.sym.exp(x, name="e"), mx.sym.exp(y, name="e"))
    assert "reads y; read x" in view.payload["facts"]["told"]


def test_a_picture_that_is_too_wide_shows_what_is_around_the_selection() -> None:
    x = mx.sym.Variable("x")
    view = GraphView(mx.sym.Group([mx.sym.exp(x, name=f"n{i}") for i in range(60)]), x=(2,))
    view.selected = "n50"
    drawn = view.svg()
    assert ">n50<" in drawn and ">n10<" not in drawn
    (part,) = re.findall(r'<svg y="\S+" width="(\S+)" height="\S+" viewBox="\S+ \S+ (\S+)', drawn)
    assert float(part[0]) / float(part[1]) > 0.6, "its text can be read"
    (count,) = re.findall(r"(\d+) of 61 boxes", drawn)
    assert drawn.count(">exp<") == int(count)


def test_the_picture_marks_outputs_and_has_two_edges_where_an_array_is_read_twice() -> None:
    x = mx.sym.relu(mx.sym.var("x"), name="inner")
    bar = re.compile(r'<rect class="f-fg" [^>]*height="3"')
    square = GraphView(mx.sym.elemwise_mul(x, x, name="square"), x=(2,)).svg()
    assert len(bar.findall(square)) == 1
    assert square.count('marker-end="url(#tip)"') == 3, "x to inner, and inner to square twice"
    pair = mx.sym.Group([mx.sym.exp(x, name="first"), mx.sym.tanh(x, name="second")])
    both = GraphView(pair, x=(2,)).svg()
    assert len(bar.findall(both)) == 2
    assert both.count('marker-end="url(#tip)"') == 3
