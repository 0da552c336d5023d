"""Set the mode, training or prediction, of operators that depend on it."""

from __future__ import annotations

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node


def set_training(graph: Graph, training: bool) -> Graph:
    """The graph with all such operators in training or in prediction mode."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        if not node.op.takes_training or node.statics[-1] is training:
            return node.with_inputs(inputs)
        statics = node.in_mode(training)
        changed = Node(node.op, statics, node.scalars, inputs, node.name, node.attrs)
        return changed.made_from(node)

    return graph.rebuild(change)
