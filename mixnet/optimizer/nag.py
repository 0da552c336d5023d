"""Nesterov's accelerated gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer.base import Optimizer, register

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
class NAG(Optimizer):
    """Gradient descent with Nesterov's momentum: the gradient is that of a step ahead.

        velocity ← momentum · velocity − lr · (gradient + wd · weight)
        weight   ← weight + momentum · velocity − lr · (gradient + wd · weight)

    Source: Nesterov, 1983.

    Args:
        momentum: share of the last step that is kept, in [0, 1).
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(self, momentum: float = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The velocity; None without momentum."""
        return None if self.momentum == 0.0 else self._zeros(weight)

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> Any:
        """The velocity; of a half-precision weight the pair of it and the float32 copy."""
        return self._state_and_copy(index, weight, "NAG ")

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: object) -> None:
        """One step."""
        self._update(index, weight, grad, (state,), "")

    def update_multi_precision(
        self, index: Index, weight: NDArray, grad: NDArray, state: object
    ) -> None:
        """One step, through the float32 copy where ``create_state_multi_precision`` made one."""
        mixed = self._is_mixed(weight)
        self._update(index, weight, grad, state if mixed else (state,), "mp_" if mixed else "")

    def _update(self, index: Any, weight: NDArray, grad: NDArray, state: Any, kind: str) -> None:
        self._update_count(index)
        numbers = self._numbers(index)
        velocity, *copy = state
        if velocity is None:
            self._step(f"{kind}sgd_update", (weight, grad, *copy), numbers)
        else:
            numbers["momentum"] = self.momentum
            self._step(f"{kind}nag_mom_update", (weight, grad, velocity, *copy), numbers)
