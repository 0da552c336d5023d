"""Errors for invalid arguments of an update."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from mixnet.base import AttributeTypeError, MXNetError, NotAnArrayError
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from mixnet.optimizer.base import Index


class HasMomentum(Protocol):
    """An optimizer with a velocity in its states, unless its momentum is 0."""

    momentum: float


def explaining(update: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's ``update`` or ``_mx_steps`` that says which argument it cannot work with."""

    @functools.wraps(update)
    def explained(
        self: Any, index: Index, weight: Any, grad: Any, state: object, *more: object
    ) -> Any:
        try:
            return update(self, index, weight, grad, state, *more)
        except (TypeError, AttributeError, ValueError) as error:
            known = isinstance(error, MXNetError)
            problem = None if known else _problem(self, index, weight, grad, state)
            if problem is None:
                raise
            raise problem from None

    return explained


def _problem(
    optimizer: Any, index: Index, weight: Any, grad: Any, state: object
) -> MXNetError | None:
    name = type(optimizer).__name__
    for called, value in (("weight", weight), ("grad", grad)):
        arrays = value if isinstance(value, (list, tuple)) and value else [value]
        if not all(isinstance(each, NDArray) for each in arrays):
            return NotAnArrayError(
                f"{name}.update: {called} must be an NDArray, not {value!r:.60}. mx.nd.array makes one."
            )
    if state is None and _has_state(optimizer, index, weight):
        return AttributeTypeError(
            f"{name}.update: state is None; give what create_state(index, weight) returned for this "
            f"parameter, at every step again."
        )
    return None


def is_plain(optimizer: HasMomentum, velocity: object) -> bool:
    """Whether a step has no velocity, as without momentum.

    Args:
        optimizer: whose step it is.
        velocity: the array in its state, or None.

    Raises:
        NotAnArrayError: there is none, although the optimizer has a momentum.
    """
    if velocity is None and optimizer.momentum != 0.0:
        raise NotAnArrayError(
            f"{type(optimizer).__name__}.update: momentum is {optimizer.momentum}, but the state has no "
            f"velocity. Give what create_state(index, weight) returns with this momentum."
        )
    return velocity is None


def _has_state(optimizer: Any, index: Index, weight: Any) -> bool:
    if isinstance(index, (list, tuple)):
        index, weight = index[0], weight[0]
    return optimizer.create_state(index, weight) is not None
