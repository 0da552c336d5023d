"""The stores of several processes that go in step: sums over devices first, then over processes.

Every process keeps all values and updates its own copies by the same sums, so nothing has to be sent back, and
there are no servers. That a push stands for all workers' pushes follows from the exchanges' order: it is that
of the pushes, the same in every process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from mixnet.base import DTypeError, MXNetError, ShapeError
from mixnet.distributed.processes import Copies, World, buckets, sums, world
from mixnet.kvstore.compression import Compression
from mixnet.kvstore.device import DeviceStore, _zeros
from mixnet.kvstore.local import Key, LocalStore
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse_array import RowSparseNDArray, host_indices, sum_of_rows
from mixnet.runtime.collective import Groups
from mixnet.runtime.value import Value, from_host


class OverProcesses(LocalStore):
    """What a store of one process needs beside its own to be one of several; mixed into one."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World = world()
        self.rank, self.num_workers = self.world.rank, self.world.size  # type: ignore[misc]
        self._sent_as: Compression | None = None
        self._kept_back: dict[Key, Value] = {}  # residuals of the compression

    # ---- values ---------------------------------------------------------------------------------

    def share(self, keys: Sequence[Key]) -> None:
        """Take what the first worker has as the first values of keys.

        Raises:
            MXNetError: workers have other keys, shapes or dtypes.
        """
        self._check_alike(keys)
        dense = [key for key in keys if not self.stored[key]._is_sparse]
        values = [self.stored[key]._read() for key in dense]
        for bucket in buckets(values):
            (row,) = self.world.exchange(Copies(), [[values[i] for i in bucket]], 0, "broadcast")
            for i, value in zip(bucket, row, strict=True):
                self.stored[dense[i]] = self.stored[dense[i]]._wrap(value)
        for key in keys:
            if self.stored[key]._is_sparse:
                self.stored[key] = self._rows_of_all(self.stored[key])[0]

    def _check_alike(self, keys: Sequence[Key]) -> None:
        text = ", ".join(
            f"{key!r} {self.stored[key].shape} {self.stored[key]._spec.dtype.name}" for key in keys
        )
        digest = hashlib.sha256(text.encode()).digest()[:8]
        every = self.world.gather(np.frombuffer(digest, np.int64))[:, 0]
        others = [rank for rank in range(self.num_workers) if every[rank] != every[0]]
        if others:
            for key in keys:
                del self.stored[key]
            raise MXNetError(
                f"init: rank {', '.join(map(str, others))} has other keys, shapes or dtypes than rank 0. All "
                f"workers initialize the same keys in the same order; rank {self.rank} has {text:.300}."
            )

    def sum(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> Groups:
        """For each key the sum of its dense arrays over devices and processes, where the first one is."""
        own = super().sum(groups, priority)
        for key, group in zip(groups, own, strict=True):
            stored = self.stored.get(key)
            if stored is not None and stored.shape != group[0].spec.shape:
                raise ShapeError(  # before anything travels: the others' sums would be wrong
                    f"push: the value of key {key} has shape {stored.shape}, what is pushed has "
                    f"{group[0].spec.shape}."
                )
        values = [group[0] for group in own]
        found: Groups = [[] for _ in values]
        keys = list(groups)
        for bucket in buckets(values):
            row = [values[i] for i in bucket]
            if self._sent_as is None:
                (made,) = self.world.exchange(sums, [row], priority, "all-reduce")
            else:
                made = self._compressed(self._sent_as, [keys[i] for i in bucket], row, priority)
            for i, value in zip(bucket, made, strict=True):
                found[i] = [value]
        return found

    def _compressed(
        self, how: Compression, keys: Sequence[Key], row: list[Value], priority: int
    ) -> list[Value]:
        residuals = []
        for key, value in zip(keys, row, strict=True):
            if value.spec.dtype.kind != "f":
                raise DTypeError(
                    f"Gradient compression takes floating-point gradients; that of key {key} is "
                    f"{value.spec.dtype.name}."
                )
            kept = self._kept_back.get(key)
            residuals.append(
                kept if kept is not None and kept.spec is value.spec else _zeros(value)
            )
        made, rest = self.world.exchange(how, [row, residuals], priority, "compressed all-reduce")
        self._kept_back.update(zip(keys, rest, strict=True))
        return made

    def merge(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> dict[Key, NDArray]:
        """For each key the sum of its arrays, where the key is at home. Rows are exchanged as rows."""
        found = super().merge(groups, priority)
        for key, value in found.items():
            if isinstance(value, RowSparseNDArray):
                parts = self._rows_of_all(value)
                found[key] = sum_of_rows(
                    [(each._aux[0], each._data) for each in parts], value.shape
                )
            elif any(each._is_sparse for each in groups[key]):
                (row,) = self.world.exchange(sums, [[value._read()]], priority, "all-reduce")
                found[key] = value._wrap(row[0])
        return found

    def _rows_of_all(self, own: RowSparseNDArray) -> list[RowSparseNDArray]:
        """What each process has of a row_sparse value. How many rows there are has to be known: this waits."""
        numbers = own._aux[0].asnumpy().astype(np.int64)
        data = own._data.asnumpy()[: len(numbers)]
        counts = self.world.gather(np.array([len(numbers)], np.int64))[:, 0]
        room = 1 << max(0, int(counts.max()) - 1).bit_length()  # few lengths, so few programs
        places = np.zeros(room, np.int64)
        places[: len(numbers)] = numbers
        rows = np.zeros((room, *data.shape[1:]), data.dtype)
        rows[: len(data)] = data
        found = []
        everyone = zip(counts, self.world.gather(places), self.world.gather(rows), strict=True)
        for count, where, part in everyone:
            value = NDArray._wrap(from_host(part[:count], own.context))
            indices = host_indices(where[:count], own.context)
            found.append(RowSparseNDArray._make(value, (indices,), own.shape))
        return found

    # ---- workers --------------------------------------------------------------------------------

    def compress(self, how: Compression) -> None:
        """Send what this process adds to a sum compressed from now on."""
        self._sent_as = how

    def barrier(self) -> None:
        """Wait until all workers are here."""
        self.world.gather(np.zeros(1, np.int32))

    def dead_nodes(self) -> int:
        """How many workers have ended before their work was done."""
        return 0 if self.world.member.lost is None else 1


class DistStore(OverProcesses, LocalStore):
    """``dist_sync``: devices are summed on the host, where values are kept."""


class DistDeviceStore(OverProcesses, DeviceStore):
    """``dist_device_sync``: devices are summed by XLA's collectives, which keep the values."""
