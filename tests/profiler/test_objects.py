"""User-defined objects of the profiler: tasks, frames, events, counters, markers."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from mixnet import profiler
from mixnet.base import AttributeTypeError, AttributeValueError
from tests.waiting import join


@pytest.fixture
def domain(config: dict) -> profiler.Domain:
    profiler.set_config(**config)
    profiler.set_state("run")
    return profiler.Domain("training")


def events(kind: str) -> list[dict[str, Any]]:
    return [each for each in profiler.to_dict()["events"] if each["kind"] == kind]


def test_spans_last_as_long_as_they_lasted(domain: profiler.Domain) -> None:
    spans = [domain.new_task("t"), domain.new_frame("f"), profiler.Event("e")]
    for span in spans:
        before = time.perf_counter_ns()
        span.start()
        time.sleep(0.002)
        span.stop()
        after = time.perf_counter_ns()
        event = events("span")[-1]
        assert event["name"] == str(span) == span.name
        assert before <= event["started"] and event["ended"] <= after
        assert event["ended"] - event["started"] >= 2_000_000
    assert [e["category"] for e in events("span")] == ["training", "training,frame", "event"]
    assert str(domain) == domain.name == "training"


def test_a_span_with_an_error_inside_ends(domain: profiler.Domain) -> None:
    with pytest.raises(ZeroDivisionError), domain.new_task("breaks"):
        _ = 1 / 0
    assert [e["name"] for e in events("span")] == ["breaks"]


def test_a_span_can_be_used_again_and_needs_a_start(domain: profiler.Domain) -> None:
    task = profiler.Task(domain, "task")
    task.stop()
    assert events("span") == []
    for _ in range(2):
        task.start()
        task.stop()
    task.stop()
    assert len(events("span")) == 2


def test_spans_count_where_they_end(domain: profiler.Domain) -> None:
    across, into = domain.new_task("across"), domain.new_task("into")
    across.start()
    profiler.pause()
    across.stop()
    into.start()
    profiler.resume()
    into.stop()
    assert [e["name"] for e in events("span")] == ["into"]


def test_a_counter_writes_mxnets_values(domain: profiler.Domain) -> None:
    counter = domain.new_counter("loss", 5)
    same = counter
    counter += 3
    counter -= 1
    counter.increment()
    counter.decrement(2)
    counter.set_value(42)
    assert counter is same and str(counter) == "loss"
    # The values that MXNet 1.9.1 writes for these calls.
    assert [e["value"] for e in events("value")] == [5, 8, 7, 8, 6, 42]
    assert {e["category"] for e in events("value")} == {"training,counter"}


def test_a_counter_counts_while_the_profile_is_off(domain: profiler.Domain) -> None:
    counter = profiler.Counter(domain, "n")
    assert events("value") == []
    profiler.pause()
    counter += 10
    profiler.resume()
    counter += 1
    assert [e["value"] for e in events("value")] == [11]


def test_several_threads_may_change_a_counter(domain: profiler.Domain) -> None:
    counter = domain.new_counter("n")

    def work() -> None:
        for _ in range(500):
            counter.increment()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert [e["value"] for e in events("value")] == list(range(1, 2001))
    assert len({e["thread"] for e in events("value")}) == 4


def test_markers_are_recorded(domain: profiler.Domain) -> None:
    marker = domain.new_marker("epoch")
    marker.mark()
    marker.mark("thread")
    assert marker.domain is domain and marker.name == "epoch"
    assert [(e["name"], e["scope"]) for e in events("instant")] == [
        ("epoch", "process"),
        ("epoch", "thread"),
    ]
    with pytest.raises(AttributeValueError, match=r"'universe'.*'global', 'process', 'thread'"):
        marker.mark("universe")


def test_nothing_is_recorded_after_the_stop(domain: profiler.Domain) -> None:
    profiler.set_state("stop")
    domain.new_task("t").start()
    with domain.new_frame("f"), profiler.Event("e"):
        domain.new_counter("c", 1)
        domain.new_marker("m").mark()
    assert [e for e in profiler.to_dict()["events"] if e["kind"] != "compile"] == []


@pytest.mark.parametrize("kind", ["Task", "Frame", "Counter", "Marker"])
def test_objects_require_a_domain(kind: str) -> None:
    with pytest.raises(AttributeTypeError, match=rf"{kind}: the domain 'd'.*profiler\.Domain"):
        getattr(profiler, kind)("d", "name")


def test_a_handler_may_count_while_the_program_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = profiler.Counter(profiler.Domain("domain"), "counter")
    set_value = counter._set

    def interrupted(value: float) -> None:
        monkeypatch.setattr(counter, "_set", set_value)
        set_value(value)
        counter.increment()  # as a signal handler that runs here

    monkeypatch.setattr(counter, "_set", interrupted)
    thread = threading.Thread(target=counter.increment, daemon=True)
    thread.start()
    join(thread, seconds=20)
    assert counter._value == 2
