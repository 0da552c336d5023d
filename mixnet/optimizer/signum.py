"""Signum: steps by the sign of the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.refusal import is_plain

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
class Signum(Optimizer):
    """Steps of equal length by the sign of the gradient, or of its momentum.

        momentum ← momentum · state + (1 − momentum) · (gradient + wd · weight)
        weight   ← (1 − lr · wd_lh) · weight − lr · sign(momentum)

    Without momentum it is SignSGD. Source: Bernstein et al., 2018.

    Args:
        learning_rate: step length.
        momentum: fraction of the running gradient that carries over, in [0, 1).
        wd_lh: decoupled weight decay, as Loshchilov and Hutter define it.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        wd_lh: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The running gradient; None without momentum."""
        return None if self.momentum == 0.0 else self._mx_zeros(weight, stype=weight.stype)

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        numbers = self._mx_numbers(index)
        if is_plain(self, state):
            return [Step.of("signsgd_update", (weight, grad), numbers)]
        numbers["momentum"] = self.momentum
        if self.wd_lh:
            numbers["wd_lh"] = self.wd_lh
        return [Step.of("signum_update", (weight, grad, state), numbers)]
