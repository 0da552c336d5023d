"""What every test, and every record of a test, starts from and must leave behind."""

from __future__ import annotations

import gc
import itertools
import random
from pathlib import Path

import jax
import numpy as np

import mixnet as mx
from mixnet.runtime.programs import executable_cache

MAPS = Path("/proc/self/maps")
_runs = itertools.count(1)


def begin() -> None:
    """The same random state for all."""
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)


def end() -> None:
    """Nothing runs, and nothing is recorded."""
    mx.nd.waitall()  # what a test leaves running, or failing, is its own
    assert not mx.autograd.is_recording(), "a test left a recording scope open"
    mx.engine.set_bulk_size(0)
    _forget_programs()


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
