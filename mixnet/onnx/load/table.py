"""The reader table: ONNX operator -> function that converts one of its nodes to symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

Reader = Callable[["Reading", "Call"], Any]
READERS: dict[str, Reader] = {}
"""By ONNX's names, after a domain other than its main one and a dot; a function returns a symbol, a NumPy
array for a constant, or a list of them.
"""
_COUNTED = "the size of its result depends on the values of its input, but shapes have to be known"
REASONS = {
    "Compress": _COUNTED,
    "NonMaxSuppression": _COUNTED,
    "NonZero": _COUNTED,
    "Range": _COUNTED,
    "Unique": _COUNTED,
    "StringNormalizer": "strings are not supported",
    "TfIdfVectorizer": "strings are not supported",
    "ImageDecoder": "decode images before the network, with mx.image.imdecode",
    "Optional": "optional values are not supported",
    "OptionalGetElement": "optional values are not supported",
    "OptionalHasElement": "optional values are not supported",
}
"""Why operators cannot be read unless their inputs are constants."""
ALIKE: set[str] = set()
"""Operators whose arrays have equal extents; see :func:`reads`."""
MAIN = ("", "ai.onnx")
"""Both names of ONNX's main domain."""
LEARNED = "ai.onnx.ml"
"""The domain of what sklearn and its like have learned."""


def key_of(node: Any) -> str:
    """The name of a node's operator in the table."""
    return node.op_type if node.domain in MAIN else f"{node.domain}.{node.op_type}"


class Call:
    """A node of an ONNX graph.

    Args:
        node: a ``NodeProto``.
        attributes: by name, as Python values.
        inputs: symbols, NumPy arrays of constants, None for omitted ones.
    """

    def __init__(self, node: Any, attributes: dict[str, Any], inputs: list[Any]):
        self.node, self.attributes, self.inputs = node, attributes, inputs

    @property
    def x(self) -> Any:
        """The first input."""
        return self.inputs[0]

    def get(self, name: str, default: object = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def input(self, place: int) -> Any:
        """An input; None if it is omitted."""
        return self.inputs[place] if place < len(self.inputs) else None


def made_by(value: Any) -> str | None:
    """The operator that computes a value; None for an array or an input."""
    if not isinstance(value, Symbol) or value._heads[0].node.op is None:
        return None
    node = value._heads[0].node
    if node.op.name == "_with_extents":
        return str(node.op.keywords(node.statics)["operator"])
    return str(node.op.name)


def reads(*names: str, domain: str = "", alike: bool = False) -> Callable[[Reader], Reader]:
    """Decorator that registers a reader of ONNX operators.

    Args:
        names: of the operators.
        domain: that has them; empty for ONNX's main one.
        alike: whether arrays of a call have equal extents, except along axes that the operator joins or
            multiplies. Open extents of which this cannot be seen are then taken for equal.
    """

    def declare(reader: Reader) -> Reader:
        for name in [f"{domain}.{each}" if domain else each for each in names]:
            assert name not in READERS, f"two readers of {name}"
            READERS[name] = reader
            if alike:
                ALIKE.add(name)
        return reader

    return declare
