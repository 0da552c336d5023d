"""The aggregate table: call counts and times, by name."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mixnet.engine.timeline import shown_name

Row = Mapping[str, Any]
SORT_KEYS = ("total", "avg", "min", "max", "count")
_UNITS = {"Time": "ms", "Memory": "kB", "Value": "1"}
_SCALES = {"Time": 1e6, "Memory": 1e3, "Value": 1}  # from nanoseconds and bytes
_COLUMNS = {
    "Time": ("Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"),
    "Memory": ("Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)"),
    "Value": ("Min Value", "Max Value", "Avg Value"),
}


def aggregate(rows: Sequence[Row], events: Sequence[Row]) -> dict[str, dict[str, dict[str, Any]]]:
    """Statistics by quantity (``Time``, ``Memory``, ``Value``), category and name.

    Each has ``Count``, ``Min``, ``Max``, ``Avg`` and, of times, ``Total``; milliseconds and kilobytes
    (1000 bytes). The time of a row is without what was compiled in it: that is in ``compile``.

    Args:
        rows: of the engine's timeline.
        events: of the session.
    """
    compiling = _Intervals(e for e in events if e["kind"] == "compile")
    domains: dict[str, dict[str, dict[str, list[float]]]] = {}

    def add(quantity: str, category: str, name: str, value: float) -> None:
        names = domains.setdefault(quantity, {}).setdefault(category, {})
        names.setdefault(name, []).append(value / _SCALES[quantity])

    for row in rows:
        kind = row["resource"].partition(":")[0]
        spent = row["ended"] - row["started"] - compiling.within(row)
        category = "operator" if kind == "compute" else kind
        add("Time", "Custom Operator" if row.get("caller") else category, shown_name(row), spent)
    for event in events:
        name, category = event["name"], event["category"]
        if event["kind"] in ("span", "compile"):
            add("Time", category, name, event["ended"] - event["started"])
        elif event["kind"] == "instant":
            add("Time", category, name, 0)
        else:
            add("Memory" if event["kind"] == "memory" else "Value", category, name, event["value"])
    return {
        quantity: {
            category: {name: _statistics(quantity, values) for name, values in names.items()}
            for category, names in categories.items()
        }
        for quantity, categories in domains.items()
    }


def _statistics(quantity: str, values: Sequence[float]) -> dict[str, Any]:
    statistics: dict[str, Any] = {"Count": len(values)}
    if quantity == "Time":
        statistics["Total"] = sum(values)
    statistics |= {"Min": min(values), "Max": max(values), "Avg": sum(values) / len(values)}
    return statistics


class _Intervals:
    """Times of a thread that are spent on something, joined where they overlap."""

    def __init__(self, events: Iterable[Row]):
        self._joined: dict[str, list[list[int]]] = defaultdict(list)
        for event in sorted(events, key=lambda e: e["started"]):
            joined = self._joined[event["thread"]]
            if joined and event["started"] <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], event["ended"])
            else:
                joined.append([event["started"], event["ended"]])
        self._ends = {thread: [end for _, end in each] for thread, each in self._joined.items()}

    def within(self, row: Row) -> int:
        """Nanoseconds of them in the time of a row."""
        ends = self._ends.get(row["thread"], [])
        total = 0
        for start, end in self._joined.get(row["thread"], [])[bisect_left(ends, row["started"]) :]:
            if start >= row["ended"]:
                break
            total += min(end, row["ended"]) - max(start, row["started"])
        return total


def _ordered(
    names: Mapping[str, dict[str, Any]], sort_by: str, ascending: bool
) -> list[tuple[str, dict[str, Any]]]:
    key = sort_by.capitalize()
    # Only times have a total: other quantities go by count then.
    return sorted(
        names.items(), key=lambda each: each[1].get(key, each[1]["Count"]), reverse=not ascending
    )


def as_table(statistics: Mapping[str, Any], sort_by: str, ascending: bool) -> str:
    """Text: a section for each category, a line for each name. The form is MXNet's."""
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    sections = [
        (category, quantity, names)
        for quantity, categories in statistics.items()
        for category, names in categories.items()
    ]
    for category, quantity, names in sorted(sections, key=lambda each: each[:2]):
        columns = _COLUMNS[quantity]
        titles = ["Total Count", *columns]
        lines += [category, "================="]
        for heads in (["Name", *titles], ["----", *["-" * len(title) for title in titles]]):
            widths = [16] + [17] * len(columns)
            cells = [f"{head:>{width}}" for head, width in zip(heads[1:], widths, strict=True)]
            lines.append(f"{heads[0]:<25}" + "".join(cells))
        for name, statistics_of_name in _ordered(names, sort_by, ascending):
            numbers = [value for key, value in statistics_of_name.items() if key != "Count"]
            cells = [f"{number:>17.4f}" for number in numbers]
            lines.append(f"{name:<25}{statistics_of_name['Count']:>16}" + "".join(cells))
        lines.append("")
    return "\n".join(lines) + "\n"


def as_json(statistics: Mapping[str, Any], sort_by: str, ascending: bool) -> str:
    """JSON text: quantity, category, name; ``Unit`` says the unit of each quantity."""
    data: dict[str, Any] = {
        quantity: {
            category: dict(_ordered(names, sort_by, ascending))
            for category, names in sorted(statistics.get(quantity, {}).items())
        }
        for quantity in _UNITS
    }
    return json.dumps({**data, "Unit": _UNITS}, indent=4)
