"""Update rules: pure functions on the arrays of one weight, each recorded as one operation.

Rules that MXNet has operators for are in ``mixnet.ops.optimizer_update``; those that it writes out
in Python stand beside the optimizer that they belong to. What changes from step to step is a
``Scalar``: an input of the compiled program, so that a schedule compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from mixnet.ops.registry import Op


def rule(*states: str) -> Callable[[Callable[..., Any]], Op]:
    """Decorator: ``rule(weight, grad, *states, *, numbers)`` gives new weight, then new states.

    Args:
        states: names of the parameters that are states.
    """

    def declare(function: Callable[..., Any]) -> Op:
        return Op(function.__name__, function, states=states, differentiable=False)

    return declare


def scaled(
    grad: Any,
    weight: Any,
    rescale_grad: Any,
    clip_gradient: float | None,
    wd: Any = None,
) -> Any:
    """The gradient in the weight's dtype, scaled, with ``wd weight`` if given, then clipped."""
    found = grad.astype(weight.dtype) * as_kind(rescale_grad, weight)
    if wd is not None:
        found = found + as_kind(wd, weight) * weight
    return found if clip_gradient is None else jnp.clip(found, -clip_gradient, clip_gradient)


def as_kind(number: Any, like: Any) -> Any:
    """A number in the dtype of an array."""
    return jnp.asarray(number).astype(like.dtype)
