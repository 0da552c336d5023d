"""Devices: ``cpu()``, ``gpu(i)`` and the current one."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any, ClassVar

import jax

from mixnet import config
from mixnet.base import (
    AttributeTypeError,
    ContextError,
    ContextKindError,
    UnknownNameError,
    _MXClassPropertyMetaClass,
    classproperty,
)
from mixnet.base import with_metaclass as with_metaclass
from mixnet.process.scopes import Entries, Exit
from mixnet.process.tasks import PerTask, read, write


class _OfThread(threading.local):
    innermost: Any = None  # of the contexts that were entered: one, or one for each task
    default: Context | None = None

    def __init__(self) -> None:
        self.entered: dict[Context, Entries] = {}


_current = _OfThread()


class _DefaultContext:
    """``Context._default_ctx``, whose ``value`` is the current context of the thread."""

    @property
    def value(self) -> Context:
        return current_context()

    @value.setter
    def value(self, context: Context) -> None:
        set_default(context)


class _UnknownDeviceError(ContextError, UnknownNameError, mxnet_name="KeyError"):
    """A device type that does not exist."""


class _DeviceNumberError(ContextError, AttributeTypeError, mxnet_name="TypeError"):
    """The number of a device is not a number."""


class Context(metaclass=_MXClassPropertyMetaClass):
    """A device, as ``mx.cpu(0)`` or ``mx.gpu(1)``; ``with context:`` makes it the current one.

    Args:
        device_type: ``'cpu'``, ``'gpu'``, ``'cpu_pinned'``, ``'cpu_shared'``, or a Context.
        device_id: number of the device, from 0.
    """

    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {name: code for code, name in devtype2str.items()}
    _contexts: ClassVar[dict[tuple[str, int], Context]] = {}
    _default_ctx = _DefaultContext()

    device_typeid: int
    device_id: int
    _device: Any

    def __new__(cls, device_type: str | Context, device_id: int = 0) -> Context:
        if isinstance(device_type, Context):
            return device_type
        try:
            if isinstance(device_id, str):
                raise TypeError(device_id)
            key = (device_type, int(device_id))
        except (TypeError, ValueError):
            cls._check_type(device_type)
            raise _DeviceNumberError(
                f"A device number must be a whole number, not {device_id!r:.60}; use mx.cpu(0)."
            ) from None
        # Contexts are interned: comparing devices on the hot path is comparing identities.
        if key in cls._contexts:
            return cls._contexts[key]
        cls._check_type(device_type)
        if device_id < 0:
            raise ContextError(
                f"Device number {device_id} is negative; devices are counted from 0."
            )
        self = super().__new__(cls)
        self.device_typeid = cls.devstr2type[device_type]
        self.device_id = int(device_id)
        self._device = None
        return cls._contexts.setdefault(key, self)

    @classmethod
    def _check_type(cls, device_type: object) -> None:
        if device_type not in cls.devstr2type:
            raise _UnknownDeviceError(
                f"Unknown device type {device_type!r}; use one of {', '.join(cls.devstr2type)}."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Context, (self.device_type, self.device_id)

    @property
    def device_type(self) -> str:
        """``'cpu'`` or ``'gpu'``."""
        return self.devtype2str[self.device_typeid]

    @property
    def device(self) -> Any:
        """The ``jax.Device`` behind it.

        Several CPU contexts share a device where the process has fewer, as in MXNet.

        Raises:
            ContextError: the machine has no such device.
        """
        if self._device is None:
            self._device = self._find_device()
        return self._device

    @property
    def compute(self) -> Context:
        """Where operations on its arrays run: the CPU for pinned and shared memory, else itself."""
        return self if self.device_typeid in (1, 2) else Context("cpu", self.device_id)

    def _find_device(self) -> Any:
        if self.device_type != "gpu":
            devices = jax.local_devices(backend="cpu")
            return devices[self.device_id % len(devices)]
        try:
            devices = jax.local_devices(backend="gpu")
        except RuntimeError:
            devices = []
        if self.device_id >= len(devices):
            available = f"{len(devices)} GPU(s)" if devices else "no GPU"
            raise ContextError(
                f"{self} does not exist: JAX sees {available} on this machine. Use mx.cpu(), or "
                f"install jax[cuda13] and check mx.num_gpus()."
            )
        return devices[self.device_id]

    def __enter__(self) -> Context:
        self._entered.add().set(_current, "innermost", self)
        return self

    __exit__ = Exit()

    @property
    def _entered(self) -> Entries:
        return _current.entered.setdefault(self, Entries())

    def empty_cache(self) -> None:
        """Do nothing; for compatibility. XLA's allocator has no cache to empty."""

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    @classproperty
    def default_ctx(cls) -> Context:
        """The current context; setting it is ``mx.test_utils.set_default_context``."""
        return current_context()

    @default_ctx.setter  # type: ignore[no-redef]
    def default_ctx(cls, context: Context) -> None:
        set_default(context)


def cpu(device_id: int = 0) -> Context:
    """CPU number ``device_id``, counted from 0."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Host memory: the same as ``cpu``, for compatibility.

    Args:
        device_id: number of the device.
    """
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """GPU number ``device_id``, counted from 0."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs JAX sees in this process."""
    try:
        return len(jax.local_devices(backend="gpu"))
    except RuntimeError:
        return 0


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total memory of a GPU in bytes.

    Args:
        device_id: number of the GPU.

    Raises:
        ContextError: the machine has no such GPU.
    """
    stats = gpu(device_id).device.memory_stats() or {}
    total = stats.get("bytes_limit", 0)
    return total - stats.get("bytes_in_use", 0), total


_default = cpu(0)


def current_context() -> Context:
    """The innermost ``with context:`` of this thread, else its default, ``cpu(0)``."""
    innermost = _current.innermost
    if innermost.__class__ is PerTask:
        innermost = innermost.now()
    return (_current.default or _default) if innermost is None else innermost


def as_context(value: object) -> Context:
    """A context from itself, its text as ``cpu(0)``, or None for the current one.

    Args:
        value: a context, text or None.

    Raises:
        ContextError: ``value`` is none of these.
    """
    if isinstance(value, Context):
        return value
    if value is None or value == "":
        return current_context()
    if isinstance(value, str):
        name, _, number = value.rstrip(")").partition("(")
        return Context(name, int(number) if number.isdigit() else 0)
    raise ContextKindError(f"ctx={value!r:.60} is not a context; use mx.cpu(), mx.gpu(0), ...")


def set_default(context: Context) -> None:
    """Change what ``current_context()`` is in this thread: until its ``with context:`` ends, if in one."""
    if read(_current, "innermost") is None:
        _current.default = Context(context)
    else:
        write(_current, "innermost", Context(context))


def set_cpu_devices(count: int) -> None:
    """Give this process ``count`` CPU devices; call it before the first array is made.

    Raises:
        ContextError: JAX has started with another number of devices.
    """
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError:
        have = len(jax.local_devices(backend="cpu"))
        if have != count:
            raise ContextError(
                f"{count} CPU devices were requested, but JAX already runs with {have}. "
                f"Set MIXNET_CPU_DEVICES={count} before the program starts."
            ) from None


def _run_in_calling_thread() -> None:
    """Let a program on a CPU run in the thread that calls it.

    XLA would hand it to a thread of its own. That sleeps by then, and waking it takes longer
    than a program of small arrays runs; the engine has workers for what nobody waits for. It has
    no effect once JAX has started.
    """
    with suppress(AttributeError):  # a JAX without that switch
        jax.config.update("jax_cpu_enable_async_dispatch", False)


def _grow_gpu_memory() -> None:
    """Let JAX allocate memory of a GPU as it is needed, as MXNet does: notebooks share GPUs.

    JAX would take three quarters of it, even for a program that uses the CPU alone. A user's setting stays.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


_run_in_calling_thread()
_grow_gpu_memory()
if config.get("MIXNET_CPU_DEVICES"):
    set_cpu_devices(config.get("MIXNET_CPU_DEVICES"))
