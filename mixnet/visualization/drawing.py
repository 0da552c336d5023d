"""Static SVG pictures of graphs, without external programs."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from mixnet.files.whole_file import write_whole
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.operator import Operator
from mixnet.passes.infer_shape import infer
from mixnet.symbol.symbol import Symbol
from mixnet.units import how_many
from mixnet.visualization.layout import curve, layered

_WIDTH, _HEIGHT = 168, 40
_COLOURS = {
    "layer": "#cfe3f7", "activation": "#fbe2c4", "pooling": "#d9efd3", "normalization": "#eadcf5",
}  # fmt: skip
_LOSS, _OTHER, _VARIABLE = "#f7d0d0", "#f5f5f5", "#eee"


class Picture:
    """An SVG picture: shows itself in notebooks, ``save`` writes it to a file.

    Args:
        svg: the text of the picture.
    """

    def __init__(self, svg: str):
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, fname: str) -> None:
        """Write the SVG text to a file.

        Args:
            fname: path of the file.
        """
        write_whole(fname, self.svg.encode())


def draw(
    symbol: Symbol, shapes: Mapping[str, Any] | None = None, backward: bool = False
) -> Picture:
    """The graph of a symbol: one box per operation, parameters inside their operation's box.

    With ``backward``, every gradient is drawn beside its operation.

    Args:
        symbol: what to draw.
        shapes: shapes of inputs by name; with them edges carry the shapes of arrays.
        backward: draw the gradient graph of all arguments too.
    """
    forward = symbol.graph
    complete = Graph((*symbol._heads, *symbol.gradient()._heads)) if backward else forward
    known = infer(forward, shapes).shapes if shapes else {}
    return Picture(_svg(forward, complete, known))


def _is_parameter(node: Node, graph: Graph) -> bool:
    """Whether a variable is shown inside the box of its operation: it is not its first input."""
    users = [n for n in graph.nodes for e in n.inputs if e.node is node]
    return bool(users) and all(n.inputs[0].node is not node for n in users)


def _svg(forward: Graph, complete: Graph, shapes: Mapping[Entry, Any]) -> str:
    of_forward = set(forward.nodes)
    nodes = [n for n in complete.nodes if not n.is_variable or not _is_parameter(n, forward)]
    number = {node: i for i, node in enumerate(nodes)}
    # Gradients flow upwards: each is beside its operation.
    kinds: dict[tuple[int, int], tuple[str, Entry]] = {}
    for node, i in number.items():
        for entry in node.inputs:
            j = number.get(entry.node)
            if j is None:
                continue
            if node in of_forward:
                kinds.setdefault((j, i), ("forward", entry))
            elif entry.node in of_forward:
                kinds.setdefault((j, i), ("kept", entry))
            else:
                kinds.setdefault((i, j), ("gradient", entry))
    weights = [0.05 if kind == "kept" else 1.0 for kind, _ in kinds.values()]
    layout = layered([(_WIDTH, _HEIGHT)] * len(nodes), list(kinds), weights=weights)
    edges = [
        _edge(path if kind != "gradient" else path[::-1], kind, shapes.get(entry))
        for (kind, entry), path in zip(kinds.values(), layout.paths, strict=True)
    ]
    boxes = [
        _box(node, *corner, node not in of_forward, shapes)
        for node, corner in zip(nodes, layout.corners, strict=True)
    ]
    label = f"graph of {how_many(len(nodes), 'node')}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" '
        f'width="{layout.width:.0f}" role="img" aria-label="{label}" '
        'style="max-width:100%;background:#fff" font-family="sans-serif">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>'
        + "".join(edges)
        + "".join(boxes)
        + "</svg>"
    )


_STROKES = {"forward": "#777", "gradient": "#c0504d", "kept": "#aaa"}


def _edge(path: list[tuple[float, float]], kind: str, shape: Any) -> str:
    """An arrow: ``forward``, ``gradient``, or what a gradient reads of the forward graph, ``kept``."""
    dash = ' stroke-dasharray="4 3"' if kind == "kept" else ""
    line = f'<path d="{curve(path)}" fill="none" stroke="{_STROKES[kind]}"{dash} marker-end="url(#tip)"/>'
    if shape and kind == "forward":
        text = "×".join(map(str, shape))
        x, y = path[-1]
        line += f'<text x="{x + 5:.0f}" y="{y - 8:.0f}" font-size="10" fill="#555">{text}</text>'
    return line


def _colour(op: Operator) -> str:
    return _COLOURS.get(op.family or "", _LOSS if op.labels else _OTHER)


def _box(node: Node, x: float, y: float, is_gradient: bool, shapes: Mapping[Entry, Any]) -> str:
    kind = "input" if node.op is None else node.op.name
    fill = _VARIABLE if node.is_variable else _colour(node.op)
    stroke = "#c0504d" if is_gradient else "#555"
    parameters = [e for e in node.inputs[1:] if e.node.is_variable]
    lines = [f"{e.node.name} {'×'.join(map(str, shapes[e]))}" for e in parameters if shapes.get(e)]
    title = html.escape("\n".join([node.name, kind, *lines]))
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
