"""The curves of other runs, for comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def other_run(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The data that a board shows of another one: its title, and its curves without their extremes."""
    columns = ("name", "group", "step", "value")
    return {
        "title": payload["title"],
        "series": [{key: each[key] for key in columns} for each in payload["series"]],
    }


def curves_of_others(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The curves of a payload's other runs, named after both: ``adam: loss``."""
    for run in payload.get("others", ()):
        for each in run["series"]:
            yield {**each, "name": f"{run['title']}: {each['name']}"}


def same_step(curve: Mapping[str, Any], step: int) -> tuple[int, float | None] | None:
    """The last point of a curve that is not beyond a step; None where it begins later."""
    steps: Sequence[int] = curve["step"]
    count = sum(each <= step for each in steps)
    return (steps[count - 1], curve["value"][count - 1]) if count else None
