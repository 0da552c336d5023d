"""Values that were computed on the host and become JAX arrays when a program needs them.

Results of backends and of interpreted programs are such values. Most results of a prediction are only read
with ``asnumpy``, or not at all, and those that forward leaves for backward are read by the next interpreted
program. Creating a JAX array takes some microseconds, and a tenth of a millisecond when the prediction has
just filled the processor's caches.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import jax
import numpy as np

from mixnet.context import Context
from mixnet.engine.timeline import timeline
from mixnet.process import locks
from mixnet.runtime.devices.to_device import to_device
from mixnet.runtime.value.memory import before_listing, logs
from mixnet.runtime.value.state import is_on_host, state
from mixnet.runtime.value.value import Spec, Value, aligned_empty, from_host

_moving = locks.make("host values")
_CPU = 1  # the number of the device type


class HostValue(Value):
    """A computed value whose content is a NumPy array until its ``array`` is read.

    It has the layout of a plain value: a pending value becomes one in place.

    Args:
        spec: of the value, on a CPU context.
        data: of the shape and dtype of the spec; no one else may write to it.
    """

    __slots__ = ()

    def __init__(self, spec: Spec, data: np.ndarray):
        # Sets what Value.__init__ sets, but without the property, whose code the caches no longer hold.
        self.spec = spec
        _set_content(self, data)
        self.segment, self.slot, self.node, self.var, self.shared = None, -1, None, None, False

    @property
    def host_array(self) -> np.ndarray | None:
        """The content while it is on the host; None before and afterwards."""
        data = _content(self)
        return data if type(data) is np.ndarray else None

    def is_computed(self) -> bool:
        """Whether its content is known, on the host or on a device."""
        return _content(self) is not None

    @property
    def array(self) -> Any:
        """The JAX array, created when it is first read; a NumPy array in a forked process."""
        data = _content(self)
        if type(data) is not np.ndarray or is_on_host():
            return data
        with _moving:  # the second of two threads uses what the first one made
            data = _content(self)
            if type(data) is np.ndarray:
                with jax.enable_x64(True):  # otherwise 64 bits become 32
                    data = to_device(data, self.spec)
                _set_content(self, data)
            return data

    @array.setter
    def array(self, array: object) -> None:
        _set_content(self, array)


_slot: Any = vars(Value)["array"]  # the slot of the plain class, which the property above hides
_content, _set_content = _slot.__get__, _slot.__set__


def become_host(value: Value, data: np.ndarray) -> None:
    """Make data of the host the content of a pending value, which is computed from then on."""
    # In this order: a reader in between sees a pending value.
    value.__class__ = HostValue
    _set_content(value, data)
    _live.append(weakref.ref(value))
    if len(_live) > _Limit.number:
        _forget_others()


def on_host(data: np.ndarray, context: Context) -> Value:
    """A value with data that no one else writes to; on a CPU, it is on the host until a program needs it."""
    if context.device_typeid != _CPU or logs or is_on_host():
        return from_host(data, context)
    value = Value(Spec.of(data.shape, data.dtype, context))
    become_host(value, data)
    return value


_live: list[weakref.ref[Value]] = []
"""Values on the host, and some that have moved to a device or are gone since ``_forget_others`` ran."""

_forgetting = locks.make("live host values")


_FEWEST = 1000


class _Limit:
    """The length of ``_live`` at which ``_forget_others`` runs: twice what was alive, so this is rare."""

    number = _FEWEST
    latest: object = None  # the latest run of ``_forget_others``


def _forget_others() -> None:
    """Drop the references to values that have gone or are on a device, if no other thread does."""
    if not _forgetting.acquire(blocking=False):
        return
    try:
        this = _Limit.latest = object()
        checked = slice(0, len(_live))
        alive = [each for each in _live[checked] if _is_on_host(each())]
        # A finalizer may have run this function meanwhile: then the places are others.
        if _Limit.latest is this:
            _live[checked] = alive  # at once: other threads append meanwhile
            _Limit.number = max(_FEWEST, 2 * len(alive))
    finally:
        _forgetting.release()


def _is_on_host(value: Value | None) -> bool:
    return type(value) is HostValue and value.host_array is not None


def _move_all() -> None:
    """Make JAX arrays of the contents of all values, so that JAX lists them."""
    for reference in _live[:]:
        value = reference()
        if type(value) is HostValue:
            value.array  # noqa: B018  # reading it makes it


before_listing.append(_move_all)


def content(value: Value) -> Any:
    """The array of a value, a NumPy array while it is on the host; None while it is pending.

    A NumPy array is returned as a view, so that its reference count shows that the memory is shared.
    """
    if type(value) is HostValue:
        data = value.host_array
        if data is not None:
            return data.view()
    return value.array


def moved(value: Value, data: np.ndarray) -> Any:
    """The JAX array of a value whose ``content`` was ``data``, which it has lost if it was donated since."""
    array = value.array
    if array is not None:
        return array
    with jax.enable_x64(True):
        return to_device(data, value.spec)


def is_deleted(content: Any) -> bool:
    """Whether a program has consumed the content of a value, which it can only on a device."""
    return type(content) is not np.ndarray and bool(content.is_deleted())


MOST_BYTES_OF_PART, MOST_BYTES_OF_WHOLE = 1 << 12, 1 << 20
"""The size up to which copying is faster than recording and running an operation.

A copy also leaves the memory to operations that write in place: a NumPy view of it would prevent that.
"""


def part_on_host(value: Value, start: int, shape: tuple[int, ...]) -> HostValue | None:
    """A copy of a small part of a computed value, made at once; None if an operation has to copy it.

    Args:
        value: the whole; on a tape it needs an operation, which passes the gradient on.
        start: the first element, in row-major order.
        shape: of the part.
    """
    spec = value.spec
    nbytes = math.prod(shape) * spec.dtype.itemsize
    if spec.nbytes > MOST_BYTES_OF_WHOLE or nbytes > MOST_BYTES_OF_PART:
        return None
    part = _part(value, start, shape)
    return (
        None if part is None else HostValue(Spec.of(shape, spec.dtype, spec.context), part.copy())
    )


def copy_of_part(
    value: Value, start: int, shape: tuple[int, ...], context: Context
) -> Value | None:
    """A copy of a part of any size on any CPU context, made at once; None where ``part_on_host`` returns it.

    Args:
        value: the whole.
        start: the first element, in row-major order.
        shape: of the part.
        context: of the copy.
    """
    part = _part(value, start, shape) if context.device_typeid == _CPU else None
    if part is None or timeline.on or logs:  # which show operations and tasks
        return None
    data = aligned_empty(shape, part.dtype)
    np.copyto(data, part)
    copy = Value(Spec.of(shape, part.dtype, context))
    become_host(copy, data)
    return copy


def _part(value: Value, start: int, shape: tuple[int, ...]) -> np.ndarray | None:
    """A view of a part of a value; None if the value is pending, on a tape or in a trace, or not on a CPU."""
    if (
        value.spec.context.device_typeid != _CPU
        or (value.node is not None and state.recording)
        or state.trace is not None
        or state.isolation is not None
    ):
        return None
    data = value.host_array if type(value) is HostValue else None
    if data is None:
        array = value.array
        if array is None or not array.is_ready():
            return None
        data = np.asarray(array)
    return data.reshape(-1)[start : start + math.prod(shape)].reshape(shape)
