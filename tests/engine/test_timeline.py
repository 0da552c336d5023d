"""The timeline: rows as plain data, and as a Chrome trace."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from mixnet.engine import NaiveEngine, ThreadedEngine, Var, timeline


@pytest.fixture(params=[NaiveEngine, ThreadedEngine])
def rows(request: pytest.FixtureRequest) -> Iterator[list]:
    engine = request.param()
    a, b = Var("a"), Var("b")
    timeline.clear()
    timeline.start()
    try:
        engine.push(lambda: None, (), (a,), name="make a")
        engine.push(lambda: None, (a,), (b,), "io", 3, "a to b")
        engine.push(lambda: None, (b,), (a,), name="b to a")
        engine.push(lambda: 1 / 0, (), (b,), name="breaks")
        with pytest.raises(ZeroDivisionError):
            engine.wait_for_var(b)
        engine.wait_for_all()
    finally:
        timeline.stop()
        engine.stop()
    engine.push(lambda: None, name="not seen")
    engine.wait_for_all()
    yield timeline.to_dict()["rows"]
    timeline.clear()


def test_rows_have_thread_name_and_times(rows: list) -> None:
    by_name = {row["name"]: row for row in rows}
    assert set(by_name) == {"make a", "a to b", "b to a", "breaks"}
    assert by_name["make a"]["writes"] == [["a", 1]]
    assert by_name["a to b"]["reads"] == [["a", 1]]
    assert by_name["a to b"]["writes"] == [["b", 1]]
    assert by_name["a to b"]["resource"] == "io" and by_name["a to b"]["priority"] == 3
    assert by_name["b to a"]["writes"] == [["a", 2]]
    assert "ZeroDivisionError" in by_name["breaks"]["error"]
    assert by_name["make a"]["error"] is None
    for row in rows:
        assert row["pushed"] <= row["ready"] <= row["started"] <= row["ended"]
        assert row["source"].startswith(__file__ + ":")
        assert row["thread"]
    assert by_name["make a"]["ended"] <= by_name["a to b"]["started"]


def test_rows_distinguish_variables_with_the_same_name() -> None:
    engine = NaiveEngine()
    one, other = Var("same"), Var("same")
    timeline.clear()
    timeline.start()
    try:
        engine.push(lambda: None, (one,), (other,))
    finally:
        timeline.stop()
    (row,) = timeline.to_dict()["rows"]
    timeline.clear()
    assert row["read_numbers"] == [one.number] and row["write_numbers"] == [other.number]
    assert one.number != other.number and row["reads"][0][0] == row["writes"][0][0]


def test_the_chrome_trace_is_json(rows: list) -> None:
    trace = json.loads(json.dumps(timeline.chrome()))
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert sorted(event["name"] for event in spans) == ["a to b", "b to a", "breaks", "make a"]
    assert all(event["dur"] >= 0 for event in spans)
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}
    assert all(event["tid"] in names for event in spans)


def test_capacity_bounds_the_rows() -> None:
    from mixnet.engine.timeline import Timeline

    small = Timeline(capacity=2)
    engine = NaiveEngine()
    timeline.clear()
    timeline.start()
    for i in range(3):
        engine.push(lambda: None, name=str(i))
    timeline.stop()
    small._rows.extend(timeline.to_dict()["rows"])
    timeline.clear()
    assert [row["name"] for row in small.to_dict()["rows"]] == ["1", "2"]
