"""Traced or recorded graphs with explicit attributes, as in a symbol file."""

from __future__ import annotations

from typing import Any

from mixnet.base import GradientError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, topological
from mixnet.graph.subgraph import SubGraph
from mixnet.ops.op import Op
from mixnet.ops.schema.attributes import to_text
from mixnet.passes.inline import inline
from mixnet.symbol.symbol import Symbol


def spelled_out(graph: Graph, keyed: bool = True) -> Graph:
    """The graph with its operators' attributes as text.

    Args:
        graph: traced, or the body of a loop.
        keyed: random operators have a key as last input, which a symbol does not; a symbol gets
            its key when it is bound.
    """

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        op, statics, scalars = node.op, node.statics, node.scalars
        keywords = op.keywords(statics, scalars)
        attrs = {
            name: to_text(keywords[name])
            for name, each in op.attributes.items()
            if name != "subgraphs" and (each.required or keywords[name] != each.default)
        }
        order = getattr(node, "order", None)
        if op.takes_key and keyed:
            order = int(scalars[-1])
            inputs, scalars = inputs[:-1], scalars[:-1]
        bodies = keywords.get("subgraphs", ())
        if bodies:
            spelled = tuple(
                SubGraph(spelled_out(body.graph, keyed=False), body.called) for body in bodies
            )
            statics = tuple(spelled if each is bodies else each for each in statics)
        if op.variadic and op.num_args:
            attrs[op.num_args] = str(len(inputs) + len(bodies))
        rebuilt = Node(op, statics, scalars, inputs, node.name, attrs).made_from(node)
        if order is not None:
            rebuilt.order = order
        return rebuilt

    return graph.rebuild(change)


def get_symbol(x: Any) -> Symbol:
    """The recorded computation of an array as a symbol; its variables are ``var0``, ``var1``, ...

    Args:
        x: an array that was computed inside ``autograd.record()``.

    Raises:
        GradientError: it was not recorded.
    """
    value = x._read()
    if value.node is None or value.node.op is None:
        raise GradientError(
            "get_symbol takes an array that was computed from a variable inside autograd.record()."
        )
    rebuilt: dict[Node, Node] = {}
    counts: dict[str, int] = {}

    def named(hint: str) -> str:
        counts[hint] = counts.get(hint, -1) + 1
        return f"{hint}{counts[hint]}"

    (head,) = inline(Graph((Entry(value.node, value.index),))).heads
    for node in topological([head.node]):
        if node.op is None:
            rebuilt[node] = Node(None, name=named("var"))
        elif not isinstance(node.op, Op):
            raise GradientError(f"get_symbol: {node.op!r} cannot be stored in a symbol file.")
        else:
            inputs = tuple(Entry(rebuilt[entry.node], entry.index) for entry in node.inputs)
            name = named(node.op.name.strip("_").lower())
            rebuilt[node] = Node(node.op, node.statics, node.scalars, inputs, name)
    graph = Graph((Entry(rebuilt[head.node], head.index),))
    return Symbol(spelled_out(graph).heads)
