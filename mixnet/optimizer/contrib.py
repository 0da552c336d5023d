"""MXNet's contributed optimizers: AdaGrad with a rate per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError
from mixnet.ndarray import contrib as contrib
from mixnet.ndarray.create import zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.optimizer.base import Optimizer as Optimizer
from mixnet.optimizer.base import register as register

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one rate for each row, as for embeddings.

        history ← history + mean of the row's gradient²
        weight  ← weight − lr · gradient / √(history + eps)

    A row_sparse gradient moves only the rows that it has; there is no weight decay.

    Args:
        eps: keeps the divisor away from 0.
        kwargs: ``learning_rate``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The sum of the rows' mean squares, ``(rows, 1)``.

        Raises:
            AssertionError: the weight is not a matrix.
        """
        if len(weight.shape) != 2:
            raise CheckError(f"GroupAdaGrad updates matrices; the weight has shape {weight.shape}.")
        history = zeros((weight.shape[0], 1), weight.context)
        return history if weight.stype == "default" else history.tostype(weight.stype)

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step.

        Raises:
            AssertionError: there is weight decay for this parameter.
        """
        self._update_count(index)
        numbers = self._mx_numbers(index)
        if numbers.pop("wd") != 0:
            raise CheckError("Weight decay is not supported for GroupAdaGrad; set wd=0.")
        numbers["epsilon"] = self.float_stable_eps
        return [Step.of("_contrib_group_adagrad_update", (weight, grad, state), numbers)]
