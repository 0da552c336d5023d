"""Normalization by sample statistics: per layer, per channel, or per group of channels."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError, RankError, ShapeError
from mixnet.ops.array.plain import along, filled_like, on_axis, with_axes
from mixnet.ops.math.reduce import real_mean
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axis, NonNegative, Positive


def check_channels(name: str, data: jax.Array, axis: int, **vectors: Any) -> None:
    """Whether each of the vectors has a number for each of the channels on ``axis``.

    Raises:
        ShapeError: one has not.
    """
    for key, each in vectors.items():
        if each.shape != data.shape[axis : axis + 1 or None]:
            raise ShapeError(
                f"{name}: {key} is {each.shape}, but data {data.shape} has {data.shape[axis]} "
                f"channels on axis {axis}; give {key} the shape {(data.shape[axis],)}."
            )


def _standard(data: jax.Array, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    average = real_mean(data, axes)
    centred = jax.lax.sub(data, along(average, data.shape, axes))
    variance = real_mean(jax.lax.square(centred), axes)
    variance = jax.lax.add(variance, filled_like(variance, eps))
    out = jax.lax.mul(centred, along(jax.lax.rsqrt(variance), data.shape, axes))
    # The statistics are for inspection only: no gradient passes through them.
    statistics = [with_axes(jax.lax.stop_gradient(each), data.shape, axes)
                  for each in (average, jax.lax.sqrt(variance))]  # fmt: skip
    return out, *statistics


def _visible(output_mean_var: bool) -> int:
    return 3 if output_mean_var else 1


@op(
    "LayerNorm",
    floats=True,
    one_dtype=True,
    outputs=3,
    visible=_visible,
    output_names=["output", "mean", "std"],
    flops=7,
    precision="full",
    aliases=["_npx_layer_norm"],
)
def layer_norm(
    data, gamma, beta, *, axis: Axis = -1, eps: NonNegative = 1e-5, output_mean_var: bool = False
):
    """Data normalized to mean 0, variance 1 along ``axis``, then scaled by ``gamma`` and shifted by ``beta``.

    Args:
        data: float.
        gamma: ``(data.shape[axis],)``.
        beta: ``(data.shape[axis],)``.

    Source: MXNet operator ``LayerNorm``; Ba, Kiros and Hinton, 2016.
    """
    check_channels("LayerNorm", data, axis, gamma=gamma, beta=beta)
    axis %= data.ndim
    out, average, deviation = _standard(data, (axis,), eps)
    out = jax.lax.mul(out, on_axis(gamma, data.shape, axis))
    return jax.lax.add(out, on_axis(beta, data.shape, axis)), average, deviation


@layer_norm.infer_inputs
def _(data, *, axis):
    return {"gamma": (data[axis],), "beta": (data[axis],)}


@op("InstanceNorm", floats=True, one_dtype=True, flops=7, precision="full")
def instance_norm(data, gamma, beta, *, eps: NonNegative = 1e-3):
    """Each channel of each sample normalized to mean 0, variance 1; scaled by ``gamma``, shifted by ``beta``.

    Args:
        data: ``(batch, channels, ...)``.
        gamma: ``(channels,)``.
        beta: ``(channels,)``.

    Source: MXNet operator ``InstanceNorm``; Ulyanov, Vedaldi and Lempitsky, 2016.
    """
    if data.ndim < 3:
        raise ShapeError(
            f"InstanceNorm takes (batch, channels, ...), not data of shape {data.shape}."
        )
    check_channels("InstanceNorm", data, 1, gamma=gamma, beta=beta)
    shape = (1, -1, *(1,) * (data.ndim - 2))
    out, _, _ = _standard(data, tuple(range(2, data.ndim)), eps)
    return out * gamma.reshape(shape) + beta.reshape(shape)


@instance_norm.infer_inputs
def _(data):
    return {"gamma": (data[1],), "beta": (data[1],)}


@op(
    "GroupNorm",
    floats=True,
    one_dtype=True,
    outputs=3,
    visible=_visible,
    output_names=["output", "mean", "std"],
    flops=7,
    precision="full",
)
def group_norm(
    data,
    gamma,
    beta,
    *,
    num_groups: Positive = 1,
    eps: NonNegative = 1e-5,
    output_mean_var: bool = False,
):
    """Mean 0 and variance 1 of every group of channels of a sample, then ``gamma`` and ``beta``.

    Args:
        data: ``(batch, channels, ...)``; neighbouring channels form a group.
        gamma: ``(num_groups,)``.
        beta: ``(num_groups,)``.

    Returns:
        The normalized data; ``(batch, num_groups)`` means and deviations with ``output_mean_var``.

    Raises:
        ShapeError: data without spatial axes, channels that do not divide, or other parameters.

    Source: MXNet operator ``GroupNorm``; Wu and He, 2018.
    """
    if data.ndim < 3:
        raise RankError(
            f"GroupNorm: data {data.shape} must have the axes (batch, channels, ...), three or more."
        )
    if data.shape[1] % num_groups:
        raise ShapeError(
            f"GroupNorm: num_groups={num_groups} must divide the channels, the second axis of "
            f"data {data.shape}."
        )
    for name, parameter in (("gamma", gamma), ("beta", beta)):
        if parameter.shape != (num_groups,):
            raise ShapeError(
                f"GroupNorm: {name} is {parameter.shape}, but num_groups={num_groups} needs "
                f"{(num_groups,)}: MXNet has one number for each group, not for each channel."
            )
    grouped = data.reshape(data.shape[0], num_groups, math.prod(data.shape[1:]) // num_groups)
    out, average, deviation = _standard(grouped, (2,), eps)
    # Squares that overflow give NaN, as in MXNet, and not zeros, which nobody would notice; gradients, too.
    valid = jnp.where(jnp.isinf(deviation), jnp.nan, jnp.ones_like(deviation))
    out, deviation = out * valid, deviation * valid
    out = out * gamma.reshape(1, -1, 1) + beta.reshape(1, -1, 1)
    return out.reshape(data.shape), average[..., 0], deviation[..., 0]


@group_norm.infer_inputs
def _(data, *, num_groups):
    return {"gamma": (num_groups,), "beta": (num_groups,)}


@op("L2Normalization", floats=True, flops=3, precision="full")
def l2_normalization(
    data, *, eps: NonNegative = 1e-10, mode: Literal["channel", "instance", "spatial"] = "instance"
):
    """Vectors scaled to length 1: samples, the channels of each position, or the positions of each channel.

    Args:
        data: ``(batch, ...)``, or ``(batch, channels, ...)`` for "channel" and "spatial".
        eps: added to the square of the length.

    Raises:
        ShapeError: "channel" or "spatial" with fewer than three axes.

    Source: MXNet operator ``L2Normalization``.
    """
    if mode != "instance" and data.ndim < 3:
        raise RankError(
            f"L2Normalization: data {data.shape} must have three axes or more for mode={mode!r}: "
            f"batch, channels and places."
        )
    if mode == "channel":
        axes: tuple[int, ...] = (1,)
    else:
        axes = tuple(range(1 if mode == "instance" else 2, data.ndim))
    return data * jax.lax.rsqrt(jnp.sum(jnp.square(data), axes, keepdims=True) + eps)


@op("LRN", floats=True, flops=5, precision="full", bfloat16="any")
def lrn(data, *, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: Positive):
    """Elements divided by ``(knorm + alpha / nsize * s) ** beta``, s the sum of squares of nearby channels.

    Args:
        data: ``(batch, channels, height, width)``.
        nsize: width of the window of channels; an even one counts as the odd one below it, but
            ``alpha`` is divided by ``nsize`` as given.

    Raises:
        ShapeError: the data have no channels.
        AttributeValueError: ``nsize`` is below 1.

    Source: MXNet operator ``LRN``; Krizhevsky, Sutskever and Hinton, 2012.
    """
    if data.ndim < 2:
        raise RankError(f"LRN: data {data.shape} must have the axes (batch, channels, ...).")
    if nsize < 1:
        raise OperatorValueError(f"LRN: nsize={nsize} must be 1 or more.")
    half = (nsize - 1) // 2
    window = (1, 2 * half + 1, *(1,) * (data.ndim - 2))
    padding = [(half, half) if i == 1 else (0, 0) for i in range(data.ndim)]
    squares = jnp.square(data)
    zero = np.zeros((), data.dtype)  # not traced: JAX recognizes a sum by it
    total = jax.lax.reduce_window(squares, zero, jax.lax.add, window, (1,) * data.ndim, padding)
    return data * (knorm + (alpha / nsize) * total) ** -beta
