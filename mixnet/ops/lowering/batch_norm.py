"""Batch normalization with batch statistics: closed-form gradient, and folding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.ops.lowering.lowering import Lowering


def batch_norm_gradient(
    head: jax.Array,
    data: jax.Array,
    gamma: jax.Array,
    *,
    axis: int,
    eps: float,
    fix_gamma: bool,
    wide: str,
    wrt: Sequence[int],
) -> tuple[Any, ...]:
    """Gradients of data, gamma, beta and the moving statistics (0 to 4), those of ``wrt``.

    Two sums over the data and one pass, from the formulas of Ioffe and Szegedy (2015), section 3;
    differentiating the forward computation step by step takes five.

    Args:
        wide: dtype of the statistics.
    """
    others = tuple(i for i in range(data.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(data.ndim)]
    count = data.size // data.shape[axis]
    x, g = data.astype(wide), head.astype(wide)
    mean = jnp.mean(x, others)
    var = jnp.mean(jnp.square(x - mean.reshape(shape)), others)
    scale = jax.lax.rsqrt(var + eps)
    normal = (x - mean.reshape(shape)) * scale.reshape(shape)
    total, product = jnp.sum(g, others), jnp.sum(g * normal, others)
    none = jnp.zeros_like(total)
    gradients = {1: none if fix_gamma else product, 2: total, 3: none, 4: none}
    if 0 in wrt:
        factor = scale if fix_gamma else scale * gamma
        inner = g - (total / count).reshape(shape) - normal * (product / count).reshape(shape)
        gradients[0] = (inner * factor.reshape(shape)).astype(data.dtype)
    return tuple(gradients[i] if i in (0, 3, 4) else gradients[i].astype(gamma.dtype) for i in wrt)


def fold(weight: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, var: jax.Array,
         *bias: jax.Array, eps: float, fix_gamma: bool) -> tuple[Any, Any]:  # fmt: skip
    """Weight and bias of a convolution that also normalizes by known statistics."""
    scale = jax.lax.rsqrt(var + eps)
    factor = scale if fix_gamma else scale * gamma
    shifted = (bias[0] - mean) if bias else -mean
    scaled = weight * factor.reshape(-1, *(1,) * (weight.ndim - 1))
    return scaled.astype(weight.dtype), (shifted * factor + beta).astype(weight.dtype)


BATCH_NORM_GRADIENT = Lowering("BatchNorm_gradient", batch_norm_gradient)
FOLD = Lowering("BatchNorm_fold", fold)
