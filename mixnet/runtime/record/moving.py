"""States that an operation updates: immediately, or in backward, as for BatchNorm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mixnet.graph.node import Node
from mixnet.ops.registry import find
from mixnet.runtime.record.record import record
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Value


@dataclass(frozen=True)
class Move:
    """A new value of a state that waits for backward.

    Args:
        handle: the array that is the state: ``_read()``, ``_write(value)``.
        before: what it held when the operation was called.
        after: what follows from that.
        kept: share of ``before`` in ``after``.
    """

    handle: Any
    before: Value
    after: Value
    kept: float

    def do(self) -> None:
        """Move the state. What else has moved it since the call counts, too."""
        change(self._write)

    def _write(self, attempt: Change) -> None:
        attempt.reads(self.handle)
        now, new = self.handle._read(), self.after
        if now is not self.before:
            (apart,) = record(find("elemwise_sub"), (), (), (now, self.before))
            share = find("_mul_scalar").bind({"scalar": self.kept})
            (apart,) = record(find("_mul_scalar"), *share, (apart,))
            (new,) = record(find("elemwise_add"), (), (), (self.after, apart))
        attempt.write(self.handle, new)


def move(
    handle: Any, before: Value, after: Value, kept: float | None, attempt: Change | None = None
) -> None:
    """Give a state its new value: now, or when backward passes what made it.

    Args:
        handle: the array that is the state.
        before: what the operation read.
        after: what it made of it; taken off the tape. In a trace it is a head of the graph.
        kept: share of ``before`` in ``after`` of a state that moves with backward, else None.
        attempt: what the new value is written with, if other arrays change with it.
    """
    node = after.node
    if state.trace is None:
        after.node = None
    if kept is None or state.trace is not None:
        # States are no part of the tape: writing them while recording is what they are for.
        recording, state.recording = state.recording, False
        try:
            if attempt is None:
                handle._write(after)
            else:
                attempt.write(handle, after)
        finally:
            state.recording = recording
    elif node is not None:
        node.moves = (*moves_of(node), Move(handle, before, after, kept))


def moves_of(node: Node) -> tuple[Move, ...]:
    """What moves when backward passes a node of a tape."""
    return getattr(node, "moves", ())


def move_all(nodes: Iterable[Node]) -> None:
    """Move what waits for backward to pass these nodes."""
    for node in nodes:
        for each in moves_of(node):
            each.do()
