"""Traced or recorded graphs with explicit attributes, as in a symbol file."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.autograd.function import FunctionOp
from mixnet.autograd.scope import RecordingScope
from mixnet.autograd.tape import Mark, on_tape
from mixnet.base import GradientError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, topological
from mixnet.graph.subgraph import SubGraph
from mixnet.ops.op import Op, Step
from mixnet.ops.operator import Operator
from mixnet.ops.registry import find
from mixnet.ops.schema.attributes import to_text
from mixnet.passes.inline import inline
from mixnet.symbol.symbol import Symbol

_CUSTOM_FUNCTION = find("_CustomFunction")
_NOT_IN_FILES = ("subgraphs", "results")


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
        steps = None if op.file_form is None else op.file_form(**keywords)
        if steps is not None:
            return _in_steps(node, steps, inputs)
        attrs = _attributes(op, keywords)
        order = node.order
        if op.takes_key and keyed:
            order = int(scalars[-1])
            inputs, scalars = inputs[:-1], scalars[:-1]
        bodies = keywords.get("subgraphs", ())
        if bodies:
            spelled = tuple(
                SubGraph(spelled_out(body.graph, keyed=False), body.called, body.has_scalars)
                for body in bodies
            )
            statics = tuple(spelled if each is bodies else each for each in statics)
        if op.variadic and op.num_args:
            attrs[op.num_args] = str(len(inputs) + len(bodies))
        rebuilt = Node(op, statics, scalars, inputs, node.name, attrs).made_from(node)
        if order is not None:
            rebuilt.order = order
        return rebuilt

    return graph.rebuild(change)


def _attributes(op: Operator, keywords: Mapping[str, Any]) -> dict[str, str]:
    """Attributes as text; those that have their default are left out, except operands of arithmetic."""
    return {
        name: to_text(keywords[name])
        for name, each in op.attributes.items()
        if name not in _NOT_IN_FILES
        and (each.required or name == "scalar" or keywords[name] != each.default)
    }


def _in_steps(node: Node, steps: Sequence[Step], inputs: tuple[Entry, ...]) -> Node:
    """Operators of MXNet in place of one that only this package has; the last one has its name."""
    result = inputs[0]
    for i, step in enumerate(steps, 1):
        op = find(step.operator)
        statics, scalars = op.bind(step.attributes)
        name = (
            node.name if i == len(steps) else f"{node.name}_{step.operator.strip('_').lower()}{i}"
        )
        chosen = (result, *(inputs[other] for other in step.others))
        attrs = _attributes(op, op.keywords(statics, scalars))
        result = Entry(Node(op, statics, scalars, chosen, name, attrs).made_from(node))
    return result.node


def get_symbol(x: Any) -> Symbol:
    """The recorded computation of an array as a symbol.

    Variables are ``var0``, ``var1``, ..., other arrays that were read ``null2``, ... in one count, and
    operations ``node_0``, ...

    Args:
        x: an array that was computed inside ``autograd.record()``, or a variable.

    Raises:
        GradientError: it is neither recorded, or backward has freed that, nor a variable.
    """
    with RecordingScope(True, None):  # in which a variable has its node
        value = x._read()
    if not on_tape(value):
        raise GradientError(
            "get_symbol takes an array that was computed from a variable inside autograd.record(). "
            "backward() frees the recorded computation; retain_graph=True keeps it."
        )
    rebuilt: dict[Node, Node] = {}
    arrays, operations = itertools.count(), itertools.count()
    (head,) = inline(Graph((Entry(value.node, value.index),))).heads
    for node in topological([head.node]):
        if node.op is None:
            hint = "var" if isinstance(node.statics, Mark) else "null"
            rebuilt[node] = Node(None, name=f"{hint}{next(arrays)}")
        elif isinstance(node.op, FunctionOp):
            inputs = tuple(Entry(rebuilt[entry.node], entry.index) for entry in node.inputs)
            statics, _ = _CUSTOM_FUNCTION.bind({"results": node.op.results})
            name = f"node_{next(operations)}"
            rebuilt[node] = Node(_CUSTOM_FUNCTION, statics, (), inputs, name)
        elif not isinstance(node.op, Op):
            raise GradientError(f"get_symbol: {node.op!r} cannot be stored in a symbol file.")
        else:
            inputs = tuple(Entry(rebuilt[entry.node], entry.index) for entry in node.inputs)
            name = f"node_{next(operations)}"
            rebuilt[node] = Node(node.op, node.statics, node.scalars, inputs, name)
    graph = Graph((Entry(rebuilt[head.node], head.index),))
    return Symbol(spelled_out(graph).heads)
