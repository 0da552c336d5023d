"""MemoryView: its figures are the planner's and the log's, and its boxes are in the right places."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError
from mixnet.gluon import nn
from mixnet.runtime.value.memory import Allocation, MemoryLog
from mixnet.units import size_text
from mixnet.widgets import MemoryView
from mixnet.widgets.memory import live as memory_live
from mixnet.widgets.memory import plans
from mixnet.widgets.memory.picture import alive_at, array_name, boxes, live_curve, than
from mixnet.widgets.memory.plans import PLANS
from tests.widgets.conftest import RunCell
from tests.widgets.examples import small_symbol
from tests.widgets.networks import TwoLayers


def network() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.MaxPool2D(2), nn.Flatten(), nn.Dense(5))
    net.initialize()
    return net


def graph_of(view: MemoryView, name: str) -> Any:
    return view.payload["graphs"][view.plan(name)["graph"]]


def test_arrays_have_their_names_from_the_program_and_steps_count_from_1() -> None:
    net = TwoLayers()
    net.initialize()
    view = MemoryView(net, mx.nd.ones((4, 3)))
    graph = graph_of(view, "recompute")
    names, nodes = graph["steps"]["name"], graph["steps"]["node"]
    assert names[:3] == ["first", "first.act", "second"]
    assert {"∇ second", "first, again", "first.weight, saved"} <= set(names)
    assert nodes[names.index("first, again")].endswith("_mirror")
    assert f"(step {view.plan('both')['peak']['at'] + 1})" in view.svg()
    view.choose(selected=0)
    assert view.selected == nodes[0]


def test_totals_are_those_of_a_symbol() -> None:
    symbol = small_symbol()
    view = MemoryView(symbol, data=(8, 12))
    assert set(view.totals) == set(PLANS)
    for name, ways in PLANS.items():
        plan = symbol.memory_plan(grad_req="write", data=(8, 12), **ways)
        actual = view.plan(name)
        assert actual["total"] == plan.total_bytes
        assert actual["bound"] == actual["peak"]["bytes"] == plan.lower_bound_bytes
        assert plan.live_bytes[actual["peak"]["at"]] == max(plan.live_bytes)
        assert actual["user"]["arguments"] == plan.argument_bytes
        assert actual["user"]["gradients"] == plan.gradient_bytes
        assert graph_of(view, name)["steps"]["node"] == plan.steps


def test_totals_are_those_of_a_block() -> None:
    net, x = network(), mx.nd.zeros((2, 1, 12, 12))
    view = MemoryView(net, x, xla=False)
    for name, ways in PLANS.items():
        assert view.totals[name] == net.memory_plan(x, grad_req="write", **ways).total_bytes
    prediction = MemoryView(net, x, train=False)
    assert list(prediction.totals) == ["none", "inplace", "co-share", "both"]
    assert prediction.totals["both"] == net.memory_plan(x).total_bytes


def test_plans_of_the_same_operations_share_their_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    prepared = plans.graph_to_plan
    monkeypatch.setattr(plans, "graph_to_plan", lambda *args: calls.append(args) or prepared(*args))
    net = nn.Dense(2, in_units=3)
    net.initialize()
    view = MemoryView(net, mx.nd.ones((4, 3)), train=True)
    assert len(view.totals) == 5
    assert [args[-1] for args in calls] == [False, True], "one that keeps, one that recomputes"


def test_blocks_of_the_numpy_face_and_recurrent_ones() -> None:
    cell = mx.gluon.rnn.LSTM(16, 2)
    cell.initialize()
    inputs = mx.nd.zeros((5, 4, 3)), cell.begin_state(4)
    view = MemoryView(cell, *inputs, xla=False)
    assert view.totals["both"] == cell.memory_plan(*inputs, grad_req="write").total_bytes
    with mx.util.np_array(True), mx.util.np_shape(True):
        net = nn.HybridSequential()
        net.add(nn.Dense(8, activation="relu"), nn.Dropout(0.5), nn.BatchNorm(), nn.Dense(2))
        net.initialize()
        net.hybridize()
        x = mx.np.zeros((4, 3))
        view = MemoryView(net, x, xla=False)
        assert view.totals["both"] == net.memory_plan(x, grad_req="write").total_bytes


def test_three_steps_by_hand() -> None:
    x = mx.sym.Variable("data")
    view = MemoryView(mx.sym.exp(mx.sym.sin(mx.sym.sqrt(x))), data=(10, 10), train=False, xla=False)
    assert view.totals == {"none": 1200, "inplace": 400, "co-share": 800, "both": 400}
    none = [
        (begin, end, offset)
        for _, begin, end, offset, _ in boxes(graph_of(view, "none"), view.plan("none"))
    ]
    assert none == [(0, 2, 0), (1, 3, 400), (2, 3, 800)]
    both = [
        (begin, end, offset)
        for _, begin, end, offset, _ in boxes(graph_of(view, "both"), view.plan("both"))
    ]
    assert both == [(0, 1, 0), (1, 2, 0), (2, 3, 0)], "each in place of the one before"


@pytest.mark.parametrize("name", PLANS)
def test_boxes_do_not_overlap_and_stay_within_the_arena(name: str) -> None:
    view = MemoryView(network(), mx.nd.zeros((2, 1, 12, 12)), xla=False)
    plan, graph = view.plan(name), graph_of(view, name)
    actual = boxes(graph, plan)
    assert len(actual) > 5
    for _, begin, end, offset, size in actual:
        assert (
            0 <= begin <= end <= graph["length"] and 0 <= offset <= offset + size <= plan["total"]
        )
    for (_, b, e, o, s), (_, b2, e2, o2, s2) in itertools.combinations(actual, 2):
        assert not (b < e2 and b2 < e and o < o2 + s2 and o2 < o + s)
    assert max(size for _, size in live_curve(graph, plan)) == plan["peak"]["bytes"]
    alive = alive_at(graph, plan, plan["peak"]["at"])
    sizes = [plan["size"][plan["storage"][number]] for number in alive]
    assert sum(sizes) == plan["peak"]["bytes"] and sizes == sorted(sizes, reverse=True)


def test_parts_of_a_training_step() -> None:
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    view = MemoryView(
        network(), mx.nd.zeros((2, 1, 12, 12)), mx.nd.zeros((2,)), loss=loss, xla=False
    )
    graph = graph_of(view, "both")
    forward, backward = graph["regions"]
    assert forward["end"] == backward["begin"] and backward["end"] == graph["length"]
    columns = graph["arrays"]
    assert set(columns["kind"]) == {"A", "F", "B", "O"}
    for kind, begin, end in zip(columns["kind"], columns["begin"], columns["end"], strict=True):
        if kind == "A":
            assert begin < backward["begin"] < end
        if kind == "B":
            assert begin >= backward["begin"]
    again = graph_of(view, "recompute")["arrays"]
    assert "R" in again["kind"]
    assert view.payload["check"]["xla"] is None and "xla=True" in view.payload["check"]["note"]


def test_a_box_shows_the_line_of_its_layer() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3))
    view = MemoryView(net, mx.nd.zeros((2, 4)), xla=False)
    lines = [source[2] for source in view.payload["sources"]]
    assert "net.add(nn.Dense(3))" in lines


def test_xla_reports_its_own_figure() -> None:
    view = MemoryView(small_symbol(), data=(8, 12), xla=True)
    check = view.payload["check"]
    assert check["outputs"] == 8 * 4 * 4, "the softmax"
    assert check["xla"] == check["xla_temp"] + check["outputs"]
    assert "XLA's own" in dict.fromkeys(row[0] for row in view.table()[1])


def test_selected_is_the_name() -> None:
    view = MemoryView(small_symbol(), data=(8, 12), xla=False)
    assert view.selected is None
    view.choose(selected=1)
    assert view.selected == array_name(graph_of(view, "both"), 1) == "act"


def test_live_memory_is_that_of_the_log() -> None:
    with mx.runtime.memory() as log:
        a = mx.nd.ones((100, 100))
        b = a * 2
        b.wait_to_read()
        del b
        c = mx.nd.ones((50, 100))
        c.wait_to_read()
    for view in (MemoryView.live(log), MemoryView.live()):
        plan = view.plan("cpu(0)")
        graph = graph_of(view, "cpu(0)")
        at, size = log.peak(mx.cpu())
        assert plan["peak"]["bytes"] == plan["bound"] == size
        assert plan["peak"]["at"] == pytest.approx(at * 1e6, abs=0.001)
        mine = [array_name(graph, number) for number in alive_at(graph, plan, plan["peak"]["at"])]
        assert sorted(mine) == sorted(each.name for each in log.alive(at, mx.cpu()))
        assert max(level for _, level in live_curve(graph, plan)) == size
        assert any("b = a * 2" in source[2] for source in view.payload["sources"])


def test_an_array_shows_the_lines_that_produced_it() -> None:
    def filled(size: int) -> Any:
        return mx.nd.ones((size, 3))

    with mx.runtime.memory() as log:
        arrays = [filled(200), filled(200)]
        arrays += [filled(200)]
        mx.nd.waitall()
    payload = MemoryView.live(log).payload
    (graph,) = payload["graphs"]
    calls = {
        tuple(payload["sources"][source][2] for source in (own, *callers[:1]))
        for own, callers in zip(graph["steps"]["source"], graph["steps"]["callers"], strict=True)
        if own >= 0
    }
    line = "return mx.nd.ones((size, 3))"
    assert {
        (line, "arrays = [filled(200), filled(200)]"),
        (line, "arrays += [filled(200)]"),
    } <= calls
    assert log.to_dict()["allocations"][-1]["callers"][0]["text"].startswith("arrays")


def test_arrays_that_a_long_log_omits_are_counted(monkeypatch: Any) -> None:
    monkeypatch.setattr(memory_live, "LIMIT", 10)
    log = MemoryLog()
    for i in range(30):
        died = i + 1.0 if i % 2 else None
        log.allocations.append(
            Allocation(i, "x", (i,), "float32", 4 * i, "cpu(0)", None, float(i), died)
        )
    plan = MemoryView.live(log).plan()
    assert plan["of"] == 30 and len(plan["storage"]) == 10
    assert plan["peak"]["bytes"] == log.peak_bytes, "figures are of all"


def test_drawn_places_never_overlap() -> None:
    random.seed(3)
    lives = [
        (b := random.random(), b + random.random() * 0.3, random.choice([0, 5, 8, 13]))
        for _ in range(200)
    ]
    offsets, top = memory_live.stacked(lives)
    for (i, (b, e, s)), (j, (b2, e2, s2)) in itertools.combinations(enumerate(lives), 2):
        if s and s2 and b < e2 and b2 < e:
            assert offsets[i] + s <= offsets[j] or offsets[j] + s2 <= offsets[i]
    assert top == max(offset + size for offset, (_, _, size) in zip(offsets, lives, strict=True))


def test_error_messages_name_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttributeTypeError, match=r"function has no memory plan.*MemoryView\.live"):
        MemoryView(lambda x: x)
    with pytest.raises(AttributeTypeError, match=r"by position, not data by name"):
        MemoryView(network(), data=(1, 1, 12, 12))
    with pytest.raises(AttributeTypeError, match=r"got NDArray\..*the label if"):
        MemoryView(network(), mx.nd.zeros((2, 1, 12, 12)), loss=mx.gluon.loss.L2Loss())
    with pytest.raises(AttributeTypeError, match=r"shapes by name, such as data="):
        MemoryView(small_symbol(), mx.nd.zeros((8, 12)))
    with pytest.raises(mx.MXNetError, match="no variable 'dat'"):
        MemoryView(small_symbol(), dat=(8, 12))
    with pytest.raises(AttributeTypeError, match="data must be a shape or an array, not int"):
        MemoryView(small_symbol(), data=8)
    with pytest.raises(AttributeTypeError, match=r"does not take 1 input.*begin_state\(\)"):
        MemoryView(mx.gluon.rnn.LSTM(4), mx.nd.zeros((5, 2, 3)))
    monkeypatch.setattr(memory_live, "last_log", lambda: None)
    with pytest.raises(mx.MXNetError, match=r"with mx\.runtime\.memory\(\)"):
        MemoryView.live()
    with pytest.raises(mx.MXNetError, match="the log has no arrays"):
        MemoryView.live(MemoryLog())


def test_the_picture_has_all_plans_and_their_sizes() -> None:
    view = MemoryView(small_symbol(), data=(800, 1200), xla=False)
    text = view.svg()
    for name, size in view.totals.items():
        assert f">{name}  {size_text(size)}<" in text


def test_a_line_of_a_notebook_is_named_by_its_cell(run_as_cell_7: RunCell) -> None:
    with mx.runtime.source_lines():
        names = run_as_cell_7("symbol = mx.sym.exp(mx.sym.var('x'))\n")
    view = MemoryView(names["symbol"], x=(2, 3), train=False)
    assert ["In[7]", 1] in [source[:2] for source in view.payload["sources"]]
    assert "ipykernel" not in json.dumps(view.payload)


@pytest.mark.parametrize(
    "none, size, text",
    [
        (72_000, 48, "1500 times less"),
        (3650, 1000, "3.65 times less"),
        (100, 250, "2.5 times more"),
        (24, 24, "the same"),
        (0, 0, "the same"),
    ],
)
def test_sizes_are_compared_with_three_digits(none: int, size: int, text: str) -> None:
    assert than(none, size) == text
