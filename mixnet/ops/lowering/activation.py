"""The gradient of relu from its output, so that its input need not be stored."""

from __future__ import annotations

from mixnet.ops.lowering.lowering import Lowering
from mixnet.ops.math.elementwise import relu_gradient

RELU_GRADIENT = Lowering("relu_gradient", relu_gradient)
