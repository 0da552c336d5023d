"""Inline: replace a node that represents a whole graph by that graph's own nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.schema.stream import advanced
from mixnet.passes.facts import Facts


class Advance(Operator):
    """The operator that advances a stream to an inlined graph's first draw, whose index is its scalar."""

    name = "_advance_stream"

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        return (advanced(arrays[0], scalars[-1]),)


ADVANCE = Advance()


def inline(graph: Graph, facts: Facts | None = None) -> Graph:
    """A graph in which nodes for blocks, executors and their gradients are replaced by their graphs.

    Later passes see forward, backward and update of a training step as one graph. The name of an inlined
    node is prefixed with the name of the node that contained it.
    """
    if not any(_inner(node) for node in graph.nodes):
        return graph
    return graph.rebuild(_expand)


def _inner(node: Node) -> Graph | None:
    graph: Graph | None = None if node.op is None else node.op.graph
    return graph


def _expand(
    node: Node, inputs: tuple[Entry, ...], outer: Node | None = None, prefix: str = ""
) -> Node | tuple[Entry, ...]:
    inner = _inner(node)
    name = prefix + node.name
    # An inner node without a line gets the line that called the block.
    origin = node if outer is None or node.line is not None else outer
    if inner is None:
        copied = node.replaced(inputs).made_from(origin)
        copied.name = name
        return copied
    replacements: dict[Node, Node | tuple[Entry, ...]] = {
        variable: (entry,) for variable, entry in zip(inner.inputs, inputs, strict=True)
    }
    if node.op.key is not None:
        key = node.op.key
        drawn = Node(ADVANCE, (), node.scalars[-1:], (inputs[key],), f"{name}_key")
        drawn.made_from(origin)
        replacements[inner.inputs[key]] = (Entry(drawn),)

    def change(each: Node, entries: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        return _expand(each, entries, origin, name + "/")

    return inner.rebuild(change, replacements).heads
