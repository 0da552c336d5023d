"""The capabilities of a forked process: it computes with NumPy.

A child of ``os.fork()`` has the memory of its parent but only the thread that forked. XLA computes with its
own threads, so waiting for it in such a process would block forever. Programs are interpreted there
(:mod:`mixnet.runtime.interpret`), and arrays are in NumPy's memory. Actions that need XLA's threads or a GPU
raise an error that explains this. The child gets other functions in place of those that use devices, so no
operation needs a check.

A process that was forked before anything was computed creates its own threads, and compiles as usual.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mixnet.base import MXNetError
from mixnet.context import Context
from mixnet.engine.threaded import wait_before_fork
from mixnet.private_jax.ending import clients, hide_fork_warning, leave_clients, locks_of_clients
from mixnet.process import locks
from mixnet.runtime.compile import ahead
from mixnet.runtime.devices import collective
from mixnet.runtime.devices.in_flight import in_flight
from mixnet.runtime.interpret import interpreter, patience, runner
from mixnet.runtime.programs import executable_cache
from mixnet.runtime.record import copy, record
from mixnet.runtime.record.segment import Segment
from mixnet.runtime.value import state, value

if TYPE_CHECKING:
    import jax


_immortal: list[Any] = []


def _refusal(action: str) -> MXNetError:
    return MXNetError(
        f"Process {os.getpid()} was forked from one that has computed with mixnet: it has none "
        f"of XLA's threads, so it cannot {action}. Start it with "
        f"multiprocessing.get_context('spawn') or "
        f"'forkserver', or fork before the first computation. What a forked process can do on the CPU, "
        f"it computes with NumPy."
    )


def _refuse(action: str) -> Callable[..., NoReturn]:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise _refusal(action)

    return refuse


class _Lost:
    """The source of values that another thread of the parent had recorded but not computed."""

    finished = True
    var = None
    finish = staticmethod(_refuse("compute what another thread of its parent had recorded"))

    @staticmethod
    def alias(of: value.Value) -> value.Value:
        return value.Value(of.spec, None, LOST)


LOST = _Lost()


# ---- arrays in a child -------------------------------------------------------------------------------


class HostArray(np.ndarray):
    """NumPy's memory as the array of a value, with the methods of a JAX array that are called on one."""

    def is_ready(self) -> bool:
        """Whether it is computed, as it always is."""
        return True

    def is_deleted(self) -> bool:
        """Whether a program has consumed its memory, which none does."""
        return False

    def block_until_ready(self) -> HostArray:
        """Itself."""
        return self


def _as_array(data: np.ndarray, device: jax.Device) -> HostArray:
    if device.platform != "cpu":
        raise _refusal(f"copy an array to {device}")
    return data.view(HostArray)


def _put(data: Any, device: jax.Device) -> HostArray:
    return _as_array(_on_host(data), device)


def _batched_put(aval: object, sharding: object, data: Sequence[Any], devices: Any) -> HostArray:
    return _as_array(data[0], devices[0])


def _check(array: Any) -> None:
    if isinstance(array, np.ndarray):
        return
    if any(device.platform != "cpu" for device in array.devices()):
        raise _refusal("read an array of a GPU")
    if not array.is_ready():
        raise _refusal("wait for what its parent was computing")


def _on_host(array: Any) -> np.ndarray:
    _check(array)
    return np.asarray(array)


def _read(array: object) -> np.ndarray:
    return np.array(_on_host(array))


# ---- replacements in a child -------------------------------------------------------------------------


def _segment(context: Context) -> Segment:
    if context.device.platform != "cpu":
        raise _refusal(f"compute on {context}")
    return Segment(context)


def interpret_all_programs() -> None:
    """From now on, this process computes with NumPy: it uses no thread of XLA, and no GPU."""
    record.Segment = _segment  # type: ignore[assignment, misc]
    ahead.refusal = _refusal
    patience.is_only_way = True
    collective.later = _refuse("exchange arrays between devices")
    copy.read, copy.wait = _read, _check
    interpreter.on_host = _on_host
    value.put, value.batched_device_put = _put, _batched_put
    # The parent's programs would wait for its threads, and so might their destruction.
    _immortal.extend((executable_cache.set_aside(), runner.set_aside()))


# ---- the fork --------------------------------------------------------------------------------------


_held_locks: list[Any] = []  # of JAX, by the thread that forks
_MOST_SECONDS = 60.0


def _before_fork() -> None:
    wait_before_fork()
    in_flight.settle()
    # Another thread may be making the clients of XLA: in the child, its locks would never be released.
    for lock in locks_of_clients():
        if lock.acquire(timeout=_MOST_SECONDS):
            _held_locks.append(lock)


def _release_locks() -> None:
    while _held_locks:
        _held_locks.pop().release()


def _after_fork() -> None:
    _release_locks()
    backends = _backends()
    for segments in state.segments_of_threads.all():
        is_own = segments is state.state.segments
        for segment in list(segments.values()):
            segment.lock = locks.make("segment")
            # A segment with a variable is being closed, which only its own thread could complete.
            if backends and not segment.finished and not (is_own and segment.var is None):
                _lose(segment)
        if not is_own:  # of a thread that the child does not have
            state.segments_of_threads.discard(segments)
    if not backends:
        return
    state.state.segment = None
    interpret_all_programs()
    # Destroying a client would wait for its threads, which do not exist here: it lives until the
    # process ends.
    for backend in backends:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(backend))
    _immortal.extend(backends)
    leave_clients()


def _lose(segment: Any) -> None:
    segment.finished = True
    segment.read_entries()
    for reference in segment.references:
        pending = reference()
        if pending is not None and pending.array is None:
            pending.segment = LOST


def _backends() -> list[Any]:
    """XLA's clients in this process; if JAX does not list them, those that mixnet has used."""
    backends = clients()
    if backends is None:
        devices = [context._device for context in Context._contexts.values()]
        return [device.client for device in devices if device is not None]
    return backends


hide_fork_warning()
os.register_at_fork(before=_before_fork, after_in_parent=_release_locks, after_in_child=_after_fork)
