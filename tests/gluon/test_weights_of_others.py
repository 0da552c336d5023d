"""Weights under the names of Hugging Face's libraries, from safetensors files, in Gluon's networks.

The files are made here, by networks of PyTorch whose parts have those names; their outputs are the truth.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.gluon import nn

torch = pytest.importorskip("torch", reason="pip install torch")
save_file = pytest.importorskip("safetensors.torch", reason="pip install safetensors").save_file


def _tree(**parts: Any) -> Any:
    """A part of a network with named parts."""
    module = torch.nn.Module()
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def _convolution(i: int, o: int, kernel: int, stride: int) -> Any:
    return _tree(
        convolution=torch.nn.Conv2d(i, o, kernel, stride, kernel // 2, bias=False),
        normalization=torch.nn.BatchNorm2d(o),
    )


def _run_convolution(part: Any, x: Any) -> Any:
    return part.normalization(part.convolution(x))


def _resnet() -> Any:
    stages, width = [], 64
    for wide in (64, 128, 256, 512):
        stride = 1 if wide == 64 else 2
        first = _tree(
            layer=torch.nn.ModuleList(
                [_convolution(width, wide, 3, stride), _convolution(wide, wide, 3, 1)]
            )
        )
        if stride != 1:
            first.shortcut = _convolution(width, wide, 1, stride)
        second = _tree(
            layer=torch.nn.ModuleList([_convolution(wide, wide, 3, 1) for _ in range(2)])
        )
        stages.append(_tree(layers=torch.nn.ModuleList([first, second])))
        width = wide
    return _tree(
        resnet=_tree(
            embedder=_tree(embedder=_convolution(3, 64, 7, 2)),
            encoder=_tree(stages=torch.nn.ModuleList(stages)),
        ),
        classifier=torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(512, 10)),
    )


def _run_resnet(net: Any, x: Any) -> Any:
    x = torch.relu(_run_convolution(net.resnet.embedder.embedder, x))
    x = torch.nn.functional.max_pool2d(x, 3, 2, 1)
    for stage in net.resnet.encoder.stages:
        for block in stage.layers:
            y = _run_convolution(block.layer[1], torch.relu(_run_convolution(block.layer[0], x)))
            x = torch.relu(
                y + (_run_convolution(block.shortcut, x) if hasattr(block, "shortcut") else x)
            )
    return net.classifier(x.mean((2, 3)))


def _of_resnet(name: str) -> str | None:
    """The name in Gluon's ``resnet18_v1`` of an array of PyTorch's ResNet."""
    if name.endswith("num_batches_tracked"):
        return None
    name = name.replace("normalization.weight", "normalization.gamma")
    name = name.replace("normalization.bias", "normalization.beta")
    parts = name.split(".")
    if parts[0] == "classifier":
        return f"output.{parts[-1]}"
    kind = 0 if parts[-2] == "convolution" else 1
    if parts[1] == "embedder":
        return f"features.{kind}.{parts[-1]}"
    stage, block = 4 + int(parts[3]), parts[5]
    if parts[6] == "shortcut":
        return f"features.{stage}.{block}.downsample.{kind}.{parts[-1]}"
    return f"features.{stage}.{block}.body.{3 * int(parts[7]) + kind}.{parts[-1]}"


def _settle(net: Any) -> None:
    """Random moving statistics: they must be found as well."""
    for name, value in net.state_dict().items():
        if "running" in name:
            value.uniform_(0.5, 1.5)
    net.eval()


def test_a_resnet_loads_renamed_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    theirs = _resnet()
    _settle(theirs)
    path = str(tmp_path / "model.safetensors")
    save_file(theirs.state_dict(), path)
    x = np.random.default_rng(0).normal(size=(1, 3, 64, 64)).astype("float32")
    with torch.no_grad():
        expected = _run_resnet(theirs, torch.from_numpy(x)).numpy()

    net = mx.gluon.model_zoo.vision.resnet18_v1(classes=10)
    net.load_parameters(path, names=_of_resnet)
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), expected, rtol=1e-3, atol=1e-4)


class Layer(nn.HybridBlock):
    """A layer of an encoder with normalisation after each part."""

    def __init__(self, units: int, hidden: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Dense(units, flatten=False) for _ in range(3))
        self.project, self.norm1 = nn.Dense(units, flatten=False), nn.LayerNorm(epsilon=1e-12)
        self.ffn1, self.ffn2 = nn.Dense(hidden, flatten=False), nn.Dense(units, flatten=False)
        self.gelu, self.norm2 = nn.GELU(), nn.LayerNorm(epsilon=1e-12)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        def split(y: Any) -> Any:
            return F.transpose(F.reshape(y, shape=(0, 0, self.heads, -1)), axes=(0, 2, 1, 3))

        q, k, v = (split(part(x)) for part in (self.query, self.key, self.value))
        scores = F.linalg.gemm2(q, k, transpose_b=True) / 2.0  # the root of 4 units a head
        y = F.linalg.gemm2(F.softmax(scores, axis=-1), v)
        y = F.reshape(F.transpose(y, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
        x = self.norm1(x + self.project(y))
        return self.norm2(x + self.ffn2(self.gelu(self.ffn1(x))))


class Encoder(nn.HybridBlock):
    """Embeddings of words and positions, then layers."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30, 16), nn.Embedding(12, 16)
        self.norm, self.layers = nn.LayerNorm(epsilon=1e-12), nn.HybridSequential()
        self.layers.add(*[Layer(16, 32, 4) for _ in range(2)])

    def hybrid_forward(self, F: Any, tokens: Any) -> Any:
        places = F.contrib.arange_like(tokens, axis=1)
        return self.layers(
            self.norm(F.broadcast_add(self.words(tokens), F.expand_dims(self.places(places), 0)))
        )


NAMES = {
    r"^bert\.embeddings\.word_embeddings": "words",
    r"^bert\.embeddings\.position_embeddings": "places",
    r"^bert\.embeddings\.LayerNorm": "norm",
    r"^bert\.encoder\.layer": "layers",
    r"attention\.self\.": "",
    r"attention\.output\.dense": "project",
    r"attention\.output\.LayerNorm": "norm1",
    r"intermediate\.dense": "ffn1",
    r"output\.dense": "ffn2",
    r"output\.LayerNorm": "norm2",
    r"(norm\d?)\.weight": r"\1.gamma",
    r"(norm\d?)\.bias": r"\1.beta",
    r"^cls\.": None,
}


def _bert() -> Any:
    linear, norm = torch.nn.Linear, lambda: torch.nn.LayerNorm(16, eps=1e-12)
    layers = [
        _tree(
            attention=_tree(
                self=_tree(query=linear(16, 16), key=linear(16, 16), value=linear(16, 16)),
                output=_tree(dense=linear(16, 16), LayerNorm=norm()),
            ),
            intermediate=_tree(dense=linear(16, 32)),
            output=_tree(dense=linear(32, 16), LayerNorm=norm()),
        )
        for _ in range(2)
    ]
    embeddings = _tree(
        word_embeddings=torch.nn.Embedding(30, 16),
        position_embeddings=torch.nn.Embedding(12, 16),
        LayerNorm=norm(),
    )
    encoder = _tree(layer=torch.nn.ModuleList(layers))
    return _tree(
        bert=_tree(embeddings=embeddings, encoder=encoder), cls=_tree(predictions=linear(16, 30))
    )


def _run_bert(net: Any, tokens: Any) -> Any:
    words = net.bert.embeddings
    x = words.LayerNorm(
        words.word_embeddings(tokens) + words.position_embeddings.weight[: tokens.shape[1]]
    )
    for layer in net.bert.encoder.layer:
        own, out = layer.attention.self, layer.attention.output
        q, k, v = (
            part(x).unflatten(2, (4, 4)).transpose(1, 2) for part in (own.query, own.key, own.value)
        )
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = out.LayerNorm(x + out.dense(y))
        y = torch.nn.functional.gelu(layer.intermediate.dense(x))
        x = layer.output.LayerNorm(x + layer.output.dense(y))
    return x


@pytest.fixture
def bert_file(tmp_path: Path) -> str:
    torch.manual_seed(1)
    path = str(tmp_path / "model.safetensors")
    theirs = _bert()
    save_file(theirs.state_dict(), path)
    torch.manual_seed(1)
    return path


def test_an_encoder_loads_renamed_weights(bert_file: str) -> None:
    tokens = np.random.default_rng(1).integers(0, 30, (2, 7))
    with torch.no_grad():
        expected = _run_bert(_bert(), torch.from_numpy(tokens)).numpy()
    net = Encoder()
    net.load_parameters(bert_file, names=NAMES)
    np.testing.assert_allclose(net(mx.nd.array(tokens)).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_exported_parameters_can_be_imported(tmp_path: Path) -> None:
    path = str(tmp_path / "own.safetensors")
    first, second = nn.Dense(3, in_units=2), nn.Dense(3, in_units=2)
    first.initialize()
    first.save_parameters(path)
    second.load_parameters(path)
    for name in ("weight", "bias"):
        np.testing.assert_array_equal(
            getattr(second, name).data().asnumpy(), getattr(first, name).data().asnumpy()
        )
    assert Path(path).read_bytes()[8:9] == b"{"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"(": "x"}, r"'\(' is not a regular expression"),
        ({"words": r"\7"}, "cannot replace"),
        ({"^.*$": "one"}, "both become 'one'"),
        ("bert", "neither a dict"),
        (lambda name: 3, "a new name is a string"),
        ({}, "is missing"),
    ],
)
def test_invalid_name_maps_are_refused(bert_file: str, names: Any, message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        Encoder().load_parameters(bert_file, names=names)
