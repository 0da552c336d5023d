"""Host memory that programs have freed: the allocator keeps what the next run needs and returns the rest."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from mixnet import config

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # names of malloc.h
_LIMIT = 2**31 - 1
_FIELDS = (
    "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
)  # fmt: skip
_MUCH_FREE = 64 << 20  # bytes; returning less is not worth the time


@cache
def keep_freed_memory() -> bool:
    """Let the C library's allocator keep freed memory; returns whether it does.

    XLA allocates the results and the intermediate arrays of every run of a program. By default
    glibc maps each large array anew and unmaps it afterwards, so in every run the kernel fills pages
    with zeros: more than half of the time of an elementwise operation. With this setting, the allocator
    keeps the largest amount that was ever in use at once, like MXNet's own pool.
    """
    if not config.get("MIXNET_KEEP_MEMORY") or not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return False
    return bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, _LIMIT))


class _Statistics(ctypes.Structure):
    """``struct mallinfo2`` of glibc 2.33 and later."""

    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


def return_freed_memory() -> bool:
    """Return unused memory of the allocator to the system; returns whether there was much.

    The compiler needs much memory, but only once, and a compiled program needs less than the same
    operations one by one. Memory that the next run needs is mapped again, once.
    """
    if not keep_freed_memory():
        return False
    library = ctypes.CDLL(None)
    statistics = getattr(library, "mallinfo2", None)
    if statistics is None:  # an older glibc
        return False
    statistics.restype = _Statistics
    return statistics().fordblks >= _MUCH_FREE and bool(library.malloc_trim(0))
