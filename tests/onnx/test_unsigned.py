"""Integers between layers in exported files: unsigned around 128, unless another operator reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.onnx.runtime import exported, onnx, run

X = np.random.default_rng(5).uniform(-1.2, 1.2, (2, 3, 4)).astype("float32")  # some are clipped


def quantized() -> Any:
    return mx.sym.contrib.quantize_v2(
        mx.sym.Variable("x"), out_type="int8", min_calib_range=-1.0, max_calib_range=0.7
    )


def dtypes(path: str) -> set[str]:
    """Of the integers that a file's ``QuantizeLinear`` gives."""
    model = onnx.load(path)
    arrays = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    nodes = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    return {str(arrays[node.input[2]].dtype) for node in nodes}


def test_values_read_by_layers_only_become_unsigned(tmp_path: Path) -> None:
    flat = mx.sym.contrib.quantized_flatten(*quantized())
    whole = mx.sym.contrib.dequantize(*flat)
    path = exported(whole, {"x": X.shape}, {}, tmp_path / "net.onnx")
    assert dtypes(path) == {"uint8"}
    (actual,) = run(path, X)
    steps = np.clip(np.round(X.reshape(2, 12).astype("float64") * 127.5), -128, 127)
    np.testing.assert_allclose(actual, steps / 127.5, rtol=1e-6)


def test_integers_that_leave_the_file_stay_signed(tmp_path: Path) -> None:
    whole = quantized()
    both = mx.sym.Group([whole[0], mx.sym.contrib.dequantize(*whole)])
    path = exported(both, {"x": X.shape}, {}, tmp_path / "net.onnx")
    assert dtypes(path) == {"int8"}
    actual, _ = run(path, X)
    np.testing.assert_array_equal(actual, np.clip(np.round(X * 127.5), -128, 127).astype("int8"))


def test_integers_that_another_operator_reads_stay_signed(tmp_path: Path) -> None:
    whole = quantized()
    both = mx.sym.Group([mx.sym.cast(whole[0], dtype="float32"), mx.sym.contrib.dequantize(*whole)])
    path = exported(both, {"x": X.shape}, {}, tmp_path / "net.onnx")
    assert dtypes(path) == {"int8"}
    np.testing.assert_array_equal(run(path, X)[0], np.clip(np.round(X * 127.5), -128, 127))


def test_padding_that_counts_in_a_mean_is_the_number_0(tmp_path: Path) -> None:
    """OpenVINO pads with the integer 0, which is -1 around 128."""
    data = mx.sym.contrib.quantize_v2(
        mx.sym.Variable("data"), out_type="int8", min_calib_range=-1.0, max_calib_range=1.0
    )
    means = mx.sym.contrib.quantized_pooling(
        *data, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg"
    )
    images = np.random.default_rng(1).uniform(-1, 1, (1, 2, 5, 5)).astype("float32")
    (ours,) = mx.sym.contrib.dequantize(*means).eval(data=mx.nd.array(images))
    path = exported(
        mx.sym.contrib.dequantize(*means), {"data": images.shape}, {}, tmp_path / "net.onnx"
    )
    np.testing.assert_allclose(run(path, images)[0], ours.asnumpy(), atol=1e-6)
    openvino = pytest.importorskip("openvino", reason="pip install 'mixnet[openvino]'")
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    np.testing.assert_allclose(compiled(images)[0], ours.asnumpy(), atol=1e-6)


def test_the_range_of_signed_integers_reaches_as_far_on_both_sides(tmp_path: Path) -> None:
    path = exported(mx.sym.Group(list(quantized())), {"x": X.shape}, {}, tmp_path / "net.onnx")
    _, low, high = run(path, X)
    np.testing.assert_array_equal([low, high], [[-1], [1]])


def test_a_file_with_unsigned_integers_is_read_again(tmp_path: Path) -> None:
    whole = mx.sym.contrib.dequantize(*quantized())
    path = exported(whole, {"x": X.shape}, {}, tmp_path / "net.onnx")
    block = mx.contrib.onnx.import_to_gluon(path, mx.cpu())
    np.testing.assert_allclose(block(mx.nd.array(X)).asnumpy(), run(path, X)[0], rtol=1e-6)
