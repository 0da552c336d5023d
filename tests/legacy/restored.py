"""Undo what ``old_names.restore`` does to NumPy and Python's library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from mixnet.legacy import old_names


@contextmanager
def taken_back() -> Iterator[None]:
    """A ``with`` block, after which names that were missing before are missing again."""
    missing = [
        (owner, name)
        for owner, names in old_names._NAMES
        for name in names
        if name not in vars(owner)
    ]
    fromstring = np.fromstring
    try:
        yield
    finally:
        np.fromstring = fromstring
        for owner, name in missing:
            if name in vars(owner):
                delattr(owner, name)
