"""A trained residual network in int8: as right as in float32, a quarter as large, and as ONNX too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon
from mixnet.contrib import quantization
from mixnet.gluon import nn


class Residual(nn.HybridBlock):
    def __init__(self, channels: int, stride: int):
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(
            nn.Conv2D(channels, 3, stride, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"),
            nn.Conv2D(channels, 3, 1, 1, use_bias=False), nn.BatchNorm(),
        )  # fmt: skip
        self.shortcut = nn.HybridSequential()
        if stride > 1:
            self.shortcut.add(nn.Conv2D(channels, 1, stride, use_bias=False), nn.BatchNorm())

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(self.body(x) + self.shortcut(x), act_type="relu")


def network() -> Any:
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(16, 3, 1, 1, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        Residual(16, 1),
        Residual(32, 2),
        nn.GlobalAvgPool2D(),
        nn.Flatten(),
        nn.Dense(10),
    )
    return net


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    result = pytest.importorskip("sklearn.datasets").load_digits()
    images = (result.images[:, None] / 16.0).astype("float32")
    return images, result.target.astype("float32")


def trained_network(images: np.ndarray, labels: np.ndarray) -> Any:
    """The network after four epochs."""
    mx.random.seed(1)
    net = network()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    data, target = mx.nd.array(images[:1024]), mx.nd.array(labels[:1024])
    for _ in range(4):
        for start in range(0, 1024, 64):
            with autograd.record():
                error = loss(net(data[start : start + 64]), target[start : start + 64])
            error.backward()
            trainer.step(64)
    return net


@pytest.fixture(scope="module")
def trained(digits: Any) -> Any:
    return trained_network(*digits)


def accuracy(net: Any, digits: Any) -> float:
    images, labels = (each[1024:] for each in digits)
    return float((net(mx.nd.array(images)).asnumpy().argmax(1) == labels).mean())


def loader(digits: Any) -> Any:
    dataset = gluon.data.ArrayDataset(digits[0][:256], digits[1][:256])
    return gluon.data.DataLoader(dataset, batch_size=64)


def test_quantization_preserves_the_accuracy(trained: Any, digits: Any) -> None:
    net = quantization.quantize_net_v2(
        trained, calib_mode="naive", calib_data=loader(digits), quantize_mode="smart",
        quantize_granularity="channel-wise",
    )  # fmt: skip
    net.hybridize()
    before = accuracy(trained, digits)
    assert before > 0.9
    assert accuracy(net, digits) > before - 0.005


def test_the_compiled_network_gives_the_same(trained: Any, digits: Any) -> None:
    net = quantization.quantize_net_v2(
        trained, calib_mode="naive", calib_data=loader(digits), quantize_mode="smart"
    )
    net.hybridize()
    images = mx.nd.array(digits[0][1024:1032])
    interpreted = net(images).asnumpy()
    with mx.runtime.compiling_at_once():
        compiled = net(images).asnumpy()
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["auto", "int8"])
@pytest.mark.parametrize("least", [0, 10**12])  # by oneDNN where XLA has it, and without
def test_channels_in_groups_are_compiled_to_the_same(
    dtype: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["mixnet.passes.choose_layout"], "ONEDNN_LEAST", least)
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(16, 3, padding=1, groups=16, in_channels=16, activation="relu"),
        nn.Conv2D(16, 3, 2, padding=1, groups=4),
        nn.Conv2D(8, 1),
    )
    net.initialize(mx.init.Normal(0.3))
    x = mx.nd.random.uniform(-1, 1, shape=(2, 16, 9, 7))
    floats = net(x).asnumpy()
    small = quantization.quantize_net_v2(
        net, calib_mode="naive", calib_data=[x], quantized_dtype=dtype, quantize_mode="smart"
    )
    small.hybridize()
    interpreted = small(x).asnumpy()
    with mx.runtime.compiling_at_once():
        compiled = small(x).asnumpy()
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(compiled, floats, atol=0.05 * np.abs(floats).max())


def size_of_arrays(path: str) -> int:
    onnx = pytest.importorskip("onnx")
    return sum(len(each.raw_data) for each in onnx.load(path).graph.initializer)


def test_a_quantized_network_is_exported_to_onnx(trained: Any, digits: Any, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    net = quantization.quantize_net_v2(
        trained, calib_mode="naive", calib_data=loader(digits), quantize_mode="full"
    )
    images = digits[0][1024:1088]
    net.hybridize()
    expected = net(mx.nd.array(images)).asnumpy()
    trained(mx.nd.array(images))
    (whole,) = net.export(str(tmp_path / "int8"), format="onnx")
    (floats,) = trained.export(str(tmp_path / "float"), format="onnx")
    assert size_of_arrays(whole) < 0.3 * size_of_arrays(floats)
    (opened,) = net.export(
        str(tmp_path / "open"), format="onnx", dynamic_input_shapes=[("batch", 1, 8, 8)]
    )
    # As the file says it: on processors without instructions for int8, ONNX Runtime's own kernels saturate.
    exact = runtime.SessionOptions()
    exact.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(opened, exact, providers=["CPUExecutionProvider"])
    (first,) = session.run(None, {"data": images[:5]})
    (actual,) = session.run(None, {"data": images})
    np.testing.assert_allclose(first, actual[:5], rtol=1e-5)
    assert (actual.argmax(1) == expected.argmax(1)).mean() > 0.98
    assert np.abs(actual - expected).max() < 0.05 * np.abs(expected).max()


def fused_operators(path: str, folder: Path) -> set[str]:
    """The operators of a file after ONNX Runtime's optimizer."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # the optimized file is for this processor: that is a warning
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    import onnx

    graph = onnx.load(options.optimized_model_filepath).graph
    return {node.op_type for node in graph.node}


def test_onnx_runtime_fuses_every_layer(trained: Any, digits: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    net = quantization.quantize_net_v2(
        trained, calib_mode="naive", calib_data=loader(digits), quantize_mode="smart",
        quantize_granularity="channel-wise",
    )  # fmt: skip
    net.hybridize()
    net(mx.nd.array(digits[0][:4]))
    (path,) = net.export(str(tmp_path / "int8"), format="onnx")
    operators = fused_operators(path, tmp_path)
    assert {"QLinearConv", "QLinearAdd", "QGemm"} <= operators
    assert not operators & {"Conv", "FusedConv", "Gemm", "FusedGemm", "Add", "Relu"}


@pytest.mark.parametrize("backend", ["ONNXRuntime", "OpenVINO"])
def test_accuracy_stays_in_another_runtime(trained: Any, digits: Any, backend: str) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip(backend.lower())
    net = quantization.quantize_net_v2(
        trained, calib_mode="naive", calib_data=loader(digits), quantize_mode="smart",
        quantize_granularity="channel-wise",
    )  # fmt: skip
    net.optimize_for(mx.nd.array(digits[0][1024:]), backend=backend)
    assert accuracy(net, digits) > accuracy(trained, digits) - 0.005


def test_ranges_of_small_numbers_keep_their_digits() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(8), nn.Dense(8))
    net.initialize(mx.init.Normal(1e-4))
    x = mx.nd.random.uniform(-1, 1, shape=(16, 8))
    expected = net(x).asnumpy()
    assert np.abs(expected).max() < 1e-6
    small = quantization.quantize_net_v2(
        net, calib_mode="naive", calib_data=[x], quantize_granularity="channel-wise"
    )
    actual = small(x).asnumpy()
    np.testing.assert_allclose(actual, expected, atol=0.03 * np.abs(expected).max())


def test_the_random_numbers_that_follow_are_those_of_mxnet() -> None:
    mx.random.seed(2)
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=8))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    data = mx.nd.random.uniform(shape=(16, 8))
    net(data)
    batches = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(data, mx.nd.zeros(16)), 4)
    mx.contrib.quantization.quantize_net_v2(
        net, calib_mode="naive", calib_data=batches, num_calib_examples=16, quantized_dtype="auto"
    )
    # Computed with MXNet 1.9.1.
    expected = [0.68790376, 0.34014255]
    np.testing.assert_allclose(mx.nd.random.uniform(shape=(2,)).asnumpy(), expected, rtol=1e-6)
