"""A training board as a static picture: the final curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mixnet.units import count_text, digits, size_text, ticks
from mixnet.widgets.board.others import curves_of_others
from mixnet.widgets.svg import Svg, fitted, text_width

_WIDTH, _HEIGHT, _GAP, _ACROSS = 300, 150, 16, 3
FROM_ZERO = ("throughput", "memory")
"""Charts whose axis begins at zero: what changes by a percent is not shown as a jump."""
_SHOWN: dict[str, Callable[[float], str]] = {"throughput": count_text, "memory": size_text}
_LETTERS = "ABCDEFGH"
_DASHES = ("", "7 3", "2 2", "9 3 2 3")


def groups(payload: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Curves that are drawn together: ``training accuracy`` with ``validation accuracy``."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for series in (*payload["series"], *curves_of_others(payload)):
        rows.setdefault(series["group"], []).append(series)
    return list(rows.items())


def picture(payload: dict[str, Any], label: str) -> str:
    """Curves by group, throughput, memory, histograms and images."""
    charts = groups(payload)
    extra = [("throughput", payload["throughput"]["unit"]), ("memory", "bytes")]
    charts += [
        (f"{key} ({unit})", [{"name": key, **payload[key]}])
        for key, unit in extra
        if payload[key]["value"]
    ]
    spread = payload["hist"]
    cells = len(charts) + len(spread)
    tall = _HEIGHT + 12 * max(max((len(curves) for _, curves in charts), default=0) - 2, 0)
    rows = -(-cells // _ACROSS)
    images = 110 if payload["images"] else 0
    svg = Svg(_ACROSS * (_WIDTH + _GAP) + _GAP, 40 + rows * (tall + _GAP) + images + 8, label)
    svg.text(_GAP, 24, label, bold=True)
    marks = [event["step"] for event in payload["events"] if event["kind"] == "compile"]
    for number in range(cells):
        x = _GAP + number % _ACROSS * (_WIDTH + _GAP)
        y = 40 + number // _ACROSS * (tall + _GAP)
        if number < len(charts):
            _chart(svg, x, y, tall, *charts[number], marks, payload["nan"])
        else:
            _histogram(svg, x, y, tall, spread[number - len(charts)])
    for number, image in enumerate(payload["images"][-8:]):
        x, y = _GAP + number * 116, 40 + rows * (tall + _GAP)
        svg.add(
            f'<image x="{x}" y="{y}" width="90" height="86" style="image-rendering:pixelated" '
            f'href="{image["src"]}"/>'
        )
        svg.add(f'<rect class="s-line" fill="none" x="{x}" y="{y}" width="90" height="86"/>')
        svg.text(x, y + 100, image["name"], "f-dim", 10, room=110)
    return str(svg)


def _chart(
    svg: Svg, x: float, y: float, height: float, title: str, curves: list[dict[str, Any]],
    marks: list[int], bad: dict[str, Any] | None,
) -> None:  # fmt: skip
    svg.rect(x, y, _WIDTH, height, "f-box s-line", radius=4)
    known = [
        v
        for c in curves
        for key in ("value", "low", "high")
        for v in c.get(key, [])
        if v is not None
    ]
    steps = [step for c in curves for step in c["step"]]
    if not known:
        svg.text(x + 8, y + 16, title, bold=True, room=_WIDTH - 16)
        svg.text(x + 8, y + 40, "no finite value", "f-dim")
        return
    low, high, first, last = min(known), max(known), min(steps), max(steps)
    if title.startswith(FROM_ZERO):
        low = min(low, 0)
    above = max(36, 24 + 12 * len(curves))  # the names stand over the curves
    area = _Area(x + 46, y + above, _WIDTH - 54, height - 20 - above, (first, last), (low, high))
    show = next((each for key, each in _SHOWN.items() if title.startswith(key)), digits)
    _axes(svg, area, show)
    bottom = area.top + area.height
    for step in marks:
        if first <= step <= last:
            svg.line(area.x(step), bottom, area.x(step), bottom + 4, "s-dim")
    if bad and any(c["name"] == bad["name"] for c in curves):
        at = area.x(bad["step"])
        svg.line(at, area.top, at, bottom, "s-hot", dashed=True)
        svg.text(min(at + 3, x + _WIDTH - 60), area.top + 10, "not finite", "f-hot", 10)
    for number, curve in enumerate(curves):
        colour = number % 8
        _polyline(svg, curve, number, area)
        name = f"{_LETTERS[colour]} {curve['name']}" if len(curves) > 1 else ""
        final = curve.get("recent", curve)["value"][-1]
        ending = "not finite" if final is None else show(final)
        room = _WIDTH - 22 - text_width(ending, 10) - (0 if number else 60)
        text = f"{fitted(name, 10, room)} {ending}".strip()
        svg.text(x + _WIDTH - 8, y + 16 + 12 * number, text, f"m{colour}", 10, "end")
        if not number:  # the title has the rest of the line
            room = _WIDTH - 24 - text_width(text, 10)
            svg.text(x + 8, y + 16, title, bold=True, room=room)


class _Area(NamedTuple):
    """Where the curves of a chart are drawn, and the steps and values that it spans."""

    left: float
    top: float
    width: float
    height: float
    steps: tuple[float, float]
    values: tuple[float, float]

    def x(self, step: float) -> float:
        first, last = self.steps
        return self.left + (step - first) * (self.width / max(last - first, 1))

    def y(self, value: float) -> float:
        low, high = self.values
        return self.top + self.height - (value - low) * (self.height / ((high - low) or 1))


def _axes(svg: Svg, area: _Area, show: Callable[[float], str]) -> None:
    for level in ticks(*area.values, 3):
        at = area.y(level)
        svg.add(
            f'<path class="s-line" opacity="0.4" d="M{area.left:.1f},{at:.1f}h{area.width:.1f}"/>'
        )
        svg.text(area.left - 4, at + 3.5, show(level), "f-dim", 9.5, "end")
    below = area.top + area.height + 14
    for step in ticks(*area.steps, 4):
        if step == int(step):
            svg.text(area.x(step), below, f"{step:.0f}", "f-dim", 9.5, "middle")


def _polyline(svg: Svg, curve: dict[str, Any], number: int, area: _Area) -> None:
    """A curve with its gaps; a value between two gaps is a dot."""
    points: list[tuple[float, float]] = []
    for step, value in [*zip(curve["step"], curve["value"], strict=True), (0, None)]:
        if value is not None:
            points.append((area.x(step), area.y(value)))
            continue
        if len(points) == 1:
            svg.circle(*points[0], 2, f"m{number % 8}")
        elif points:
            dashes = f'" stroke-dasharray="{_DASHES[number % 4]}' if number % 4 else ""
            svg.polyline(points, f"k{number % 8}{dashes}")
        points = []


def _histogram(svg: Svg, x: float, y: float, high: float, data: dict[str, Any]) -> None:
    svg.rect(x, y, _WIDTH, high, "f-box s-line", radius=4)
    svg.text(x + 8, y + 16, data["layer"], bold=True, room=_WIDTH - 16)
    counts = data["counts"] or [0]
    wide, tall = (_WIDTH - 16) / len(counts), high - 52
    for number, count in enumerate(counts):
        height = count / max(max(counts), 1) * tall
        svg.rect(x + 8 + number * wide, y + 28 + tall - height, wide - 0.5, height, "m0")
    svg.text(x + 8, y + high - 8, digits(data["low"]), "f-dim", 10)
    bad = f"{data['bad']} not finite, " if data["bad"] else ""
    svg.text(x + _WIDTH / 2, y + high - 8, f"{bad}step {data['step']}", "f-dim", 10, "middle")
    svg.text(x + _WIDTH - 8, y + high - 8, digits(data["high"]), "f-dim", 10, "end")
