"""The rules of all puzzles: the score of an answer, and its conflicts.

``widgets/src/puzzle/rules.js`` has the same rules for the page;
``widgets/fixtures/puzzles.json`` holds answers that both must judge alike.

An answer (``place``) has one entry for each item: an offset in bytes, ``[thread, start]``, or
the number of a group.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

Items = Sequence[dict[str, Any]]
# For each group, the groups that read it, each with a pair of operations: writer and reader.
_Waits = dict[int, dict[int, tuple[int, int]]]


def judge(payload: dict[str, Any], place: Sequence[Any]) -> dict[str, Any]:
    """The score of an answer, and its conflicts.

    Args:
        payload: of the puzzle, see :class:`~mixnet.widgets.Puzzle`.
        place: the answer, one entry for each item.

    Returns:
        ``score``: peak bytes, the time at which the last task ends, or bytes moved; lower is better.
        ``conflicts``: ``items`` (their numbers) and ``text`` of each; an answer that has any does not count.
    """
    return _JUDGES[payload["kind"]](payload, place)


def _memory(payload: dict[str, Any], place: Sequence[int]) -> dict[str, Any]:
    items = payload["items"]
    conflicts = []
    for i, a in enumerate(items):
        for j in range(i + 1, len(items)):
            b = items[j]
            begin = max(a["begin"], b["begin"])
            in_time = begin < min(a["end"], b["end"])
            disjoint = place[i] + a["size"] <= place[j] or place[j] + b["size"] <= place[i]
            if in_time and not disjoint:
                text = f"{a['name']} and {b['name']} share bytes, and both are needed at step {begin + 1}."
                conflicts.append({"items": [i, j], "text": text})
    top = max((at + each["size"] for each, at in zip(items, place, strict=True)), default=0)
    return {"score": top, "conflicts": conflicts}


def dependencies(items: Items) -> list[tuple[int, int, str]]:
    """Which task waits for which, in the order of pushing: earlier, later, and why.

    A reader waits for the last writer; a writer waits for the last writer and for all readers since.
    """
    edges = []
    writer: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    for number, item in enumerate(items):
        name = item["name"]
        for var in item["reads"]:
            if var in writer:
                writer_name = items[writer[var]]["name"]
                edges.append(
                    (writer[var], number, f"{name} reads {var}, which {writer_name} writes")
                )
        for var in item["writes"]:
            for reader in readers.get(var, []):
                if reader != number:
                    reads = items[reader]["name"]
                    edges.append((reader, number, f"{name} writes {var}, which {reads} reads"))
            if var in writer and not readers.get(var):
                writer_name = items[writer[var]]["name"]
                edges.append(
                    (writer[var], number, f"{name} writes {var}, which {writer_name} writes")
                )
        for var in item["reads"]:
            readers.setdefault(var, []).append(number)
        for var in item["writes"]:
            writer[var], readers[var] = number, []
    return edges


def _tasks(payload: dict[str, Any], place: Sequence[Sequence[int]]) -> dict[str, Any]:
    items = payload["items"]
    ends = [start + each["time"] for each, (_, start) in zip(items, place, strict=True)]
    conflicts = []
    for i, a in enumerate(items):
        for j in range(i + 1, len(items)):
            (thread, start), (other, later) = place[i], place[j]
            if thread == other and start < ends[j] and later < ends[i]:
                text = f"{a['name']} and {items[j]['name']} run on thread {thread + 1} at the same time."
                conflicts.append({"items": [i, j], "text": text})
    for earlier, number, why in dependencies(items):
        if place[number][1] < ends[earlier]:
            text = f"{why} until {ends[earlier]}: it cannot start at {place[number][1]}."
            conflicts.append({"items": [earlier, number], "text": text})
    return {"score": max(ends, default=0), "conflicts": conflicts}


def numbered(place: Sequence[int]) -> list[int]:
    """Groups numbered by their first members."""
    number: dict[int, int] = {}
    return [number.setdefault(group, len(number)) for group in place]


def letter(group: int) -> str:
    """The name of a group: ``A`` … ``Z``, ``A1`` …"""
    return chr(65 + group % 26) + (str(group // 26) if group >= 26 else "")


def makers(items: Items) -> dict[int, int]:
    """The operation that computes each value."""
    return {value: number for number, each in enumerate(items) for value in each["writes"]}


def _fusion(payload: dict[str, Any], place: Sequence[int]) -> dict[str, Any]:
    items = payload["items"]
    group = numbered(place)
    maker = makers(items)
    waits, conflicts = _dependences(items, group, maker)
    conflicts = [*_crowded_calls(items, group), *conflicts, *_cycles(items, waits)]
    return {"score": _traffic(payload, group, maker), "conflicts": conflicts}


def _traffic(payload: dict[str, Any], group: Sequence[int], maker: dict[int, int]) -> int:
    """Bytes that groups read from memory and write to it: each reads a value once."""
    items, values = payload["items"], payload["values"]
    read = {(value, group[n]) for n, each in enumerate(items) for value in each["reads"]}
    across = [v for v, reader in read if v not in maker or group[maker[v]] != reader]
    elsewhere = set(across)
    written = [v for v in maker if v in elsewhere or values[v]["out"]]
    return sum(values[v]["bytes"] for v in (*across, *written))


def _crowded_calls(items: Items, group: Sequence[int]) -> list[dict[str, Any]]:
    """Library calls that share their group."""
    return [
        {"items": [number], "text": f"{each['name']} is a library call: it runs alone."}
        for number, each in sorted(enumerate(items), key=lambda pair: group[pair[0]])
        if each["kind"] == "library" and group.count(group[number]) > 1
    ]


def _dependences(
    items: Items, group: Sequence[int], maker: dict[int, int]
) -> tuple[_Waits, list[dict[str, Any]]]:
    """Which groups read which, and the reductions that are read within their own group."""
    waits: _Waits = {}
    conflicts = []
    for number, each in enumerate(items):
        for producer in (maker[value] for value in each["reads"] if value in maker):
            if group[producer] != group[number]:
                waits.setdefault(group[producer], {}).setdefault(group[number], (producer, number))
            elif items[producer]["kind"] == "reduction":
                name = items[producer]["name"]
                text = (
                    f"{each['name']} needs all of {name} before it starts: one loop cannot do both."
                )
                conflicts.append({"items": [producer, number], "text": text})
    return waits, conflicts


def _cycles(items: Items, waits: _Waits) -> list[dict[str, Any]]:
    """Groups that depend on each other in a cycle: none of them could run first."""
    conflicts = []
    visited: set[int] = set()
    for start in sorted(waits):
        ring = [] if start in visited else _ring(waits, start)
        if not ring:
            continue
        visited.update(ring)
        edges = [waits[a][b] for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)]
        steps = ", ".join(f"{items[b]['name']} reads {items[a]['name']}" for a, b in edges)
        names = " and ".join(letter(each) for each in ring)
        touched = sorted({number for edge in edges for number in edge})
        text = f"Groups {names} depend on each other in a cycle: {steps}."
        conflicts.append({"items": touched, "text": text})
    return conflicts


def _ring(waits: _Waits, start: int) -> list[int]:
    """The shortest path from a group back to itself; empty if there is none."""
    before: dict[int, int] = {}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        for after in sorted(waits.get(at, {})):
            if after == start:
                ring = [at]
                while ring[-1] != start:
                    ring.append(before[ring[-1]])
                return ring[::-1]
            if after not in before:
                before[after] = at
                queue.append(after)
    return []


_JUDGES: dict[str, Callable[[dict[str, Any], Sequence[Any]], dict[str, Any]]] = {
    "memory": _memory,
    "tasks": _tasks,
    "fusion": _fusion,
}
