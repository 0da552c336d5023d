"""AlexNet. Source: Krizhevsky et al., 2012 (in one column, as Krizhevsky, 2014)."""

from __future__ import annotations

from typing import Any

from mixnet.context import Context, cpu
from mixnet.gluon import nn
from mixnet.gluon.model_zoo.model_store import FOLDER, with_pretrained
from mixnet.gluon.model_zoo.vision.classifier import Classifier

__all__ = ["AlexNet", "alexnet"]


class AlexNet(Classifier):
    """AlexNet, for images of 224 x 224.

    Args:
        classes: outputs.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(
                    nn.Conv2D(64, kernel_size=11, strides=4, padding=2, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Conv2D(192, kernel_size=5, padding=2, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Conv2D(384, kernel_size=3, padding=1, activation="relu"),
                    nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
                    nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Flatten(),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                )
            self.output = nn.Dense(classes)


def alexnet(
    pretrained: bool = False, ctx: Context = cpu(), root: str = FOLDER, **kwargs: Any
) -> AlexNet:
    """AlexNet.

    Args:
        pretrained: load the parameters trained on ImageNet.
        ctx: context of the parameters.
        root: folder of their file.
        kwargs: arguments of the class.
    """
    net = AlexNet(**kwargs)
    return with_pretrained(net, pretrained, "alexnet", ctx, root)
