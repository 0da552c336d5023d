"""The random numbers that the host draws for a graph."""

from __future__ import annotations

from collections.abc import Sequence

from mixnet.graph.graph import Graph
from mixnet.ops.generators.source import Demands
from mixnet.passes.assign_keys import KEY_SPEC, order_on_host
from mixnet.passes.facts import Facts, Known


def demands_of(graph: Graph, known: Sequence[Known], key: int) -> Demands:
    """The numbers that the host draws for a run.

    Args:
        graph: a graph with a stream among its inputs.
        known: shape and dtype of each other input.
        key: the index of the stream among the inputs.
    """
    specs = Facts(inputs=(*known[:key], KEY_SPEC, *known[key:])).specs(graph)
    by_draw: dict[int, Demands] = {}
    for node in graph.nodes:
        if node.op is None or not node.op.takes_key or not node.op.draws(node.statics):
            continue
        arrays = [specs[entry] for entry in node.inputs]
        arrays.pop(-1 if node.op.key is None else node.op.key)
        demands = node.op.demands(node.statics, tuple(arrays), node.scalars[:-1])
        first = int(node.scalars[-1])
        by_draw[first] = (
            [(first, demands)] if node.op.graph is None else [(first + n, d) for n, d in demands]
        )
    order = order_on_host(graph.inputs[key]) or sorted(by_draw)
    return [demand for first in order for demand in by_draw.get(first, ())]
