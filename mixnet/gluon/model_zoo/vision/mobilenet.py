"""MobileNet and MobileNetV2. Sources: Howard et al., 2017; Sandler et al., 2018."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.context import Context, cpu
from mixnet.gluon import nn
from mixnet.gluon.block import HybridBlock
from mixnet.gluon.model_zoo.model_store import FOLDER, with_pretrained
from mixnet.gluon.model_zoo.vision.classifier import Classifier

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]


class RELU6(HybridBlock):
    """ReLU whose results are at most 6."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The elements, clipped to [0, 6]."""
        return F.clip(x, 0, 6, name="relu6")


def _add_convolution(
    out: nn.HybridSequential,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    pad: int = 0,
    num_group: int = 1,
    activation: object = None,
) -> None:
    """A convolution, batch normalization, and an activation if one is given."""
    out.add(
        nn.Conv2D(channels, kernel, stride, pad, groups=num_group, use_bias=False),
        nn.BatchNorm(scale=True),
    )
    if activation is not None:
        out.add(activation)


class LinearBottleneck(HybridBlock):
    """A wide depthwise convolution between narrow ends, plus the inputs if shapes allow it.

    Args:
        in_channels: channels of the inputs.
        channels: channels of the outputs.
        t: expansion factor of the middle.
        stride: steps of the depthwise convolution.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            _add_convolution(self.out, wide, activation=RELU6())
            _add_convolution(self.out, wide, 3, stride, 1, num_group=wide, activation=RELU6())
            _add_convolution(self.out, channels)

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """The result of the convolutions, plus the inputs if shapes allow it."""
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(Classifier):
    """MobileNet, for images of 224 x 224.

    Args:
        multiplier: width multiplier.
        classes: outputs.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        widths = [32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024]
        channels = [int(width * multiplier) for width in widths]
        strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1]

        def add(count: int, kernel: int = 1, stride: int = 1, pad: int = 0, group: int = 1) -> None:
            relu = nn.Activation("relu")
            _add_convolution(self.features, count, kernel, stride, pad, group, relu)

        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                add(channels[0], 3, 2, 1)
                for inputs, outputs, stride in zip(channels, channels[1:], strides, strict=False):
                    add(inputs, 3, stride, 1, inputs)
                    add(outputs)
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class MobileNetV2(Classifier):
    """MobileNetV2, for images of 224 x 224.

    Args:
        multiplier: width multiplier.
        classes: outputs.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        widths = [16, *[24] * 2, *[32] * 3, *[64] * 4, *[96] * 3, *[160] * 3, 320]
        channels = [int(width * multiplier) for width in [32, *widths]]
        factors = [1, *[6] * 16]
        strides = [1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]
        last = int(1280 * multiplier) if multiplier > 1.0 else 1280
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                _add_convolution(self.features, channels[0], 3, 2, 1, activation=RELU6())
                for inputs, outputs, t, stride in zip(
                    channels, channels[1:], factors, strides, strict=False
                ):
                    self.features.add(LinearBottleneck(inputs, outputs, t, stride))
                _add_convolution(self.features, last, activation=RELU6())
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def _suffix(multiplier: float) -> str:
    """``1.0``, ``0.75``, ``0.5``, ``0.25``."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def get_mobilenet(
    multiplier: float,
    pretrained: bool = False,
    ctx: Context = cpu(),
    root: str = FOLDER,
    **kwargs: Any,
) -> MobileNet:
    """MobileNet by its width.

    Args:
        multiplier: width multiplier; 1.0, 0.75, 0.5 and 0.25 have trained parameters.
        pretrained: load the parameters trained on ImageNet.
        ctx: context of the parameters.
        root: folder of their file.
        kwargs: arguments of the class.
    """
    net = MobileNet(multiplier, **kwargs)
    return with_pretrained(net, pretrained, f"mobilenet{_suffix(multiplier)}", ctx, root)


def get_mobilenet_v2(
    multiplier: float,
    pretrained: bool = False,
    ctx: Context = cpu(),
    root: str = FOLDER,
    **kwargs: Any,
) -> MobileNetV2:
    """MobileNetV2 by its width; arguments as for ``get_mobilenet``.

    Args:
        multiplier: width multiplier; 1.0, 0.75, 0.5 and 0.25 have trained parameters.
        pretrained: load the parameters trained on ImageNet.
        ctx: context of the parameters.
        root: folder of their file.
        kwargs: arguments of the class.
    """
    net = MobileNetV2(multiplier, **kwargs)
    return with_pretrained(net, pretrained, f"mobilenetv2_{_suffix(multiplier)}", ctx, root)


def mobilenet1_0(**kwargs: Any) -> MobileNet:
    """MobileNet of width 1.0; arguments as for ``get_mobilenet``."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet_v2_1_0(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of width 1.0; arguments as for ``get_mobilenet_v2``."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet0_75(**kwargs: Any) -> MobileNet:
    """MobileNet of width 0.75; arguments as for ``get_mobilenet``."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet_v2_0_75(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of width 0.75; arguments as for ``get_mobilenet_v2``."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet0_5(**kwargs: Any) -> MobileNet:
    """MobileNet of width 0.5; arguments as for ``get_mobilenet``."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet_v2_0_5(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of width 0.5; arguments as for ``get_mobilenet_v2``."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet0_25(**kwargs: Any) -> MobileNet:
    """MobileNet of width 0.25; arguments as for ``get_mobilenet``."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_0_25(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2 of width 0.25; arguments as for ``get_mobilenet_v2``."""
    return get_mobilenet_v2(0.25, **kwargs)
