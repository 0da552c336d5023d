"""Expressions of the extents of arrays, as in ``{'shape': (shape0[0], 2 * shape1[1])}``.

``shape0[1]`` is the extent of axis 1 of the first array. They are computed where an operator is
traced, since shapes are known there, as numbers or as symbols of JAX's shape polymorphism.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from jax import core

from mixnet.base import OperatorValueError, ShapeError

_LONGEST = 100_000  # characters of an expression
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": core.max_dim,
    "min": core.min_dim,
}
_SHAPE = re.compile(r"shape(\d{1,4})")


def computed(name: str, text: str, shapes: Sequence[Sequence[Any]]) -> Any:
    """The value of an expression.

    Args:
        name: of the operator, for messages.
        text: the expression: numbers, strings, tuples, dicts, extents, and ``+ - * // %``, ``max``,
            ``min``, ``floordiv`` and ``mod`` of two of them.
        shapes: of the arrays.

    Raises:
        OperatorValueError: it is no such expression.
        ShapeError: an array or an axis does not exist.
    """
    return _value(name, text, _parsed(name, text), shapes)


@lru_cache(maxsize=4096)
def _parsed(name: str, text: str) -> ast.expr:
    try:
        if len(text) > _LONGEST:
            raise ValueError
        return ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise _refused(name, text) from None


def _refused(name: str, text: str) -> OperatorValueError:
    return OperatorValueError(
        f"{name}: {text!r:.80} is not an expression of extents, such as (shape0[0], 2 * shape1[1])."
    )


def _value(name: str, text: str, node: Any, shapes: Sequence[Sequence[Any]]) -> Any:
    def value(each: Any) -> Any:
        return _value(name, text, each, shapes)

    match node:
        case ast.Constant(value=int() | float() | str() | None as constant):
            return constant
        case ast.Tuple() | ast.List():
            return tuple(value(each) for each in node.elts)
        case ast.Dict() if None not in node.keys:
            return {value(k): value(v) for k, v in zip(node.keys, node.values, strict=True)}
        case ast.UnaryOp(op=ast.USub()):
            return -value(node.operand)
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](value(node.left), value(node.right))
        case ast.Call(func=ast.Name(id=function), args=[a, b], keywords=[]) if function in _CALLS:
            return _CALLS[function](value(a), value(b))
        case ast.Subscript(value=ast.Name(id=array), slice=ast.Constant(value=int() as axis)):
            return _extent(name, array, axis, shapes)
    raise _refused(name, text)


def _extent(name: str, array: str, axis: int, shapes: Sequence[Sequence[Any]]) -> Any:
    match = _SHAPE.fullmatch(array)
    place = int(match[1]) if match else len(shapes)
    if place >= len(shapes) or not 0 <= axis < len(shapes[place]):
        known = ", ".join(f"shape{i}={tuple(each)}" for i, each in enumerate(shapes))
        raise ShapeError(f"{name}: {array}[{axis}] is not an extent; there are {known or 'none'}.")
    return shapes[place][axis]
