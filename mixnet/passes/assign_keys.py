"""Assign random streams: random operators of a symbol's graph get a stream as input, and numbered draws."""

from __future__ import annotations

from collections.abc import Sequence

from mixnet.graph.draws import drawing, numbers_of_draws
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.schema.stream import STREAM_SPEC

KEY_NAME = "random key"
KEY_SPEC = STREAM_SPEC

_DRAWS = "draws"
_ORDER = "order on the host"


def key_variable(draws: int, order: Sequence[int] = ()) -> Node:
    """The variable for a graph's stream, from which every run takes ``draws`` draws.

    Args:
        draws: the number of draws.
        order: the order in which the host makes the draws; by default ascending.
    """
    attrs = {_DRAWS: str(draws)}
    if list(order) != sorted(order):
        attrs[_ORDER] = " ".join(map(str, order))
    return Node(None, name=KEY_NAME, attrs=attrs)


def draws_of(key: Node) -> int:
    """The number of draws that a run takes from a stream variable."""
    return int(key.attrs[_DRAWS])


def order_on_host(key: Node) -> tuple[int, ...]:
    """The order in which the host makes the draws; empty if it is ascending."""
    return tuple(map(int, key.attrs.get(_ORDER, "").split()))


def assign_keys(graph: Graph, called: Sequence[Node] = (), training: bool = False) -> Graph:
    """Give every random node the graph's stream as last input and the index of its draw as last scalar.

    The indices are those that the operators would take if they were called on arrays in the order in which
    the symbols were composed; the host draws in the order of the nodes, as MXNet does for a graph. The
    stream becomes the graph's last input. A graph without random operators is returned unchanged.

    Args:
        graph: with modes set.
        called: the random operators that were composed, including those that no output needs.
        training: the mode of operators that no output needs.
    """
    drawn = dict.fromkeys(drawing(graph.nodes))
    if not drawn:
        return graph
    numbers, draws = numbers_of_draws(
        list(drawn),
        called,
        lambda node: node.statics if node in drawn else node.in_mode(training),
    )
    order = [numbers[node] for node in graph.nodes if node in drawn and node.op.draws(node.statics)]
    key = key_variable(draws, order)

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        if not node.op.takes_key:
            return node.with_inputs(inputs)
        scalars = (*node.scalars, float(numbers[node]))
        inputs = (*inputs, Entry(key))
        keyed = Node(node.op, node.statics, scalars, inputs, node.name, node.attrs)
        return keyed.made_from(node)

    changed = graph.rebuild(change)
    return Graph(changed.heads, (*graph.inputs, key), graph.num_outputs, graph.states)
