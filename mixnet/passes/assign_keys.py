"""Random operators of a composed graph get the stream they draw from: one input of the graph, numbered draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.graph.draws import drawing
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.stream import STREAM_SPEC
from mixnet.passes.infer_shape import infer
from mixnet.passes.set_training import in_mode

KEY_NAME = "random key"
KEY_SPEC = STREAM_SPEC

_DRAWS = "draws"


def key_variable(draws: int) -> Node:
    """The input of a graph that is a stream, from which every run takes ``draws`` numbers."""
    return Node(None, name=KEY_NAME, attrs={_DRAWS: str(draws)})


def draws_of(key: Node) -> int:
    """How many numbers a run takes from the stream that is this input."""
    return int(key.attrs[_DRAWS])


def assign_keys(
    graph: Graph,
    known: Mapping[str, tuple[Any, np.dtype]] | None = None,
    called: Sequence[Node] = (),
    training: bool = False,
) -> Graph:
    """Give every random node the graph's stream as last input and its own number as last scalar.

    The numbers are those that the operators would take if they were called on arrays in the order
    in which the symbols were composed. The stream becomes the graph's last input. A graph without
    random operators comes back as it is.

    Args:
        graph: with modes set.
        known: shape and dtype of its inputs by name, as far as they are known.
        called: the random operators that were composed, also those that no output needs: they take
            their numbers.
        training: the mode of those.
    """
    nodes = drawing(graph.nodes)
    if not nodes:
        return graph
    inputs = _inputs_of_loops(graph, nodes, known or {})
    reached = {getattr(node, "order", 0) for node in nodes}
    unused = [node for node in called if node.order not in reached]
    numbers: dict[Node, int] = {}
    draws = 0
    for node in drawing([*nodes, *unused]):
        numbers[node] = draws
        statics = node.statics if node in inputs else in_mode(node, training)
        draws += node.op.draws(statics, inputs.get(node))
    key = key_variable(draws)

    def change(node: Node, given: tuple[Entry, ...]) -> Node:
        if not node.op.takes_key:
            return node.replaced(given)
        scalars = (*node.scalars, float(numbers[node]))
        given = (*given, Entry(key))
        made = Node(node.op, node.statics, scalars, given, node.name, node.attrs)
        return made.made_from(node)

    changed = graph.rebuild(change)
    return Graph(changed.heads, (*graph.inputs, key), graph.num_outputs, graph.states)


def _inputs_of_loops(
    graph: Graph, nodes: Sequence[Node], known: Mapping[str, tuple[Any, np.dtype]]
) -> dict[Node, Any]:
    """Shapes and dtypes of the inputs of random nodes, None where they need not or cannot be known."""
    found: dict[Node, Any] = dict.fromkeys(nodes)
    asking = [node for node in nodes if node.op.draws_by_inputs]
    if asking and known:
        shapes = {name: shape for name, (shape, _) in known.items()}
        inferred = infer(graph, shapes, {name: dtype for name, (_, dtype) in known.items()})
        for node in asking:
            specs = [(inferred.shapes.get(e), inferred.dtypes.get(e)) for e in node.inputs]
            if all(shape is not None and dtype is not None for shape, dtype in specs):
                found[node] = specs
    return found
