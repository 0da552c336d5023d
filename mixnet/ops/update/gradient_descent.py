"""Update rules with one rate for all elements: gradient descent, its momenta, its signs."""

from __future__ import annotations

import jax

from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.update.arithmetic import as_kind, complement, prepared, sign, times
from mixnet.ops.update.rule import update_rule


@update_rule("sgd_update", aliases=["_sparse_sgd_update"], updates_rows="any")
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


@update_rule(
    "sgd_mom_update", aliases=["_sparse_sgd_mom_update"], states=["mom"], updates_rows="any"
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


@update_rule("nag_mom_update", states=["mom"], in_amp_lists=False)
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


@update_rule("signsgd_update")
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
    return (1 - lr * as_kind(wd, weight)) * weight - lr * sign(grad)


@update_rule("signum_update", states=["mom"])
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
    mom = momentum * mom - complement(momentum, mom) * (gradient + as_kind(wd, weight) * weight)
    lr = as_kind(lr, weight)
    return (1 - lr * as_kind(wd_lh, weight)) * weight + lr * sign(mom), mom
