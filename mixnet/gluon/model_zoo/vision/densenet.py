"""DenseNet. Source: Huang et al., 2016."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.context import Context, cpu
from mixnet.gluon import nn
from mixnet.gluon.contrib.nn import HybridConcurrent, Identity
from mixnet.gluon.model_zoo.model_store import FOLDER, with_pretrained
from mixnet.gluon.model_zoo.vision.classifier import Classifier

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]

# By number of layers: channels of the first convolution, growth, layers of each block.
densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def _make_dense_block(
    num_layers: int, bn_size: int, growth_rate: int, dropout: float, stage_index: int
) -> nn.HybridSequential:
    out = nn.HybridSequential(prefix=f"stage{stage_index}_")
    with out.name_scope():
        for _ in range(num_layers):
            out.add(_make_dense_layer(growth_rate, bn_size, dropout))
    return out


def _make_dense_layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    """Concatenate ``growth_rate`` new channels to the inputs."""
    new = nn.HybridSequential(prefix="")
    new.add(
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(bn_size * growth_rate, kernel_size=1, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(growth_rate, kernel_size=3, padding=1, use_bias=False),
    )
    if dropout:
        new.add(nn.Dropout(dropout))
    out = HybridConcurrent(axis=1, prefix="")
    out.add(Identity(), new)
    return out


def _make_transition(channels: int) -> nn.HybridSequential:
    out = nn.HybridSequential(prefix="")
    out.add(
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(channels, kernel_size=1, use_bias=False),
        nn.AvgPool2D(pool_size=2, strides=2),
    )
    return out


class DenseNet(Classifier):
    """DenseNet, for images of 224 x 224.

    Args:
        num_init_features: channels of the first convolution.
        growth_rate: channels that every layer adds.
        block_config: layers of each block.
        bn_size: channels of the bottleneck convolutions, as a multiple of ``growth_rate``.
        dropout: probability that an element of new channels becomes 0, in training.
        classes: outputs.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                nn.Conv2D(num_init_features, kernel_size=7, strides=2, padding=3, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.MaxPool2D(pool_size=3, strides=2, padding=1),
            )
            channels = num_init_features
            for number, layers in enumerate(block_config, 1):
                block = _make_dense_block(layers, bn_size, growth_rate, dropout, number)
                self.features.add(block)
                channels += layers * growth_rate
                if number != len(block_config):
                    channels //= 2
                    self.features.add(_make_transition(channels))
            self.features.add(
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.AvgPool2D(pool_size=7),
                nn.Flatten(),
            )
            self.output = nn.Dense(classes)


def get_densenet(
    num_layers: int,
    pretrained: bool = False,
    ctx: Context = cpu(),
    root: str = FOLDER,
    **kwargs: Any,
) -> DenseNet:
    """DenseNet by its number of layers.

    Args:
        num_layers: 121, 161, 169 or 201.
        pretrained: load the parameters trained on ImageNet.
        ctx: context of the parameters.
        root: folder of their file.
        kwargs: arguments of the class.

    Raises:
        KeyError: there is no such number of layers.
    """
    num_init_features, growth_rate, block_config = densenet_spec[num_layers]
    net = DenseNet(num_init_features, growth_rate, block_config, **kwargs)
    return with_pretrained(net, pretrained, f"densenet{num_layers}", ctx, root)


def densenet121(**kwargs: Any) -> DenseNet:
    """DenseNet of 121 layers; arguments as for ``get_densenet``."""
    return get_densenet(121, **kwargs)


def densenet161(**kwargs: Any) -> DenseNet:
    """DenseNet of 161 layers; arguments as for ``get_densenet``."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs: Any) -> DenseNet:
    """DenseNet of 169 layers; arguments as for ``get_densenet``."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs: Any) -> DenseNet:
    """DenseNet of 201 layers; arguments as for ``get_densenet``."""
    return get_densenet(201, **kwargs)
