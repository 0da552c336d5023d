"""Nadam: Adam with Nesterov's momentum."""

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


@rule("mean", "var")
def nadam_update(
    weight,
    grad,
    mean,
    var,
    *,
    lr: Scalar,
    wd: Scalar,
    rescale_grad: Scalar,
    beta1: float,
    beta2: float,
    epsilon: float,
    momentum: Scalar,
    next_momentum: Scalar,
    product: Scalar,
    next_product: Scalar,
    correction: Scalar,
    clip_gradient: float | None = None,
):
    """One step of Adam along the gradient of this step and the mean of the next.

    Args:
        momentum: share of the mean in this step; ``next_momentum`` in the next.
        product: product of the momenta so far; ``next_product`` with the next one.
        correction: ``1 - beta2 ** t``.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient, wd)
    mean = beta1 * mean + (1 - beta1) * gradient
    var = beta2 * var + (1 - beta2) * jnp.square(gradient)
    now = gradient / as_kind(1 - product, weight)
    ahead = mean / as_kind(1 - next_product, weight)
    direction = as_kind(1 - momentum, weight) * now + as_kind(next_momentum, weight) * ahead
    spread = jnp.sqrt(var / as_kind(correction, weight)) + epsilon
    return weight - as_kind(lr, weight) * direction / spread, mean, var


@register
class Nadam(Optimizer):
    """Adam with Nesterov's momentum, which rises to ``beta1`` on a schedule.

    The schedule advances with every parameter that is updated, as in MXNet. Source: Dozat, 2016.

    Args:
        learning_rate: step length.
        beta1: decay of the mean.
        beta2: decay of the square.
        epsilon: keeps the divisor away from 0.
        schedule_decay: how fast the momentum rises.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Running mean and running square of the gradient."""
        return self._mx_zeros(weight), self._mx_zeros(weight)

    def _momentum(self, t: int) -> float:
        decay: float = 0.96 ** (t * self.schedule_decay)
        return self.beta1 * (1.0 - 0.5 * decay)

    def _mx_steps(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """The rule of one step."""
        self._update_count(index)
        t = self._index_update_count[index]
        momentum, next_momentum = self._momentum(t), self._momentum(t + 1)
        self.m_schedule = self.m_schedule * momentum
        numbers = {
            "lr": self._get_lr(index), "wd": self._get_wd(index),
            "rescale_grad": self.rescale_grad, "beta1": self.beta1, "beta2": self.beta2,
            "epsilon": self.epsilon, "momentum": momentum, "next_momentum": next_momentum,
            "product": self.m_schedule, "next_product": self.m_schedule * next_momentum,
            "correction": 1.0 - self.beta2**t, "clip_gradient": self.clip_gradient,
        }  # fmt: skip
        return [Step.of(nadam_update, (weight, grad, *state), numbers)]
