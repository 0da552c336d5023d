"""Constant folding: results that depend only on constants are computed once, at compile time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.registry import find
from mixnet.ops.schema.rewrites import MAX_BYTES, ask
from mixnet.passes.facts import Facts, Known


class Literal:
    """An array as an attribute of a node; equal if dtype, shape and all bits are equal."""

    __slots__ = ("_key", "array")

    def __init__(self, array: np.ndarray):
        self.array = array
        self._key = (array.shape, array.dtype.name, array.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<literal {self.array.dtype.name}{list(self.array.shape)} {self._key[2].hex()}>"


class Constant(Operator):
    """The operator of a folded node: no inputs, its value is its one static attribute."""

    name = "_constant"

    def keywords(self, statics: Statics, scalars: Sequence[Any] = ()) -> dict[str, Any]:
        """The value."""
        return {"value": statics[0].array}

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """The value, as a literal of the program."""
        return (jnp.asarray(statics[0].array),)


CONSTANT = Constant()


def fold_constants(graph: Graph, facts: Facts | None = None) -> Graph:
    """A graph in which literals replace results that do not depend on input values.

    It folds small results of operators that move elements or compute with integers, applied to the results of
    ``zeros``, ``ones``, ``full``, ``arange`` and ``eye``, and operators that read only the shape of an input.
    Operators that round are not folded, so every bit stays the same; nor are random operators.
    """
    inputs = facts.known_inputs(graph) if facts is not None else {}
    known: dict[Entry, np.ndarray] = {}  # small constants, of old nodes and literals

    def change(node: Node, entries: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        like = node.op.rewrites.made_like
        if like is not None and entries[0].node in inputs:
            return _filled(node, like, inputs[entries[0].node])
        copied = node.with_inputs(entries)
        value = _value(node, [known.get(each) for each in entries], entries, inputs)
        if value is None or value.nbytes > MAX_BYTES:
            return copied
        if node.inputs:  # an operator without inputs is more readable than its numbers
            copied = Node(CONSTANT, (Literal(value),), (), (), node.name)
        known[Entry(copied)] = value
        return copied

    return graph.rebuild(change)


def _filled(node: Node, name: str, known: Known) -> Node:
    op = find(name)
    statics, _ = op.bind({"shape": known[0], "dtype": known[1].name})
    return Node(op, statics, (), (), node.name)


def _value(
    node: Node,
    constants: Sequence[np.ndarray | None],
    entries: Sequence[Entry],
    inputs: Mapping[Node, Known],
) -> np.ndarray | None:
    op, rewrites = node.op, node.op.rewrites
    if any(type(number) is ScalarSlot for number in node.scalars):
        return None
    if rewrites.described is not None:
        source = entries[0].node
        return rewrites.described(*inputs[source]) if source in inputs else None
    arrays = [each for each in constants if each is not None]
    if rewrites.constant is None or len(arrays) != len(constants):
        return None
    keywords = op.keywords(node.statics, node.scalars)
    value: np.ndarray | None = ask(rewrites.constant, keywords, arrays)
    return value
