"""FTML: follow the moving leader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.optimizer.base import Optimizer, register

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
class FTML(Optimizer):
    """Follow the moving leader: the weight minimizes the losses so far, of which recent ones count most.

    Source: Zheng and Kwok, 2017; the rule is operator ``ftml_update``.

    Args:
        beta1: decay of the leader, in (0, 1).
        beta2: decay of the running square, in (0, 1).
        epsilon: keeps the divisor away from 0.
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The states ``d``, ``v`` and ``z`` of the rule."""
        return self._mx_zeros(weight), self._mx_zeros(weight), self._mx_zeros(weight)

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        numbers = self._mx_numbers(index)
        numbers["clip_grad"] = numbers.pop("clip_gradient", -1.0)
        numbers |= {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}
        numbers["t"] = self._index_update_count[index]
        return [Step.of("ftml_update", (weight, grad, *state), numbers)]
