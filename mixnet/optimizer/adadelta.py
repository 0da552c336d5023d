"""AdaDelta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind, prepared
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.rule import rule

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@rule("square", "moved")
def adadelta_update(
    weight,
    grad,
    square,
    moved,
    *,
    wd: Scalar,
    rescale_grad: Scalar,
    rho: float,
    epsilon: float,
    clip_gradient: float | None = None,
):
    """One step as long as the steps before it, relative to the gradients before it."""
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    square = rho * square + (1 - rho) * jnp.square(gradient)
    step = jnp.sqrt(moved + epsilon) / jnp.sqrt(square + epsilon) * gradient
    moved = rho * moved + (1 - rho) * jnp.square(step)
    return (weight - (step + as_kind(wd, weight) * weight)).astype(weight.dtype), square, moved


@register
class AdaDelta(Optimizer):
    """AdaDelta: the step needs no learning rate; its length follows from previous steps.

        square ← rho · square + (1 − rho) · gradient²
        step   ← √(moved + epsilon) / √(square + epsilon) · gradient
        moved  ← rho · moved + (1 − rho) · step²
        weight ← weight − step − wd · weight

    Source: Zeiler, 2012.

    Args:
        rho: decay of both running squares.
        epsilon: starts the movement, and keeps the divisor away from 0.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any):
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Running squares of gradients and of steps, float32."""
        return self._mx_zeros(weight, np.float32), self._mx_zeros(weight, np.float32)

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        numbers = {
            "wd": self._get_wd(index), "rescale_grad": self.rescale_grad, "rho": self.rho,
            "epsilon": self.epsilon, "clip_gradient": self.clip_gradient,
        }  # fmt: skip
        return [Step.of(adadelta_update, (weight, grad, *state), numbers)]
