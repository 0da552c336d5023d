"""Networks as ONNX files: layers, recurrent networks, loops, open extents, half precision."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import gluon
from mixnet.base import AttributeValueError, MXNetError, ShapeError
from mixnet.gluon import nn, rnn
from mixnet.gluon.model_zoo import vision
from mixnet.process import source
from tests.encoder import Encoder
from tests.onnx.runtime import agree, exported, onnx, run
from tests.onnx.zoo import ENCODER, TOLERANCE

RNG = np.random.default_rng(3)


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(dtype)


def started(net: Any) -> Any:
    net.initialize(mx.init.Normal(0.3))
    return net


IMAGE_LAYERS = {
    "convolution": lambda: nn.Conv2D(4, 3, strides=2, padding=1, groups=2),
    "transposed": lambda: nn.Conv2DTranspose(3, 3, strides=2, padding=1, output_padding=1),
    "pooling": lambda: nn.MaxPool2D(3, 2, ceil_mode=True),
    "means": lambda: nn.AvgPool2D(2, 2, padding=1, count_include_pad=False),
    "whole": lambda: nn.GlobalAvgPool2D(),
    "batch norm": lambda: nn.BatchNorm(),
    "layer norm": lambda: nn.LayerNorm(),
    "group norm": lambda: nn.GroupNorm(2),
    "instance norm": lambda: nn.InstanceNorm(),
    "prelu": lambda: nn.PReLU(),
    "gelu": lambda: nn.GELU(),
    "swish": lambda: nn.Swish(),
    "dense": lambda: nn.Dense(3),
    "rows": lambda: nn.Dense(3, flatten=False),
    "reflection": lambda: nn.ReflectionPad2D(1),
}


@pytest.mark.parametrize("layer", IMAGE_LAYERS)
def test_layers_are_exported(layer: str, tmp_path: Path) -> None:
    model = agree(started(IMAGE_LAYERS[layer]()), tmp_path / "net", floats(2, 4, 6, 6))
    onnx.checker.check_model(model, full_check=True)


def test_a_network_keeps_its_names_and_says_where_it_was_made(tmp_path: Path) -> None:
    with source.source_lines():
        data = mx.sym.Variable("data")
        net = mx.sym.FullyConnected(data, num_hidden=3, name="first")
        net = mx.sym.SoftmaxOutput(
            mx.sym.Activation(net, act_type="tanh", name="bent"), name="softmax"
        )
    params = {"first_weight": mx.nd.array(floats(3, 4)), "first_bias": mx.nd.array(floats(3))}
    path = exported(net, {"data": (2, 4)}, params, tmp_path / "net.onnx")
    graph = onnx.load(path).graph
    assert [node.name for node in graph.node] == ["first", "bent", "softmax"]
    assert [each.name for each in graph.initializer] == ["first_weight", "first_bias"]
    assert [each.name for each in (*graph.input, *graph.output)] == ["data", "softmax"]
    assert "FullyConnected, made in" in graph.node[0].doc_string
    assert "test_networks.py" in graph.node[0].doc_string
    x = floats(2, 4)
    (actual,) = run(path, x)
    scores = np.tanh(x @ params["first_weight"].asnumpy().T + params["first_bias"].asnumpy())
    np.testing.assert_allclose(
        actual, np.exp(scores) / np.exp(scores).sum(1, keepdims=True), rtol=1e-5
    )


MODES = ["rnn_relu", "rnn_tanh", "lstm", "gru"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers_are_exported(mode: str, bidirectional: bool, tmp_path: Path) -> None:
    kind = {"lstm": rnn.LSTM, "gru": rnn.GRU}.get(mode, rnn.RNN)
    more = {"activation": mode[4:]} if kind is rnn.RNN else {}
    layer = started(kind(4, 2, bidirectional=bidirectional, **more))
    size = (2 * (1 + bidirectional), 3, 4)
    states = [floats(*size) for _ in range(2 if mode == "lstm" else 1)]

    class Whole(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def hybrid_forward(self, F: Any, x: Any, *states: Any) -> Any:
            out, new = self.layer(x, list(states))
            return [out, *new]

    model = agree(Whole(), tmp_path / "net", floats(5, 3, 2), *states)
    expected = {"lstm": "LSTM", "gru": "GRU"}.get(mode, "RNN")
    assert [node.op_type for node in model.graph.node].count(expected) == 2


def test_recurrent_layers_with_lengths(tmp_path: Path) -> None:
    data, lengths = mx.sym.Variable("data"), mx.sym.Variable("lengths")
    names = ["parameters", "state", "state_cell"]
    net = mx.sym.RNN(
        data, *[mx.sym.Variable(n) for n in names], lengths, state_size=4, num_layers=1, mode="lstm",
        bidirectional=True, use_sequence_length=True, state_outputs=True, name="rnn",
    )  # fmt: skip
    arrays = [
        floats(5, 3, 2),
        floats(256),
        floats(2, 3, 4),
        floats(2, 3, 4),
        np.array([5, 2, 3], "float32"),
    ]
    params = {n: mx.nd.array(a) for n, a in zip(names, arrays[1:4], strict=True)}
    path = mx.onnx.export_model(
        net, params, [(5, 3, 2), (3,)], onnx_file_path=str(tmp_path / "net.onnx")
    )
    actual = run(path, arrays[0], arrays[4])
    ours = mx.nd.RNN(*[mx.nd.array(a) for a in arrays], state_size=4, num_layers=1, mode="lstm",
                     bidirectional=True, use_sequence_length=True, state_outputs=True)  # fmt: skip
    for our, their in zip(ours, actual, strict=True):
        np.testing.assert_allclose(their, our.asnumpy(), rtol=1e-4, atol=1e-5)


def test_recurrent_cells_are_exported(tmp_path: Path) -> None:
    class Unrolled(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.cell = rnn.HybridSequentialRNNCell()
            for each in (rnn.LSTMCell(3), rnn.ResidualCell(rnn.GRUCell(3)), rnn.RNNCell(2)):
                self.cell.add(each)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.cell.unroll(4, x, merge_outputs=True)[0]

    agree(started(Unrolled()), tmp_path / "net", floats(2, 4, 3))


def _bodies(node: Any) -> list[Any]:
    return [each.g for each in node.attribute if each.type == onnx.AttributeProto.GRAPH]


def _read(graph: Any) -> set[str]:
    """Names of what a graph and its bodies read."""
    names = {each.name for each in graph.output}
    for node in graph.node:
        names.update(node.input, *map(_read, _bodies(node)))
    return names


def _unread(graph: Any) -> set[str]:
    """Initializers and nodes that nothing reads, those of bodies included."""
    read = _read(graph)
    unread = {each.name for each in graph.initializer} - read
    unread |= {node.name for node in graph.node if read.isdisjoint(node.output)}
    return unread.union(*(_unread(body) for node in graph.node for body in _bodies(node)))


def test_loops_are_loops_and_branches_branches(tmp_path: Path) -> None:
    data = mx.sym.Variable("data")
    state = mx.sym.Variable("state")
    outputs, last = mx.sym.contrib.foreach(lambda x, s: (x * s, x + s), data, state)
    turns, _ = mx.sym.contrib.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (s, [i + 1, s * 2]),
        [mx.sym.sum(state) * 0, last],
        max_iterations=5,
    )
    chosen = mx.sym.contrib.cond(mx.sym.sum(state) > 0, lambda: last + 1, lambda: last - 1)
    net = mx.sym.Group([outputs, last, turns, chosen])
    path = exported(net, {"data": (4, 3), "state": (3,)}, {}, tmp_path / "net.onnx")
    graph = onnx.load(path).graph
    assert {"Loop", "If"} <= {node.op_type for node in graph.node}
    assert not _unread(graph)
    for sign in (1, -1):
        x, s = floats(4, 3), sign * np.abs(floats(3))
        feeds = {"data": x, "state": s}
        names = net.list_inputs()
        actual = run(path, *[feeds[n] for n in names])
        sums = s + np.vstack([0 * s, np.cumsum(x, 0)])
        rows = np.zeros((5, 3), "float32")
        rows[:3] = sums[-1] * np.array([[1], [2], [4]])
        for ours, expected in zip(
            actual, [x * sums[:-1], sums[-1], rows, sums[-1] + sign], strict=True
        ):
            np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


def _small_network() -> Any:
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Flatten()
    )
    net.add(nn.Dense(8, activation="tanh"), nn.Dropout(0.5), nn.LayerNorm(), nn.Dense(3))
    return started(net)


@pytest.mark.parametrize("opset", [13, 17, 28])
def test_batches_of_any_size_are_accepted(opset: int, tmp_path: Path) -> None:
    net = _small_network()
    shapes = [("batch", 3, 8, 8)]
    model = agree(
        net, tmp_path / "net", floats(2, 3, 8, 8), opset_version=opset, dynamic_input_shapes=shapes
    )
    assert model.opset_import[0].version == opset
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    x = floats(5, 3, 8, 8)
    (actual,) = run(tmp_path / "net.onnx", x)
    np.testing.assert_allclose(actual, net(mx.nd.array(x)).asnumpy(), rtol=1e-4, atol=1e-5)


def test_operators_without_a_converter_are_exported_with_open_extents(tmp_path: Path) -> None:
    x = mx.sym.Variable("data")
    net = mx.sym.smooth_l1(mx.sym.moments(x, axes=(1,))[1], scalar=2.0) + mx.sym.repeat(
        x, repeats=3, axis=1
    ).sum(axis=1)
    path = mx.onnx.export_model(
        net,
        {},
        [(2, 3)],
        onnx_file_path=str(tmp_path / "net.onnx"),
        dynamic=True,
        dynamic_input_shapes=[(None, 3)],
    )
    for count in (2, 7):
        data = floats(count, 3)
        var = data.var(1)
        smooth = np.where(var < 0.25, 2 * var**2, var - 0.125)
        np.testing.assert_allclose(
            run(path, data)[0], smooth + 3 * data.sum(1), rtol=1e-4, atol=1e-5
        )


def test_half_precision_is_exported(tmp_path: Path) -> None:
    net = _small_network()
    net.cast("float16")
    agree(net, tmp_path / "net", floats(2, 3, 8, 8, dtype="float16"), tolerance=2e-2)


def test_losses_are_exported(tmp_path: Path) -> None:
    class Loss(gluon.HybridBlock):
        def __init__(self, loss: Any) -> None:
            super().__init__()
            self.loss = loss

        def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
            return self.loss(x, y)

    for number, loss in enumerate(
        [gluon.loss.L2Loss(), gluon.loss.SoftmaxCELoss(), gluon.loss.HuberLoss()]
    ):
        label = np.array([0, 2], "float32") if number == 1 else floats(2, 3)
        agree(Loss(loss), tmp_path / f"loss{number}", floats(2, 3), label)


def test_large_parameters_are_stored_next_to_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(16, 3, in_channels=3), gluon.nn.Dense(7), gluon.nn.Dense(300))
    net.initialize()
    x = floats(2, 3, 8, 8)
    agree(net, tmp_path / "net", x)
    (expected,) = run(tmp_path / "net.onnx", x)
    path = tmp_path / "large.onnx"
    monkeypatch.setattr("mixnet.onnx.export.export_model.LARGEST", 1000)
    monkeypatch.setattr("mixnet.onnx.export.file._PIECE", 600)  # bytes: rows are copied in turns
    net.export(str(tmp_path / "large"), format="onnx")
    assert path.stat().st_size < (tmp_path / "net.onnx").stat().st_size
    assert sorted(each.name for each in tmp_path.glob("large*")) == [
        "large.onnx",
        "large.onnx.data",
    ]
    onnx.checker.check_model(str(path))
    np.testing.assert_array_equal(run(path, x)[0], expected)
    again = mx.contrib.onnx.import_to_gluon(str(path))
    np.testing.assert_allclose(again(mx.nd.array(x)).asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_files_of_a_checkpoint(tmp_path: Path) -> None:
    net = _small_network()
    net.hybridize()
    x = floats(2, 3, 8, 8)
    ours = net(mx.nd.array(x)).asnumpy()
    symbol, params = net.export(str(tmp_path / "net"))
    path = mx.contrib.onnx.export_model(
        symbol, params, [(2, 3, 8, 8)], "float32", str(tmp_path / "net.onnx")
    )
    np.testing.assert_allclose(run(path, x)[0], ours, rtol=1e-4, atol=1e-5)
    actual = mx.onnx.get_model_metadata(path)
    assert actual["input_tensor_data"] == [("data", (2, 3, 8, 8))]
    assert [shape for _, shape in actual["output_tensor_data"]] == [(2, 3)]


@pytest.mark.parametrize(
    "name,size", [("resnet18_v1", 32), ("mobilenetv2_0.25", 32), ("squeezenet1.1", 224)]
)
def test_networks_of_the_zoo(name: str, size: int, tmp_path: Path) -> None:
    net = started(gluon.model_zoo.vision.get_model(name, classes=5))
    symbol = net(mx.sym.Variable("data"))
    shapes, _, states = symbol.infer_shape(data=(1, 3, size, size))
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    actual = dict(zip(names, [*shapes, *states], strict=True))
    params = {
        n: RNG.uniform(0.01, 0.1, s).astype("float32") for n, s in actual.items() if n != "data"
    }
    path = exported(symbol, {"data": (1, 3, size, size)}, params, tmp_path / "net.onnx")
    (out,) = run(path, floats(1, 3, size, size))
    assert out.shape == (1, 5)
    assert np.isfinite(out).all()


def test_an_encoder_with_open_batch_and_time(tmp_path: Path) -> None:
    net = started(Encoder(words=50, units=16, layers=2, heads=4, longest=12, classes=3))
    tokens = RNG.integers(0, 50, (2, 7)).astype("float32")
    mask = (np.arange(7) < np.array([[7], [4]])).astype("float32")
    shapes = [("batch", "time"), ("batch", "time")]
    agree(net, tmp_path / "net", tokens, mask, dynamic_input_shapes=shapes)
    tokens = RNG.integers(0, 50, (3, 11)).astype("float32")
    mask = np.ones((3, 11), "float32")
    (actual,) = run(tmp_path / "net.onnx", tokens, mask)
    ours = net(mx.nd.array(tokens), mx.nd.array(mask)).asnumpy()
    np.testing.assert_allclose(actual, ours, rtol=1e-4, atol=1e-5)


def test_the_page_has_a_row_for_each_network_of_the_zoo() -> None:
    page = Path(__file__).parents[2] / "docs" / "concepts" / "onnx.md"
    text = page.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\w. -]+?) \| (\d\.\de-\d\d) \|", text, re.MULTILINE))
    assert list(rows) == [*vision._MODELS, ENCODER]
    assert max(map(float, rows.values())) < TOLERANCE


def test_mistakes_name_what_was_given_and_the_way_out(tmp_path: Path) -> None:
    x = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
    params = {"fc_weight": floats(2, 3), "fc_bias": floats(2)}

    def export(*inputs: Any, **options: Any) -> str:
        return mx.onnx.export_model(*inputs, onnx_file_path=str(tmp_path / "net.onnx"), **options)

    with pytest.raises(ShapeError, match=r"in_shapes has 0 shape.s., but the inputs are 'data'"):
        export(net, params)
    with pytest.raises(ShapeError, match="'data', 'fc_bias'"):
        export(net, {"fc_weight": params["fc_weight"]}, [(1, 3)])
    with pytest.raises(AttributeValueError, match="opset_version=12: operator sets 13 to 28"):
        export(net, params, [(1, 3)], opset_version=12)
    with pytest.raises(ShapeError, match="dynamic_input_shapes"):
        export(net, params, [(1, 3)], dynamic=True, dynamic_input_shapes=[(None,)])
    with source.source_lines():
        bad = mx.sym.linalg.potrf(x, name="factor")
    with pytest.raises(MXNetError, match=r"_linalg_potrf of node 'factor'.*test_networks\.py:\d+"):
        export(bad, {}, [(3, 3)])
    assert not list(tmp_path.iterdir())
    block = nn.Dense(2)
    block.initialize()
    block.hybridize()
    block(mx.nd.ones((1, 3)))
    with pytest.raises(AttributeValueError, match="format='onxn' is not one of mxnet, onnx"):
        block.export(str(tmp_path / "net"), format="onxn")
