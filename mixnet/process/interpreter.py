"""Queries and settings of the Python interpreter."""

from __future__ import annotations

import sys


def check() -> None:
    """Refuse a Python whose threads run at once.

    Recording appends to lists without a lock, and buffers are reused where ``sys.getrefcount``
    says that nobody
    holds them: both are right only while one thread at a time runs Python.

    Raises:
        ImportError: the global interpreter lock is off.
    """
    is_gil_enabled = getattr(sys, "_is_gil_enabled", None)  # Python 3.13 and later
    if is_gil_enabled is not None and not is_gil_enabled():
        raise ImportError(
            "mixnet does not run on Python without the global interpreter lock: arrays could be reused while "
            "another thread reads them. Start Python with PYTHON_GIL=1 in the environment, or "
            "with -X gil=1, or "
            "use a Python that is not free-threaded."
        )
