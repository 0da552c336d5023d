"""Random operators of a composed graph get their key: one input of the graph, numbered draws."""

from __future__ import annotations

import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node

KEY_NAME = "random key"
KEY_SPEC = ((2,), np.dtype("uint32"))


def assign_keys(graph: Graph) -> Graph:
    """Give every random node the graph's key as last input and its own number as last scalar.

    The key becomes the graph's last input. A graph that draws nothing comes back as it is.
    """
    if not any(node.op is not None and node.op.takes_key for node in graph.nodes):
        return graph
    key = Node(None, name=KEY_NAME)
    draws = 0

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        nonlocal draws
        if not node.op.takes_key:
            return node.replaced(inputs)
        draws += 1
        scalars = (*node.scalars, float(draws - 1))
        inputs = (*inputs, Entry(key))
        made = Node(node.op, node.statics, scalars, inputs, node.name, node.attrs)
        return made.made_from(node)

    changed = graph.rebuild(change)
    return Graph(changed.heads, (*graph.inputs, key), graph.num_outputs, graph.states)
