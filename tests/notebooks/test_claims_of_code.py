"""Claims of lessons about numbers, counts and orders hold for the results of their code."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn, rnn
from mixnet.graph.node import Entry
from mixnet.widgets import page
from tests import processes
from tests.notebooks.test_claims import FOLDER, cells, printed, the

ROOT = FOLDER.parent


def names_of(source: str, until: str | None = None, **names: Any) -> dict[str, Any]:
    """What a cell's source defines, up to the line that begins with ``until``."""
    if until is not None:
        source = source[: re.search(f"^{re.escape(until)}", source, re.M).start()]  # type: ignore[union-attr]
    exec(source, names)
    return names


def payloads(cell: Any) -> list[dict[str, Any]]:
    """The data of the views that a cell shows."""
    texts = [each.data.get("text/html", "") for each in cell.outputs if "data" in each]
    packed = re.findall(r'application/x-mixnet">([^<]+)<', "\n".join(texts))
    return [page.unpack(each)["payload"] for each in packed]


def lines_of(source: str) -> int:
    return sum(bool(line.strip()) for line in source.splitlines())


_RUNS = """
import json, sys, time
import mixnet as mx
from mixnet import nd

space = {"nd": nd, "time": time, "grey": nd.ones((107, 160))}
space["grey"].wait_to_read()
exec(sys.argv[1], space)
for _ in range(3):
    mx.runtime.reset_counters()
    space["timed"](40)
    print(json.dumps(mx.runtime.counters()))
"""


def test_lesson_1_counts_what_its_runs_compile() -> None:
    source = the("01_arrays_and_laziness", "def timed(").source
    run = processes.run(
        [sys.executable, "-c", _RUNS, source[: source.index("for run in")]],
        env={**os.environ, "MIXNET_INTERPRET": "0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    first, second, third = (json.loads(line) for line in run.stdout.splitlines())
    text = the("01_arrays_and_laziness", 'Recording ("writing down")').source
    numbers = re.findall(
        r"has (\d+) operations that are new: (\d+) make .* the (\d+) blurs has three .*"
        r"Only (\d+) of them .* runs the (\d+) one by one",
        text,
    )[0]
    new, matrices, blurs, different, alone = map(int, numbers)
    assert new == alone == matrices + 3 * blurs
    assert first["run_by_operator"] == new and first["programs_compiled"] == different
    (repeated,) = map(int, re.findall(r"second run has only the (\d+) operations", text))
    assert second["run_by_operator"] == repeated == 3 * blurs and second["programs_compiled"] == 0
    assert third["run_by_operator"] == 0 and third["programs_compiled"] == 1


def test_lesson_1_waits_for_the_compiler_once_and_reads_cost() -> None:
    shown = printed(the("01_arrays_and_laziness", "def timed("))
    rows = [
        (float(writing), float(waiting))
        for writing, waiting in re.findall(r"writing down +(\S+) ms, waiting +(\S+) ms", shown)
    ]
    assert all(writing < 3 for writing, _ in rows)  # "about a millisecond"
    waits = [waiting for _, waiting in rows]
    assert min(waits[0], waits[2]) > 5 * max(waits[1], *waits[3:])
    shown = printed(the("01_arrays_and_laziness", "def curious("))
    silent, curious = (eval(each) for each in re.findall(r"\{.*\}", shown))
    assert silent["compiled"] == curious["compiled"] == 0
    assert (silent["programs run"], curious["programs run"]) == (1, 41)
    assert silent["ms"] < curious["ms"]


def test_lesson_1_knows_which_lines_compute() -> None:
    text = the("01_arrays_and_laziness", "Which of these lines forces").source
    lines = re.findall(r"`([^`]+)`", text[text.index("**Question") : text.index("<details>")])
    forcing = []
    for line in lines:
        grey = nd.ones((4, 5)) + 1
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            call = line.replace("print(grey)", "print(grey, file=nowhere)")
            eval(call, {"grey": grey, "nowhere": nowhere})
        if grey.to_dict()["state"] == "ready":
            forcing.append(line)
    assert forcing == ["print(grey)", "float(grey.mean())", "grey.asnumpy()"]
    ended = printed(the("01_arrays_and_laziness", "x = blur(grey)\nfloat(x.mean())"))
    assert ended == "{'asnumpy': 2, 'waitall': 1}"


def test_lesson_2_counts_its_data_and_its_arguments() -> None:
    text = the("02_symbols", "breast lumps were measured").source
    count, features = map(int, re.findall(r"^(\d+) breast lumps .*: (\d+) features", text, re.M)[0])
    data = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    assert data.data.shape == (count, features)
    train, test = map(
        int,
        re.findall(
            r"(\d+) for training, (\d+) for testing", printed(the("02_symbols", "for training"))
        )[0],
    )
    assert train + test == count and test == count // 5
    assert f"the other {test} lumps" in the("02_symbols", "`reshape` creates").source
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="hidden")
    assert layer.infer_shape_partial(hidden_weight=(8, 30)) == ([(), (8, 30), ()], [()], [])
    shapes = layer.infer_shape_partial(data=(0, 30))  # as MXNet 1.9.1 answers both
    assert shapes == ([(0, 30), (8, 30), (8,)], [(0, 8)], [])


def test_lesson_2_takes_a_part_out_and_stores_no_values() -> None:
    net = names_of(the("02_symbols", 'name="two")').source, mx=mx)["net"]
    two = net.get_internals()["two_output"]
    missing = set(net.list_arguments()) - set(two.list_arguments())
    assert missing == {"out_weight", "out_bias", "softmax_label"}
    (size,) = re.findall(r"(\d+) characters; equal", printed(the("02_symbols", "net.tojson()")))
    assert int(size) == len(net.tojson())
    solved = names_of(the("02_symbols", "deep = solution(").source, "check_residual", mx=mx)
    deep = mx.sym.var("x")
    for i in range(3):
        deep = solved["solution"](deep, 16, 8, f"block{i}")
    operations = sum(node["op"] is not None for node in deep.to_dict()["nodes"])
    assert f"{operations} operations" in printed(the("02_symbols", "GraphView(deep"))


def the_pass() -> dict[str, Any]:
    """Lesson 3's rules and its ``differentiate``."""
    rules = names_of(the("03_autograd", '    "elemwise_add": lambda').source, mx=mx)
    source = the("03_autograd", "def differentiate(").source
    return names_of(source, "by_a, by_b", **rules, Entry=Entry)


def test_lesson_3_writes_a_short_pass_whose_graphs_repeat_themselves() -> None:
    source = the("03_autograd", "def differentiate(").source
    (most,) = re.findall(r"in fewer than (\d+) lines", cells("03_autograd")[0].source)
    assert lines_of(source[: source.index("by_a, by_b")]) < int(most)
    differentiate = the_pass()["differentiate"]
    curves = [mx.sym.tanh(mx.sym.var("t"))]
    for _ in range(3):
        curves.append(differentiate(curves[-1], ["t"])[0])
    counts = [len(curve.graph.nodes) for curve in curves]
    assert str(counts) in printed(the("03_autograd", "curves = [mx.sym.tanh"))
    distinct: dict[Any, int] = {}
    number: list[int] = []
    nodes = curves[-1].to_dict()["nodes"]
    for node in nodes:
        inputs = tuple((number[source], output) for source, output, *_ in node["inputs"])
        label = node["op"] or node["name"]
        key = (label, str(node.get("attributes", node.get("attrs"))), inputs)
        number.append(distinct.setdefault(key, len(distinct)))
    assert len(distinct) < len(nodes) - 3  # "many are equal"


def test_lesson_3_fits_as_well_as_least_squares() -> None:
    data = pytest.importorskip("sklearn.datasets").load_diabetes()
    assert (
        f"Ten measurements of each of {len(data.data)} people"
        in the("03_autograd", "people with diabetes").source
    )
    assert data.data.shape[1] == 10
    x = data.data / data.data.std(0)
    y = (data.target - data.target.mean()) / data.target.std()
    weights = np.zeros(10)
    for _ in range(50):  # the derivative of the loss, by hand
        weights -= 0.05 / len(x) * 2 * x.T @ (x @ weights - y)
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    reached, least = (((x @ each - y) ** 2).mean() for each in (weights, best))
    assert least < reached < 1.02 * least  # "your pass gets there"
    largest = np.argsort(-np.abs(weights))[:3]
    assert {data.feature_names[i] for i in largest} == {"bmi", "bp", "s5"}


def test_lesson_5_runs_its_four_tasks_in_two_tenths() -> None:
    shown = printed(the("05_the_engine", "pushed after {"))
    ((pushed, done),) = re.findall(r"pushed after (\S+) ms, done after (\d+) ms", shown)
    assert float(pushed) < 10 and 200 <= int(done) < 250
    first = re.findall(r"'([^']+)'", shown)
    assert set(first[:2]) == {"write a", "write b"} and set(first[2:]) == {"read a", "a to b"}
    (view,) = payloads(the("05_the_engine", "def four()"))
    (run,) = view["runs"]
    assert "MainThread" in [lane["name"] for lane in run["lanes"]]


def test_lesson_5_saves_while_it_computes_and_threads_are_quicker() -> None:
    (view,) = payloads(the("05_the_engine", "def everyday()"))
    (run,) = view["runs"]
    tasks = run["ops"]
    begins = np.add(np.add(tasks["pushed"], tasks["queued"]), tasks["waited"])
    ends = begins + np.array(tasks["ran"])
    names = [run["strings"][i] for i in tasks["name"]]
    save, product = names.index("save numbers.nd"), names.index("dot")
    assert begins[save] < ends[product] and begins[product] < ends[save]
    shown = printed(the("05_the_engine", "EngineTimeline.compare"))
    naive, threaded = re.findall(r"on (\d+) threads? in (\d+) ms", shown)
    assert naive[0] == "1" and int(threaded[1]) < int(naive[1]) / 2
    shown = printed(the("05_the_engine", 'Puzzle("tasks")'))
    chain, engine, alone = map(
        int, re.findall(r"chain (\d+), engine (\d+), one thread (\d+)", shown)[0]
    )
    assert chain == engine < alone


def test_lesson_5_says_what_undeclared_reads_and_errors_do() -> None:
    tile, joined = mx.engine.Var("tile"), mx.engine.Var("joined")
    tiles: dict[int, int] = {}
    has_failed = threading.Event()

    def fetch() -> None:
        has_failed.wait(60)
        tiles[0] = 1

    mx.engine.push(fetch, writes=[tile], name="fetch", resource="io")
    mx.engine.push(lambda: tiles[0], reads=[], writes=[joined], name="join")
    with pytest.raises(KeyError):
        mx.engine.wait_for_var(joined)
    has_failed.set()
    mx.engine.wait_for_var(tile)
    mx.engine.push(lambda: None, writes=[joined], name="write again")
    mx.engine.wait_for_var(joined)  # "a later write clears the error"
    files = re.findall(r"`(mixnet/engine/\w+\.py)`", cells("05_the_engine")[-1].source)
    assert len(files) == 3
    for file in files:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) jax", source, re.M), file


def test_lesson_7_counts_its_lines_and_its_programs() -> None:
    text = the("07_operators", "operator that increases the contrast").source
    assert "## Four lines" in text
    assert lines_of(the("07_operators", '@mx.ops.register("contrast")').source) == 4
    gains = np.linspace(2, 20, 10)
    assert 12 in gains  # compiled before
    assert printed(the("07_operators", "def compiled(call)")).strip() == "9"
    assert printed(the("07_operators", '@mx.ops.register("contrast_by")')).strip() == "1"
    shown = printed(the("07_operators", "program = mx.stages(enhance, photo)"))
    groups = re.findall(r"^[\w ]+: (enhance0.*)$", shown, re.M)
    assert groups == ["enhance0/mean0, enhance0/mul_scalar0, enhance0/contrast0"]  # "One"
    assert " exponential(" in shown and " divide(" in shown
    light = nd.arange(0, 1.001, 0.02)
    light.attach_grad()
    with autograd.record():
        out = nd.round(light * 3) / 3
    out.backward()
    assert float(light.grad.abs().max()) == 0
    assert "0.0" in printed(the("07_operators", '@mx.ops.register("steps")'))


def test_lesson_9_counts_its_weights() -> None:
    shown = printed(the("09_lenet_and_resnet", "def lenet()"))
    rows = {
        name: (eval(shape), int(count.replace(",", "")))
        for name, shape, count in re.findall(r"^(\w+) +(\([\d, ]+\)) +(\S+) numbers", shown, re.M)
    }
    assert all(np.prod(shape) == count for shape, count in rows.values())
    text = the("09_lenet_and_resnet", "How many weights would a fully connected").source
    assert f"{8 * 4 * 4 * 16 * 4 * 4:,} weights" in text
    assert f"= {rows['conv1_weight'][1]:,}" in text
    zoo = gluon.model_zoo.vision
    depths = [int(each) for each in re.findall(r"resnet(\d+)_v1'", str(dir(zoo)))]
    assert (
        f"of {min(depths)} to {max(depths)} layers"
        in the("09_lenet_and_resnet", "has ResNets of").source
    )


def towers() -> dict[str, Any]:
    """Lesson 9's networks, its loss and its first digits."""
    space: dict[str, Any] = {"mx": mx, "nn": nn, "nd": nd, "autograd": autograd, "np": np}
    start = the("09_lenet_and_resnet", "def start(").source
    names_of_start = start[start.index("def start(") : start.index("\n\nnet = start")]
    exec(names_of_start, space)
    source = the("09_lenet_and_resnet", "def tower(").source
    return names_of(source, "nets = {", **space)


def test_lesson_9_has_as_many_weights_with_the_sum_as_without() -> None:
    tower = towers()["tower"]
    counts = []
    for skip in (False, True):
        net = tower(12, skip)
        net(nd.zeros((1, 1, 8, 8)))
        counts.append(sum(np.prod(each.shape) for each in net.collect_params().values()))
    assert counts[0] == counts[1]
    text = the("09_lenet_and_resnet", "Whatever the net with 2 units").source
    assert "one with 12" in text and "ten of its units" in text
    (operations,) = re.findall(
        r"(\d+) operations", printed(the("09_lenet_and_resnet", "twelve residual units"))
    )
    assert int(operations) == 12 * 5 + 5  # two convolutions, two relus and a sum in each unit


def test_lesson_9_loses_the_gradient_without_the_sum() -> None:
    space = towers()
    random = np.random.default_rng(0)

    class Data:
        train_x = random.random((256, 1, 8, 8)).astype("float32")
        train_y = random.integers(0, 10, 256).astype("float32")

    source = the("09_lenet_and_resnet", "def gradient_sizes(").source
    space = names_of(
        source,
        "figure, axes",
        **space,
        data=Data,
        loss_of=gluon.loss.SoftmaxCrossEntropyLoss(),
    )
    plain, residual = (space["gradient_sizes"](12, skip) for skip in (False, True))
    assert plain[0] < plain[-1] / 10 and residual[0] > residual[-1] / 10


def test_lesson_10_counts_its_letters_and_learns() -> None:
    shown = printed(the("10_sequence_models", "def descriptions("))
    (letters,) = re.findall(r"(\d+) different ones", shown)
    shown = printed(the("10_sequence_models", "perplexities = []"))
    assert f"knowing nothing: {letters};" in shown
    curve = [float(each) for each in re.findall(r"\[(.+)\]", shown)[0].split()]
    assert curve == sorted(curve, reverse=True) and 1 < curve[-1] < 10 < curve[0] < int(letters)
    shown = printed(the("10_sequence_models", "def write(pick"))
    coldest, *_, hottest = re.findall(r"temperature \S+\n(.+?)\n\n", shown + "\n", re.S)
    distinct = [len(set(each.split())) / len(each.split()) for each in (coldest, hottest)]
    assert distinct[0] < 0.6 < distinct[1]  # "goes round in circles"


def test_lesson_10_steps_in_two_lines_and_forgets() -> None:
    source = the("10_sequence_models", 'for letter in "Python"').source
    (loop,) = re.findall(r"\n    (x = .+\n    h = .+)\n", source)
    assert "in two lines" in the("10_sequence_models", "## One step").source
    assert len(loop.splitlines()) == 2
    shown = printed(the("10_sequence_models", 'for letter in "Python"'))
    by_hand, by_cell = re.findall(r"\[(.+)\]", shown)
    assert by_hand == by_cell
    source = the("10_sequence_models", "def influence(").source
    influence = names_of(source, "cells = {", nd=nd, autograd=autograd)["influence"]
    mx.random.seed(2)
    cell: Any = rnn.RNNCell(16, input_size=16)
    cell.initialize(mx.init.Xavier())
    sizes = influence(cell, steps=13)
    assert sizes[0] < sizes[-1] / 10  # "loses most of the gradient within a dozen steps"
    bias = mx.init.LSTMBias(forget_bias=3.0)
    cell = rnn.LSTMCell(16, input_size=16, i2h_bias_initializer=bias)
    cell.initialize(mx.init.Xavier())
    sizes = influence(cell, steps=13)
    assert sizes[0] > sizes[-1] / 5


def test_lesson_10_has_one_node_for_its_lstm() -> None:
    layer = rnn.LSTM(4, layout="NTC", input_size=3)
    layer.initialize()
    counts = []
    for steps in (2, 9):
        program = mx.stages(layer, nd.zeros((1, steps, 3)), layer.begin_state(1)).program
        graph = program.steps[0]["graph"]
        counts.append([node["op"] for node in graph["nodes"] if node["op"]])
    assert counts[0] == counts[1] and counts[0].count("RNN") == 1
    (view,) = payloads(the("10_sequence_models", "the writer, for one character"))
    assert sum(view["strings"][op] == "RNN" for op in view["nodes"]["op"] if op >= 0) == 1


def test_lesson_14_knows_the_kinds_of_numbers() -> None:
    text = the("14_mixed_precision", "`float16` spends its bits").source
    half = np.finfo("float16")
    assert f"{float(half.smallest_normal):.5f} to {float(half.max):,.0f}" in text
    brain = pytest.importorskip("ml_dtypes").finfo("bfloat16")
    assert f"after 1 comes {1 + float(brain.eps):.4f}" in text
    assert np.float16(2048) + np.float16(1) == 2048
    tenths = np.full(10_000, 0.1, "float16")
    stuck = np.cumsum(tenths, dtype="float16")[-1]
    assert f"From {stuck:g} on" in the("14_mixed_precision", "a tenth is less than half").source
    assert np.spacing(np.float16(stuck)) / 2 > 0.1 and np.float16(1) + np.float16(1e-4) == 1
    mean = nd.array(tenths, dtype="float16").mean()  # "means do that internally"
    assert float(mean.asscalar()) == pytest.approx(0.1, rel=1e-3)
    assert np.float16(2.0**-25) == 0 < np.float16(2.0**-24)  # the red and the orange range
    assert float(half.smallest_normal) == 2.0**-14


def test_lesson_14_casts_what_it_says_and_learns_as_well() -> None:
    rows = [
        line.split(maxsplit=2)
        for line in printed(the("14_mixed_precision", "for node in graph[")).splitlines()
        if line.strip()
    ]
    layers = [op for op, *_ in rows if op in ("Convolution", "FullyConnected")]
    casts = [shape for op, _, shape in rows if op == "amp_cast"]
    assert len(casts) == 1 + 2 * len(layers)  # the picture; each weight and bias
    assert casts[0] == "[8, 1, 8, 8]" and {dtype for _, dtype, _ in rows} == {"float16"}
    shown = printed(the("14_mixed_precision", 'amp.init("float16")'))
    ((mixed, full),) = re.findall(r"mixed: (\S+)%, against (\S+)%", shown)
    assert abs(float(mixed) - float(full)) < 3 and "weights are kept in float32" in shown
    lists = mx.contrib.amp.lists.symbol_fp16
    assert f"half precision:  {' '.join(lists.FP16_FUNCS)}\n" in shown
    assert {"Convolution", "FullyConnected"} <= set(lists.FP16_FUNCS)
    assert {"softmax", "exp", "norm", "SoftmaxOutput", "CTCLoss"} <= set(lists.FP32_FUNCS)


def test_lesson_16_counts_the_lines_and_operators_of_its_interpreter() -> None:
    pooling = the("16_exporting", "def solution(xp").source
    rest = the("16_exporting", "def convolution(xp").source
    count = lines_of(pooling[: pooling.index("check_pooling")]) + lines_of(
        rest[: rest.index("by_hand = run(")]
    )
    assert abs(count - 60) <= 3
    texts = "\n".join(cell.source for cell in cells("16_exporting"))
    assert texts.count("sixty lines") == 3
    shown = printed(the("16_exporting", "graph = json.loads(symbol_file"))
    operators = {line.split()[1] for line in shown.splitlines() if re.match(r" ?\d", line)}
    assert len(operators - {"null"}) == 5 and "five are enough" in texts
    assert len(re.findall(r'node\["op"\] == "(?!null)\w+"', rest)) == 5


def test_lesson_16_says_what_its_conversions_make() -> None:
    shown = printed(the("16_exporting", 'title="read back from ONNX"'))
    ours, back = map(int, re.findall(r"(\d+) operations", shown))
    assert back == ours + 1  # "one box is new"
    shown = printed(the("16_exporting", "kinds = Counter("))
    assert "reduce_window" not in shown and "maximum" in shown and "slice" in shown
    total, kinds = map(int, re.findall(r"^(\d+) operations of (\d+) kinds", shown)[0])
    parts = [int(each) for each in re.findall(r" (\d+)(?:,|$)", shown.splitlines()[1])]
    assert sum(parts) == total and len(parts) == kinds
    schemas = pytest.importorskip("onnx").defs.get_all_schemas()
    operators = {each.name for each in schemas if each.domain == ""}
    assert (
        abs(len(operators) - 200) <= 15
        and "some 200 operators" in the("16_exporting", "## StableHLO").source
    )
    _, small = payloads(the("16_exporting", "quantize_net_v2"))
    nodes, specs = small["nodes"], small["specs"]
    results = [
        specs[small["outs"][nodes["outputs"][i]][0]][1]
        for i, op in enumerate(nodes["op"])
        if op >= 0
    ]
    assert set(results[:-1]) == {"uint8"}  # everything between the first and the last box


def test_lesson_16_says_how_small_and_how_good_its_integers_are() -> None:
    shown = printed(the("16_exporting", "contenders = {"))
    full, small = (int(each.replace(",", "")) for each in re.findall(r"(\S+) bytes", shown))
    (_, weights), *_ = [
        re.findall(r"(\d+) operations.*parameters (\S+) kB", line)[0]
        for line in printed(the("16_exporting", "quantize_net_v2")).splitlines()
        if "float32:" in line
    ]
    arrays = float(weights) * 1e3
    assert small - arrays / 4 >= full - arrays  # names and the graph do not shrink
    assert full / 4 < small < full / 2
    shown = printed(the("16_exporting", "quantize_net_v2"))
    ((before, after),) = re.findall(r"float32 (\S+)%, int8 (\S+)% right", shown)
    assert abs(float(before) - float(after)) < 1
    table = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    # The weights of convolutions are float32 in the graph: 4 bytes instead of 1.
    convolutions = 16 * 1 * 3 * 3 + 32 * 16 * 3 * 3
    (counted,) = re.findall(r"int8: .*parameters (\S+) kB", shown)
    assert float(counted) * 1e3 - 3 * convolutions == pytest.approx(arrays / 4, rel=0.05)
    (speedup,) = re.findall(
        r"a speedup of (\S+)\.", the("16_exporting", "The arrays shrink to a quarter").source
    )
    assert re.search(rf"ResNet-50.*\| {re.escape(speedup)} \|", table)
    assert 32 * 2 * 2 == 128 and "into 128 numbers" in the("16_exporting", "its *features*").source
