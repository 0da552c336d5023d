"""``mx.contrib.autograd``: the autograd interface that preceded ``mx.autograd``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mixnet import autograd
from mixnet.base import CheckError
from mixnet.ndarray import array as array
from mixnet.ndarray import zeros_like as zeros_like
from mixnet.ndarray.ndarray import NDArray


def set_is_training(is_train: bool) -> bool:
    """Switch recording and training mode on or off; returns the previous setting."""
    autograd.set_recording(is_train)
    return autograd.set_training(is_train)


class TrainingStateScope:
    """A scope with recording and training mode on or off.

    Args:
        enter_state: which.
    """

    def __init__(self, enter_state: bool):
        self._enter_state = enter_state
        self._before = (False, False)

    def __enter__(self) -> None:
        self._before = (
            autograd.set_recording(self._enter_state),
            autograd.set_training(self._enter_state),
        )

    def __exit__(self, ptype: object, value: object, trace: object) -> None:
        autograd.set_recording(self._before[0])
        autograd.set_training(self._before[1])


def train_section() -> TrainingStateScope:
    """``with train_section():`` operations are recorded, in training mode."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """``with test_section():`` operations are not recorded, in prediction mode."""
    return TrainingStateScope(False)


def mark_variables(
    variables: NDArray | Sequence[NDArray],
    gradients: NDArray | Sequence[NDArray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Attach gradient arrays to arrays; see ``mx.autograd.mark_variables``."""
    autograd.mark_variables(variables, gradients, grad_reqs)


def backward(
    outputs: Sequence[NDArray],
    out_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
) -> None:
    """Compute the gradients of marked variables.

    Args:
        outputs: what is differentiated, a list.
        out_grads: gradients of the outputs; ones by default.
        retain_graph: whether ``backward`` can be called again.

    Raises:
        AssertionError: ``outputs`` is not a list.
    """
    if not isinstance(outputs, (list, tuple)):
        raise CheckError(
            f"backward: outputs must be a list or a tuple of arrays, not {type(outputs).__name__}."
        )
    autograd.backward(list(outputs), out_grads, retain_graph=retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """``backward(outputs)``."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: Any = None) -> Callable[..., Any]:
    """A function that gives gradients of a function's arguments and its value.

    Args:
        func: of arrays.
        argnum: number of the argument to differentiate by, or several; all by default.
    """

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        variables = list(args)
        if argnum is not None:
            numbers = argnum if isinstance(argnum, list) else [argnum]
            variables = [args[each] for each in numbers]
        for each in variables:
            if not isinstance(each, NDArray):
                raise CheckError(
                    f"grad_and_loss: arguments to differentiate by must be NDArrays, not "
                    f"{type(each).__name__}; choose others with argnum."
                )
        gradients = [each.zeros_like() for each in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: object = None) -> Callable[..., Any]:
    """A function that gives gradients of a function's arguments; see ``grad_and_loss``."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(both)
    def wrapped(*args: object) -> Any:
        return both(*args)[0]

    return wrapped
