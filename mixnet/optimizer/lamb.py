"""LAMB: Adam with step lengths scaled by the layer's weight norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.optimizer.base import Optimizer, aggregation, each_of, register
from mixnet.optimizer.mixed_rules import with_mixed_rules

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
@with_mixed_rules
class LAMB(Optimizer):
    """Adam's direction, with steps in proportion to the norm of the weight, for large batches.

        direction ← mean / (√var + epsilon) + wd · weight
        weight    ← weight − lr · |weight| / |direction| · direction

    Source: You et al., 2020; the rule is operator ``multi_lamb_update``.

    Args:
        learning_rate: step length ``lr``.
        beta1: decay of the mean.
        beta2: decay of the square.
        epsilon: keeps the divisor away from 0.
        lower_bound: smallest norm of a weight that is used.
        upper_bound: largest norm of a weight that is used.
        bias_correction: correct mean and square for having begun at 0.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = max(1, min(45, aggregation(45)))

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Running mean and running square of the gradient."""
        return self._mx_zeros(weight, stype=weight.stype), self._mx_zeros(
            weight, stype=weight.stype
        )

    def _mx_steps(
        self, index: Index, weight: Any, grad: Any, state: Any, mixed: bool = False
    ) -> list[Step]:
        """The rules of one step, a parameter at a time."""
        self._update_count(index)
        indices = index if isinstance(index, (list, tuple)) else [index]
        rates = [(self._get_lr(each), self._get_wd(each)) for each in indices]
        steps: list[Step] = []
        for (i, w, g, s), (lr, wd) in zip(each_of(index, weight, grad, state), rates, strict=True):
            numbers = self._mx_numbers_at((lr,), (wd,)) | {
                "beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon,
                "bias_correction": self.bias_correction,
                "step_count": (self._index_update_count[i],), "num_tensors": 1,
            }  # fmt: skip
            numbers["learning_rates"], numbers["wds"] = numbers.pop("lr"), numbers.pop("wd")
            for name, bound in (
                ("lower_bound", self.lower_bound),
                ("upper_bound", self.upper_bound),
            ):
                if bound is not None:
                    numbers[name] = bound
            if mixed:
                copy, moments = s
                steps.append(Step.of("_multi_mp_lamb_update", (w, g, *moments, copy), numbers))
            else:
                steps.append(Step.of("_multi_lamb_update", (w, g, *s), numbers))
        return steps
