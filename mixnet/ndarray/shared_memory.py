"""Arrays in shared memory: an anonymous file that another process opens."""

from __future__ import annotations

import math
import mmap
import os
import weakref
from typing import TYPE_CHECKING

import numpy as np

from mixnet.context import Context
from mixnet.dtype import as_dtype
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.value.value import Value, from_host

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike

# Process, its number of the file, shape, name of the dtype.
Shared = tuple[int, int, tuple[int, ...], str]


def to_shared_memory(array: NDArray) -> Shared:
    """Copy an array to shared memory, which is there as long as ``array`` is.

    Returns:
        Process, file, shape and dtype, as :func:`from_shared_memory` takes them.
    """
    host = np.ascontiguousarray(array.asnumpy())
    file = os.memfd_create("mixnet-array", os.MFD_CLOEXEC)
    weakref.finalize(array, os.close, file)
    os.ftruncate(file, max(1, host.nbytes))
    with mmap.mmap(file, max(1, host.nbytes)) as memory:
        memory[: host.nbytes] = host.tobytes()
    return os.getpid(), file, array.shape, host.dtype.name


def from_shared_memory(
    shared_pid: int, shared_id: int, shape: tuple[int, ...], dtype: DTypeLike
) -> Value:
    """An array's content in shared memory, put there by a process; ``NDArray(value)`` is an array of it.

    Args:
        shared_pid: the process.
        shared_id: number of the file there.
        shape: shape of the array.
        dtype: its dtype.
    """
    with open(f"/proc/{shared_pid}/fd/{shared_id}", "rb") as file:
        content = np.frombuffer(file.read(), as_dtype(dtype), math.prod(shape))
    return from_host(content.reshape(shape), Context("cpu_shared", 0))
