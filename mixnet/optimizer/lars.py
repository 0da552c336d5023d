"""LARS: gradient descent with a learning rate per layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.steps import Step
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind
from mixnet.optimizer.at_rate import step_at
from mixnet.optimizer.base import Optimizer, aggregation, each_of, register
from mixnet.optimizer.mixed_rules import is_unused, velocity, velocity_and_copy, with_mixed_rules
from mixnet.optimizer.refusal import is_plain
from mixnet.optimizer.rule import rule

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@rule()
def lars_rate(
    weight,
    grad,
    *,
    lr: Scalar,
    wd: Scalar,
    rescale_grad: Scalar,
    eta: float,
    eps: float,
    by_layer: bool,
):
    """The rate of a layer: ``lr eta |w| / (|g| + wd |w| + eps)``, ``lr`` where a norm is 0.

    It is ``lr`` for the others, unless ``by_layer``.
    """
    if not by_layer:
        return jnp.full((1,), lr, jnp.float32)
    size = jnp.sqrt(jnp.sum(jnp.square(weight.astype(jnp.float32))))
    slope = jnp.sqrt(jnp.sum(jnp.square(grad.astype(jnp.float32)))) * as_kind(rescale_grad, size)
    lr, wd = as_kind(lr, size), as_kind(wd, size)
    rate = lr * eta * size / (slope + wd * size + eps)
    return jnp.where((size > 0) & (slope > 0), rate, lr).reshape(1)


@register
@with_mixed_rules
class LARS(Optimizer):
    """Layer-wise adaptive rates: each layer moves in proportion to the norm of its weight.

        rate     ← lr · eta · |weight| / (|gradient| + wd · |weight| + eps)
        velocity ← momentum · velocity − rate · (gradient + wd · weight)
        weight   ← weight + velocity

    Parameters whose names end in ``gamma``, ``beta`` or ``bias`` move at ``lr``. Source: You et al.,
    2017.

    Args:
        momentum: fraction of the last step that carries over to the next, in [0, 1).
        lazy_update: a row_sparse gradient moves only the rows that it has.
        eta: trust in the ratio of the norms.
        eps: keeps the divisor away from 0.
        momentum_correction: scale the momentum with the learning rate when it changes.
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation(4)
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: Any = None
        self.cur_lr: Any = None

    @staticmethod
    def _mx_decays(name: str) -> bool:
        return name.endswith("_weight")

    def _get_lrs(self, indices: Sequence[Index]) -> list[Any]:
        """Learning rates of parameters now; remembers this rate and the one before."""
        if self.cur_lr is not None:
            self.last_lr = self.cur_lr
        self.cur_lr = self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)
        if self.last_lr is None:
            self.last_lr = self.cur_lr
        return [self.cur_lr * mult for mult in self._mx_lr_mults(indices)]

    def set_wd_mult(self, args_wd_mult: Mapping[Index, float]) -> None:
        """Factors of the weight decay; by default only names that end in ``_weight`` decay."""
        super().set_wd_mult(args_wd_mult)

    create_state = velocity
    create_state_multi_precision = velocity_and_copy

    def _mx_steps(
        self, index: Index, weight: Any, grad: Any, state: Any, mixed: bool = False
    ) -> list[Step]:
        """The rules of one step, a parameter at a time."""
        rates = self._mx_next_rates(index)
        momentum = self.momentum
        if self.momentum_correction and self.last_lr != 0:
            momentum *= self.cur_lr / self.last_lr
        steps: list[Step] = []
        for (i, w, g, s), (lr, wd) in zip(each_of(index, weight, grad, state), rates, strict=True):
            stored = [
                each._data if each._is_sparse else each for each in (w, g)
            ]  # rows of zeros add nothing
            rate = invoke(lars_rate, stored, {
                "lr": lr, "wd": wd, "rescale_grad": self.rescale_grad, "eta": self.eta,
                "eps": self.eps, "by_layer": not self._name(i).endswith(("gamma", "beta", "bias")),
            })  # fmt: skip
            velocity, *copy = s if mixed else (s,)
            if is_unused(self, g):
                velocity = None
            plain = is_plain(self, velocity)
            if g._is_sparse:  # the rules of SGD know rows
                numbers = self._mx_numbers_at(float(rate.asscalar()), wd)
                numbers["lazy_update"] = self.lazy_update
            else:
                numbers = {
                    "wd": wd, "rescale_grad": self.rescale_grad,
                    "clip_gradient": self.clip_gradient or None,
                }  # fmt: skip
            if not plain:
                numbers["momentum"] = momentum
            if g._is_sparse:
                name = "sgd_update" if plain else "sgd_mom_update"
                arrays = (w, g, *copy) if plain else (w, g, velocity, *copy)
                steps.append(Step.of("mp_" + name if mixed else name, arrays, numbers))
            else:
                steps.append(step_at(rate, w, g, velocity, copy, numbers))
        return steps

    def _name(self, index: Index) -> str:
        return self.idx2name.get(index, str(index))
