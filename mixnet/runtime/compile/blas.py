"""The number of threads of NumPy's BLAS: one while the compiler uses another core, or in the interpreter.

OpenBLAS divides a product among its threads and waits for all of them, also for one whose core is busy: on
two cores, beside a compiler, a product takes five times as long as on one thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mixnet.process import locks

_PATTERNS = ("scipy_openblas_{}64_", "openblas_{}64_", "scipy_openblas_{}", "openblas_{}")


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


def _libraries() -> Iterator[ctypes.CDLL]:
    """The OpenBLAS libraries in NumPy's wheel."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in sorted(folder.glob("*openblas*")):
        try:
            yield ctypes.CDLL(str(path))
        except OSError:
            continue


@cache
def function_of_wheel(name: str, patterns: Sequence[str]) -> Any:
    """A function of the OpenBLAS in NumPy's wheel, which returns nothing; None if it is not there.

    Args:
        name: of the function.
        patterns: what the builds of OpenBLAS make of names.
    """
    for library in _libraries():
        for pattern in patterns:
            function = getattr(library, pattern.format(name), None)
            if function is not None:
                function.restype = None
                return function
    return None


@cache
def _functions() -> tuple[Any, Any] | None:
    """The functions that get and set the number of OpenBLAS threads in NumPy's wheel; None if not found."""
    get = function_of_wheel("get_num_threads", _PATTERNS)
    set_threads = function_of_wheel("set_num_threads", _PATTERNS)
    if get is None or set_threads is None:
        return None
    get.restype, set_threads.argtypes = ctypes.c_int, [ctypes.c_int]
    return get, set_threads
