"""The state in which every test, and every record of a test, starts and must end."""

from __future__ import annotations

import gc
import itertools
import os
import random
import stat
from pathlib import Path

import jax
import numpy as np

import mixnet as mx
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


def begin() -> None:
    """Start from the same random state."""
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)


def end() -> None:
    """Nothing runs, nothing is recorded, and the null device is still one."""
    mx.nd.waitall()  # errors of unfinished work belong to this test
    assert null_is_a_device() or not _NULL_WAS_A_DEVICE, f"a file has replaced {os.devnull}"
    assert not mx.autograd.is_recording(), "a test left a recording scope open"
    mx.engine.set_bulk_size(0)
    _restore_library_path()
    _forget_programs()


def _restore_library_path() -> None:
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
