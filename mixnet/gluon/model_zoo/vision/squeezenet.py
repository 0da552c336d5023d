"""SqueezeNet. Source: Iandola et al., 2016."""

from __future__ import annotations

from typing import Any

from mixnet.base import CheckError
from mixnet.context import Context, cpu
from mixnet.gluon import nn
from mixnet.gluon.contrib.nn import HybridConcurrent
from mixnet.gluon.model_zoo.model_store import FOLDER, with_pretrained
from mixnet.gluon.model_zoo.vision.classifier import Classifier

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

# First convolution, and channels of the fire modules between the poolings.
_SPECS = {
    "1.0": ((96, 7), [[16, 16, 32], [32, 48, 48, 64], [64]]),
    "1.1": ((64, 3), [[16, 16], [32, 32], [48, 48, 64, 64]]),
}


def _convolution(channels: int, kernel_size: int, padding: int = 0) -> nn.HybridSequential:
    out = nn.HybridSequential(prefix="")
    out.add(nn.Conv2D(channels, kernel_size, padding=padding), nn.Activation("relu"))
    return out


def _fire(squeeze: int) -> nn.HybridSequential:
    """A narrow convolution, then parallel convolutions of 1 x 1 and 3 x 3, each 4 times as wide."""
    out = nn.HybridSequential(prefix="")
    out.add(_convolution(squeeze, 1))
    wide = HybridConcurrent(axis=1, prefix="")
    wide.add(_convolution(4 * squeeze, 1), _convolution(4 * squeeze, 3, 1))
    out.add(wide)
    return out


class SqueezeNet(Classifier):
    """SqueezeNet, for images of 224 x 224.

    Args:
        version: ``1.0`` or ``1.1``, which needs less than half the work.
        classes: outputs.
        kwargs: ``prefix`` and ``params``.

    Raises:
        AssertionError: there is no such version.
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        if version not in _SPECS:
            raise CheckError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
        (channels, kernel), groups = _SPECS[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                nn.Conv2D(channels, kernel_size=kernel, strides=2), nn.Activation("relu")
            )
            for group in groups:
                self.features.add(nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True))
                self.features.add(*[_fire(squeeze) for squeeze in group])
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(
                nn.Conv2D(classes, kernel_size=1),
                nn.Activation("relu"),
                nn.AvgPool2D(13),
                nn.Flatten(),
            )


def get_squeezenet(
    version: str,
    pretrained: bool = False,
    ctx: Context = cpu(),
    root: str = FOLDER,
    **kwargs: Any,
) -> SqueezeNet:
    """SqueezeNet by its version.

    Args:
        version: ``1.0`` or ``1.1``.
        pretrained: load the parameters trained on ImageNet.
        ctx: context of the parameters.
        root: folder of their file.
        kwargs: arguments of the class.
    """
    net = SqueezeNet(version, **kwargs)
    return with_pretrained(net, pretrained, f"squeezenet{version}", ctx, root)


def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0; arguments as for ``get_squeezenet``."""
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1; arguments as for ``get_squeezenet``."""
    return get_squeezenet("1.1", **kwargs)
