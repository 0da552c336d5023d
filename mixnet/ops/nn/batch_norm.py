"""Normalization by batch statistics, and its variants."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mixnet.ops.array.plain import along, filled_like, in_dtype, on_axis
from mixnet.ops.math.elementwise import relu
from mixnet.ops.math.reduce import real_mean
from mixnet.ops.nn.normalization import check_channels
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axis, NonNegative, Positive, Share
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.integer_layers import Fusion, Quantization, by_channel, first_input
from mixnet.ops.schema.over_devices import AXIS


def _visible(output_mean_var: bool) -> int:
    return 3 if output_mean_var else 1


def _moves(training: bool, use_global_stats: bool) -> bool:
    return training and not use_global_stats


_COMMON: dict[str, Any] = {
    "floats": True,
    "states": ["moving_mean", "moving_var"],
    "moves": _moves,
    "fraction_kept": "momentum",
    "in_prediction": {"use_global_stats": True},
    "outputs": 3,
    "visible": _visible,
    "output_names": ["output", "mean", "var"],
    "dtypes": Dtypes(statistics=("gamma", "beta", "moving_mean", "moving_var")),
    "initializers": {"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
}


def _normalize(
    data: jax.Array,
    gamma: jax.Array,
    beta: jax.Array,
    moving: tuple[Any, Any],
    batch: bool,
    eps: float,
    momentum: float,
    fix_gamma: bool,
    axis: int = 1,
) -> tuple[Any, ...]:
    """The normalized data, the mean and variance they were normalized by, the new moving ones.

    The latter four let no gradient through.
    """
    constant = jax.lax.stop_gradient
    if batch:
        mean, var = _statistics(data, axis, moving[0].dtype)
        new = _moved(moving, (mean, var), momentum)
    else:
        mean, var = constant(moving[0]), constant(moving[1])
        new = list(moving)
    out = _scaled(data, gamma, beta, mean, var, eps, fix_gamma, axis)
    return out, constant(mean), constant(var), *new


def _statistics(data: jax.Array, axis: int, dtype: DTypeLike) -> tuple[Any, Any]:
    """Mean and variance of every channel."""
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    others = tuple(i for i in range(data.ndim) if i != axis % data.ndim)
    wide = in_dtype(data, dtype)
    mean = real_mean(wide, others)
    centred = jax.lax.sub(wide, along(mean, data.shape, others))
    return mean, real_mean(jax.lax.square(centred), others)


def _moved(moving: tuple[Any, Any], now: tuple[Any, Any], momentum: float) -> list[Any]:
    """The moving statistics after a batch."""
    constant = jax.lax.stop_gradient
    remaining, added = (filled_like(moving[0], each) for each in (momentum, 1 - momentum))
    return [
        jax.lax.add(
            jax.lax.mul(old, remaining), jax.lax.mul(in_dtype(constant(new), old.dtype), added)
        )
        for old, new in zip(moving, now, strict=True)
    ]


def _scaled(
    data: jax.Array,
    gamma: jax.Array,
    beta: jax.Array,
    mean: jax.Array,
    var: jax.Array,
    eps: float,
    fix_gamma: bool,
    axis: int,
) -> Any:
    """The data, normalized by mean and variance, then scaled and shifted."""
    scale = jax.lax.rsqrt(jax.lax.add(var, filled_like(var, eps)))
    factor = scale if fix_gamma else jax.lax.mul(scale, in_dtype(gamma, scale.dtype))
    mean, factor, beta = (
        on_axis(in_dtype(each, scale.dtype), data.shape, axis % data.ndim)
        for each in (mean, factor, beta)
    )
    centred = jax.lax.sub(in_dtype(data, mean.dtype), mean)
    return in_dtype(jax.lax.add(jax.lax.mul(centred, factor), beta), data.dtype)


def _declare_shapes(operator: Op) -> Op:
    if "axis" in operator.attributes:

        @operator.infer_inputs
        def _(data, *, axis):
            channels = (data[axis],)
            return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), channels)

    else:

        @operator.infer_inputs
        def _(data):
            return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (data[1],))

    return operator


@op(
    "BatchNorm",
    **_COMMON,
    flops=7,
    layout_axis="axis",
    fusion=Fusion("norm", by_channel),
    quantization=Quantization(
        "_contrib_quantized_batch_norm",
        reads=first_input,
        calibrated=True,
        fits=lambda *, output_mean_var: not output_mean_var,
    ),
    bfloat16="any",
    aliases=["_npx_batch_norm"],
    family="normalization",
)
def batch_norm(
    data,
    gamma,
    beta,
    moving_mean,
    moving_var,
    *,
    eps: NonNegative = 1e-3,
    momentum: Share = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: Axis = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    training,
):
    """Each channel normalized to mean 0 and variance 1, then scaled by ``gamma`` and shifted by ``beta``.

    In training the statistics are those of the batch, and the moving statistics follow them. In prediction,
    and with ``use_global_stats``, they are the moving ones.

    Args:
        data: channels on ``axis``.
        gamma: scale, ``(channels,)``; counts as 1 with ``fix_gamma``.
        beta: shift, ``(channels,)``.
        moving_mean: state, ``(channels,)``.
        moving_var: state, ``(channels,)``.

    Returns:
        The normalized data; with ``output_mean_var`` also the mean and the reciprocal of the standard
        deviation.

    Source: MXNet operator ``BatchNorm``; Ioffe and Szegedy, 2015.
    """
    moving = (moving_mean, moving_var)
    batch = training and not use_global_stats
    vectors = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    check_channels("BatchNorm", data, axis, **vectors)
    out, mean, var, *new = _normalize(
        data, gamma, beta, moving, batch, eps, momentum, fix_gamma, axis
    )
    return out, mean, jax.lax.rsqrt(var + eps), *new


@op("_contrib_BatchNormWithReLU", **_COMMON, layout_axis="axis", in_amp_lists=False)
@functools.wraps(batch_norm.function, assigned=["__annotations__"])  # the same arguments
def batch_norm_with_relu(*arrays, **attributes):
    """``BatchNorm``, negative results set to 0.

    Args:
        data: channels on ``axis``.
        gamma: scale, ``(channels,)``; counts as 1 with ``fix_gamma``.
        beta: shift, ``(channels,)``.
        moving_mean: state, ``(channels,)``.
        moving_var: state, ``(channels,)``.

    Source: MXNet operator ``_contrib_BatchNormWithReLU``.
    """
    out, *others = batch_norm.function(*arrays, **attributes)
    return relu(out), *others


@op("_contrib_SyncBatchNorm", **_COMMON, precision="full")
def sync_batch_norm(
    data,
    gamma,
    beta,
    moving_mean,
    moving_var,
    *,
    eps: NonNegative = 1e-3,
    momentum: Share = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: Positive = 1,
    key: str,
    training,
):
    """``BatchNorm`` whose batch is spread over devices: in training they share its statistics.

    Mean and variance are those of all parts, each counting the same; the moving ones follow them on
    every device. Nothing is computed before all ``ndev`` devices have called; reading a result before
    that is an error. Within one compiled program, and for one device, it is ``BatchNorm``.

    Args:
        data: ``(batch, channels, ...)``.
        gamma: scale, ``(channels,)``; counts as 1 with ``fix_gamma``.
        beta: shift, ``(channels,)``.
        moving_mean: state, ``(channels,)``.
        moving_var: state, ``(channels,)``.
        ndev: number of devices.
        key: name that the calls on all devices share.

    Returns:
        The normalized data; mean and variance with ``output_mean_var``.

    Source: MXNet operator ``_contrib_SyncBatchNorm``.
    """
    batch = training and not use_global_stats
    return _normalize(data, gamma, beta, (moving_mean, moving_var), batch, eps, momentum, fix_gamma)


def _own_statistics(data):
    """Mean and variance of a device's part of the batch, ``(2, channels)``."""
    return jnp.stack(_statistics(data, 1, jnp.promote_types(data.dtype, jnp.float32)))


def _pooled_statistics(arrays):
    """Mean and variance of all parts from those of each."""
    (own,) = arrays
    mean, var = own
    common = jax.lax.pmean(mean, AXIS)
    return (jnp.stack([common, jax.lax.pmean(var + jnp.square(mean - common), AXIS)]),)


def _normalize_by(
    data,
    gamma,
    beta,
    moving_mean,
    moving_var,
    pooled,
    *,
    eps: float,
    momentum: float,
    fix_gamma: bool,
    use_global_stats: bool,
    output_mean_var: bool,
    ndev: int,
    key: str,
    training,
):
    """What ``sync_batch_norm`` returns, from the statistics of all parts."""
    mean, var = pooled.astype(moving_mean.dtype)
    out = _scaled(data, gamma, beta, mean, var, eps, fix_gamma, 1)
    constant = jax.lax.stop_gradient
    new = _moved((moving_mean, moving_var), (mean, var), momentum)
    return out, constant(mean), constant(var), *new


@sync_batch_norm.set_over_devices(
    Op("_sync_batch_norm_statistics", _own_statistics),
    _pooled_statistics,
    Op("_sync_batch_norm_rest", _normalize_by, **_COMMON),
)
def _(ndev, key, use_global_stats, training):
    return (key, ndev) if training and not use_global_stats else None


@op("BatchNorm_v1", **_COMMON)
def batch_norm_v1(
    data,
    gamma,
    beta,
    moving_mean,
    moving_var,
    *,
    eps: NonNegative = 1e-3,
    momentum: Share = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    training,
):
    """The older ``BatchNorm``, with channels on axis 1.

    Args:
        data: ``(batch, channels, ...)``.
        gamma: scale, ``(channels,)``; counts as 1 with ``fix_gamma``.
        beta: shift, ``(channels,)``.
        moving_mean: state, ``(channels,)``.
        moving_var: state, ``(channels,)``.

    Returns:
        The normalized data; mean and variance with ``output_mean_var``.

    Source: MXNet operator ``BatchNorm_v1``.
    """
    batch = training and not use_global_stats
    return _normalize(data, gamma, beta, (moving_mean, moving_var), batch, eps, momentum, fix_gamma)


for _operator in (batch_norm, batch_norm_with_relu, sync_batch_norm, batch_norm_v1):
    _declare_shapes(_operator)
