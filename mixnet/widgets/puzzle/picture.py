"""The static picture of a puzzle: the current answer, and its score compared with others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet.units import how_many, size_text
from mixnet.widgets.puzzle.rules import judge, letter, makers, numbered
from mixnet.widgets.svg import Svg, short

_WIDTH, _LEFT, _TOP, _AREA, _HIGH = 960, 60, 40, 560, 260


def score_text(payload: dict[str, Any], score: int) -> str:
    """A score with its unit."""
    return str(score) if payload["kind"] == "tasks" else size_text(score)


def picture(payload: dict[str, Any], place: list[Any], label: str) -> str:
    """The SVG of an answer."""
    verdict = judge(payload, place)
    wrong = {number for each in verdict["conflicts"] for number in each["items"]}
    rows = len(payload["items"])
    high = max(_HIGH, 30 * rows) if payload["kind"] == "fusion" else _HIGH
    svg = Svg(_WIDTH, _TOP + high + 40, label)
    svg.text(14, 22, f"Puzzle: {payload['name']}", bold=True)
    _DRAWN[payload["kind"]](svg, payload, place, wrong)
    _scores(svg, payload, verdict)
    return str(svg)


def _box(
    svg: Svg,
    x: float,
    y: float,
    width: float,
    height: float,
    name: str,
    title: str,
    colour: int,
    bad: bool,
) -> None:
    svg.rect(x, y, width, height, f"c{colour} {'s-hot' if bad else 's-line'}", title=title)
    text = ("! " if bad else "") + name
    if height >= 11 and width >= 30:
        middle = (x + width / 2, y + height / 2 + 3.5)
        svg.text(*middle, text, size=10, anchor="middle", room=width - 2)


def _memory(svg: Svg, payload: dict[str, Any], place: list[int], wrong: set[int]) -> None:
    items = payload["items"]
    steps = max(each["end"] for each in items)
    top = max(at + each["size"] for at, each in zip(place, items, strict=True))
    for number, (each, at) in enumerate(zip(items, place, strict=True)):
        x, width = _AREA * each["begin"] / steps, _AREA * (each["end"] - each["begin"]) / steps
        height = _HIGH * each["size"] / top
        y = _HIGH * (1 - at / top) - height
        title = (
            f"{each['name']}: {size_text(each['size'])}, steps {each['begin'] + 1} to {each['end']}"
        )
        _box(
            svg,
            _LEFT + x,
            _TOP + y,
            width,
            height,
            each["name"],
            title,
            number % 7,
            number in wrong,
        )
    svg.line(_LEFT, _TOP + _HIGH, _LEFT + _AREA, _TOP + _HIGH)
    svg.text(_LEFT - 6, _TOP + 9, size_text(top), "f-dim", 10, anchor="end")
    svg.text(_LEFT - 6, _TOP + _HIGH, "0", "f-dim", 10, anchor="end")
    svg.text(
        _LEFT + _AREA / 2, _TOP + _HIGH + 18, how_many(steps, "step"), "f-dim", 10, anchor="middle"
    )


def _tasks(svg: Svg, payload: dict[str, Any], place: list[list[int]], wrong: set[int]) -> None:
    items = payload["items"]
    end = max(start + each["time"] for (_, start), each in zip(place, items, strict=True))
    high = min(60, _HIGH / payload["threads"])
    for thread in range(payload["threads"]):
        svg.text(
            _LEFT - 6,
            _TOP + high * (thread + 0.5),
            f"thread {thread + 1}",
            "f-dim",
            10,
            anchor="end",
        )
    for number, (each, (thread, start)) in enumerate(zip(items, place, strict=True)):
        title = (
            f"{each['name']}: {each['time']}; reads {', '.join(each['reads']) or 'nothing'}; "
            f"writes {', '.join(each['writes']) or 'nothing'}"
        )
        x, width = _AREA * start / end, _AREA * each["time"] / end
        _box(
            svg,
            _LEFT + x,
            _TOP + high * thread + 3,
            width,
            high - 6,
            each["name"],
            title,
            number % 7,
            number in wrong,
        )
    svg.text(
        _LEFT + _AREA,
        _TOP + high * payload["threads"] + 16,
        f"ends at {end}",
        "f-dim",
        10,
        anchor="end",
    )


def _fusion(svg: Svg, payload: dict[str, Any], place: list[int], wrong: set[int]) -> None:
    items, group = payload["items"], numbered(place)
    maker = makers(items)
    for number, each in enumerate(items):
        y = _TOP + 30 * number
        title = f"{each['name']}: {each['op']}, {each['kind']}"
        _box(
            svg,
            _LEFT,
            y,
            180,
            24,
            f"{letter(group[number])}  {each['name']}",
            title,
            group[number] % 7,
            number in wrong,
        )
        for k, value in enumerate(v for v in each["reads"] if v in maker):
            above, within = maker[value], group[maker[value]] == group[number]
            start, stop = _TOP + 30 * above + 14, y + 10
            edge = _LEFT + 181
            bend = edge + 20 + 10 * ((number + k) % 6) + 9 * (number - above)
            svg.path(
                f"M{edge},{start} C{bend},{start} {bend},{stop} {edge + 1},{stop}",
                "s-line",
                dashed=within,
                arrow=True,
            )
        svg.text(
            _LEFT + 350,
            y + 16,
            f"{each['kind']}, writes "
            f"{size_text(sum(payload['values'][v]['bytes'] for v in each['writes']))}",
            "f-dim",
            10,
        )


def _scores(svg: Svg, payload: dict[str, Any], answer: dict[str, Any]) -> None:
    this_answer = {"name": "this answer", "means": "", "score": answer["score"]}
    rows = [this_answer, *payload["references"]]
    most = max(each["score"] for each in rows) or 1
    x = _LEFT + _AREA + 40
    svg.text(
        x,
        _TOP - 6,
        {"memory": "arena", "tasks": "end of the last task", "fusion": "bytes moved"}[
            payload["kind"]
        ],
        "f-dim",
        11,
    )
    for i, each in enumerate(rows):
        y = _TOP + 8 + 36 * i
        svg.text(
            x, y + 6, f"{each['name']}: {score_text(payload, each['score'])}", size=11, bold=not i
        )
        svg.rect(
            x,
            y + 10,
            260 * each["score"] / most,
            9,
            "c1 s-line" if not i else "c0 s-line",
            each["means"] or None,
        )
    for i, each in enumerate(answer["conflicts"][:2]):
        svg.text(
            x, _TOP + 22 + 36 * len(rows) + 16 * i, short("! " + each["text"], 46), "f-hot", 10.5
        )


_DRAWN: dict[str, Callable[[Svg, dict[str, Any], list[Any], set[int]], None]] = {
    "memory": _memory,
    "tasks": _tasks,
    "fusion": _fusion,
}
