"""Values that were computed on the host and become JAX arrays when a program needs them.

A backend's results are an example: most results of a prediction are only read with ``asnumpy``, or not at
all. Creating a JAX array takes a tenth of a millisecond when the prediction has just filled the processor's
caches.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from mixnet.process import locks
from mixnet.runtime.devices.to_device import to_device
from mixnet.runtime.value.state import is_on_host, state
from mixnet.runtime.value.value import Spec, Value

_moving = locks.make("host values")
_CPU = 1  # the number of the device type


class HostValue(Value):
    """A computed value whose content is a NumPy array until its ``array`` is read.

    Args:
        spec: of the value, on a CPU context.
        data: of the shape and dtype of the spec; no one else may write to it.
    """

    __slots__ = ("_data", "_moved")
    _moved: Any
    _data: np.ndarray | None

    def __init__(self, spec: Spec, data: np.ndarray):
        # Sets what Value.__init__ sets, but without the property, whose code the caches no longer hold.
        self.spec, self._data, self._moved = spec, data, None
        self.segment, self.slot, self.node, self.var, self.shared = None, -1, None, None, False

    @property
    def host_array(self) -> np.ndarray | None:
        """The content while it is on the host; None afterwards."""
        return self._data

    def is_computed(self) -> bool:
        """Whether its content is known, on the host or on a device."""
        return self._data is not None or self._moved is not None

    @property
    def array(self) -> Any:
        """The JAX array, created when it is first read; a NumPy array in a forked process."""
        data = self._data
        if data is None:
            return self._moved
        if is_on_host():
            return data
        with _moving:  # the second of two threads uses what the first one made
            if self._data is not None:
                with jax.enable_x64(True):  # otherwise 64 bits become 32
                    self._moved = to_device(self._data, self.spec)
                self._data = None
            return self._moved

    @array.setter
    def array(self, array: object) -> None:
        self._moved = array
        if array is not None:
            self._data = None


def content(value: Value) -> Any:
    """The array of a value, a NumPy array while it is on the host; None while it is pending.

    A NumPy array is returned as a view, so that its reference count shows that the memory is shared.
    """
    if type(value) is HostValue:
        data = value.host_array
        if data is not None:
            return data.view()
    return value.array


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
    size = math.prod(shape)
    if (
        spec.nbytes > MOST_BYTES_OF_WHOLE
        or size * spec.dtype.itemsize > MOST_BYTES_OF_PART
        or spec.context.device_typeid != _CPU
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
    part = data.reshape(-1)[start : start + size].reshape(shape)
    return HostValue(Spec.of(shape, spec.dtype, spec.context), part.copy())
