"""EngineTimeline: columns against pushed tasks, dependencies against serial order, and the scope."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.engine import ThreadedEngine, Var, timeline
from mixnet.widgets import EngineTimeline
from mixnet.widgets.timeline.data import SEATS, columns, critical_path, dependencies
from tests.each_record import each_record

ROOT = Path(__file__).parents[2]


def row(number: int, **changes) -> dict:
    """A row as the engine makes it; times follow the number."""
    at = number * 10
    times = {"pushed": at, "ready": at + 1, "started": at + 2, "ended": at + 8}
    return {"number": number, "name": f"op{number}", "resource": "compute:cpu(0)", "priority": 0,
            "thread": "MainThread", **times, "reads": [], "writes": [], "source": "a.py:1", "error": None,
            **changes}  # fmt: skip


def programs(seed: int, count: int):
    """Random lists of (reads, writes) over four variables."""
    roll = random.Random(seed)
    for _ in range(count):
        yield [
            (roll.sample(range(4), roll.randint(0, 2)), roll.sample(range(4), roll.randint(0, 2)))
            for _ in range(roll.randint(1, 14))
        ]


def pushed(program) -> list[dict]:
    """What a threaded engine records of a program."""
    # Names are the same for all: variables are distinguished by their numbers.
    variables = [Var("same name") for _ in range(4)]
    engine = ThreadedEngine({"compute": 3})
    timeline.clear()
    timeline.start()
    try:
        for i, (reads, writes) in enumerate(program):
            engine.push(
                lambda: time.sleep(0.0001),
                [variables[k] for k in reads],
                [variables[k] for k in writes],
                name=str(i),
            )
        engine.wait_for_all()
    finally:
        timeline.stop()
        engine.stop()
    rows = timeline.to_dict()["rows"]
    timeline.clear()
    return rows


def serial_order(program) -> list[set[int]]:
    """For each operation, all that must end before it: earlier conflicting ones and their predecessors."""
    before: list[set[int]] = []
    for i, (reads, writes) in enumerate(program):
        mine: set[int] = set()
        for j, (other_reads, other_writes) in enumerate(program[:i]):
            if set(other_writes) & {*reads, *writes} or set(other_reads) & set(writes):
                mine |= {j, *before[j]}
        before.append(mine)
    return before


@each_record("program", list(programs(3, 25)))
def test_dependencies_are_those_of_serial_order(program) -> None:
    rows = pushed(program)
    run = columns(rows, "engine", 0, 1000)
    assert [run["strings"][name] for name in run["ops"]["name"]] == [
        str(i) for i in range(len(program))
    ]
    before = [set() for _ in program]
    edges = sorted(dependencies(run), key=lambda edge: edge[1])
    for earlier, later, _ in edges:
        before[later] |= {earlier, *before[earlier]}
    assert before == serial_order(program)
    # The engine respected them.
    ended = {int(r["name"]): r["ended"] for r in rows}
    started = {int(r["name"]): r["started"] for r in rows}
    assert all(ended[earlier] <= started[later] for earlier, later, _ in edges)


@each_record("program", list(programs(5, 10)))
def test_the_longest_chain_is_the_best_of_all(program) -> None:
    run = columns(pushed(program), "engine", 0, 1000)
    before, ran = serial_order(program), run["ops"]["ran"]
    best: list[int] = []
    for i in range(len(program)):
        best.append(ran[i] + max((best[j] for j in before[i]), default=0))
    path = critical_path(run)
    assert sum(ran[i] for i in path) == max(best)
    assert all(a in before[b] for a, b in itertools.pairwise(path))


@pytest.mark.skipif(
    shutil.which("node") is None, reason="needs Node 20 or newer (apt install nodejs)"
)
def test_the_page_finds_the_same() -> None:
    runs = [columns(pushed(program), "engine", 0, 1000) for program in programs(9, 12)]
    code = (
        "import { edges, criticalPath } from './src/timeline/graph.js';"
        "let text = ''; for await (const part of process.stdin) text += part;"
        "console.log(JSON.stringify(JSON.parse(text).map((run) => { const e = edges(run);"
        "return [e.from.map((a, k) => [a, e.to[k], e.via[k]]), criticalPath(run, e)]; })));"
    )
    command = ["node", "--input-type=module", "-e", code]
    process = subprocess.run(
        command,
        input=json.dumps(runs),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT / "widgets",
        timeout=240,
    )
    for run, (edges, path) in zip(runs, json.loads(process.stdout), strict=True):
        assert sorted(map(tuple, edges)) == sorted(dependencies(run))
        assert sum(run["ops"]["ran"][i] for i in path) == sum(
            run["ops"]["ran"][i] for i in critical_path(run)
        )


def test_columns_say_what_the_rows_say() -> None:
    rows = [
        row(1, thread="mixnet io 0", resource="io", reads=[["a", 1]], error="OSError('full')"),
        row(0, writes=[["a", 1]]),
        row(2, thread="mixnet copy:gpu(0) 0", resource="copy:gpu(0)"),
    ]
    view = EngineTimeline(rows)
    (run,) = view.payload["runs"]
    assert [lane["name"] for lane in run["lanes"]] == [
        "MainThread",
        "mixnet copy:gpu(0) 0",
        "mixnet io 0",
    ]
    assert [lane["kind"] for lane in run["lanes"]] == ["program", "copy", "io"]
    assert run["ops"]["pushed"] == [0, 10, 20] and run["span"] == 28
    assert (
        run["ops"]["queued"] == [1] * 3
        and run["ops"]["waited"] == [1] * 3
        and run["ops"]["ran"] == [6] * 3
    )
    assert run["ops"]["kind"] == [0, 2, 1]
    view.choose(selected=[0, 1])
    chosen = view.selected
    assert (
        chosen["name"] == "op1"
        and chosen["reads"] == [("a", 1)]
        and chosen["error"] == "OSError('full')"
    )
    assert chosen["ran"] == pytest.approx(6e-9) and chosen["source"] == "a.py:1"
    assert "OSError" in str(list(view.table()[1]))


def test_nested_work_is_drawn_deeper_and_waiting_work_on_its_own_line() -> None:
    outer = row(0, pushed=0, ready=0, started=0, ended=100)
    inner = row(1, pushed=10, ready=20, started=30, ended=60)
    later = row(2, pushed=12, ready=20, started=110, ended=120)
    (run,) = EngineTimeline([outer, inner, later]).payload["runs"]
    assert run["ops"]["depth"] == [0, 1, 0] and run["lanes"][0]["depth"] == 2
    assert run["ops"]["seat"] == [0, 0, 1]
    many = [row(i, pushed=i, ready=1000, started=1000 + i, ended=1001 + i) for i in range(20)]
    (run,) = EngineTimeline(many).payload["runs"]
    assert run["ops"]["seat"] == [*range(SEATS), *[-1] * (20 - SEATS)]


def test_a_partial_timeline_says_that_it_is_partial() -> None:
    rows = [row(i, writes=[["a", i + 1]]) for i in range(100)]
    view = EngineTimeline(rows, first=40, most=10)
    (run,) = view.payload["runs"]
    assert run["of"] == 100 and run["first"] == 40 and run["ops"]["number"] == list(range(40, 50))
    assert len(dependencies(run)) == 9, "the writer before the window is not there"
    assert "100 operations (shown: 10 from number 40)" in view.summary()


def test_the_scope_sees_what_is_pushed_inside_and_waits_for_it() -> None:
    was_on = timeline.on
    mx.engine.push(lambda: None, name="before")
    with EngineTimeline() as view:
        ready = Var("ready")
        mx.engine.push(lambda: time.sleep(0.02), writes=[ready], name="inside", resource="io")
        y = mx.nd.ones((2, 3)) * 2
    assert timeline.on == was_on
    mx.engine.push(lambda: None, name="after")
    mx.nd.waitall()
    (run,) = view.payload["runs"]
    names = [run["strings"][i] for i in run["ops"]["name"]]
    assert "inside" in names and "before" not in names and "after" not in names
    assert any("_ones" in name for name in names) and y.asnumpy().sum() == 12
    assert run["name"] == "threaded engine"


def test_the_scope_removes_its_own_rows_only() -> None:
    def names() -> list[str]:
        return [row["name"] for row in timeline.to_dict()["rows"]]

    timeline.clear()
    with EngineTimeline():
        mx.engine.push(lambda: None, name="inside")
    assert names() == []
    timeline.start()
    try:
        mx.engine.push(lambda: None, name="mine")
        with EngineTimeline() as view:
            mx.engine.push(lambda: None, name="inside")
        assert timeline.on
    finally:
        timeline.stop()
    assert {"mine", "inside"} <= set(names())
    assert view.payload["runs"][0]["of"] == 1
    timeline.clear()


def test_errors_inside_the_scope_are_raised_and_shown() -> None:
    view = EngineTimeline()
    with pytest.raises(ValueError, match="disk full"), view:
        mx.engine.push(lambda: (_ for _ in ()).throw(ValueError("disk full")), name="save")
    (run,) = view.payload["runs"]
    assert run["strings"][run["ops"]["error"][0]] == "ValueError('disk full')"
    with pytest.raises(KeyError), EngineTimeline() as view:
        mx.engine.push(lambda: 1, name="fine")
        raise KeyError("mine")
    assert view.payload["runs"][0]["of"] == 1


def test_both_engines_are_shown_side_by_side() -> None:
    calls = []

    def work() -> None:
        calls.append(1)
        meeting = threading.Barrier(2 if mx.engine.current.kind != "NaiveEngine" else 1)
        for name in "ab":
            mx.engine.push(
                lambda: meeting.wait(60), name=name, resource="io" if name == "a" else "copy"
            )
        mx.nd.waitall()

    view = EngineTimeline.compare(work)
    naive, threaded = view.payload["runs"]
    assert len(calls) == 4, "each once to warm up"
    assert [naive["name"], threaded["name"]] == ["naive engine", "threaded engine"]
    assert naive["of"] == threaded["of"] == 2
    assert naive["ops"]["queued"] == [0, 0]

    # One after the other, and side by side.
    def start(run: dict, i: int) -> float:
        return run["ops"]["pushed"][i] + run["ops"]["waited"][i] + run["ops"]["queued"][i]

    assert start(naive, 1) >= naive["ops"]["ran"][0]
    assert start(threaded, 1) < start(threaded, 0) + threaded["ops"]["ran"][0]


def test_bad_input_is_an_error() -> None:
    with pytest.raises(
        AttributeTypeError, match=r"rows of mx\.engine\.timeline.*without name, thread"
    ):
        EngineTimeline([{"a": 1}])
    with pytest.raises(AttributeValueError, match="0 < most <= 50,000, got 0, 60000"):
        EngineTimeline([], most=60_000)
    view = EngineTimeline()
    with pytest.raises(mx.MXNetError, match="is already running"), view, view:
        pass
    assert "nothing was pushed" in view.summary()


def test_the_cell_magic(ipython: Any) -> None:
    mx.widgets.magics.register(ipython)
    cell = "import mixnet as mx\nmx.engine.push(lambda: 1, name='mine')"
    view = ipython.run_cell_magic("timeline", "", cell)
    run = view.payload["runs"][0]
    assert "mine" in [run["strings"][i] for i in run["ops"]["name"]]
    assert "takes no arguments" in str(ipython.run_cell("%%timeline now\n1").error_in_exec)


def test_many_rows_are_small_and_quick_to_keep() -> None:
    rows = [row(i, writes=[["a", i + 1]], source=f"train.py:{i % 40}") for i in range(60_000)]
    view = EngineTimeline(rows)
    assert len(view.payload["runs"][0]["ops"]["name"]) == 50_000
    assert len(view.to_json()) < 5_000_000
    assert len(view.svg()) < 300_000
