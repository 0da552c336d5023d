"""From a graph to a JAX function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax

from mixnet.graph.graph import Graph
from mixnet.graph.node import Node, ScalarSlot
from mixnet.ops.backward import with_gradients
from mixnet.ops.operator import Operator, Statics
from mixnet.passes.differentiate import BackwardOp


def scopes(graph: Graph) -> dict[Node, str]:
    """The name of every operation in a compiled program: unique, and without slashes."""
    names: dict[Node, str] = {}
    used: set[str] = set()
    for node, name in graph.names.items():
        if node.is_variable:
            continue
        # XLA escapes other characters in its texts, where the name would not be found then.
        scope = plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
        number = 1
        # XLA keeps the name with each instruction, and a name must lead back to one node.
        while scope in used:
            scope, number = f"{plain}_{number}", number + 1
        used.add(scope)
        names[node] = scope
    return names


def lower(graph: Graph) -> Callable[[Sequence[Any], Any], list[Any]]:
    """A function ``(arrays of the inputs, vector of scalars) -> arrays of the heads``.

    Every node runs in a ``jax.named_scope`` of its name, see :func:`scopes`, so that it can be found in the
    optimized program. If a graph has an operation and its gradient, the operation is computed
    once and the gradient reads its residuals: XLA would merge a second computation with the first,
    but not one with loops.
    """
    scope_of = scopes(graph)
    number = {node: i for i, node in enumerate(graph.inputs)}
    forward_of = _forward_of(graph)
    shared = _shared(forward_of)
    steps = []
    for node in graph.nodes:
        if node.is_variable:
            continue
        number[node] = len(number)
        places = [(number[e.node], e.index) for e in node.inputs]
        scope = scope_of[node]
        source = number[forward_of[node]] if node in forward_of else None
        steps.append((node.op, node.statics, node.scalars, places, scope, shared.get(node), source))
    heads = [(number[e.node], e.index) for e in graph.heads]

    def run(arrays: Sequence[Any], scalars: Any = ()) -> list[Any]:
        results: list[Any] = [(array,) for array in arrays]
        pulls: dict[int, Callable[..., Any]] = {}
        for op, statics, numbers, places, scope, shared, source in steps:
            with jax.named_scope(scope):
                inputs = [results[i][j] for i, j in places]
                node_scalars = [scalars[s] if type(s) is ScalarSlot else s for s in numbers]
                # Nodes are in topological order: the operation stores its pullback before its
                # gradient needs it.
                if source is not None:
                    _, headed, wrt = statics
                    results.append(pulls[source](inputs[: len(headed)], headed, wrt))
                elif shared is not None:
                    outputs, pulls[len(results)] = with_gradients(
                        op, statics, node_scalars, inputs, *shared
                    )
                    results.append(outputs)
                else:
                    results.append(op.apply(statics, inputs, node_scalars))
        return [results[i][j] for i, j in heads]

    return run


def _forward_of(graph: Graph) -> dict[Node, Node]:
    """The operation whose gradient a node computes, if the graph has it before that node."""
    first_of: dict[Any, Node] = {}
    forward_of: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.is_variable:
            continue
        if type(node.op) is BackwardOp:
            statics, headed, _ = node.statics
            key = _expression(node.op.forward, statics, node.scalars, node.inputs[len(headed) :])
            forward = first_of.get(key)
            # A gradient that reads residuals provides none itself: its own gradient computes it again.
            if forward is not None and forward not in forward_of:
                forward_of[node] = forward
        first_of.setdefault(_expression(node.op, node.statics, node.scalars, node.inputs), node)
    return forward_of


def _expression(op: Operator, statics: Statics, scalars: Sequence[Any], inputs: object) -> Any:
    # repr distinguishes 1, True and the scalar in slot 1, which compare equal
    return op, statics, repr(statics), tuple((type(s), s) for s in scalars), inputs


def _shared(forward_of: dict[Node, Node]) -> dict[Node, tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each such operation: outputs with head gradients, and inputs whose gradients are needed."""
    headed: dict[Node, set[int]] = {}
    wrt: dict[Node, set[int]] = {}
    for node, forward in forward_of.items():
        headed.setdefault(forward, set()).update(node.statics[1])
        wrt.setdefault(forward, set()).update(node.statics[2])
    return {each: (tuple(sorted(headed[each])), tuple(sorted(wrt[each]))) for each in headed}
