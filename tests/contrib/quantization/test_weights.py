"""Weights in 8 and 4 bits: a trained encoder stays accurate, and its files are a quarter and an eighth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.contrib.quantization import quantize_weights
from mixnet.gluon import nn
from tests.encoder import Encoder

WORDS, LENGTH, CLASSES = 64, 12, 4


def rows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens, mask and label: which of the first four words a row has, at any place that is no padding."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(CLASSES, WORDS, (count, LENGTH))
    labels = rng.integers(0, CLASSES, count)
    lengths = rng.integers(4, LENGTH + 1, count)
    tokens[np.arange(count), rng.integers(0, lengths)] = labels
    mask = np.arange(LENGTH) < lengths[:, None]
    return tokens.astype("float32"), mask.astype("float32"), labels.astype("float32")


@pytest.fixture(scope="module")
def trained() -> Any:
    mx.random.seed(0)
    net = Encoder(words=WORDS, units=64, layers=1, heads=4, longest=LENGTH, classes=CLASSES)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 4e-3})
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    tokens, mask, labels = map(mx.nd.array, rows(1024, 1))
    for _ in range(2):
        for i in range(0, 1024, 64):
            with mx.autograd.record():
                loss = loss_of(net(tokens[i : i + 64], mask[i : i + 64]), labels[i : i + 64])
            loss.backward()
            trainer.step(64)
    return net


def right(net: Any) -> float:
    tokens, mask, labels = rows(500, 2)
    scores = net(mx.nd.array(tokens), mx.nd.array(mask)).asnumpy()
    return float((scores.argmax(1) == labels).mean())


@pytest.mark.parametrize(
    ("bits", "group_size", "size"), [(8, None, 0.31), (8, 32, 0.33), (4, 32, 0.22)]
)
def test_compression_preserves_accuracy_and_reduces_size(
    trained: Any, tmp_path: Path, bits: int, group_size: int | None, size: float
) -> None:
    small = quantize_weights(trained, bits, group_size)
    small.hybridize()
    before = right(trained)
    assert before > 0.9
    assert right(small) > before - (0.005 if bits == 8 else 0.03)
    for kind in ("params", "safetensors"):
        whole, part = tmp_path / f"whole.{kind}", tmp_path / f"part.{kind}"
        trained.save_parameters(str(whole))
        small.save_parameters(str(part))
        assert part.stat().st_size < size * whole.stat().st_size


def test_compressed_files_are_restored(trained: Any, tmp_path: Path) -> None:
    small = quantize_weights(trained, 4, 16)
    tokens, mask, _ = rows(5, 3)
    ours = small(mx.nd.array(tokens), mx.nd.array(mask)).asnumpy()
    symbol, params = small.export(str(tmp_path / "small"))
    again = mx.gluon.SymbolBlock.imports(symbol, small._inputs, params)
    np.testing.assert_array_equal(again(mx.nd.array(tokens), mx.nd.array(mask)).asnumpy(), ours)
    stored = mx.nd.load(params)
    assert {str(np.dtype(e.dtype)) for n, e in stored.items() if n.endswith("_quantize")} == {
        "uint8"
    }


@pytest.mark.parametrize(("bits", "group_size"), [(8, None), (4, 32)])
def test_compressed_weights_are_exported_to_onnx(
    trained: Any, tmp_path: Path, bits: int, group_size: int | None
) -> None:
    pytest.importorskip("onnx", reason="pip install 'mixnet[onnx]'")
    runtime = pytest.importorskip("onnxruntime", reason="pip install 'mixnet[onnxruntime]'")
    small = quantize_weights(trained, bits, group_size)
    small.hybridize()
    arrays = rows(4, 4)[:2]
    ours = small(*map(mx.nd.array, arrays)).asnumpy()
    (path,) = small.export(str(tmp_path / "small"), format="onnx")
    trained(*map(mx.nd.array, arrays))
    (whole,) = trained.export(str(tmp_path / "whole"), format="onnx")
    assert Path(path).stat().st_size < 0.45 * Path(whole).stat().st_size
    options = runtime.SessionOptions()
    # Optimized, ONNX Runtime rounds what such a layer reads as well.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    (theirs,) = session.run(None, dict(zip(names, arrays, strict=True)))
    np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-4)


def dense(weight: np.ndarray, name: str = "dense_") -> Any:
    net = nn.Dense(len(weight), use_bias=False, prefix=name)
    net.initialize()
    net.hybridize()
    net(mx.nd.zeros((1, weight.shape[1])))
    net.weight.set_data(mx.nd.array(weight))
    return net


@pytest.mark.parametrize(("bits", "most"), [(8, 127), (4, 7)])
@pytest.mark.parametrize("group_size", [None, 5])
def test_no_weight_moves_by_more_than_half_a_step(
    bits: int, most: int, group_size: int | None
) -> None:
    weight = np.random.default_rng(0).normal(size=(6, 15)).astype("float32")
    weight[2] = 0
    restored = (
        quantize_weights(dense(weight), bits, group_size)(mx.nd.array(np.eye(15))).asnumpy().T
    )
    groups = np.abs(weight).reshape(6, -1, group_size or 15).max(-1, keepdims=True)
    steps = np.broadcast_to(groups / most, (6, groups.shape[1], group_size or 15)).reshape(6, 15)
    assert (np.abs(restored - weight) <= steps / 2 * 1.001).all()
    assert np.abs(restored - weight).max() > 0


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_step_that_half_precision_does_not_have() -> None:
    weight = np.random.default_rng(0).normal(size=(6, 16)).astype("float32")
    weight[2] *= 1e-7
    net = dense(weight)
    net.cast("float16")
    net(mx.nd.zeros((1, 16), dtype="float16"))
    restored = quantize_weights(net)(mx.nd.array(np.eye(16), dtype="float16")).asnumpy().T
    np.testing.assert_array_equal(restored[2], 0)
    np.testing.assert_allclose(restored, weight, atol=0.02)


def test_layers_that_stay_and_weights_that_others_read() -> None:
    data = mx.sym.Variable("data")
    weight = mx.sym.Variable("weight", shape=(4, 4))
    net = mx.sym.FullyConnected(data, weight, num_hidden=4, no_bias=True, name="first")
    net = mx.sym.FullyConnected(net, num_hidden=4, no_bias=True, name="second")
    net = mx.sym.FullyConnected(
        mx.sym.broadcast_add(net, weight), num_hidden=4, no_bias=True, name="third"
    )
    block = mx.gluon.SymbolBlock(net, [data])
    block.initialize(mx.init.Xavier())
    block.hybridize()
    block(mx.nd.ones((4, 4)))
    names = set(quantize_weights(block, exclude_layers_match=["thi"]).collect_params())
    assert names == {"weight", "second_weight_quantize", "second_weight_step", "third_weight"}


def test_mistakes_are_errors() -> None:
    net = dense(np.ones((2, 6), "float32"))
    with pytest.raises(mx.base.AttributeValueError, match=r"bits=5 is not 8 or 4"):
        quantize_weights(net, 5)
    with pytest.raises(
        mx.base.AttributeValueError,
        match="group_size=4 does not divide the 6 numbers in a row of 'dense_fwd'; give",
    ):
        quantize_weights(net, group_size=4)
    with pytest.raises(mx.base.AttributeTypeError, match="must be a HybridBlock, not Symbol"):
        quantize_weights(mx.sym.Variable("x"))
    with pytest.raises(mx.base.AttributeValueError, match="no dense layer and no embedding"):
        quantize_weights(net, exclude_layers=["dense_fwd"])
    with pytest.raises(mx.MXNetError, match="hybridize the network and call it"):
        quantize_weights(nn.Dense(2))
    whole, step = mx.nd.ones((2, 4), dtype="int8"), mx.nd.ones((2, 3))
    with pytest.raises(mx.base.ShapeError, match=r"step \(2, 3\) does not go with data \(2, 4\)"):
        mx.nd.contrib.dequantize_rows(whole, step)
    with pytest.raises(
        mx.base.DTypeError, match="data is int8; numbers of 4 bits are stored in uint8"
    ):
        mx.nd.contrib.dequantize_rows(whole, step, bits="4")
