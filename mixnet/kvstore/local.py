"""The store of one process: merges pushed values on the host and stores the result there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.base import MXNetError, ShapeError
from mixnet.context import Context, cpu
from mixnet.kvstore.compression import Compression
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray, rows_in_room, sum_of_rows
from mixnet.ndarray.sparse_array import rounded_up
from mixnet.ops.registry import find
from mixnet.optimizer.updater import update_all
from mixnet.runtime.devices.collective import broadcast, sum_on_host
from mixnet.runtime.record.record import record
from mixnet.runtime.value.undo import all_or_nothing
from mixnet.runtime.value.value import Value

Key = str | int
Updater = Callable[[Any, NDArray, NDArray], None]


class LocalStore:
    """Values by key. A push merges arrays of several devices; a pull returns the stored value.

    No method blocks: sums and copies are engine tasks, and the computations of an updater are recorded.
    Other stores override :meth:`merge`, :meth:`sum` and :meth:`home`.
    """

    rank = 0
    num_workers = 1
    is_compressed = False  # whether pushed values are sent compressed

    def __init__(self) -> None:
        self.stored: dict[Key, Any] = {}
        self.updater: Updater | None = None
        self.keeps_sums = True  # whether a pushpull without an updater changes the stored values

    # ---- the interface of stores ------------------------------------------------------------------

    def init(self, key: Key, value: NDArray) -> None:
        """Store a copy of the first value of a key.

        Raises:
            MXNetError: the key already has one, or its type differs from that of earlier keys.
        """
        if key in self.stored:
            raise MXNetError(
                f"duplicate init of key {key}: init and broadcast take each key once. Use push to "
                f"change its value."
            )
        self._check_type(key)
        context = self.home(key, [value])
        if isinstance(value, RowSparseNDArray):
            self.stored[key] = value.copyto(context)
        else:
            self.stored[key] = value._wrap(_moved(value._read().alias(), context))

    def share(self, keys: Sequence[Key]) -> None:
        """Use the first worker's values as the initial values of keys; here there is only one worker."""

    def push(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Merge each group of arrays, and update the stored values, or replace them."""
        for key in groups:
            self.check(key)
        self._merge_in(groups, priority)

    def _merge_in(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Push to keys that have values."""
        with RecordingScope(False, None):
            self._take(self.merge(groups, priority))

    def pull(self, outs: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Write the stored value of each key to its arrays."""
        dense: dict[Key, Sequence[NDArray]] = {}
        with RecordingScope(False, None):
            for key, arrays in outs.items():
                stored = self.check(key)
                for out in arrays:
                    if out.shape != stored.shape:
                        raise ShapeError(
                            f"pull: the value of key {key} has shape {stored.shape}, but out has "
                            f"{out.shape}."
                        )
            values = self.current([key for key, arrays in outs.items() if arrays], priority)
            for key, arrays in outs.items():
                if any(each._is_sparse for each in (self.stored[key], *arrays)):
                    for out in arrays:
                        values[key].as_in_context(out.context).copyto(out)
                elif arrays:
                    dense[key] = arrays
            self._hand_out([values[key]._read() for key in dense], dense.values(), priority)

    def push_pull(
        self,
        groups: Mapping[Key, Sequence[NDArray]],
        outs: Mapping[Key, Sequence[NDArray]],
        priority: int,
    ) -> None:
        """A push and a pull; without an updater, the sums are written directly to ``outs``."""
        sparse = any(each._is_sparse for group in groups.values() for each in group)
        if self.updater is not None or sparse:
            self.push(groups, priority)
            self.pull(outs, priority)
            return
        for key in groups:
            self.check(key)
        with RecordingScope(False, None):
            sums = dict(zip(groups, self.sum(groups, priority), strict=True))
            if self.keeps_sums:
                for key, group in groups.items():
                    self.stored[key] = group[0]._wrap(sums[key][0])
            left: dict[Key, Sequence[NDArray]] = {}
            copies: list[tuple[NDArray, Value]] = []
            for key, arrays in outs.items():
                places = {value.spec.context: value for value in sums[key]}
                if all(out.context in places for out in arrays):
                    copies += [(out, places[out.context]) for out in arrays]
                else:
                    left[key] = arrays
            _share_all(copies)
            self._hand_out([sums[key][0] for key in left], left.values(), priority)

    def step(
        self, groups: Mapping[Key, Sequence[NDArray]], outs: Mapping[Key, Sequence[NDArray]]
    ) -> None:
        """A push of gradients and a pull of the updated values: a training step."""
        self.push(groups, 0)
        self.pull(outs, 0)

    def pull_rows(self, key: Key, outs: Sequence[NDArray], rows: Sequence[Any]) -> None:
        """Write rows of a row_sparse value, 0 where one is not stored, to row_sparse arrays.

        Args:
            key: of the value.
            outs: row_sparse arrays.
            rows: for each its row indices, NumPy int64, ascending.
        """
        stored = self.check(key)
        if not isinstance(stored, RowSparseNDArray):
            raise MXNetError(
                f"row_sparse_pull: the value of key {key} is dense; pull() it, or init it with a "
                f"row_sparse array."
            )
        with RecordingScope(False, None):
            for out, row_ids in zip(outs, rows, strict=True):
                if not isinstance(out, RowSparseNDArray):
                    raise MXNetError(
                        f"row_sparse_pull writes to row_sparse arrays; out of key {key} is dense."
                    )
                data = self.rows(key, row_ids).as_in_context(out.context).astype(out.dtype)
                out._replace(rows_in_room(data, row_ids, stored.shape))

    def compress(self, compression: Compression) -> None:
        """Compress gradients.

        Raises:
            MXNetError: this store merges on the host and sends nothing.
        """
        raise MXNetError(
            "Gradient compression is not supported for this type of kvstore; use 'device'."
        )

    def barrier(self) -> None:
        """Wait for all workers; here there is only one."""

    def settle(self) -> None:
        """Bring the updater's states up to date with all earlier pushes."""

    def dead_nodes(self) -> int:
        """The number of workers that exited before they had finished."""
        return 0

    def _check_type(self, key: Key) -> None:
        first = next(iter(self.stored), key)
        if type(first) is not type(key):
            raise MXNetError(
                f"Mixed key types are not allowed: key {key!r} is a {type(key).__name__}, but the "
                f"keys of this store are of type {type(first).__name__}."
            )

    def check(self, key: Key) -> Any:
        """The stored value of a key.

        Raises:
            MXNetError: it has none.
        """
        if key not in self.stored:
            self._check_type(key)
            raise MXNetError(f"key {key} doesn't exist. Did you init? Call init(key, value) first.")
        return self.stored[key]

    # ---- overridden by other stores ---------------------------------------------------------------

    def current(self, keys: Sequence[Key], priority: int) -> dict[Key, NDArray]:
        """The values of keys, which have been checked, after all earlier pushes."""
        return {key: self.stored[key] for key in keys}

    def rows(self, key: Key, row_ids: Any) -> NDArray:
        """Rows of a row_sparse value by their numbers, 0 where one is not stored.

        There may be others behind them: then batches with nearly as many rows share programs.
        """
        room = rounded_up(len(row_ids))
        padded = np.append(row_ids, row_ids[-1:].repeat(room - len(row_ids)))
        rows: NDArray = self.check(key)._rows_at(padded)
        return rows

    def set_updater(self, updater: Updater) -> None:
        """Change values by ``updater(key, pushed, stored)`` from now on."""
        self.settle()  # with the updater that they were pushed to
        self.updater = updater

    def give_states(self) -> None:
        """Use optimizer states that were loaded into the updater; here the updater is local."""

    def send_command(self, head: int, body: object) -> None:
        """Send a command to servers; here there are none."""

    def home(self, key: Key, values: Sequence[NDArray]) -> Context:
        """The context that stores the value of a key."""
        return cpu(0)

    def sum(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> list[list[Value]]:
        """For each key the sum of its dense arrays, on one or several contexts, home first."""
        values = [with_sum_recorded([_plain(each) for each in group]) for group in groups.values()]
        several = [group for group in values if len(group) > 1]
        sums = iter(sum_on_host(several, cpu(0), priority) if several else ())
        return [[next(sums)] if len(group) > 1 else group for group in values]

    def merge(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> dict[Key, NDArray]:
        """For each key the sum of its arrays, on the key's home device."""
        merged: dict[Key, Any] = {}
        dense: dict[Key, Sequence[NDArray]] = {}
        for key, group in groups.items():
            if any(each._is_sparse for each in group):
                merged[key] = _sum_sparse(group, self.home(key, group), self.stored[key].dtype)
            else:
                dense[key] = group
        homes = [self.home(key, group) for key, group in dense.items()]
        for key, home, values in zip(dense, homes, self.sum(dense, priority), strict=True):
            for value in values:
                if value.spec.context is home:
                    break
            else:
                value = _moved(values[0], home)
            merged[key] = groups[key][0]._wrap(value)
        return {key: merged[key] for key in groups}

    # ---- shared ------------------------------------------------------------------------------------

    def _mx_changing(self) -> list[dict[Any, Any]]:
        return [self.stored]

    def _take(self, merged: Mapping[Key, Any]) -> None:
        for key, value in merged.items():
            stored = self.stored[key]
            if stored.shape != value.shape:
                raise ShapeError(
                    f"push: the value of key {key} has shape {stored.shape}, but the pushed array has "
                    f"{value.shape}."
                )
        if self.updater is None:
            self.stored.update(merged)
        else:
            update_all([self.updater], partial(self._update_each, self.updater, merged), [self])

    def _update_each(self, updater: Updater, merged: Mapping[Key, Any]) -> None:
        for key, value in merged.items():
            stored = self.stored[key]
            if stored.context is not value.context:
                stored = self.stored[key] = stored.as_in_context(value.context)
            updater(key, value, stored)

    def _hand_out(self, values: Sequence[Value], outs: Any, priority: int) -> None:
        outs = list(outs)
        targets = [[out.context for out in arrays] for arrays in outs]
        copies = broadcast(values, targets, priority)
        flat = zip(chain.from_iterable(outs), chain.from_iterable(copies), strict=True)
        _share_all(list(flat))


def _share_all(pairs: Sequence[tuple[NDArray, Value]]) -> None:
    """Write values to arrays, to all or to none: see ``NDArray._share``."""

    if len(pairs) == 1:  # one write is whole by itself
        ((array, value),) = pairs
        array._share(value)
        return

    def share() -> None:
        for array, value in pairs:
            array._share(value)

    all_or_nothing(share)


def _plain(array: NDArray) -> Value:
    """The value detached from the tape."""
    value = array._read()
    return value if value.node is None else value.alias()


def with_sum_recorded(group: list[Value]) -> list[Value]:
    """Only the sum of values, added in the order given, if they are on one context; the values if not."""
    first, *others = group
    if not others or first.spec.dtype == np.bool_:
        return group
    if any(each.spec is not first.spec for each in others):
        return group
    total = first
    for each in others:
        (total,) = record(find("elemwise_add"), (), (), (total, each))
    return [total]


def _moved(value: Value, context: Context) -> Value:
    return broadcast([value], [[context]])[0][0]


def _sum_sparse(group: Sequence[Any], context: Context, dtype: Any) -> Any:
    """Their sum, on a context and in the dtype of the stored value."""
    moved = [each.as_in_context(context).astype(dtype, copy=False) for each in group]
    if len(moved) == 1:
        return moved[0].copy()
    if not all(isinstance(each, RowSparseNDArray) for each in moved):
        total = moved[0].tostype("default")
        for each in moved[1:]:
            total = total + each.tostype("default")
        return total
    return sum_of_rows([(each._aux[0], each._data) for each in moved], moved[0].shape)
