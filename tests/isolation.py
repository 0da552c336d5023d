"""The state in which every test, and every record of a test, starts and must end."""

from __future__ import annotations

import gc
import itertools
import os
import random
import stat
from pathlib import Path
from typing import Any

import jax
import numpy as np

import mixnet as mx
from mixnet import registry
from mixnet.kvstore.base import KVStoreBase
from mixnet.legacy.base_names import error_types
from mixnet.ops.registry import OPERATORS, is_of_library
from mixnet.runtime.programs import executable_cache

MAPS = Path("/proc/self/maps")
_runs = itertools.count(1)


def null_is_a_device() -> bool:
    """Whether ``os.devnull`` is the system's device: root can replace it with a file, which stores what all
    programs write to it and gives it to those that read.
    """
    return stat.S_ISCHR(os.stat(os.devnull).st_mode)


_NULL_WAS_A_DEVICE = null_is_a_device()
LIBRARY_PATH = "LD_LIBRARY_PATH"
_LIBRARY_PATH = os.environ.get(LIBRARY_PATH)


_SETTINGS = ("MXNET_", "MIXNET_", "DMLC_", "JAX_", "XLA_")
"""Beginnings of variables that tests set. Imports set others: OpenCV's sets LD_LIBRARY_PATH."""

Names = tuple[dict[str, Any], dict[str, Any]]
"""A registry, and its content before a test."""

# Before each test, and each record, that runs.
_states: list[tuple[dict[str, str], list[Names]]] = []


def begin() -> None:
    """Start from the same random state."""
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)
    _states.append((_settings(), [(names, dict(names)) for names in _registries()]))


def end() -> None:
    """Nothing runs, nothing is recorded, settings and names are as before, the null device is still one."""
    settings, names = _states.pop()
    mx.nd.waitall()  # errors of unfinished work belong to this test
    for now, before in names:
        _restore(now, before)
    assert null_is_a_device() or not _NULL_WAS_A_DEVICE, f"a file has replaced {os.devnull}"
    assert not mx.autograd.is_recording(), "a test left a recording scope open"
    changed = {key for key, _ in settings.items() ^ _settings().items()}
    is_record = bool(_states)  # its test's monkeypatch still lasts
    assert is_record or not changed, f"a test changed {', '.join(sorted(changed))}: use monkeypatch"
    mx.engine.set_bulk_size(0)
    restore_library_path()
    _forget_programs()


def _settings() -> dict[str, str]:
    variables = {key: value for key, value in os.environ.items() if key.startswith(_SETTINGS)}
    return {**variables, "the folder": os.getcwd(), "np arrays": str(mx.util.is_np_array())}


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
    number = next(_runs)
    if number % 250 == 0:
        set_garbage_aside()
    if number % 25 or not MAPS.exists():
        return
    with MAPS.open("rb") as file:
        count = sum(1 for _ in file)
    if count > 20_000:
        executable_cache.clear()
        jax.clear_caches()
        gc.unfreeze()
        set_garbage_aside()
