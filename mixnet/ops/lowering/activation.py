"""The gradient of relu from its result, so that its argument need not be kept."""

from __future__ import annotations

from mixnet.ops.lowering.lowering import Lowering
from mixnet.ops.math.elementwise import relu_gradient

RELU_GRADIENT = Lowering("relu_gradient", relu_gradient)
