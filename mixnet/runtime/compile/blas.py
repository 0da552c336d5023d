"""How many threads NumPy's BLAS takes: one while the compiler works, for then another core is busy.

OpenBLAS gives each of its threads a part of a product and waits for all. Where one of them finds its core taken, the
product waits for it: on two cores, beside a compiler, it takes five times as long as on one thread.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_FORMS = ("scipy_openblas_{}64_", "openblas_{}64_", "scipy_openblas_{}", "openblas_{}")


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Scope in which products of NumPy run on one thread, where its BLAS can be told so; not to be nested."""
    functions = _functions()
    if functions is None:
        yield
        return
    get, put = functions
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


@cache
def _functions() -> tuple[Any, Any] | None:
    """What reads and what sets the number of threads of the OpenBLAS in NumPy's wheel; None if there is none."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in sorted(folder.glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for form in _FORMS:
            get = getattr(library, form.format("get_num_threads"), None)
            put = getattr(library, form.format("set_num_threads"), None)
            if get is not None and put is not None:
                put.argtypes, put.restype = [ctypes.c_int], None
                return get, put
    return None
