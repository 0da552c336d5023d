"""Quantize layers to 8-bit integers: floats are quantized before them and dequantized after them.

Names, operators and the order of inputs are MXNet's: ``quantized_conv0`` replaces ``conv0`` and
reads ``data_quantize``, followed by the ends of the ranges.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.graph.symbol_json import make_node
from mixnet.ops.schema.integer_layers import Quantization
from mixnet.ops.schema.rewrites import ask
from mixnet.passes.fuse_layers import AFFINE, CONVOLUTION, FUSED
from mixnet.passes.lower_precision import output_name

QUANTIZE = "_contrib_quantize_v2"
REQUANTIZE = "_contrib_requantize"
DEQUANTIZE = "_contrib_dequantize"


@dataclass(frozen=True)
class Options:
    """The options of quantization.

    Args:
        parameters: names of the variables that are quantized beforehand.
        dtype: ``int8``, ``uint8`` or ``auto``.
        smart: quantize operators other than layers only between layers.
        by_channel: use a range for each channel of weights in fused affine maps.
        excluded_names: names of nodes to leave as floats, including those within fused nodes.
        excluded_operators: names of operators to leave as floats, including those within fused nodes.
        skips_normalization: leave operators as floats whose range must be measured: ``BatchNorm``.
    """

    parameters: Collection[str]
    dtype: str = "int8"
    smart: bool = False
    by_channel: bool = False
    excluded_names: Collection[str] = ()
    excluded_operators: Collection[str] = ()
    skips_normalization: bool = False


@dataclass(frozen=True)
class Quantized:
    """A quantized graph.

    Args:
        graph: the graph that computes with integers.
        measured: names of the outputs whose ranges must be measured in the float graph.
        parameters: names of the variables that are quantized beforehand.
    """

    graph: Graph
    measured: tuple[str, ...]
    parameters: tuple[str, ...] = field(default=())


def quantize_layers(graph: Graph, options: Options) -> Quantized:
    """Quantize the layers of a symbol's graph."""
    rewrite = _Rewrite(graph, options)
    changed = graph.rebuild(rewrite.change)
    heads = tuple(rewrite.as_floats(head) for head in changed.heads)
    return Quantized(
        changed.with_heads(heads), tuple(rewrite.measured), tuple(rewrite.quantized_parameters)
    )


def rule_for(node: Node, options: Options) -> Quantization | None:
    """How a node is quantized; None if it is not."""
    rule = None if node.is_variable else node.op.quantization
    if rule is None or (options.skips_normalization and rule.calibrated):
        return None
    inside = [node]
    if node.op.name in FUSED:
        inside += node.op.keywords(node.statics)["subgraphs"][0].graph.nodes
    if any(
        each.name in options.excluded_names
        or (each.op is not None and each.op.name in options.excluded_operators)
        for each in inside
    ):
        return None
    return rule if ask(rule.fits, node.op.keywords(node.statics)) else None


def chosen(graph: Graph, options: Options) -> dict[Node, Quantization]:
    """The nodes that are quantized."""
    able = {n: rule for n in graph.nodes if (rule := rule_for(n, options)) is not None}
    if not options.smart:
        return able
    after: set[Node] = set()  # layers, and operators between them
    for node in graph.nodes:
        if node in able and (able[node].is_layer or any(e.node in after for e in node.inputs)):
            after.add(node)
    before: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in able and (able[node].is_layer or node in before):
            before.add(node)
            before.update(e.node for e in node.inputs)
    return {n: rule for n, rule in able.items() if n in after and n in before}


class _Rewrite:
    def __init__(self, graph: Graph, options: Options):
        self.options = options
        self.chosen = chosen(graph, options)
        self.whole: dict[Entry, tuple[Entry, Entry, Entry]] = {}
        self.floats: dict[Entry, Entry] = {}
        self.stems: dict[Node, str] = {}
        self.measured: dict[str, None] = {}
        self.quantized_parameters: dict[str, None] = {}

    def change(self, node: Node, inputs: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        rule = self.chosen.get(node)
        if rule is None:
            return node.replaced(tuple(self.as_floats(each) for each in inputs))
        fused_floats = node.op.name == AFFINE and self.options.by_channel
        reads = (
            (0,) if fused_floats else ask(rule.reads, node.op.keywords(node.statics), [len(inputs)])
        )
        arrays, ends = [], []
        for place, each in enumerate(inputs):
            if place in reads:
                whole, *range_of = self.as_whole(each)
                arrays.append(whole)
                ends += range_of
            else:
                arrays.append(self.as_floats(each))
        changed = self._node(node, rule, (*arrays, *ends), fused_floats)
        name = f"{node.name}_output"
        result = changed
        if rule.sums:
            result = _make(
                REQUANTIZE,
                f"requantize_{node.name}",
                tuple(Entry(changed, i) for i in range(3)),
                {"out_type": self.options.dtype},
            )
        if rule.sums or rule.calibrated:
            self.measured[name] = None
        outputs = tuple(Entry(result, i) for i in range(3))
        self.whole[outputs[0]] = (outputs[0], outputs[1], outputs[2])
        self.stems[result] = node.name
        return outputs[:1]

    def _node(
        self, node: Node, rule: Quantization, inputs: tuple[Entry, ...], by_channel: bool
    ) -> Node:
        attrs = dict(node.attrs)
        bodies: tuple[Any, ...] = ()
        if node.op.name in FUSED:
            attrs["quantized"] = "true" if node.op.name == CONVOLUTION else "True"
            bodies = node.op.keywords(node.statics)["subgraphs"]
            if by_channel:
                attrs["channel_wise_quantize"] = "True"
        return make_node(rule.name, f"quantized_{node.name}", inputs, attrs, bodies)

    def as_whole(self, entry: Entry) -> tuple[Entry, Entry, Entry]:
        """An entry as integers, and the ends of its range."""
        if entry not in self.whole:
            node = entry.node
            if node.is_variable and node.name in self.options.parameters:
                self.quantized_parameters[node.name] = None
                quantized = [
                    Entry(Node(None, name=f"{node.name}_quantize{s}")) for s in ("", "_min", "_max")
                ]
                self.whole[entry] = (quantized[0], quantized[1], quantized[2])
            else:
                name = output_name(entry)
                self.measured[name] = None
                quantize = _make(
                    QUANTIZE, f"{name}_quantize", (entry,), {"out_type": self.options.dtype}
                )
                self.whole[entry] = (Entry(quantize), Entry(quantize, 1), Entry(quantize, 2))
                self.floats[self.whole[entry][0]] = entry
        return self.whole[entry]

    def as_floats(self, entry: Entry) -> Entry:
        """An entry as floats."""
        if entry not in self.whole or entry.node not in self.stems:
            return entry
        if entry not in self.floats:
            dequantize = _make(
                DEQUANTIZE, f"{self.stems[entry.node]}_dequantize", self.whole[entry], {}
            )
            self.floats[entry] = Entry(dequantize)
        return self.floats[entry]


def _make(op: str, name: str, inputs: tuple[Entry, ...], attrs: dict[str, str]) -> Node:
    return make_node(op, name, inputs, attrs)


def set_ranges(graph: Graph, ranges: Mapping[str, tuple[float, float]]) -> Graph:
    """The quantized graph with measured ranges, by the names in ``Quantized.measured``."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        changed = node.replaced(inputs)
        name = _measured_name(changed)
        if name not in ranges:
            return changed
        low, high = map(_written, ranges[name])
        return with_attributes(changed, {"min_calib_range": low, "max_calib_range": high})

    return graph.rebuild(change)


def _written(end: float) -> str:
    """A number with at least six decimal places, as MXNet writes it."""
    return np.format_float_positional(np.float32(end), min_digits=6)


def _measured_name(node: Node) -> str:
    if node.op.name == QUANTIZE:
        return output_name(node.inputs[0])
    for prefix in ("requantize_", "quantized_"):
        if node.op.name in (REQUANTIZE, "_contrib_quantized_batch_norm") and node.name.startswith(
            prefix
        ):
            return node.name.removeprefix(prefix) + "_output"
    return ""


def with_attributes(node: Node, attrs: Mapping[str, str]) -> Node:
    """The node with more attributes."""
    bodies = node.op.keywords(node.statics)["subgraphs"] if node.op.name in FUSED else ()
    node_with = make_node(node.op.name, node.name, node.inputs, {**node.attrs, **attrs}, bodies)
    return node_with.made_from(node)


_GIVES_FLOATS = (AFFINE, "_contrib_quantized_elemwise_mul")


def fold_rounding(graph: Graph) -> Graph:
    """The quantized graph in which operators round their sums themselves or return floats, where possible.

    A ``requantize`` with a measured range becomes part of the operator that it reads; so does a
    ``dequantize`` after it, unless another operator reads the integers.
    """
    readers: dict[Node, set[Node]] = {}
    for node in graph.nodes:
        for entry in node.inputs:
            readers.setdefault(entry.node, set()).add(node)
    heads = {head.node for head in graph.heads}

    def folds(node: Node) -> bool:
        source = node.inputs[0].node
        return (
            node.op.name == REQUANTIZE
            and "min_calib_range" in node.attrs
            and source.op is not None
            and "min_calib_range" in source.op.attributes
            and readers[source] == {node}
            and source not in heads
        )

    def gives_floats(node: Node) -> bool:
        if node.op.name != DEQUANTIZE or node.inputs[0].node.op is None:
            return False
        rounded = node.inputs[0].node
        source = rounded.inputs[0].node
        return folds(rounded) and source.op.name in _GIVES_FLOATS and readers[rounded] == {node}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        if gives_floats(node):
            changed = with_attributes(inputs[0].node, {"enable_float_output": "True"})
            for name in ("min_calib_range", "max_calib_range"):
                changed = without_attribute(changed, name)
            return (Entry(changed),)
        if folds(node):
            ranges = {k: node.attrs[k] for k in ("min_calib_range", "max_calib_range")}
            changed = with_attributes(inputs[0].node, ranges)
            return tuple(Entry(changed, i) for i in range(3))
        return node.replaced(inputs)

    return graph.rebuild(change)


def without_attribute(node: Node, name: str) -> Node:
    """The node without an attribute."""
    bodies = node.op.keywords(node.statics)["subgraphs"] if node.op.name in FUSED else ()
    attrs = {key: value for key, value in node.attrs.items() if key != name}
    return make_node(node.op.name, node.name, node.inputs, attrs, bodies).made_from(node)
