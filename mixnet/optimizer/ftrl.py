"""FTRL: follow the regularized leader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.optimizer.base import Optimizer, register

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
class Ftrl(Optimizer):
    """Follow the regularized leader: weights stay 0 until their sum of gradients passes ``lamda1``.

    Source: McMahan et al., 2013; the rule is operator ``ftrl_update``.

    Args:
        lamda1: weight of the L1 term; ``wd`` is that of the L2 term.
        learning_rate: step length.
        beta: keeps the first rates small.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The states ``z`` and ``n`` of the rule, float32."""
        return (
            self._mx_zeros(weight, np.float32, weight.stype),
            self._mx_zeros(weight, np.float32, weight.stype),
        )

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        numbers = self._mx_numbers(index) | {"lamda1": self.lamda1, "beta": self.beta}
        return [Step.of("ftrl_update", (weight, grad, *state), numbers)]
