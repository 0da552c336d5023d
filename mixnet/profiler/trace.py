"""The profile as a Chrome trace: for Perfetto (ui.perfetto.dev) and ``chrome://tracing``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.engine.timeline import chrome_events

_SCOPES = {"global": "g", "process": "p"}  # the rest concerns a thread


def chrome_trace(
    rows: Sequence[dict[str, Any]], events: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Rows and events as a trace; times in microseconds.

    Process 0 has what the engine ran and, within it, compiling; every category of events is a
    process of its own. Spans that users mark may overlap as they like, so they are asynchronous.

    Args:
        rows: of the engine's timeline.
        events: of the session.
    """
    ran = [*rows, *[_as_row(event) for event in events if event["kind"] == "compile"]]
    ran.sort(key=lambda row: (row["started"], -row["ended"]))  # the outer before the inner
    trace = [_process(0, "mixnet"), *chrome_events(ran)]
    processes: dict[str, int] = {}
    threads: dict[tuple[int, str], int] = {}
    for event in events:
        if event["kind"] == "compile":
            continue
        process = processes.get(event["category"])
        if process is None:
            process = processes[event["category"]] = len(processes) + 1
            trace.append(_process(process, event["category"]))
        thread = threads.get((process, event["thread"]))
        if thread is None:
            thread = threads[process, event["thread"]] = len(threads)
            about = {"name": event["thread"]}
            trace.append(_entry("thread_name", "M", process, tid=thread, args=about))
        trace += _of_event(event, process, thread)
    return {"traceEvents": trace, "displayTimeUnit": "ms"}


def _entry(name: str, phase: str, process: int, **more: object) -> dict[str, Any]:
    return {"name": name, "ph": phase, "pid": process, **more}


def _process(number: int, name: str) -> dict[str, Any]:
    return _entry("process_name", "M", number, args={"name": name})


def _as_row(event: dict[str, Any]) -> dict[str, Any]:
    return {
        **event,
        "resource": "compile",
        "pushed": event["started"],
        "ready": event["started"],
        "reads": [],
        "writes": [],
        "source": None,
        "error": None,
    }


def _of_event(event: dict[str, Any], process: int, thread: int) -> list[dict[str, Any]]:
    name = event["name"]
    place = {"cat": event["category"], "tid": thread}
    time = event["started"] / 1000
    if event["kind"] == "span":
        number = {"id": event["number"]}
        return [
            _entry(name, "b", process, ts=time, **place, **number),
            _entry(name, "e", process, ts=event["ended"] / 1000, **place, **number),
        ]
    if event["kind"] == "instant":
        scope = event["scope"]
        about = {"s": _SCOPES.get(scope, "t"), "args": {"scope": scope}}
        return [_entry(name, "i", process, ts=time, **place, **about)]
    return [_entry(name, "C", process, ts=time, **place, args={name: event["value"]})]
