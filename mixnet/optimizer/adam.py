"""Adam."""

from __future__ import annotations

import math
from typing import Any

from mixnet.ndarray.create import zeros
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find
from mixnet.optimizer.optimizer import Optimizer, register


@register
class Adam(Optimizer):
    """Adam: steps of the gradient's running mean over the root of its running square.

        mean   ← beta1 · mean + (1 − beta1) · gradient
        var    ← beta2 · var + (1 − beta2) · gradient²
        weight ← weight − lr · √(1 − beta2ᵗ) / (1 − beta1ᵗ) · mean / (√var + epsilon)

    Source: Kingma and Ba, 2015.

    Args:
        learning_rate: step length ``lr``.
        beta1: decay of the mean.
        beta2: decay of the square.
        epsilon: keeps the divisor away from 0.
        lazy_update: a row_sparse gradient moves only the rows that it has.
        common: ``wd``, ``rescale_grad``, ``clip_gradient``; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **common: Any,
    ):
        super().__init__(learning_rate, **common)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, NDArray]:
        """Running mean and running square of the gradient."""
        shape, context, dtype = weight.shape, weight.context, weight.dtype
        return zeros(shape, context, dtype), zeros(shape, context, dtype)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """One step."""
        t = self._update_count(index)
        given = self._common(index)
        given["lr"] *= math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
        given |= {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}
        invoke(find("adam_update"), (weight, grad, *state), given, weight)
