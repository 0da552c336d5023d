"""The engine's timeline as a static picture."""

from __future__ import annotations

import math
from typing import Any

from mixnet.units import time_text, time_ticks
from mixnet.widgets.svg import Svg, fitted, text_width
from mixnet.widgets.timeline.data import KINDS, Run

WIDTH, LEFT, BAR, SEAT = 940, 14, 17, 5
LETTERS = "CKIMO"  # compute, copy, I/O, messages, other: also as in timeline.js
WORDS = ("compute", "copy", "I/O", "communication", "other")


def picture(runs: list[Run], label: str, width: float = WIDTH, waits: bool = True) -> str:
    """All runs, one below the other, on one time axis; the longest chain of dependent operations
    is framed.

    Args:
        runs: of the payload.
        label: what a screen reader says.
        width: in pixels.
        waits: with a line for each operation that waited.
    """
    if not waits:
        runs = [_without_waits(run) for run in runs]
    height = 54 + sum(26 + sum(_height(lane) for lane in run["lanes"]) for run in runs)
    svg = Svg(width, height, label)
    span = max([run["span"] for run in runs] + [1])
    scale = (width - 2 * LEFT) / span
    _legend(svg, runs, waits)
    for tick in time_ticks(0, span / 1e9, int(width / 115)):
        x = LEFT + tick * 1e9 * scale
        svg.add(f'<path class="s-line" opacity="0.4" d="M{x:.1f},40V{height - 6}"/>')
        text = time_text(tick)
        before = x + 3 + text_width(text, 10) > width  # no room behind its line
        svg.text(x + (-3 if before else 3), 50, text, "f-dim", 10, "end" if before else "start")
    y = 58.0
    for run in runs:
        name = fitted(run["name"], 12, width - 120, bold=True)
        svg.text(LEFT, y + 12, f"{name}: {time_text(run['span'] / 1e9)}", bold=True)
        y += 20
        for number, lane in enumerate(run["lanes"]):
            svg.text(LEFT, y + 11, lane["name"], "f-dim", 11)
            _bars(svg, run, number, y + 15, scale)
            y += _height(lane)
        y += 6
    return str(svg)


def _height(lane: dict[str, Any]) -> int:
    height: int = 20 + lane["depth"] * BAR + lane["seats"] * SEAT
    return height


def _without_waits(run: Run) -> Run:
    lanes = [{**lane, "seats": 0} for lane in run["lanes"]]
    return {**run, "lanes": lanes, "ops": {**run["ops"], "seat": [-1] * len(run["ops"]["seat"])}}


def _legend(svg: Svg, runs: list[Run], waits: bool) -> None:
    used = sorted({kind for run in runs for kind in run["ops"]["kind"]})
    x: float = LEFT
    for kind in used:
        svg.rect(x, 8, 16, 14, f"c{kind} s-line", radius=2)
        svg.text(x + 4, 19, LETTERS[kind], size=10, bold=True)
        svg.text(x + 20, 19, WORDS[kind], size=11)
        x += 34 + 6.5 * len(WORDS[kind])
    if waits:
        svg.line(x, 15, x + 20, 15, "s-fg", dashed=True)
        svg.text(x + 24, 19, "queued for variables", size=11)
        svg.rect(x + 150, 13, 20, 4, "f-dim")
        svg.text(x + 174, 19, "waiting for a thread", size=11)
        x += 294
    svg.rect(x, 9, 20, 12, "f-bg s-hot")
    svg.text(x + 24, 19, "longest chain", size=11)


def _bars(svg: Svg, run: Run, lane: int, y: float, scale: float) -> None:
    ops, strings = run["ops"], run["strings"]
    path = set(run["chain"])
    below = y + run["lanes"][lane]["depth"] * BAR + 2
    # Where the last bar of a line ended: bars below a pixel are joined.
    drawn: dict[int, float] = {}
    for i in (i for i, at in enumerate(ops["lane"]) if at == lane):
        pushed = LEFT + ops["pushed"][i] * scale
        ready = pushed + ops["queued"][i] * scale
        start = ready + ops["waited"][i] * scale
        width = max(ops["ran"][i] * scale, 0.8)
        seat, line = ops["seat"][i], -1 - ops["seat"][i]
        if seat >= 0 and start - pushed >= 1 and start > drawn.get(line, -math.inf) + 0.5:
            at = below + seat * SEAT
            if ready - pushed >= 0.5:
                svg.line(pushed, at + 1.5, ready, at + 1.5, "s-fg", dashed=True)
            if start - ready >= 0.5:
                svg.rect(ready, at, start - ready, 3, "f-dim")
            drawn[line] = start
        if start + width <= drawn.get(ops["depth"][i], -math.inf) + 0.5:
            continue
        drawn[ops["depth"][i]] = start + width
        name, failed = strings[ops["name"][i]], ops["error"][i] >= 0
        top = y + ops["depth"][i] * BAR
        style = f"c{ops['kind'][i]} {'s-hot' if i in path or failed else 's-line'}"
        tooltip = f"{name}: {time_text(ops['ran'][i] / 1e9)} ({KINDS[ops['kind'][i]]})"
        svg.rect(start, top, width, BAR - 3, style, tooltip)
        if width > 16:
            text = f"{'! ' if failed else ''}{LETTERS[ops['kind'][i]]} {name}"
            room = width - 5
            svg.text(start + 3, top + 10.5, text if room > 28 else text[0], size=10, room=room)
