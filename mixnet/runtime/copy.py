"""Copies between devices and the host: tasks of the engine, as everything that runs."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from mixnet.context import Context
from mixnet.engine.current import current
from mixnet.engine.timeline import timeline
from mixnet.engine.variable import Var
from mixnet.graph.node import Entry, Node
from mixnet.passes.place_devices import CrossDeviceCopy
from mixnet.runtime.host import copied
from mixnet.runtime.memory import logs
from mixnet.runtime.record import array_of
from mixnet.runtime.state import is_on_host, state
from mixnet.runtime.value import Spec, Value, check_pending
from mixnet.source import user_source


def to_host(value: Value, reason: str) -> np.ndarray:
    """A NumPy array with a copy of the content.

    What is computed waits for nothing, so it is copied right here; while the timeline is on the
    engine does it, to have a row of it.

    Args:
        value: computed or pending.
        reason: counted if a pending segment runs for it; the name of the copy.
    """
    array = array_of(value, reason)
    if not timeline.on:
        return np.array(array)
    found: list[np.ndarray] = []
    reads = () if value.var is None else (value.var,)
    current.engine.push_sync(
        lambda: found.append(np.array(array)), reads, (), f"copy:{value.spec.context}", name=reason
    )
    return found[0]


class Copy:
    """Where a value comes from that is to be copied from another context.

    It stands where a pending value has its segment: who needs the value waits for ``var``.
    """

    __slots__ = ("__weakref__", "references", "var")
    finished = True

    def __init__(self, name: str) -> None:
        self.var = Var(name)
        self.references: list[weakref.ref[Value]] = []

    def finish(self, reason: str, wait: bool = True) -> None:
        """Wait for the copy, which was handed to the engine when it was made."""
        if wait:
            current.engine.wait_for_var(self.var)

    def alias(self, value: Value) -> Value:
        """Another value for the same content."""
        self.finish("alias")
        return Value(value.spec, value.array)


class RecordedCopy(CrossDeviceCopy):
    """The copy as it stands on a tape: it runs between programs, not in one."""

    def run_values(self, statics: Any, values: Sequence[Value]) -> list[Value]:
        """The value on the device that ``statics`` names second."""
        return [_start(values[0], statics[1])]


RECORDED = RecordedCopy()


def copy_across(value: Value, context: Context) -> Value:
    """A value on another context; while recording, with a place on the tape if ``value`` has one.

    The gradient of a copy is the copy of the gradient back.
    """
    if is_on_host():
        found = copied(value, context)
        if found is not None:
            return found
    made = _start(value, context)
    if state.recording and value.node is not None:
        statics = (value.spec.context, context)
        inputs = (Entry(value.node, value.index),)
        made.node = Node(RECORDED, statics, (), inputs, RECORDED.name, None, (value,))
        made.index = 0
    return made


def _start(value: Value, context: Context) -> Value:
    """The copy of a value; it starts when the value is computed.

    Args:
        value: computed or pending; of one that is being traced there is nothing to copy.
        context: where to.
    """
    check_pending(value)
    made = Value(Spec.of(value.spec.shape, value.spec.dtype, context))
    made.shared = value.spec.context.device is context.device  # one buffer, two values
    copy = Copy(f"copy {value.spec.context} to {context}")
    target = weakref.ref(made)
    line = user_source() if logs else None
    made.segment = copy
    reads = []
    source = value.segment
    if value.array is None and source is not None:
        source.finish("copy to another device", wait=False)
        reads.append(source.var)
    elif timeline.on and value.var is not None:
        reads.append(value.var)

    def run() -> None:
        with jax.enable_x64(True):
            array: Any = jax.device_put(value.array, context.device)
        for log in logs:
            log.made(array, "copy", line, context)
        found = target()
        if found is not None:
            found.var, found.array = copy.var, array
            found.segment = None

    current.engine.push(run, reads, (copy.var,), f"copy:{context}", name=copy.var.name)
    return made
