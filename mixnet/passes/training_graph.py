"""Forward and gradients as one graph: the computation of a training step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.passes.differentiate import differentiate
from mixnet.passes.recompute import recompute as recomputation_of


class TrainingGraph(NamedTuple):
    """A training graph; its heads are the outputs, then new states, then gradients.

    ``gradients`` lists the input of each gradient, ``added_to`` those whose gradient is added to the
    existing one; ``heads`` are the variables that hold the gradients of the outputs, ``sums`` those
    that hold the existing gradients.
    """

    graph: Graph
    gradients: tuple[str, ...]
    added_to: tuple[str, ...]
    heads: tuple[Node, ...]
    sums: tuple[Node, ...]


def training_graph(
    graph: Graph, requests: Mapping[str, str], recompute: str | None = None
) -> TrainingGraph:
    """Forward and gradients as one graph.

    Args:
        graph: the forward graph, with modes set and keys assigned.
        requests: ``write``, ``add`` or ``null``, by names of inputs.
        recompute: ``mirror`` or ``sublinear``: gradients recompute forward results instead of reading
            them; see :mod:`mixnet.passes.recompute`.
    """
    requested = [node for node in graph.inputs if requests.get(node.name, "null") != "null"]
    outputs = graph.heads[: graph.num_outputs]
    starts = tuple(Node(None, name=f"gradient of output {i}") for i in range(len(outputs)))
    variables = [Entry(node) for node in requested]
    recomputation = recomputation_of(graph, recompute)
    gradients = differentiate(
        outputs, [Entry(start) for start in starts], variables, (), recomputation
    )
    heads, sums, added_to = list(graph.heads), [], []
    for node, gradient in zip(requested, gradients, strict=True):
        if gradient is None:
            gradient = Entry(
                Node(find("zeros_like"), (), (), (Entry(node),), f"{node.name}_no_gradient")
            )
        if requests[node.name] == "add":
            before = Node(None, name=f"{node.name}_gradient")
            sums.append(before)
            added_to.append(node.name)
            both = (Entry(before), gradient)
            gradient = Entry(Node(find("_grad_add"), (), (), both, f"{node.name}_gradient_sum"))
        heads.append(gradient)
    inputs = (*graph.inputs, *starts, *sums)
    complete = Graph(tuple(heads), inputs, graph.num_outputs, graph.states)
    names = tuple(node.name for node in requested)
    return TrainingGraph(complete, names, tuple(added_to), starts, tuple(sums))
