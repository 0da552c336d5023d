"""Values: the content of an array, computed or an output of a pending operation."""

from __future__ import annotations

import gc
import math
import sys
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import numpy as np

from mixnet.base import MXNetError, TraceError
from mixnet.context import Context
from mixnet.engine.variable import Var
from mixnet.private_jax.arrays import batched_put
from mixnet.process import locks
from mixnet.process.live_objects import LiveObjects
from mixnet.runtime.value.memory import note
from mixnet.runtime.value.state import is_on_host, pending_segments


class Spec:
    """Shape, dtype and context of a value. Interned: equal specs are the same object."""

    __slots__ = ("__weakref__", "context", "dtype", "nbytes", "shape", "struct")
    # Weak, because a program may create any number of specs.
    _interned: ClassVar[weakref.WeakValueDictionary[tuple[Any, ...], Spec]] = (
        weakref.WeakValueDictionary()
    )
    _making = locks.make("specs")

    shape: tuple[int, ...]
    dtype: np.dtype
    context: Context
    struct: jax.ShapeDtypeStruct
    nbytes: int  # bytes of a buffer

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: np.dtype, context: Context) -> Spec:
        """The unique spec with this shape, dtype and context."""
        key = (shape, dtype, context)
        known = cls._interned.get(key)
        if known is not None:
            return known
        spec = cls()
        spec.shape, spec.dtype, spec.context = shape, dtype, context
        spec.struct = jax.ShapeDtypeStruct(shape, dtype)
        spec.nbytes = math.prod(shape) * dtype.itemsize
        with cls._making:  # another thread may be creating the same one
            return cls._interned.setdefault(key, spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return Spec.of, (self.shape, self.dtype, self.context)

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}@{self.context}"


class Value:
    """One version of an array's content; never changes once computed.

    ``array`` is the JAX array, None while pending in ``segment`` at ``slot``. ``node`` and
    ``index`` are its position on a tape or in a trace, ``node`` None if there is none. ``var`` orders
    readers after the work that computes it. ``shared`` marks buffers that other libraries can see, as
    through ``view``, NumPy's view of an array that a backend has read.
    """

    __slots__ = (
        "__weakref__",
        "array",
        "index",
        "node",
        "segment",
        "shared",
        "slot",
        "spec",
        "var",
        "view",
    )

    index: int  # set together with node
    view: np.ndarray  # set when it is first read

    def __init__(self, spec: Spec, array: Any = None, segment: Any = None, slot: int = -1):
        self.spec = spec
        self.array = array
        self.segment = segment
        self.slot = slot
        self.node: Any = None
        self.var: Var | None = None
        self.shared = False

    def is_computed(self) -> bool:
        """Whether it is computed, on the host or on a device."""
        return self.array is not None

    def alias(self) -> Value:
        """The same content, detached from the tape."""
        segment = self.segment
        other = segment.alias(self) if segment is not None else Value(self.spec, self.array)
        other.var, other.shared, other.index = self.var, self.shared, 0
        return other

    def __repr__(self) -> str:
        state = "pending" if self.array is None else "ready"
        return f"<Value {self.spec} {state}>"


def handed_over(data: np.ndarray, spec: Spec) -> Any:
    """A JAX array that takes ownership of memory; a host device uses it without a copy if it is aligned.

    ``jax.device_put`` searches trees for arrays first, which takes ten times as long as a small transfer,
    so this calls the private function behind it. 64-bit dtypes need a scope in which JAX enables them.

    Args:
        data: contiguous, of the shape and dtype of the spec.
        spec: gives the device.
    """
    if batched_device_put is None:
        return put(data, spec.context.device)
    layout = _layouts.get(spec)
    if layout is None:
        device = spec.context.device
        aval = jax.core.ShapedArray(spec.shape, spec.dtype)
        layout = _layouts[spec] = (aval, _sharding(device), [device])
    aval, sharding, devices = layout
    return batched_device_put(aval, sharding, [data], devices)


_layouts: weakref.WeakKeyDictionary[Spec, tuple[Any, Any, list[Any]]] = weakref.WeakKeyDictionary()

# Replaced in a forked process, see ``forked``.
batched_device_put: Any = batched_put()
put: Any = jax.device_put


def from_host(data: np.ndarray, context: Context) -> Value:
    """A value with a copy of host data on the device of ``context``.

    The caller may write to ``data`` afterwards.
    """
    spec = Spec.of(data.shape, data.dtype, context)
    if is_on_host():
        return _on_host(spec, np.array(data, order="C", copy=True))
    with jax.enable_x64(True):
        array = handed_over(np.array(data, order="C", copy=True), spec)
    note(array, "from host", context)
    return Value(spec, array)


def _on_host(spec: Spec, data: np.ndarray) -> Value:
    value = Value(spec, data)
    value.shared = True  # operations on the host may return views of the same memory
    return value


ALIGNMENT = 64
"""Bytes: XLA uses memory that starts at a multiple of this without a copy."""


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An uninitialized array, aligned so that XLA can use it without a copy."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    aligned: np.ndarray = memory[start : start + size].view(kind).reshape(shape)
    return aligned


def adopt(data: np.ndarray, context: Context) -> Value:
    """A value that takes ownership of host data; on the host nothing is copied.

    Args:
        data: preferably from ``aligned_empty``; must not be modified afterwards.
        context: device.
    """
    spec = Spec.of(data.shape, data.dtype, context)
    if is_on_host():
        return _on_host(spec, data)
    with jax.enable_x64(True):
        array = handed_over(data, spec)
    note(array, "from host", context)
    return Value(spec, array)


def _sharding(device: jax.Device) -> jax.sharding.SingleDeviceSharding:
    sharding = _shardings.get(device)
    if sharding is None:
        sharding = _shardings[device] = jax.sharding.SingleDeviceSharding(device)
    return sharding


_shardings: dict[Any, jax.sharding.SingleDeviceSharding] = {}


def from_device(array: jax.Array, context: Context) -> Value:
    """A value from a JAX array, which the caller may still use; a copy if it is on another device."""
    if array.sharding != _sharding(context.device):
        with jax.enable_x64(True):
            array = put(array, context.device)
    value = Value(Spec.of(array.shape, np.dtype(array.dtype), context), array)
    value.shared = True
    return value


def check_pending(value: Value) -> None:
    """Raise an error if running pending operations cannot compute ``value``.

    Raises:
        TraceError: the value is a placeholder of a graph that is being traced.
        MXNetError: the program that should have computed it failed.
    """
    if value.segment is not None or value.is_computed():
        return
    if value.node is not None and value.node.values is None:
        raise TraceError(
            f"The value of {value.spec} was read while a graph is being traced, where arrays "
            f"have shapes but no numbers yet. Leave out printing, asnumpy(), float() and `if` on "
            f"values in forward(), or do not hybridize this block."
        )
    raise MXNetError(
        "The value of this array was lost: the program that computes it failed, and raised its error where "
        "it was waited for. Compute the array again."
    )


def compute(value: Value, reason: str = "value read") -> None:
    """Compute a value now if it is pending.

    Raises:
        TraceError: the value belongs to a graph that is being traced and has no data.
        BaseException: the error of the work that should have computed the value.
    """
    flushed = None
    while not value.is_computed():
        check_pending(value)
        segment = value.segment
        if segment is flushed and flushed is not None:
            raise MXNetError(
                "The value of this array was lost: its computation has ended without a result. Compute the "
                "array again."
            )
        # If one of its inputs failed, ``value.segment`` is now an object that raises the input's error,
        # since the segment itself has ended without an error.
        if segment is not None:  # otherwise another thread has just computed it
            segment.finish(reason)
        flushed = segment


def array_of(value: Value, reason: str = "value read") -> jax.Array:
    """The JAX array of a value, computed now if it is pending; errors as for :func:`compute`."""
    compute(value, reason)
    array: jax.Array = value.array
    return array


# ---- while garbage is collected -----------------------------------------------------------------
#
# Python clears the weak references to garbage before it calls finalizers. One that reads an array, to save or
# to print it, would find that no segment computes it. So pending values stay while garbage is collected.

left_to_workers: LiveObjects[Any] = LiveObjects()
"""Segments that workers run, and tasks that take the place of one."""

values_kept: set[Value] = set()
"""The values that stay now."""


def references(value: Value) -> int:
    """How many references there are to one of ``values_kept``; a large number for another value."""
    return sys.getrefcount(value) if value in values_kept else sys.maxsize


def _count_unread() -> int:
    original = Value.__new__(Value)
    reference = weakref.ref(original)
    values_kept.add(original)
    del original
    value = reference()
    assert value is not None
    count = references(value)
    values_kept.clear()
    return count


UNREAD = _count_unread()
"""``references`` of the variable of a function, if only ``values_kept`` refers to its value: no array does.

It is measured, because interpreters differ in how they count a variable.
"""


def _keep_values(phase: str, collection: Mapping[str, int]) -> None:
    """Keep the values that this collection may find to be garbage: new ones, if it looks only at new objects.

    A loop that records for long would otherwise visit all its values after every few hundred operations.
    """
    values_kept.clear()
    if phase == "start":
        is_young = collection["generation"] == 0
        for segment in (*pending_segments(), *left_to_workers.all()):
            values_kept.update(segment.pending_values(is_young))


gc.callbacks.append(_keep_values)
