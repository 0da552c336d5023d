"""Buckets: arrays that share one exchange, as one flat array."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from mixnet.runtime.value.value import aligned_empty

BUCKET_BYTES = 4 << 20
"""Values share an exchange until they have this many bytes together."""

_ALONE_BYTES = 1 << 18  # a value from this size on is not copied next to others
_ALIGNMENT = 64


class Sized(Protocol):
    """An array to be sent."""

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def nbytes(self) -> int: ...


def buckets(arrays: Sequence[Sized]) -> Iterator[list[int]]:
    """Indices of arrays that share an exchange: of one dtype, in order, with limited total size."""
    open_buckets: dict[np.dtype, tuple[list[int], int]] = {}
    for place, array in enumerate(arrays):
        nbytes, dtype = array.nbytes, array.dtype
        if nbytes >= _ALONE_BYTES:
            yield [place]
            continue
        bucket, filled = open_buckets.get(dtype, ([], 0))
        if bucket and filled + nbytes > BUCKET_BYTES:
            yield bucket
            bucket, filled = [], 0
        bucket.append(place)
        open_buckets[dtype] = bucket, filled + nbytes
    for bucket, _ in open_buckets.values():
        yield bucket


def bucket_length(sizes: Sequence[int], itemsize: int) -> int:
    """How many elements a bucket of arrays has on its way.

    Args:
        sizes: elements of each array.
        itemsize: bytes of an element.
    """
    if len(sizes) == 1 and sizes[0] * itemsize >= _ALONE_BYTES:
        return sizes[0]  # as it is
    step = _step(itemsize)
    # Few lengths, so that there are few programs.
    return 1 << max(step, sum(math.ceil(size / step) * step for size in sizes) - 1).bit_length()


def _step(itemsize: int) -> int:
    return max(1, _ALIGNMENT // itemsize)


def places_in(sizes: Sequence[int], itemsize: int, has_any_length: bool) -> tuple[list[int], int]:
    """Where each array begins in the flat one, in elements, and how long that is."""
    step = _step(itemsize)
    places, place = [], 0
    for size in sizes:
        places.append(place)
        place += math.ceil(size / step) * step
    return places, place if has_any_length else bucket_length(sizes, itemsize)


def flattened(arrays: Sequence[np.ndarray], places: Sequence[int], size: int) -> np.ndarray:
    """One array of ``size`` elements with each array at its place, and zeros between them."""
    first = arrays[0]
    if len(arrays) == 1 and first.size == size:
        flat = np.ascontiguousarray(first).reshape(-1)
        if flat.ctypes.data % _ALIGNMENT == 0:
            return flat
    row = aligned_empty((size,), first.dtype)
    end = 0
    for array, start in zip(arrays, places, strict=True):
        row[end:start] = 0
        end = start + array.size
        row[start:end] = array.reshape(-1)
    row[end:] = 0
    return row
