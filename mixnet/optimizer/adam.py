"""Adam."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.optimizer.base import Optimizer, register

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
class Adam(Optimizer):
    """Adam: steps of the gradient's running mean over the root of its running square.

        mean   ← beta1 · mean + (1 − beta1) · gradient
        var    ← beta2 · var + (1 − beta2) · gradient²
        weight ← weight − lr · √(1 − beta2ᵗ) / (1 − beta1ᵗ) · mean / (√var + epsilon)

    ``wd · weight`` is part of the gradient. Source: Kingma and Ba, 2015.

    Args:
        learning_rate: step length ``lr``.
        beta1: decay of the mean.
        beta2: decay of the square.
        epsilon: keeps the divisor away from 0.
        lazy_update: a row_sparse gradient moves only the rows that it has.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Running mean and running square of the gradient."""
        stype = weight.stype if self.lazy_update else "default"
        return self._zeros(weight, stype=stype), self._zeros(weight, stype=stype)

    def _steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        t = self._index_update_count[index]
        numbers = self._numbers(index)
        numbers["lr"] *= math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
        numbers |= {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}
        if grad._is_sparse:
            numbers["lazy_update"] = self.lazy_update
        return [Step.of("adam_update", (weight, grad, *state), numbers)]
