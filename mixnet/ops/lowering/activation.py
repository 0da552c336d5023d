"""The gradient of relu from its result, so that its argument need not be kept."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mixnet.ops.lowering.lowering import Lowering


def relu_gradient(head: Any, result: Any) -> Any:
    """Gradient of relu's argument: ``head`` where the result is above 0."""
    return jnp.where(result > 0, head, 0)


RELU_GRADIENT = Lowering("relu_gradient", relu_gradient)
