"""HybridizeStepper: its payload against ``mx.stages`` and facts known by hand; the cell magic."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.base import AttributeTypeError
from mixnet.gluon import nn
from mixnet.widgets import HybridizeStepper, View, page
from mixnet.widgets.stepper import data as stepper_data
from tests.lines import line_within

FIXTURE = Path(__file__).parents[2] / "widgets" / "fixtures" / "stages.json"


class Net(gluon.HybridBlock):
    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.hidden = nn.Dense(16)
        self.norm = nn.BatchNorm()
        self.out = nn.Dense(4)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.hidden(x)
        x = F.relu(self.norm(x))
        return self.out(F.relu(x) + F.relu(x))


@pytest.fixture(scope="module")
def view() -> HybridizeStepper:
    with mx.name.NameManager():  # names start again
        net = Net(prefix="net_")
        net.initialize()
        return HybridizeStepper(net, nd.random.uniform(shape=(32, 8)))


def stage(view: HybridizeStepper, **expected: Any) -> dict[str, Any]:
    stages = view.payload["programs"][0]["stages"]
    return next(each for each in stages if expected.items() <= each.items())


def lines_of(stage: dict[str, Any], number: int) -> list[str]:
    """The lines of a stage's text that belong to a thing."""
    runs = next((row[1:] for row in stage["things"] if row[0] == number), [])
    lines = stage["text"].split("\n")
    return [
        lines[n - 1]
        for first, last in zip(runs[::2], runs[1::2], strict=True)
        for n in range(first, last + 1)
    ]


def number(view: HybridizeStepper, end: str) -> int:
    names = [each["name"] for each in view.payload["programs"][0]["things"]]
    return next(n for n, name in enumerate(names) if name.endswith(end))


def row(view: HybridizeStepper, stage: dict[str, Any], name: str) -> list[Any]:
    program = view.payload["programs"][0]
    rows = [program["records"][n] for n in program["graphs"][stage["graph"]]]
    return next(each for each in rows if program["strings"][each[0]] == name)


def test_every_stage_says_what_and_why(view: HybridizeStepper) -> None:
    stages = view.payload["programs"][0]["stages"]
    kinds = [each["kind"] for each in stages]
    assert kinds[0] == "source" and kinds[-5:] == ["plan", "jaxpr", "stablehlo", "hlo", "run"]
    assert all(len(each["why"]) > 30 and each["title"] for each in stages)


def test_fixture_of_the_front_end_is_such_a_payload(view: HybridizeStepper) -> None:
    """``widgets/fixtures/stages.json``; after a change of the payload write it again:
    ``view.to_json(FIXTURE)``.
    """
    stored = json.loads(FIXTURE.read_text())
    assert keys(stored) == keys(view.payload)
    mine, its = view.payload["programs"][0], stored["programs"][0]
    assert [each["name"] for each in its["things"]] == [each["name"] for each in mine["things"]]
    assert list(map(keys, its["stages"])) == list(map(keys, mine["stages"]))


def keys(payload: dict[str, Any]) -> set[str]:
    return set(payload)


def test_stages_of_the_table_are_counted_from_1(view: HybridizeStepper) -> None:
    numbers = [row[0].rpartition(".")[2] for row in view.table()[1]]
    assert numbers[:3] == ["1", "2", "3"]


def test_passes_have_words() -> None:
    from mixnet.passes.pipeline import PASSES

    assert {each.__name__ for passes in PASSES.values() for each in passes} <= set(
        stepper_data.WORDS
    )


def test_operations_are_counted_and_changes_are_listed(view: HybridizeStepper) -> None:
    assert stage(view, kind="graph", purpose="graph")["what"] == "7 operations"
    merged = stage(view, **{"pass": "eliminate_common"}, purpose="graph")
    assert merged["changed"] and merged["what"] == "7 → 6 operations: merged relu2 into relu1"
    assert stage(view, **{"pass": "fold_constants"}, purpose="graph")["changed"] is False
    assert view.summary().startswith("stages of block net: 7 recorded operations, 6 after passes")


def test_nodes_of_every_stage_lead_to_the_same_things(view: HybridizeStepper) -> None:
    recorded = stage(view, kind="graph", purpose="graph")
    joined = stage(view, kind="graph", purpose="segment")
    relu1 = [number(view, "relu1")]
    assert list(row(view, recorded, "net_relu1")[7]) == relu1
    assert list(row(view, recorded, "net_relu2")[7]) == relu1, "it was merged into relu1"
    operations = [
        n for n, each in enumerate(view.payload["programs"][0]["things"]) if "lines" in each
    ]
    assert sorted(row(view, joined, "net")[7]) == operations, "the block stands for all of it"


def test_lines_lead_to_operations(view: HybridizeStepper) -> None:
    things = view.payload["programs"][0]["things"]
    expected = line_within(Net, "F.relu(self.norm(x))")
    assert {each["name"] for each in things if [0, expected] in each.get("lines", ())} == {
        "net/batchnorm0_fwd", "net/net_relu0",
    }  # fmt: skip
    (section,) = view.payload["source"]
    assert section["file"] == "test_stepper.py", "no folders of a machine"
    assert dict(map(tuple, section["lines"]))[expected].strip() == "x = F.relu(self.norm(x))"


def test_texts_lead_to_operations(view: HybridizeStepper) -> None:
    jaxpr, stablehlo, hlo = (stage(view, kind=kind) for kind in ("jaxpr", "stablehlo", "hlo"))
    assert any(" dot_general[" in text for text in lines_of(jaxpr, number(view, "/dense0_fwd")))
    assert any("rsqrt" in text for text in lines_of(jaxpr, number(view, "/batchnorm0_fwd")))
    (added,) = lines_of(jaxpr, number(view, "_plus0"))
    assert re.match(r"    \w+:f32\[32,16\] = add \w+ \w+$", added)
    assert any(
        "stablehlo.dot_general" in t for t in lines_of(stablehlo, number(view, "/dense1_fwd"))
    )
    assert any(
        " dot(" in t or "custom-call" in t or "fusion(" in t
        for t in lines_of(hlo, number(view, "/dense1_fwd"))
    )
    (data,) = lines_of(hlo, number(view, "data"))
    assert "f32[32,8]" in data and "parameter(1)" in data, "the first input is the data"


def test_lines_of_hlo_are_those_that_xla_named(view: HybridizeStepper) -> None:
    """Against the metadata of the whole text, which the payload leaves out."""
    assert view.stages is not None
    named = {}
    for line in view.stages.program.hlo.splitlines():
        match = re.match(r'\s+(?:ROOT )?%?([\w.\-]+) = .*op_name="([^"]+)"', line)
        if match:
            named[match[1]] = match[2]
    hlo = stage(view, kind="hlo")
    assert "metadata=" not in hlo["text"] and "FileNames" not in hlo["text"]
    checked = 0
    for n, each in enumerate(view.payload["programs"][0]["things"]):
        if "lines" not in each:
            continue
        for text in lines_of(hlo, n):
            name = re.match(r"\s+(?:ROOT )?%?([\w.\-]+) = ", text)
            assert name and each["name"].replace("/", "_") in named[name[1]]
            checked += 1
    assert checked > 8
    assert hlo["text"].split("\n")[2].startswith("ENTRY"), "the entry comes first"


def test_pieces_are_those_of_stages(view: HybridizeStepper) -> None:
    assert view.stages is not None
    program = view.payload["programs"][0]
    names = [each["name"] for each in program["things"]]
    for mine, truth in zip(program["groups"], view.stages.program.groups, strict=True):
        assert [names[n] for n in mine["things"]] == truth["nodes"]
        assert (mine["in"], mine["out"]) == (truth["bytes_in"], truth["bytes_out"])
        assert (
            f"{truth['hlo_name']} = "
            in stage(view, kind="hlo")["text"].split("\n")[mine["line"] - 1]
        )


def test_memory_plan_is_the_planners(view: HybridizeStepper) -> None:
    assert view.stages is not None and view.stages.program.memory_plan is not None
    truth, plan = view.stages.program.memory_plan, stage(view, kind="plan")["plan"]
    assert plan["total"] == truth["total_bytes"]
    hidden = 32 * 16 * 4  # the result of the first layer, float32
    of_hidden = [each for each in plan["arrays"] if each[4] == number(view, "/dense0_fwd")]
    assert [each[3] for each in of_hidden] == [hidden]
    assert plan["alone"] >= plan["total"] >= plan["least"]


def test_nodes_are_selected_by_name(view: HybridizeStepper) -> None:
    view.select("relu1")
    assert view.selected == ["net/net_relu1"]
    view.select("hidden")
    assert view.selected == ["net/dense0_fwd"]
    with pytest.raises(
        mx.MXNetError, match=r"no operation is named nothing; the names are .*relu0"
    ):
        view.select("nothing")


def test_a_plugged_in_pass_is_shown_by_its_name() -> None:
    assert stepper_data._words("my_pass")[0] == "my pass"


def test_cache_and_why_it_was_traced_again() -> None:
    net = nn.Dense(3, in_units=4)
    net.initialize()
    net.hybridize()
    net(nd.ones((2, 4))).wait_to_read()
    net(nd.ones((5, 4))).wait_to_read()
    cache = HybridizeStepper(net, nd.ones((7, 4))).payload["cache"]
    assert [each["key"].split(";")[0] for each in cache["entries"]] == [
        "data float32 2×4",
        "data float32 5×4",
    ]
    assert cache["entries"][1]["reasons"] == ["data: shape (2, 4) -> (5, 4)"]
    assert not cache["known"] and cache["reasons"] == ["data: shape (5, 4) -> (7, 4)"]
    assert HybridizeStepper(net, nd.ones((5, 4))).payload["cache"]["known"]


def lenet_step() -> HybridizeStepper:
    net = nn.HybridSequential()
    with mx.name.NameManager():  # numbers of blocks begin with 0
        net.add(
            nn.Conv2D(6, 5, activation="tanh"), nn.AvgPool2D(), nn.Conv2D(16, 5, activation="tanh"),
            nn.AvgPool2D(), nn.Flatten(), nn.Dense(120, activation="tanh"),
            nn.Dense(84, activation="tanh"), nn.Dense(10),
        )  # fmt: skip
    net.initialize()
    net.hybridize()
    x, y = nd.random.uniform(shape=(16, 1, 28, 28)), nd.zeros((16,))
    net(x).wait_to_read()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})

    def step(x: Any, y: Any) -> Any:
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(16)
        return value

    return HybridizeStepper(step, x, y)


def test_a_training_step_is_small_and_its_gradients_are_linked() -> None:
    view = lenet_step()
    assert len(page.pack(view.payload)) < 60_000
    program = view.payload["programs"][0]
    layout = stage(view, **{"pass": "choose_layout"})
    before = program["stages"][program["stages"].index(layout) - 1]
    rows = [program["records"][n] for n in program["graphs"][before["graph"]]]
    of_pooling = [
        each for each in rows if program["strings"][each[0]].endswith("pool1_fwd_backward")
    ]
    assert len(of_pooling) == 1
    meanings = [program["things"][n]["name"] for n in of_pooling[0][7]]
    assert meanings and all("pool1_fwd_backward" in name for name in meanings)
    jaxpr = {each[0] for each in stage(view, kind="jaxpr")["things"]}
    updates = [n for n, each in enumerate(program["things"]) if "sgd_mom_update" in each["name"]]
    assert len(updates) == 10 and set(updates) <= jaxpr


def test_long_texts_are_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepper_data, "CHARACTERS", 600)
    net = nn.Dense(2, in_units=3)
    net.initialize()
    view = HybridizeStepper(net, nd.ones((4, 3)))
    for kind in ("stablehlo", "hlo"):
        text = stage(view, kind=kind)
        lines = text["text"].split("\n")
        assert len(text["text"]) <= 600 and len(lines) < text["of"]
        assert f"the first {len(lines)} are shown" in text["what"]
        assert all(max(row[1:]) <= len(lines) for row in text["things"])


def test_symbols_and_results_of_stages() -> None:
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    view = HybridizeStepper(out, data=(5, 2))
    assert view.payload["kind"] == "symbol" and "1 recorded operation" in view.summary()
    again = HybridizeStepper(mx.stages(out, data=(5, 2)))
    assert again.payload["programs"][0]["strings"] == view.payload["programs"][0]["strings"]


def test_a_scope_that_records_nothing_is_an_error() -> None:
    with pytest.raises(AttributeTypeError, match=r"recorded no operation on NDArrays"):
        HybridizeStepper(lambda: None)


def test_a_stored_view_can_be_shown() -> None:
    view = lenet_step()
    again = View.of(json.loads(view.to_json()), view.state)
    assert again.html() == view.html()


# ---- %%stages --------------------------------------------------------------------------------


@pytest.fixture
def shell(ipython: Any) -> Any:
    mx.widgets.load_ipython_extension(ipython)
    ipython.user_ns.update(mx=mx, nd=nd, x=nd.array([[1.0, -2.0]]))
    return ipython


def test_cell_magic_shows_stages_and_runs_the_cell(shell: Any) -> None:
    shell.user_ns["count"] = 0
    view = shell.run_cell_magic("stages", "", "count += 1\ny = nd.relu(x)\nz = (y + 1).sum()\n")
    assert isinstance(view, HybridizeStepper)
    assert shell.user_ns["count"] == 1 and float(shell.user_ns["z"].asscalar()) == 3.0
    things = view.payload["programs"][0]["things"]
    by_line = {each["lines"][0][1]: each["name"] for each in things if each.get("lines")}
    assert by_line[2].startswith("relu")
    texts = dict(map(tuple, view.payload["source"][0]["lines"]))
    assert texts[1] == "count += 1" and texts[2] == "y = nd.relu(x)"


def test_cell_magic_can_skip_running_the_cell(shell: Any) -> None:
    x = shell.user_ns["x"]
    view = shell.run_cell_magic("stages", "--only", "x[:] = x * 2\nfresh = x + 1\n")
    assert "fresh" not in shell.user_ns and view.payload["programs"]
    np.testing.assert_array_equal(x.asnumpy(), [[1.0, -2.0]])


def test_cell_magic_refuses_unknown_options(shell: Any) -> None:
    with pytest.raises(mx.MXNetError, match=r"accepts only --only, not quick"):
        shell.run_cell_magic("stages", "quick", "x + 1")


class Twins(gluon.HybridBlock):
    """Layers whose attributes are not what the library calls them."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.wide = nn.Dense(8, activation="relu", in_units=4)
        self.narrow = nn.Dense(4, in_units=8)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.narrow(self.wide(x))


def test_operations_are_called_as_in_the_program() -> None:
    net = Twins()
    net.initialize()
    x, y = nd.ones((2, 4)), nd.zeros((2, 4))
    view = HybridizeStepper(net, x, y, train=True, loss=gluon.loss.L2Loss())
    program = view.payload["programs"][0]
    tails = {name.rpartition("/")[2]: label for name, label in program["labels"].items()}
    wide, narrow = (each.name for each in (net.wide, net.narrow))
    assert tails[f"{wide}_fwd"] == "wide" and tails[f"{wide}_relu_fwd"] == "wide.act"
    assert tails[f"{narrow}_fwd"] == "narrow"
    assert tails[f"{wide}_fwd_backward"] == "∇ wide"
    assert tails[net.narrow.weight.name] == "narrow.weight"
    ops = {row[0]: row[1] for row in program["records"]}
    strings = program["strings"]
    named = {strings[name]: strings[op] for name, op in ops.items()}
    assert all(named[n] for n, label in program["labels"].items() if label in ("wide", "narrow"))


def test_a_fused_node_stands_for_all_its_parts() -> None:
    assert stepper_data._is_in("net0/relu0", "net0/conv0+relu0")
    assert stepper_data._is_in("conv0", "conv0+relu0")
    assert not stepper_data._is_in("net1/relu0", "net0/conv0+relu0")
    assert not stepper_data._is_in("net0/relu", "net0/conv0+relu0")
