"""Why did this task wait? Answered from the engine's rows: the releasing task, the array, and the thread."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from mixnet.units import time_text
from mixnet.widgets.timeline.data import dependencies
from mixnet.widgets.why.question import Payload, question

MOST = 1000
"""The most tasks of a run with an answer: those that waited longest."""


@question("mixnet.engine/1", "waited", "Why did it wait?")
def waited(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For the tasks that waited longest, by run number and task number: ``0/12``."""
    for r, run in enumerate(payload["runs"]):
        ops = run["ops"]
        total = [q + w for q, w in zip(ops["queued"], ops["waited"], strict=True)]
        longest = sorted((i for i, each in enumerate(total) if each > 0), key=lambda i: -total[i])
        if not longest:
            continue
        operations = longest[:MOST]
        causes, busy = _causes(run, set(operations)), _Lanes(run)
        for i in operations:
            yield f"{r}/{i}", _answer(run, i, causes.get(i, []), busy)


def _causes(run: Payload, operations: set[int]) -> dict[int, list[tuple[int, int, bool]]]:
    """The tasks before each: number, variable, and whether the later one writes; the last to end
    comes first.
    """
    deps = run["deps"]
    modes = dict(zip(zip(deps["op"], deps["var"], strict=True), deps["mode"], strict=True))
    causes_of: dict[int, list[tuple[int, int, bool]]] = {}
    for earlier, op, var in dependencies(run):
        if op in operations and earlier != op and _end(run, earlier) > run["ops"]["pushed"][op]:
            causes_of.setdefault(op, []).append((earlier, var, bool(modes[op, var])))
    for causes in causes_of.values():
        causes.sort(key=lambda cause: -_end(run, cause[0]))
    return causes_of


def _end(run: Payload, op: int) -> int:
    ops = run["ops"]
    return int(ops["pushed"][op] + ops["queued"][op] + ops["waited"][op] + ops["ran"][op])


def _answer(run: Payload, op: int, causes: list[tuple[int, int, bool]], lanes: _Lanes) -> list[str]:
    ops, strings = run["ops"], run["strings"]

    def name(i: int) -> str:
        return strings[ops["name"][i]] if ops["name"][i] >= 0 else "a task"

    waits = []
    for i, var, writes in causes[:4]:
        array = strings[run["vars"]["name"][var]]
        wrote = any(
            run["deps"]["mode"][k] == 1 and run["deps"]["var"][k] == var
            for k in lanes.uses.get(i, ())
        )
        before = "wrote" if wrote else "read"
        waited_for = "its result" if array == name(i) else array
        waits.append(
            f"{name(i)} {before} {waited_for}, which this task {'writes' if writes else 'reads'}"
        )
    queued, waited = ops["queued"][op], ops["waited"][op]
    sentences = []
    if waits:
        last = " That was the last to finish." if len(causes) > 1 else ""
        sentences.append(f"It waited {time_text(queued / 1e9)} for an array: {waits[0]}.{last}")
        sentences += [f"Before that, {each}." for each in waits[1:]]
    elif queued > waited:
        sentences.append(
            f"It was delayed for {time_text(queued / 1e9)} by tasks that this view does not show."
        )
    if waited:
        home = run["lanes"][ops["lane"][op]]["name"]
        others = [name(i) for i in lanes.busy(op)]
        ran = (
            f" {home} ran {', '.join(others[:4])}{' …' if len(others) > 4 else ''} meanwhile."
            if others
            else ""
        )
        sentences.append(f"It was ready, and waited {time_text(waited / 1e9)} for a thread.{ran}")
    return sentences


class _Lanes:
    """The tasks that ran in each thread, and the variables that each used."""

    def __init__(self, run: Payload):
        ops = run["ops"]
        self._ops = ops
        self._by_lane: dict[int, list[tuple[int, int, int]]] = {}
        for i, lane in enumerate(ops["lane"]):
            end = _end(run, i)
            self._by_lane.setdefault(lane, []).append((end - ops["ran"][i], end, i))
        for rows in self._by_lane.values():
            rows.sort()
        self.uses: dict[int, list[int]] = {}
        for k, op in enumerate(run["deps"]["op"]):
            self.uses.setdefault(op, []).append(k)

    def busy(self, op: int) -> list[int]:
        """Tasks that ran in its thread while it was ready; the latest first."""
        ops = self._ops
        ready = ops["pushed"][op] + ops["queued"][op]
        start = ready + ops["waited"][op]
        rows = self._by_lane[ops["lane"][op]]
        at = bisect_left(rows, (start, -1, -1))
        intervals: list[int] = []
        while at > 0 and len(intervals) < 5:
            at -= 1
            if rows[at][1] <= ready:
                break
            if rows[at][2] != op:
                intervals.append(rows[at][2])
        return intervals
