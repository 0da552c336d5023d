"""LBSGD: gradient descent for large batches."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind
from mixnet.optimizer.at_rate import step_at
from mixnet.optimizer.base import Optimizer, register
from mixnet.optimizer.refusal import is_plain
from mixnet.optimizer.rule import rule

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@rule()
def lbsgd_rate(weight, grad, *, lr: Scalar, wd: Scalar):
    """``lr`` times ``√(|w|² / (|g|² + wd |w|²))``, which is kept within 0.01 and 100."""
    size, slope = jnp.sum(jnp.square(weight)), jnp.sum(jnp.square(grad))
    ratio = jnp.sqrt(size / (slope + as_kind(wd, size) * size + 1e-18))
    return (as_kind(lr, size) * jnp.clip(ratio, 0.01, 100.0)).reshape(1)


@register
class LBSGD(Optimizer):
    """Gradient descent that accumulates ``batch_scale`` gradients for a step, with a warm-up.

    The learning rate rises from its value to ``batch_scale`` times it over ``warmup_epochs``;
    with strategy ``'lars'`` it follows the ratio of the norms of weight and gradient instead.

    Args:
        momentum: fraction of the last step that carries over to the next, in [0, 1).
        multi_precision: half-precision weights are updated through a float32 copy.
        warmup_strategy: ``'linear'``, ``'power2'``, ``'sqrt'`` or ``'lars'``; others do not warm up.
        warmup_epochs: epochs of the warm-up.
        batch_scale: gradients that make one step.
        updates_per_epoch: updates of an epoch.
        begin_epoch: epoch that training begins with.
        num_epochs: accepted for compatibility.
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: float = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        logging.info("Running Large-Batch SGD Algorithm")
        logging.info(
            "(Batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d)",
            batch_scale, warmup_epochs, warmup_strategy, updates_per_epoch,
        )  # fmt: skip
        self.momentum = momentum
        self.multi_precision = multi_precision
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.lbmult: float = 1
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        self.adaptive = False
        self.admult: float = 1

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The velocity; None without momentum."""
        self._mx_warn_of_half(weight, "SGD ")
        return None if self.momentum == 0.0 else self._mx_zeros(weight, stype=weight.stype)

    def _warmed(self, updates: int) -> float:
        """The factor of the learning rate after a number of updates."""
        length = self.warmup_epochs * self.updates_per_epoch
        if updates >= length:
            return float(self.batch_scale)
        if length <= 1:
            return 1.0
        share = {
            "linear": updates / length,
            "power2": (updates * updates) / (length * length),
            "sqrt": math.sqrt(updates / length),
        }.get(self.warmup_strategy, 0.0)
        return 1.0 + (float(self.batch_scale) - 1) * share

    def _gathered(self, index: Any, grad: NDArray) -> dict[str, Any]:
        """The sum of the gradients since the last step, and how many updates there were."""
        before = self.cumgrads.get(index)
        if before is None or before["num_cums"] <= 0:
            # A copy, which must not change with the next backward.
            state = {"cum_grad": grad.copy(), "num_cums": self.init_updates + 1}
        else:
            state = {"cum_grad": before["cum_grad"] + grad, "num_cums": before["num_cums"] + 1}
        self.cumgrads[index] = state
        return state

    def _mx_steps(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> list[Step]:
        """Gather a gradient; every ``batch_scale``-th time make a step."""
        plain = is_plain(self, state)
        lr, wd = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        gathered = self._gathered(index, grad)
        if gathered["num_cums"] % self.batch_scale != 0:
            return []
        grad = gathered["cum_grad"] / self.batch_scale
        gathered["cum_grad"] = 0
        if self.warmup_strategy == "lars":
            rate = invoke(lbsgd_rate, (weight, grad), {"lr": lr, "wd": wd})
            numbers = {
                "wd": wd, "rescale_grad": self.rescale_grad,
                "clip_gradient": self.clip_gradient or None,
            }  # fmt: skip
            if not plain:
                numbers["momentum"] = self.momentum
            return [step_at(rate, weight, grad, state, (), numbers)]
        numbers = self._mx_numbers_at(lr * self._warmed(gathered["num_cums"]), wd)
        if plain:
            return [Step.of("sgd_update", (weight, grad), numbers)]
        numbers["momentum"] = self.momentum
        return [Step.of("sgd_mom_update", (weight, grad, state), numbers)]
