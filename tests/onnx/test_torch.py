"""Networks that PyTorch exports: the same outputs here, and gradients that flow."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.onnx.runtime import onnx

torch = pytest.importorskip("torch", reason="pip install torch to export networks of PyTorch")
nn = torch.nn


class Residual(nn.Module):
    """A convolutional network with a shortcut, as ResNets have."""

    def __init__(self) -> None:
        super().__init__()
        self.begin = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        self.part = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1),
        )
        self.end = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))

    def forward(self, x: Any) -> Any:
        x = self.begin(x)
        return self.end(torch.relu(x + self.part(x)))


class UNet(nn.Module):
    """Down and up again, with what was there before joined to it."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.LeakyReLU(0.1))
        self.low = nn.Sequential(
            nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU()
        )
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.wide = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.end = nn.Conv2d(16, 2, 1)

    def forward(self, x: Any) -> Any:
        before = self.down(x)
        low = self.low(before)
        return self.end(torch.cat([before, self.up(low), self.wide(low)], 1))


class Recurrent(nn.Module):
    """Two layers of an LSTM in both directions, and a GRU behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(8, 5, batch_first=True)
        self.end = nn.Linear(5, 2)

    def forward(self, x: Any) -> Any:
        out, _ = self.gru(self.lstm(x)[0])
        return self.end(out[:, -1])


class Encoder(nn.Module):
    """A transformer's encoder over embedded words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        layer = nn.TransformerEncoderLayer(
            8, 2, 16, dropout=0.0, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Any) -> Any:
        return self.encoder(self.words(x))


class Masked(nn.Module):
    """Attention that hides padded words and later ones, with infinities."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, "relu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.three = nn.Linear(8, 24)

    def forward(self, x: Any) -> Any:
        y = self.encoder(self.words(x), src_key_padding_mask=x == 0)
        parts = [each[:, None] for each in self.three(y).chunk(3, -1)]
        return nn.functional.scaled_dot_product_attention(*parts, is_causal=True)[:, 0]


CASES = {
    "residual": (Residual, (2, 3, 16, 16)),
    "unet": (UNet, (2, 3, 8, 8)),
    "recurrent": (Recurrent, (2, 6, 3)),
    "encoder": (Encoder, None),
    "masked": (Masked, None),
}


def write(net: Any, x: Any, path: Path, dynamo: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            (x,),
            str(path),
            dynamo=dynamo,
            input_names=["x"],
            output_names=["y"],
            verbose=False,
        )


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_outputs_and_gradients_are_those_of_torch(name: str, dynamo: bool, tmp_path: Path) -> None:
    if dynamo:
        pytest.importorskip(
            "onnxscript", reason="pip install onnxscript for torch's newer exporter"
        )
    assert onnx
    torch.manual_seed(4)
    kind, shape = CASES[name]
    net = kind().eval()
    x = torch.randn(shape) if shape else torch.tensor([[3, 0, 7, 1, 0], [10, 2, 2, 5, 4]])
    with torch.no_grad():
        expected = net(x).numpy()
    write(net, x, tmp_path / "net.onnx", dynamo)
    block = mx.contrib.onnx.import_to_gluon(tmp_path / "net.onnx", mx.cpu())
    data = mx.nd.array(x.numpy(), dtype=x.numpy().dtype)
    np.testing.assert_allclose(block(data).asnumpy(), expected, rtol=1e-4, atol=1e-4)
    block.hybridize()
    if shape:
        data.attach_grad()
        x.requires_grad_()
    with mx.autograd.record(train_mode=False):
        loss = (block(data) ** 2).sum()
    loss.backward()
    assert loss.asscalar() == pytest.approx((expected**2).sum(), rel=1e-3)
    (net(x) ** 2).sum().backward()
    if shape:  # through every layer
        slopes = x.grad.numpy()
        np.testing.assert_allclose(
            data.grad.asnumpy(), slopes, rtol=1e-3, atol=1e-4 * np.abs(slopes).max()
        )
    # Weights may come joined or turned, or folded into their neighbours: those that do not have the
    # gradients of torch's.
    theirs = [(sorted(p.shape), float((p.grad**2).sum())) for p in net.parameters()]
    ours = [
        (sorted(p.shape), float((p.grad().asnumpy() ** 2).sum()))
        for p in block.collect_params().values()
        if p.grad_req != "null"
    ]
    same = [
        shape
        for shape, square in ours
        if any(shape == each and square == pytest.approx(s, rel=1e-3) for each, s in theirs)
    ]
    assert len(same) >= 2
    assert all(square > 0 for _, square in ours)
    tuned(block, data)


class JoinedUNet(UNet):
    """The same for images of any size: what was enlarged is padded to the size before."""

    def forward(self, x: Any) -> Any:
        before = self.down(x)
        low = self.low(before)
        up = self.up(low)
        high, wide = (before.size(axis) - up.size(axis) for axis in (2, 3))
        pads = [wide // 2, wide - wide // 2, high // 2, high - high // 2]
        same = nn.functional.interpolate(low, size=before.shape[2:], mode="bilinear")
        return self.end(torch.cat([before, nn.functional.pad(up, pads), same], 1))


@pytest.mark.parametrize("dynamo", [False, True])
def test_a_unet_for_images_of_any_size(dynamo: bool, tmp_path: Path) -> None:
    if dynamo:
        pytest.importorskip(
            "onnxscript", reason="pip install onnxscript for torch's newer exporter"
        )
    torch.manual_seed(4)
    net = JoinedUNet().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        axes = dict.fromkeys((0, 2, 3), torch.export.Dim.DYNAMIC)
        names = {0: "n", 2: "h", 3: "w"}
        which: Any = {"dynamic_shapes": (axes,)} if dynamo else {"dynamic_axes": {"x": names}}
        path = str(tmp_path / "net.onnx")
        x = torch.randn(2, 3, 8, 12)
        torch.onnx.export(net, (x,), path, dynamo=dynamo, input_names=["x"], verbose=False, **which)
    block = mx.contrib.onnx.import_to_gluon(path)
    for shape in ((2, 3, 8, 12), (1, 3, 9, 7), (3, 3, 15, 10)):
        x = torch.randn(shape)
        with torch.no_grad():
            expected = net(x).numpy()
        np.testing.assert_allclose(
            block(mx.nd.array(x.numpy())).asnumpy(), expected, rtol=1e-4, atol=1e-4
        )
    tuned(block, mx.nd.array(x.numpy()))
    trained = [p for p in block.collect_params().values() if p.grad_req != "null"]
    assert len(trained) == len(list(net.parameters()))


def tuned(block: Any, data: Any) -> None:
    """Check that a few steps of training lower a loss, and that the network can be drawn and planned."""
    trainer = mx.gluon.Trainer(block.collect_params(), "adam", {"learning_rate": 1e-3})
    losses = []
    for _ in range(5):
        with mx.autograd.record():
            loss = (block(data) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss.asscalar()))
    assert losses[-1] < losses[0]
    assert mx.widgets.GraphView(block, data).payload["nodes"]
    assert mx.widgets.MemoryView(block, data).payload
