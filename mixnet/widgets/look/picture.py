"""The panes of ``mx.look`` as one static picture."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mixnet.units import digits, share_text
from mixnet.widgets.graph.picture import picture as graph_picture
from mixnet.widgets.memory.picture import plan_picture
from mixnet.widgets.memory.plans import in_program
from mixnet.widgets.svg import Svg, wrapped
from mixnet.widgets.timeline.picture import picture as timeline_picture

WIDTH = 1180
_LINES = 14  # lines of source that fit


def picture(payload: Mapping[str, Any], state: Mapping[str, Any], summary: str) -> str:
    """Source and numbers, the graph, and memory above the engine; what is selected is marked in
    the source.
    """
    svg = Svg(WIDTH, 520, summary)
    svg.text(14, 22, summary, bold=True)
    panes = {
        "source": (14, 36, 330, 250),
        "numbers": (14, 296, 330, 210),
        "graph": (354, 36, 300, 470),
    }
    panes |= {
        "memory": (664, 36, 502, 212),
        "engine": (664, 258, 502, 160),
        "what runs": (664, 428, 502, 78),
    }
    for name, (x, y, width, height) in panes.items():
        svg.rect(x, y, width, height, "f-bg s-line", radius=4)
        svg.text(x + 8, y + 15, name, "f-dim", 11, bold=True)
    node = state.get("node")
    _source(svg, payload, node, panes["source"])
    _numbers(svg, payload, node, panes["numbers"])
    _graph(svg, payload["graph"], node, panes["graph"])
    if payload["memory"] is not None:
        memory = in_program(payload["memory"], payload["labels"])
        plan = next(each for each in memory["plans"] if each["name"] == "both")
        _inside(svg, plan_picture(memory, plan, summary, 490, 186), panes["memory"])
    if payload["engine"] is not None:
        runs = engine_in_program(payload["engine"], payload["labels"])["runs"]
        _inside(svg, timeline_picture(runs, summary, 490, waits=False), panes["engine"])
    _pieces(svg, payload, node, panes["what runs"])
    for name, text in payload["missing"].items():
        x, y, width, height = panes[{"runs": "what runs"}.get(name, name)]
        for k, line in enumerate(wrapped(text, 11, width - 16)[: int((height - 24) // 15)]):
            svg.text(x + 8, y + 34 + 15 * k, line, "f-dim", 11, room=width - 16)
    return str(svg)


Box = tuple[float, float, float, float]


def engine_in_program(engine: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """The payload of a timeline whose tasks have their names from the program."""
    runs = [
        {**run, "strings": [labels.get(each, each) for each in run["strings"]]}
        for run in engine["runs"]
    ]
    return {**engine, "runs": runs}


def _inside(svg: Svg, inner: str, box: Box) -> None:
    """A picture in a box, as large as it fits; its corner and not its middle where it is taller."""
    x, y, width, height = box
    match = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', inner)
    assert match is not None
    scale = min((width - 12) / float(match[1]), (height - 26) / float(match[2]), 1.0)
    wide, tall = float(match[1]) * scale, float(match[2]) * scale
    # Styles and arrow heads are those of the outer picture; tooltips need a picture that can be pointed at.
    inner = re.sub(r"<(style|defs|title)>.*?</\1>", "", inner)
    place = (
        f'x="{x + (width - wide) / 2:.0f}" y="{y + 20:.0f}" width="{wide:.0f}" height="{tall:.0f}"'
    )
    svg.add(inner.replace(f'width="{match[1]}" height="{match[2]}"', place, 1))


def _graph(svg: Svg, graph: Mapping[str, Any], node: int | None, box: Box) -> None:
    room = box[2] - 16, box[3] - 76  # below the title and a note
    drawn = graph_picture({**graph, "notes": []}, graph["title"], room=room, selected=node)
    _inside(svg, drawn, box)


def _source(svg: Svg, payload: Mapping[str, Any], node: int | None, box: Box) -> None:
    x, y, width, _ = box
    marked = [] if node is None else payload["places"][node]
    rows = [
        (None, file["file"], None) if line is None else (line, text, [number, line])
        for number, file in enumerate(payload["source"])
        for line, text in [(None, ""), *file["lines"]]
    ]
    if not rows:
        svg.text(x + 8, y + 36, "No source lines are known.", "f-dim", 11)
    first = next((i for i, (_, _, place) in enumerate(rows) if place in marked and place), 0)
    start = min(max(0, first - _LINES // 2), max(0, len(rows) - _LINES))
    indent = min((len(t) - len(t.lstrip()) for line, t, _ in rows if line and t.strip()), default=0)
    for k, (line, text, place) in enumerate(rows[start : start + _LINES]):
        top = y + 24 + 15.5 * k
        if place is not None and place in marked:
            svg.rect(x + 2, top - 1, width - 4, 15, "c6")
        if line is None:
            svg.text(x + 8, top + 11, text, "f-dim", 11, bold=True)
            continue
        svg.text(x + 30, top + 11, str(line), "f-dim", 10, "end")
        svg.text(x + 38, top + 11, text[indent:], size=10, room=width - 44, code=True)


def _numbers(svg: Svg, payload: Mapping[str, Any], node: int | None, box: Box) -> None:
    x, y, width, height = box
    if node is None:
        return
    name = payload["graph"]["names"][node]
    svg.text(x + 8, y + 36, payload["labels"].get(name, name), bold=True, room=width - 14)
    rows = None if payload["numbers"] is None else payload["numbers"][node]
    if not rows:
        return
    low, high, mean, deviation, zeros, nans, infinities, bins, first = rows[0]
    values = (
        "no finite number"
        if low is None
        else f"{_text(low)} … {_text(high)}, mean {_text(mean)} ± {_text(deviation)}"
    )
    svg.text(x + 8, y + 54, values, size=11)
    bad = f", {nans} NaN, {infinities} infinite" if nans or infinities else ", all finite"
    svg.text(x + 8, y + 70, f"{share_text(zeros or 0)} are 0{bad}", size=11)
    most = max(bins, default=1)
    for k, count in enumerate(bins):
        tall = 84 * count / most
        svg.rect(x + 8 + 12.8 * k, y + height - 28 - tall, 12, tall, "m0")
    text = "first values: " + ", ".join(map(_text, first))
    svg.text(x + 8, y + height - 10, text, "f-dim", 10.5, room=width - 14)


def _text(value: float | str) -> str:
    """A value of an array with three digits; what is not finite is text already."""
    return value if isinstance(value, str) else digits(value)


def _pieces(svg: Svg, payload: Mapping[str, Any], node: int | None, box: Box) -> None:
    x, y, width, _ = box
    outer = [each for each in payload["pieces"] if "parent" not in each]
    mine = [each for each in outer if node in each["rows"]]
    rest = [each for each in outer if each not in mine]
    for k, piece in enumerate([*mine, *rest][:3]):
        top = y + 20 + 17 * k
        if piece in mine:
            svg.rect(x + 2, top, width - 4, 16, "c6")
        names = [payload["graph"]["names"][n] for n in piece["rows"]]
        text = " + ".join(payload["labels"].get(n, n) for n in names) or piece["name"]
        text = f"{outer.index(piece) + 1}. {piece['kind']}: {text}"
        svg.text(x + 8, top + 12, text, size=11, room=width - 14)
