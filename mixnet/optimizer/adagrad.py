"""AdaGrad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind, prepared
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.rule import rule

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@rule("history")
def adagrad_update(
    weight,
    grad,
    history,
    *,
    lr: Scalar,
    wd: Scalar,
    rescale_grad: Scalar,
    epsilon: float,
    clip_gradient: float | None = None,
):
    """One step of the gradient over the root of the sum of its squares; weight decay is decoupled."""
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    history = history + jnp.square(gradient)
    step = gradient / jnp.sqrt(history + epsilon) + weight * as_kind(wd, weight)
    return (weight - as_kind(lr, weight) * step).astype(weight.dtype), history


@register
class AdaGrad(Optimizer):
    """AdaGrad: a rate for every element, which falls as its squared gradients add up.

        history ← history + gradient²
        weight  ← weight − lr · (gradient / √(history + eps) + wd · weight)

    A row_sparse gradient moves only the rows that it has. Source: Duchi et al., 2011.

    Args:
        eps: keeps the divisor away from 0.
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Any):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The sum of squares, float32."""
        return self._mx_zeros(weight, np.float32, weight.stype)

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        numbers = self._mx_numbers(index)
        numbers["epsilon"] = self.float_stable_eps
        if grad.stype == "row_sparse":
            return [Step.of("_sparse_adagrad_update", (weight, grad, state), numbers)]
        else:
            numbers["clip_gradient"] = self.clip_gradient
            return [Step.of(adagrad_update, (weight, grad, state), numbers)]
