"""Update rules with a rate for each layer, from the norms of its weight and step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind, bias_factor, moments, prepared
from mixnet.ops.update.rule import update_rule


@update_rule("lamb_update_phase1", states=["mean", "var"], in_amp_lists=False)
def lamb_update_phase1(
    weight,
    grad,
    mean,
    var,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: Scalar,
    bias_correction: bool = True,
    wd: Scalar,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
):
    """The direction of step ``t`` of LAMB, the first one being 1: that of Adam, plus ``wd weight``.

    Source: MXNet operator ``lamb_update_phase1``; You et al., 2020.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    mean, var = moments(gradient, mean, var, beta1, beta2)
    first, second = mean, var
    if bias_correction:
        first = mean / as_kind(bias_factor(beta1, t, jnp.float32), weight)
        second = var / as_kind(bias_factor(beta2, t, jnp.float32), weight)
    return first / (jnp.sqrt(second) + epsilon) + as_kind(wd, weight) * weight, mean, var


@update_rule("lamb_update_phase2", in_amp_lists=False, shape_constraint=None)
def lamb_update_phase2(
    weight, g, r1, r2, *, lr: Scalar, lower_bound: float = -1.0, upper_bound: float = -1.0
):
    """The step of LAMB along ``g``: ``lr r1 / r2`` long, with ``r1`` clipped to the bounds.

    Args:
        r1: norm of the weight, ``(1,)``.
        r2: norm of ``g``, ``(1,)``. Where one of the norms is 0 their ratio is 1.

    Raises:
        ShapeError: ``r1`` or ``r2`` is not one number.

    Source: MXNet operator ``lamb_update_phase2``; You et al., 2020.
    """
    for name, norm in (("r1", r1), ("r2", r2)):
        if norm.size != 1:
            raise ShapeError(
                f"lamb_update_phase2: {name} is {norm.shape}; give one number, as "
                f"{'weight' if norm is r1 else 'g'}.norm()."
            )
    r1, r2 = r1.reshape(()), r2.reshape(())
    if lower_bound >= 0:
        r1 = jnp.maximum(r1, lower_bound)
    if upper_bound >= 0:
        r1 = jnp.minimum(r1, upper_bound)
    ratio = as_kind(jnp.where((r1 == 0) | (r2 == 0), 1, r1 / r2), weight)
    return weight - as_kind(lr, weight) * ratio * g.astype(weight.dtype)


@update_rule("multi_lars", in_amp_lists=False, one_dtype=False)
def multi_lars(
    lrs, weights_sum_sq, grads_sum_sq, wds, *, eta: float, eps: float, rescale_grad: Scalar = 1.0
):
    """Learning rates of LARS: ``lr eta |w| / (|g| + wd |w| + eps)``; ``lr`` where a norm is 0.

    Args:
        lrs: one for each layer, like the other arrays.

    Source: MXNet operator ``multi_lars``; You et al., 2017.
    """
    weights = jnp.sqrt(weights_sum_sq)
    gradients = jnp.sqrt(grads_sum_sq) * as_kind(rescale_grad, lrs)
    scaled = lrs * eta * weights / (gradients + wds * weights + eps)
    return jnp.where((weights > 0) & (gradients > 0), scaled, lrs)


def _norm(array: jax.Array) -> Any:
    return jnp.sqrt(jnp.sum(jnp.square(array), keepdims=True).reshape(1))


def lamb_step(
    weight,
    grad,
    mean,
    var,
    *,
    learning_rate: Scalar,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    wd: Scalar,
    rescale_grad: Scalar = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: Scalar,
):
    """One step of LAMB, both phases."""
    direction, mean, var = lamb_update_phase1.function(
        weight,
        grad,
        mean,
        var,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        t=step_count,
        bias_correction=bias_correction,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    new = lamb_update_phase2.function(
        weight,
        direction,
        _norm(weight),
        _norm(direction),
        lr=learning_rate,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )
    return new, mean, var
