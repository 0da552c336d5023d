"""Simplification: remove operations that have no effect or cancel each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops.schema.attributes import to_text
from mixnet.ops.schema.rewrites import ask, names
from mixnet.passes.facts import Facts, Known

_LOOK_BACK = 16  # the most operations that are searched for a dtype, so that the pass is linear


def simplify(graph: Graph, facts: Facts | None = None) -> Graph:
    """A graph with fewer operations and the same values, to the bit, and the same gradients.

    It removes copies; ``Dropout`` that drops nothing; concatenations of one array; casts to the same dtype;
    a reshape before another one; transposes that cancel, and merges two that do not; products and quotients
    with 1, and differences with 0. Sums with 0 remain, because -0 + 0 is 0. The gradients of one array may
    be added in another order than before.
    """
    inputs = facts.known_inputs(graph) if facts is not None else {}

    def change(node: Node, entries: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        if _is_unchanged(node, entries, inputs):
            return entries[:1]
        return _combined(node, entries) or _reshaped(node, entries) or node.with_inputs(entries)

    return graph.rebuild(change)


def drop_gradient_rules(graph: Graph, facts: Facts | None = None) -> Graph:
    """A graph without operators that only define a gradient, such as ``BlockGrad``.

    It is for graphs that will not be differentiated.
    """
    if not any(node.op is not None and node.op.rewrites.only_gradient for node in graph.nodes):
        return graph

    def change(node: Node, entries: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        return entries[:1] if node.op.rewrites.only_gradient else node.with_inputs(entries)

    return graph.rebuild(change)


def _attributes(node: Node) -> dict[str, Any]:
    """Attributes by name; None for numbers that are inputs of the program, whose values are unknown."""
    scalars = [None if type(number) is ScalarSlot else number for number in node.scalars]
    return node.op.keywords(node.statics, scalars)


def _is_unchanged(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> bool:
    """Whether the node returns its first input unchanged."""
    rule = node.op.rewrites.unchanged
    if rule is None:
        return False
    known = {**_attributes(node), "count": len(entries)}
    if "input_dtype" in (names(rule) or ()):
        known["input_dtype"] = known_dtype(entries[0], inputs)
    return bool(ask(rule, known))


def _combined(node: Node, entries: Sequence[Entry]) -> Node | tuple[Entry, ...] | None:
    """One node that replaces this one and its input; None if both are needed."""
    rule, before = node.op.rewrites.combined, entries[0].node if entries else node
    if rule is None or before.is_variable or before.op.rewrites.combined is not rule:
        return None
    attributes = rule(_attributes(before), _attributes(node))
    if not attributes:
        return None if attributes is None else before.inputs[:1]
    attrs = {name: to_text(value) for name, value in attributes.items()}
    return Node(node.op, node.op.bind(attributes)[0], (), before.inputs, node.name, attrs)


def _reshaped(node: Node, entries: Sequence[Entry]) -> Node | None:
    """The node, applied before other reshapes; None if its shape refers to theirs."""
    rule = node.op.rewrites.sets_shape
    if rule is None:
        return None
    source = entries[0]
    for _ in range(_LOOK_BACK):
        if source.node.is_variable or not source.node.op.rewrites.keeps_order:
            break
        source = source.node.inputs[0]
    if source == entries[0] or not ask(rule, _attributes(node)):
        return None
    return node.replaced((source,))


def known_dtype(entry: Entry, inputs: Mapping[Node, Known]) -> np.dtype | None:
    """The dtype of an entry, if it follows from a few operations before it; otherwise None.

    Args:
        entry: the entry.
        inputs: shape and dtype of variables.
    """
    for _ in range(_LOOK_BACK):
        node = entry.node
        if node.is_variable:
            return inputs[node][1] if node in inputs else None
        if node.op.name == "Cast":
            dtype: str = _attributes(node)["dtype"]
            return np.dtype(dtype)
        if not node.op.rewrites.keeps_dtype or entry.index:
            return None
        entry = node.inputs[0]
    return None
