"""Simplification: operations that change nothing, or undo each other, are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops.registry import find
from mixnet.passes.facts import Facts, Known

# What a rule gives: the entry that has the same value, a node to take instead, or None.
Found = Entry | Node | None

_IDENTITIES = ("_copy", "_np_copy")
# The data, whose gradient is another one: nothing but the data once that gradient has been made.
_GRADIENT_RULES = ("BlockGrad", "MakeLoss", "make_loss", "_contrib_gradientmultiplier")
_RESHAPES = ("Reshape", "_np_reshape", "_npx_reshape")
_KEEP_ELEMENTS = (*_RESHAPES, "Flatten", "expand_dims", "squeeze", "_np_squeeze")
_TRANSPOSES = ("transpose", "_np_transpose")
# Their result has the dtype of their first input.
_KEEP_DTYPE = frozenset(
    (
        *_KEEP_ELEMENTS,
        *_TRANSPOSES,
        *_IDENTITIES,
        *_GRADIENT_RULES,
        "SwapAxis",
        "Activation",
        "Convolution",
        "Dropout",
        "FullyConnected",
        "Pooling",
        "elemwise_add",
        "elemwise_mul",
        "elemwise_sub",
        "relu",
        "slice",
        "slice_axis",
    )
)
_LOOK_BACK = 16  # operations that are searched for a dtype: bounded, so that the pass is linear


def simplify(graph: Graph, facts: Facts | None = None) -> Graph:
    """A graph of the same values, bit by bit, and the same gradients with fewer operations.

    Left out are copies; ``Dropout`` where it drops nothing; joins of one array; casts to the dtype that
    is there; a reshape that another one follows; transposes that cancel, and of two that do not the
    first; products and quotients with 1 and differences to 0. Sums with 0 stay: -0 + 0 is 0.
    Gradients that meet at one array may be added in another order than before.
    """
    inputs = facts.known_inputs(graph) if facts is not None else {}

    def change(node: Node, entries: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        rule = _RULES.get(node.op.name)
        found = rule(node, entries, inputs) if rule is not None else None
        if found is None:
            return node.replaced(entries)
        return found if isinstance(found, Node) else (found,)

    return graph.rebuild(change)


def drop_gradient_rules(graph: Graph, facts: Facts | None = None) -> Graph:
    """A graph without operators that only say what a gradient shall be, as ``BlockGrad``.

    For graphs that nobody differentiates any more.
    """
    if not any(node.op is not None and node.op.name in _GRADIENT_RULES for node in graph.nodes):
        return graph

    def change(node: Node, entries: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        return entries[:1] if node.op.name in _GRADIENT_RULES else node.replaced(entries)

    return graph.rebuild(change)


def _attributes(node: Node) -> dict[str, Any]:
    return node.op.keywords(node.statics)


def _identity(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
    return entries[0]


def _dropout(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
    given = _attributes(node)
    drops = given["p"] > 0 and (given["training"] or given["mode"] == "always")
    return None if drops else entries[0]


def _join(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
    return entries[0] if len(entries) == 1 else None


def _split(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
    given = _attributes(node)
    return entries[0] if given["num_outputs"] == 1 and not given["squeeze_axis"] else None


def _cast(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
    dtype = known_dtype(entries[0], inputs)
    wanted = np.dtype(_attributes(node)["dtype"])
    return entries[0] if dtype is not None and dtype == wanted else None  # None == float64 in NumPy


def _scalar(number: float) -> Callable[..., Found]:
    def rule(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
        (given,) = node.scalars
        if type(given) is ScalarSlot or given != number:
            return None
        dtype = known_dtype(entries[0], inputs)  # booleans would become integers
        return entries[0] if dtype is not None and dtype.kind != "b" else None

    return rule


def _reshape(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
    source = entries[0]
    for _ in range(_LOOK_BACK):
        if source.node.is_variable or source.node.op.name not in _KEEP_ELEMENTS:
            break
        source = source.node.inputs[0]
    if source == entries[0]:
        return None
    given = _attributes(node)
    codes = given["newshape"] if "newshape" in given else given["shape"]
    # Other codes than -1 speak of the axes that the reshape in between has made.
    if not codes or any(code < 1 and code != -1 for code in codes):
        return None
    return node.replaced((source,))


def _transpose(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
    axes = _axes(node)
    if axes and axes == tuple(range(len(axes))):
        return entries[0]
    before = entries[0].node
    if before.is_variable or before.op.name not in _TRANSPOSES:
        return None
    first = _axes(before)
    ndim = len(axes or first)
    if not ndim:
        return before.inputs[0]  # reversed twice
    first, axes = (each or tuple(reversed(range(ndim))) for each in (first, axes))
    both = tuple(first[axis] for axis in axes)
    if both == tuple(range(ndim)):
        return before.inputs[0]
    op = find("transpose")
    attrs = {"axes": str(both)}
    return Node(op, op.bind({"axes": both})[0], (), before.inputs, node.name, attrs)


def _axes(node: Node) -> tuple[int, ...]:
    axes = _attributes(node)["axes"] or ()
    return tuple(axis % len(axes) for axis in axes)


def _swap(node: Node, entries: Sequence[Entry], inputs: Mapping[Node, Known]) -> Found:
    before = entries[0].node
    given = _attributes(node)
    if given["dim1"] == given["dim2"]:
        return entries[0]
    if before.is_variable or before.op.name != "SwapAxis":
        return None
    other = _attributes(before)
    same = {given["dim1"], given["dim2"]} == {other["dim1"], other["dim2"]}
    return before.inputs[0] if same else None


_RULES: dict[str, Callable[..., Found]] = {
    **dict.fromkeys(_IDENTITIES, _identity),
    **dict.fromkeys(_RESHAPES, _reshape),
    **dict.fromkeys(_TRANSPOSES, _transpose),
    "Cast": _cast,
    "Concat": _join,
    "Dropout": _dropout,
    "SliceChannel": _split,
    "SwapAxis": _swap,
    "_div_scalar": _scalar(1.0),
    "_minus_scalar": _scalar(0.0),
    "_mul_scalar": _scalar(1.0),
    "add_n": _join,
}


def known_dtype(entry: Entry, inputs: Mapping[Node, Known]) -> np.dtype | None:
    """The dtype of an entry where a look at the operations just before it says one, else None.

    Args:
        entry: any.
        inputs: shape and dtype of variables.
    """
    for _ in range(_LOOK_BACK):
        node = entry.node
        if node.is_variable:
            return inputs[node][1] if node in inputs else None
        if node.op.name == "Cast":
            return np.dtype(_attributes(node)["dtype"])
        if node.op.name not in _KEEP_DTYPE or entry.index:
            return None
        entry = node.inputs[0]
    return None
