"""Update rules of optimizers, each for one weight, and the operators derived from them.

A rule returns the new weight, then the new states. What changes from step to step (rates, decays,
the number of the step) is an input of the program, so that a schedule compiles nothing.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.array.plain import in_dtype
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Scalar, Share
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.shape_constraints import all_same, same_but_last
from mixnet.ops.update.variants import mixed_precision, preloaded, several


def prepared(
    gradient: Any,
    weight: Any,
    rescale_grad: Any,
    clip_gradient: Any,
    wd: Any = None,
) -> Any:
    """The gradient scaled, with ``wd weight`` if ``wd`` is given; clipped if the limit is 0 or more."""
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    prepared_gradient = times(rescale_grad, in_dtype(gradient, weight.dtype))
    if wd is not None:
        prepared_gradient = jax.lax.add(prepared_gradient, times(wd, weight))
    return _clipped(prepared_gradient, clip_gradient)


def _clipped(array: jax.Array, limit: float | jax.Array) -> Any:
    if limit is not None and limit >= 0:
        return jnp.clip(array, -limit, limit)
    return array


def times(number: float | jax.Array, array: jax.Array) -> Any:
    """A number in the dtype of an array, times the array."""
    return jax.lax.mul(as_kind(number, array), array)


def as_kind(number: float | jax.Array, like: jax.Array) -> Any:
    """A number in the dtype of an array."""
    if isinstance(number, jax.Array):
        return in_dtype(number, like.dtype)
    return like.dtype.type(number)


def _sign(array: jax.Array) -> Any:
    """1 above 0, -1 below; 0 for NaN, which moves no weight."""
    return jnp.where(jnp.isnan(array), 0, jnp.sign(array)).astype(array.dtype)


def _rest(decay: float, like: jax.Array) -> Any:
    """``1 - decay`` with the decay rounded to the precision of an array, as in MXNet's kernels.

    For 0.999, this is off by 1.3e-5 of 0.001 in float32, and by 2.3% in float16.
    """
    rounded = like.dtype.type(np.float32(decay))
    return like.dtype.type(1) - rounded


def _correction(decay: float, t: float | jax.Array, dtype: DTypeLike) -> Any:
    """``1 - decay ** t`` in a precision: what MXNet rounds away shows in small ``t``."""
    power = jnp.asarray(np.float32(decay), jnp.float64) ** t
    return 1 - power.astype(dtype)


# ---- gradient descent -------------------------------------------------------------------------


@op(
    "sgd_update",
    floats=True,
    one_dtype=True,
    aliases=["_sparse_sgd_update"],
    differentiable=False,
    updates_rows="any",
    shape_constraint=all_same,
)
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
    """One step of stochastic gradient descent: ``weight - lr (gradient + wd weight)``.

    Source: MXNet operator ``sgd_update``.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    # In this form, as in MXNet, an infinite weight stays infinite.
    lr, wd = as_kind(lr, weight), as_kind(wd, weight)
    remaining = jax.lax.sub(as_kind(1, weight), jax.lax.mul(lr, wd))
    return jax.lax.sub(jax.lax.mul(remaining, weight), jax.lax.mul(lr, gradient))


@op(
    "sgd_mom_update",
    floats=True,
    one_dtype=True,
    aliases=["_sparse_sgd_mom_update"],
    states=["mom"],
    differentiable=False,
    updates_rows="any",
    shape_constraint=all_same,
)
def sgd_mom_update(
    weight,
    grad,
    mom,
    *,
    lr: Scalar,
    momentum: Scalar = 0.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
):
    """One step with momentum: ``mom`` becomes ``momentum mom - lr (gradient + wd weight)``, and is added.

    Source: MXNet operator ``sgd_mom_update``.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    slope = jax.lax.add(gradient, times(wd, weight))
    mom = jax.lax.sub(times(momentum, mom), times(lr, slope))
    return jax.lax.add(weight, mom), mom


@op(
    "nag_mom_update",
    floats=True,
    one_dtype=True,
    states=["mom"],
    differentiable=False,
    in_amp_lists=False,
    shape_constraint=all_same,
)
def nag_mom_update(
    weight,
    grad,
    mom,
    *,
    lr: Scalar,
    momentum: Scalar = 0.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
):
    """One step with Nesterov's momentum: that of ``sgd_mom_update``, and momentum once more.

    Source: MXNet operator ``nag_mom_update``; Nesterov, 1983.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    lr, wd, momentum = as_kind(lr, weight), as_kind(wd, weight), as_kind(momentum, weight)
    step = lr * (gradient + wd * weight)
    new = weight + momentum * (momentum * mom - step) - step
    # The stored momentum has the decay of the new weight: MXNet's updates work in place, and
    # its weight is written first.
    return new, momentum * mom - lr * (gradient + wd * new)


@op("signsgd_update", floats=True, one_dtype=True, differentiable=False, shape_constraint=all_same)
def signsgd_update(
    weight,
    grad,
    *,
    lr: Scalar,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
):
    """One step of size ``lr`` against the sign of the gradient; its scale and clipping do not matter.

    Source: MXNet operator ``signsgd_update``; Bernstein et al., 2018.
    """
    lr = as_kind(lr, weight)
    return (1 - lr * as_kind(wd, weight)) * weight - lr * _sign(grad)


@op(
    "signum_update",
    floats=True,
    one_dtype=True,
    states=["mom"],
    differentiable=False,
    shape_constraint=all_same,
)
def signum_update(
    weight,
    grad,
    mom,
    *,
    lr: Scalar,
    momentum: float = 0.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: Scalar = 0.0,
):
    """One step of size ``lr`` along the sign of the momentum; ``wd_lh`` decays the weight separately.

    Source: MXNet operator ``signum_update``; Bernstein et al., 2018.
    """
    gradient = prepared(grad, weight, rescale_grad, clip_gradient)
    mom = momentum * mom - _rest(momentum, mom) * (gradient + as_kind(wd, weight) * weight)
    lr = as_kind(lr, weight)
    return (1 - lr * as_kind(wd_lh, weight)) * weight + lr * _sign(mom), mom


# ---- rates of their own for every element -----------------------------------------------------


@op(
    "adam_update",
    floats=True,
    one_dtype=True,
    aliases=["_sparse_adam_update"],
    states=["mean", "var"],
    differentiable=False,
    updates_rows="any",
    shape_constraint=all_same,
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
    mean, var = _moments(gradient, mean, var, beta1, beta2)
    deviation = jax.lax.sqrt(var)
    step = times(lr, mean) / jax.lax.add(deviation, as_kind(epsilon, deviation))
    return jax.lax.sub(weight, step), mean, var


def _moments(
    gradient: jax.Array, mean: jax.Array, var: jax.Array, beta1: float, beta2: float
) -> tuple[Any, Any]:
    mean = jax.lax.add(times(beta1, mean), times(_rest(beta1, mean), gradient))
    square = jax.lax.square(gradient)
    return mean, jax.lax.add(times(beta2, var), times(_rest(beta2, var), square))


@op(
    "_adamw_update",
    dtypes=Dtypes(own={"rescale_grad": "float32"}),
    floats=True,
    one_dtype=True,
    states=["mean", "var"],
    differentiable=False,
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
    new_mean, new_var = _moments(gradient, mean, var, beta1, beta2)
    step = (
        as_kind(lr, weight) * new_mean / (jnp.sqrt(new_var) + epsilon)
        + as_kind(wd, weight) * weight
    )
    stepped = weight - as_kind(eta, weight) * step
    usable = jnp.isfinite(scale) & (scale != 0)
    pairs = ((stepped, weight), (new_mean, mean), (new_var, var))
    return tuple(jnp.where(usable, new, old) for new, old in pairs)


@op(
    "rmsprop_update",
    floats=True,
    one_dtype=True,
    states=["n"],
    differentiable=False,
    shape_constraint=all_same,
)
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
    n = gamma1 * n + _rest(gamma1, n) * jnp.square(gradient)
    stepped = weight - as_kind(lr, weight) * gradient / jnp.sqrt(n + epsilon)
    return _clipped(stepped, clip_weights), n


@op(
    "rmspropalex_update",
    floats=True,
    one_dtype=True,
    states=["n", "g", "delta"],
    differentiable=False,
    shape_constraint=all_same,
)
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
    n = gamma1 * n + _rest(gamma1, n) * jnp.square(gradient)
    g = gamma1 * g + _rest(gamma1, g) * gradient
    delta = gamma2 * delta - as_kind(lr, weight) * gradient / jnp.sqrt(n - jnp.square(g) + epsilon)
    return _clipped(weight + delta, clip_weights), n, g, delta


@op(
    "ftrl_update",
    floats=True,
    one_dtype=True,
    aliases=["_sparse_ftrl_update"],
    states=["z", "n"],
    differentiable=False,
    updates_rows="sparse",
    shape_constraint=all_same,
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


@op(
    "ftml_update",
    floats=True,
    one_dtype=True,
    states=["d", "v", "z"],
    differentiable=False,
    shape_constraint=all_same,
)
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
    v = beta2 * v + _rest(beta2, v) * jnp.square(gradient)
    corrected = jnp.sqrt(v / _correction(beta2, t, weight.dtype)) + epsilon
    new_d = _correction(beta1, t, weight.dtype) / as_kind(lr, weight) * corrected
    z = beta1 * z + _rest(beta1, z) * gradient - (new_d - beta1 * d) * weight
    return -z / new_d, new_d, v, z


@op(
    "_sparse_adagrad_update",
    floats=True,
    one_dtype=True,
    states=["history"],
    differentiable=False,
    updates_rows="any",
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


@op(
    "_contrib_group_adagrad_update",
    floats=True,
    one_dtype=True,
    states=["history"],
    differentiable=False,
    updates_rows="any",
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


# ---- rates by layer ---------------------------------------------------------------------------


@op(
    "lamb_update_phase1",
    floats=True,
    one_dtype=True,
    states=["mean", "var"],
    differentiable=False,
    in_amp_lists=False,
    shape_constraint=all_same,
)
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
    mean, var = _moments(gradient, mean, var, beta1, beta2)
    first, second = mean, var
    if bias_correction:
        first = mean / as_kind(_correction(beta1, t, jnp.float32), weight)
        second = var / as_kind(_correction(beta2, t, jnp.float32), weight)
    return first / (jnp.sqrt(second) + epsilon) + as_kind(wd, weight) * weight, mean, var


@op("lamb_update_phase2", floats=True, one_dtype=True, differentiable=False, in_amp_lists=False)
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


@op(
    "multi_lars",
    floats=True,
    differentiable=False,
    in_amp_lists=False,
    shape_constraint=all_same,
)
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


def _lamb(
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


# ---- variants ---------------------------------------------------------------------------------

mp_sgd_update = mixed_precision("mp_sgd_update", sgd_update)
mp_sgd_mom_update = mixed_precision("mp_sgd_mom_update", sgd_mom_update)
mp_nag_mom_update = mixed_precision("mp_nag_mom_update", nag_mom_update)
mp_adamw_update = mixed_precision("_mp_adamw_update", adamw_update)
mp_lamb_update_phase1 = mixed_precision("mp_lamb_update_phase1", lamb_update_phase1, False)
mp_lamb_update_phase2 = mixed_precision("mp_lamb_update_phase2", lamb_update_phase2)

for _rule in (sgd_update, sgd_mom_update, mp_sgd_update, mp_sgd_mom_update):
    several(f"multi_{_rule.name}", _rule, order=("lrs", "wds"))
    preloaded(f"preloaded_multi_{_rule.name}", _rule)

_LISTS = {"lr": "lrs", "wd": "wds", "eta": "etas"}
several("_multi_adamw_update", adamw_update, plural=_LISTS, in_amp_lists=False)
several("_multi_mp_adamw_update", mp_adamw_update, plural=_LISTS, in_amp_lists=False)

# MXNet has no operator for a whole step of LAMB on one weight.
_lamb_update = Op("lamb_update", _lamb, states=["mean", "var"])
_LISTS = {"learning_rate": "learning_rates", "wd": "wds", "step_count": "step_count"}
several("_multi_lamb_update", _lamb_update, plural=_LISTS, count="num_tensors", in_amp_lists=False)
several(
    "_multi_mp_lamb_update",
    mixed_precision("mp_lamb_update", _lamb_update, listed=False),
    plural=_LISTS,
    count="num_tensors",
    in_amp_lists=False,
)
