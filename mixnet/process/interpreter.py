"""Queries and settings of the Python interpreter."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


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


PROMPT = 0.0005
"""Seconds after which a thread that computes gives the others their turn; Python's default is 0.005."""


@contextmanager
def prompt_turns() -> Iterator[None]:
    """Scope in which a thread that computes, such as one that traces a program, rarely makes others wait.

    A thread that calls into XLA releases Python's lock, and then waits for its turn: in a run of a hundred
    programs, a hundred times.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, PROMPT))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
