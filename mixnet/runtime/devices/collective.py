"""Sums and copies over several devices of the process, as engine tasks.

The arrays of a group, one for each device, become the shards of one array on a mesh, which XLA's
collectives reduce: nothing passes through the host, and a bucket of groups is one program. CPU devices
share the host's memory, so their sums need no program (:mod:`mixnet.runtime.interpret.exchange`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from mixnet.context import Context
from mixnet.engine.variable import Var
from mixnet.ops.schema.over_devices import AXIS, Exchange
from mixnet.runtime.value.later import later
from mixnet.runtime.value.value import Spec, Value

BUCKET_BYTES = 4 << 20
"""The bytes on one device up to which groups share a program."""

_SMALL_BYTES = 1 << 16  # smaller arrays are sent together in one message

_cpu_exchanges = Var("exchanges between devices of the CPU")

Groups = list[list[Value]]
Rows = list[list[Any]]

HostExchange = Callable[[Exchange, Rows, Sequence[Context]], Rows | None]
_interpreter: HostExchange | None = None


def interpret_by(interpreter: HostExchange) -> None:
    """Register the function that computes exchanges between CPU devices; if it returns None, a program runs.

    The interpreter registers itself, because this module is below it and may not import it.
    """
    global _interpreter
    _interpreter = interpreter


class LastExchange:
    """The last exchange between CPU devices, which may still run after its task has ended."""

    def __init__(self) -> None:
        self._result: Any = None

    def note(self, results: Sequence[Any]) -> None:
        """Remember one of its results, to wait for.

        All results of a program are ready at once, so the smallest is enough; later programs may reuse the
        buffers of the others.
        """
        self._result = min(results, key=lambda each: each.nbytes, default=None)

    def wait(self) -> None:
        """Wait until it has ended. Reading its results raises its errors."""
        result, self._result = self._result, None
        if result is not None and not result.is_deleted():
            try:
                result.block_until_ready()
            except Exception:  # readers of the result get the error
                return


last_exchange = LastExchange()


def all_reduce(groups: Sequence[Sequence[Value]], priority: int = 0) -> Groups:
    """The sum of each group, on every context of the group.

    Args:
        groups: values of one shape and dtype, one for each context.
        priority: of the task; later buckets run after earlier ones.
    """
    sums: Groups = [[] for _ in groups]
    for number, bucket in enumerate(_buckets(groups)):
        values = [groups[place] for place in bucket]
        totals = run_on_mesh(_sum, values, priority - number, "all-reduce")
        for place, each in zip(bucket, totals, strict=True):
            sums[place] = each
    return sums


def run_on_mesh(
    exchange: Exchange, groups: Sequence[Sequence[Value]], priority: int = 0, name: str = ""
) -> Groups:
    """Run a function on every device with its own values; collectives use ``AXIS``.

    Args:
        exchange: hashable; gets one array of each group, returns as many of the same shapes.
        groups: values of one shape and dtype, one for each context; all groups on the same contexts.
        priority: of the task.
        name: shown in timelines.
    """
    contexts = tuple(value.spec.context for value in groups[0])
    devices = tuple(context.device for context in contexts)
    count = len(devices)
    sources = [value for group in groups for value in group]

    def work(arrays: list[Any]) -> list[Any]:
        rows = [arrays[i : i + count] for i in range(0, len(arrays), count)]
        with jax.enable_x64(True):
            return [each for row in exchanged(exchange, rows, contexts) for each in row]

    specs = [value.spec for value in sources]
    turns = exchange_variables(devices)
    values_later = later(name, sources, specs, work, "communication", priority, name, turns)
    return [values_later[i : i + count] for i in range(0, len(values_later), count)]


def exchange_variables(devices: Sequence[Any]) -> tuple[Var, ...]:
    """The variables that an exchange between these devices writes besides its results.

    CPU devices share threads, and each device that waits for others occupies one, so two concurrent
    exchanges could deadlock. Each therefore writes a common variable and ends before the next begins.
    A task that writes it must not wait for anything else: see ``later``.
    """
    if devices[0].platform == "cpu" and len(set(devices)) == len(devices):
        return (_cpu_exchanges,)
    return ()


def exchanged(exchange: Exchange, rows: Rows, contexts: Sequence[Context]) -> Rows:
    """Run ``exchange`` on rows of inputs, one array per context; returns rows of results.

    In a task that writes ``exchange_variables`` of their devices.
    """
    results = None
    if _interpreter is not None and all(each.device.platform == "cpu" for each in contexts):
        results = _interpreter(exchange, rows, contexts)
    if results is None:
        results = on_mesh(exchange, rows, tuple(context.device for context in contexts))
    return results


def on_mesh(exchange: Exchange, rows: Rows, devices: tuple[Any, ...]) -> Rows:
    """Run ``exchange`` on rows of inputs, one array per device; returns rows of results.

    In a task that writes ``exchange_variables(devices)``.
    """
    if len(set(devices)) < len(devices):  # contexts that share a device: all of them on one
        stacked = [jnp.stack(jax.device_put(row, devices[0])) for row in rows]
        results = _program_on_one(exchange)(*stacked)
        return [jax.device_put(list(result), list(devices)) for result in results]
    sharding = _sharding(devices)
    arrays = []
    for row in rows:
        shards = [jnp.reshape(each, (1,)) for each in row] if not row[0].ndim else row
        shape = (shards[0].shape[0] * len(devices), *shards[0].shape[1:])
        arrays.append(jax.make_array_from_single_device_arrays(shape, sharding, shards))
    # JAX returns before the collective has run; on CPUs it must end before the next exchange begins.
    waits = bool(exchange_variables(devices))
    if waits:
        last_exchange.wait()
    results = _program(exchange, devices)(*arrays)
    if waits:
        jax.block_until_ready(results)
    arrays_on_mesh = []
    for row, result in zip(rows, results, strict=True):
        # JAX chooses the order of shards; the caller expects the order of its contexts.
        by_device = {shard.device: shard.data for shard in result.addressable_shards}
        parts = [by_device[device] for device in devices]
        arrays_on_mesh.append(parts if row[0].ndim else [each.reshape(()) for each in parts])
    return arrays_on_mesh


@lru_cache(maxsize=64)
def _sharding(devices: tuple[Any, ...]) -> NamedSharding:
    return NamedSharding(Mesh(np.array(devices), (AXIS,)), PartitionSpec(AXIS))


@lru_cache(maxsize=256)
def _program(exchange: Exchange, devices: tuple[Any, ...]) -> Any:
    sharding = _sharding(devices)

    def shard(*arrays: jax.Array) -> tuple[Any, ...]:
        return exchange(arrays)

    # Each result is the device's own shard, whether or not all of them are equal.
    run = jax.shard_map(
        shard, mesh=sharding.mesh, in_specs=sharding.spec, out_specs=sharding.spec, check_vma=False
    )
    return jax.jit(run)


@lru_cache(maxsize=256)
def _program_on_one(exchange: Exchange) -> Any:
    return jax.jit(jax.vmap(lambda *arrays: exchange(arrays), axis_name=AXIS))


def _sum(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Sums over the devices; small arrays of one dtype are sent as one."""
    sums: list[Any] = [None] * len(arrays)
    small: dict[Any, list[int]] = {}
    for i, each in enumerate(arrays):
        if each.size * each.dtype.itemsize < _SMALL_BYTES:
            small.setdefault(each.dtype, []).append(i)
        else:
            sums[i] = jax.lax.psum(each, AXIS)
    for places in small.values():
        total = jax.lax.psum(jnp.concatenate([arrays[i].ravel() for i in places]), AXIS)
        start = 0
        for i in places:
            end = start + arrays[i].size
            sums[i] = total[start:end].reshape(arrays[i].shape)
            start = end
    return tuple(sums)


def gather(array: object) -> Any:
    """Within an exchange: the arrays of all devices, concatenated in rank order."""
    return jax.lax.all_gather(array, AXIS)


def _buckets(groups: Sequence[Sequence[Value]]) -> list[list[int]]:
    """Indices of groups that share a program: with the same contexts, and limited total size."""
    buckets: list[list[int]] = []
    open_buckets: dict[tuple[Context, ...], tuple[list[int], int]] = {}
    for place, group in enumerate(groups):
        contexts = tuple(value.spec.context for value in group)
        bucket, nbytes = open_buckets.get(contexts, ([], 0))
        if not bucket or nbytes + group[0].spec.nbytes > BUCKET_BYTES:
            bucket, nbytes = [], 0
            buckets.append(bucket)
        bucket.append(place)
        open_buckets[contexts] = bucket, nbytes + group[0].spec.nbytes
    return buckets


def sum_on_host(
    groups: Sequence[Sequence[Value]], context: Context, priority: int = 0
) -> list[Value]:
    """The sum of each group, added on the host in the order given, on a CPU context."""
    sums = []
    for group in groups:
        first = group[0].spec
        spec = Spec.of(first.shape, first.dtype, context)

        def work(arrays: list[Any], device: jax.Device = context.device) -> list[Any]:
            with np.errstate(all="ignore"):  # infinities and NaN are ordinary results
                total = reduce(np.add, [np.asarray(each) for each in arrays])
            with jax.enable_x64(True):
                return [jax.device_put(np.asarray(total), device)]

        sums += later("sum on the host", group, (spec,), work, "communication", priority, "sum")
    return sums


def broadcast(
    values: Sequence[Value], targets: Sequence[Sequence[Context]], priority: int = 0
) -> Groups:
    """Copies of each value on its target contexts, made in one task; on its own context, the value itself.

    Args:
        values: on any contexts.
        targets: for each value the target contexts.
        priority: of the task.
    """
    copies: list[list[Any]] = [[None] * len(contexts) for contexts in targets]
    pending: list[tuple[int, int]] = []
    for i, (value, contexts) in enumerate(zip(values, targets, strict=True)):
        for k, context in enumerate(contexts):
            if context is value.spec.context:
                copies[i][k] = value
            else:
                pending.append((i, k))
    if not pending:
        return copies
    # A value with several targets is only one input of the task.
    numbers = list(dict.fromkeys(i for i, _ in pending))
    place = {number: at for at, number in enumerate(numbers)}
    specs = [Spec.of(values[i].spec.shape, values[i].spec.dtype, targets[i][k]) for i, k in pending]
    devices = [spec.context.device for spec in specs]

    def work(arrays: list[Any]) -> list[Any]:
        with jax.enable_x64(True):
            copied: list[Any] = jax.device_put([arrays[place[i]] for i, _ in pending], devices)
        return copied

    moved = later(
        "broadcast", [values[i] for i in numbers], specs, work, "communication", priority, "copy"
    )
    for (i, k), value, device in zip(pending, moved, devices, strict=True):
        value.shared = values[i].spec.context.device is device  # one buffer, two values
        copies[i][k] = value
    return copies
