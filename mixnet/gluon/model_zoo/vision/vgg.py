"""VGG, with and without batch normalization. Source: Simonyan and Zisserman, 2014."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.base import CheckError
from mixnet.context import Context, cpu
from mixnet.gluon import nn
from mixnet.gluon.model_zoo.model_store import FOLDER, with_pretrained
from mixnet.gluon.model_zoo.vision.classifier import Classifier
from mixnet.initializer import Xavier

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

# By number of layers: convolutions of each stage, and their filters.
vgg_spec = {
    11: ([1, 1, 2, 2, 2], [64, 128, 256, 512, 512]),
    13: ([2, 2, 2, 2, 2], [64, 128, 256, 512, 512]),
    16: ([2, 2, 3, 3, 3], [64, 128, 256, 512, 512]),
    19: ([2, 2, 4, 4, 4], [64, 128, 256, 512, 512]),
}


class VGG(Classifier):
    """VGG, for images of 224 x 224.

    Args:
        layers: convolutions of each stage.
        filters: filters of each stage.
        classes: outputs.
        batch_norm: normalize after every convolution.
        kwargs: ``prefix`` and ``params``.

    Raises:
        AssertionError: the lengths of ``filters`` and ``layers`` differ.
    """

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise CheckError(f"VGG: layers={layers} and filters={filters} differ in length.")
        dense = {"weight_initializer": "normal", "bias_initializer": "zeros"}
        with self.name_scope():
            self.features = self._make_features(layers, filters, batch_norm)
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu", **dense))
                self.features.add(nn.Dropout(rate=0.5))
            self.output = nn.Dense(classes, **dense)

    def _make_features(
        self, layers: Sequence[int], filters: Sequence[int], batch_norm: bool
    ) -> nn.HybridSequential:
        features = nn.HybridSequential(prefix="")
        for count, channels in zip(layers, filters, strict=True):
            for _ in range(count):
                features.add(
                    nn.Conv2D(
                        channels,
                        kernel_size=3,
                        padding=1,
                        weight_initializer=Xavier("gaussian", "out", 2),
                        bias_initializer="zeros",
                    )
                )
                if batch_norm:
                    features.add(nn.BatchNorm())
                features.add(nn.Activation("relu"))
            features.add(nn.MaxPool2D(strides=2))
        return features


def get_vgg(
    num_layers: int,
    pretrained: bool = False,
    ctx: Context = cpu(),
    root: str = FOLDER,
    **kwargs: Any,
) -> VGG:
    """VGG by its number of layers.

    Args:
        num_layers: 11, 13, 16 or 19.
        pretrained: load the parameters trained on ImageNet.
        ctx: context of the parameters.
        root: folder of their file.
        kwargs: arguments of the class.

    Raises:
        KeyError: there is no such number of layers.
    """
    layers, filters = vgg_spec[num_layers]
    net = VGG(layers, filters, **kwargs)
    suffix = "_bn" if kwargs.get("batch_norm") else ""
    return with_pretrained(net, pretrained, f"vgg{num_layers}{suffix}", ctx, root)


def vgg11(**kwargs: Any) -> VGG:
    """VGG of 11 layers; arguments as for ``get_vgg``."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs: Any) -> VGG:
    """VGG of 13 layers; arguments as for ``get_vgg``."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs: Any) -> VGG:
    """VGG of 16 layers; arguments as for ``get_vgg``."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs: Any) -> VGG:
    """VGG of 19 layers; arguments as for ``get_vgg``."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG of 11 layers with batch normalization; arguments as for ``get_vgg``."""
    return get_vgg(11, **{**kwargs, "batch_norm": True})


def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG of 13 layers with batch normalization; arguments as for ``get_vgg``."""
    return get_vgg(13, **{**kwargs, "batch_norm": True})


def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG of 16 layers with batch normalization; arguments as for ``get_vgg``."""
    return get_vgg(16, **{**kwargs, "batch_norm": True})


def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG of 19 layers with batch normalization; arguments as for ``get_vgg``."""
    return get_vgg(19, **{**kwargs, "batch_norm": True})
