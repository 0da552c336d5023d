"""The capabilities of a forked process: read results, create arrays, run Python; no computation.

A child of ``os.fork()`` has the memory of its parent but only the thread that forked. XLA computes with its
own threads, so waiting for it in such a process would block forever. Operations there raise an error that
explains this. The child gets other functions in place of those that compute, so no operation needs a check.

A process that was forked before anything was computed creates its own threads and can compute.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mixnet.base import MXNetError
from mixnet.context import Context
from mixnet.engine.threaded import wait_before_fork
from mixnet.private_jax.ending import clients, leave_clients
from mixnet.process import locks
from mixnet.runtime.devices import collective
from mixnet.runtime.devices.in_flight import in_flight
from mixnet.runtime.record import copy, record
from mixnet.runtime.value import state, value

if TYPE_CHECKING:
    import jax


_immortal: list[Any] = []


def _refusal(action: str) -> MXNetError:
    return MXNetError(
        f"Process {os.getpid()} was forked from one that has computed with mixnet: it has none "
        f"of XLA's threads, so it cannot {action}. Start it with "
        f"multiprocessing.get_context('spawn') or "
        f"'forkserver', or fork before the first computation. Arrays that were computed before can be "
        f"read here, with asnumpy(), and computed with in NumPy."
    )


def _refuse(action: str) -> Callable[..., NoReturn]:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise _refusal(action)

    return refuse


class _Lost:
    """The source of values that the parent had recorded but not computed; unavailable here."""

    finished = True
    var = None
    finish = staticmethod(_refuse("compute what its parent had recorded"))

    @staticmethod
    def alias(of: value.Value) -> value.Value:
        return value.Value(of.spec, None, LOST)


LOST = _Lost()


# ---- replacements in a child for functions that move arrays ------------------------------------------


def _put(data: object, device: jax.Device) -> np.ndarray:
    if device.platform != "cpu" or not isinstance(data, np.ndarray):
        raise _refusal(f"copy an array to {device}")
    return data  # as in workers of a DataLoader


def _place(data: np.ndarray, spec: value.Spec) -> np.ndarray:
    return _put(data, spec.context.device)


def _wait(array: Any) -> None:
    if isinstance(array, np.ndarray):
        return
    if any(device.platform != "cpu" for device in array.devices()):
        raise _refusal("read an array of a GPU")
    if not array.is_ready():
        raise _refusal("wait for what its parent was computing")


def _read(array: object) -> np.ndarray:
    _wait(array)
    return np.array(array)


def _replace() -> None:
    record.Segment = _refuse("compute")  # type: ignore[assignment, misc]
    copy.later = collective.later = _refuse("move arrays between devices")
    copy.read, copy.wait = _read, _wait
    value.put, value.placed = _put, _place


# ---- the fork --------------------------------------------------------------------------------------


def _before_fork() -> None:
    wait_before_fork()
    in_flight.settle()


def _after_fork() -> None:
    backends = _backends()
    for segments in list(state._all):
        for segment in list(segments.values()):
            segment.lock = locks.make("segment")
            if backends and not segment.finished:
                _lose(segment)
        if backends:
            segments.clear()
        if segments is not state.state.segments:  # of a thread that the child does not have
            state._all.discard(segments)
    if not backends:
        return
    state.state.segment = None
    _replace()
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


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
