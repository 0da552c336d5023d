"""Helpers of optimizers that have rules of their own for half-precision weights and float32 copies.

They get it from a decorator and from functions, not from a base class: as in MXNet, ``Optimizer`` is
the ``__base__`` of every optimizer, by which programs find those that they extend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mixnet.ndarray.steps import run_steps
from mixnet.optimizer.base import Arrays, Index, Optimizer, only_steps

if TYPE_CHECKING:
    from mixnet.ndarray.ndarray import NDArray
    from mixnet.ndarray.steps import Step

Kind = TypeVar("Kind", bound=type[Optimizer])


def with_mixed_rules(optimizer: Kind) -> Kind:
    """Decorator of optimizers whose ``_mx_steps`` are told whether the states hold float32 copies.

    As in MXNet, ``update`` and ``update_multi_precision`` call ``_update_impl``, which programs override.
    """
    optimizer.update_multi_precision = _update_multi_precision  # type: ignore[method-assign]
    optimizer._update_impl = _update_impl  # type: ignore[attr-defined]
    optimizer._mx_update = _update  # type: ignore[method-assign]
    optimizer._mx_updates_by_steps = _updates_by_steps  # type: ignore[method-assign]
    optimizer._mx_steps_or_update = _steps_or_update  # type: ignore[method-assign]
    return optimizer


@only_steps
def _update_impl(
    self: Any, index: Index, weight: Arrays, grad: Arrays, state: Any, multi_precision: bool = False
) -> None:
    """One step; ``multi_precision`` if the states hold float32 copies."""
    run_steps(self._mx_steps(index, weight, grad, state, multi_precision))


def _update(self: Any, index: Index, weight: Arrays, grad: Arrays, state: object) -> None:
    self._update_impl(index, weight, grad, state, multi_precision=False)


def _updates_by_steps(self: Any) -> bool:
    return Optimizer._mx_updates_by_steps(self) and hasattr(self._update_impl, "does_only_steps")


@only_steps
def _update_multi_precision(
    self: Any, index: Index, weight: Any, grad: Arrays, state: object
) -> None:
    """One step, through float32 copies where ``create_state_multi_precision`` made them.

    The index may be that of one parameter, or a list; the others are lists then, too.
    """
    self._update_impl(index, weight, grad, state, multi_precision=_is_mixed(self, index, weight))


def _steps_or_update(self: Any, index: Index, weight: Any, grad: Any, state: Any) -> list[Step]:
    steps: list[Step] = self._mx_steps(index, weight, grad, state, _is_mixed(self, index, weight))
    return steps


def _is_mixed(self: Optimizer, index: Index, weight: Any) -> bool:
    return self._mx_is_mixed(weight[0] if isinstance(index, (list, tuple)) else weight)


_update_multi_precision.__name__ = "update_multi_precision"


class HasVelocity(Protocol):
    """An optimizer whose state is a velocity, of the storage type of the weight if updates are lazy."""

    momentum: float
    lazy_update: bool

    def _mx_zeros(self, weight: NDArray, *, stype: str) -> NDArray: ...

    def _mx_state_and_copy(self, index: Index, weight: NDArray, description: str) -> Any: ...


def velocity(self: HasVelocity, index: Index, weight: NDArray) -> Any:
    """The velocity; None without momentum."""
    if self.momentum == 0.0:
        return None
    return self._mx_zeros(weight, stype=weight.stype if self.lazy_update else "default")


def velocity_and_copy(self: HasVelocity, index: Index, weight: NDArray) -> Any:
    """The velocity; of a half-precision weight the pair of it and the float32 copy."""
    return self._mx_state_and_copy(index, weight, "SGD ")


def is_unused(self: HasVelocity, grad: NDArray) -> bool:
    """Whether a velocity stays as it is: without momentum, unless the gradient is row_sparse."""
    return self.momentum == 0.0 and not grad._is_sparse
