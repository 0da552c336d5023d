"""Samplers of contrib."""

from __future__ import annotations

import numpy as np
import pytest

from mixnet.gluon.contrib.data import SplitSampler


def test_parts_have_equal_lengths_and_are_disjoint() -> None:
    parts = [SplitSampler(11, num_parts=3, part_index=i) for i in range(3)]
    numbers = [sorted(part) for part in parts]
    assert [len(part) for part in parts] == [len(each) for each in numbers] == [3, 3, 3]
    assert numbers == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert list(SplitSampler(7, 2, 1, shuffle=False)) == [3, 4, 5]


def test_order_changes_from_pass_to_pass() -> None:
    np.random.seed(0)
    part = SplitSampler(200, 2, 1)
    first, second = list(part), list(part)
    assert first != second and sorted(first) == sorted(second) == list(range(100, 200))


def test_a_part_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"part_index=2 of num_parts=2.*kv\.rank"):
        SplitSampler(10, 2, 2)
    with pytest.raises(AssertionError, match="length=2 samples are too few for num_parts=3"):
        SplitSampler(2, 3, 0)
