"""Convolutional networks in Gluon's public API: ``mx`` is mixnet or the real mxnet."""

from __future__ import annotations

from typing import Any


def lenet(mx: Any, shape: tuple[int, ...], classes: int) -> Any:
    """LeNet as MXNet's tutorials have it (LeCun et al., 1998, with max pooling and relu)."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, 5, activation="relu"),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(50, 5, activation="relu"),
        nn.MaxPool2D(2, 2),
        nn.Flatten(),
        nn.Dense(500, activation="relu"),
        nn.Dense(classes),
    )
    return net


def resnet(
    mx: Any,
    shape: tuple[int, ...],
    classes: int,
    kind: str,
    blocks: tuple[int, ...],
    width: int = 64,
) -> Any:
    """ResNet v1 (He et al., 2015), convolutions without bias, the stride on a block's first.

    ``kind`` is "basic" or "bottleneck"; ``blocks`` are counted by stage.
    """
    nn = mx.gluon.nn

    def convolution(channels: int, kernel: int, stride: int = 1) -> list[Any]:
        return [
            nn.Conv2D(channels, kernel, stride, kernel // 2, use_bias=False),
            nn.BatchNorm(),
        ]

    class Residual(mx.gluon.HybridBlock):
        """A block of convolutions, added to its input."""

        def __init__(self, kind: str, channels: int, stride: int, project: bool):
            super().__init__()
            self.body = nn.HybridSequential()
            if kind == "basic":
                self.body.add(*convolution(channels, 3, stride), nn.Activation("relu"))
                self.body.add(*convolution(channels, 3))
            else:
                self.body.add(*convolution(channels // 4, 1, stride), nn.Activation("relu"))
                self.body.add(*convolution(channels // 4, 3), nn.Activation("relu"))
                self.body.add(*convolution(channels, 1))
            self.shortcut = None
            if project:
                self.shortcut = nn.HybridSequential()
                self.shortcut.add(*convolution(channels, 1, stride))

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            short = x if self.shortcut is None else self.shortcut(x)
            return F.Activation(self.body(x) + short, act_type="relu")

    net = nn.HybridSequential()
    net.add(*convolution(width, 7, 2), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))
    before = width
    for stage, count in enumerate(blocks):
        channels = width * 2**stage * (1 if kind == "basic" else 4)
        for block in range(count):
            stride = 2 if stage and not block else 1
            net.add(Residual(kind, channels, stride, project=before != channels))
            before = channels
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(classes))
    return net


VGG16 = ((2, 1), (2, 2), (3, 4), (3, 8), (3, 8))
"""Convolutions of each stage, and their channels as multiples of the width."""


def vgg16(
    mx: Any, shape: tuple[int, ...], classes: int, width: int = 64, hidden: int = 4096
) -> Any:
    """VGG-16 (Simonyan and Zisserman, 2014), without dropout: its results do not depend on draws."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for count, multiple in VGG16:
        for _ in range(count):
            net.add(nn.Conv2D(width * multiple, 3, padding=1, activation="relu"))
        net.add(nn.MaxPool2D(2, 2))
    net.add(nn.Flatten(), nn.Dense(hidden, activation="relu"), nn.Dense(hidden, activation="relu"))
    net.add(nn.Dense(classes))
    return net


INCEPTIONS = (
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
    ),
    ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)
"""Channels of GoogLeNet's blocks: 1x1, 3x3 reduced, 3x3, 5x5 reduced, 5x5, after pooling."""


def googlenet(
    mx: Any,
    shape: tuple[int, ...],
    classes: int,
    divisor: int = 1,
    blocks: tuple[int, ...] = (2, 5, 2),
) -> Any:
    """GoogLeNet (Szegedy et al., 2014), without side outputs, local normalisation and dropout.

    ``blocks`` are counted by stage; channels are divided by ``divisor``.
    """
    nn = mx.gluon.nn

    def convolution(channels: int, kernel: int, stride: int = 1) -> Any:
        channels //= divisor
        return nn.Conv2D(channels, kernel, stride, kernel // 2, activation="relu")

    class Inception(mx.gluon.HybridBlock):
        """Four paths side by side, their channels joined."""

        def __init__(self, channels: tuple[int, ...]):
            super().__init__()
            one, reduce3, three, reduce5, five, pooled = channels
            self.one = convolution(one, 1)
            self.reduce3, self.three = convolution(reduce3, 1), convolution(three, 3)
            self.reduce5, self.five = convolution(reduce5, 1), convolution(five, 5)
            self.pool, self.pooled = nn.MaxPool2D(3, 1, 1), convolution(pooled, 1)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            paths = (
                self.one(x),
                self.three(self.reduce3(x)),
                self.five(self.reduce5(x)),
                self.pooled(self.pool(x)),
            )
            return F.concat(*paths, dim=1)

    net = nn.HybridSequential()
    net.add(convolution(64, 7, 2), nn.MaxPool2D(3, 2, 1))
    net.add(convolution(64, 1), convolution(192, 3), nn.MaxPool2D(3, 2, 1))
    for number, (stage, count) in enumerate(zip(INCEPTIONS, blocks, strict=True)):
        if number:
            net.add(nn.MaxPool2D(3, 2, 1))
        for channels in stage[:count]:
            net.add(Inception(channels))
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(classes))
    return net
