"""Complete the shapes of constants that are partly unknown, such as initial states of cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.schema.attributes import to_text
from mixnet.passes.infer_shape import has_open_rank, infer, is_known
from mixnet.util import is_np_shape


def complete_shapes(graph: Graph, shapes: Mapping[str, Any]) -> Graph:
    """The graph with every constant of shape ``()``, ``(0, 5)`` or the like at its full shape.

    With NumPy's shapes, 0 is an ordinary extent, and nothing changes.

    Args:
        graph: the graph of a symbol.
        shapes: shapes of its variables by name.
    """
    open_ones = {node for node in graph.nodes if not node.is_variable and _is_open(node)}
    if not open_ones or is_np_shape():
        return graph
    shapes_inferred = infer(graph, shapes).shapes

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        shape = shapes_inferred.get(Entry(node)) if node in open_ones else None
        if not is_known(shape):
            return node.with_inputs(inputs)
        assert node.op.shaped_by is not None
        attributes = {**attributes_of(node), node.op.shaped_by: shape}
        statics, _ = node.op.bind(attributes)
        attrs = {**node.attrs, node.op.shaped_by: to_text(shape)}
        completed = Node(node.op, statics, node.scalars, inputs, node.name, attrs)
        return completed.made_from(node)

    return graph.rebuild(change)


def attributes_of(node: Node) -> dict[str, Any]:
    """The operator's attributes of a symbol's node, without those of the user."""
    return {name: value for name, value in node.attrs.items() if name in node.op.attributes}


def _is_open(node: Node) -> bool:
    if node.op.shaped_by is None or node.op.arrays:
        return False
    return has_open_rank(node) or not is_known(node.op.keywords(node.statics)[node.op.shaped_by])
