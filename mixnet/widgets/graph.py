"""GraphView: a graph as boxes that open."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from mixnet.widgets.graph_payload import Reader, payload_of
from mixnet.widgets.graph_picture import picture
from mixnet.widgets.graph_rows import Pictured, pictured
from mixnet.widgets.svg import size_text
from mixnet.widgets.view import View


class GraphView(View):
    """The graph of a symbol, a network, a function, or of what is pending behind an array.

    Blocks are closed at first, and runs of equal blocks folded to one. Where shapes do not fit, the graph is
    drawn as far as it is known, and the operation that refuses is marked.

    Args:
        target: a ``Symbol``, with shapes or arrays by name; a ``HybridBlock``, hybridized or not, and arrays
            (or shapes); an ``NDArray``: what is pending behind it; a function of arrays; a step of ``mx.stages``.
        inputs: what to call the target with.
        train: with the gradients of all parameters; of a symbol's, of all arguments that are not given.
        loss: of a block: what is called on its output and the last input.
        title: shown; by default the target's name.
        measure: run each operation by itself and compile the graph as a whole, to know times, storages and what
            XLA computes together; see :meth:`measure`.
        shapes: of a symbol: shapes or arrays by name; of a function: its keyword arguments.

    Raises:
        AttributeTypeError: the target is none of these, or does not take such inputs.

    Source: the payload ``mixnet.graph/1`` has ``names`` of the nodes, columns in ``nodes`` (numbers in ``strings``,
    in ``outs``, whose entries are numbers in ``specs``: shape, dtype, bytes; in ``sources``: file, line, text),
    ``edges`` (how many inputs each node has, how far back each lies, which output it is), ``blocks`` (parents
    before children), ``facts`` (columns that were measured, or what a pass changed), ``error``.
    """

    schema = "mixnet.graph/1"
    bundle = "graph"

    def __init__(
        self,
        target: Any,
        *inputs: Any,
        train: bool = False,
        loss: Any = None,
        title: str | None = None,
        measure: bool = False,
        **shapes: Any,
    ):
        made = pictured(target, inputs, train, loss, shapes, sys._getframe())
        if title is not None:
            made.title = title
        self._made: Pictured | None = made
        super().__init__(payload_of(made))

    @property
    def selected(self) -> str | None:
        """Name of the node, or path of the block, that the reader chose; assign one to choose it."""
        return self.state.get("selected")

    @selected.setter
    def selected(self, name: str | None) -> None:
        self.choose(selected=name)

    def summary(self) -> str:
        p = self.payload
        read = Reader(p)
        operations = sum(op is not None for op in read.ops)
        text = f"{p['title']}: {operations} operations, {p['direction']}"
        total = sum(read.flops)
        if total:
            text += f", {_count(total)}FLOP"
        weights = sum(
            b for b, part in zip(read.bytes, read.parts, strict=True) if part == "parameter"
        )
        if weights:
            text += f", parameters {size_text(weights)}"
        if p["error"]:
            first = p["error"]["text"].splitlines()[0]
            text += f"; shapes do not fit: {first}"
        return text

    def table(self) -> tuple[list[str], Iterable[Iterable[Any]]]:
        read = Reader(self.payload)
        header = ["name", "operator", "block", "output", "dtype", "bytes", "FLOPs", "line"]
        rows = []
        for i, op in enumerate(read.ops):
            if op is None:
                continue
            out = read.outputs[i]
            rows.append([
                read.names[i], op, read.path(read.blocks[i]),
                "×".join(map(str, out[0][0])) if out else "?", out[0][1] if out else "?",
                size_text(read.bytes[i]) if out else "?", _count(read.flops[i]).strip() if out else "?",
                read.source(i),
            ])  # fmt: skip
        return header, rows or [["", "", "", "", "", "", "", ""]]

    def svg(self) -> str:
        return picture(self.payload, self.summary())


def _count(number: float) -> str:
    """A number for people: ``1.23 G``."""
    for unit in ("", "k", "M", "G"):
        if abs(number) < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} T"
