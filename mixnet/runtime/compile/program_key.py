"""What decides whether two segments have the same program."""

from __future__ import annotations

from typing import Any, NamedTuple

from mixnet.context import Context


class ProgramKey(NamedTuple):
    """The key of a program: equal keys mean equal programs.

    A plain tuple of the same items equals it. That is what a segment looks its program up by, since each run
    does; this is made of it when there is something to compile.

    Args:
        operations: ``(call, *slots of the inputs)``, as a segment has them.
        slots: the requested outputs.
        donated: places of the leaves whose buffers it may reuse.
        context: the device.
        counts: numbers of leaves and of scalars.
    """

    operations: tuple[tuple[Any, ...], ...]
    slots: tuple[int, ...]
    donated: tuple[int, ...]
    context: Context
    counts: tuple[int, int]
