"""Fold: merge a convolution and a normalization with known statistics into one convolution."""

from __future__ import annotations

from collections import Counter

from mixnet import config
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.lowering.batch_norm import FOLD
from mixnet.passes.facts import Facts


def fold_batch_norm(graph: Graph, facts: Facts | None = None) -> Graph:
    """Scale weight and bias of a convolution instead of its result, when predicting.

    The normalization must be the convolution's only reader: if a gradient reads the result, too, both remain.
    """
    if config.get("MIXNET_LAYOUT") == "off":
        return graph
    uses = Counter(graph.heads)
    for node in graph.nodes:
        uses.update(node.inputs)
    if not any(_folds(node, uses) for node in graph.nodes):
        return graph

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        if not _folds(node, uses):
            return node.with_inputs(inputs)
        inner, (_, gamma, beta, mean, var) = inputs[0].node, inputs
        data, weight, *bias = inner.inputs
        known = node.op.keywords(node.statics)
        statics = (("eps", known["eps"]), ("fix_gamma", known["fix_gamma"]))
        folded = Node(
            FOLD, statics, (), (weight, gamma, beta, mean, var, *bias), f"{node.name}_fold"
        )
        op = inner.op
        layer = Node(
            op,
            op.rebind(inner.statics, no_bias=False),
            inner.scalars,
            (data, Entry(folded, 0), Entry(folded, 1)),
            inner.name,
            inner.attrs,
        ).made_from(inner)
        # The statistics are not read (see ``_folds``), and the moving ones do not change.
        return Entry(layer), mean, var, mean, var

    return graph.rebuild(change)


def _folds(node: Node, uses: Counter[Entry]) -> bool:
    if node.op is None or node.op.name != "BatchNorm" or node.op.forward:
        return False
    known = node.op.keywords(node.statics)
    if known["training"] and not known["use_global_stats"]:
        return False
    if any(uses[Entry(node, i)] for i in (1, 2)):
        return False
    source = node.inputs[0]
    if source.node.op is None or source.node.op.name != "Convolution" or uses[source] != 1:
        return False
    layout = source.node.op.keywords(source.node.statics)["layout"]
    last = layout is not None and layout.endswith("C")
    return bool(known["axis"] == (len(layout) - 1 if layout and last else 1))
