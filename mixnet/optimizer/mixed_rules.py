"""Optimizers with rules of their own for half-precision weights and their float32 copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.base import NotDefinedError
from mixnet.ndarray.steps import run_steps
from mixnet.optimizer.base import Arrays, Index, Optimizer, only_steps

if TYPE_CHECKING:
    from mixnet.ndarray.ndarray import NDArray
    from mixnet.ndarray.steps import Step


class MixedRules(Optimizer):
    """Base of optimizers whose ``_steps`` are told whether the states hold float32 copies.

    The index may be that of one parameter, or a list; the others are lists then, too.
    """

    @only_steps
    def update_multi_precision(
        self, index: Index, weight: Arrays, grad: Arrays, state: object
    ) -> None:
        """One step, through float32 copies where ``create_state_multi_precision`` made them."""
        run_steps(self._steps_or_update(index, weight, grad, state))

    def _steps_or_update(self, index: Index, weight: Any, grad: Any, state: Any) -> list[Step]:
        first = weight[0] if isinstance(index, (list, tuple)) else weight
        return self._steps(index, weight, grad, state, self._is_mixed(first))

    def _steps(
        self, index: Index, weight: Any, grad: Any, state: Any, mixed: bool = False
    ) -> list[Step]:
        raise NotDefinedError(f"{type(self).__name__} does not define _steps().")


class Momentum(MixedRules):
    """Base of optimizers whose state is a velocity, of the storage type of the weight if updates are lazy."""

    momentum: float
    lazy_update: bool

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The velocity; None without momentum."""
        if self.momentum == 0.0:
            return None
        return self._zeros(weight, stype=weight.stype if self.lazy_update else "default")

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> Any:
        """The velocity; of a half-precision weight the pair of it and the float32 copy."""
        return self._state_and_copy(index, weight, "SGD ")
