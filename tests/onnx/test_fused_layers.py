"""Fused layers in files: in 8-bit integers, which runtimes fuse again, and in floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.contrib import quantization
from mixnet.gluon import nn
from tests.onnx.runtime import onnx, session

X = np.random.default_rng(4).uniform(-1, 1, (2, 8, 9, 9)).astype("float32")

ACTIVATIONS = {
    "none": lambda: nn.HybridSequential(),
    "relu": lambda: nn.Activation("relu"),
    "relu6": lambda: nn.HybridLambda(lambda F, x: F.clip(x, 0, 6)),
    "leaky": lambda: nn.LeakyReLU(0.3),
    "gelu": nn.GELU,
}


def network(*layers: Any) -> Any:
    mx.random.seed(0)
    net = nn.HybridSequential()
    net.add(*layers)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def quantized(net: Any, x: np.ndarray, **options: Any) -> Any:
    options = {"calib_mode": "naive", "calib_data": [mx.nd.array(x)], **options}
    small = quantization.quantize_net_v2(net, quantize_mode="smart", **options)
    small.hybridize()
    return small


def exported(net: Any, x: np.ndarray, path: Path) -> tuple[str, np.ndarray]:
    """A network's file, and what it computes here."""
    scores = net(mx.nd.array(x)).asnumpy()
    (file,) = net.export(str(path), format="onnx")
    return file, scores


def scores_of(file: str, x: np.ndarray, optimize: bool = False) -> np.ndarray:
    (scores,) = session(file, optimize).run(None, {"data": x})
    return np.asarray(scores)


def near(one: np.ndarray, other: np.ndarray, share: float) -> None:
    np.testing.assert_allclose(one, other, atol=share * np.abs(other).max())


def operators(file: str) -> set[str]:
    return {node.op_type for node in onnx.load(file).graph.node}


def optimized_operators(file: str, folder: Path) -> set[str]:
    """The operators after ONNX Runtime's optimizer."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return operators(options.optimized_model_filepath)


@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_layers_with_an_activation_are_fused_again(
    activation: str, granularity: str, tmp_path: Path
) -> None:
    act = ACTIVATIONS[activation]
    net = network(
        nn.Conv2D(6, 3), nn.BatchNorm(), act(), nn.Dense(16, flatten=False), act(), nn.Dense(4)
    )
    floats = net(mx.nd.array(X)).asnumpy()
    small = quantized(net, X, quantize_granularity=granularity)
    file, ours = exported(small, X, tmp_path / "net")
    near(scores_of(file, X), ours, 0.012)
    near(scores_of(file, X), floats, 0.05)
    fused = optimized_operators(file, tmp_path)
    # ONNX Runtime's convolution of integers rounds what it gives, and only clips before.
    assert ("QLinearConv" in fused) == (activation in ("none", "relu", "relu6"))
    assert "QGemm" in fused
    assert not fused & {"Gemm", "MatMul", "FusedGemm", "FusedMatMul"}


@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
@pytest.mark.parametrize("layer", [lambda: nn.Conv2D(6, 3), lambda: nn.Dense(6)])
@pytest.mark.parametrize("factor", [1e-12, 1e-41])
def test_channels_dominated_by_their_bias_stay_accurate(
    factor: float, layer: Any, granularity: str, tmp_path: Path
) -> None:
    net = network(layer(), nn.Dense(3))
    net(mx.nd.array(X))
    weight, bias = net[0].weight, net[0].bias
    weight.set_data(weight.data() * factor)
    bias.set_data(mx.nd.array(np.linspace(-0.5, 1, 6)))
    floats = net(mx.nd.array(X)).asnumpy()
    small = quantized(net, X, quantize_granularity=granularity)
    file, ours = exported(small, X, tmp_path / "net")
    near(ours, floats, 0.03)
    near(scores_of(file, X), floats, 0.03)
    near(scores_of(file, X, optimize=True), floats, 0.03)


def test_layers_that_stay_in_floats(tmp_path: Path) -> None:
    net = network(nn.Conv2D(6, 3), nn.BatchNorm(), nn.GELU(), nn.Dense(5), nn.GELU(), nn.Dense(4))
    floats = net(mx.nd.array(X)).asnumpy()
    small = quantized(net, X, exclude_layers_match=["conv"])
    file, ours = exported(small, X, tmp_path / "net")
    near(scores_of(file, X), ours, 0.012)
    near(ours, floats, 0.05)
    assert {"Conv", "BatchNormalization", "Erf"} <= operators(file)


class Residual(nn.HybridBlock):
    """Sums of two convolutions, and an activation.

    Args:
        act_type: of the activation.
    """

    def __init__(self, act_type: str):
        super().__init__()
        self.act_type = act_type
        self.before = nn.Conv2D(8, 3, padding=1, activation="relu")
        self.body = nn.Conv2D(8, 3, padding=1)
        self.after = nn.Conv2D(4, 1)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.before(x)
        return self.after(F.Activation(self.body(x) + x, act_type=self.act_type))


def test_a_sum_and_its_activation_stay_in_floats(tmp_path: Path) -> None:
    net = network(Residual("relu"))
    net(mx.nd.array(X))
    file, ours = exported(quantized(net, X, exclude_layers_match=["activation"]), X, tmp_path / "a")
    near(scores_of(file, X), ours, 0.012)


def test_the_activation_of_a_sum_may_be_another_than_mixnet_fuses(tmp_path: Path) -> None:
    """Files of MXNet have such layers, since it fuses more activations."""
    small = quantized(network(Residual("relu")), X)
    symbol, params = small.export(str(tmp_path / "small"))
    text = Path(symbol).read_text(encoding="utf-8")
    places = [i for i in range(len(text)) if text.startswith('"relu"', i)]
    assert len(places) == 2  # one for each layer
    text = text[: places[1]] + '"sigmoid"' + text[places[1] + len('"relu"') :]
    Path(symbol).write_text(text, encoding="utf-8")
    again = mx.gluon.SymbolBlock.imports(symbol, ["data"], params)
    again.hybridize()
    file, ours = exported(again, X, tmp_path / "again")
    assert "Sigmoid" in operators(file)
    near(scores_of(file, X), ours, 0.012)


def test_layers_without_calibration_compute_the_same(tmp_path: Path) -> None:
    net = network(nn.Conv2D(6, 3), nn.GELU(), nn.Dense(5), nn.GELU(), nn.Dense(4))
    net(mx.nd.array(X))
    small = quantized(net, X, calib_mode="none", calib_data=None, data_shapes=[X.shape])
    file, ours = exported(small, X, tmp_path / "net")
    near(scores_of(file, X), ours, 0.012)
