"""Elementwise programs on large arrays, a piece at a time.

Each operation of NumPy writes a new array. If that is larger than the processor's cache, the next operation
reads it back from memory, and the system has to map the memory first, which takes longer than the arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PIECE = 1 << 15
"""The number of elements in a piece."""


def in_pieces(
    run: Callable[..., Sequence[Any]], shape: tuple[int, ...], dtypes: Sequence[np.dtype]
) -> Callable[..., Sequence[Any]]:
    """An elementwise program for arrays of one shape, and numbers, that runs a piece at a time.

    Args:
        run: the program, for arrays of any shape.
        shape: the shape of the arrays and of all results.
        dtypes: the dtypes of the results.
    """
    size = math.prod(shape)

    def run_in_pieces(*values: Any) -> list[np.ndarray]:
        flat = [each.reshape(-1) if np.ndim(each) else each for each in values]
        results = [np.empty(shape, dtype) for dtype in dtypes]
        targets = [each.reshape(-1) for each in results]
        for start in range(0, size, PIECE):
            piece = slice(start, start + PIECE)
            computed = run(*[each[piece] if np.ndim(each) else each for each in flat])
            for target, part in zip(targets, computed, strict=True):
                target[piece] = part
        return results

    return run_in_pieces
