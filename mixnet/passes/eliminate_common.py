"""Common subexpression elimination: the same operation on the same inputs is computed once."""

from __future__ import annotations

from typing import Any

from mixnet import config
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.passes.facts import Facts

_enabled: bool = config.get("MXNET_ELIMINATE_COMMON_EXPR")


def eliminate_common(graph: Graph, facts: Facts | None = None) -> Graph:
    """Merge nodes that apply the same operator to the same inputs.

    Draws are never merged, because each takes numbers of its own.
    """
    return merge_common(graph) if _enabled else graph


def merge_common(graph: Graph) -> Graph:
    """The graph with equal expressions merged, regardless of the setting."""
    first: dict[tuple[Any, ...], Node] = {}  # expression -> the first node that computes it

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        if node.op.takes_key:  # in symbols, draws have no indices yet that distinguish them
            return node.with_inputs(inputs)
        # repr distinguishes 1, True and 1.0, which compare equal but are different attributes
        expression = (node.op, node.statics, repr(node.statics), node.scalars, inputs)
        return first.setdefault(expression, node.with_inputs(inputs))

    return graph.rebuild(change)
