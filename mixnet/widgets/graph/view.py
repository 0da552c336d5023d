"""GraphView: a graph of boxes that open."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from mixnet.base import MXNetError
from mixnet.units import count_text, how_many, size_text, time_text
from mixnet.widgets.graph.diff import difference
from mixnet.widgets.graph.measure import measured
from mixnet.widgets.graph.payload import Reader, payload_of
from mixnet.widgets.graph.picture import CHANGES, picture
from mixnet.widgets.graph.rows import Pictured
from mixnet.widgets.graph.target import pictured
from mixnet.widgets.sight import sight
from mixnet.widgets.view import View

DIFF_SIGHT = (
    "Look for the coloured boxes: a + marks a [node] that was added, a − one that was removed; the "
    "other marks are below the picture."
)


class GraphView(View):
    """The graph of a symbol, a network or a function, or of the pending operations that an array depends on.

    Blocks are closed at first, and runs of equal blocks are folded into one. If shapes do not
    match, the graph is drawn as far as it is known, and the operation that fails is marked.

    Args:
        target: a ``Symbol``, with shapes or arrays by name; a ``HybridBlock``, hybridized or not,
            with arrays or shapes; an ``NDArray``, for the pending operations that it depends on; a function
            of arrays; a step of ``mx.stages``.
        inputs: the arguments of the call.
        train: with the gradients of all parameters; for a symbol, of all arguments that are not
            given, or of all arguments if all are given.
        loss: for a block, called on its output and the last input.
        title: shown; by default the target's name.
        measure: run each operation separately and compile the graph as a whole, for times,
            storages and what XLA fuses; see :meth:`measure`.
        shapes: for a symbol, shapes or arrays by name; for a function, its keyword arguments.

    Raises:
        AttributeTypeError: the target is none of these, or does not take such inputs.

    Source: the payload ``mixnet.graph/1`` has ``names`` of the nodes, columns in ``nodes``
    (numbers in ``strings``; in ``outs``, whose entries are numbers in ``specs``: shape, dtype,
    bytes; in ``sources``: file, line, text), ``edges`` (how many inputs each node has, how far
    back each is, which output it is), ``blocks`` (parents before children), ``facts`` (columns
    that were measured, or what a pass changed), ``error``.
    """

    schema = "mixnet.graph/1"
    bundle = "graph"
    sight = (
        "Follow the arrows down from the input: each box is a [node] or a closed [block]; "
        "double-click a block to open it."
    )
    _pictured: Pictured | None = None
    """The network that :meth:`measure` runs; None for a difference and for a stored payload."""

    def __init__(
        self,
        target: object,
        *inputs: Any,
        train: bool = False,
        loss: object = None,
        title: str | None = None,
        measure: bool = False,
        **shapes: Any,
    ):
        picture = pictured(target, inputs, train, loss, shapes, sys._getframe(), boxes=True)
        if title is not None:
            picture.title = title
        self._pictured = picture
        super().__init__(
            {
                **payload_of(picture),
                "live": picture.graph is not None and picture.inputs is not None,
            }
        )
        if measure:
            self.measure()

    @classmethod
    def diff(cls, before: object, after: object, title: str | None = None) -> GraphView:
        """The differences between two graphs: nodes added, removed, changed, merged, expanded,
        or with other inputs.

        Args:
            before, after: graphs, symbols, views of graphs, or steps of ``mx.stages`` (``program.steps``).
            title: shown.

        Raises:
            AttributeTypeError: one of them is not a graph.
        """
        parts = [
            (isinstance(each, GraphView) and each._pictured)
            or pictured(each, (), False, None, {}, sys._getframe())
            for each in (before, after)
        ]
        picture, facts = difference(*parts)
        if title is not None:
            picture.title = title
        view = cls.__new__(cls)
        first = {"sight": sight(DIFF_SIGHT)}
        View.__init__(view, {**first, **payload_of(picture), "facts": facts, "live": False})
        return view

    def measure(self) -> GraphView:
        """Fill in times, storages of the memory plan and what XLA computes together.

        Each operation is compiled and run by itself on zeros, and the whole graph is compiled.
        That takes from a second to a minute.

        Returns:
            the view.

        Raises:
            MXNetError: shapes are not known, or the view was made of a stored payload.
        """
        facts = {} if self._pictured is None else measured(self._pictured)
        if not facts:
            raise MXNetError(
                "measure: this graph cannot run: the shapes are not known, or this is a stored or compared "
                "picture. Make a GraphView of the network with its inputs."
            )
        self.payload = {**self.payload, "facts": {**self.payload["facts"], **facts}}
        return self

    def message(self, content: dict[str, Any]) -> None:
        if content.get("do") == "measure":
            self.measure()
            self.choose(overlay="time")

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
        text = f"{p['title']}: {how_many(operations, 'operation')}, {p['direction']}"
        total = sum(read.flops)
        if total:
            text += f", {count_text(total, 'FLOP')}"
        weights = sum(
            b for b, part in zip(read.bytes, read.parts, strict=True) if part == "parameter"
        )
        if weights:
            text += f", parameters {size_text(weights)}"
        if p["error"]:
            at = p["error"]["node"]
            text += "; shapes do not match" + ("" if at is None else f" at {read.names[at]}")
        return text

    def table(self) -> tuple[list[str], Iterable[Iterable[Any]]]:
        read = Reader(self.payload)
        header = ["name", "operator", "block", "output", "dtype", "bytes", "FLOPs", "line"]
        facts = {k: v for k, v in self.payload["facts"].items() if k != "told"}
        header += facts
        rows = []
        for i, op in enumerate(read.ops):
            if op is None:
                continue
            out = read.outputs[i]
            rows.append([
                read.names[i], op, read.path(read.blocks[i]),
                "×".join(map(str, out[0][0])) if out else "?", out[0][1] if out else "?",
                size_text(read.bytes[i]) if out else "?", count_text(read.flops[i]) if out else "?",
                read.source(i), *(_fact(name, column[i]) for name, column in facts.items()),
            ])  # fmt: skip
        return header, rows or [["nothing is computed", *[""] * (len(header) - 1)]]

    def svg(self) -> str:
        selected = self.state.get("selected")
        names = self.payload["names"]
        at = names.index(selected) if selected in names else None
        return picture(self.payload, self.summary(), self.state.get("open"), selected=at)


def _fact(name: str, value: Any) -> str:
    if value is None:
        return ""
    return (
        CHANGES[value] if name == "change" else time_text(value) if name == "time" else str(value)
    )
