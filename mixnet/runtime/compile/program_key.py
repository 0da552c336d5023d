"""The key by which two segments share a program."""

from __future__ import annotations

from typing import Any, NamedTuple

from mixnet.context import Context


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
