"""The state in which every test, and every record of a test, starts and must end."""

from __future__ import annotations

import gc
import itertools
import os
import random
import stat
import threading
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import mixnet as mx
from mixnet import registry
from mixnet.kvstore.base import KVStoreBase
from mixnet.legacy.base_names import error_types
from mixnet.ops.registry import OPERATORS, is_of_library
from mixnet.runtime.programs import executable_cache
from tests import waiting

MAPS = Path("/proc/self/maps")
MOST_MAPS = 20_000  # a third of what Linux allows
MAPS_OF_A_RUN = 100  # more than tests and records need on average
_runs = itertools.count(1)
_next_count = 25  # the run after which maps are counted, which takes long where there are many


def null_is_a_device() -> bool:
    """Whether ``os.devnull`` is the system's device: root can replace it with a file, which stores what all
    programs write to it and gives it to those that read.
    """
    return stat.S_ISCHR(os.stat(os.devnull).st_mode)


LAST_SECONDS = 20.0
"""How long threads that a test has started may take to end when it has ended."""

_NULL_WAS_A_DEVICE = null_is_a_device()
LIBRARY_PATH = "LD_LIBRARY_PATH"
_LIBRARY_PATH = os.environ.get(LIBRARY_PATH)


_SETTINGS = ("MXNET_", "MIXNET_", "DMLC_", "JAX_", "XLA_")
"""Beginnings of variables that tests set. Imports set others: OpenCV's sets LD_LIBRARY_PATH."""

# As bytes: texts are made only of what has changed.
_VARIABLES: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]
_VARIABLES_AT_START = dict(_VARIABLES)


class _State(NamedTuple):
    """What a test must leave as it was."""

    variables: dict[bytes, bytes]
    folder: str
    has_np_arrays: bool
    threads: frozenset[threading.Thread]
    registries: list[tuple[dict[str, Any], dict[str, Any]]]
    """Each, and its content."""


# Before each test, and each record, that runs.
_states: list[_State] = []


def begin() -> None:
    """Start from the same random state and the same automatic names."""
    _start_again()
    registries = [(names, dict(names)) for names in _registries()]
    threads = frozenset(threading.enumerate())
    _states.append(
        _State(dict(_VARIABLES), os.getcwd(), mx.util.is_np_array(), threads, registries)
    )


def _start_again() -> None:
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)
    mx.name.NameManager.current = mx.name.NameManager()


def begin_shared() -> None:
    """Start what several tests share in a state that does not depend on the test that needs it first.

    A fixture of a module is made before the fixtures of its first test, so after any test of the worker;
    one that a test requests while it runs is made in the environment that the test has set.
    """
    _start_again()
    changed = _changed_variables(_VARIABLES_AT_START)
    assert not changed, (
        f"{', '.join(changed)} changed before something that tests share is made: request it before "
        "the test sets variables"
    )


def end() -> None:
    """Nothing that the test has started runs, nothing is recorded, settings and names are as before, the
    null device is still one.
    """
    before = _states.pop()
    # The next test would be blamed for what they raise, and get the signals that they send.
    waiting.join(
        *filter(_is_of_test, set(threading.enumerate()) - before.threads), seconds=LAST_SECONDS
    )
    mx.nd.waitall()  # errors of unfinished work belong to this test
    for names, content in before.registries:
        if names != content:
            _restore(names, content)
    assert null_is_a_device() or not _NULL_WAS_A_DEVICE, f"a file has replaced {os.devnull}"
    assert not mx.autograd.is_recording(), "a test left a recording scope open"
    is_record = bool(_states)  # its test's monkeypatch still lasts
    if not is_record:
        changed = _changed_settings(before)
        assert not changed, f"a test changed {', '.join(changed)}: use monkeypatch"
    mx.engine.set_bulk_size(0)
    restore_library_path()
    _forget_programs()


def _changed_settings(before: _State) -> list[str]:
    changed = _changed_variables(before.variables)
    if os.getcwd() != before.folder:
        changed.append("the folder")
    if mx.util.is_np_array() != before.has_np_arrays:
        changed.append("np arrays")
    return changed


def _is_of_test(thread: threading.Thread) -> bool:
    """Whether a test has started this thread, not mixnet or another library."""
    is_timer = type(thread) is threading.Timer
    function = getattr(thread, "function" if is_timer else "_target", None)  # Python's attributes
    module = str(getattr(function, "__module__", None))
    return module.startswith("tests.") or (is_timer and not module.startswith("mixnet."))


def _changed_variables(before: dict[bytes, bytes]) -> list[str]:
    if before == _VARIABLES:
        return []
    names = {os.fsdecode(name) for name, _ in _VARIABLES.items() ^ before.items()}
    return sorted(name for name in names if name.startswith(_SETTINGS))


def _registries() -> list[dict[str, Any]]:
    return [OPERATORS, *registry._registries.values(), KVStoreBase.kv_registry, error_types]


def _restore(names: dict[str, Any], before: dict[str, Any]) -> None:
    """Forget what a test has registered: messages would suggest it, and lists would have it, in later tests.

    What a module of the library has registered stays, as it does so only once, when it is imported.
    """
    for name in [name for name, member in names.items() if member is not before.get(name)]:
        if not _is_of_library(names[name]):
            del names[name]
    for name in before.keys() - names.keys():
        names[name] = before[name]


def _is_of_library(member: Any) -> bool:
    if isinstance(member, type):
        return member.__module__.startswith("mixnet.")
    return is_of_library(member)


def restore_library_path() -> None:
    """OpenCV changes it on import; the servers of ``tests/processes.py`` started without the change."""
    if _LIBRARY_PATH is None:
        os.environ.pop(LIBRARY_PATH, None)
    else:
        os.environ[LIBRARY_PATH] = _LIBRARY_PATH


def set_garbage_aside() -> None:
    """Collect garbage; later collections look only at objects that are made from here on."""
    gc.collect()
    gc.freeze()


def _forget_programs() -> None:
    """Thousands of tests compile more programs than one process can have memory maps for."""
    global _next_count
    number = next(_runs)
    if number % 250 == 0:
        set_garbage_aside()
    if number < _next_count or not MAPS.exists():
        return
    with MAPS.open("rb") as file:
        count = sum(1 for _ in file)
    if count > MOST_MAPS:
        executable_cache.clear()
        jax.clear_caches()
        gc.unfreeze()
        set_garbage_aside()
    _next_count = number + max(25, (MOST_MAPS - count) // MAPS_OF_A_RUN)
