"""Nesterov's accelerated gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.mixed_rules import with_mixed_rules
from mixnet.optimizer.refusal import is_plain

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
@with_mixed_rules
class NAG(Optimizer):
    """Gradient descent with Nesterov's momentum: the gradient is that of a step ahead.

        velocity ← momentum · velocity − lr · (gradient + wd · weight)
        weight   ← weight + momentum · velocity − lr · (gradient + wd · weight)

    Source: Nesterov, 1983.

    Args:
        momentum: fraction of the last step that carries over to the next, in [0, 1).
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(self, momentum: float = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The velocity; None without momentum."""
        return None if self.momentum == 0.0 else self._mx_zeros(weight)

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> Any:
        """The velocity; of a half-precision weight the pair of it and the float32 copy."""
        return self._mx_state_and_copy(index, weight, "NAG ")

    def _mx_steps(
        self, index: Any, weight: Any, grad: Any, state: Any, mixed: bool = False
    ) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        numbers = self._mx_numbers(index)
        velocity, *copy = state if mixed else (state,)
        kind = "mp_" if mixed else ""
        if is_plain(self, velocity):
            return [Step.of(f"{kind}sgd_update", (weight, grad, *copy), numbers)]
        numbers["momentum"] = self.momentum
        return [Step.of(f"{kind}nag_mom_update", (weight, grad, velocity, *copy), numbers)]
