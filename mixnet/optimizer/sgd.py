"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from mixnet.ndarray.create import zeros
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find
from mixnet.optimizer.optimizer import Optimizer, register


@register
class SGD(Optimizer):
    """Stochastic gradient descent with momentum.

        velocity ← momentum · velocity − lr · (gradient + wd · weight)
        weight   ← weight + velocity

    Args:
        learning_rate: step length ``lr``.
        momentum: share of the last step that is kept, in [0, 1).
        lazy_update: a row_sparse gradient moves only the rows that it has.
        common: ``wd``, ``rescale_grad``, ``clip_gradient``; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float | None = None,
        momentum: float = 0.0,
        lazy_update: bool = True,
        **common: Any,
    ):
        super().__init__(learning_rate, **common)
        self.momentum = momentum

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The velocity; None without momentum."""
        if not self.momentum:
            return None
        return zeros(weight.shape, weight.context, weight.dtype)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """One step."""
        self._update_count(index)
        given = self._common(index)
        if state is None:
            invoke(find("sgd_update"), (weight, grad), given, weight)
        else:
            given["momentum"] = self.momentum
            invoke(find("sgd_mom_update"), (weight, grad, state), given, weight)
