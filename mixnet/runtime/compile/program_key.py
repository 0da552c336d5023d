"""The key by which two segments share a program."""

from __future__ import annotations

from typing import Any, NamedTuple

from mixnet.context import Context


class Operations(tuple[tuple[Any, ...], ...]):
    """The operations of a segment. They are looked up several times in every run, but hashed once."""

    number: int  # the hash of the plain tuple

    def __hash__(self) -> int:
        return self.number


MOST_OPERATIONS = 200_000
"""The most operations, of all segments together, that are stored; beyond that, all are dropped."""

_stored: dict[tuple[Any, ...], Operations] = {}
_size = 0


FEW = 6
"""Up to so many operations are hashed as quickly as they are looked up."""


def stored(operations: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    """The stored operations that equal these; a few are returned as they are."""
    global _size
    if len(operations) <= FEW:
        return operations
    known = _stored.get(operations)
    if known is None:
        if _size > MOST_OPERATIONS:
            drop_operations()
        known = Operations(operations)
        known.number = hash(operations)
        _stored[known] = known
        _size += len(known)
    return known


def drop_operations() -> None:
    """Drop all stored operations."""
    global _size
    _stored.clear()
    _size = 0


class ProgramKey(NamedTuple):
    """The key of a program: equal keys mean equal programs.

    It equals a plain tuple of the same items. A segment looks its program up with a plain tuple, which is
    faster to create in every run; a ``ProgramKey`` is created only when there is something to compile.

    Args:
        operations: ``(call, *slots of the inputs)``, as in a segment.
        slots: the requested outputs.
        donated: indices of the leaves whose buffers it may reuse.
        context: the device.
        counts: numbers of leaves and of scalars.
    """

    operations: tuple[tuple[Any, ...], ...]
    slots: tuple[int, ...]
    donated: tuple[int, ...]
    context: Context
    counts: tuple[int, int]
