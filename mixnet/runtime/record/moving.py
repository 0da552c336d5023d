"""States that an operation updates: immediately, or in backward, as for BatchNorm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mixnet.graph.node import Node
from mixnet.ops.registry import find
from mixnet.runtime.record.record import record
from mixnet.runtime.value.change import Change, change
from mixnet.runtime.value.handle import Handle
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Value


@dataclass(frozen=True)
class StateArray:
    """The array that holds a state which the gradient of an operation writes.

    Args:
        handle: the array.
        place: index of the state among the operation's inputs.
    """

    handle: Handle
    place: int


@dataclass(frozen=True)
class Move:
    """A state update that waits for backward.

    Args:
        handle: the array that is the state.
        before: its value when the operation was called.
        after: the new value computed from that.
        fraction: fraction of ``before`` in ``after``.
    """

    handle: Handle
    before: Value
    after: Value
    fraction: float

    def do(self) -> None:
        """Update the state, including other updates since the call."""
        change(self._write)

    def _write(self, attempt: Change) -> None:
        attempt.reads(self.handle)
        now, new = self.handle._read(), self.after
        if now is not self.before:
            (difference,) = record(find("elemwise_sub"), (), (), (now, self.before))
            share = find("_mul_scalar").bind({"scalar": self.fraction})
            (difference,) = record(find("_mul_scalar"), *share, (difference,))
            (new,) = record(find("elemwise_add"), (), (), (self.after, difference))
        attempt.write(self.handle, new)


def move(
    handle: Handle,
    before: Value,
    after: Value,
    fraction: float | None,
    attempt: Change | None = None,
) -> None:
    """Update a state: now, or when backward passes the operation.

    Args:
        handle: the array that is the state.
        before: the value that the operation read.
        after: the new value, detached from the tape. In a trace it is a head of the graph.
        fraction: fraction of ``before`` in ``after`` for a state that is updated in backward, otherwise None.
        attempt: the change that writes the new value, if other arrays change with it.
    """
    node = after.node
    if state.trace is None:
        if node is not None:
            _keep_state_arrays(node, after.index, handle)
        after.node = None
    if fraction is None or state.trace is not None:
        # States are not part of the tape, so they may be written while it is recorded.
        recording, state.recording = state.recording, False
        try:
            if attempt is None:
                handle._write(after)
            else:
                attempt.write(handle, after)
        finally:
            state.recording = recording
    elif node is not None:
        node.moves = (*node.moves, Move(handle, before, after, fraction))


def _keep_state_arrays(node: Node, index: int, handle: Handle) -> None:
    """Attach the array of a state to the operations whose gradients write it, the last and earlier ones."""
    while node.op is not None:
        written = node.op.written_in_backward(node.statics, len(node.inputs))
        place = next((place for place, output in written.items() if output == index), None)
        if place is None:
            return
        node.moves = (*node.moves, StateArray(handle, place))
        node, index = node.inputs[place]


def move_all(nodes: Iterable[Node]) -> None:
    """Perform the state updates that wait for backward to pass these nodes."""
    for node in nodes:
        for each in node.moves:
            if isinstance(each, Move):
                each.do()
