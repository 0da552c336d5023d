"""How batches are split over devices."""

from __future__ import annotations

import pytest

import mixnet as mx
from mixnet.legacy.executor_manager import _bind_exec, _check_arguments, _split_input_slice


@pytest.mark.parametrize(
    ("size", "loads", "ends"),
    [(10, [1, 1], [5, 10]), (10, [1, 2], [3, 10]), (7, [1, 1, 1], [2, 4, 7]), (5, [1, 1], [2, 5]),
     (10, [0.3, 0.7], [3, 10])],
)  # fmt: skip
def test_parts_follow_the_loads(size: int, loads: list[float], ends: list[int]) -> None:
    starts = [0, *ends[:-1]]
    actual = _split_input_slice(size, loads)
    assert actual == [slice(start, end) for start, end in zip(starts, ends, strict=True)]


@pytest.mark.parametrize(("size", "loads"), [(2, [1, 1, 1]), (3, [1, 10])])
def test_every_device_gets_samples(size: int, loads: list[float]) -> None:
    with pytest.raises(ValueError, match=r"Too many slices\. Some splits are empty\."):
        _split_input_slice(size, loads)


def test_duplicate_names_are_refused() -> None:
    twice = mx.sym.FullyConnected(
        mx.sym.Variable("x"), mx.sym.Variable("x"), num_hidden=2, no_bias=True
    )
    with pytest.raises(ValueError, match='Find duplicated argument name "x"'):
        _check_arguments(twice)


def test_executors_of_buckets_share_parameters() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    shared: dict[str, mx.nd.NDArray] = {}
    names = ["fc_weight", "fc_bias"]
    large = _bind_exec(net, mx.cpu(), {"data": (4, 3)}, names, True, shared_data_arrays=shared)
    small = _bind_exec(net, mx.cpu(), {"data": (2, 3)}, names, {"fc_weight"}, large, shared)
    large.arg_dict["fc_weight"][:] = 1
    assert small.arg_dict["fc_weight"].asnumpy().sum() == 6
    assert sorted(large.grad_dict) == sorted(["data", *names])
    assert [name for name, each in large.grad_dict.items() if each is not None] == names
    assert [name for name, each in small.grad_dict.items() if each is not None] == ["fc_weight"]
