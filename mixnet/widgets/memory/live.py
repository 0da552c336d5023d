"""The payload of MemoryView for a log of live memory."""

from __future__ import annotations

from typing import Any

from mixnet.base import MXNetError
from mixnet.context import Context
from mixnet.runtime.value.memory import Allocation, MemoryLog, last_log, logs
from mixnet.widgets.memory.plans import SCHEMA, Table
from mixnet.widgets.why.holders import of_buffers

LIMIT = 50_000
"""Arrays of a device that are kept: those with the most bytes times seconds."""


def payload_of_log(log: MemoryLog | None, ctx: Context | None) -> dict[str, Any]:
    """Arrays over microseconds, a plan for each device; the one that held most comes first.

    Raises:
        MXNetError: there is no log, or it saw no array.
    """
    log = log or (logs[-1] if logs else last_log())
    if log is None:
        raise MXNetError(
            "MemoryView.live: nothing was recorded. Run the code inside "
            "`with mx.runtime.memory() as log:`, then call MemoryView.live(log)."
        )
    by_context: dict[str, list[Allocation]] = {}
    for each in list(log.allocations):
        by_context.setdefault(each.context, []).append(each)
    if ctx is not None and str(ctx) not in by_context:
        raise MXNetError(
            f"MemoryView.live: the log has no array on {ctx}, only on "
            f"{', '.join(by_context) or 'no device'}."
        )
    if not by_context:
        raise MXNetError("MemoryView.live: the log has no arrays; create some inside its scope.")
    end = max(max(a.born, a.died or 0.0) for a in log.allocations)
    table = Table()
    graphs: list[dict[str, Any]] = []
    plans: list[dict[str, Any]] = []
    first = None if ctx is None else str(ctx)
    peaks = {name: _peak(log, name) for name in by_context}
    for name in sorted(by_context, key=lambda each: (each != first, -peaks[each][1])):
        graph, plan = _of_context(by_context[name], end * 1.02 + 1e-6, table)
        graph["holders"] = _holders(log, by_context[name])
        at, size = peaks[name]
        figures = {
            "name": name,
            "graph": len(graphs),
            "bound": size,
            "total": max(plan.pop("top"), size),
        }
        plans.append({**figures, "peak": {"at": _us(at), "bytes": size}, **plan})
        graphs.append(graph)
    return {
        "schema": SCHEMA,
        "unit": "us",
        "name": "live memory",
        "train": None,
        **table.to_dict(),
        "graphs": graphs,
        "plans": plans,
        "check": {"xla": None, "note": "buffers inside a running program are not arrays"},
    }


def _peak(log: MemoryLog, name: str) -> tuple[float, int]:
    device, _, number = name.rstrip(")").partition("(")
    return log.peak(Context(device, int(number)))


def _us(seconds: float) -> float:
    return round(seconds * 1e6, 3)


def _of_context(
    arrays: list[Allocation], end: float, table: Table
) -> tuple[dict[str, Any], dict[str, Any]]:
    of = len(arrays)
    if of > LIMIT:
        most = sorted(arrays, key=lambda a: -a.bytes * ((a.died or end) - a.born))[:LIMIT]
        arrays = sorted(most, key=lambda a: a.id)
    rows: dict[tuple[str, int, tuple[int, ...]], int] = {}  # operation, line, callers -> its row
    steps = []
    for each in arrays:
        callers = () if each.source is None else each.source.callers
        key = each.name, table.source(each.source), tuple(map(table.source, callers))
        steps.append(rows.setdefault(key, len(rows)))
    offsets, top = stacked(
        [(each.born, end if each.died is None else each.died, each.bytes) for each in arrays]
    )
    begin = min(each.born for each in arrays)
    graph = {
        "start": _us(max(begin - 0.02 * (end - begin), 0.0)),  # nothing is there before
        "length": _us(end),
        "regions": [],
        "steps": {
            "name": [name for name, _, _ in rows],
            "op": [table.string(name) for name, _, _ in rows],
            "source": [source for _, source, _ in rows],
            "callers": [callers for _, _, callers in rows],
        },
        "arrays": {
            "step": steps,
            "index": [-1] * len(arrays),
            "shape": [table.string("×".join(map(str, a.shape)) or "scalar") for a in arrays],
            "dtype": [table.string(each.dtype) for each in arrays],
            "bytes": [each.bytes for each in arrays],
            "begin": [_us(each.born) for each in arrays],
            "end": [_us(end if each.died is None else each.died) for each in arrays],
            "kind": ["E" if each.name == "before" else "L" for each in arrays],
        },
    }
    plan = {
        "top": top,
        "of": of,
        "user": {},
        "workspace": 0,
        "dependencies": 0,
        "storage": list(range(len(arrays))),
        "offset": offsets,
        "size": [each.bytes for each in arrays],
    }
    return graph, plan


def stacked(lives: list[tuple[float, float, int]]) -> tuple[list[int], int]:
    """A place for each array in a drawing: the lowest gap that is free when it is made.

    Args:
        lives: when each begins and ends, and its bytes.

    Returns:
        Offsets, and the height of the drawing; where gaps stay open that is more than was alive.
    """
    events = sorted(
        [(begin, 1, number) for number, (begin, _, _) in enumerate(lives)]
        + [(end, 0, number) for number, (begin, end, _) in enumerate(lives) if end > begin]
    )
    offsets = [0] * len(lives)
    gaps: list[list[int]] = []  # begin and end, in order, never touching
    top = highest = 0
    for _, is_allocation, number in events:
        size = lives[number][2]
        if is_allocation:
            for place, gap in enumerate(gaps):
                if gap[1] - gap[0] >= size:
                    offsets[number] = gap[0]
                    gap[0] += size
                    if gap[0] == gap[1]:
                        del gaps[place]
                    break
            else:
                offsets[number] = top
                top += size
                highest = max(highest, top)
            if lives[number][1] > lives[number][0]:
                continue
        top = _free(gaps, offsets[number], offsets[number] + size, top)
    return offsets, highest


def _free(gaps: list[list[int]], begin: int, end: int, top: int) -> int:
    """Open a gap, joined with its neighbours; returns the end of what is in use."""
    if begin == end:
        return top
    low, high = 0, len(gaps)
    while low < high:
        middle = (low + high) // 2
        if gaps[middle][0] < begin:
            low = middle + 1
        else:
            high = middle
    gaps.insert(low, [begin, end])
    if low + 1 < len(gaps) and gaps[low + 1][0] == end:
        gaps[low][1] = gaps.pop(low + 1)[1]
    if low and gaps[low - 1][1] == begin:
        gaps[low - 1][1] = gaps.pop(low)[1]
        low -= 1
    if gaps[low][1] == top:
        return gaps.pop(low)[0]
    return top


_MOST_HOLDERS = 8  # arrays whose holders are looked for


def _holders(log: MemoryLog, allocations: list[Allocation]) -> dict[str, list[str]]:
    """The objects that refer to the largest live arrays, by the arrays' numbers in the view."""
    alive = {record.id: key for key, record in log._known.copy().items()}
    if len(allocations) > LIMIT:
        return {}
    largest = sorted(
        (i for i, each in enumerate(allocations) if each.id in alive),
        key=lambda i: -allocations[i].bytes,
    )
    references = {i: log._references.get(alive[allocations[i].id]) for i in largest[:_MOST_HOLDERS]}
    arrays = {i: reference() for i, reference in references.items() if reference is not None}
    arrays = {i: array for i, array in arrays.items() if array is not None}
    holders = of_buffers(list(arrays.values()))
    return {str(i): words for i, words in zip(arrays, holders, strict=True)}
