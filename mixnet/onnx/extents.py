"""Extents that are expressions of symbols, of JAX's shape polymorphism, in one form."""

from __future__ import annotations

import itertools
import re
from typing import Any, TypeAlias

from jax import export
from jax.errors import InconclusiveDimensionOperation

from mixnet.base import NotDefinedError

Extent: TypeAlias = Any
"""A number, or an expression of symbols, which JAX has no public type for."""
_QUOTIENT = re.compile(r"(?:(\d+)\*)?floordiv\((.+), (\d+)\)(?: ([+-]) (\d+))?")
"""A quotient, perhaps times a number, perhaps plus a number."""
_TAKEN = re.compile(r"- (\d+)\*floordiv\(")
_SYMBOL = type(export.symbolic_shape("n")[0])


def is_open(value: object) -> bool:
    """Whether a value is an extent, a tuple or a list that contains a symbol."""
    if isinstance(value, (tuple, list)):
        return any(map(is_open, value))
    return isinstance(value, _SYMBOL)


def simplified(extent: Extent) -> Extent:
    """The same extent in a form that makes more comparisons conclusive.

    JAX writes the extent of a pooled image as ``floordiv(n - 2, 2) + 1`` and takes the product of two of
    them for one that may be negative. ``floordiv(n, 2)`` is the same number. The part of an image that
    is lost when it is pooled and enlarged again is ``n - 2*floordiv(n, 2)``, or ``mod(n, 2)``, never
    negative.
    """
    if not is_open(extent):
        return extent
    text = str(extent)
    if (match := _QUOTIENT.fullmatch(text)) and _closed(match[2]) == len(match[2]):
        times, divisor, sign = int(match[1] or 1), int(match[3]), match[4] or ""
        more, rest = divmod(int(f"{sign}{match[5] or 0}"), times)
        if not rest:
            return times * ((_expression(extent, match[2]) + more * divisor) // divisor)
    for match in _TAKEN.finditer(text):
        whole, _, number = text[match.end() :][: _closed(text[match.end() :])].rpartition(", ")
        if number == match[1]:
            dividend, divisor = _expression(extent, whole), int(number)
            more = extent + dividend // divisor * divisor - dividend
            if not is_open(more):
                return dividend % divisor + more
    return extent


def above(a: Extent, b: Extent) -> bool:
    """Whether an extent is always larger than another one."""
    try:
        return bool(a - b >= 1)
    except InconclusiveDimensionOperation:
        return False


def is_negative(value: Extent) -> bool:
    """Whether a number is negative, whatever the symbols are.

    Raises:
        NotDefinedError: that depends on the symbols.
    """
    if not is_open(value):
        return bool(value < 0)
    if above(value, -1) or above(0, value):
        return above(0, value)
    raise NotDefinedError(f"whether {value} is negative depends on the input")


def _closed(text: str) -> int:
    """Where a parenthesis closes that was opened before the text; its length if none does."""
    depths = itertools.accumulate((each == "(") - (each == ")") for each in text)
    return next((place for place, depth in enumerate(depths) if depth < 0), len(text))


def _expression(like: Extent, text: str) -> Extent:
    """An expression of the symbols of another one."""
    return export.symbolic_shape(text, scope=like.scope)[0]
