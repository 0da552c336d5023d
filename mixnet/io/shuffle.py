"""The shuffle orders of MXNet's iterators: those of C++'s ``std::shuffle`` with ``std::mt19937``."""

from __future__ import annotations

import numpy as np

from mixnet.ops.generators.mersenne import shuffled


class Shuffler:
    """Draws permutations.

    Args:
        seed: of the generator.
    """

    def __init__(self, seed: int):
        self._generator = np.random.MT19937()
        self._generator._legacy_seeding(seed % 2**32)

    def permutation(self, size: int) -> np.ndarray:
        """The next permutation of ``range(size)``."""
        return shuffled(size, self._generator.random_raw)
