"""From a graph to a JAX function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax

from mixnet.graph.graph import Graph
from mixnet.graph.node import Node, ScalarSlot


def scopes(graph: Graph) -> dict[Node, str]:
    """The name of every operation in a compiled program: no two are equal, none has a slash."""
    found: dict[Node, str] = {}
    taken: set[str] = set()
    for node, name in graph.names.items():
        if node.is_variable:
            continue
        scope = plain = re.sub(r"[^\w.-]", "_", name)
        number = 1
        while scope in taken:
            scope, number = f"{plain}_{number}", number + 1
        taken.add(scope)
        found[node] = scope
    return found


def lower(graph: Graph) -> Callable[[Sequence[Any], Any], list[Any]]:
    """A function ``(arrays of the inputs, vector of scalars) -> arrays of the heads``.

    Every node runs in a ``jax.named_scope`` of its name, see :func:`scopes`, so that it can be
    found again in the optimised program.
    """
    scope_of = scopes(graph)
    number = {node: i for i, node in enumerate(graph.inputs)}
    steps = []
    for node in graph.nodes:
        if node.is_variable:
            continue
        number[node] = len(number)
        places = [(number[e.node], e.index) for e in node.inputs]
        steps.append((node.op, node.statics, node.scalars, places, scope_of[node]))
    heads = [(number[e.node], e.index) for e in graph.heads]

    def run(arrays: Sequence[Any], scalars: Any = ()) -> list[Any]:
        results: list[Any] = [(array,) for array in arrays]
        for op, statics, numbers, places, scope in steps:
            with jax.named_scope(scope):
                given = [scalars[s] if type(s) is ScalarSlot else s for s in numbers]
                results.append(op.apply(statics, [results[i][j] for i, j in places], given))
        return [results[i][j] for i, j in heads]

    return run
