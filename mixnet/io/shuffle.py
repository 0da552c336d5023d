"""The shuffle orders of MXNet's iterators: those of C++'s ``std::shuffle``."""

from __future__ import annotations

import numpy as np

_RANGE = 2**32 - 1


class Shuffler:
    """Draws the permutations of ``std::shuffle`` with ``std::mt19937`` in older versions of libstdc++.

    Each element is swapped with one at or before it; the index is a scaled 32-bit draw;
    draws that would introduce bias are rejected.

    Args:
        seed: of the generator.
    """

    def __init__(self, seed: int):
        self._generator = np.random.MT19937()
        self._generator._legacy_seeding(seed % 2**32)
        self._drawn: list[np.ndarray] = []

    def permutation(self, size: int) -> np.ndarray:
        """The next permutation of ``range(size)``."""
        counts = np.arange(2, size + 1, dtype=np.uint64)  # how many places each may go to
        scaling = _RANGE // counts
        draws = self._generator.random_raw(max(size - 1, 0)).astype(np.uint64)
        limit = counts * scaling
        first = self._first_rejected(draws, limit)
        while first is not None:
            # A rejected draw moves all later ones up by one.
            draws = np.concatenate([
                draws[:first], draws[first + 1 :], self._generator.random_raw(1).astype(np.uint64)
            ])  # fmt: skip
            first = self._first_rejected(draws, limit)
        order = list(range(size))
        for i, j in enumerate((draws // scaling).tolist(), 1):
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)

    @staticmethod
    def _first_rejected(draws: np.ndarray, limit: np.ndarray) -> int | None:
        rejected = draws >= limit
        return int(rejected.argmax()) if rejected.any() else None
