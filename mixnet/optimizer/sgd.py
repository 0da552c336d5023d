"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.steps import Step
from mixnet.ops.registry import find
from mixnet.optimizer.base import aggregation, each_of, register
from mixnet.optimizer.mixed_rules import Momentum

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


@register
class SGD(Momentum):
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

    def _steps(
        self, index: Index, weight: Any, grad: Any, state: Any, mixed: bool = False
    ) -> list[Step]:
        """The rules of one step, a parameter at a time."""
        self._update_count(index)
        indices = index if isinstance(index, (list, tuple)) else [index]
        rates = zip(self._get_lrs(indices), self._get_wds(indices), strict=True)
        steps: list[Step] = []
        for (_, w, g, s), (lr, wd) in zip(each_of(index, weight, grad, state), rates, strict=True):
            numbers = self._numbers_at(lr, wd)
            if g._is_sparse:
                numbers["lazy_update"] = self.lazy_update
            velocity, *copy = s if mixed else (s,)
            if velocity is None:
                name, arrays = "sgd_update", (w, g, *copy)
            else:
                name, arrays = "sgd_mom_update", (w, g, velocity, *copy)
                numbers["momentum"] = self.momentum
            steps.append(Step(find("mp_" + name if mixed else name), arrays, numbers))
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
