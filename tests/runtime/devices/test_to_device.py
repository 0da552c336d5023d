"""An array takes over memory that nothing else uses; shared memory is copied."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet.runtime.devices.to_device import to_device
from mixnet.runtime.value.value import Spec


def is_shared(data: np.ndarray, memory: np.ndarray) -> bool:
    placed = to_device(data, Spec.of(data.shape, data.dtype, mx.cpu()))
    assert (np.asarray(placed) == data).all()
    return np.shares_memory(np.asarray(placed), memory)


def aligned(count: int) -> np.ndarray:
    """Numbers at an address that XLA accepts without a copy."""
    for _ in range(1000):
        data = np.arange(count, dtype=np.float32)
        if data.ctypes.data % 64 == 0:
            return data
    pytest.skip("NumPy gave no memory at a multiple of 64 bytes")


def test_a_reshaped_new_array_is_not_copied() -> None:
    view = aligned(64).reshape(8, 8)
    assert is_shared(view, view)


def test_memory_with_another_owner_is_copied() -> None:
    data = aligned(64)
    assert not is_shared(data.reshape(8, 8), data)


def test_two_views_of_one_array_are_copied() -> None:
    data = aligned(64)
    one, other = data.reshape(8, 8), data.reshape(4, 16)
    del data
    assert not is_shared(one, other)


def test_slices_and_transposed_arrays_are_copied() -> None:
    part = aligned(64)[32:]
    assert not is_shared(part, part)
    transposed = aligned(64).reshape(8, 8).T
    assert not is_shared(transposed, transposed)
