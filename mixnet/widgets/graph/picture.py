"""The graph with its closed blocks as boxes, as SVG."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixnet.units import how_many, size_text
from mixnet.visualization.layout import Layout, curve, layered
from mixnet.widgets.graph.payload import Reader
from mixnet.widgets.svg import Svg, columns, short, shorter_name, text_width

NOT_FINITE = "✗"  # begins what a box says of values that are not all finite
_WIDEST = 1160.0  # pixels: what is wider is drawn smaller
_LEAST = 0.5  # the scale below which nobody can read the boxes: then a part of them is drawn,
_PART = 0.62  # at this scale
_MOST = 400  # boxes; more are no picture any more
CHANGES = ("", "+", "−", "~", "→", "⊃", "=")


def picture(
    payload: Mapping[str, Any],
    summary: str,
    opened: Sequence[int] | None = None,
    room: tuple[float, float] = (_WIDEST, math.inf),
    selected: int | None = None,
) -> str:
    """The picture: boxes for the outermost closed blocks and for nodes beside them.

    Args:
        payload: of a ``GraphView``.
        summary: its first line.
        opened: blocks that are open; without it those that are open at first.
        room: width and height, in pixels; boxes around ``selected`` if all of them would be too small.
        selected: a node.
    """
    read = Reader(payload, opened)
    boxes, box_of = _boxes(read)
    hidden = max(0, len(boxes) - _MOST)
    boxes = boxes[:_MOST]
    faces = [_face(read, key) for key in boxes]
    kinds = _edges(read, box_of, len(boxes))
    read_twice = _read_twice(read, box_of)
    outputs = {box_of[node] for node in payload["heads"] if node in box_of}
    sizes = [
        (max(84.0, 7.7 * max(columns(title), 0.84 * columns(second)) + 20), 38.0)
        for title, second, _, _ in faces
    ]
    weights = [0.05 if kind == "kept" else 1.0 for kind in kinds.values()]
    layout = layered(sizes, list(kinds), weights=weights)
    window = _window(layout, sizes, room, box_of.get(-1 if selected is None else selected))
    shown = [window.holds(*each) for each in zip(layout.corners, sizes, strict=True)]
    notes = _notes(payload, hidden)
    if not all(shown):
        notes.append(f"{sum(shown)} of {len(boxes)} boxes; the view has all of them.")
    head = 30 + 16 * len(notes)
    words = max(text_width(summary, 12, bold=True), *(text_width(note, 11) for note in notes), 0)
    width, height = window.width * window.scale, window.height * window.scale
    drawn = Svg(
        min(max(width + 4, min(words + 24, 900)), max(room[0], width)), height + head, summary
    )
    drawn.text(10, 18, summary, bold=True)
    for i, note in enumerate(notes):
        style = "f-hot" if note.startswith("✗") else "f-dim"
        drawn.text(10, 34 + 16 * i, note, style, 11)
    # What is beyond an inner picture's edges is not drawn.
    drawn.add(
        f'<svg y="{head - 6}" width="{width:.1f}" height="{height:.1f}" viewBox="{window.box}">'
    )
    for (a, b), kind, path in zip(kinds, kinds.values(), layout.paths, strict=True):
        if shown[a] or shown[b]:
            _draw_edge(drawn, kind, path, shown[a], shown[b])
            if (a, b) in read_twice:
                _draw_beside(drawn, curve(path), "s-line", shown[b])
    for i, (key, face, corner, size, is_drawn) in enumerate(
        zip(boxes, faces, layout.corners, sizes, shown, strict=True)
    ):
        if is_drawn:
            if i in outputs:
                drawn.rect(corner[0], corner[1] + size[1] + 2, size[0], 3, "f-fg")
            _draw_box(drawn, face, corner, size, key < 0, key >= 0 and read.ops[key] is None)
    drawn.add("</svg>")
    return str(drawn)


@dataclass(frozen=True)
class _Window:
    """The part of a layout that is drawn."""

    left: float
    top: float
    width: float
    height: float
    scale: float

    @property
    def box(self) -> str:
        """As SVG has it."""
        return f"{self.left:.1f} {self.top:.1f} {self.width:.1f} {self.height:.1f}"

    def holds(self, corner: tuple[float, float], size: tuple[float, float]) -> bool:
        """Whether a box is in it as a whole."""
        (x, y), (width, height) = corner, size
        return (
            self.left <= x
            and x + width <= self.left + self.width
            and self.top <= y
            and y + height <= self.top + self.height
        )


def _window(
    layout: Layout, sizes: Sequence[tuple[float, float]], room: tuple[float, float], at: int | None
) -> _Window:
    """All of a layout if it can be read in the room, otherwise what is around a box."""
    fitting = min(1.0, room[0] / layout.width, room[1] / layout.height)
    scale = fitting if fitting >= _LEAST else _PART
    width, height = min(layout.width, room[0] / scale), min(layout.height, room[1] / scale)
    at = 0 if at is None or at >= len(sizes) else at
    left = top = 0.0
    if sizes and fitting < scale:
        (x, y), (wide, tall) = layout.corners[at], sizes[at]
        left = min(max(0.0, x + wide / 2 - width / 2), layout.width - width)
        top = min(max(0.0, y + tall / 2 - height / 2), layout.height - height)
    return _Window(left, top, width, height, scale)


def _boxes(read: Reader) -> tuple[list[int], dict[int, int]]:
    """The content of each box, a node or ``~block``, and the box of each node."""
    box_of: dict[int, int] = {}
    number: dict[int, int] = {}
    for node, part in enumerate(read.parts):
        block = read.outermost(node)
        if part == "parameter" and block < 0:
            continue
        box_of[node] = number.setdefault(node if block < 0 else ~block, len(number))
    return list(number), box_of


def _edges(read: Reader, box_of: Mapping[int, int], count: int) -> dict[tuple[int, int], str]:
    """The kind of each edge between the first ``count`` boxes.

    Gradients flow against the edges of forward: an edge that both use is drawn once, as ``both``.
    """
    kinds: dict[tuple[int, int], str] = {}
    for node, inputs in enumerate(read.inputs):
        for origin in inputs:
            a, b = box_of.get(origin), box_of.get(node)
            if a is None or b is None or a == b or max(a, b) >= count:
                continue
            backward = read.parts[node] == "backward"
            gradient = backward and read.parts[origin] == "backward"
            kinds.setdefault(
                (b, a) if gradient else (a, b),
                "gradient" if gradient else "kept" if backward else "forward",
            )
            if gradient and kinds[b, a] == "forward":
                kinds[b, a] = "both"
    return kinds


def _read_twice(read: Reader, box_of: Mapping[int, int]) -> set[tuple[int, int]]:
    """Pairs of operations of which the second reads the first more than once: ``x * x``."""
    return {
        (box_of[origin], box_of[node])
        for node, inputs in enumerate(read.inputs)
        if read.parts[node] == "forward" and read.outermost(node) < 0
        for origin, times in Counter(inputs).items()
        if times > 1 and origin in box_of and node in box_of and read.outermost(origin) < 0
    }


def _notes(payload: Mapping[str, Any], hidden: int) -> list[str]:
    notes = list(payload["notes"])
    if payload["error"]:
        notes.insert(0, "✗ " + payload["error"]["text"].splitlines()[0])
    if hidden:
        notes.append(
            f"{hidden} more boxes are omitted from this picture; the view and the table have them."
        )
    return notes


def _draw_edge(
    drawn: Svg, kind: str, path: Sequence[tuple[float, float]], from_shown: bool, to_shown: bool
) -> None:
    """A curve, with a tip if the box at its end is drawn."""
    style = {"gradient": "k1", "kept": "k3"}.get(kind, "s-line")
    up = kind == "gradient"
    tip = from_shown if up else to_shown
    drawn.path(curve(path[::-1] if up else path), style, dashed=kind == "kept", arrow=tip)
    if kind == "both" and from_shown:
        _draw_beside(drawn, curve(path[::-1]), "k1", True)


def _draw_beside(drawn: Svg, d: str, style: str, tip: bool) -> None:
    """A second edge between two boxes."""
    drawn.add('<g transform="translate(7 0)">')
    drawn.path(d, style, arrow=tip)
    drawn.add("</g>")


def _draw_box(
    drawn: Svg,
    face: tuple[str, str, str, str],
    corner: tuple[float, float],
    size: tuple[float, float],
    is_block: bool,
    is_input: bool,
) -> None:
    title, second, style, tooltip = face
    (x, y), (width, height) = corner, size
    if is_block:  # a second box behind it: there is more inside
        drawn.rect(x + 4, y - 4, width, height, "f-box s-line")
    drawn.rect(x, y, width, height, style, tooltip, 0 if is_block else 19 if is_input else 3)
    drawn.text(x + width / 2, y + 16, title, "f-fg", 12, "middle", True, width - 8)
    drawn.text(x + width / 2, y + 31, second, "f-fg", 11, "middle", room=width - 8)


def _operator(read: Reader, row: int) -> str | None:
    """The operator of a row, and its number where it has one: ``_mul_scalar 2``."""
    nodes, strings = read.payload["nodes"], read.payload["strings"]
    number = re.search(r"^scalars?=([^(\n].*)$", strings[nodes["attributes"][row]], re.M)
    return f"{read.ops[row]} {number[1]}" if number else read.ops[row]


def _face(read: Reader, key: int) -> tuple[str, str, str, str]:
    """Two lines, the style and the tooltip of a box."""
    payload = read.payload
    error = (payload["error"] or {}).get("node")
    change = payload["facts"].get("change")
    values = payload["facts"].get("values")
    if key >= 0:
        op, name, out = read.ops[key], read.names[key], read.outputs[key]
        title = read.label(key)
        shape = "×".join(map(str, out[0][0])) if out else ""
        mark = "∇ " if read.parts[key] == "backward" and not title.startswith("∇") else ""
        if key == error:
            mark += "✗ "
        if change and change[key]:
            mark = f"{CHANGES[change[key]]} {mark}"
        style = "f-box" if op is None else f"c{payload['categories'][op]}"
        style += " s-hot" if key == error else " s-line"
        tooltip = f"{name}\n{op or 'input'} {shape}"
        value_text = values[key] if values else None
        if value_text is not None and value_text.startswith(NOT_FINITE):
            style = f"c4 {style.split()[1]}"
        return (
            shorter_name(title, 26),
            mark + short(value_text or _operator(read, key) or shape or "input", 28),
            style,
            tooltip,
        )
    block = ~key
    label, repeat = payload["blocks"]["label"][block], payload["blocks"]["repeat"][block]
    inside = [i for i in range(len(read.names)) if read.outermost(i) == block]
    operations = [i for i in inside if read.ops[i] is not None]
    forward = [i for i in operations if read.parts[i] == "forward"]
    weights = sum(read.bytes[i] for i in inside if read.parts[i] == "parameter")
    second = how_many(len(forward) or len(operations), "operation")
    if 0 < len(forward) < len(operations):
        second += " + ∇"
    if change:
        tally = {mark: sum(CHANGES[change[i]] == mark for i in inside) for mark in CHANGES[1:]}
        second = " ".join(f"{mark}{times}" for mark, times in tally.items() if times) or second
    bad = error in inside
    if values and any((values[i] or "").startswith(NOT_FINITE) for i in inside):
        bad, second = True, "✗ not finite"
    tooltip = f"{read.path(block) or label}\n{second}\nparameters {size_text(weights)}"
    title = ("✗ " if bad else "") + shorter_name(label, 24) + (f" ×{repeat}" if repeat else "")
    return title, second, "f-box s-hot" if bad else "f-box s-line", tooltip
