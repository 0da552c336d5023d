"""Python objects between the workers of a job: pickles that are signed with the key of the job.

Synchronous exchanges are neither encrypted nor authenticated. So a pickle is opened only if its signature
proves that it was made for this exchange by a process that can read the key, a file of the user.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
from typing import Any

from mixnet.base import MXNetError
from mixnet.distributed.job import JobError
from mixnet.distributed.processes import World
from mixnet.kvstore.job_key import make, read
from mixnet.kvstore.messages import dumps, loads

_PICKLE, _FAILURE = b"p", b"f"


class ObjectError(MXNetError):
    """An object cannot be sent, or a received one is not from a worker of the job."""


class Objects:
    """Exchanges of objects between all workers, which make the same calls in the same order.

    Args:
        world: the job.

    Raises:
        JobError: the workers cannot read the same key.
    """

    def __init__(self, world: World):
        self._world = world
        self._count = 0  # of exchanges: an old pickle is not a new one
        self._key = b"" if world.size == 1 else _common_key(world)

    def broadcast(self, content: Any, root: int) -> Any:
        """The object of one worker; the root gets its own object.

        Args:
            content: of the root; others are not looked at.
            root: its rank.

        Raises:
            ObjectError: it cannot be pickled or read, or is not from a worker of this job.
        """
        world = self._world
        if world.size == 1:
            return content
        self._count += 1
        is_root = world.rank == root
        sent = self._packed(content) if is_root else b""
        received = world.copy_bytes(sent, root)
        if is_root:
            self._check_own(sent)
            return content
        return self._opened(received, root)

    def gather(self, content: Any) -> list[Any]:
        """The objects of all workers, in the order of ranks.

        Args:
            content: of this one.

        Raises:
            ObjectError: as for ``broadcast``.
        """
        world = self._world
        self._count += 1
        sent = self._packed(content)
        received = [sent] if world.size == 1 else world.gather_bytes(sent)
        self._check_own(sent)
        return [self._opened(each, rank) for rank, each in enumerate(received)]

    def _packed(self, content: Any) -> bytes:
        """A signed pickle, or the reason why there is none, since the others wait for an answer."""
        try:
            packed = _PICKLE + dumps(content)
        except Exception as error:
            packed = _FAILURE + f"{type(error).__name__}: {error}"[:500].encode()
        return self._signature(packed, self._world.rank) + packed

    def _check_own(self, sent: bytes) -> None:
        packed = sent[hashlib.sha256().digest_size :]
        if packed.startswith(_FAILURE):
            raise ObjectError(
                f"This object cannot be sent to other processes: {packed[1:].decode()}. Send "
                f"plain values, or install cloudpickle for functions and classes of the program: "
                f"pip install mixnet[async]."
            )

    def _opened(self, received: bytes, rank: int) -> Any:
        size = hashlib.sha256().digest_size
        signature, packed = received[:size], received[size:]
        if not hmac.compare_digest(signature, self._signature(packed, rank)):
            raise ObjectError(
                f"The object of rank {rank} is not signed with the key of this job, so it is "
                f"not unpickled. Other programs can write to the network of the job: use a private one."
            )
        if packed.startswith(_FAILURE):
            raise ObjectError(f"The object of rank {rank} cannot be sent: {packed[1:].decode()}.")
        try:
            return loads(packed[1:])
        except Exception as error:
            raise ObjectError(
                f"The object of rank {rank} cannot be read here: {type(error).__name__}: "
                f"{error}. Its class has to be defined in a module that all workers can import."
            ) from error

    def _signature(self, packed: bytes, rank: int) -> bytes:
        place = b"object" + self._count.to_bytes(8) + rank.to_bytes(8)
        return hmac.digest(self._key, place + packed, "sha256")


def _common_key(world: World) -> bytes:
    """The key that rank 0 makes for all, in a file that only the user can read."""
    path, key, reason = "", b"", ""
    try:
        path = str(make()) if world.rank == 0 else ""
    except JobError as error:
        reason = str(error)
    path = world.copy_bytes(path.encode(), 0).decode()
    if path:
        try:
            key = read(path)
        except JobError as error:
            reason = str(error)
    reasons = [each.decode() for each in world.gather_bytes(reason.encode())]
    if world.rank == 0 and path:
        with contextlib.suppress(OSError):
            os.unlink(path)  # all have read it
    for rank, each in enumerate(reasons):
        if each:
            raise JobError(f"rank {rank}: {each}")
    return key
