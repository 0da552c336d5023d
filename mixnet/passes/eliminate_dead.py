"""Dead code elimination: keep only the nodes that the requested heads need."""

from __future__ import annotations

from collections.abc import Iterable

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry


def eliminate_dead(graph: Graph, positions: Iterable[int] | None = None) -> Graph:
    """The graph of the heads at these positions (all by default), with the variables they reach.

    A graph holds its nodes only through its heads: leaving out a head leaves out every node that no
    other head needs.
    """
    heads = graph.heads if positions is None else tuple(graph.heads[i] for i in positions)
    pruned = Graph(heads)
    reached = set(pruned.nodes)
    read_heads: tuple[Entry, ...] = pruned.heads
    return Graph(read_heads, tuple(node for node in graph.inputs if node in reached))
