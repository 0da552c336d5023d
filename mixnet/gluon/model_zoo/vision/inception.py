"""Inception v3. Source: Szegedy et al., 2015."""

from __future__ import annotations

from typing import Any

from mixnet.context import Context, cpu
from mixnet.gluon import nn
from mixnet.gluon.contrib.nn import HybridConcurrent
from mixnet.gluon.model_zoo.model_store import FOLDER, with_pretrained
from mixnet.gluon.model_zoo.vision.classifier import Classifier

__all__ = ["Inception3", "inception_v3"]

Convolution = tuple[Any, ...]
"""Channels, kernel, and where they are not 1 and 0: strides, padding."""

_TALL, _WIDE = ((7, 1), 1, (3, 0)), ((1, 7), 1, (0, 3))


def _convolution(
    channels: int,
    kernel: Any,
    strides: Any = 1,
    padding: Any = 0,
) -> Any:
    out = nn.HybridSequential(prefix="")
    out.add(
        nn.Conv2D(channels, kernel, strides, padding, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )
    return out


def _branch(*convolutions: Convolution, pool: object = None) -> nn.HybridSequential:
    """A sequence of convolutions, after a pooling if one is given."""
    out = nn.HybridSequential(prefix="")
    if pool is not None:
        out.add(pool)
    out.add(*[_convolution(*each) for each in convolutions])
    return out


def _mean() -> nn.AvgPool2D:
    return nn.AvgPool2D(pool_size=3, strides=1, padding=1)


def _largest() -> nn.MaxPool2D:
    return nn.MaxPool2D(pool_size=3, strides=2)


def _make_a(pool_features: int, prefix: str) -> HybridConcurrent:
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        out.add(
            _branch((64, 1)),
            _branch((48, 1), (64, 5, 1, 2)),
            _branch((64, 1), (96, 3, 1, 1), (96, 3, 1, 1)),
            _branch((pool_features, 1), pool=_mean()),
        )
    return out


def _make_b(prefix: str) -> HybridConcurrent:
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        out.add(
            _branch((384, 3, 2)),
            _branch((64, 1), (96, 3, 1, 1), (96, 3, 2)),
            _branch(pool=_largest()),
        )
    return out


def _make_c(channels: int, prefix: str) -> HybridConcurrent:
    out = HybridConcurrent(axis=1, prefix=prefix)
    tall, wide = (channels, *_TALL), (channels, *_WIDE)
    with out.name_scope():
        out.add(
            _branch((192, 1)),
            _branch((channels, 1), wide, (192, *_TALL)),
            _branch((channels, 1), tall, wide, tall, (192, *_WIDE)),
            _branch((192, 1), pool=_mean()),
        )
    return out


def _make_d(prefix: str) -> HybridConcurrent:
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        out.add(
            _branch((192, 1), (320, 3, 2)),
            _branch((192, 1), (192, *_WIDE), (192, *_TALL), (192, 3, 2)),
            _branch(pool=_largest()),
        )
    return out


def _make_e(prefix: str) -> HybridConcurrent:
    def split(*before: Convolution) -> nn.HybridSequential:
        """A sequence of convolutions, then a wide and a tall one in parallel."""
        row = _branch(*before)
        ends = HybridConcurrent(axis=1, prefix="")
        ends.add(_branch((384, (1, 3), 1, (0, 1))), _branch((384, (3, 1), 1, (1, 0))))
        both = nn.HybridSequential(prefix="")
        both.add(row, ends)
        return both

    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        out.add(
            _branch((320, 1)),
            split((384, 1)),
            split((448, 1), (384, 3, 1, 1)),
            _branch((192, 1), pool=_mean()),
        )
    return out


class Inception3(Classifier):
    """Inception v3, for images of 299 x 299.

    Args:
        classes: outputs.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                _convolution(32, 3, 2),
                _convolution(32, 3),
                _convolution(64, 3, 1, 1),
                _largest(),
                _convolution(80, 1),
                _convolution(192, 3),
                _largest(),
                _make_a(32, "A1_"),
                _make_a(64, "A2_"),
                _make_a(64, "A3_"),
                _make_b("B_"),
                _make_c(128, "C1_"),
                _make_c(160, "C2_"),
                _make_c(160, "C3_"),
                _make_c(192, "C4_"),
                _make_d("D_"),
                _make_e("E1_"),
                _make_e("E2_"),
                nn.AvgPool2D(pool_size=8),
                nn.Dropout(0.5),
            )
            self.output = nn.Dense(classes)


def inception_v3(
    pretrained: bool = False, ctx: Context = cpu(), root: str = FOLDER, **kwargs: Any
) -> Inception3:
    """Inception v3.

    Args:
        pretrained: load the parameters trained on ImageNet.
        ctx: context of the parameters.
        root: folder of their file.
        kwargs: arguments of the class.
    """
    net = Inception3(**kwargs)
    return with_pretrained(net, pretrained, "inceptionv3", ctx, root)
