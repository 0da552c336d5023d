"""The store ``horovod``: sums and broadcasts over all processes, without stored values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.autograd.scope import RecordingScope
from mixnet.distributed.job import local_rank
from mixnet.kvstore.base import KVStoreBase, WithoutOptimizer, _as_list
from mixnet.kvstore.local import Key
from mixnet.ndarray.ndarray import NDArray


@KVStoreBase.register
class Horovod(WithoutOptimizer):
    """The equivalent of Horovod's store in MXNet, on mixnet's own exchanges; Horovod is not needed.

    A process that belongs to no job is the only one of its own.
    """

    def __init__(self) -> None:
        # A third of what loading mx.kv would take.
        from mixnet.distributed.processes import world
        from mixnet.kvstore.dist import DistDeviceStore

        world(may_be_alone=True)
        self.handle: DistDeviceStore = DistDeviceStore()

    def broadcast(
        self,
        key: Key | Sequence[Key],
        value: NDArray | Sequence[Any],
        out: NDArray | Sequence[Any] | None,
        priority: int = 0,
    ) -> None:
        """Copy ``value`` of the first worker to ``out`` on every worker and device."""
        for name, each, outs in _rows(key, value, out):
            self.handle.stored.pop(name, None)
            self.handle.init(name, each[0])
            self.handle.share([name])
            self.handle.pull({name: outs}, priority)
            del self.handle.stored[name]

    def pushpull(
        self,
        key: Key | Sequence[Key],
        value: NDArray | Sequence[Any],
        out: NDArray | Sequence[Any] | None = None,
        priority: int = 0,
    ) -> None:
        """Sum ``value`` over workers and devices into ``out``, or into itself."""
        rows = _rows(key, value, value if out is None else out)
        with RecordingScope(False, None):
            sums = self.handle.sum({name: each for name, each, _ in rows}, priority)
            totals = [total[0] for total in sums]
            self.handle._hand_out(totals, [outs for _, _, outs in rows], priority)

    @property
    def type(self) -> str:
        """``'horovod'``."""
        return type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """Number of this worker."""
        return self.handle.rank

    @property
    def local_rank(self) -> int:
        """Number of this worker among those of its machine, as set by the launcher; otherwise ``rank``."""
        return local_rank(self.rank)

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        return self.handle.num_workers


@KVStoreBase.register
class BytePS(Horovod):
    """The equivalent of BytePS's store in MXNet, which programs use in the same way; BytePS is not needed."""


def _rows(key: Any, value: Any, out: Any) -> list[tuple[Key, list[NDArray], list[NDArray]]]:
    if not isinstance(key, (list, tuple)):
        key, value, out = [key], [value], [out]
    return [
        (name, list(_as_list(each)), list(_as_list(outs)))
        for name, each, outs in zip(key, value, out, strict=True)
    ]
