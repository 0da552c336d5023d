"""The number of threads of NumPy's BLAS: one while the compiler uses another core, or in the interpreter.

OpenBLAS divides a product among its threads and waits for all of them, also for one whose core is busy: on
two cores, beside a compiler, a product takes five times as long as on one thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mixnet.process import locks

_FORMS = ("scipy_openblas_{}64_", "openblas_{}64_", "scipy_openblas_{}", "openblas_{}")


class _OneThread:
    """The number of open scopes, and the number of threads before the first."""

    def __init__(self) -> None:
        self._lock = locks.make("threads of BLAS")
        self._scopes = 0
        self._before = 0

    def __enter__(self) -> None:
        functions = _functions()
        if functions is None:
            return
        get, set_threads = functions
        with self._lock:
            self._scopes += 1
            if self._scopes == 1:
                self._before = get()
                set_threads(1)

    def __exit__(self, *_: object) -> None:
        functions = _functions()
        if functions is None:
            return
        with self._lock:
            self._scopes -= 1
            if self._scopes == 0:
                functions[1](self._before)

    def forget_others(self) -> None:
        """Reset the state in a forked process, where the threads with open scopes do not exist."""
        self._scopes = 0


_one_thread = _OneThread()
os.register_at_fork(after_in_child=_one_thread.forget_others)


def on_one_thread() -> _OneThread:
    """Scope in which NumPy's matrix products run on one thread, if its BLAS supports that.

    Scopes may overlap, in any threads: the last one to end restores the number of threads.
    """
    return _one_thread


def threads() -> int:
    """The number of threads that NumPy's BLAS uses for a product; 1 if it is not OpenBLAS."""
    functions = _functions()
    return functions[0]() if functions is not None else 1


def libraries() -> Iterator[ctypes.CDLL]:
    """The OpenBLAS libraries in NumPy's wheel."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in sorted(folder.glob("*openblas*")):
        try:
            yield ctypes.CDLL(str(path))
        except OSError:
            continue


@cache
def _functions() -> tuple[Any, Any] | None:
    """The functions that get and set the number of OpenBLAS threads in NumPy's wheel; None if not found."""
    for library in libraries():
        for form in _FORMS:
            get = getattr(library, form.format("get_num_threads"), None)
            set_threads = getattr(library, form.format("set_num_threads"), None)
            if get is not None and set_threads is not None:
                set_threads.argtypes, set_threads.restype = [ctypes.c_int], None
                return get, set_threads
    return None
