"""Normalization by statistics of the batch, of a sample, or of groups of channels."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.ops.registry import op


def _batch_norm_visible(output_mean_var: bool) -> int:
    return 3 if output_mean_var else 1


@op(
    "BatchNorm",
    states=["moving_mean", "moving_var"],
    outputs=3,
    visible=_batch_norm_visible,
    output_names=["output", "mean", "var"],
)
def batch_norm(
    data,
    gamma,
    beta,
    moving_mean,
    moving_var,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    training,
):
    """Every channel shifted and scaled to mean 0 and variance 1, then by ``gamma`` and ``beta``.

    In training the statistics are the batch's and the moving ones follow them; in prediction, and
    with ``use_global_stats``, they are the moving ones.

    Args:
        data: channels on ``axis``.
        gamma: scale, ``(channels,)``; counts as 1 with ``fix_gamma``.
        beta: shift, ``(channels,)``.
        moving_mean: state, ``(channels,)``.
        moving_var: state, ``(channels,)``.

    Returns:
        The normalized data; mean and one over the standard deviation with ``output_mean_var``.

    Source: MXNet operator ``BatchNorm``; Ioffe and Szegedy, 2015.
    """
    axis %= data.ndim
    others = tuple(i for i in range(data.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(data.ndim)]
    wide = data.astype(moving_mean.dtype)
    if training and not use_global_stats:
        mean = jnp.mean(wide, others)
        var = jnp.mean(jnp.square(wide - mean.reshape(shape)), others)
        kept = jax.lax.stop_gradient
        new_mean = moving_mean * momentum + kept(mean) * (1 - momentum)
        new_var = moving_var * momentum + kept(var) * (1 - momentum)
    else:
        mean, var, new_mean, new_var = moving_mean, moving_var, moving_mean, moving_var
    scale = jax.lax.rsqrt(var + eps)
    factor = scale if fix_gamma else scale * gamma
    out = (wide - mean.reshape(shape)) * factor.reshape(shape) + beta.reshape(shape)
    return out.astype(data.dtype), mean, scale, new_mean, new_var


@batch_norm.infer_inputs
def _(data, *, axis):
    channels = (data[axis],)
    return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), channels)


def _standard(data: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    mean = jnp.mean(data, axes, keepdims=True)
    var = jnp.mean(jnp.square(data - mean), axes, keepdims=True)
    return (data - mean) * jax.lax.rsqrt(var + eps), mean, jnp.sqrt(var + eps)


def _layer_norm_visible(output_mean_var: bool) -> int:
    return 3 if output_mean_var else 1


@op(
    "LayerNorm",
    outputs=3,
    visible=_layer_norm_visible,
    output_names=["output", "mean", "std"],
)
def layer_norm(
    data, gamma, beta, *, axis: int = -1, eps: float = 1e-5, output_mean_var: bool = False
):
    """Mean 0 and variance 1 along ``axis``, then scaled by ``gamma`` and shifted by ``beta``.

    Args:
        data: float.
        gamma: ``(data.shape[axis],)``.
        beta: ``(data.shape[axis],)``.

    Source: MXNet operator ``LayerNorm``; Ba, Kiros and Hinton, 2016.
    """
    axis %= data.ndim
    shape = [-1 if i == axis else 1 for i in range(data.ndim)]
    out, mean, std = _standard(data, (axis,), eps)
    out = out * gamma.reshape(shape) + beta.reshape(shape)
    return out, mean, std


@layer_norm.infer_inputs
def _(data, *, axis):
    return {"gamma": (data[axis],), "beta": (data[axis],)}


@op("InstanceNorm")
def instance_norm(data, gamma, beta, *, eps: float = 1e-3):
    """Mean 0 and variance 1 of every channel of every sample, then ``gamma`` and ``beta``.

    Args:
        data: ``(batch, channels, ...)``.
        gamma: ``(channels,)``.
        beta: ``(channels,)``.

    Source: MXNet operator ``InstanceNorm``; Ulyanov, Vedaldi and Lempitsky, 2016.
    """
    shape = (1, -1, *(1,) * (data.ndim - 2))
    out, _, _ = _standard(data, tuple(range(2, data.ndim)), eps)
    return out * gamma.reshape(shape) + beta.reshape(shape)


@instance_norm.infer_inputs
def _(data):
    return {"gamma": (data[1],), "beta": (data[1],)}
