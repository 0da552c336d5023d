"""Update rules of optimizers: pure functions, and the operators that MXNet names after them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mixnet.ops.attributes import Scalar
from mixnet.ops.registry import op


def prepared(gradient: Any, weight: Any, rescale_grad: Any, clip_gradient: Any) -> Any:
    """The gradient scaled, then clipped to ±``clip_gradient`` unless that is negative or None."""
    found = gradient.astype(weight.dtype) * _as(rescale_grad, weight)
    if clip_gradient is not None and clip_gradient >= 0:
        found = jnp.clip(found, -clip_gradient, clip_gradient)
    return found


def _as(number: Any, weight: Any) -> Any:
    return jnp.asarray(number).astype(weight.dtype)


@op("sgd_update", differentiable=False)
def sgd_update(
    weight,
    grad,
    *,
    lr: Scalar,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
):
    """One step of gradient descent: ``weight - lr (gradient + wd weight)``.

    Source: MXNet operator ``sgd_update``.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    return weight - _as(lr, weight) * (gradient + _as(wd, weight) * weight)


@op("sgd_mom_update", states=["mom"], differentiable=False)
def sgd_mom_update(
    weight,
    grad,
    mom,
    *,
    lr: Scalar,
    momentum: float = 0.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
):
    """One step with momentum: ``mom = momentum mom - lr (gradient + wd weight)``, then added.

    Source: MXNet operator ``sgd_mom_update``.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    mom = momentum * mom - _as(lr, weight) * (gradient + _as(wd, weight) * weight)
    return weight + mom, mom


@op("adam_update", states=["mean", "var"], differentiable=False)
def adam_update(
    weight,
    grad,
    mean,
    var,
    *,
    lr: Scalar,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
):
    """One step of Adam; the correction of the first steps is in ``lr``.

    Source: MXNet operator ``adam_update``; Kingma and Ba, 2015.
    """
    gradient = grad.astype(weight.dtype) * _as(rescale_grad, weight) + _as(wd, weight) * weight
    if clip_gradient >= 0:
        gradient = jnp.clip(gradient, -clip_gradient, clip_gradient)
    mean = beta1 * mean + (1 - beta1) * gradient
    var = beta2 * var + (1 - beta2) * jnp.square(gradient)
    step = _as(lr, weight) * mean / (jnp.sqrt(var) + epsilon)
    return weight - step, mean, var
