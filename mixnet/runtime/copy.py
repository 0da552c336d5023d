"""Copies between devices, which the tape differentiates through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from mixnet.context import Context
from mixnet.graph.node import Entry, Node
from mixnet.passes.place_devices import CrossDeviceCopy
from mixnet.runtime.record import array_of
from mixnet.runtime.state import state
from mixnet.runtime.value import Spec, Value, from_device


class RecordedCopy(CrossDeviceCopy):
    """The copy as it stands on a tape: it runs between programs, not in one."""

    def run_values(self, statics: Any, values: Sequence[Value]) -> list[Value]:
        """The value on the device that ``statics`` names second."""
        return [_moved(values[0], statics[1])]


RECORDED = RecordedCopy()


def copy_value(value: Value, context: Context) -> Value:
    """A value on another context; while recording, with a place on the tape if ``value`` has one.

    The gradient of a copy is the copy of the gradient back.
    """
    made = _moved(value, context)
    if state.recording and value.node is not None:
        statics = (value.spec.context, context)
        inputs = (Entry(value.node, value.index),)
        made.node = Node(RECORDED, statics, (), inputs, RECORDED.name, None, (value,))
        made.index = 0
    return made


def _moved(value: Value, context: Context) -> Value:
    if value.spec.context.device is context.device and value.node is None:
        made = value.alias()
        if made.array is None:
            array_of(made, "copy to another device")
        return Value(Spec.of(value.spec.shape, value.spec.dtype, context), made.array)
    array = array_of(value, "copy to another device")
    with jax.enable_x64(True):
        moved = jax.device_put(array, context.device)
    return from_device(moved, context)
