"""PyTorch's contenders: eager, eager with channels last, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.benchmarks.networks.case import RATE, Case
from tests.benchmarks.networks.convolutional import INCEPTIONS, MULTIPLES, VGG16

# Modules and their parts are defined in the order of Gluon's parameters, which are loaded by
# position.


def lenet(shape: tuple[int, ...], classes: int) -> nn.Module:
    """LeNet."""
    return nn.Sequential(
        nn.Conv2d(shape[1], 20, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(50 * ((shape[2] - 4) // 2 - 4) // 2 * (((shape[3] - 4) // 2 - 4) // 2), 500),
        nn.ReLU(),
        nn.Linear(500, classes),
    )


def _normalized(before: int, channels: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(before, channels, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(channels),
    ]


class Residual(nn.Module):
    """A block of convolutions, added to its input."""

    def __init__(self, kind: str, before: int, channels: int, stride: int):
        super().__init__()
        inner = channels // 4
        if kind == "basic":
            parts = [*_normalized(before, channels, 3, stride), nn.ReLU()]
            parts += _normalized(channels, channels, 3)
        else:
            parts = [*_normalized(before, inner, 1, stride), nn.ReLU()]
            parts += [*_normalized(inner, inner, 3), nn.ReLU(), *_normalized(inner, channels, 1)]
        self.body = nn.Sequential(*parts)
        self.shortcut = nn.Sequential()
        if before != channels:
            self.shortcut = nn.Sequential(*_normalized(before, channels, 1, stride))

    def forward(self, x: Any) -> Any:
        """The sum, cut off below 0."""
        return F.relu(self.body(x) + self.shortcut(x))


def resnet(
    shape: tuple[int, ...], classes: int, kind: str, blocks: tuple[int, ...], width: int = 64
) -> nn.Module:
    """ResNet v1."""
    parts = [*_normalized(shape[1], width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = width
    for stage, count in enumerate(blocks):
        channels = width * 2**stage * (1 if kind == "basic" else 4)
        for block in range(count):
            parts.append(Residual(kind, before, channels, 2 if stage and not block else 1))
            before = channels
    parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return nn.Sequential(*parts)


def vgg16(
    shape: tuple[int, ...],
    classes: int,
    width: int = 64,
    hidden: int = 4096,
    convolutions: tuple[int, ...] = VGG16,
) -> nn.Module:
    """VGG-16."""
    parts: list[nn.Module] = []
    before, extent = shape[1], shape[2]
    for count, multiple in zip(convolutions, MULTIPLES, strict=False):
        for _ in range(count):
            parts += [nn.Conv2d(before, width * multiple, 3, padding=1), nn.ReLU()]
            before = width * multiple
        parts.append(nn.MaxPool2d(2))
        extent //= 2
    parts += [nn.Flatten(), nn.Linear(before * extent**2, hidden), nn.ReLU()]
    parts += [nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)]
    return nn.Sequential(*parts)


def _cut_off(before: int, channels: int, kernel: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(before, channels, kernel, stride, kernel // 2), nn.ReLU())


class Inception(nn.Module):
    """Four paths side by side, their channels joined."""

    def __init__(self, before: int, channels: tuple[int, ...]):
        super().__init__()
        one, reduce3, three, reduce5, five, pooled = channels
        self.one = _cut_off(before, one, 1)
        self.three = nn.Sequential(_cut_off(before, reduce3, 1), _cut_off(reduce3, three, 3))
        self.five = nn.Sequential(_cut_off(before, reduce5, 1), _cut_off(reduce5, five, 5))
        self.pooled = nn.Sequential(nn.MaxPool2d(3, 1, 1), _cut_off(before, pooled, 1))
        self.channels = one + three + five + pooled

    def forward(self, x: Any) -> Any:
        """The paths' results."""
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pooled(x)], 1)


def googlenet(
    shape: tuple[int, ...],
    classes: int,
    divisor: int = 1,
    blocks: tuple[int, ...] = (2, 5, 2),
) -> nn.Module:
    """GoogLeNet."""
    first, second = 64 // divisor, 192 // divisor
    parts = [_cut_off(shape[1], first, 7, 2), nn.MaxPool2d(3, 2, 1), _cut_off(first, first, 1)]
    parts += [_cut_off(first, second, 3), nn.MaxPool2d(3, 2, 1)]
    before = second
    for number, (stage, count) in enumerate(zip(INCEPTIONS, blocks, strict=True)):
        if number:
            parts.append(nn.MaxPool2d(3, 2, 1))
        for channels in stage[:count]:
            block = Inception(before, tuple(each // divisor for each in channels))
            parts.append(block)
            before = block.channels
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


class LanguageModel(nn.Module):
    """Embedding, LSTM layers, scores of the next word."""

    def __init__(self, classes: int, units: int, layers: int):
        super().__init__()
        self.embedding = nn.Embedding(classes, units)
        self.layers = nn.LSTM(units, units, layers)
        self.decoder = nn.Linear(units, classes)

    def forward(self, tokens: Any) -> Any:
        """``(time, batch)`` to ``(time * batch, classes)``."""
        return self.decoder(self.layers(self.embedding(tokens))[0].flatten(0, 1))


def lstm(shape: tuple[int, ...], classes: int, units: int, layers: int = 2) -> nn.Module:
    """The language model."""
    return LanguageModel(classes, units, layers)


class EncoderLayer(nn.Module):
    """Attention of all steps to all steps, then an affine map of each step and back."""

    def __init__(self, units: int, heads: int):
        super().__init__()
        self.heads = heads
        self.projections = nn.Linear(units, 3 * units)
        self.out = nn.Linear(units, units)
        self.after_attention = nn.LayerNorm(units)
        self.wide, self.narrow = nn.Linear(units, 4 * units), nn.Linear(4 * units, units)
        self.after_maps = nn.LayerNorm(units)

    def forward(self, x: Any) -> Any:
        """``(time, batch, units)``; of each head the query, the key and the value lie together."""
        time, batch, units = x.shape
        split = self.projections(x).view(time, batch, self.heads, 3, units // self.heads)
        query, key, value = split.permute(3, 1, 2, 0, 4)
        mixed = F.scaled_dot_product_attention(query, key, value)
        mixed = mixed.permute(2, 0, 1, 3).reshape(time, batch, units)
        x = self.after_attention(x + self.out(mixed))
        return self.after_maps(x + self.narrow(F.relu(self.wide(x))))


class Encoder(nn.Module):
    """Layers, and an affine map of the mean over time."""

    def __init__(self, units: int, classes: int, heads: int, layers: int):
        super().__init__()
        self.layers = nn.Sequential(*[EncoderLayer(units, heads) for _ in range(layers)])
        self.decoder = nn.Linear(units, classes)

    def forward(self, x: Any) -> Any:
        """``(time, batch, units)`` to ``(batch, classes)``."""
        return self.decoder(self.layers(x).mean(0))


def transformer(shape: tuple[int, ...], classes: int, heads: int, layers: int = 4) -> nn.Module:
    """The encoder."""
    return Encoder(shape[2], classes, heads, layers)


def _load(net: nn.Module, path: str) -> None:
    """Take Gluon's parameters by position; the vector of ``RNN`` is cut as ``nn.LSTM`` has it."""
    file = np.load(path + ".npz")
    inputs = [torch.from_numpy(file[f"arr_{i}"]) for i in range(len(file.files))]
    own = [v for name, v in net.state_dict().items() if not name.endswith("num_batches_tracked")]
    if isinstance(net, LanguageModel):
        vector, embedding, *decoder = inputs  # a block's own parameters come before its children's
        weights = [p for n, p in net.layers.named_parameters() if n.startswith("weight")]
        biases = [p for n, p in net.layers.named_parameters() if n.startswith("bias")]
        pieces = vector.split([p.numel() for p in weights + biases])
        inputs = [
            embedding,
            *[s.view(p.shape) for s, p in zip(pieces, weights + biases, strict=False)],
            *decoder,
        ]
        own = [net.embedding.weight, *weights, *biases, net.decoder.weight, net.decoder.bias]
    with torch.no_grad():
        for mine, value in zip(own, inputs, strict=True):
            if mine.shape != value.shape:
                raise ValueError(f"A parameter is {tuple(value.shape)}, not {tuple(mine.shape)}.")
            mine.copy_(value)


class Contender:
    """One network that predicts and trains.

    Args:
        case: network and data.
        variant: "eager", "channels last" or "compiled" (with channels last where there are any).
        parameters: path of Gluon's, None for random ones.
    """

    def __init__(self, case: Case, variant: str, parameters: str | None):
        net = globals()[case.network](case.shape, case.classes, **case.arguments)
        if parameters is not None:
            _load(net, parameters)
        x, y = case.data()
        self._x, self._y = torch.from_numpy(x), torch.from_numpy(y).long()
        if case.vocabulary is not None:
            self._x = self._x.long()
        if variant != "eager" and self._x.ndim == 4:
            net = net.to(memory_format=torch.channels_last)
            self._x = self._x.to(memory_format=torch.channels_last)
        self._net = net
        self._optimizer = torch.optim.SGD(net.parameters(), lr=RATE, foreach=True)
        self._forward: Callable[..., Any] = net
        self._loss: Callable[..., Any] = self._losses
        if variant == "compiled":
            self._forward, self._loss = torch.compile(net), torch.compile(self._losses)

    def _losses(self, x: Any, y: Any) -> Any:
        return F.cross_entropy(self._net(x), y)

    def predict(self) -> Any:
        """The outputs."""
        self._net.eval()
        with torch.inference_mode():
            return self._forward(self._x)

    def train(self) -> Any:
        """One step of training; the mean loss."""
        self._net.train()
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._loss(self._x, self._y)
        loss.backward()
        self._optimizer.step()
        return loss

    def finish(self) -> None:
        """Nothing runs on its own."""

    @staticmethod
    def numpy(value: Any) -> np.ndarray:
        """The array."""
        return value.detach().numpy()


def contender(threads: int) -> Callable[..., Contender]:
    """``Contender``, in a process of so many threads."""
    torch.set_num_threads(threads)
    return Contender
