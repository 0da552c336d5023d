"""Expand: replace a fused float layer by its operations, which later passes can optimize."""

from __future__ import annotations

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.quantized.fused import body_order, parts_of
from mixnet.passes.facts import Facts
from mixnet.passes.fuse_layers import FUSED


def expand_layers(graph: Graph, facts: Facts | None = None) -> Graph:
    """The graph without fused float layers; fused integer layers remain."""
    if not any(_is_of_floats(node) for node in graph.nodes):
        return graph

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        if not _is_of_floats(node):
            return node.with_inputs(inputs)
        body = node.op.keywords(node.statics)["subgraphs"][0]
        replacements = {v: (e,) for v, e in zip(body.graph.inputs, inputs, strict=True)}
        expanded = body.graph.rebuild(lambda each, entries: each.replaced(entries), replacements)
        by_name = dict(zip(body_order(parts_of(body)), inputs, strict=True))
        states = [by_name[name] for name in ("mean", "var") if name in by_name]
        return (expanded.heads[0], *states)

    return graph.rebuild(change)


def _is_of_floats(node: Node) -> bool:
    if node.op is None or node.op.name not in FUSED:
        return False
    known = node.op.keywords(node.statics)
    body = known["subgraphs"][0]
    draws = any(each.op is not None and each.op.takes_key for each in body.graph.nodes)
    return not known["quantized"] and not draws
