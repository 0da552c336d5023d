"""Anonymous shared memory: worker processes fill it and the main process reads it without a copy."""

from __future__ import annotations

import math
import mmap
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet.process import locks
from mixnet.process.interrupt import Deferred

ALIGNMENT = 64  # bytes; devices of JAX on the CPU then use the memory as it is


def is_supported() -> bool:
    """Whether the system has memory files that child processes inherit."""
    return hasattr(os, "memfd_create") and hasattr(os, "fork")


class Slot:
    """A piece of shared memory, created before the processes that share it; it grows when needed.

    The kernel frees it when the last of the processes has exited, in any way.
    """

    def __init__(self) -> None:
        self._file = os.memfd_create("mixnet-batch", os.MFD_CLOEXEC)
        weakref.finalize(self, os.close, self._file)
        self._map: mmap.mmap | None = None
        self._used = 0

    @property
    def capacity(self) -> int:
        """Bytes mapped in this process."""
        return 0 if self._map is None else len(self._map)

    def see(self, size: int) -> None:
        """Map at least ``size`` bytes, which the file must have."""
        if self.capacity < size:
            # The old mapping lives as long as there are arrays on it.
            self._map = mmap.mmap(self._file, os.fstat(self._file).st_size)

    def grow(self, size: int) -> None:
        """Grow to at least ``size`` bytes, with a reserve for later batches."""
        if os.fstat(self._file).st_size < size:
            os.ftruncate(self._file, size + size // 8)
        self.see(size)

    # ---- the worker's side ----------------------------------------------------------------------

    def clear(self) -> None:
        """Restart filling it from the beginning."""
        self._used = 0

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
        """An uninitialized array in this memory; None if there is not enough space left."""
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        if self._map is None or self._used + size > len(self._map) or not size:
            return None
        array = self.array(self._used, shape, kind)
        self._used += -(-size // ALIGNMENT) * ALIGNMENT
        return array

    def place(self, array: np.ndarray) -> int | None:
        """The offset of an array in this memory; None if it is elsewhere."""
        if self._map is None or not array.flags.c_contiguous or not array.size:
            return None
        start = np.frombuffer(self._map, np.uint8, 1).ctypes.data
        offset = array.ctypes.data - start
        return offset if offset >= 0 and offset + array.nbytes <= len(self._map) else None

    def store(self, arrays: list[np.ndarray]) -> list[int]:
        """Copy arrays into this memory unless they are there already; returns their offsets."""
        placed = [self.place(each) for each in arrays]
        missing = sum(
            each.nbytes + ALIGNMENT
            for each, place in zip(arrays, placed, strict=True)
            if place is None
        )
        if missing and self._used + missing > self.capacity:
            # Arrays already in this memory have other addresses now, but do not move.
            self.grow(self._used + missing)
        places = []
        for each, place in zip(arrays, placed, strict=True):
            if place is None:
                place = self._used
                target = self.empty(each.shape, each.dtype)
                if target is not None:
                    target[...] = each
            places.append(place)
        return places

    # ---- both sides -----------------------------------------------------------------------------

    def array(self, offset: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """The array that starts at a byte."""
        assert self._map is not None
        count = math.prod(shape)
        return np.frombuffer(self._map, dtype, count, offset).reshape(shape)


class Lease:
    """A slot in use by arrays of the main process; released when the last of them is deleted.

    Args:
        release: called then, on any thread.
    """

    def __init__(self, slot: Slot, release: Callable[[], None]):
        self._slot, self._release = slot, release
        self._arrays = 1  # the creator of the arrays counts as a user until it is done
        # Arrays may be deleted in any thread, at any line.
        self._lock = locks.renewed(threading.RLock())

    def array(self, offset: int, shape: tuple[int, ...], dtype: object) -> np.ndarray:
        """A read-only array in the slot."""
        view = self._slot.array(offset, shape, dtype)
        view.flags.writeable = False
        with self._lock:
            self._arrays += 1
        # Objects that hold the array without this handle, such as a device's array, hold its base.
        weakref.finalize(view.base, self.drop).atexit = False
        return view

    def drop(self) -> None:
        """Drop one user."""
        with Deferred():
            with self._lock:
                self._arrays -= 1
                last = not self._arrays
            if last:
                self._release()
