"""Functions of float16 are computed in single precision: MXNet's numbers, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd

POINTS = [-3.3, -0.7, 0.3, 1.7, 4.9]
# MXNet 1.9.1's results; those of a logarithm, a root or a gamma are of the absolute values.
RECORDED = {
    "sigmoid": [0.035552978515625, 0.331787109375, 0.57421875, 0.845703125, 0.99267578125],
    "softsign": [-0.767578125, -0.411865234375, 0.2308349609375, 0.6298828125, 0.83056640625],
    "degrees": [-189.125, -40.125, 17.1875, 97.4375, 280.75],
    "gamma": [2.685546875, 1.2978515625, 2.990234375, 0.90869140625, 20.625],
    "log2": [1.72265625, -0.51416015625, -1.736328125, 0.765625, 2.29296875],
    "rsqrt": [0.55029296875, 1.1953125, 1.8251953125, 0.76708984375, 0.451904296875],
}
LAYERS: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "sigmoid": (lambda x: nd.Activation(x, act_type="sigmoid"), RECORDED["sigmoid"]),
    "gelu": (
        lambda x: nd.LeakyReLU(x, act_type="gelu"),
        [-0.0015916824340820312, -0.16943359375, 0.1854248046875, 1.6240234375, 4.8984375],
    ),
    "hypot": (
        lambda x: nd.broadcast_hypot(x, x.abs() + 1),
        [5.421875, 1.8388671875, 1.333984375, 3.189453125, 7.66796875],
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_function_rounds_its_result_alone(name: str) -> None:
    x = nd.array(POINTS, dtype="float16")
    inputs = x if name in ("sigmoid", "softsign", "degrees") else x.abs()
    result = getattr(nd, name)(inputs)
    assert result.dtype == np.float16
    assert result.asnumpy().tolist() == RECORDED[name]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_rounds_its_result_alone(name: str) -> None:
    layer, recorded = LAYERS[name]
    assert layer(nd.array(POINTS, dtype="float16")).asnumpy().tolist() == recorded


def test_gradients_are_rounded_once() -> None:
    points = np.linspace(-6, 6, 500).astype("float16")
    x = nd.array(points, dtype="float16")
    x.attach_grad()
    with mx.autograd.record():
        y = nd.sigmoid(x)
    y.backward()
    exact = 1 / (1 + np.exp(-points.astype("float64")))
    nearest = (exact * (1 - exact)).astype("float16")
    assert np.count_nonzero(x.grad.asnumpy() != nearest) <= 3  # hundreds if each step is rounded
