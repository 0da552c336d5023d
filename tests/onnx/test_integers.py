"""Quantized operators against ONNX Runtime, and the training of a quantized network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from tests.onnx.models import agrees, computed, floats, model_of, saved
from tests.onnx.runtime import onnx

make = onnx.helper.make_node
RNG = np.random.default_rng(11)


def whole(dtype: str, *shape: int) -> np.ndarray:
    """Random numbers over the range of a dtype."""
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def seven_bits(*shape: int) -> np.ndarray:
    """Random numbers of int8 whose products with uint8 ONNX Runtime adds up exactly.

    On processors without VNNI it adds two products in 16 bits.
    """
    return RNG.integers(-64, 64, shape, "int8")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
@pytest.mark.parametrize("axis", [None, 1])
def test_numbers_are_quantized_and_restored(dtype: str, axis: int | None, tmp_path: Path) -> None:
    shape = () if axis is None else (3,)
    options = {} if axis is None else {"axis": axis}
    nodes = [
        make("QuantizeLinear", ["x", "scale", "zero"], ["q"], **options),
        make("DequantizeLinear", ["q", "scale", "zero"], ["y"], **options),
    ]
    arrays = {
        "scale": np.abs(floats(*shape)).astype("float32") / 50 + np.float32(1e-3),
        "zero": np.full(shape, np.iinfo(dtype).max // 3, dtype),
    }
    x = 4 * floats(2, 3, 4)  # some of them beyond the range
    model = model_of(nodes, {"x": x.shape}, {"q": dtype, "y": "float32"}, 21, **arrays)
    agrees(model, tmp_path / "net.onnx", x=x)


def test_a_network_that_rounds_can_be_trained(tmp_path: Path) -> None:
    nodes = [
        make("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        make("DequantizeLinear", ["q", "scale", "zero"], ["r"]),
        make("Mul", ["r", "r"], ["y"]),
    ]
    arrays = {"scale": np.float32(0.1), "zero": np.int8(0)}
    path = saved(model_of(nodes, {"x": [4]}, ["y"], **arrays), tmp_path / "net.onnx")
    block = mx.contrib.onnx.import_to_gluon(str(path), mx.cpu())
    x = mx.nd.array([0.234, -1.26, 12.6, -13.0])  # the last two are beyond the range
    x.attach_grad()
    with mx.autograd.record():
        y = block(x)
    y.backward()
    rounded = np.float32([0.2, -1.3, 12.6, -12.8])
    np.testing.assert_allclose(y.asnumpy(), rounded**2, rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * rounded * [1, 1, 1, 0], rtol=1e-5)


def test_products_of_integers_are_exact(tmp_path: Path) -> None:
    a, b = whole("uint8", 3, 300), whole("int8", 300, 2)
    arrays = {"zero": np.uint8(131), "other": np.int8(-4)}
    node = make("MatMulInteger", ["a", "b", "zero", "other"], ["y"])
    shapes = {"a": ("uint8", a.shape), "b": ("int8", b.shape)}
    model = model_of([node], shapes, {"y": "int32"}, **arrays)
    (ours,) = computed(model, tmp_path / "net.onnx", a=a, b=b)
    np.testing.assert_array_equal(ours, (a.astype(int) - 131) @ (b.astype(int) + 4))


def test_products_of_quantized_matrices_are_imported(tmp_path: Path) -> None:
    a, b = whole("uint8", 2, 3, 8), whole("uint8", 8, 4)
    arrays = {
        "a_scale": np.float32(0.02), "a_zero": np.uint8(120), "b_scale": np.float32(0.03),
        "b_zero": np.uint8(100), "scale": np.float32(0.05), "zero": np.uint8(90),
    }  # fmt: skip
    names = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "scale", "zero"]
    shapes = {"a": ("uint8", a.shape), "b": ("uint8", b.shape)}
    model = model_of([make("QLinearMatMul", names, ["y"])], shapes, {"y": "uint8"}, **arrays)
    agrees(model, tmp_path / "net.onnx", 0, a=a, b=b)


def test_convolutions_of_integers_are_exact(tmp_path: Path) -> None:
    x, weight = whole("uint8", 2, 4, 7, 6), whole("uint8", 6, 2, 3, 3)
    options = {"group": 2, "pads": [1, 0, 0, 1], "strides": [2, 1]}
    node = make("ConvInteger", ["x", "w", "zero", "other"], ["y"], **options)
    arrays = {"w": weight, "zero": np.uint8(9), "other": np.uint8(130)}
    model = model_of([node], {"x": ("uint8", x.shape)}, {"y": "int32"}, **arrays)
    agrees(model, tmp_path / "net.onnx", 0, x=x)


def test_quantized_convolutions_may_have_a_scale_for_each_filter(tmp_path: Path) -> None:
    x, weight = whole("uint8", 1, 3, 6, 6), seven_bits(4, 3, 3, 3)
    arrays = {
        "x_scale": np.float32(0.02), "x_zero": np.uint8(128), "w": weight,
        "w_scale": np.float32([0.01, 0.02, 0.005, 0.03]), "w_zero": np.zeros(4, "int8"),
        "scale": np.float32(0.1), "zero": np.uint8(110), "b": whole("int16", 4).astype("int32"),
    }  # fmt: skip
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "scale", "zero", "b"]
    node = make("QLinearConv", names, ["y"], dilations=[2, 1], pads=[1, 1, 1, 1])
    model = model_of([node], {"x": ("uint8", x.shape)}, {"y": "uint8"}, **arrays)
    agrees(model, tmp_path / "net.onnx", 0, x=x)
