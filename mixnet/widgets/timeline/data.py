"""The engine's tasks as columns: lanes, bar positions, dependencies, and the longest chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mixnet.process.source import line_in_project
from mixnet.runtime.programs.decision import sentence

KINDS = ("compute", "copy", "io", "communication", "other")
SEATS = 6
"""Lines below a lane for waiting operations; if more wait at once, they are counted, not drawn."""

Row = dict[str, Any]
Run = dict[str, Any]


class _Strings:
    """Texts, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._index: dict[str, int] = {}

    def __call__(self, text: str | None) -> int:
        if not text:
            return -1
        if text not in self._index:
            self._index[text] = len(self.texts)
            self.texts.append(text)
        return self._index[text]


def kind_of(resource: str) -> int:
    """Number in :data:`KINDS` of a resource such as ``compute:gpu(0)``."""
    kind = resource.partition(":")[0]
    return KINDS.index(kind) if kind in KINDS else KINDS.index("other")


def columns(rows: Iterable[Row], name: str, first: int, most: int) -> Run:
    """One run of an engine as columns, operations in the order of pushing.

    Args:
        rows: of the engine's timeline.
        name: heading of the run.
        first: number of the first operation that is kept.
        most: how many are kept.

    Returns:
        ``lanes`` (a thread each), ``ops`` (times in nanoseconds: ``pushed`` since the run began, then how
        long it ``queued`` for its variables, ``waited`` for a thread, ``ran``; ``how`` its
        program ran), ``vars``, ``deps`` (which operation reads, 0, or writes, 1, which version
        of which variable), ``chain`` (the longest of dependent operations), ``strings``,
        ``first``, ``of``.
    """
    ordered = sorted(rows, key=lambda row: (row["pushed"], row["number"]))
    origin = ordered[0]["pushed"] if ordered else 0
    span = max((row["ended"] for row in ordered), default=0) - origin
    shown = ordered[first : first + most]
    text = _Strings()
    lanes = _lanes(shown)
    place = {lane["name"]: i for i, lane in enumerate(lanes)}
    ops: dict[str, list[int]] = {
        "number": [row["number"] for row in shown],
        "name": [text(row["name"] or "work") for row in shown],
        "lane": [place[row["thread"]] for row in shown],
        "kind": [kind_of(row["resource"]) for row in shown],
        "resource": [text(row["resource"]) for row in shown],
        "priority": [row["priority"] for row in shown],
        "pushed": [row["pushed"] - origin for row in shown],
        "queued": [row["ready"] - row["pushed"] for row in shown],
        "waited": [row["started"] - row["ready"] for row in shown],
        "ran": [row["ended"] - row["started"] for row in shown],
        "source": [text(line_in_project(row.get("source") or "")) for row in shown],
        "error": [text(row.get("error")) for row in shown],
        "how": [text(sentence(row["how"]) if row.get("how") else None) for row in shown],
    }
    ops["depth"], ops["seat"] = _depths(ops, lanes), _seats(ops, lanes)
    variables, deps = _uses(shown, text)
    run: Run = {
        "name": name,
        "span": span,
        "first": first if shown else 0,
        "of": len(ordered),
        "lanes": lanes,
        "ops": ops,
        "vars": {"name": variables},
        "deps": deps,
        "strings": text.texts,
    }
    run["chain"] = critical_path(run)
    return run


def _lanes(rows: list[Row]) -> list[dict[str, Any]]:
    """Threads: those of the program first, then the workers by kind."""
    lanes: dict[str, int] = {}
    for row in rows:
        worker = row["thread"].startswith("mixnet ")
        kind = kind_of(row["thread"].removeprefix("mixnet ").split(" ")[0]) if worker else -1
        lanes.setdefault(row["thread"], kind)
    ordered = sorted(lanes.items(), key=lambda item: (item[1], item[0]))
    kinds = {-1: "program", **dict(enumerate(KINDS))}
    return [{"name": name, "kind": kinds[kind], "depth": 1, "seats": 0} for name, kind in ordered]


def _depths(ops: dict[str, list[int]], lanes: list[dict[str, Any]]) -> list[int]:
    """How deep an operation is nested: one that waits runs others in its own thread."""
    starts = [
        p + q + w for p, q, w in zip(ops["pushed"], ops["queued"], ops["waited"], strict=True)
    ]
    depths = [0] * len(starts)
    open_until: list[list[int]] = [[] for _ in lanes]
    for i in sorted(range(len(starts)), key=lambda i: (starts[i], -ops["ran"][i])):
        stack = open_until[ops["lane"][i]]
        while stack and stack[-1] <= starts[i]:
            stack.pop()
        depths[i] = len(stack)
        stack.append(starts[i] + ops["ran"][i])
        home = lanes[ops["lane"][i]]
        home["depth"] = max(home["depth"], len(stack))
    return depths


def _seats(ops: dict[str, list[int]], lanes: list[dict[str, Any]]) -> list[int]:
    """A line below its lane for each operation while it waits; -1 where all are taken."""
    seats = []
    free_at: list[list[int]] = [[] for _ in lanes]
    for i, pushed in enumerate(ops["pushed"]):
        lane = free_at[ops["lane"][i]]
        until = pushed + ops["queued"][i] + ops["waited"][i]
        seat = next((k for k, free in enumerate(lane) if free <= pushed), -1)
        if seat < 0 and len(lane) < SEATS:
            lane.append(0)
            seat = len(lane) - 1
        if seat >= 0:
            lane[seat] = until
        seats.append(seat)
    for home, free in zip(lanes, free_at, strict=True):
        home["seats"] = len(free)
    return seats


def _uses(rows: list[Row], text: _Strings) -> tuple[list[int], dict[str, list[int]]]:
    names: list[int] = []
    known: dict[Any, int] = {}
    deps: dict[str, list[int]] = {"op": [], "var": [], "mode": [], "version": []}
    for i, row in enumerate(rows):
        for mode, word in enumerate(("read", "write")):
            pairs = row[f"{word}s"]
            keys = row.get(f"{word}_numbers") or [name for name, _ in pairs]
            for key, (name, version) in zip(keys, pairs, strict=True):
                if key not in known:
                    known[key] = len(names)
                    names.append(text(name or "variable"))
                for column, value in zip(deps, (i, known[key], mode, version), strict=True):
                    deps[column].append(value)
    return names, deps


def dependencies(run: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """Edges (earlier operation, later operation, variable), from the versions alone.

    A reader of a version waits for its writer. The writer of the next version waits for all readers, or, if
    there are none, for the writer. All other orderings of the engine follow from these.
    """
    deps = run["deps"]
    writer: dict[tuple[int, int], int] = {}
    readers: dict[tuple[int, int], list[int]] = {}
    uses = list(zip(deps["op"], deps["var"], deps["mode"], deps["version"], strict=True))
    for op, var, mode, version in uses:
        if mode:
            writer[var, version] = op
        else:
            readers.setdefault((var, version), []).append(op)
    edges = []
    for op, var, mode, version in uses:
        previous = version - mode  # the version that was there before
        producer = writer.get((var, previous))
        if mode and (var, previous) in readers:
            edges += [(reader, op, var) for reader in readers[var, previous]]
        elif producer is not None:
            edges.append((producer, op, var))
    return edges


def critical_path(run: Run) -> list[int]:
    """The chain of dependent operations that runs longest: no number of threads makes the run shorter."""
    ops = run["ops"]
    ended = [
        sum(times)
        for times in zip(ops["pushed"], ops["queued"], ops["waited"], ops["ran"], strict=True)
    ]
    order = sorted(range(len(ended)), key=lambda i: (ended[i], i))
    place = {op: k for k, op in enumerate(order)}
    before: dict[int, list[int]] = {}
    for earlier, later, _ in dependencies(run):
        if place[earlier] < place[later]:
            before.setdefault(later, []).append(earlier)
    length = [0] * len(order)
    came: list[int] = [-1] * len(order)
    for op in order:
        for earlier in before.get(op, ()):
            if came[op] < 0 or length[earlier] > length[came[op]]:
                came[op] = earlier
        length[op] = ops["ran"][op] + (length[came[op]] if came[op] >= 0 else 0)
    path = []
    at = max(order, key=lambda op: length[op], default=-1)
    while at >= 0:
        path.append(at)
        at = came[at]
    return path[::-1]
