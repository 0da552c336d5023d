"""Copies between devices and the host, as engine tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from mixnet.context import Context
from mixnet.engine.current import current
from mixnet.engine.timeline import timeline
from mixnet.graph.node import Node
from mixnet.passes.place_devices import CrossDeviceCopy
from mixnet.runtime.devices.host_value import HostValue
from mixnet.runtime.value import value as value_module
from mixnet.runtime.value.later import later
from mixnet.runtime.value.memory import late_failure
from mixnet.runtime.value.state import is_on_host, state, tape_entry
from mixnet.runtime.value.value import Spec, Value, array_of, compute

if TYPE_CHECKING:
    from mixnet.ops.operator import Statics

# Replaced in a forked process, see ``forked``.
read: Callable[[Any], np.ndarray] = np.array


def _until_ready(array: Any) -> None:
    """Wait for an array of a device; an array of the host is already complete."""
    # jax.block_until_ready first searches trees for arrays.
    if type(array) is not np.ndarray:
        array.block_until_ready()


wait: Any = _until_ready


def wait_for(value: Value, reason: str) -> None:
    """Wait until a value is computed, on a device or, by a backend, on the host.

    Args:
        value: computed or pending.
        reason: counted if a pending segment runs for it.
    """
    compute(value, reason)
    if type(value) is not HostValue or value.host_array is None:
        array = value.array
        try:
            wait(array)
        except jax.errors.JaxRuntimeError as error:
            raise late_failure(error, value.spec.context) from error


def to_host(value: Value, reason: str) -> np.ndarray:
    """A NumPy array with a copy of the content.

    A computed value is copied in this thread; while a timeline is recorded, the engine copies it, so that the
    timeline has a row for it.

    Args:
        value: computed or pending.
        reason: counted if a pending segment runs for it; the name of the copy.
    """
    compute(value, reason)
    if type(value) is HostValue and not timeline.on:
        data = value.host_array
        if data is not None:
            return np.array(data)
    array = value.array
    context = value.spec.context
    try:
        if not timeline.on:
            return read(array)
        arrays: list[np.ndarray] = []
        reads = () if value.var is None else (value.var,)
        current.engine.push_sync(
            lambda: arrays.append(read(array)), reads, (), f"copy:{context}", name=reason
        )
        return arrays[0]
    except jax.errors.JaxRuntimeError as error:
        raise late_failure(error, context) from error


def host_view(value: Value, reason: str) -> np.ndarray:
    """The content as a read-only NumPy array, without a copy where the host has it.

    Args:
        value: computed or pending.
        reason: counted if a pending segment runs for it.
    """
    if is_on_host():
        content: np.ndarray = state.trace.array(value)
        return content
    array = array_of(value, reason)
    wait(array)  # raises an error if this process cannot read it
    return np.asarray(array)


class RecordedCopy(CrossDeviceCopy):
    """A copy as an operator on a tape: it runs between programs, not in one."""

    def run_values(self, statics: Statics, values: Sequence[Value]) -> list[Value]:
        """The value on the device that ``statics`` names second."""
        return [_start(values[0], statics[1])]


RECORDED = RecordedCopy()


def copy_across(value: Value, context: Context) -> Value:
    """Copy a value to another context; while recording, with a node on the tape if ``value`` has one.

    The gradient of a copy is the copy of the gradient back.
    """
    if is_on_host():
        result: Value | None = state.trace.copied(value, context)
        if result is not None:
            return result
    arrived = _start(value, context)
    entry = tape_entry(value) if state.recording else None
    if entry is not None:
        statics = (value.spec.context, context)
        arrived.node = Node(RECORDED, statics, (), (entry,), RECORDED.name, None, (value,))
        arrived.index = 0
    return arrived


def _start(value: Value, context: Context) -> Value:
    """Copy a value, once it is computed.

    Args:
        value: computed or pending; a traced one has nothing to copy.
        context: the target.
    """
    spec = Spec.of(value.spec.shape, value.spec.dtype, context)

    def copy(arrays: list[Any]) -> list[Any]:
        with jax.enable_x64(True):
            return [value_module.put(arrays[0], context.device)]

    shared = value.spec.context.device is context.device  # one buffer, two values
    name = f"copy {value.spec.context} to {context}"
    (arriving,) = later(name, (value,), (spec,), copy, f"copy:{context}")
    arriving.shared = shared
    return arriving
