"""Optimizers that update several parameters in one call."""

from __future__ import annotations

from typing import Any

from mixnet.optimizer.base import Index, Optimizer


class Aggregated(Optimizer):
    """Base of optimizers whose ``_update_each`` takes one parameter or lists of them."""

    def update(self, index: Index, weight: Any, grad: Any, state: object) -> None:
        """One step of a parameter, or of several."""
        self._update_each(index, weight, grad, state, False)

    def update_multi_precision(self, index: Index, weight: Any, grad: Any, state: object) -> None:
        """One step, through float32 copies where ``create_state_multi_precision`` made them."""
        first = weight[0] if isinstance(index, (list, tuple)) else weight
        self._update_each(index, weight, grad, state, self._is_mixed(first))

    def _update_each(
        self, index: Index, weight: Any, grad: Any, state: object, mixed: bool
    ) -> None:
        raise NotImplementedError
