"""``mx.sym.random``: symbols of random numbers, sampled again in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.ndarray.distributions import Face, functions
from mixnet.ops.registry import find
from mixnet.symbol.compose import compose, make_function
from mixnet.symbol.symbol import Symbol


def _call(op: str, symbols: Sequence[Symbol], attributes: dict[str, Any]) -> Symbol:
    attributes.pop("out", None)
    attributes.pop("ctx", None)  # a symbol runs where it is bound
    # Attributes that are not set are not written to symbol files.
    if attributes.get("dtype") is None:
        attributes.pop("dtype", None)
    shape = attributes.get("shape")
    if shape == () if symbols else shape is None:
        attributes.pop("shape", None)
    name, attr = attributes.pop("name", None), attributes.pop("attr", None)
    operator = find(op)
    return compose(
        operator, op, dict(zip(operator.arrays, symbols, strict=True)), attributes, name, attr
    )


_functions = functions(
    Face(
        Symbol,
        _call,
        extra=(),
        shape=None,
        get_prob=True,
        like=lambda op, name: make_function(find(op), name),
    )
)

for _name, _function in _functions.items():
    # where pickle looks for it
    _function.__module__, _function.__qualname__ = __name__, _name
globals().update(_functions)
__all__ = sorted(_functions)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
