"""The aggregate table: numbers against sums by hand, text against MXNet's form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixnet.profiler.table import aggregate, as_json, as_table
from tests.each_record import each_record


def row(name: str, started: int, ended: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "resource": "compute:cpu(0)", "thread": "a", "started": started,
            "ended": ended, **more}  # fmt: skip


def event(kind: str, name: str, started: int, category: str = "d", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "category": category, "name": name, "thread": "a", "started": started,
            **more}  # fmt: skip


MS = 1_000_000
ROWS = [row("dot", 0, 2 * MS), row("dot", 3 * MS, 7 * MS), row("exp", 8 * MS, 9 * MS),
        row("exp", 9 * MS, 10 * MS), row("exp", 11 * MS, 14 * MS),
        row("asnumpy", 20 * MS, 21 * MS, resource="copy:cpu(0)")]  # fmt: skip
EVENTS = [event("span", "task", 0, ended=8 * MS), event("instant", "mark", 5, "d,instant_marker"),
          event("value", "n", 0, "d,counter", value=3), event("value", "n", 1, "d,counter", value=-1),
          event("memory", "Memory: cpu/0", 0, "Device Storage", value=4000),
          event("memory", "Memory: cpu/0", 1, "Device Storage", value=1000)]  # fmt: skip


def test_statistics_are_those_computed_by_hand() -> None:
    actual = aggregate(ROWS, EVENTS)
    assert actual == {
        "Time": {
            "operator": {
                "dot": {"Count": 2, "Total": 6.0, "Min": 2.0, "Max": 4.0, "Avg": 3.0},
                "exp": {"Count": 3, "Total": 5.0, "Min": 1.0, "Max": 3.0, "Avg": 5 / 3},
            },
            "copy": {"asnumpy": {"Count": 1, "Total": 1.0, "Min": 1.0, "Max": 1.0, "Avg": 1.0}},
            "d": {"task": {"Count": 1, "Total": 8.0, "Min": 8.0, "Max": 8.0, "Avg": 8.0}},
            "d,instant_marker": {"mark": {"Count": 1, "Total": 0, "Min": 0, "Max": 0, "Avg": 0}},
        },
        "Value": {"d,counter": {"n": {"Count": 2, "Min": -1, "Max": 3, "Avg": 1}}},
        "Memory": {
            "Device Storage": {"Memory: cpu/0": {"Count": 2, "Min": 1.0, "Max": 4.0, "Avg": 2.5}}
        },
    }


def test_compile_time_is_listed_separately() -> None:
    compiled = [event("compile", "trace", 1 * MS, "compile", ended=3 * MS),
                event("compile", "trace", 2 * MS, "compile", ended=4 * MS),  # overlaps: 3 ms in all
                event("compile", "compile", 6 * MS, "compile", ended=20 * MS),
                {**event("compile", "compile", 0, "compile", ended=9 * MS), "thread": "b"}]  # fmt: skip
    actual = aggregate([row("dot", 0, 10 * MS)], compiled)["Time"]
    assert actual["operator"]["dot"]["Total"] == 10 - 3 - 4
    assert actual["compile"]["trace"] == {"Count": 2, "Total": 4, "Min": 2, "Max": 2, "Avg": 2}


spans = st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted)


@given(spans, st.lists(spans))
def test_compiling_is_subtracted_once(outer: list[int], inner: list[list[int]]) -> None:
    events = [event("compile", "trace", a, "compile", ended=b) for a, b in inner]
    actual = aggregate([row("dot", *outer)], events)["Time"]["operator"]["dot"]["Total"]
    alone = [t for t in range(*outer) if not any(a <= t < b for a, b in inner)]
    assert actual == pytest.approx(len(alone) / 1e6)


def test_the_form_is_that_of_mxnet() -> None:
    # Made by MXNet 1.9.1 but for the numbers.
    assert as_table(aggregate(ROWS, EVENTS[4:]), "total", False) == (
        "\nProfile Statistics:\n"
        "\tNote the difference in units for different entries.\n"
        "Device Storage\n"
        "=================\n"
        "Name                          Total Count    Min Use  (kB)    Max Use  (kB)    Avg Use  (kB)\n"
        "----                          -----------    -------------    -------------    -------------\n"
        "Memory: cpu/0                           2           1.0000           4.0000           2.5000\n"
        "\n"
        "copy\n"
        "=================\n"
        "Name                          Total Count        Time (ms)    Min Time (ms)    Max "
        "Time (ms)    Avg Time (ms)\n"
        "----                          -----------        ---------    -------------    "
        "-------------    -------------\n"
        "asnumpy                                 1           1.0000           1.0000           "
        "1.0000           1.0000\n"
        "\n"
        "operator\n"
        "=================\n"
        "Name                          Total Count        Time (ms)    Min Time (ms)    Max "
        "Time (ms)    Avg Time (ms)\n"
        "----                          -----------        ---------    -------------    "
        "-------------    -------------\n"
        "dot                                     2           6.0000           2.0000           "
        "4.0000           3.0000\n"
        "exp                                     3           5.0000           1.0000           "
        "3.0000           1.6667\n"
        "\n"
    )


def test_a_profile_without_operations_has_an_empty_table() -> None:
    assert as_table(aggregate([], []), "total", False) == (
        "\nProfile Statistics:\n\tNote the difference in units for different entries.\n"
    )


@each_record("sort_by", ["total", "avg", "min", "max", "count"])
@each_record("ascending", [False, True])
def test_the_order_of_lines(sort_by: str, ascending: bool) -> None:
    statistics = aggregate(ROWS, EVENTS)
    section = statistics["Time"]["operator"]
    first = min(section, key=lambda name: section[name][sort_by.capitalize()])
    if not ascending:
        first = next(name for name in section if name != first)
    data = json.loads(as_json(statistics, sort_by, ascending))
    assert next(iter(data["Time"]["operator"])) == first
    text = as_table(statistics, sort_by, ascending)
    other = "exp" if first == "dot" else "dot"
    assert text.index(f"\n{first} ") < text.index(f"\n{other} ")


def test_json_has_the_same_numbers() -> None:
    statistics = aggregate(ROWS, EVENTS)
    data = json.loads(as_json(statistics, "total", False))
    assert data.pop("Unit") == {"Time": "ms", "Memory": "kB", "Value": "1"}
    assert data == statistics
