"""RMSProp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.optimizer.base import Optimizer, register

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
class RMSProp(Optimizer):
    """RMSProp: the gradient over the root of its running square.

        n      ← gamma1 · n + (1 − gamma1) · gradient²
        weight ← weight − lr · gradient / √(n + epsilon)

    Centred, it takes the running variance ``n − g²`` instead, with momentum ``gamma2``. Source:
    Tieleman and Hinton, 2012; centred: Graves, 2013.

    Args:
        learning_rate: step length ``lr``.
        gamma1: decay of the square.
        gamma2: momentum of the centred form.
        epsilon: keeps the divisor away from 0.
        centered: take the variance.
        clip_weights: weights are clipped to ±this.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Running squares, float32; centred also running gradients and the momentum."""
        count = 3 if self.centered else 1
        return tuple(self._mx_zeros(weight, np.float32, weight.stype) for _ in range(count))

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        numbers = self._mx_numbers(index) | {"gamma1": self.gamma1, "epsilon": self.epsilon}
        if self.centered:
            numbers["gamma2"] = self.gamma2
        if self.clip_weights:
            numbers["clip_weights"] = self.clip_weights
        name = "rmspropalex_update" if self.centered else "rmsprop_update"
        return [Step.of(name, (weight, grad, *state), numbers)]
