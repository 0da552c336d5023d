"""Static pictures of graphs as SVG, made without other programs."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.passes.infer_shape import infer
from mixnet.symbol.symbol import Symbol

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 168, 40, 34, 26
_COLOURS = {
    "Convolution": "#cfe3f7", "FullyConnected": "#cfe3f7", "Activation": "#fbe2c4",
    "Pooling": "#d9efd3", "BatchNorm": "#eadcf5", "SoftmaxOutput": "#f7d0d0",
}  # fmt: skip


class Picture:
    """An SVG picture: shows itself in notebooks, ``save`` writes it to a file."""

    def __init__(self, svg: str):
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, fname: str) -> None:
        """Write the SVG text to a file."""
        with open(fname, "w", encoding="utf-8") as file:
            file.write(self.svg)


def draw(
    symbol: Symbol, shapes: Mapping[str, Any] | None = None, backward: bool = False
) -> Picture:
    """The graph of a symbol: one box per operation, parameters inside their operation's box.

    With ``backward`` the gradient graph stands on the right, every gradient beside its operation.

    Args:
        symbol: what to draw.
        shapes: shapes of inputs by name; with them edges carry the shapes of arrays.
        backward: draw the gradient graph of all arguments too.
    """
    forward = symbol.graph
    whole = Graph((*symbol._heads, *symbol.gradient()._heads)) if backward else forward
    known = infer(forward, shapes).shapes if shapes else {}
    return Picture(_svg(forward, whole, known))


def _depths(graph: Graph) -> dict[Node, int]:
    depth: dict[Node, int] = {}
    for node in graph.nodes:
        above = [depth[e.node] for e in node.inputs if e.node in depth]
        if not node.is_variable or not _is_parameter(node, graph):
            depth[node] = 1 + max(above, default=-1)
    return depth


def _is_parameter(node: Node, graph: Graph) -> bool:
    """Whether a variable is shown inside the box of its operation: it is not its first input."""
    users = [n for n in graph.nodes for e in n.inputs if e.node is node]
    return bool(users) and all(n.inputs[0].node is not node for n in users)


def _svg(forward: Graph, whole: Graph, shapes: Mapping[Entry, Any]) -> str:
    depth = _depths(forward)
    place: dict[Node, tuple[float, float]] = {}
    rows: dict[int, int] = {}
    for node, row in depth.items():
        column = rows.get(row, 0)
        rows[row] = column + 1
        place[node] = (column * (_WIDTH + _GAP_X), row * (_HEIGHT + _GAP_Y))
    first_column = max(rows.values(), default=1)
    by_name = {node.name: depth[node] for node in depth}
    gradients = [n for n in whole.nodes if n not in set(forward.nodes)]
    used: dict[int, int] = {}
    for node in gradients:
        beside = node.name.removesuffix("_backward").removesuffix("_gradient_sum")
        row = by_name.get(beside, max(rows, default=0) + 1)
        column = used.get(row, 0)
        used[row] = column + 1
        x = (first_column + 0.6 + column) * (_WIDTH + _GAP_X)
        place[node] = (x, row * (_HEIGHT + _GAP_Y))
    edges, boxes = [], []
    backward = set(gradients)
    for node, (x, y) in place.items():
        for entry in node.inputs:
            if entry.node in place:
                source = "forward"
                if node in backward:
                    source = "gradient" if entry.node in backward else "kept"
                edges.append(_edge(place[entry.node], (x, y), source, shapes.get(entry)))
        boxes.append(_box(node, x, y, node in backward, shapes))
    width = max((x for x, _ in place.values()), default=0) + _WIDTH + 20
    height = max((y for _, y in place.values()), default=0) + _HEIGHT + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -10 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" role="img" aria-label="graph of {len(place)} nodes" '
        'style="max-width:100%;background:#fff" font-family="sans-serif">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>'
        + "".join(edges)
        + "".join(boxes)
        + "</svg>"
    )


def _edge(start: Any, end: Any, source: str, shape: Any) -> str:
    """An arrow: ``forward``, ``gradient``, or what a gradient reads of the forward graph, ``kept``."""
    (x1, y1), (x2, y2) = start, end
    if source == "kept":  # into the left side, dashed
        x1, y1, y2 = x1 + _WIDTH / 2, y1 + _HEIGHT, y2 + _HEIGHT / 2
        path = f"M{x1:.0f},{y1:.0f} C{x1:.0f},{y2:.0f} {x2 - 60:.0f},{y2:.0f} {x2:.0f},{y2:.0f}"
        return (
            f'<path d="{path}" fill="none" stroke="#aaa" stroke-dasharray="4 3" '
            'marker-end="url(#tip)"/>'
        )
    colour = "#c0504d" if source == "gradient" else "#777"
    x1, x2 = x1 + _WIDTH / 2, x2 + _WIDTH / 2
    bend = 16 if y2 > y1 else -16  # gradients flow upwards
    y1, y2 = (y1 + _HEIGHT, y2) if y2 > y1 else (y1, y2 + _HEIGHT)
    path = (
        f"M{x1:.0f},{y1:.0f} C{x1:.0f},{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} {x2:.0f},{y2:.0f}"
    )
    line = f'<path d="{path}" fill="none" stroke="{colour}" marker-end="url(#tip)"/>'
    if shape and source == "forward":
        text = "×".join(map(str, shape))
        line += (
            f'<text x="{(x1 + x2) / 2 + 5:.0f}" y="{(y1 + y2) / 2 + 4:.0f}" font-size="10" '
            f'fill="#555">{text}</text>'
        )
    return line


def _box(node: Node, x: float, y: float, is_gradient: bool, shapes: Mapping[Entry, Any]) -> str:
    kind = "input" if node.op is None else node.op.name
    fill = "#eee" if node.op is None else _COLOURS.get(kind, "#f5f5f5")
    stroke = "#c0504d" if is_gradient else "#555"
    parameters = [e for e in node.inputs[1:] if e.node.is_variable]
    told = [f"{e.node.name} {'×'.join(map(str, shapes[e]))}" for e in parameters if shapes.get(e)]
    title = html.escape("\n".join([node.name, kind, *told]))
    label, below = html.escape(_short(node.name)), html.escape(_short(kind))
    return (
        f'<g><title>{title}</title><rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" rx="6" fill="{fill}" stroke="{stroke}"/>'
        f'<text x="{x + _WIDTH / 2:.0f}" y="{y + 17:.0f}" text-anchor="middle" font-size="12" '
        f'font-weight="bold" fill="#222">{label}</text><text x="{x + _WIDTH / 2:.0f}" '
        f'y="{y + 32:.0f}" text-anchor="middle" font-size="11" fill="#444">{below}</text></g>'
    )


def _short(text: str, length: int = 24) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
