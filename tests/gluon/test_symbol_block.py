"""Blocks of symbols that were not exported: initialization and attributes, against MXNet 1.9.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.gluon import nn


def graph() -> Any:
    """A graph with states between its arguments; only its variable gives the shape of ``own``."""
    early = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="early")
    normal = mx.sym.BatchNorm(early, name="bn")
    late = mx.sym.FullyConnected(normal, num_hidden=2, name="late")
    return mx.sym.broadcast_add(late, mx.sym.var("own", shape=(1,)))


# What MXNet draws for the first element of each parameter.
DRAWN = {
    "early_weight": 0.0047666654,
    "early_bias": -0.011721052,
    "bn_gamma": -0.023456112,
    "bn_beta": -0.00543087,
    "bn_moving_mean": 0.05232113,
    "bn_moving_var": -0.065053686,
    "late_weight": -0.020670287,
    "late_bias": 0.061488114,
    "own": -0.02530139,
}


def block() -> nn.SymbolBlock:
    return nn.SymbolBlock(graph(), mx.sym.var("data"))


def hybridized() -> nn.SymbolBlock:
    net = block()
    net.hybridize()
    return net


def within_another() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(block())
    net.hybridize()
    return net


@pytest.mark.parametrize("make", [block, hybridized, within_another])
def test_parameters_are_initialized_in_the_order_of_the_symbol(make: Callable[[], Any]) -> None:
    mx.random.seed(1)
    net = make()
    net.initialize(mx.init.Uniform(0.1))
    net(mx.nd.ones((2, 4)))
    drawn = {name: each.data().asnumpy().ravel()[0] for name, each in net.collect_params().items()}
    assert drawn.keys() == DRAWN.keys()
    np.testing.assert_allclose([drawn[n] for n in DRAWN], list(DRAWN.values()), rtol=1e-6)


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [(None, "float16", "float16"), ("float16", "float16", "float16"), (None, None, "float32")],
)
def test_parameters_have_the_dtype_of_an_input(
    inner: str | None, outer: str | None, expected: str
) -> None:
    layer = mx.sym.FullyConnected(mx.sym.var("data", dtype=inner), num_hidden=3, name="dense")
    block = mx.gluon.SymbolBlock(layer, mx.sym.var("data", dtype=outer))
    dtypes = {name: np.dtype(each.dtype).name for name, each in block.collect_params().items()}
    assert dtypes == {"dense_weight": expected, "dense_bias": expected}


def test_batch_normalization_stays_float32() -> None:
    """As in MXNet; its parameters are found by the operator, whatever they are called."""
    layer = mx.sym.Convolution(mx.sym.var("data"), num_filter=2, kernel=(1, 1), name="conv")
    layer = mx.sym.BatchNorm(layer, gamma=mx.sym.var("scale"), name="norm")
    block = mx.gluon.SymbolBlock(layer, mx.sym.var("data"))
    block.initialize()
    block.cast("float16")
    assert {name: np.dtype(each.dtype).name for name, each in block.collect_params().items()} == {
        "conv_weight": "float16",
        "conv_bias": "float16",
        "scale": "float32",
        "norm_beta": "float32",
        "norm_moving_mean": "float32",
        "norm_moving_var": "float32",
    }
    assert block(mx.nd.ones((1, 3, 2, 2), dtype="float16")).dtype is np.float16
    block.cast("float64")
    assert {np.dtype(each.dtype).name for each in block.collect_params().values()} == {"float64"}
