"""Optimizers: what they share, and how one is made by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from mixnet.base import MXNetError
from mixnet.ndarray.ndarray import NDArray


class Optimizer:
    """Base of optimizers: ``create_state`` for a weight, ``update`` for one step.

    Args:
        learning_rate: step length.
        wd: weight decay.
        rescale_grad: factor of every gradient, before clipping.
        clip_gradient: gradients are clipped to ±this.
        lr_scheduler: function of the number of updates, gives the learning rate.
        param_idx2name: names of parameters by number.
        begin_num_update: updates that count as done.
        param_dict: parameters by number, with their ``lr_mult`` and ``wd_mult``.
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}

    def __init__(
        self,
        learning_rate: float | None = None,
        *,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float | None = None,
        lr_scheduler: Any = None,
        param_idx2name: Mapping[int, str] | None = None,
        begin_num_update: int = 0,
        param_dict: Mapping[int, Any] | None = None,
        multi_precision: bool = False,
        aggregate_num: int = 0,
        use_fused_step: bool | None = None,
    ):
        self.wd = wd
        self.rescale_grad = rescale_grad
        self.clip_gradient = clip_gradient
        self.lr_scheduler = lr_scheduler
        self.lr = 0.01 if learning_rate is None else learning_rate
        if lr_scheduler is not None and learning_rate is not None:
            lr_scheduler.base_lr = learning_rate
        self.idx2name = dict(param_idx2name or {})
        self.param_dict = dict(param_dict or {})
        self.begin_num_update = self.num_update = begin_num_update
        self._index_update_count: dict[Any, int] = {}
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.multi_precision = multi_precision

    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Make an optimizer class known by its name in lower case."""
        Optimizer.opt_registry[klass.__name__.lower()] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """An optimizer by name.

        Raises:
            MXNetError: no optimizer has that name.
        """
        found = Optimizer.opt_registry.get(name.lower())
        if found is None:
            raise MXNetError(
                f"There is no optimizer {name!r}; take one of "
                f"{', '.join(sorted(Optimizer.opt_registry))}."
            )
        return found(**kwargs)

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate.

        Raises:
            MXNetError: a scheduler sets it.
        """
        if self.lr_scheduler is not None:
            raise MXNetError("A scheduler sets the learning rate; change its base_lr instead.")
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Factors of the learning rate by name or number of the parameter."""
        self.lr_mult = dict(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Factors of the weight decay by name or number of the parameter."""
        self.wd_mult = dict(args_wd_mult)

    def _mult(self, index: Any, own: str, table: Mapping[Any, float]) -> float:
        if index in self.param_dict:
            return getattr(self.param_dict[index], own)
        if index in table:
            return table[index]
        return table.get(self.idx2name.get(index), 1.0)

    def _get_lr(self, index: Any) -> float:
        return self.learning_rate * self._mult(index, "lr_mult", self.lr_mult)

    def _get_wd(self, index: Any) -> float:
        return self.wd * self._mult(index, "wd_mult", self.wd_mult)

    def _update_count(self, index: Any) -> int:
        """Count an update of a parameter; returns how many it has had."""
        count = self._index_update_count.get(index, self.begin_num_update) + 1
        self._index_update_count[index] = count
        self.num_update = max(self.num_update, count)
        return count

    def _common(self, index: Any) -> dict[str, Any]:
        """Attributes that every update operator takes."""
        clip = -1.0 if self.clip_gradient is None else self.clip_gradient
        return {
            "lr": self._get_lr(index),
            "wd": self._get_wd(index),
            "rescale_grad": self.rescale_grad,
            "clip_gradient": clip,
        }

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Arrays that the rule keeps for a weight; None, an array, or a tuple."""
        return None

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """As ``create_state``; the name is MXNet's."""
        return self.create_state(index, weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """One step: writes ``weight`` and ``state``.

        Args:
            index: number of the parameter.
            weight: the parameter.
            grad: its gradient, of the same shape.
            state: what ``create_state`` gave.
        """
        raise MXNetError(f"{type(self).__name__} does not define update().")

    def update_multi_precision(
        self, index: Any, weight: NDArray, grad: NDArray, state: Any
    ) -> None:
        """As ``update``; the name is MXNet's."""
        self.update(index, weight, grad, state)


register = Optimizer.register
create = Optimizer.create_optimizer
