"""Residual networks. Sources: He et al., 2015 (v1) and 2016 (v2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from mixnet.base import CheckError
from mixnet.context import Context, cpu
from mixnet.gluon import nn
from mixnet.gluon.block import HybridBlock
from mixnet.gluon.model_zoo.model_store import FOLDER, with_pretrained
from mixnet.gluon.model_zoo.vision.classifier import Classifier

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.block import Block
    from mixnet.gluon.block.tensor import Tensor

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
]


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(
        channels,
        kernel_size=3,
        strides=stride,
        padding=1,
        use_bias=False,
        in_channels=in_channels,
    )


def _conv1x1(channels: int, stride: int, in_channels: int = 0) -> nn.Conv2D:
    return nn.Conv2D(
        channels, kernel_size=1, strides=stride, use_bias=False, in_channels=in_channels
    )


class _BlockV1(HybridBlock):
    """``relu(body(x) + x)``, with ``x`` projected to the body's shape if that differs."""

    body: Any
    downsample: Any
    _body_first = False  # the order of the operands of the sum, and so of the symbol's arguments

    def _finish(self, channels: int, stride: int, downsample: bool, in_channels: int) -> None:
        self.downsample = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(_conv1x1(channels, stride, in_channels), nn.BatchNorm())

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The result of the convolutions plus the shortcut."""
        body = self.body(x)
        shortcut = x if self.downsample is None else self.downsample(x)
        total = body + shortcut if self._body_first else shortcut + body
        return F.Activation(total, act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two convolutions of 3 x 3 and a shortcut, for networks of 18 and 34 layers.

    Args:
        channels: channels of the outputs.
        stride: steps of the first convolution.
        downsample: project the inputs to the shape of the outputs.
        in_channels: channels of the inputs; 0: inferred from the first data.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
            nn.BatchNorm(),
        )
        self._finish(channels, stride, downsample, in_channels)


class BottleneckV1(_BlockV1):
    """A convolution of 3 x 3 between two of 1 x 1 and a shortcut, for 50 layers and more.

    Args:
        channels: channels of the outputs; the middle has a quarter.
        stride: steps of the first convolution.
        downsample: project the inputs to the shape of the outputs.
        in_channels: channels of the inputs; 0: inferred from the first data.
        kwargs: ``prefix`` and ``params``.
    """

    _body_first = True

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(
            nn.Conv2D(channels // 4, kernel_size=1, strides=stride),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels // 4, 1, channels // 4),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, kernel_size=1, strides=1),
            nn.BatchNorm(),
        )
        self._finish(channels, stride, downsample, in_channels)


class BasicBlockV2(HybridBlock):
    """``BasicBlockV1`` with normalization and activation before each convolution.

    Args:
        channels: channels of the outputs.
        stride: steps of the first convolution.
        downsample: project the inputs to the shape of the outputs.
        in_channels: channels of the inputs; 0: inferred from the first data.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The result of the convolutions plus the shortcut.

        Args:
            x: ``(batch, channels, height, width)``.
        """
        layers = ((self.bn1, self.conv1), (self.bn2, self.conv2))
        return _preactivated(F, x, layers, self.downsample)


class BottleneckV2(HybridBlock):
    """``BottleneckV1`` with normalization and activation before each convolution.

    Args:
        channels: channels of the outputs; the middle has a quarter.
        stride: steps of the middle convolution.
        downsample: project the inputs to the shape of the outputs.
        in_channels: channels of the inputs; 0: inferred from the first data.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv1x1(channels // 4, 1)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels // 4, stride, channels // 4)
        self.bn3 = nn.BatchNorm()
        self.conv3 = _conv1x1(channels, 1)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The result of the convolutions plus the shortcut.

        Args:
            x: ``(batch, channels, height, width)``.
        """
        layers = ((self.bn1, self.conv1), (self.bn2, self.conv2), (self.bn3, self.conv3))
        return _preactivated(F, x, layers, self.downsample)


def _preactivated(
    F: ModuleType,
    x: Tensor,
    layers: Sequence[tuple[HybridBlock, HybridBlock]],
    downsample: HybridBlock | None,
) -> Any:
    """Pairs of normalization and convolution, with an activation between them, plus the shortcut.

    The projection reads the first activation, which it shares with the first convolution.
    """
    shortcut = x
    for number, (normalization, convolution) in enumerate(layers):
        x = F.Activation(normalization(x), act_type="relu")
        if number == 0 and downsample is not None:
            shortcut = downsample(x)
        x = convolution(x)
    return x + shortcut


class _ResNet(Classifier):
    """The base of both versions: a stem, stages of blocks, and a head."""

    def _check(self, layers: Sequence[int], channels: Sequence[int]) -> None:
        if len(layers) != len(channels) - 1:
            raise CheckError(
                f"{type(self).__name__}: layers={layers} need {len(layers) + 1} channels, "
                f"starting with those of the first convolution, not {channels}."
            )

    def _add_start(self, channels: int, thumbnail: bool) -> None:
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
            return
        self.features.add(
            nn.Conv2D(channels, kernel_size=7, strides=2, padding=3, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(3, 2, 1),
        )

    def _add_stages(self, block: Block, layers: Sequence[int], channels: Sequence[int]) -> None:
        for number, count in enumerate(layers, 1):
            stride = 1 if number == 1 else 2
            stage = self._make_layer(
                block, count, channels[number], stride, number, in_channels=channels[number - 1]
            )
            self.features.add(stage)

    def _make_layer(
        self,
        block: Any,
        layers: int,
        channels: int,
        stride: int,
        stage_index: int,
        in_channels: int = 0,
    ) -> nn.HybridSequential:
        stage = nn.HybridSequential(prefix=f"stage{stage_index}_")
        with stage.name_scope():
            new = channels != in_channels
            stage.add(block(channels, stride, new, in_channels=in_channels, prefix=""))
            for _ in range(layers - 1):
                stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
        return stage


class ResNetV1(_ResNet):
    """Residual network, version 1, for images of 224 x 224.

    Args:
        block: ``BasicBlockV1`` or ``BottleneckV1``.
        layers: blocks of each stage.
        channels: channels of the stem, then of each stage.
        classes: outputs.
        thumbnail: a small stem without pooling, for images of 32 x 32.
        kwargs: ``prefix`` and ``params``.

    Raises:
        AssertionError: ``channels`` does not have one more entry than ``layers``.
    """

    def __init__(
        self,
        block: Block,
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_start(channels[0], thumbnail)
            self._add_stages(block, layers, channels)
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """Residual network, version 2, for images of 224 x 224.

    Args:
        block: ``BasicBlockV2`` or ``BottleneckV2``.
        layers: blocks of each stage.
        channels: channels of the stem, then of each stage.
        classes: outputs.
        thumbnail: a small stem without pooling, for images of 32 x 32.
        kwargs: ``prefix`` and ``params``.

    Raises:
        AssertionError: ``channels`` does not have one more entry than ``layers``.
    """

    def __init__(
        self,
        block: Block,
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.BatchNorm(scale=False, center=False))
            self._add_start(channels[0], thumbnail)
            self._add_stages(block, layers, channels)
            self.features.add(
                nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten()
            )
            self.output = nn.Dense(classes, in_units=channels[-1])


# By number of layers: kind of block, blocks of each stage, channels.
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: ("basic_block", [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: ("bottle_neck", [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: ("bottle_neck", [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: ("bottle_neck", [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}

resnet_net_versions: list[Any] = [ResNetV1, ResNetV2]
resnet_block_versions: list[dict[str, Any]] = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


@overload
def get_resnet(version: Literal[1], num_layers: int, *args: Any, **kwargs: Any) -> ResNetV1: ...


@overload
def get_resnet(version: Literal[2], num_layers: int, *args: Any, **kwargs: Any) -> ResNetV2: ...


@overload
def get_resnet(version: int, num_layers: int, *args: Any, **kwargs: Any) -> ResNetV1 | ResNetV2: ...


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    ctx: Context = cpu(),
    root: str = FOLDER,
    **kwargs: Any,
) -> ResNetV1 | ResNetV2:
    """Residual network by version and number of layers.

    Args:
        version: 1 or 2.
        num_layers: 18, 34, 50, 101 or 152.
        pretrained: load the parameters trained on ImageNet.
        ctx: context of the parameters.
        root: folder of their file.
        kwargs: arguments of the class.

    Raises:
        AssertionError: there is no such version or number of layers.
    """
    if num_layers not in resnet_spec:
        raise CheckError(f"Invalid number of layers: {num_layers}. Options are {list(resnet_spec)}")
    if version not in (1, 2):
        raise CheckError(f"Invalid resnet version: {version}. Options are 1 and 2.")
    kind, layers, channels = resnet_spec[num_layers]
    block = resnet_block_versions[version - 1][kind]
    net: ResNetV1 | ResNetV2 = resnet_net_versions[version - 1](block, layers, channels, **kwargs)
    return with_pretrained(net, pretrained, f"resnet{num_layers}_v{version}", ctx, root)


def resnet18_v1(**kwargs: Any) -> ResNetV1:
    """Residual network of 18 layers, version 1; arguments as for ``get_resnet``."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs: Any) -> ResNetV1:
    """Residual network of 34 layers, version 1; arguments as for ``get_resnet``."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs: Any) -> ResNetV1:
    """Residual network of 50 layers, version 1; arguments as for ``get_resnet``."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs: Any) -> ResNetV1:
    """Residual network of 101 layers, version 1; arguments as for ``get_resnet``."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs: Any) -> ResNetV1:
    """Residual network of 152 layers, version 1; arguments as for ``get_resnet``."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs: Any) -> ResNetV2:
    """Residual network of 18 layers, version 2; arguments as for ``get_resnet``."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs: Any) -> ResNetV2:
    """Residual network of 34 layers, version 2; arguments as for ``get_resnet``."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs: Any) -> ResNetV2:
    """Residual network of 50 layers, version 2; arguments as for ``get_resnet``."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs: Any) -> ResNetV2:
    """Residual network of 101 layers, version 2; arguments as for ``get_resnet``."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs: Any) -> ResNetV2:
    """Residual network of 152 layers, version 2; arguments as for ``get_resnet``."""
    return get_resnet(2, 152, **kwargs)
