"""Random bits on the host, identical to those of JAX on a device for the same key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
MASK = 0xFFFFFFFF


def threefry(key: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """The block cipher of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).

    Args:
        key: two words.
        first: uint32 words to encrypt; numbers of Python for one block, which is quicker.
        second: the other half.
    """
    schedule = (int(key[0]), int(key[1]), int(key[0]) ^ int(key[1]) ^ 0x1BD11BDA)
    if isinstance(first, int):
        x, y = (first + schedule[0]) & MASK, (second + schedule[1]) & MASK
        for turn in range(5):
            for by in _ROTATIONS[turn % 2]:
                x = (x + y) & MASK
                y = ((y << by) | (y >> (32 - by))) & MASK ^ x
            x = (x + schedule[(turn + 1) % 3]) & MASK
            y = (y + schedule[(turn + 2) % 3] + turn + 1) & MASK
        return x, y
    words = [np.uint32(each) for each in schedule]
    x, y = first + words[0], second + words[1]
    spare = np.empty_like(y)
    for turn in range(5):
        for by in _ROTATIONS[turn % 2]:
            np.add(x, y, out=x)
            np.left_shift(y, np.uint32(by), out=spare)
            np.right_shift(y, np.uint32(32 - by), out=y)
            np.bitwise_or(y, spare, out=y)
            np.bitwise_xor(y, x, out=y)
        np.add(x, words[(turn + 1) % 3], out=x)
        np.add(y, words[(turn + 2) % 3] + np.uint32(turn + 1), out=y)
    return x, y


_BLOCK = 32768
"""Words that are encrypted at a time: few enough for the processor's cache, and so many that
calls cost little.
"""


def stream(key: jax.Array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Both words of each of the numbers from 0 to ``count``, encrypted.

    Args:
        key: two words.
        count: below 2**64.
    """
    first, second = np.empty(count, np.uint32), np.empty(count, np.uint32)
    for start, x, y in _blocks(key, count):
        first[start : start + len(x)], second[start : start + len(y)] = x, y
    return first, second


def bits(key: jax.Array, count: int) -> np.ndarray:
    """``count`` random words of 32 bits: the exclusive or of both words of each number, encrypted.

    Args:
        key: two words.
        count: below 2**64.
    """
    words = np.empty(count, np.uint32)
    for start, x, y in _blocks(key, count):
        np.bitwise_xor(x, y, out=words[start : start + len(x)])
    return words


def _blocks(key: Any, count: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    low = np.arange(min(count, _BLOCK), dtype=np.uint32)
    for start in range(0, count, _BLOCK):
        numbers = low[: count - start]
        # A block starts at a multiple of its length, so no sum passes 2**32.
        high = np.broadcast_to(np.uint32(start >> 32), numbers.shape)
        yield start, *threefry(key, high, numbers + np.uint32(start & MASK))


def fold_in(key: Any, number: int) -> np.ndarray:
    """The key that ``jax.random.fold_in`` makes."""
    number = int(number)
    return np.array(threefry(key, (number >> 32) & MASK, number & MASK), np.uint32)
