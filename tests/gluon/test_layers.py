"""Every layer of ``gluon.nn`` and ``gluon.contrib``: names, shapes, text and results of MXNet's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import gluon, nd
from mixnet.gluon import nn
from mixnet.gluon.contrib import cnn as ccnn
from mixnet.gluon.contrib import nn as cnn
from tests.each_record import each_record

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
LAYERS = [
    each
    for each in json.loads((FIXTURES / "gluon_layers.json").read_text())["layers"]
    if re.match(r"(nn|cnn|ccnn)\.\w+\(.*\)$", each["code"]) and " with" not in each["code"]
]


def shapes(params: Any) -> dict[str, list[int]]:
    return {name: list(each.shape) for name, each in params.items()}


@each_record("fact", LAYERS, ids=lambda fact: fact["code"])
def test_names_shapes_and_text_are_mxnets(fact: dict) -> None:
    names = {"nn": nn, "cnn": cnn, "ccnn": ccnn}
    with mx.name.NameManager():
        layer = eval(fact["code"], names)
    layer.initialize()
    x = nd.ones(tuple(fact["input"]))
    if "raises" in fact:
        with pytest.raises(RuntimeError, match="no Trainer"):
            layer(x)
        return
    assert layer.prefix == fact["prefix"]
    assert repr(layer) == fact["repr_before"]
    assert shapes(layer.collect_params()) == fact["params_before"]
    assert list(layer(x).shape) == fact["output"]
    assert list(layer.collect_params()) == list(fact["params"])
    assert shapes(layer.collect_params()) == fact["params"]
    assert sorted(layer._collect_params_with_prefix()) == fact["save_names"]
    assert repr(layer) == fact["repr_after"]
    for name, facts in fact["param_facts"].items():
        each = layer.collect_params()[name]
        init = each.init if isinstance(each.init, str) else type(each.init).__name__
        actual = {"grad_req": each.grad_req, "init": init, "differentiable": each._differentiable}
        assert actual == facts


def test_a_sparse_table_is_learned_by_rows() -> None:
    layer = cnn.SparseEmbedding(10, 3, weight_initializer="ones")
    layer.initialize()
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(2):
        with mx.autograd.record():
            loss = (layer(nd.array([1, 7, 7])) * nd.array([[1], [2], [3]])).sum()
        loss.backward()
        (gradient,) = layer.weight.list_grad()
        assert gradient.stype == "row_sparse" and gradient.indices.asnumpy().tolist() == [1, 7]
        trainer.step(1)
    expected = np.ones((10, 3), "float32")
    expected[1], expected[7] = 0.8, 0.0
    table = layer.weight.row_sparse_data(nd.arange(10)).asnumpy()
    np.testing.assert_allclose(table, expected, atol=1e-6)
    assert repr(layer) == "SparseEmbedding(10 -> 3, float32)"


# Outputs' sum and input gradient's sum of MXNet 1.9.1, parameters and data as in ``numbers``.
NUMBERS = {
    ("nn.LayerNorm(axis=1)", (2, 3, 4)): ([2, 3, 4], 7.81943, -0.0),
    ("nn.InstanceNorm(axis=2)", (2, 3, 4)): ([2, 3, 4], 7.88748, -0.0),
    ("nn.GroupNorm(2)", (2, 4, 3)): ([2, 4, 3], 6.47897, 0.0),
    ("nn.PReLU()", (2, 3)): ([2, 3], 1.8727, 4.15793),
    ("nn.ELU(0.5)", (2, 3)): ([2, 3], 1.67387, 4.02503),
    ("nn.GELU()", (2, 3)): ([2, 3], 1.58069, 4.01342),
    ("nn.Swish(2.0)", (2, 3)): ([2, 3], 1.66875, 4.01219),
    ("nn.LeakyReLU(0.3)", (2, 3)): ([2, 3], 1.75647, 4.03998),
    ("nn.ReflectionPad2D((0, 0, 0, 0, 1, 2, 0, 1))", (1, 1, 3, 3)): (
        [1, 1, 6, 4],
        -4.41453,
        -8.82906,
    ),
    ("nn.Conv1D(2, 2, strides=2, dilation=2)", (1, 3, 9)): ([1, 2, 4], 3.15524, 11.50192),
    ("nn.Conv2D(4, (2, 3), groups=2, strides=(1, 2))", (1, 2, 5, 7)): (
        [1, 4, 4, 3],
        3.00148,
        13.78628,
    ),
    (
        "nn.Conv2DTranspose(4, 3, strides=2, padding=1, output_padding=1, groups=2, in_channels=2)",
        (1, 2, 4, 4),
    ): ([1, 4, 8, 8], 49.8643, 51.23619),
    ("nn.Conv1DTranspose(2, 3, strides=2)", (1, 2, 4)): ([1, 2, 9], 2.93382, 4.23851),
    ("nn.AvgPool2D(3, 2, 1, count_include_pad=False)", (1, 1, 5, 5)): (
        [1, 1, 3, 3],
        1.08258,
        2.16516,
    ),
    ("nn.AvgPool2D(3, 2, 1, ceil_mode=True)", (1, 1, 6, 6)): ([1, 1, 4, 4], -1.51149, -2.42251),
    ("nn.MaxPool1D(3, 2)", (1, 1, 8)): ([1, 1, 3], 2.10011, 4.20021),
    ("cnn.PixelShuffle3D((1, 2, 3))", (1, 12, 2, 2, 2)): ([1, 2, 2, 4, 6], -1.1084, -2.2168),
    ("ccnn.DeformableConvolution(2, (3, 3), padding=(1, 1))", (1, 1, 4, 4)): (
        [1, 2, 4, 4],
        -3.82201,
        -7.80958,
    ),
}


def numbers(code: str, shape: tuple[int, ...]) -> tuple[list[int], float, float]:
    layer = eval(code, {"nn": nn, "cnn": cnn, "ccnn": ccnn})
    layer.initialize()
    rng = np.random.RandomState(7)
    x = nd.array(rng.normal(size=shape).astype("float32"))
    layer(x)
    for each in layer.collect_params().values():
        each.set_data(nd.array(rng.uniform(0.1, 0.5, each.shape).astype("float32")))
    x.attach_grad()
    with mx.autograd.record():
        y = layer(x)
        loss = (y * y).sum()
    loss.backward()
    return list(y.shape), float(y.sum().asscalar()), float(x.grad.sum().asscalar())


@each_record("case", NUMBERS, ids=str)
def test_results_and_gradients_are_mxnets(case: tuple[str, tuple[int, ...]]) -> None:
    shape, output, gradient = NUMBERS[case]
    actual = numbers(*case)
    assert actual[0] == shape
    assert actual[1:] == pytest.approx((output, gradient), rel=2e-4, abs=1e-4)


def test_a_block_of_a_sequence_by_name() -> None:
    """MXNet 1.9.1 raises a TypeError, as a list does."""
    net = nn.HybridSequential()
    net.add(nn.Dense(1))
    with pytest.raises(TypeError, match="indexed by the number of a block or a slice, not 'a'"):
        net["a"]
    with pytest.raises(IndexError, match="has 1 block"):
        net[3]


@pytest.mark.parametrize(
    ("layer", "shape", "text"),
    [
        ("Conv2D(3, [3, 3])", (1, 2, 8, 8), "kernel_size=[3, 3], stride=(1, 1))"),
        (
            "Conv2D(3, 3, strides=[2, 2], padding=[1, 1])",
            (1, 2, 8, 8),
            "kernel_size=(3, 3), stride=[2, 2], padding=[1, 1])",
        ),
        ("Conv1D(3, [3], dilation=[1])", (1, 2, 8), "kernel_size=[3], stride=(1,), dilation=[1])"),
        ("Conv2DTranspose(3, [3, 3])", (1, 2, 8, 8), "kernel_size=[3, 3], stride=(1, 1))"),
        ("AvgPool1D([2])", (1, 2, 8), "size=[2], stride=[2], padding=(0,), "),
        ("MaxPool2D(2, padding=[0, 1])", (1, 2, 8, 8), "stride=(2, 2), padding=[0, 1], "),
    ],
)
def test_lists_stay_lists_in_what_a_layer_shows(
    layer: str, shape: tuple[int, ...], text: str
) -> None:
    """The texts are MXNet 1.9.1's."""
    with_lists = eval(f"mx.gluon.nn.{layer}")
    with_tuples = eval(f"mx.gluon.nn.{layer.replace('[', '(').replace(']', ',)')}")
    for each in (with_lists, with_tuples):
        each.initialize(mx.init.One())
        each.hybridize()
    data = mx.nd.random.uniform(shape=shape)
    assert with_lists(data).asnumpy().tolist() == with_tuples(data).asnumpy().tolist()
    assert text in repr(with_lists)


def test_batch_normalization_with_relu_is_a_kind_of_its_own() -> None:
    """Programs that ask for ``BatchNorm`` by class do not get ``BatchNormReLU``, as in MXNet."""
    assert not isinstance(nn.BatchNormReLU(), nn.BatchNorm)
    assert isinstance(nn.BatchNormReLU(), nn.basic_layers._BatchNorm)
