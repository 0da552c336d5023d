"""The nested lists that loops and branches carry: flattened, and nested again in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Nesting = list[tuple[int, Any]] | None
"""For each element of a list how many leaves it has, and its own nesting; None is a leaf."""


def flattened(
    value: object, leaves_of: Callable[[object], tuple[list[Any], Nesting]]
) -> tuple[list[Any], Nesting]:
    """The leaves of nested lists and tuples, and how to nest others in the same way.

    Args:
        value: nested lists, or what is not a list.
        leaves_of: the leaves of what is not a list; raises where it is none.
    """
    if not isinstance(value, (list, tuple)):
        return leaves_of(value)
    leaves: list[Any] = []
    nesting: list[tuple[int, Any]] = []
    for each in value:
        own, inner = flattened(each, leaves_of)
        leaves += own
        nesting.append((len(own), inner))
    return leaves, nesting


def nested(leaves: Sequence[Any], nesting: Nesting) -> Any:
    """Leaves as nested lists.

    Args:
        leaves: as many as ``nesting`` counts.
        nesting: as :func:`flattened` returns it.
    """
    if nesting is None:
        return leaves[0]
    parts, start = [], 0
    for count, inner in nesting:
        parts.append(nested(leaves[start : start + count], inner))
        start += count
    return parts
