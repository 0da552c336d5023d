"""Assign random streams: random operators of a composed graph get a stream as input and numbered draws."""

from __future__ import annotations

from collections.abc import Sequence

from mixnet.graph.draws import drawing, numbers_of_draws
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.passes.set_training import in_mode

KEY_NAME = "random key"
KEY_SPEC = STREAM_SPEC

_DRAWS = "draws"
_ORDER = "order on the host"


def key_variable(draws: int, order: Sequence[int] = ()) -> Node:
    """The input of a graph that is a stream, from which every run takes ``draws`` numbers.

    Args:
        draws: how many.
        order: in which the host draws them; by default that of the numbers.
    """
    attrs = {_DRAWS: str(draws)}
    if list(order) != sorted(order):
        attrs[_ORDER] = " ".join(map(str, order))
    return Node(None, name=KEY_NAME, attrs=attrs)


def draws_of(key: Node) -> int:
    """How many numbers a run takes from the stream that is this input."""
    return int(key.attrs[_DRAWS])


def order_on_host(key: Node) -> tuple[int, ...]:
    """The numbers in the order in which the host draws them; empty if that is their order."""
    return tuple(map(int, key.attrs.get(_ORDER, "").split()))


def assign_keys(graph: Graph, called: Sequence[Node] = (), training: bool = False) -> Graph:
    """Give every random node the graph's stream as last input and its own number as last scalar.

    The numbers are those that the operators would take if they were called on arrays in the order
    in which the symbols were composed; the host draws in the order of the nodes, as MXNet does for a
    graph. The stream becomes the graph's last input. A graph without random operators is returned
    unchanged.

    Args:
        graph: with modes set.
        called: the random operators that were composed, also those that no output needs.
        training: the mode of the latter.
    """
    own = dict.fromkeys(drawing(graph.nodes))
    if not own:
        return graph
    numbers, draws = numbers_of_draws(
        list(own), called, lambda node: node.statics if node in own else in_mode(node, training)
    )
    order = [numbers[node] for node in graph.nodes if node in own and node.op.draws(node.statics)]
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
