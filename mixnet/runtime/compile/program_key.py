"""The key by which two segments share a program."""

from __future__ import annotations

from typing import Any, NamedTuple

from mixnet.context import Context


class Operations(tuple[tuple[Any, ...], ...]):
    """The operations of a segment. They are looked up several times in every run, but hashed once."""

    number: int  # the hash of the plain tuple

    def __hash__(self) -> int:
        return self.number


MOST = 3000
"""The most operations of segments that are stored; beyond that, all are dropped."""

_stored: dict[tuple[Any, ...], Operations] = {}


def stored(operations: tuple[tuple[Any, ...], ...]) -> Operations:
    """The stored operations that equal these."""
    known = _stored.get(operations)
    if known is None:
        if len(_stored) >= MOST:
            _stored.clear()
        known = Operations(operations)
        known.number = hash(operations)
        _stored[known] = known
    return known


def drop_operations() -> None:
    """Drop all stored operations."""
    _stored.clear()


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
