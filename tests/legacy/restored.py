"""Undo what ``as_mxnet`` does to NumPy and Python's library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from mixnet.legacy import old_names


@contextmanager
def taken_back() -> Iterator[None]:
    """A ``with`` block, after which NumPy is as before, and names that were missing are missing again."""
    missing = [
        (owner, name)
        for owner, names in old_names._NAMES
        for name in names
        if name not in vars(owner)
    ]
    functions = {
        name: getattr(np, name) for name in ("fromstring", "array", "asarray", "asanyarray")
    }
    printing = np.get_printoptions()
    try:
        yield
    finally:
        for name, function in functions.items():
            setattr(np, name, function)
        np.set_printoptions(**printing)
        for owner, name in missing:
            if name in vars(owner):
                delattr(owner, name)
