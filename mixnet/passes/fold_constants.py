"""Constant folding: what only depends on constants is computed once, when the graph is compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops.operator import Operator
from mixnet.ops.registry import find
from mixnet.passes.facts import Facts, Known

MAX_BYTES = 4096
"""Larger results are not kept: a program is no place for data."""


class Literal:
    """An array as an attribute of a node; equal if dtype, shape and every bit are."""

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

    def keywords(self, statics: Any, scalars: Any = ()) -> dict[str, Any]:
        """The value."""
        return {"value": statics[0].array}

    def apply(self, statics: Any, arrays: Sequence[Any], scalars: Sequence[Any] = ()) -> tuple:
        """The value, as a literal of the program."""
        return (jnp.asarray(statics[0].array),)


CONSTANT = Constant()

Attributes = Mapping[str, Any]


def _arange(given: Attributes) -> np.ndarray | None:
    start, stop, step = float(given["start"]), given["stop"], float(given["step"])
    if stop is None:
        start, stop = 0.0, start
    count = max(0, math.ceil((stop - start) / step))
    if not start.is_integer() or not step.is_integer() or count * given["repeat"] * 8 > MAX_BYTES:
        return None  # what rounds is left to the device
    return np.repeat(start + step * np.arange(count, dtype=np.float64), given["repeat"])


def _small(given: Attributes, fill: float) -> np.ndarray | None:
    if np.prod(given["shape"], dtype=np.int64) * np.dtype(given["dtype"]).itemsize > MAX_BYTES:
        return None
    return np.full(given["shape"], fill)


def _square(rows: int, columns: int, diagonal: int) -> np.ndarray | None:
    return np.eye(rows, columns, diagonal) if rows * columns * 8 <= MAX_BYTES else None


# Operators that make an array of nothing: numbers that their dtype holds exactly.
_MADE: dict[str, Callable[[Attributes], np.ndarray | None]] = {
    "_zeros": lambda given: _small(given, 0),
    "_npi_zeros": lambda given: _small(given, 0),
    "_ones": lambda given: _small(given, 1),
    "_npi_ones": lambda given: _small(given, 1),
    "_full": lambda given: _small(given, given["value"]),
    "_eye": lambda given: _square(given["N"], given["M"] or given["N"], given["k"]),
    "_npi_eye": lambda given: _square(given["N"], given["M"] or given["N"], given["k"]),
    "_npi_identity": lambda given: _square(given["shape"][0], given["shape"][0], 0),
    "_arange": _arange,
    "_npi_arange": _arange,
}

# Operators that only read the shape and the dtype of their input.
_DESCRIBES: dict[str, Callable[[Known], np.ndarray]] = {
    "shape_array": lambda known: np.array(known[0], np.int64),
    "size_array": lambda known: np.array([np.prod(known[0], dtype=np.int64)], np.int64),
}
_LIKE = {"zeros_like": "_zeros", "ones_like": "_ones"}

# Operators that move or cast elements, or compute with whole numbers: no result is rounded.
_MOVES: dict[str, Callable[..., np.ndarray]] = {
    "_copy": lambda a, **_: a,
    "_np_copy": lambda a, **_: a,
    "BlockGrad": lambda a, **_: a,
    "Flatten": lambda a, **_: a.reshape(a.shape[0], int(np.prod(a.shape[1:]))),
    "transpose": lambda a, axes, **_: np.transpose(a, axes or None),
    "_np_transpose": lambda a, axes, **_: np.transpose(a, axes or None),
    "expand_dims": lambda a, axis, **_: np.expand_dims(a, axis),
    "SwapAxis": lambda a, dim1, dim2, **_: np.swapaxes(a, dim1, dim2),
    "Concat": lambda *a, dim, **_: np.concatenate(a, dim),
    "stack": lambda *a, axis, **_: np.stack(a, axis),
}
_RESHAPES = ("Reshape", "_np_reshape", "_npx_reshape")
_WHOLE: dict[str, Callable[..., np.ndarray]] = {
    "elemwise_add": np.add,
    "elemwise_sub": np.subtract,
    "elemwise_mul": np.multiply,
    "broadcast_add": np.add,
    "broadcast_sub": np.subtract,
    "broadcast_mul": np.multiply,
}


def fold_constants(graph: Graph, facts: Facts | None = None) -> Graph:
    """A graph in which literals stand for what does not depend on an input's values.

    Folded are small results of operators that move elements or compute with whole numbers, applied
    to what ``zeros``, ``ones``, ``full``, ``arange`` and ``eye`` make; and operators that only read a
    shape, where the shape is an input's. Whatever rounds stays, so that all bits do; so does
    whatever draws.
    """
    inputs = facts.known_inputs(graph) if facts is not None else {}
    known: dict[Entry, np.ndarray] = {}  # small constants, of old nodes and literals

    def change(node: Node, entries: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        like = _LIKE.get(node.op.name)
        if like is not None and entries[0].node in inputs:
            return _filled(node, like, inputs[entries[0].node])
        made = node.replaced(entries)
        value = _value(node, [known.get(each) for each in entries], entries, inputs)
        if value is None or value.nbytes > MAX_BYTES:
            return made
        if node.inputs:  # what makes an array of nothing says more than its numbers would
            made = Node(CONSTANT, (Literal(value),), (), (), node.name)
        known[Entry(made)] = value
        return made

    return graph.rebuild(change)


def _filled(node: Node, name: str, known: Known) -> Node:
    op = find(name)
    statics, _ = op.bind({"shape": known[0], "dtype": known[1].name})
    return Node(op, statics, (), (), node.name)


def _value(
    node: Node,
    given: Sequence[np.ndarray | None],
    entries: Sequence[Entry],
    inputs: Mapping[Node, Known],
) -> np.ndarray | None:
    op, name = node.op, node.op.name
    if any(type(number) is ScalarSlot for number in node.scalars):
        return None
    if name in _MADE:
        attributes = op.keywords(node.statics, node.scalars)
        numbers = _MADE[name](attributes)
        return None if numbers is None else _cast(numbers, np.dtype(attributes["dtype"]))
    if name in _DESCRIBES:
        source = entries[0].node
        return _DESCRIBES[name](inputs[source]) if source in inputs else None
    arrays = [each for each in given if each is not None]
    if not given or len(arrays) != len(given):
        return None
    if name in _RESHAPES:
        return op.apply(node.statics, arrays)[0]
    if name in _MOVES:
        return _MOVES[name](*arrays, **op.keywords(node.statics))
    if name == "Cast":
        return _cast(arrays[0], np.dtype(op.keywords(node.statics)["dtype"]))
    if name in _WHOLE and all(each.dtype.kind in "iu" for each in arrays):
        with np.errstate(over="ignore"):
            value = _WHOLE[name](*arrays)
        return value if value.dtype == arrays[0].dtype == arrays[1].dtype else None
    return None


def _cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """The array in another dtype, if that is told by its numbers alone."""
    with np.errstate(all="ignore"):
        value = array.astype(dtype)
        exact = bool((value.astype(array.dtype) == array).all())
    return value if exact else None
