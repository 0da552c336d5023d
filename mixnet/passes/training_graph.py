"""A graph and the gradients of its outputs as one graph: what a training step computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.passes.differentiate import differentiate


class TrainingGraph(NamedTuple):
    """``graph`` has the outputs, then new states, then gradients as heads.

    ``gradients`` names the input of each gradient; ``heads`` are the variables that hold the
    gradients of the outputs, ``sums`` those that hold the gradients that are added to.
    """

    graph: Graph
    gradients: tuple[str, ...]
    heads: tuple[Node, ...]
    sums: tuple[Node, ...]


def training_graph(graph: Graph, requests: Mapping[str, str]) -> TrainingGraph:
    """Forward and gradients as one graph.

    Args:
        graph: forward, with modes set and keys assigned.
        requests: ``write``, ``add`` or ``null`` by the name of an input.
    """
    wanted = [node for node in graph.inputs if requests.get(node.name, "null") != "null"]
    outputs = graph.heads[: graph.num_outputs]
    starts = tuple(Node(None, name=f"gradient of output {i}") for i in range(len(outputs)))
    found = differentiate(
        outputs, [Entry(start) for start in starts], [Entry(node) for node in wanted]
    )
    heads, sums = list(graph.heads), []
    for node, gradient in zip(wanted, found, strict=True):
        if gradient is None:
            gradient = Entry(
                Node(find("zeros_like"), (), (), (Entry(node),), f"{node.name}_no_gradient")
            )
        if requests[node.name] == "add":
            before = Node(None, name=f"{node.name}_gradient")
            sums.append(before)
            both = (Entry(before), gradient)
            gradient = Entry(Node(find("_grad_add"), (), (), both, f"{node.name}_gradient_sum"))
        heads.append(gradient)
    inputs = (*graph.inputs, *starts, *sums)
    whole = Graph(tuple(heads), inputs, graph.num_outputs, graph.states)
    return TrainingGraph(whole, tuple(node.name for node in wanted), starts, tuple(sums))
