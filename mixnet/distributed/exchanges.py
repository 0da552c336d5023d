"""Exchanges: computations of all processes together on flat arrays, one from each process."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, Sharding, SingleDeviceSharding

from mixnet.distributed.awaited import Steps
from mixnet.distributed.direct import Direct
from mixnet.ops.schema.over_devices import AXIS, Exchange
from mixnet.private_jax.arrays import batched_put


def over_processes(part: np.ndarray, sharding: NamedSharding) -> jax.Array:
    """A flat array over all processes, of which this one has a part; its memory is used if it is aligned."""
    return _placed(part, (len(part) * sharding.num_devices,), sharding)


def on_device(array: np.ndarray, sharding: SingleDeviceSharding) -> jax.Array:
    """An array on this process's device of the job; its memory is used if it is aligned."""
    return _placed(array, array.shape, sharding)


def _placed(part: np.ndarray, shape: tuple[int, ...], sharding: Sharding) -> jax.Array:
    if _device_put is None:
        return jax.make_array_from_callback(shape, sharding, lambda index: part)
    aval, devices = _layout(shape, part.dtype, sharding)
    array: jax.Array = _device_put(aval, sharding, [part], devices)
    return array


@lru_cache(maxsize=4096)
def _layout(shape: tuple[int, ...], dtype: np.dtype, sharding: Sharding) -> tuple[Any, list[Any]]:
    return jax.core.ShapedArray(shape, dtype), list(sharding.addressable_devices)


_device_put = batched_put()


@dataclass(frozen=True)
class Shaped:
    """An exchange of arrays of some shapes as one of flat arrays, which may be longer."""

    exchange: Exchange
    shapes: tuple[tuple[int, ...], ...]

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The computation in each process."""
        parts = [
            each[: math.prod(shape)].reshape(shape)
            for each, shape in zip(arrays, self.shapes, strict=True)
        ]
        exchanged = zip(self.exchange(parts), arrays, strict=True)
        return tuple(jnp.pad(each.ravel(), (0, len(flat) - each.size)) for each, flat in exchanged)


def sums(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The exchange that sums over all processes."""
    return tuple(jax.lax.psum(each, AXIS) for each in arrays)


@dataclass(frozen=True)
class Copies:
    """The exchange that copies one process's values to all, bit for bit.

    Args:
        root: rank of the one.
    """

    root: int = 0

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The computation in each process: all but the root contribute zeros."""
        is_root = jax.lax.axis_index(AXIS) == self.root
        copies = []
        for each in arrays:
            bits = jax.lax.bitcast_convert_type(each, f"uint{8 * each.dtype.itemsize}")
            total = jax.lax.psum(jnp.where(is_root, bits, 0), AXIS)
            copies.append(jax.lax.bitcast_convert_type(total, each.dtype))
        return tuple(copies)


def swapped(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The exchange in which every process sends a part to each other one (all-to-all), in rank order."""
    return tuple(jax.lax.all_to_all(each, AXIS, 0, 0, tiled=True) for each in arrays)


def gathered(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The exchange that concatenates the values of all processes, for all of them (all-gather)."""
    return tuple(jax.lax.all_gather(each, AXIS, tiled=True) for each in arrays)


DIRECTLY: dict[Exchange, Callable[[Direct, np.ndarray], Steps[np.ndarray]]] = {
    sums: Direct.sum,
    gathered: Direct.gather,
}
"""How short messages are exchanged without a program."""


@lru_cache(maxsize=1024)
def program_of(exchange: Exchange, sharding: NamedSharding) -> Any:
    def shard(*arrays: object) -> tuple[Any, ...]:
        return exchange(arrays)

    return jax.jit(
        jax.shard_map(
            shard,
            mesh=sharding.mesh,
            in_specs=sharding.spec,
            out_specs=sharding.spec,
            check_vma=False,
        )
    )
