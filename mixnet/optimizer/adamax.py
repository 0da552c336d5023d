"""Adamax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind, prepared
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.rule import rule

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@rule("mean", "largest")
def adamax_update(
    weight,
    grad,
    mean,
    largest,
    *,
    lr: Scalar,
    wd: Scalar,
    rescale_grad: Scalar,
    beta1: float,
    beta2: float,
    clip_gradient: float | None = None,
):
    """One step of the running mean over the running maximum; 0 / 0 is NaN, as in MXNet."""
    gradient = prepared(grad, weight, rescale_grad, clip_gradient, wd)
    mean = beta1 * mean + (1 - beta1) * gradient
    largest = jnp.maximum(beta2 * largest, jnp.abs(gradient))
    return weight - as_kind(lr, weight) * mean / largest, mean, largest


@register
class Adamax(Optimizer):
    """Adam with the largest gradient in place of the running square.

        mean    ← beta1 · mean + (1 − beta1) · gradient
        largest ← max(beta2 · largest, |gradient|)
        weight  ← weight − lr / (1 − beta1ᵗ) · mean / largest

    ``wd · weight`` is part of the gradient. Source: Kingma and Ba, 2015, section 7.

    Args:
        learning_rate: step length ``lr``.
        beta1: decay of the mean.
        beta2: decay of the maximum.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Running mean and running maximum of the gradient."""
        return self._mx_zeros(weight), self._mx_zeros(weight)

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        t = self._index_update_count[index]
        numbers = {
            "lr": self._get_lr(index) / (1.0 - self.beta1**t), "wd": self._get_wd(index),
            "rescale_grad": self.rescale_grad, "beta1": self.beta1, "beta2": self.beta2,
            "clip_gradient": self.clip_gradient,
        }  # fmt: skip
        return [Step.of(adamax_update, (weight, grad, *state), numbers)]
