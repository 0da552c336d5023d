"""``dist_async``: servers hold the values and apply each push on arrival; workers never wait for others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np

from mixnet import config
from mixnet.autograd.scope import RecordingScope
from mixnet.base import AttributeValueError, MXNetError
from mixnet.distributed.placement import Part, Placement
from mixnet.engine.current import current
from mixnet.engine.variable import Var
from mixnet.kvstore.compression import Compression, check_compressible
from mixnet.kvstore.device import DeviceStore
from mixnet.kvstore.dist import InJob
from mixnet.kvstore.local import Key, LocalStore, Updater
from mixnet.kvstore.messages import dumps, loads, sendable
from mixnet.kvstore.power_sgd import PowerSGD
from mixnet.kvstore.servers import Servers, servers
from mixnet.kvstore.shard import Rows, Words
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray
from mixnet.optimizer import Updater as OptimizerUpdater
from mixnet.runtime.value.later import Later, arrays_of, variables_of
from mixnet.runtime.value.value import Spec, Value, adopt


class AsyncStore(InJob, LocalStore):
    """A store on servers; the arrays of a process's devices are summed first."""

    keeps_sums = False

    def __init__(self) -> None:
        super().__init__()
        self._servers: Servers = servers()
        self._number = next(self._servers.stores)
        bound: int = config.get("MXNET_KVSTORE_BIGARRAY_BOUND")
        self._placement = Placement(self._servers.count, bound)
        self._layouts: dict[Key, list[Part]] = {}
        self._vars: dict[Key, Var] = {}
        self._updater_turn = 0
        self._compression: Compression | None = None
        self._unsent: dict[tuple[Key, int], Any] = {}

    # ---- values -----------------------------------------------------------------------------------

    def share(self, keys: Sequence[Key]) -> None:
        """Send the first worker's values to the servers. All workers wait until the values have arrived.

        Raises:
            MXNetError: workers have different keys, shapes or dtypes.
        """
        self._check_alike(keys)
        for key in keys:
            spec = self.stored[key]._spec
            self._layouts[key] = self._placement.place(self.stored[key].shape, spec.dtype.itemsize)
            self._vars[key] = Var(f"{key} on servers")
        if self.rank == 0:
            values = {key: self._on_host(self.stored[key]) for key in keys}
            self._tell("init", self._split(values))
        self.barrier()

    def push(self, groups: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Sum each group of arrays; the servers update their values by the sums."""
        for key, group in groups.items():
            self._check_shape(key, group[0].shape)
        with RecordingScope(False, None):
            merged = self.merge(groups, priority)
        sources, makes = [], []
        for key, value in merged.items():
            values, make = self._travelling(key, value)
            sources.append(values)
            makes.append(make)
        flat = [value for values in sources for value in values]
        reads = variables_of(flat, "a push to servers")

        def work() -> None:
            content = {
                key: make(arrays_of(values, "push"))
                for key, values, make in zip(merged, sources, makes, strict=True)
            }
            self._send("push", self._split(content))

        self._servers.push(work, reads, [self._vars[key] for key in groups], priority, "push")

    def push_pull(
        self,
        groups: Mapping[Key, Sequence[NDArray]],
        outs: Mapping[Key, Sequence[NDArray]],
        priority: int,
    ) -> None:
        """A push and a pull."""
        self.push(groups, priority)
        self.pull(outs, priority)

    def current(self, keys: Sequence[Key], priority: int) -> dict[Key, NDArray]:
        """The servers' values of keys, pending."""
        specs = []
        for key in keys:
            value = self.check(key)
            specs.append(Spec.of(value.shape, value._spec.dtype, value.context))

        def work() -> list[np.ndarray]:
            pairs_by_server = self._by_server(keys)
            parts = self._servers.each(
                lambda number, channel: channel.ask("pull", self._number, pairs_by_server[number]),
                list(pairs_by_server),
            )
            have = {
                (key, number): part
                for number, some in zip(pairs_by_server, parts, strict=True)
                for key, part in zip(pairs_by_server[number], some, strict=True)
            }
            return [self._joined(key, have) for key in keys]

        values = self._pending(specs, work, keys, priority, "pull")
        newest = {}
        for key, value in zip(keys, values, strict=True):
            stored = self.stored[key]
            dense = (NDArray if stored._is_sparse else stored)._wrap(value)
            newest[key] = dense.tostype("row_sparse") if stored._is_sparse else dense
        return newest

    def _joined(self, key: Key, have: Mapping[tuple[Key, int], np.ndarray]) -> np.ndarray:
        parts = [have[key, part.server] for part in self._layouts[key]]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def rows(self, key: Key, row_ids: np.ndarray) -> NDArray:
        """Rows of a row_sparse value by their numbers, pending."""
        stored = self.check(key)
        spec = Spec.of((len(row_ids), *stored.shape[1:]), stored._spec.dtype, stored.context)

        def work() -> list[np.ndarray]:
            rows = np.zeros(spec.shape, spec.dtype)
            places = {}
            for part in self._layouts[key]:
                end = stored.shape[0] if part.end is None else part.end
                places[part.server] = part, (part.begin <= row_ids) & (row_ids < end)

            def ask(number: int, channel: Any) -> None:
                part, inside = places[number]
                pairs = [(key, row_ids[inside] - part.begin)]
                rows[inside] = channel.ask("pull_rows", self._number, pairs)[0]

            self._servers.each(ask, list(places))
            return [rows]

        return NDArray._wrap(self._pending([spec], work, [key], 0, "pull of rows")[0])

    # ---- how values are changed -------------------------------------------------------------------

    def set_updater(self, updater: Updater) -> None:
        """Set the updater, or the optimizer's updater, that the servers call on each push.

        Raises:
            MXNetError: it cannot be pickled.
        """
        self.updater = updater
        self._updater_turn += 1
        try:
            pickled = dumps(sendable(updater))
        except Exception as error:
            raise MXNetError(
                f"The updater {updater!r:.60} cannot be sent to the servers: {error}. Define it "
                f"in a module that "
                f"they can import, or install cloudpickle: pip install mixnet[async]."
            ) from None
        content = (self._updater_turn, pickled)
        self._tell_all("updater", content)

    def send_command(self, head: int, body: Any) -> None:
        """0: an optimizer, pickled; servers print others."""
        if head == 0:
            encoded = body.encode("latin1") if isinstance(body, str) else bytes(body)
            self._updater_turn += 1
            content = (self._updater_turn, encoded)
            self._tell_all("updater", content)
        else:
            self._tell_all("command", (head, body))

    def compress(self, compression: Compression) -> None:
        """Compress gradients from now on.

        Raises:
            MXNetError: the compression is a sum over all workers.
        """
        if isinstance(compression, PowerSGD):
            raise AttributeValueError(
                "PowerSGD sums the gradients of all workers, but servers apply them one by one. "
                "Use "
                "'2bit', '1bit', 'fp16' or 'bf16' with 'dist_async', or PowerSGD with 'dist_sync'."
            )
        self._compression = compression
        self._tell_all("decode", compression)

    def server_processes(self) -> list[int]:
        """Process ids of the servers, each on its machine."""
        return self._servers.now(
            lambda: self._servers.each(
                lambda number, channel: channel.ask("process"), range(self._servers.count)
            ),
            "process numbers",
        )

    def settle(self) -> None:
        """Fetch the states of the optimizer from the servers."""
        if not isinstance(self.updater, OptimizerUpdater):
            return
        answers = self._servers.now(
            lambda: self._servers.each(
                lambda number, channel: channel.ask("states", self._number),
                range(self._servers.count),
            ),
            "states",
            self._vars.values(),
        )
        states = {}
        for key, parts in self._layouts.items():
            pieces = [
                answers[part.server][0][key] for part in parts if key in answers[part.server][0]
            ]
            if len(pieces) == len(parts):
                states[key] = _joined_state(pieces)
        self.updater.states = states
        self.updater.states_synced = dict.fromkeys(states, True)
        self.updater.optimizer = loads(answers[0][1])

    def give_states(self) -> None:
        """Send optimizer states that were read from a file to the servers; those of the first worker."""
        if isinstance(self.updater, OptimizerUpdater) and self.rank == 0:
            pickled = dumps(self.updater.optimizer)
            split: dict[int, Any] = {i: ({}, pickled) for i in range(self._servers.count)}
            for key, state in self.updater.states.items():
                for part in self._layouts.get(key, ()):
                    split[part.server][0][key] = _part_of_state(state, part)
            self._tell("states", split)
        self.barrier()

    def barrier(self) -> None:
        """Wait until all workers have called this, and the values include everything that they pushed before.

        Raises:
            WorkerLostError: a server is away for too long.
        """
        for var in self._vars.values():
            current.engine.settle(var)  # errors of pushes are raised by pulls
        # A server that is killed forgets what its database lacks until the worker speaks to it again,
        # and a worker that waits for others does not.
        self._servers.now(self._finish_channels, "barrier")
        super().barrier()

    def _finish_channels(self) -> None:
        self._servers.each(lambda number, channel: channel.finish(), range(self._servers.count))

    # ---- on the way -------------------------------------------------------------------------------

    def _travelling(self, key: Key, value: Any) -> tuple[list[Value], Callable[[list[Any]], Any]]:
        """The part of a gradient to compute, and the function that encodes it for sending."""
        shape = value.shape
        if isinstance(value, RowSparseNDArray):

            def rows(arrays: list[Any]) -> Rows:
                data, numbers = (np.asarray(each) for each in arrays)
                used = numbers < shape[0]  # there may be room for more behind
                return Rows(numbers[used].astype(np.int64), data[used], shape)

            return [part._read() for part in value._roomy], rows
        read = value._read()
        if self._compression is not None:
            check_compressible(key, read.spec)
        return [read], lambda arrays: np.asarray(arrays[0])

    def _split(self, content: Mapping[Key, Any]) -> dict[int, dict[Key, Any]]:
        """The parts of the data for each server."""
        parts: dict[int, dict[Key, Any]] = {}
        for key, value in content.items():
            for part in self._layouts[key]:
                parts.setdefault(part.server, {})[key] = _part(value, part)
        return parts

    def _send(self, command: str, split: Mapping[int, Any]) -> None:
        """Execute a command on servers. Runs on the server thread."""
        if command == "push" and self._compression is not None:
            split = {
                number: {key: self._encoded(key, number, each) for key, each in some.items()}
                for number, some in split.items()
            }
        self._servers.each(
            lambda number, channel: channel.do(command, self._number, split[number]), list(split)
        )

    def _encoded(self, key: Key, number: int, gradient: jax.Array) -> Any:
        if isinstance(gradient, Rows):
            return gradient
        before = self._unsent.get((key, number))
        if before is None or before.shape != gradient.shape or before.dtype != gradient.dtype:
            before = np.zeros_like(gradient)
        with jax.enable_x64(True):
            words, rest = _encode(self._compression)(gradient, before)
        self._unsent[key, number] = rest
        return Words(np.asarray(words), gradient.shape, gradient.dtype.name)

    def _tell(self, command: str, split: Mapping[int, Any]) -> None:
        work = partial(self._send, command, split)
        self._servers.now(work, command, self._vars.values())  # in its place among the pushes

    def _tell_all(self, command: str, content: object) -> None:
        self._tell(command, dict.fromkeys(range(self._servers.count), content))

    def _by_server(self, keys: Sequence[Key]) -> dict[int, list[Key]]:
        keys_of: dict[int, list[Key]] = {}
        for key in keys:
            for part in self._layouts[key]:
                keys_of.setdefault(part.server, []).append(key)
        return keys_of

    def _pending(
        self,
        specs: Sequence[Spec],
        work: Callable[[], list[np.ndarray]],
        keys: Sequence[Key],
        priority: int,
        name: str,
    ) -> list[Value]:
        """Pending values that ``work`` fetches, after all earlier pushes of the keys."""
        holder = Later(name)
        values = holder.pending(specs)
        reads = [self._vars[key] for key in keys]

        def run() -> None:
            for var in reads:  # a push of this worker that failed is known here
                if var.error is not None:
                    raise var.error
            host = [np.asarray(each, spec.dtype) for each, spec in zip(work(), specs, strict=True)]
            holder.fill(
                [
                    adopt(np.ascontiguousarray(each).reshape(spec.shape), spec.context).array
                    for each, spec in zip(host, specs, strict=True)
                ]
            )

        self._servers.push(run, reads, (holder.var,), priority, name)
        return values

    @staticmethod
    def _on_host(value: Any) -> Any:
        if isinstance(value, RowSparseNDArray):
            return Rows(
                value._aux[0].asnumpy().astype(np.int64), value._data.asnumpy(), value.shape
            )
        return value.asnumpy()


class AsyncDeviceStore(AsyncStore, DeviceStore):
    """``dist_device_async``: devices are summed by XLA's collectives."""


@lru_cache
def _encode(compression: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    return jax.jit(compression.encode)


def _part(whole: Any, part: Part) -> Any:
    if part.end is None:
        return whole
    if isinstance(whole, Rows):
        is_inside = (part.begin <= whole.numbers) & (whole.numbers < part.end)
        shape = (part.end - part.begin, *whole.shape[1:])
        return Rows(whole.numbers[is_inside] - part.begin, whole.data[is_inside], shape)
    return part.of(whole)


def _joined_state(pieces: list[Any]) -> Any:
    first = pieces[0]
    if isinstance(first, (tuple, list)):
        return type(first)(_joined_state(list(each)) for each in zip(*pieces, strict=True))
    if isinstance(first, np.ndarray):
        joined = first if len(pieces) == 1 else np.concatenate(pieces)
        return array(joined, dtype=joined.dtype)
    return first


def _part_of_state(state: object, part: Part) -> Any:
    if isinstance(state, (tuple, list)):
        return type(state)(_part_of_state(each, part) for each in state)
    return part.of(state.asnumpy()) if isinstance(state, NDArray) else state
