"""The networks in PyTorch; modules are defined in the order of Gluon's parameters, which are
loaded by position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.benchmarks.backends.networks import CLASSES, HEADS, LAYERS, LONGEST, UNITS, WORDS


def _normalized(
    before: int,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
    bias: bool = False,
) -> list[nn.Module]:
    convolution = nn.Conv2d(before, channels, kernel, stride, kernel // 2, groups=groups, bias=bias)
    return [convolution, nn.BatchNorm2d(channels)]


class Residual(nn.Module):
    """ResNet v1's block of three convolutions."""

    def __init__(self, before: int, channels: int, stride: int, projects: bool):
        super().__init__()
        inner = channels // 4
        self.body = nn.Sequential(
            *_normalized(before, inner, stride=stride, bias=True),
            nn.ReLU(),
            *_normalized(inner, inner, 3),
            nn.ReLU(),
            *_normalized(inner, channels, bias=True),
        )
        self.short = nn.Sequential()
        if projects:
            self.short = nn.Sequential(*_normalized(before, channels, stride=stride))

    def forward(self, x: Any) -> Any:
        """The sum, cut off below 0."""
        return F.relu(self.body(x) + self.short(x))


def resnet50() -> nn.Module:
    """ResNet-50 v1."""
    parts = [*_normalized(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        channels = 256 * 2**stage
        for number in range(count):
            parts.append(Residual(before, channels, 2 if stage and not number else 1, not number))
            before = channels
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


class Inverted(nn.Module):
    """MobileNet v2's block."""

    def __init__(self, before: int, channels: int, factor: int, stride: int):
        super().__init__()
        wide = before * factor
        self.adds = stride == 1 and before == channels
        self.body = nn.Sequential(
            *_normalized(before, wide),
            nn.ReLU6(),
            *_normalized(wide, wide, 3, stride, wide),
            nn.ReLU6(),
            *_normalized(wide, channels),
        )

    def forward(self, x: Any) -> Any:
        """The block's result, added to its input where shapes are equal."""
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet() -> nn.Module:
    """MobileNet v2."""
    channels = [32, 16, *[24] * 2, *[32] * 3, *[64] * 4, *[96] * 3, *[160] * 3, 320]
    strides = [1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]
    parts = [*_normalized(3, 32, 3, 2), nn.ReLU6()]
    for number, stride in enumerate(strides):
        before, after = channels[number : number + 2]
        parts.append(Inverted(before, after, 6 if number else 1, stride))
    parts += [*_normalized(320, 1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*parts, nn.Conv2d(1280, 1000, 1, bias=False), nn.Flatten())


class Layer(nn.Module):
    """Attention and two affine maps, each added and normalized."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(UNITS, UNITS) for _ in range(4))
        self.after_attention = nn.LayerNorm(UNITS)
        self.wide, self.narrow = nn.Linear(UNITS, 4 * UNITS), nn.Linear(4 * UNITS, UNITS)
        self.after_maps = nn.LayerNorm(UNITS)

    def forward(self, x: Any, hidden: Any) -> Any:
        """Map ``(batch, time, units)``."""
        batch, time, _ = x.shape
        query, key, value = (
            each(x).view(batch, time, HEADS, -1).transpose(1, 2)
            for each in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, hidden)
        x = self.after_attention(x + self.out(mixed.transpose(1, 2).reshape(batch, time, UNITS)))
        return self.after_maps(x + self.narrow(F.gelu(self.wide(x))))


class Encoder(nn.Module):
    """Scores of classes for rows of tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, UNITS), nn.Embedding(LONGEST, UNITS)
        self.norm = nn.LayerNorm(UNITS)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.pooled, self.classes = nn.Linear(UNITS, UNITS), nn.Linear(UNITS, CLASSES)

    def forward(self, tokens: Any, mask: Any) -> Any:
        """Map tokens and mask, ``(batch, time)`` each, to ``(batch, classes)``."""
        x = self.norm(self.words(tokens.long()) + self.places.weight[: tokens.shape[1]])
        hidden = ((1 - mask) * -1e4)[:, None, None]
        for each in self.layers:
            x = each(x, hidden)
        return self.classes(torch.tanh(self.pooled(x[:, 0])))


def encoder() -> nn.Module:
    """A network like BERT."""
    return Encoder()


def network(name: str, variant: str, path: str) -> tuple[Any, bool]:
    """A network that predicts, with Gluon's parameters; whether its images lie with channels last.

    Args:
        name: of the network.
        variant: "eager" or "compiled".
        path: of a file of arrays in Gluon's order.
    """
    net = globals()[name]()
    file = np.load(path)
    inputs = [torch.from_numpy(file[f"arr_{i}"]) for i in range(len(file.files))]
    own = [v for key, v in net.state_dict().items() if not key.endswith("num_batches_tracked")]
    for mine, value in zip(own, inputs, strict=True):
        if mine.shape != value.shape:
            raise ValueError(f"A parameter is {tuple(value.shape)}, not {tuple(mine.shape)}.")
        mine.copy_(value)
    net.eval()
    last = name != "encoder"
    if last:
        net = net.to(memory_format=torch.channels_last)
    return (torch.compile(net) if variant == "compiled" else net), last
