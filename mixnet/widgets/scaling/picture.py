"""The static picture of ``ScalingView``: curves over devices, and bars of the parts of a step."""

from __future__ import annotations

import math
from typing import Any

from mixnet.units import count_text, how_many, share_text, size_text, ticks, time_text
from mixnet.widgets.scaling.model import step_parts, throughput
from mixnet.widgets.svg import Svg, fitted, text_width

PARTS = {
    "compute": ("C", "computing", 2),
    "serial": ("S", "serial", 6),
    "waiting": ("W", "waiting for the slowest", 3),
    "latency": ("L", "latency", 1),
    "transfer": ("T", "transfer", 4),
    "exchange": ("E", "exchange, measured alone", 0),
}
"""Letter, name and colour of what a step's seconds go to; ``widgets/src/scaling.js`` has them too."""

ROW = 20  # pixels of a bar


def digits_text(value: float) -> str:
    """A number to three digits, thousands in full."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _level_text(value: float) -> str:
    """A number at an axis, where there is little room."""
    return count_text(value) if abs(value) >= 1e6 else digits_text(value)


def base_of(payload: dict[str, Any]) -> float:
    """Samples a second of one device, which the ideal line goes through."""
    for run in payload["runs"]:
        base: float = run["points"][0]["thr"] / run["points"][0]["n"]
        return base
    return throughput(payload["model"], 1)


def panel(
    svg: Svg, payload: dict[str, Any], way: str, x: float, y: float, width: float, height: float
) -> None:
    """Points, fit and ideal line over devices."""
    model, base = payload["model"], base_of(payload)
    most = max([p["n"] for run in payload["runs"] for p in run["points"]], default=16)
    counts = range(1, most + 1)
    efficiency = way == "efficiency"

    def value(thr: float, n: float, of: float) -> float:
        return thr / n / of if efficiency else thr

    tops = [
        value(p["hi"], p["n"], r["points"][0]["thr"] / r["points"][0]["n"])
        for r in payload["runs"]
        for p in r["points"]
    ]
    per = throughput(model, 1) if model is not None else base
    if model is not None:
        tops += [value(throughput(model, n), n, per) for n in counts]
    # Where scaling is poor the ideal line leaves the picture, or one would see nothing else.
    top = max(1.0, *tops) if efficiency else max(*tops, min(base * most, 2.5 * max(tops)))
    top *= 1.06
    floor = y + height

    def place(n: float, level: float) -> tuple[float, float]:
        return x + (n - 1) / max(most - 1, 1) * (width - 16) + 8, floor - level / top * height

    svg.text(x, y - 8, "samples per second" if not efficiency else "efficiency", "f-dim", 11)
    svg.rect(x, y, width, height, "f-bg s-line")
    for level in ticks(0, top, 6):
        text = share_text(round(level, 2)) if efficiency else _level_text(level)
        svg.text(x - 5, place(1, level)[1] + 4, text, "f-dim", 10, "end")
    every = max(1, math.ceil(most / 8))
    for n in counts:
        if n == 1 or n % every == 0:
            svg.text(place(n, 0)[0], floor + 15, str(n), "f-dim", 10, "middle")
    svg.text(x + width, floor + 30, "devices", "f-dim", 11, "end")
    last = most if efficiency else min(most, top / base)
    ideal = place(last, value(base * last, last, base))
    svg.line(*place(1, value(base, 1, base)), *ideal, "s-line", dashed=True)
    if model is not None:
        line = [place(n, value(throughput(model, n), n, per)) for n in counts]
        svg.polyline(line, "s-fg")
    for i, run in enumerate(payload["runs"]):
        of = run["points"][0]["thr"] / run["points"][0]["n"]
        for p in run["points"]:
            at, level = place(p["n"], value(p["thr"], p["n"], of))
            low, high = (place(p["n"], value(p[key], p["n"], of))[1] for key in ("lo", "hi"))
            svg.line(at, low, at, high, f"k{i % 8}")
            _mark(svg, run["origin"], at, level, i, _point_title(run, p))


def _point_title(run: dict[str, Any], point: dict[str, Any]) -> str:
    return (
        f"{run['label']}, {how_many(point['n'], 'device')}: {digits_text(point['thr'])} samples/s "
        f"({digits_text(point['lo'])} … {digits_text(point['hi'])}), {run['origin']}"
    )


def _mark(svg: Svg, origin: str, x: float, y: float, colour: int, title: str | None = None) -> None:
    if origin == "real devices":
        svg.circle(x, y, 4.5, f"m{colour % 8}", title)
    elif origin in ("model", "published"):
        svg.path(
            f"M{x - 4},{y - 4}L{x + 4},{y + 4}M{x - 4},{y + 4}L{x + 4},{y - 4}",
            f"k{colour % 8}",
            title,
        )
    else:
        svg.rect(x - 4, y - 4, 8, 8, f"f-bg k{colour % 8}", title)


def legend_places(payload: dict[str, Any], width: float) -> list[tuple[str, float, int]]:
    """The texts of the legend, runs and the ideal, with the pixels before each and its line."""
    texts = [
        fitted(
            f"{run['label']}, batch {digits_text(run['batch'])}: {run['origin']}", 11, width - 20
        )
        for run in payload["runs"]
    ]
    places, x, line = [], 0.0, 0
    for text in [*texts, "ideal"]:
        if x and x + 28 + text_width(text, 11) > width:
            x, line = 0.0, line + 1
        places.append((text, x, line))
        x += 40 + text_width(text, 11)
    return places


LEGEND_LINE = 17
"""Pixels of a line of the legend."""


def legend(svg: Svg, payload: dict[str, Any], x: float, y: float) -> None:
    """Each run with its mark, batch and where its points come from; the ideal; the model."""
    *runs, (ideal, right, line) = legend_places(payload, svg.width - x)
    for i, (text, at, number) in enumerate(runs):
        _mark(svg, payload["runs"][i]["origin"], x + at + 5, y + LEGEND_LINE * number - 4, i)
        svg.text(x + at + 16, y + LEGEND_LINE * number, text, "f-fg", 11)
    y += LEGEND_LINE * line
    svg.line(x + right, y - 4, x + right + 22, y - 4, "s-line", dashed=True)
    svg.text(x + right + 28, y, ideal, "f-fg", 11)
    model = payload["model"]
    if model is None:
        return
    svg.polyline([(60, y + 15), (82, y + 15)], "s-fg")
    svg.text(88, y + 19, model_text(model), "f-fg", 11)


def model_text(model: dict[str, Any]) -> str:
    """The model's parameters and how well it fits, in a line."""
    parts = [f"{time_text(step_parts(model, 1)['compute'])} computing"]
    if model["serial"]:
        parts.append(f"{share_text(round(model['serial'], 2))} of it serial")
    if model["alpha"]:
        parts.append(f"{time_text(model['alpha'])} per message")
    if model["beta"]:
        parts.append(
            f"{size_text(1 / model['beta'])}/s for {size_text(model['bytes'])} of gradients"
        )
    if model["overlap"]:
        parts.append(f"{share_text(round(model['overlap'], 2))} overlap")
    if model["error"] is not None:
        parts.append(f"off by at most {share_text(model['error'])}")
    if model["r2"] is not None:
        parts.append(f"r² {model['r2']:.3f}")
    return f"model: {', '.join(parts)}"


def bar_rows(payload: dict[str, Any]) -> list[tuple[str, dict[str, float], float]]:
    """The bars: a text, the seconds of the parts, and the measured seconds of the whole step (0 if it
    was not measured).
    """
    model, rows = payload["model"], []
    for run in payload["runs"]:
        for p in run["points"]:
            if "compute" not in p:
                continue
            measured = {key: p[key] for key in ("compute", "waiting", "exchange")}
            rows.append((f"{p['n']} measured", measured, p["n"] * run["batch"] / p["thr"]))
            if model is not None and model["label"] == run["label"]:
                rows.append(
                    (f"{p['n']} model", _drawn(step_parts(model, p["n"], run["batch"])), 0.0)
                )
    if not rows and model is not None:
        most = max([p["n"] for run in payload["runs"] for p in run["points"]], default=10)
        rows = [(f"{n} model", _drawn(step_parts(model, n)), 0.0) for n in sorted({1, 2, most})]
    return rows


def _drawn(parts: dict[str, float]) -> dict[str, float]:
    return {key: parts[key] for key in PARTS if parts.get(key, 0) > 0}


def bars(svg: Svg, rows: list[tuple[str, dict[str, float], float]], x: float, y: float) -> None:
    """Stacked bars; a line marks the whole step as it was measured, where communication may hide
    behind computing.
    """
    if not rows:
        return
    svg.text(x, y, "a step", bold=True)
    at = x + 60
    for key in [key for key in PARTS if any(key in parts for _, parts, _ in rows)]:
        letter, name, colour = PARTS[key]
        svg.rect(at, y - 11, 14, 14, f"c{colour} s-line")
        svg.text(at + 7, y, letter, "f-fg", 10, "middle")
        svg.text(at + 19, y, name, "f-dim", 11)
        at += 36 + 6.2 * len(name)
    longest = max(max(sum(parts.values()), measured) for _, parts, measured in rows)
    scale = 640 / longest
    for i, (text, parts, measured) in enumerate(rows):
        top, left = y + 12 + i * ROW, x + 100
        svg.text(x + 92, top + 12, text, "f-fg", 11, "end")
        for key, seconds in parts.items():
            letter, name, colour = PARTS[key]
            width = seconds * scale
            svg.rect(
                left, top, width, ROW - 4, f"c{colour} s-line", f"{name}: {time_text(seconds)}"
            )
            if width > 12:
                svg.text(left + width / 2, top + 12, letter, "f-fg", 10, "middle")
            left += width
        if measured:
            mark = x + 100 + measured * scale
            svg.line(mark, top - 2, mark, top + ROW - 2, "s-hot")
        label = f"{time_text(sum(parts.values()))}{f', whole {time_text(measured)}' if measured else ''}"
        svg.text(max(left, x + 100 + measured * scale) + 6, top + 12, label, "f-dim", 10)
