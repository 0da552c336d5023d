"""How batches are split over devices."""

from __future__ import annotations

import pytest

import mixnet as mx
from mixnet.legacy.executor_manager import _check_arguments, _split_input_slice


@pytest.mark.parametrize(
    ("size", "loads", "ends"),
    [(10, [1, 1], [5, 10]), (10, [1, 2], [3, 10]), (7, [1, 1, 1], [2, 4, 7]), (5, [1, 1], [2, 5]),
     (10, [0.3, 0.7], [3, 10])],
)  # fmt: skip
def test_parts_follow_the_loads(size: int, loads: list[float], ends: list[int]) -> None:
    starts = [0, *ends[:-1]]
    found = _split_input_slice(size, loads)
    assert found == [slice(start, end) for start, end in zip(starts, ends, strict=True)]


@pytest.mark.parametrize(("size", "loads"), [(2, [1, 1, 1]), (3, [1, 10])])
def test_every_device_gets_samples(size: int, loads: list[float]) -> None:
    with pytest.raises(ValueError, match=r"Too many slices\. Some splits are empty\."):
        _split_input_slice(size, loads)


def test_names_come_once() -> None:
    twice = mx.sym.FullyConnected(
        mx.sym.Variable("x"), mx.sym.Variable("x"), num_hidden=2, no_bias=True
    )
    with pytest.raises(ValueError, match='Find duplicated argument name "x"'):
        _check_arguments(twice)
