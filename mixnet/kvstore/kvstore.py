"""KVStore: values by key, which devices push to and pull from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    CheckError,
    NotAnArrayError,
    PathNotFoundError,
)
from mixnet.files.whole_file import write_whole
from mixnet.kvstore.base import KVStoreBase, _maker, check_capability
from mixnet.kvstore.base import create as create
from mixnet.kvstore.base import set_kvstore_handle as set_kvstore_handle
from mixnet.kvstore.compression import compression
from mixnet.kvstore.device import DeviceStore
from mixnet.kvstore.local import Key, LocalStore
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse_array import distinct
from mixnet.optimizer import Optimizer, Updater, get_updater
from mixnet.optimizer.updater import states_of
from mixnet.process.overridden import Methods
from mixnet.process.source import warn_user

Groups = dict[Key, list[NDArray]]


class KVStore(KVStoreBase):
    """A store of values by key; create one with ``mx.kv.create``.

    All keys of a store are strings, or all are integers. Methods take a key, or a list of keys with
    as many values; a value is an array, or a list of arrays on several devices. Nothing waits for
    sums and copies: they run as engine tasks, and reading an array waits only for that array.

    Args:
        handle: the underlying store.
    """

    def __init__(self, handle: LocalStore):
        self.handle: LocalStore = handle
        self._type = "local"
        self._updater: Any = None
        self._is_p3 = False
        # Keys, the arrays' identities, and both as groups, which hold them, of the last training step.
        self._last_step: tuple[list[Any], list[int], Groups, Groups] | None = None

    def __del__(self) -> None:
        """Release the values."""
        self.handle = None  # type: ignore[assignment]

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can do something: it can hold an optimizer.

        Raises:
            MXNetError: the capability is unknown.
        """
        check_capability(capability)
        return True

    @property
    def type(self) -> str:
        """The name under which the store was created."""
        return self._type

    @property
    def rank(self) -> int:
        """Number of this worker."""
        return self.handle.rank

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        return self.handle.num_workers

    # ---- values ---------------------------------------------------------------------------------

    def init(self, key: Key | Sequence[Key], value: NDArray | Sequence[Any]) -> None:
        """Store the initial values of keys.

        Args:
            key: a key or a list.
            value: an array, or one for each key.

        Raises:
            MXNetError: a key already has a value, or its type differs from that of earlier keys.
        """
        pairs = _pairs(key, value)
        for name, each in pairs:
            self.handle.init(name, each)
        self.handle.share([name for name, _ in pairs])

    def push(
        self, key: Key | Sequence[Key], value: NDArray | Sequence[Any], priority: int = 0
    ) -> None:
        """Merge arrays into the stored values.

        The arrays of a key are summed. An optimizer or updater changes the stored value by
        the sum, otherwise the sum replaces it.

        Args:
            key: a key or a list.
            value: an array or a list for each device; for several keys one of these each.
            priority: among tasks that are ready, larger ones run first.

        Raises:
            MXNetError: a key was not initialized.
        """
        self.handle.push(_groups(key, value), priority)

    def pull(
        self,
        key: Key | Sequence[Key],
        out: NDArray | Sequence[Any] | None = None,
        priority: int = 0,
        ignore_sparse: bool = True,
    ) -> None:
        """Copy stored values to arrays.

        Args:
            key: a key or a list.
            out: an array or a list for each device; for several keys one of these each.
            priority: among tasks that are ready, larger ones run first.
            ignore_sparse: leave row_sparse arrays in ``out`` unchanged.

        Raises:
            MXNetError: a key was not initialized.
        """
        if out is None:
            raise CheckError("pull: give the arrays to write to, out=")
        outs = _groups(key, out)
        if ignore_sparse:
            for name, arrays in outs.items():
                self.handle.check(name)
                outs[name] = [each for each in arrays if not each._is_sparse]
        self.handle.pull(outs, priority)

    def pushpull(
        self,
        key: Key | Sequence[Key],
        value: NDArray | Sequence[Any],
        out: NDArray | Sequence[Any] | None = None,
        priority: int = 0,
    ) -> None:
        """A push, and a pull to ``out``, or to ``value`` itself.

        Args:
            key: a key or a list.
            value: an array or a list for each device; for several keys one of these each.
            out: the same.
            priority: among tasks that are ready, larger ones run first.

        Raises:
            MXNetError: a key was not initialized.
        """
        groups = _groups(key, value)
        outs = groups if out is None else _groups(key, out)
        self.handle.push_pull(groups, outs, priority)

    def _step(self, keys: list[Any], gradients: list[Any], out: list[Any]) -> None:
        """Push gradients and pull the updated parameters: a training step.

        Args:
            keys: of the parameters.
            gradients: for each key, one gradient per device.
            out: the parameters, likewise.
        """
        # Most steps have the arrays of the one before, which need not be checked again.
        arrays = list(map(id, chain(*gradients, *out)))
        last = self._last_step
        if last is None or last[0] != keys or last[1] != arrays:
            groups, outs = _groups(keys, gradients), _groups(keys, out)
            last = self._last_step = (list(keys), arrays, groups, outs)
        self.handle.step(last[2], last[3])

    def broadcast(
        self,
        key: Key | Sequence[Key],
        value: NDArray | Sequence[Any],
        out: NDArray | Sequence[Any] | None,
        priority: int = 0,
    ) -> None:
        """Store the initial values of keys, and copy them to ``out``.

        Args:
            key: a key or a list.
            value: an array, or one for each key.
            out: an array or a list for each device; for several keys one of these each.
            priority: among tasks that are ready, larger ones run first.

        Raises:
            MXNetError: a key has a value already.
        """
        KVStore.init(self, key, value)  # not a subclass's: MXNet calls neither
        KVStore.pull(self, key, out, priority, ignore_sparse=False)

    def row_sparse_pull(
        self,
        key: Key | Sequence[Key],
        out: NDArray | Sequence[Any] | None = None,
        priority: int = 0,
        row_ids: NDArray | Sequence[NDArray] | None = None,
    ) -> None:
        """Copy some rows of row_sparse values to row_sparse arrays.

        Args:
            key: a key or a list.
            out: a row_sparse array, or a list.
            priority: among tasks that are ready, larger ones run first.
            row_ids: row indices, possibly repeated: an array for all of ``out``, or one for each.

        Raises:
            MXNetError: the value or ``out`` is dense, or a key was not initialized.
        """
        if out is None:
            raise CheckError("row_sparse_pull: give the arrays to write to, out=")
        if row_ids is None:
            raise CheckError("row_sparse_pull: give the numbers of the rows, row_ids=")
        if isinstance(row_ids, NDArray):
            row_ids = [row_ids]
        if not isinstance(row_ids, (list, tuple)) or not all(
            isinstance(r, NDArray) for r in row_ids
        ):
            raise NotAnArrayError(
                f"row_sparse_pull: row_ids is an NDArray or a list of these, not {row_ids!r:.60}."
            )
        outs = _groups(key, out)
        count = sum(len(arrays) for arrays in outs.values())
        if len(row_ids) not in (1, count):
            raise CheckError(
                f"row_sparse_pull: {len(row_ids)} row_ids for {count} arrays in out; give one for all, or "
                f"one for each."
            )
        rows = [distinct(each.asnumpy().astype(np.int64)) for each in row_ids]
        rows = rows * count if len(rows) == 1 else rows
        for name, arrays in outs.items():
            self.handle.pull_rows(name, arrays, rows[: len(arrays)])
            rows = rows[len(arrays) :]

    # ---- how values are changed -----------------------------------------------------------------

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Compress pushed gradients: ``{'type': '2bit', 'threshold': 0.5}``.

        Each device sends less than the gradient, and adds the difference to the next push.

        Args:
            compression_params: ``type`` is ``2bit`` (``+threshold``, ``-threshold`` or 0 for
                every value), ``1bit`` (+1 or -1), ``fp16``, ``bf16``, or ``powersgd`` (two thin
                matrices of ``rank`` columns, 4 by default).

        Raises:
            MXNetError: the store merges on the host, or the compression is unknown.
        """
        if not isinstance(compression_params, Mapping):
            raise CheckError(
                f"unexpected type for compression_params: {type(compression_params)}; give a dict, such "
                f"as {{'type': '2bit'}}."
            )
        self.handle.compress(compression(compression_params))

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update the stored values with an optimizer when gradients are pushed.

        Raises:
            TypeError: it is not an optimizer.
        """
        if not isinstance(optimizer, Optimizer):
            raise AttributeTypeError(
                f"set_optimizer takes an optimizer, not {optimizer!r}; make one with "
                f"mx.optimizer.create(name)."
            )
        self._set_updater(get_updater(optimizer))

    def _set_updater(self, updater: Callable[[Any, NDArray, NDArray], None]) -> None:
        """Call ``updater(key, pushed, stored)`` on a push; it changes ``stored``."""
        self.handle.set_updater(updater)
        self._updater = updater

    set_updater = _set_updater

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer to a file; with ``dump_optimizer``, the optimizer too.

        Args:
            fname: path of the file.
        """
        if self._updater is None:
            raise CheckError("Cannot save states: set_optimizer was not called.")
        self.handle.settle()
        write_whole(fname, self._updater.get_states(dump_optimizer), PathNotFoundError)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the optimizer from a file.

        Args:
            fname: path of the file.

        Raises:
            MissingFileError: there is no such file.
            FileFormatError: it holds no states, or not those of the optimizer for the values of this
                store, which does not change then.
        """
        if self._updater is None:
            raise CheckError("Cannot load states: set_optimizer was not called.")
        self.handle.settle()
        with states_of(fname) as content:
            if isinstance(self._updater, Updater) and (
                type(self._updater).set_states is Updater.set_states
            ):
                self._updater.set_states(content, self.handle.stored)
            else:  # an updater of the program
                self._updater.set_states(content)
        self.handle.give_states()

    # ---- workers --------------------------------------------------------------------------------

    def _barrier(self) -> None:
        """Wait until all workers have called this."""
        self.handle.barrier()

    barrier = _barrier

    def get_num_dead_node(self, node_id: int, timeout: int = 60) -> int:
        """The number of processes of the job that exited before they had finished.

        Args:
            node_id: the group, as in MXNet: 2 servers, 4 workers, 6 both.
            timeout: ignored, since the exit of a process is detected immediately.
        """
        return self.handle.dead_nodes() if node_id & 4 else 0

    def _send_command_to_servers(self, head: int, body: object) -> None:
        """Send a command to the servers of a ``dist_async`` store.

        Args:
            head: 0: ``body`` is an optimizer, pickled. The servers print other commands.
            body: its argument.

        Raises:
            MXNetError: this store has no servers.
        """
        self.handle.send_command(head, body)


_METHODS = Methods(KVStore, "init", "broadcast", "push", "pull", "pushpull")


def takes_all_at_once(store: object) -> bool:
    """Whether a store is called once for all keys: not where a program has methods of its own."""
    return isinstance(store, KVStore) and _METHODS.are_those_of(store)


def _pairs(key: Key | Sequence[Key], value: NDArray | Sequence[Any]) -> list[tuple[Key, NDArray]]:
    """Pairs of a key and an array; a key occurs once for each of its arrays.

    Raises:
        CheckError: keys and values do not match, or have invalid types.
    """
    if isinstance(key, (list, tuple)):
        if not (isinstance(value, (list, tuple)) and len(key) == len(value)):
            raise CheckError(f"{len(key)} keys take a list of {len(key)} values.")
        pairs = [pair for one, each in zip(key, value, strict=True) for pair in _pairs(one, each)]
        if len({type(name) for name, _ in pairs}) > 1:
            raise CheckError(
                f"inconsistent types of keys detected: {key!r:.80}; give strings only, or numbers only."
            )
        return pairs
    if not (isinstance(key, (str, int, np.integer)) and not isinstance(key, bool)):
        raise CheckError(
            f"unexpected type for keys: {type(key).__name__}; give a string or a number."
        )
    name: Key = key if isinstance(key, str) else int(key)
    if isinstance(value, NDArray):
        return [(name, value)]
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if not isinstance(each, NDArray):
            raise NotAnArrayError(
                f"Values of a KVStore must be NDArrays, not {type(each).__name__}. Make one with "
                f"mx.nd.array(...)."
            )
    return [(name, each) for each in value]


def _groups(key: Key | Sequence[Key], value: NDArray | Sequence[Any]) -> Groups:
    groups: Groups = {}
    for name, each in _pairs(key, value):
        groups.setdefault(name, []).append(each)
    return groups


_OF_ONE_PROCESS = ("local", "device", "test")


def _make(name: str) -> KVStore:
    """A store of this package.

    Raises:
        MXNetError: it needs several processes, and this process belongs to no job.
    """
    # As in MXNet, parts of the name determine the kind of store.
    on_device = "device" in name or name == "nccl"  # XLA's collectives on GPUs are NCCL's
    handle: LocalStore
    if "dist" in name:
        if "_async" in name:
            from mixnet.kvstore.dist_async import AsyncDeviceStore, AsyncStore  # needed seldom

            handle = AsyncDeviceStore() if on_device else AsyncStore()
        else:
            from mixnet.kvstore.dist import DistDeviceStore, DistStore

            handle = DistDeviceStore() if on_device else DistStore()
    else:
        if not on_device and not any(part in name for part in _OF_ONE_PROCESS):
            warn_user(
                f"mx.kv.create({name!r}): no store has that name, so it is a 'local' one, as in "
                "MXNet: it exchanges nothing with other processes. For these, use 'dist_sync', "
                "'dist_async' or 'horovod'."
            )
        handle = DeviceStore() if on_device else LocalStore()
    store = KVStore(handle)
    store._type = name
    return store


_maker.append(_make)
