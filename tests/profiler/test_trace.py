"""The Chrome trace: it is valid and complete."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mixnet import nd, profiler
from mixnet.profiler.session import session
from mixnet.profiler.trace import chrome_trace
from mixnet.runtime.programs import executable_cache


@pytest.fixture
def trace(config: dict) -> list[dict[str, Any]]:
    executable_cache.clear()  # so that something is compiled, whatever ran before
    profiler.set_config(**config)
    profiler.set_state("run")
    domain = profiler.Domain("training")
    one, two = domain.new_task("one"), domain.new_task("two")
    one.start()
    two.start()
    (nd.ones((3, 5)) * 2).arctan().asnumpy()
    one.stop()  # overlaps the other, neither is inside
    two.stop()
    counter = domain.new_counter("samples", 1)
    counter += 2
    for scope in ("global", "process", "thread", "task", "marker"):
        domain.new_marker("here").mark(scope)
    nd.waitall()
    profiler.dump()
    with open(config["filename"]) as file:
        return json.load(file)["traceEvents"]


def test_every_event_is_complete(trace: list) -> None:
    for event in trace:
        assert isinstance(event["name"], str) and isinstance(event["pid"], int)
        assert event["ph"] in "MXbeCi"
        if event["ph"] != "M":
            assert event["ts"] >= 0 and isinstance(event["tid"], int) and event["cat"]
        if event["ph"] == "X":
            assert event["dur"] >= 0
        if event["ph"] == "i":
            assert event["s"] in "gpt"
    named = {(e["pid"], e["tid"]) for e in trace if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in trace if e["ph"] != "M"} <= named
    processes = {e["pid"]: e["args"]["name"] for e in trace if e["name"] == "process_name"}
    assert set(processes.values()) == {
        "mixnet", "training", "training,counter", "training,instant_marker", "Device Storage",
    }  # fmt: skip
    assert {e["pid"] for e in trace} == set(processes)


def test_spans_of_a_thread_are_nested(trace: list) -> None:
    by_thread: dict[int, list] = {}
    for event in trace:
        if event["ph"] == "X":
            end = event["ts"] + event["dur"]
            by_thread.setdefault(event["tid"], []).append((event["ts"], end))
    assert by_thread
    for spans in by_thread.values():
        for start, end in spans:
            for other, its_end in spans:
                assert not start < other < end - 1 < its_end - 2, "overlaps without nesting"


def test_begins_and_ends_pair_up(trace: list) -> None:
    begun = {(e["cat"], e["id"]): e for e in trace if e["ph"] == "b"}
    ended = {(e["cat"], e["id"]): e for e in trace if e["ph"] == "e"}
    assert set(begun) == set(ended)
    assert sorted(e["name"] for e in begun.values()) == ["one", "two"]
    for key, event in begun.items():
        assert ended[key]["name"] == event["name"] and ended[key]["ts"] >= event["ts"]


def test_counters_and_markers_are_traced(trace: list) -> None:
    samples = [e["args"]["samples"] for e in trace if e["ph"] == "C" and e["name"] == "samples"]
    assert samples == [1, 3]
    scopes = [(e["s"], e["args"]["scope"]) for e in trace if e["ph"] == "i"]
    assert scopes == [("g", "global"), ("p", "process"), ("t", "thread"), ("t", "task"),
                      ("t", "marker")]  # fmt: skip
    assert [e for e in trace if e["ph"] == "C" and e["name"].startswith("Memory: ")]


@pytest.mark.usefixtures("compiling_at_once")
def test_operators_and_compiling_have_rows(trace: list) -> None:
    names = [e["name"] for e in trace if e["ph"] == "X"]
    assert {"_ones", "_mul_scalar", "arctan", "asnumpy"} <= set(names)
    (arctan,) = [e for e in trace if e["name"] == "arctan"]
    inside = [
        e["name"] for e in trace
        if e["ph"] == "X" and e["cat"] == "compile" and e["tid"] == arctan["tid"]
        and arctan["ts"] <= e["ts"] <= arctan["ts"] + arctan["dur"]
    ]  # fmt: skip
    assert "compile" in inside
    assert __file__ in arctan["args"]["source"]


def test_an_empty_profile_is_a_trace() -> None:
    assert chrome_trace([], [])["traceEvents"] == [
        {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "mixnet"}}
    ]


@pytest.mark.usefixtures("compiling_at_once")
def test_plain_data_is_json(trace: list) -> None:
    data = json.loads(json.dumps(profiler.to_dict()))
    assert len(data["rows"]) == len(session.rows())
    assert {e["kind"] for e in data["events"]} == {"span", "value", "instant", "memory", "compile"}
