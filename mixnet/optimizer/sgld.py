"""SGLD: gradient descent that samples from the posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.random.sample import drawn_dtype, standard_normal
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind, prepared
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.rule import rule

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@rule(draws_as_mxnet=True)
def sgld_update(
    weight,
    grad,
    *,
    lr: Scalar,
    wd: Scalar,
    rescale_grad: Scalar,
    clip_gradient: float | None = None,
    key: Any = None,
):
    """Half a step of gradient descent, and normal noise of variance ``lr``."""
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    rate = as_kind(lr, weight)
    kind = drawn_dtype(key, weight.dtype)
    noise = standard_normal(key, weight.shape, kind, shared=True) * jnp.sqrt(lr).astype(kind)
    moved = weight - rate / 2 * (gradient + as_kind(wd, weight) * weight)
    return moved + noise.astype(weight.dtype)


@register
class SGLD(Optimizer):
    """Stochastic gradient Langevin dynamics: the weights wander through the posterior.

        weight ← weight − lr / 2 · (gradient + wd · weight) + normal(0, √lr)

    Source: Welling and Teh, 2011.

    Args:
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """None."""

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: object) -> list[Step]:
        """One step; it draws from the random numbers of the weight's device."""
        self._update_count(index)
        numbers = self._mx_numbers(index) | {"clip_gradient": self.clip_gradient}
        return [Step.of(sgld_update, (weight, grad), numbers)]
