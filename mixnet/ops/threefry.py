"""Random bits on the host: the same as JAX makes on a device from the same key."""

from __future__ import annotations

from typing import Any

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
    for turn in range(5):
        for by in _ROTATIONS[turn % 2]:
            x = x + y
            y = (np.left_shift(y, np.uint32(by)) | np.right_shift(y, np.uint32(32 - by))) ^ x
        x = x + words[(turn + 1) % 3]
        y = y + words[(turn + 2) % 3] + np.uint32(turn + 1)
    return x, y


def fold_in(key: Any, number: int) -> np.ndarray:
    """The key that ``jax.random.fold_in`` makes."""
    number = int(number)
    return np.array(threefry(key, (number >> 32) & MASK, number & MASK), np.uint32)
