"""Reuse of host memory between programs, instead of returning it to the system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from mixnet import config

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # names of malloc.h
_LIMIT = 2**31 - 1


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
