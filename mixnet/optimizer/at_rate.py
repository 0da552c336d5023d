"""Gradient descent at a learning rate that is computed on the device from layer norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.steps import Step
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind, prepared
from mixnet.ops.update.variants import mixed_precision
from mixnet.optimizer.rule import rule


@rule()
def sgd_update_at(
    weight,
    grad,
    rate,
    *,
    wd: Scalar,
    rescale_grad: Scalar,
    clip_gradient: float | None = None,
):
    """One step; ``rate`` is ``(1,)``."""
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    return weight - as_kind(rate, weight) * (gradient + as_kind(wd, weight) * weight)


@rule("velocity")
def sgd_mom_update_at(
    weight,
    grad,
    velocity,
    rate,
    *,
    wd: Scalar,
    momentum: Scalar,
    rescale_grad: Scalar,
    clip_gradient: float | None = None,
):
    """One step with momentum; ``rate`` is ``(1,)``."""
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    step = as_kind(rate, weight) * (gradient + as_kind(wd, weight) * weight)
    velocity = as_kind(momentum, weight) * velocity - step
    return weight + velocity, velocity


_RULES = {
    (with_momentum, mixed): mixed_precision(f"mp_{each.name}", each, listed=False)
    if mixed
    else each
    for with_momentum, each in ((False, sgd_update_at), (True, sgd_mom_update_at))
    for mixed in (False, True)
}


def step_at(
    rate: NDArray,
    weight: NDArray,
    grad: NDArray,
    velocity: NDArray | None,
    copy: Sequence[NDArray],
    numbers: dict[str, Any],
) -> Step:
    """One step at ``rate``, ``(1,)``.

    Args:
        velocity: None without momentum.
        copy: the float32 copy of the weight, if there is one.
        numbers: ``wd``, ``rescale_grad``, ``clip_gradient``, and ``momentum`` with a velocity.
    """
    states = () if velocity is None else (velocity,)
    chosen = _RULES[velocity is not None, bool(copy)]
    return Step.of(chosen, (weight, grad, *states, rate, *copy), numbers)
