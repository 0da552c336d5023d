"""Scheduling puzzles: the operations of a graph as tasks on threads, and the engine's schedule."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from mixnet.ops.tracing.traced import traced
from mixnet.passes.plan_memory import MemoryPlan
from mixnet.runtime.interpret.on_numpy.work import work
from mixnet.widgets.puzzle.rules import dependencies

Items = list[dict[str, Any]]
LONGEST = 12  # units of time of the longest task of a network


def items_of(plan: MemoryPlan) -> Items:
    """A task for each operation, in the order of the program: ``name``, what it ``reads`` and
    ``writes``, and its ``time`` in units, by an estimate of its work that is the same on every
    machine.
    """
    arrays = plan.schedule.arrays
    seconds = []
    items: Items = []
    for step in plan.schedule.steps:
        node = step.node
        known = tuple((arrays[entry].shape, arrays[entry].dtype) for entry in node.inputs)
        seconds.append(work(traced(node.op, node.statics, known, len(node.scalars))))
        items.append(
            {
                "name": step.name,
                "reads": [array.name for array in step.reads.values() if array.kind != "argument"],
                "writes": [array.name for array in step.writes],
            }
        )
    most = max(seconds, default=1)
    for item, each in zip(items, seconds, strict=True):
        item["time"] = max(1, round(LONGEST * each / most))
    return items


def references(items: Items, threads: int) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The solutions that an answer is compared with, and the initial answer: all tasks on one thread."""
    serial, at = [], 0
    for each in items:
        serial.append([0, at])
        at += each["time"]
    chain = [each["time"] for each in items]
    for earlier, later, _ in dependencies(items):
        chain[later] = max(chain[later], chain[earlier] + items[later]["time"])
    share = -(-at // threads)
    longest = max(chain, default=0)
    rows: list[dict[str, Any]] = [
        {
            "name": "longest chain",
            "means": "tasks that wait for each other: more threads cannot make it shorter",
            "score": longest,
            "place": None,
            "bound": True,
        }
    ]
    if share > longest:
        rows.append(
            {
                "name": "lower bound",
                "means": "all work divided evenly among the threads",
                "score": share,
                "place": None,
                "bound": True,
            }
        )
    engine = engine_schedule(items, threads)
    rows.append(
        {
            "name": "engine",
            "means": "mixnet's engine: of the ready tasks, the one pushed first",
            "place": engine,
        }
    )
    rows.append({"name": "one thread", "means": "one task after another", "place": serial})
    return rows, serial


def engine_schedule(items: Items, threads: int) -> list[list[int]]:
    """Thread and start of each task as the threaded engine runs them: a free thread takes the
    ready task that was pushed first.
    """
    waits: list[int] = [0] * len(items)
    after: list[list[int]] = [[] for _ in items]
    for earlier, later, _ in dependencies(items):
        waits[later] += 1
        after[earlier].append(later)
    ready = [number for number, count in enumerate(waits) if not count]
    free = list(range(threads))
    running: list[tuple[int, int, int]] = []  # end, task, thread
    place: list[list[int]] = [[0, 0] for _ in items]
    now = 0
    while ready or running:
        while ready and free:
            number, thread = heapq.heappop(ready), heapq.heappop(free)
            place[number] = [thread, now]
            heapq.heappush(running, (now + items[number]["time"], number, thread))
        now = running[0][0]
        while running and running[0][0] == now:
            _, number, thread = heapq.heappop(running)
            heapq.heappush(free, thread)
            for later in after[number]:
                waits[later] -= 1
                if not waits[later]:
                    heapq.heappush(ready, later)
    return place


def checked(tasks: Sequence[Any]) -> Items:
    """Tasks from a list: ``(name, time, reads, writes)`` each.

    Raises:
        ValueError: one of them has another form.
    """
    items: Items = []
    for task in tasks:
        try:
            name, time, reads, writes = task
        except (TypeError, ValueError):
            raise ValueError(f"expected (name, time, reads, writes), got {task!r}") from None
        if isinstance(time, bool) or not isinstance(time, int) or time < 1:
            raise ValueError(f"{name}: expected a time of 1, 2, … units, got {time!r}")
        if isinstance(reads, str) or isinstance(writes, str):
            raise ValueError(
                f"{name}: reads and writes must be lists of names, got {reads!r}, {writes!r}"
            )
        items.append(
            {"name": str(name), "time": time, "reads": list(reads), "writes": list(writes)}
        )
    return items
