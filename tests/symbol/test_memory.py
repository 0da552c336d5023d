"""Memory plans of symbols, executors and blocks; the figures of the real MXNet beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, AttributeValueError, ShapeError
from mixnet.gluon import nn
from tests.each_record import each_record

NETS = Path(__file__).parents[1] / "parity" / "fixtures" / "nets"
MEGABYTES = json.loads((NETS / "memory.json").read_text())["megabytes"]
DATA = (64, 3, 224, 224)
WAYS = {"prediction": "null", "training": "write"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MEGABYTES)
def test_networks_take_no_more_than_in_mxnet(name: str, way: str) -> None:
    symbol = mx.sym.load(NETS / f"{name}-symbol.json")
    both = symbol.memory_plan(grad_req=WAYS[way], data=DATA)
    none = symbol.memory_plan(grad_req=WAYS[way], inplace=False, co_share=False, data=DATA)
    inplace = symbol.memory_plan(grad_req=WAYS[way], co_share=False, data=DATA)
    assert both.total_bytes <= MEGABYTES[name][way]["with"] * 2**20
    assert both.total_bytes <= 1.05 * both.lower_bound_bytes
    assert inplace.total_bytes <= MEGABYTES[name][way]["without"] * 2**20 or name == "resnet50"
    # AlexNet's normalization across channels cannot run in place, so two arrays of its
    # first layer are needed at once.
    least = 2 if way == "training" else 3 if name == "alexnet" else 4
    assert none.total_bytes >= least * both.total_bytes


def test_the_order_of_storage_is_optimized_only_where_it_matters() -> None:
    symbol = mx.sym.load(NETS / "googlenet-symbol.json")
    assert symbol.memory_plan(data=DATA).dependencies == []
    # in ResNet's blocks the shortcut and the last convolution could run at once: 490 MB
    actual = mx.sym.load(NETS / "resnet50-symbol.json").memory_plan(data=DATA)
    assert actual.total_bytes >> 20 == 441 and actual.dependencies


def hidden(x: mx.sym.Symbol, name: str) -> mx.sym.Symbol:
    return mx.sym.FullyConnected(x, num_hidden=1024, no_bias=True, name=name)


# What the real MXNet 1.9.1 prints for x of shape (1024, 1024), with its sharing on.
@each_record(
    ("make", "megabytes"),
    [
        (lambda x: mx.sym.relu(x), 4),
        (lambda x: mx.sym.relu(mx.sym.relu(x)), 4),
        (lambda x: hidden(x, "a"), 4),
        (lambda x: hidden(hidden(x, "a"), "b"), 8),
        (lambda x: hidden(hidden(hidden(x, "a"), "b"), "c"), 8),
        (lambda x: mx.sym.flatten(hidden(x, "a")), 4),
        (lambda x: hidden(mx.sym.flatten(hidden(x, "a")), "b"), 8),
        (lambda x: mx.sym.Group([mx.sym.relu(x), mx.sym.square(x)]), 8),
    ],
)
def test_debug_str_has_mxnets_total(make: object, megabytes: int) -> None:
    symbol = make(mx.sym.Variable("x"))  # type: ignore[operator]
    executor = symbol.simple_bind(grad_req="null", x=(1024, 1024))
    # As Deformable ConvNets and others read it.
    assert executor.debug_str().split("\n")[-3] == f"Total {megabytes} MB allocated"
    assert executor.memory_plan().total_bytes == megabytes << 20


def test_arrays_of_the_user_are_counted_separately() -> None:
    net = mx.sym.BatchNorm(hidden(mx.sym.Variable("x"), "a"), name="bn")
    actual = net.memory_plan(grad_req={"a_weight": "write"}, x=(4, 256))
    assert actual.gradient_bytes == 1024 * 256 * 4
    assert actual.argument_bytes == (4 * 256 + 1024 * 256 + 2 * 1024 + 4 * 1024) * 4
    assert actual.state_bytes == 2 * 1024 * 4
    kinds = {array.name: array.kind for array in actual.arrays}
    assert kinds["x"] == "argument" and kinds["bn_moving_mean"] == "state"
    assert kinds["bn[0]"] == "output" and kinds["a"] == "internal"


def test_a_gradient_that_is_added_needs_room_for_what_is_added() -> None:
    net = mx.sym.exp(mx.sym.Variable("x"))
    write = net.memory_plan(grad_req="write", x=(8, 8))
    add = net.memory_plan(grad_req="add", x=(8, 8))
    assert add.gradient_bytes == write.gradient_bytes == 256
    assert add.total_bytes == write.total_bytes + 256


def test_impossible_plans_are_errors() -> None:
    net = hidden(mx.sym.Variable("x"), "a")
    with pytest.raises(ShapeError, match=r"shapes of x, a_weight cannot be inferred from nothing"):
        net.memory_plan()
    with pytest.raises(AttributeTypeError, match=r"no variable 'y'"):
        net.memory_plan(y=(2, 2))
    with pytest.raises(AttributeValueError, match=r"pass grad_req='write' too"):
        net.memory_plan(recompute=True, x=(2, 2))


def test_a_block_is_planned_without_being_initialized() -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dense(10))
    x = mx.nd.zeros((2, 3, 8, 8))
    predict, train = net.memory_plan(x), net.memory_plan(x, grad_req="write")
    assert all(not each._data for each in net.collect_params().values())
    weights = 8 * 27 + 8 + 2 * 8 + 10 * 288 + 10
    assert train.gradient_bytes == weights * 4 and predict.gradient_bytes == 0
    assert predict.argument_bytes == (2 * 3 * 64 + weights) * 4
    assert predict.state_bytes == 2 * 8 * 4
    assert predict.total_bytes < train.total_bytes
    # in place: convolution, activation and normalization; each statistic of 8; the result
    names = [array.name for array in predict.arrays]
    assert len(set(names)) == len(names)


def test_a_block_in_half_precision() -> None:
    net = nn.Dense(10)
    net.cast("float16")
    actual = net.memory_plan(mx.nd.zeros((2, 3), dtype="float16"))
    assert actual.total_bytes == 2 * 10 * 2


@pytest.mark.parametrize("mode", ["mirror", "sublinear"])
@pytest.mark.parametrize("name", ["resnet50", "inception-bn"])
def test_recomputation_needs_less_memory(name: str, mode: str) -> None:
    symbol = mx.sym.load(NETS / f"{name}-symbol.json")
    keep = symbol.memory_plan(grad_req="write", data=DATA)
    again = symbol.memory_plan(grad_req="write", recompute=mode, data=DATA)
    assert again.total_bytes < keep.total_bytes * (0.8 if mode == "mirror" else 0.5)
    assert again.total_bytes <= 1.05 * again.lower_bound_bytes
    assert again.recompute == mode and len(again.steps) > len(keep.steps)
    assert again.argument_bytes == keep.argument_bytes
    with pytest.raises(AttributeValueError, match="sublinear"):
        symbol.memory_plan(grad_req="write", recompute="all", data=DATA)
