"""The base of the image classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.gluon import nn
from mixnet.gluon.block import HybridBlock

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


class Classifier(HybridBlock):
    """Layers that find features, and layers that make scores of them."""

    features: nn.HybridSequential
    output: HybridBlock

    def hybrid_forward(self, F: ModuleType, x: Tensor) -> Any:
        """Scores of the classes."""
        return self.output(self.features(x))
