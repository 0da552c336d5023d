"""The cases: a network, the shapes of its data, and the unit that is counted.

Workers import this too, and one of them runs under Python 3.10: nothing but NumPy here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

RATE = 0.01
"""Learning rate of the plain SGD that every contender trains with."""


@dataclass(frozen=True)
class Case:
    """One network on one shape of data.

    Args:
        network: name of a function of ``convolutional`` or ``sequence``.
        arguments: its arguments.
        shape: of the data; float32.
        classes: outputs of the network.
        vocabulary: the data are token numbers below it; None for random vectors.
        unit: what is counted, "images" or "tokens".
    """

    network: str
    shape: tuple[int, ...]
    classes: int
    arguments: dict[str, Any] = field(default_factory=dict)
    vocabulary: int | None = None
    unit: str = "images"

    @property
    def items(self) -> int:
        """Images, or tokens, of a step."""
        return self.shape[0] if self.unit == "images" else self.shape[0] * self.shape[1]

    @property
    def labels(self) -> int:
        """Predictions of a step: one for every token of the language model."""
        if self.vocabulary is not None:
            return self.shape[0] * self.shape[1]
        return self.shape[0] if self.unit == "images" else self.shape[1]

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """The data, float32, and class numbers, int32; the same in every process."""
        rng = np.random.RandomState(7)
        if self.vocabulary is None:
            x = rng.uniform(-1, 1, self.shape).astype(np.float32)
        else:
            x = rng.randint(0, self.vocabulary, self.shape).astype(np.float32)
        return x, rng.randint(0, self.classes, self.labels).astype(np.int32)


CASES = {
    "lenet": Case("lenet", (64, 1, 28, 28), 10),
    "resnet18": Case("resnet", (16, 3, 224, 224), 1000, {"kind": "basic", "blocks": (2, 2, 2, 2)}),
    "resnet50": Case(
        "resnet", (16, 3, 224, 224), 1000, {"kind": "bottleneck", "blocks": (3, 4, 6, 3)}
    ),
    "vgg16": Case("vgg16", (8, 3, 224, 224), 1000),
    "googlenet": Case("googlenet", (8, 3, 224, 224), 1000),
    "lstm": Case("lstm", (35, 20), 10_000, {"units": 650}, 10_000, "tokens"),
    "transformer": Case("transformer", (128, 16, 512), 10, {"heads": 8}, None, "tokens"),
}
"""The targets; the shapes of the paper's time and of its successors."""

TINY = {
    "lenet": Case("lenet", (2, 1, 28, 28), 10),
    "resnet18": Case("resnet", (2, 3, 32, 32), 5, {"kind": "basic", "blocks": (1, 1), "width": 4}),
    "resnet50": Case(
        "resnet", (2, 3, 32, 32), 5, {"kind": "bottleneck", "blocks": (1, 1), "width": 4}
    ),
    "vgg16": Case("vgg16", (2, 3, 16, 16), 5, {"width": 2, "hidden": 8, "convolutions": (1, 2)}),
    "googlenet": Case("googlenet", (2, 3, 64, 64), 5, {"divisor": 8, "blocks": (1, 1, 0)}),
    "lstm": Case("lstm", (5, 3), 11, {"units": 8}, 11, "tokens"),
    "transformer": Case("transformer", (6, 2, 8), 3, {"heads": 2, "layers": 1}, None, "tokens"),
}
"""The same networks, narrow, on data that take milliseconds: whether all of it runs at all."""


def case(name: str) -> Case:
    """A case by its name; ``tiny-`` before it takes it from ``TINY``."""
    return TINY[name[5:]] if name.startswith("tiny-") else CASES[name]
