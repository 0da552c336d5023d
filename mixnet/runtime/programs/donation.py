"""Buffer donation: finds inputs that are no longer needed, and results that can reuse their buffers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from mixnet import config
from mixnet.runtime.devices.host_value import HostValue
from mixnet.runtime.value.value import Spec, Value, values_kept

_least_bytes = config.get("MIXNET_DONATE_BYTES")
if not config.get("MXNET_EXEC_ENABLE_INPLACE"):
    _least_bytes = sys.maxsize


def _count_unheld() -> int:
    """The reference count that ``unheld`` sees for a value that only its segment references.

    It is measured, because interpreters differ in how they count a loop variable.
    """
    slots = {Value.__new__(Value): -1}
    leaves = list(slots)
    for _, value in enumerate(leaves):
        counted = sys.getrefcount(value)
    return counted


_REFERENCES_OF_UNHELD = _count_unheld()

MOST_PAIRINGS = 10_000
"""The most pairings that are stored; beyond that, all are dropped."""

_pairings: dict[Any, tuple[tuple[int, ...], tuple[int, ...]]] = {}


def unheld(leaves: Sequence[Value]) -> list[int]:
    """Indices of large leaves that only their segment references."""
    indices = []
    for i, value in enumerate(leaves):
        if (
            value.spec.nbytes >= _least_bytes
            and not value.shared
            and sys.getrefcount(value) - (value in values_kept) <= _REFERENCES_OF_UNHELD
        ):
            indices.append(i)
    return indices


def reused(
    leaves: Sequence[Value],
    program: tuple[Any, ...],
    slots: tuple[int, ...],
    candidates: Sequence[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The slots in a new order, and the leaves among ``candidates`` whose buffers they reuse.

    The order matters: XLA assigns the first buffer to the first matching output.
    """
    if not candidates:
        return slots, ()
    free = tuple(i for i in candidates if _is_free(leaves[i]))
    return reusing(leaves, program, slots, free)


def _is_free(value: Value) -> bool:
    """Whether no other value, and no other library, holds the buffer of a value."""
    data = value.host_array if type(value) is HostValue else None
    if data is not None:  # on the host: the value, the variable and the argument refer to it
        return sys.getrefcount(data) <= 3
    return sys.getrefcount(value.array) <= 2


def reusing(
    leaves: Sequence[Value],
    program: tuple[Any, ...],
    slots: tuple[int, ...],
    free: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """``reused`` for leaves whose buffers are known to be free."""
    if not free:
        return slots, ()
    key = (program, slots, free)
    pairing = _pairings.get(key)
    if pairing is None:
        pairing = pair(program, slots, {i: leaves[i].spec for i in free})
        if len(_pairings) >= MOST_PAIRINGS:
            _pairings.clear()
        _pairings[key] = pairing
    return pairing


def clear() -> None:
    """Drop all pairings, which keep their operations in memory."""
    _pairings.clear()


def pair(
    program: Sequence[tuple[Any, ...]], slots: Sequence[int], free: Mapping[int, Spec]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Assign free buffers to outputs of the same shape and dtype.

    An output gets the buffer of the input that it was computed from: new weights reuse the old weights'
    buffer. Another output might be written while the buffer is still read, and XLA would have to copy it
    first. Updates come last in a program, so it is walked backwards.

    Args:
        program: operations with the slots of their inputs, as in a segment.
        slots: the live outputs.
        free: the specs of the leaves with free buffers, by number.

    Returns:
        The slots, those that reuse a buffer first, and the leaves in the same order.
    """
    left = dict(free)
    alive = set(slots)
    pairs: list[tuple[int, int]] = []  # (leaf, slot)
    end = sum(len(item[0].outputs) for item in program)
    specs: dict[int, Spec] = {}
    for item in reversed(program):
        call = item[0]
        start = end - len(call.outputs)
        read = [-1 - place for place in item[1:] if place < 0]
        for slot, spec in enumerate(call.outputs, start):
            if slot not in alive:
                continue
            leaf = next((i for i in read if left.get(i) is spec), None)
            if leaf is None:
                specs[slot] = spec
            else:
                del left[leaf]
                pairs.append((leaf, slot))
        end = start
    for leaf, spec in left.items():  # the other buffers, such as those of old gradients
        slot_left = next((slot for slot, each in specs.items() if each is spec), None)
        if slot_left is not None:
            del specs[slot_left]
            pairs.append((leaf, slot_left))
    # XLA gets the positions of the leaves, in ascending order.
    pairs.sort()
    used = {slot for _, slot in pairs}
    order = [slot for _, slot in pairs] + [slot for slot in slots if slot not in used]
    return tuple(order), tuple(leaf for leaf, _ in pairs)
