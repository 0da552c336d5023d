"""Update rules with a rate for each element or row, from the gradients so far."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.schema.attributes import Scalar, Share
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.shape_constraints import same_but_last
from mixnet.ops.update.arithmetic import (
    as_kind,
    bias_factor,
    clipped,
    complement,
    moments,
    prepared,
    times,
)
from mixnet.ops.update.rule import update_rule


@update_rule(
    "adam_update", aliases=["_sparse_adam_update"], states=["mean", "var"], updates_rows="any"
)
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
    """One step of Adam; ``lr`` includes the bias correction.

    Source: MXNet operator ``adam_update``; Kingma and Ba, 2015.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient, wd)
    mean, var = moments(gradient, mean, var, beta1, beta2)
    deviation = jax.lax.sqrt(var)
    step = times(lr, mean) / jax.lax.add(deviation, as_kind(epsilon, deviation))
    return jax.lax.sub(weight, step), mean, var


@update_rule(
    "_adamw_update",
    dtypes=Dtypes(own={"rescale_grad": "float32"}),
    states=["mean", "var"],
    shape_constraint=same_but_last,
)
def adamw_update(
    weight,
    grad,
    mean,
    var,
    rescale_grad,
    *,
    lr: Scalar,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: Scalar = 0.0,
    eta: Scalar,
    clip_gradient: float = -1.0,
):
    """One step of Adam with decoupled weight decay; ``eta`` scales both.

    A loss scale that is 0 or not finite leaves weight and states as they are.

    Args:
        rescale_grad: the loss scale, an array of which the first element counts.

    Source: MXNet operator ``_adamw_update``; Loshchilov and Hutter, 2019.
    """
    scale = rescale_grad.reshape(-1)[0]
    gradient = prepared(grad, weight, scale, clip_gradient)
    new_mean, new_var = moments(gradient, mean, var, beta1, beta2)
    step = (
        as_kind(lr, weight) * new_mean / (jnp.sqrt(new_var) + epsilon)
        + as_kind(wd, weight) * weight
    )
    stepped = weight - as_kind(eta, weight) * step
    usable = jnp.isfinite(scale) & (scale != 0)
    pairs = ((stepped, weight), (new_mean, mean), (new_var, var))
    return tuple(jnp.where(usable, new, old) for new, old in pairs)


@update_rule("rmsprop_update", states=["n"])
def rmsprop_update(
    weight,
    grad,
    n,
    *,
    lr: Scalar,
    gamma1: float = 0.95,
    epsilon: float = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
):
    """One step of RMSProp: the gradient divided by the root of ``n``, the running mean of its square.

    Source: MXNet operator ``rmsprop_update``; Tieleman and Hinton, 2012.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient, wd)
    n = gamma1 * n + complement(gamma1, n) * jnp.square(gradient)
    stepped = weight - as_kind(lr, weight) * gradient / jnp.sqrt(n + epsilon)
    return clipped(stepped, clip_weights), n


@update_rule("rmspropalex_update", states=["n", "g", "delta"])
def rmspropalex_update(
    weight,
    grad,
    n,
    g,
    delta,
    *,
    lr: Scalar,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
):
    """One step of RMSProp with momentum: the gradient divided by the root of its running variance ``n - g²``.

    Source: MXNet operator ``rmspropalex_update``; Graves, 2013.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient, wd)
    n = gamma1 * n + complement(gamma1, n) * jnp.square(gradient)
    g = gamma1 * g + complement(gamma1, g) * gradient
    delta = gamma2 * delta - as_kind(lr, weight) * gradient / jnp.sqrt(n - jnp.square(g) + epsilon)
    return clipped(weight + delta, clip_weights), n, g, delta


@update_rule(
    "ftrl_update", aliases=["_sparse_ftrl_update"], states=["z", "n"], updates_rows="sparse"
)
def ftrl_update(
    weight,
    grad,
    z,
    n,
    *,
    lr: Scalar,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
):
    """One step of FTRL (follow the regularized leader); weights are 0 unless ``|z| > lamda1``.

    Source: MXNet operator ``ftrl_update``; McMahan et al., 2013.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    lr = as_kind(lr, weight)
    new_n = n + jnp.square(gradient)
    z = z + gradient - (jnp.sqrt(new_n) - jnp.sqrt(n)) * weight / lr
    # In this order, the sign of a weight that becomes zero is that of MXNet's.
    beyond = (jnp.sign(z) * lamda1 - z) * (jnp.abs(z) > lamda1)
    return beyond / ((beta + jnp.sqrt(new_n)) / lr + as_kind(wd, weight)), z, new_n


@update_rule("ftml_update", states=["d", "v", "z"])
def ftml_update(
    weight,
    grad,
    d,
    v,
    z,
    *,
    lr: Scalar,
    beta1: Share = 0.6,
    beta2: Share = 0.999,
    epsilon: float = 1e-8,
    t: Scalar,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_grad: float = -1.0,
):
    """Step ``t`` of FTML (follow the moving leader); the first one is 1.

    Source: MXNet operator ``ftml_update``; Zheng and Kwok, 2017.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_grad, wd)
    v = beta2 * v + complement(beta2, v) * jnp.square(gradient)
    corrected = jnp.sqrt(v / bias_factor(beta2, t, weight.dtype)) + epsilon
    new_d = bias_factor(beta1, t, weight.dtype) / as_kind(lr, weight) * corrected
    z = beta1 * z + complement(beta1, z) * gradient - (new_d - beta1 * d) * weight
    return -z / new_d, new_d, v, z


@update_rule(
    "_sparse_adagrad_update", states=["history"], updates_rows="any", shape_constraint=None
)
def adagrad_update(
    weight,
    grad,
    history,
    *,
    lr: Scalar,
    epsilon: float = 1e-7,
    wd: float = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
):
    """One step of AdaGrad: the gradient divided by the root of the sum of all its squares.

    Raises:
        AttributeValueError: ``wd`` is not 0; MXNet has no decay here.

    Source: MXNet operator ``_sparse_adagrad_update``; Duchi et al., 2011.
    """
    if wd != 0:
        raise OperatorValueError(
            f"_sparse_adagrad_update: wd={wd} must be 0; add wd · weight to the gradient."
        )
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    history = history + jnp.square(gradient)
    return weight - as_kind(lr, weight) * gradient / jnp.sqrt(history + epsilon), history


@update_rule(
    "_contrib_group_adagrad_update", states=["history"], updates_rows="any", shape_constraint=None
)
def group_adagrad_update(
    weight,
    grad,
    history,
    *,
    lr: Scalar,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-5,
):
    """One step of AdaGrad with one rate for each row.

    Args:
        weight: ``(rows, ...)``.
        history: ``(rows, 1, ...)``, sum of the rows' mean squares.

    Raises:
        ShapeError: ``history`` does not have one number for each row.

    Source: MXNet operator ``_contrib_group_adagrad_update``.
    """
    if history.shape != (weight.shape[0], *(1,) * (weight.ndim - 1)):
        raise ShapeError(
            f"_contrib_group_adagrad_update: history is {history.shape}; weight {weight.shape} "
            f"needs {(weight.shape[0], *(1,) * (weight.ndim - 1))}, a number for each row."
        )
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    axes = tuple(range(1, weight.ndim))
    history = history + jnp.mean(jnp.square(gradient), axes, keepdims=True)
    return weight - as_kind(lr, weight) * gradient / jnp.sqrt(history + epsilon), history
