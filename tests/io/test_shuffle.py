"""The orders of C++'s shuffle."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mixnet.io.shuffle import Shuffler


def one_by_one(seed: int, sizes: list[int]) -> list[list[int]]:
    """The same written as the library does it, draw by draw."""
    generator = np.random.MT19937()
    generator._legacy_seeding(seed)
    results = []
    for size in sizes:
        order = list(range(size))
        for i in range(1, size):
            scaling = (2**32 - 1) // (i + 1)
            drawn = int(generator.random_raw())
            while drawn >= (i + 1) * scaling:
                drawn = int(generator.random_raw())
            j = drawn // scaling
            order[i], order[j] = order[j], order[i]
        results.append(order)
    return results


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 40), max_size=4))
def test_shuffled_orders_are_permutations(seed: int, sizes: list[int]) -> None:
    shuffler = Shuffler(seed)
    assert [shuffler.permutation(size).tolist() for size in sizes] == one_by_one(seed, sizes)


def test_rejected_draws_shift_later_ones() -> None:
    class Worst(Shuffler):
        """Two draws in a row that are rejected, whatever the count, then zeros."""

        def __init__(self) -> None:
            super().__init__(0)
            values = iter([2**32 - 1, 2**32 - 1] + [0] * 100)
            self._generator = self  # type: ignore[assignment]
            self._values = values

        def random_raw(self, count: int) -> np.ndarray:
            return np.array([next(self._values) for _ in range(count)], np.uint64)

    order = list(range(6))
    for i in range(1, 6):
        order[i], order[0] = order[0], order[i]
    assert Worst().permutation(6).tolist() == order
