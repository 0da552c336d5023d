"""Adam."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.registry import find
from mixnet.optimizer.base import Optimizer, each_of, register

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
class Adam(Optimizer):
    """Adam: steps of the gradient's running mean over the root of its running square.

        mean   ← beta1 · mean + (1 − beta1) · gradient
        var    ← beta2 · var + (1 − beta2) · gradient²
        weight ← weight − lr · √(1 − beta2ᵗ) / (1 − beta1ᵗ) · mean / (√var + epsilon)

    ``wd · weight`` is part of the gradient. Source: Kingma and Ba, 2015.

    Args:
        learning_rate: step length ``lr``.
        beta1: decay of the mean.
        beta2: decay of the square.
        epsilon: keeps the divisor away from 0.
        lazy_update: a row_sparse gradient moves only the rows that it has.
        kwargs: ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Running mean and running square of the gradient."""
        stype = weight.stype if self.lazy_update else "default"
        return self._mx_zeros(weight, stype=stype), self._mx_zeros(weight, stype=stype)

    _mx_takes_lists = True

    def _mx_steps(self, index: Index, weight: Any, grad: Any, state: Any) -> list[Step]:
        """The rules of one step, in the order of the parameters."""
        if isinstance(index, (list, tuple)):
            rates: Iterable[tuple[Any, Any]] = self._mx_next_rates(index)
        else:
            self._update_count(index)
            rates = [(self._get_lr(index), self._get_wd(index))]
        rule = find("adam_update")
        steps: list[Step] = []
        previous: object = None
        for (i, w, g, s), (lr, wd) in zip(each_of(index, weight, grad, state), rates, strict=True):
            t = self._index_update_count[i]
            kind = (lr, wd, t, g._is_sparse)
            if kind != previous:  # most parameters share the numbers
                previous, numbers = kind, self._mx_numbers_at(lr, wd)
                numbers["lr"] *= math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
                numbers |= {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}
                if g._is_sparse:
                    numbers["lazy_update"] = self.lazy_update
                step = Step(rule, [], numbers)
                steps.append(step)
            step.arrays.append((w, g, *s))
        return steps
