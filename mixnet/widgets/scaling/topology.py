"""The still picture of who sends how many bytes to whom."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mixnet.units import how_many, size_text
from mixnet.widgets.svg import Svg

MOST_WORKERS, MOST_SERVERS = 16, 8
"""How many are drawn; ``widgets/src/scaling/topology.js`` has the same numbers."""

HEIGHT = 330
_RADIUS = 20
_NAMES = {
    "ring": "all-reduce around a ring",
    "tree": "all-reduce along a tree",
    "server": "parameter servers",
}
_LABELLED = 12  # arrows that have a text

Point = tuple[float, float]


def is_drawn(topology: dict[str, Any] | None) -> bool:
    """Whether there is something to draw, and room for it."""
    return (
        topology is not None
        and 1 < topology["workers"] <= MOST_WORKERS
        and topology["servers"] <= MOST_SERVERS
    )


def draw(svg: Svg, topology: dict[str, Any], x: float, y: float) -> None:
    """Nodes, arrows whose widths are bytes, and a table of what each node sends and receives.

    Args:
        svg: the picture.
        topology: ``to_dict`` of a topology.
        x, y: the left end of the heading.
    """
    svg.text(x, y, "who sends what", bold=True)
    count = len(topology["buckets"])
    size = size_text(sum(each["bytes"] for each in topology["arrays"]))
    about = f"{_NAMES[topology['kind']]}, {size} of gradients"
    if topology["kind"] != "server":
        about += f" in {how_many(count, 'bucket')}, {how_many(topology['steps'], 'step')}"
    svg.text(x + 116, y, about, "f-dim", 11)
    top, names = y + 20, _names(topology)
    where = {
        name: (x + px, top + py) for name, (px, py) in zip(names, places(topology), strict=True)
    }
    links = topology["links"]
    most = max(each for _, _, each in links)
    for source, target, size in links:
        begin, end, text = _arrow(where[source], where[target])
        title = f"{source} sends {size_text(size)} to {target}"
        width = 1 + 2.5 * size / most
        shape = f"M{begin[0]:.1f},{begin[1]:.1f}L{end[0]:.1f},{end[1]:.1f}"
        svg.add(f'<g stroke-width="{width:.1f}">')
        svg.path(shape, "k1" if source.startswith("server") else "k0", title)
        svg.add("</g>")
        svg.add(
            f'<path class="{"m1" if source.startswith("server") else "m0"}" d="{_tip(begin, end)}"/>'
        )
        if len(links) <= _LABELLED:
            svg.text(*text, size_text(size), "f-dim", 10, "middle")
    for name, (px, py) in where.items():
        is_server = name.startswith("server")
        title = f"{name}: sends {_total(links, 0, name)}, receives {_total(links, 1, name)}"
        if is_server:
            svg.rect(px - _RADIUS, py - _RADIUS, 2 * _RADIUS, 2 * _RADIUS, "c1 s-line", title)
        else:
            svg.circle(px, py, _RADIUS, "c0 s-line", title)
        svg.text(px, py + 4, f"{name[0].upper()}{name.split()[1]}", "f-fg", 11, "middle")
    _table(svg, topology, x + 600, top)


def _names(topology: dict[str, Any]) -> list[str]:
    return [f"{kind} {i}" for kind in ("worker", "server") for i in range(topology[f"{kind}s"])]


def _total(links: list[Any], end: int, name: str) -> str:
    return size_text(sum(each[2] for each in links if each[end] == name))


def places(topology: dict[str, Any]) -> list[Point]:
    """Where nodes are, in a picture of 560 x 280: workers, then servers."""
    n, kind = topology["workers"], topology["kind"]
    if kind == "ring":
        return [(280 + x, 140 + y) for x, y in _on_ellipse(n, 250, 115)]
    if kind == "tree":
        depth = max(1, n.bit_length() - 1)
        levels = [(i, (i + 1).bit_length() - 1) for i in range(n)]
        return [(560 * (i + 1 - 2**d + 0.5) / 2**d, 30 + 220 * d / depth) for i, d in levels]
    rows = [(n, 250), (topology["servers"], 30)]
    return [(560 * (i + 0.5) / count, float(y)) for count, y in rows for i in range(count)]


def _on_ellipse(n: int, wide: float, high: float) -> list[Point]:
    """``n`` points of an ellipse with equal ways between them, clockwise from the top."""
    angles = np.linspace(0, 2 * math.pi, 721)
    x, y = wide * np.sin(angles), -high * np.cos(angles)
    distances = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    at = np.searchsorted(distances, distances[-1] * np.arange(n) / n - 1e-9)
    return [(float(x[k]), float(y[k])) for k in at]


def _direction(a: Point, b: Point) -> Point:
    """The unit vector from one point to another, (0, 0) for one point."""
    long = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return (b[0] - a[0]) / long, (b[1] - a[1]) / long


def _arrow(a: Point, b: Point) -> tuple[Point, Point, Point]:
    """From border to border, beside the arrow in the other direction; and where its text is."""
    ux, uy = _direction(a, b)
    sx, sy, gap = -uy * 5, ux * 5, _RADIUS + 3
    begin = (a[0] + ux * gap + sx, a[1] + uy * gap + sy)
    end = (b[0] - ux * (gap + 4) + sx, b[1] - uy * (gap + 4) + sy)
    aside = 4 + 22 * abs(uy) + 7 * abs(ux)  # half a text, and some room
    x = begin[0] + 0.4 * (end[0] - begin[0]) - uy * aside
    y = begin[1] + 0.4 * (end[1] - begin[1]) + ux * aside + 4
    return begin, end, (x, y)


def _tip(begin: Point, end: Point) -> str:
    ux, uy = _direction(begin, end)
    corners = [
        (end[0] + 6 * ux, end[1] + 6 * uy),
        (end[0] - 5 * uy, end[1] + 5 * ux),
        (end[0] + 5 * uy, end[1] - 5 * ux),
    ]
    return "M" + "L".join(f"{px:.1f},{py:.1f}" for px, py in corners) + "z"


def _table(svg: Svg, topology: dict[str, Any], x: float, y: float) -> None:
    for at, text in ((0, "node"), (150, "sends"), (240, "receives")):
        svg.text(x + at, y, text, "f-dim", 11, "start" if not at else "end")
    names, links = _names(topology), topology["links"]
    shown = names if len(names) <= 15 else [*names[:7], *names[-7:]]
    for i, name in enumerate(shown):
        row = y + 18 * (i + 1)
        svg.text(x, row, name, "f-fg", 11)
        svg.text(x + 150, row, _total(links, 0, name), "f-fg", 11, "end")
        svg.text(x + 240, row, _total(links, 1, name), "f-fg", 11, "end")
    if len(shown) < len(names):
        svg.text(x, y + 18 * (len(shown) + 1), f"and {len(names) - len(shown)} more", "f-dim", 11)
