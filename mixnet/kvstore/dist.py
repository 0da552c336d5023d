"""Synchronous stores of several processes: sums over devices first, then over processes.

Every process stores all values and updates its own copies with the same sums, so nothing has to be sent back,
and there are no servers. A push is matched with the pushes of all workers by the order of exchanges: that of
the pushes, the same in every process; the keys of one call are sorted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.base import MXNetError, ShapeError
from mixnet.context import Context
from mixnet.distributed.buckets import buckets
from mixnet.distributed.exchanges import Copies, Shaped, gathered, sums
from mixnet.distributed.processes import World, world
from mixnet.engine.current import current, whole_or_not_at_all
from mixnet.engine.variable import Var
from mixnet.kvstore.compression import Compression, check_compressible, state_shapes
from mixnet.kvstore.device import DeviceStore, _zeros
from mixnet.kvstore.local import Key, LocalStore, _moved
from mixnet.kvstore.messages import sendable
from mixnet.kvstore.objects import Objects
from mixnet.kvstore.power_sgd import PowerSGD
from mixnet.kvstore.steps import StepsInOne, StepsOverProcesses, only_records
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray, sum_of_rows
from mixnet.ndarray.sparse_array import host_indices
from mixnet.ops.schema.over_devices import Exchange
from mixnet.optimizer import Optimizer, Updater, get_updater
from mixnet.runtime.devices.collective import Groups
from mixnet.runtime.value.value import Value, from_host

# Exchanges in which the settings of the optimizers are compared: the first ones, and then a few of many.
# Each comparison takes about a millisecond.
_FIRST_COMPARED, _COMPARED, _COMPARED_OF = 64, 8, 1024


@dataclass(frozen=True)
class RowsOfAll:
    """The rows of a key that all processes push, in transit.

    Args:
        shape: of the row_sparse value.
        context: of the result.
        parts: row indices and rows of each process, available when ``arrived`` is done.
    """

    shape: tuple[int, ...]
    context: Context
    parts: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    arrived: list[Var] = field(default_factory=list)

    def of_each(self) -> list[RowSparseNDArray]:
        """The rows of each process. Waits for them."""
        current.engine.wait_for_var(self.arrived[0])
        values = []
        for numbers, rows in self.parts:
            data = NDArray._wrap(from_host(rows, self.context))
            indices = host_indices(numbers, self.context)
            values.append(RowSparseNDArray._make(data, (indices,), self.shape))
        return values

    def total(self) -> RowSparseNDArray:
        """Their sum. Waits for them."""
        parts = [(each._aux[0], each._data) for each in self.of_each()]
        return sum_of_rows(parts, self.shape)


class InJob(LocalStore):
    """Mixin for stores of several processes."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World = world()
        self.rank, self.num_workers = self.world.rank, self.world.size

    def _check_alike(self, keys: Sequence[Key]) -> None:
        text = ", ".join(
            f"{key!r} {self.stored[key].shape} {self.stored[key]._spec.dtype.name}" for key in keys
        )
        text += self._manner()
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

    def _manner(self) -> str:
        """How the store continues after ``init``; it must be the same for all workers."""
        return ""

    def _check_shape(self, key: Key, shape: tuple[int, ...]) -> None:
        """Check before anything is sent: otherwise the sums of the others would be wrong."""
        stored = self.stored.get(key)
        if stored is not None and stored.shape != shape:
            raise ShapeError(
                f"push: the value of key {key} has shape {stored.shape}, but the pushed array has {shape}."
            )

    def barrier(self) -> None:
        """Wait until all workers have called this."""
        self.world.gather(np.zeros(1, np.int32))

    def dead_nodes(self) -> int:
        """The number of workers that exited before they had finished."""
        return 0 if self.world.member.lost is None else 1


class OverProcesses(InJob):
    """Mixin for synchronous stores."""

    def __init__(self) -> None:
        super().__init__()
        self._sent_as: Compression | None = None
        # Residuals of the compression and its other state.
        self._unsent: dict[Key, list[Value]] = {}
        self._rows: dict[Key, list[RowsOfAll]] = {}  # pushed, not in the stored value yet
        self._steps: StepsInOne = StepsOverProcesses(self, self.world)

    def send_command(self, head: int, body: object) -> None:
        """Send a command to servers.

        Raises:
            MXNetError: the store has no servers.
        """
        raise MXNetError("A KVStore of this type has no servers to send commands to.")

    def _manner(self) -> str:
        return f"; MIXNET_JOINT_STEP_AFTER={self._steps.after}"  # all begin with joint steps at the same one

    # ---- the updater ----------------------------------------------------------------------------

    def _share_updater(self) -> None:
        """Give the updater of the first worker that has one to those that have none.

        Programs for MXNet may set an optimizer on one worker, since servers update the values.

        Raises:
            ObjectError: it cannot be sent.
        """
        have = self.world.gather(np.array([self.updater is not None], np.int32))[:, 0]
        if have.all() or not have.any():
            return
        root = int(have.argmax())
        sent = sendable(self.updater) if self.rank == root else None
        received = Objects(self.world).broadcast(sent, root)
        if self.updater is None:
            super().set_updater(received if callable(received) else get_updater(received))

    @property
    def _purpose(self) -> str:
        """Part of the descriptions of sums, by which workers with and without an updater disagree.

        If a learning rate changes in one worker alone, its values differ from those of the others
        from then on, and nothing else would show it, so some descriptions have the settings, too.
        """
        if self.updater is None:
            return ""
        count = self.world.agreement.count  # the same in all workers
        is_compared = count < _FIRST_COMPARED or count % _COMPARED_OF < _COMPARED
        if not is_compared or not isinstance(self.updater, Updater):
            return ", for set_optimizer"
        return f", for set_optimizer of {_settings(self.updater.optimizer)}"

    def barrier(self) -> None:
        """Wait until all workers have called this."""
        self._share_updater()

    # ---- values ---------------------------------------------------------------------------------

    def share(self, keys: Sequence[Key]) -> None:
        """Use the first worker's values as the initial values of keys.

        Raises:
            MXNetError: workers have different keys, shapes or dtypes.
        """
        self._check_alike(keys)
        self._share_updater()
        dense = [key for key in keys if not self.stored[key]._is_sparse]
        values = [self.stored[key]._read() for key in dense]
        for bucket in buckets([value.spec for value in values]):
            names = [dense[i] for i in bucket]
            row_of_mine = [values[i] for i in bucket]
            (row,) = self.world.exchange(Copies(), [row_of_mine], 0, "broadcast", names)
            for i, value in zip(bucket, row, strict=True):
                self.stored[dense[i]] = self.stored[dense[i]]._wrap(value)
        for key in keys:
            if self.stored[key]._is_sparse:
                self.stored[key] = self._exchange_rows(key, [self.stored[key]], 0).of_each()[0]

    def step(
        self, groups: Mapping[Key, Sequence[NDArray]], outs: Mapping[Key, Sequence[NDArray]]
    ) -> None:
        """A push and a pull; after some steps backward, the sums over processes and updates are
        one program.
        """
        for key in groups if self._rows else ():
            self.settle(key)
        with self._whole(groups):
            if not self._steps.run(groups, outs):
                LocalStore.step(self, groups, outs)

    def own_sums(self, groups: Mapping[Key, Sequence[NDArray]], context: Context) -> list[Value]:
        """For each key the sum of its dense arrays over the devices of this process, on a context."""
        sums_here = []
        for values in super().sum(groups, 0):
            by_context = {value.spec.context: value for value in values}
            value = by_context.get(context)
            sums_here.append(_moved(values[0], context) if value is None else value)
        return sums_here

    def sums_in_one_message(self, keys: Sequence[Key], values: Sequence[Value]) -> list[Value]:
        """Sums over all processes of values of one dtype, the same ones in every step."""
        (row,) = self.world.exchange(
            sums, [values], 0, "all-reduce", keys, has_any_length=True, purpose=self._purpose
        )
        return row

    def sum(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> Groups:
        """For each key the sum of its dense arrays over devices and processes, on the device of the first."""
        keys = sorted(groups)  # of one type
        local_sums = super().sum({key: groups[key] for key in keys}, priority)
        specs = []
        for key, (value, *_) in zip(keys, local_sums, strict=True):
            self._check_shape(key, value.spec.shape)
            specs.append(value.spec)
        totals: dict[Key, Value] = {}
        for bucket in buckets(specs):
            names = [keys[i] for i in bucket]
            exchanged = self._sent(names, [local_sums[i][0] for i in bucket], priority)
            totals.update(zip(names, exchanged, strict=True))
        return [[totals[key]] for key in groups]

    def _sent(self, keys: Sequence[Key], row: list[Value], priority: int) -> list[Value]:
        """Sums over all processes, for a bucket of keys."""
        compression = self._sent_as
        if compression is None:
            exchanged = self.world.exchange(
                sums, [row], priority, "all-reduce", keys, purpose=self._purpose
            )
            return exchanged[0]
        for key, value in zip(keys, row, strict=True):
            check_compressible(key, value.spec)
        if not isinstance(compression, PowerSGD):
            return self._compressed(compression, keys, row, priority)
        sums_of: dict[Key, Value] = {}
        plain = []
        for key, value in zip(keys, row, strict=True):
            if compression.state_shapes(value.spec.shape) is None:
                plain.append((key, value))
            else:  # its shape matters, so it travels by itself
                sums_of[key] = self._compressed(compression, [key], [value], priority)[0]
        if plain:
            names, rest = [key for key, _ in plain], [value for _, value in plain]
            (total,) = self.world.exchange(
                sums, [rest], priority, "all-reduce", names, purpose=self._purpose
            )
            sums_of.update(zip(names, total, strict=True))
        return [sums_of[key] for key in keys]

    def _compressed(
        self, compression: Compression, keys: Sequence[Key], row: list[Value], priority: int
    ) -> list[Value]:
        before = []
        for key, value in zip(keys, row, strict=True):
            residual = self._unsent.get(key)
            if residual is None or residual[0].spec is not value.spec:
                shapes = state_shapes(compression, value.spec.shape)
                assert shapes is not None  # else it is not sent compressed
                residual = [_zeros(value, shape) for shape in shapes]
            before.append(residual)
        name = f"{compression} all-reduce"
        rows = [row, *map(list, zip(*before, strict=True))]
        exchange: Exchange = compression
        if isinstance(compression, PowerSGD):
            exchange = Shaped(compression, tuple(each[0].spec.shape for each in rows))
        summed, *rest = self.world.exchange(
            exchange, rows, priority, name, keys, purpose=self._purpose
        )
        self._unsent.update(zip(keys, map(list, zip(*rest, strict=True)), strict=True))
        return summed

    def merge(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> dict[Key, NDArray]:
        """For each key the sum of its arrays, on the key's home device."""
        merged = super().merge(groups, priority)
        # Some are sparse and others dense, so the sum is dense.
        mixed = [key for key, group in groups.items() if any(each._is_sparse for each in group)]
        for key in sorted(mixed):
            (row,) = self.world.exchange(
                sums, [[merged[key]._read()]], priority, "all-reduce", [key], purpose=self._purpose
            )
            merged[key] = merged[key]._wrap(row[0])
        return merged

    # ---- rows -------------------------------------------------------------------------------------

    def push(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Merge each group of arrays, and update the stored values. Rows are exchanged as rows.

        The row indices of the others are known only when they arrive. Until the value is needed, they wait
        beside it.
        """
        for key in groups:
            super().check(key)
        rows = {key: groups[key] for key in sorted(groups) if _are_rows(groups[key])}
        if rows:
            self._push_rows(rows, priority)
            groups = {key: group for key, group in groups.items() if key not in rows}
        for key in groups if self._rows else ():
            self.settle(key)
        if groups:
            with self._whole(groups):
                self._merge_in(groups, priority)

    def _push_rows(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        with RecordingScope(False, None):
            for key, group in groups.items():
                self._check_shape(key, group[0].shape)
                arriving = self._exchange_rows(key, group, priority)
                self._rows.setdefault(key, []).append(arriving)

    def push_pull(
        self,
        groups: Mapping[Key, Sequence[NDArray]],
        outs: Mapping[Key, Sequence[NDArray]],
        priority: int,
    ) -> None:
        """A push and a pull; without an updater, the sums are written directly to ``outs``."""
        with self._whole(groups):
            super().push_pull(groups, outs, priority)

    def _whole(self, groups: Mapping[Key, Sequence[NDArray]]) -> AbstractContextManager[object]:
        """A scope in which Ctrl-C waits, so that the values of all processes stay the same.

        Rows are waited for, and a user's own updater may wait for the others: Ctrl-C interrupts these.
        """
        waits = self._rows or not (self.updater is None or only_records(self.updater))
        waits = waits or any(each._is_sparse for group in groups.values() for each in group)
        return nullcontext() if waits else whole_or_not_at_all()

    def check(self, key: Key) -> Any:
        """The stored value of a key, with all rows that were pushed. Waits for these.

        Raises:
            MXNetError: it has none.
        """
        self.settle(key)
        return super().check(key)

    def settle(self, key: Key | None = None) -> None:
        """Update stored values by the rows that were pushed, of all keys by default. Waits for them."""
        if not self._rows:
            return
        with RecordingScope(False, None):
            for each in [key] if key is not None else list(self._rows):
                for arriving in self._rows.pop(each, ()):
                    self._take({each: arriving.total()})

    def _exchange_rows(self, key: Key, group: Sequence[Any], priority: int) -> RowsOfAll:
        """Exchange the rows of all processes; does not block."""
        first = group[0]
        all_rows = RowsOfAll(first.shape, self.home(key, group))
        values = [part._read() for each in group for part in reversed(each._roomy)]

        def work(arrays: list[Any]) -> None:
            host = [np.asarray(array) for array in arrays]
            numbers = np.concatenate(host[::2]).astype(np.int64)
            used = numbers < first.shape[0]  # there may be room for more behind
            rows = np.concatenate(host[1::2])[used]
            all_rows.parts.extend(self._gather_rows(numbers[used], rows))

        label = f"{key!r} {first.shape} {first._spec.dtype.name}{self._purpose}"
        all_rows.arrived.append(self.world.together(values, work, "rows", label, priority))
        return all_rows

    def _gather_rows(
        self, numbers: np.ndarray, rows: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        counts = self.world.run(gathered, [np.array([len(numbers)], np.int64)])[0]
        room = 1 << max(0, int(counts.max()) - 1).bit_length()  # few lengths, so few programs
        places = np.zeros(room, np.int64)
        places[: len(numbers)] = numbers
        padded = np.zeros((room, *rows.shape[1:]), rows.dtype)
        padded[: len(rows)] = rows
        where = self.world.run(gathered, [places])[0].reshape(-1, room)
        every = self.world.run(gathered, [padded.reshape(-1)])[0].reshape(-1, *padded.shape)
        return [(where[i][:count], every[i][:count]) for i, count in enumerate(counts)]

    # ---- compression ----------------------------------------------------------------------------

    def compress(self, compression: Compression) -> None:
        """Compress this process's contributions to sums from now on."""
        self._sent_as, self.is_compressed = compression, True


class DistStore(OverProcesses, LocalStore):
    """``dist_sync``: devices are summed on the host, where values are stored."""


class DistDeviceStore(OverProcesses, DeviceStore):
    """``dist_device_sync``: devices are summed by XLA's collectives; values are stored on devices."""


def _settings(optimizer: Optimizer) -> str:
    """What must be the same in all workers."""
    settings = {
        # Any function can be a scheduler.
        "learning_rate": getattr(optimizer.lr_scheduler, "base_lr", optimizer.lr),
        "wd": optimizer.wd,
        "rescale_grad": optimizer.rescale_grad,
        "clip_gradient": optimizer.clip_gradient,
    }
    texts = [
        f"{name}={value:.6g}" if isinstance(value, (int, float)) else f"{name}={value}"
        for name, value in settings.items()
    ]
    return f"{type(optimizer).__name__}({', '.join(texts)})"


def _are_rows(group: Sequence[NDArray]) -> bool:
    return all(isinstance(each, RowSparseNDArray) for each in group)
