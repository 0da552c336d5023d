"""Memory that the processes of a job share if they are all on one machine: longer messages go through it.

A connection copies every byte twice, to and from the kernel. Here a process writes what it sends to its own
part, and the others read it there.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
from collections.abc import Callable, Sequence

import numpy as np

from mixnet import config

_DIRECTORY = "/dev/shm"  # in memory; the files are private, with names that nobody can guess
_NAME_BYTES = 16
CHUNK_BYTES = 1 << 20
"""Most bytes of a message. Longer arrays travel as several, which stay in caches."""

_HALVES = 2

Gather = Callable[[np.ndarray], np.ndarray]


class SharedMemory:
    """One part for each process. A part has two halves, for every other message.

    Before a process writes to a half again, it has got the others' messages of the other half, so they have
    read the one before.

    Args:
        parts: by rank.
        rank: of this process.
    """

    def __init__(self, parts: Sequence[mmap.mmap], rank: int):
        self._halves = [np.frombuffer(part, np.uint8).reshape(_HALVES, -1) for part in parts]
        self._rank, self._half = rank, 0

    def write(self, array: np.ndarray) -> None:
        """Write a message to this process's part, for the others to read.

        Args:
            array: flat, of at most ``CHUNK_BYTES``.
        """
        self._half = 1 - self._half
        self.message(self._rank, array)[:] = array

    def message(self, rank: int, like: np.ndarray) -> np.ndarray:
        """The array that a process has written; valid until this process writes its next but one message.

        Args:
            rank: of the process.
            like: an array of the same length and dtype.
        """
        content: np.ndarray = self._halves[rank][self._half, : like.nbytes].view(like.dtype)
        return content


def share(rank: int, size: int, gather: Gather) -> SharedMemory | None:
    """Share memory between all processes of a job, which call this at the same time; None if some cannot.

    Args:
        rank: of this process.
        size: number of processes.
        gather: gets an array of bytes, and returns those of all processes in the order of ranks.
    """
    name = secrets.token_bytes(_NAME_BYTES)
    if config.get("MIXNET_SHARED_MEMORY"):
        _create(_path(name))
    try:
        names = gather(np.frombuffer(name, np.uint8)).reshape(size, _NAME_BYTES)
        parts = [_mapped(_path(each.tobytes())) for each in names]
        has_all = np.array([None not in parts], np.uint8)
        is_shared = bool(gather(has_all).all())
    finally:  # the memory is there until the last process has ended
        with contextlib.suppress(OSError):
            os.unlink(_path(name))
    return SharedMemory([part for part in parts if part], rank) if is_shared else None


def _path(name: bytes) -> str:
    return f"{_DIRECTORY}/mixnet-{name.hex()}"


def _create(path: str) -> None:
    """Create the file of a part, if there is memory for it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    try:  # if the memory is not reserved, the kernel ends the process that finds none to write to
        os.posix_fallocate(file, 0, _HALVES * CHUNK_BYTES)
    except OSError:
        os.unlink(path)
    finally:
        os.close(file)


def _mapped(path: str) -> mmap.mmap | None:
    """The part of a process; None if it has none, or is on another machine."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        return mmap.mmap(file, _HALVES * CHUNK_BYTES)
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)
