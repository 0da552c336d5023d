"""Putting arrays on devices, and assembling them from parts, without the checks of JAX's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def batched_put() -> Callable[..., Any] | None:
    """``device_put(aval, sharding, [data of each device], [device])``; None where this JAX has none.

    ``jax.device_put`` then does the same, in ten times the time for a small array.
    """
    try:
        from jaxlib._jax import batched_device_put
    except ImportError:
        return None
    device_put: Callable[..., Any] = batched_device_put
    return device_put


def assembled() -> Callable[..., Any] | None:
    """``make(aval, sharding, parts)``: one array of the parts that lie on devices; None where
    this JAX has none.

    ``jax.make_array_from_single_device_arrays`` then does the same, in ten times the time for small arrays.
    """
    try:
        from jax._src.array import ArrayImpl
    except ImportError:
        return None

    def make(aval: Any, sharding: Any, parts: Any) -> Any:
        return ArrayImpl(aval, sharding, parts, committed=True, _skip_checks=True)

    return make


def parts_of(array: Any) -> list[Any]:
    """The parts of an array on the devices of this process, in the order of the devices.

    ``addressable_data`` gives them one at a time, and looks each time whether the array still exists.
    """
    parts = getattr(array, "_arrays", None)
    if parts is None:
        return [each.data for each in array.addressable_shards]
    return list(parts)
