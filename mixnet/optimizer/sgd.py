"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.steps import Step
from mixnet.ops.registry import find
from mixnet.optimizer.base import Optimizer, aggregation, each_of, register
from mixnet.optimizer.mixed_rules import is_unused, velocity, velocity_and_copy, with_mixed_rules
from mixnet.optimizer.refusal import is_plain

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
@with_mixed_rules
class SGD(Optimizer):
    """Stochastic gradient descent with momentum.

        velocity ← momentum · velocity − lr · (gradient + wd · weight)
        weight   ← weight + velocity

    Args:
        momentum: fraction of the last step that carries over to the next, in [0, 1).
        lazy_update: a row_sparse gradient moves only the rows that it has.
        kwargs: ``learning_rate``, ``wd``, ``rescale_grad``, ...; see :class:`Optimizer`.
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation(4)

    create_state = velocity
    create_state_multi_precision = velocity_and_copy

    def _mx_steps(
        self, index: Index, weight: Any, grad: Any, state: Any, mixed: bool = False
    ) -> list[Step]:
        """The rules of one step, in the order of the parameters."""
        rates = self._mx_next_rates(index)
        steps: list[Step] = []
        previous: object = None
        for (_, w, g, s), (lr, wd) in zip(each_of(index, weight, grad, state), rates, strict=True):
            velocity, copy = s if mixed else (s, None)
            if velocity is not None and is_unused(self, g):
                velocity = None
            kind = (lr, wd, g._is_sparse, velocity is None)
            if kind != previous:  # most parameters share one rule and its numbers
                previous, numbers = kind, self._mx_numbers_at(lr, wd)
                name = "sgd_update" if is_plain(self, velocity) else "sgd_mom_update"
                if g._is_sparse:
                    numbers["lazy_update"] = self.lazy_update
                if velocity is not None:
                    numbers["momentum"] = self.momentum
                step = Step(find("mp_" + name if mixed else name), [], numbers)
                steps.append(step)
            arrays = (w, g) if velocity is None else (w, g, velocity)
            step.arrays.append(arrays if copy is None else (*arrays, copy))
        return steps


@register
class ccSGD(SGD):
    """SGD under the name that old programs use.

    Args:
        args: those of :class:`SGD`.
        kwargs: the same by name.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
