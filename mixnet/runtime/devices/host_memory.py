"""Host memory that programs have freed: what the next run needs again is kept, the rest is returned."""

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
_MUCH_FREE = 64 << 20  # bytes; below, returning memory is not worth the time


@cache
def keep_freed_memory() -> bool:
    """Let the C library's allocator keep freed memory; returns whether it does.

    XLA allocates the results and the intermediate arrays of every run of a program. By default
    glibc maps each large one anew and gives it back, so every run pays for the kernel's zeroed
    pages: more than half of the time of an elementwise operation. The allocator keeps as much as was
    ever in use at once, like MXNet's own pool.
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
    """Return to the system what the allocator keeps and nothing uses now; whether there was much.

    A compiler needs much memory once, and a program that it has compiled needs less than the same
    operations one by one. What the next run needs again is mapped again, once.
    """
    if not keep_freed_memory():
        return False
    library = ctypes.CDLL(None)
    statistics = getattr(library, "mallinfo2", None)
    if statistics is None:  # an older glibc
        return False
    statistics.restype = _Statistics
    return statistics().fordblks >= _MUCH_FREE and bool(library.malloc_trim(0))
