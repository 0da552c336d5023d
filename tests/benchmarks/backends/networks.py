"""The networks, and data for them.

Workers import this too, and one of them runs under Python 3.10 with the real MXNet: nothing but NumPy here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NETWORKS = {
    "resnet50": "ResNet-50 v1",
    "mobilenet": "MobileNet v2",
    "encoder": "encoder, 4 layers of 256",
}
"""What there is, with the name that the table has."""

WORDS, UNITS, LAYERS, HEADS, TIME, LONGEST, CLASSES = 30522, 256, 4, 4, 128, 512, 2
"""Of the encoder."""


def data(name: str, batch: int) -> list[np.ndarray]:
    """Inputs of a network, float32: the same in every process."""
    rng = np.random.RandomState(7)
    if name == "encoder":
        tokens = rng.randint(0, WORDS, (batch, TIME)).astype(np.float32)
        return [tokens, np.ones((batch, TIME), np.float32)]
    return [rng.uniform(size=(batch, 3, 224, 224)).astype(np.float32)]


def gluon_network(mx: Any, name: str) -> Any:
    """A network in Gluon: of mixnet, or of the real MXNet, under whose name ``mixnet`` is imported then."""
    zoo = mx.gluon.model_zoo.vision
    if name == "resnet50":
        return zoo.resnet50_v1()
    if name == "mobilenet":
        return zoo.mobilenet_v2_1_0()
    from tests.encoder import Encoder

    return Encoder(WORDS, UNITS, LAYERS, HEADS, LONGEST, CLASSES)
