"""Pooling over windows or globally, and unpooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import core

from mixnet.base import OperatorValueError, RankError, ShapeError
from mixnet.ops.nn.convolution import deconvolution, spatial
from mixnet.ops.nn.resample import Taps, along
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Extents, Long, Positive, Steps
from mixnet.ops.schema.integer_layers import Quantization, pools
from mixnet.ops.schema.rewrites import Rewrites


@op(
    "Pooling",
    floats=True,
    rewrites=Rewrites(keeps_dtype=True),
    quantization=Quantization("_contrib_quantized_pooling", fits=pools),
    bfloat16="any",
    aliases=["_npx_pooling"],
    family="pooling",
)
def pooling(
    data,
    *,
    kernel: Steps = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Steps = (),
    pad: Extents = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
):
    """The largest, mean, sum or p-norm of every window.

    Args:
        data: ``(batch, channels, *extents)``, one to three spatial axes.
        p_value: 1, 2 or 3 for "lp": the root of the sum of powers, signs kept.

    Returns:
        ``(batch, channels, *out)``; ``valid`` rounds the number of windows down, ``full`` up.

    Raises:
        ShapeError: the kernel does not fit the data.
        AttributeValueError: "lp" with another ``p_value``.

    Source: MXNet operator ``Pooling``.
    """
    moved = jnp.moveaxis(data, -1, 1) if layout is not None and layout.endswith("C") else data
    out = _pool(
        moved,
        kernel,
        pool_type,
        global_pool,
        pooling_convention,
        stride,
        pad,
        p_value,
        count_include_pad,
    )
    return out if moved is data else jnp.moveaxis(out, 1, -1)


def _pool(
    data: Any,
    kernel: Any,
    pool_type: str,
    global_pool: bool,
    pooling_convention: str,
    stride: Any,
    pad: Any,
    p_value: int | None,
    count_include_pad: bool | None,
) -> Any:
    axes = data.ndim - 2
    if not 1 <= axes <= 3:
        raise RankError(
            f"Pooling: data {data.shape} must have three to five axes: batch, channels and one to three "
            f"spatial."
        )
    if global_pool:
        kernel, stride, pad = data.shape[2:], (), ()
    elif len(kernel) != axes:
        raise RankError(
            f"Pooling: kernel {kernel} has {len(kernel)} number(s), so data must have "
            f"{len(kernel) + 2} axes, batch, channels and {len(kernel)} spatial, not {data.shape}."
        )
    # MXNet reads as many numbers as there are axes; programs give four for two.
    strides = spatial("stride", stride[:axes], axes, 1)
    pads = spatial("pad", pad[:axes], axes, 0)
    if pool_type in ("max", "avg") and any(p >= k for p, k in zip(pads, kernel, strict=True)):
        raise ShapeError(
            f"Pooling: pad {pads} must be smaller than kernel {tuple(kernel)} on every axis, or windows "
            f"would hold nothing but padding."
        )
    widths = window_widths(data.shape[2:], kernel, strides, pads, pooling_convention)
    window = (1, 1, *kernel), (1, 1, *strides), ((0, 0), (0, 0), *widths)
    if pool_type == "max":
        floating = jnp.issubdtype(data.dtype, jnp.floating)
        lowest = -np.inf if floating else np.iinfo(data.dtype).min
        out = jax.lax.reduce_window(data, np.array(lowest, data.dtype), jax.lax.max, *window)
        if floating and pooling_convention == "full":
            # A window of nothing but padding has the least finite number in MXNet.
            return jnp.maximum(out, jnp.finfo(data.dtype).min)
        return out
    if pool_type == "lp":
        if p_value not in _ROOTS:
            raise OperatorValueError(f"Pooling: p_value={p_value} must be 1, 2 or 3 for 'lp'.")
        return _ROOTS[p_value](_sum(data**p_value, window))
    total = _sum(data, window)
    if pool_type == "sum":
        return total
    counts = _counts(data, kernel, strides, pads, widths, count_include_pad)
    return total / jnp.maximum(counts, 1)


def _square_root(total: jax.Array) -> Any:
    """With the slope 0 instead of infinite at 0."""
    positive = jnp.where(total > 0, total, 1)
    return jnp.where(total > 0, jnp.sqrt(positive), 0)


_ROOTS: dict[int | None, Any] = {1: lambda total: total, 2: _square_root, 3: jnp.cbrt}


def window_widths(
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    convention: str,
) -> tuple[tuple[int, int], ...]:
    """Padding before and after, for each spatial axis.

    Raises:
        ShapeError: the kernel does not fit.
    """
    # An extent that is a symbol is large enough.
    known = [each for each in zip(extents, kernel, pads, strict=True) if isinstance(each[0], int)]
    if any(extent + 2 * pad < size for extent, size, pad in known):
        raise ShapeError(
            f"Pooling: kernel {tuple(kernel)} is larger than the extents {tuple(extents)} of the data with "
            f"pad {tuple(pads)}. Give larger data, smaller kernels, or fewer layers before."
        )
    return tuple(
        _padding(n, k, s, p, convention)
        for n, k, s, p in zip(extents, kernel, strides, pads, strict=True)
    )


def _padding(extent: int, kernel: int, stride: int, pad: int, convention: str) -> tuple[int, int]:
    """Elements before and after; ``full`` adds after what a last partial window needs."""
    if convention == "valid":
        return pad, pad
    windows = -(-(extent + 2 * pad - kernel) // stride) + 1
    return pad, core.max_dim(pad, (windows - 1) * stride + kernel - extent - pad)


def _sum(data: Any, window: Any) -> Any:
    return jax.lax.reduce_window(data, np.zeros((), data.dtype), jax.lax.add, *window)


def _counts(
    data: jax.Array,
    kernel: Any,
    strides: Any,
    pads: Any,
    widths: Any,
    include: bool | None,
) -> Any:
    """Elements of each window that a mean counts: padding counts by default."""
    if include is None or include:
        # Only the padding asked for counts, not what a partial last window adds.
        inner = [n + 2 * p for n, p in zip(data.shape[2:], pads, strict=True)]
        ones = jnp.ones((1, 1, *inner), data.dtype)
        outer = [(0, w[1] - p) for w, p in zip(widths, pads, strict=True)]
    else:
        ones = jnp.ones((1, 1, *data.shape[2:]), data.dtype)
        outer = list(widths)
    return _sum(ones, ((1, 1, *kernel), (1, 1, *strides), ((0, 0), (0, 0), *outer)))


@pooling.set_flops()
def _(inputs, outputs, kernel, global_pool):
    if global_pool or not kernel:
        return math.prod(inputs[0])
    return math.prod(outputs[0]) * math.prod(kernel)


@op("Pooling_v1", floats=True)
def pooling_v1(
    data,
    *,
    kernel: Steps = (),
    pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["full", "valid"] = "valid",
    stride: Steps = (),
    pad: Extents = (),
):
    """The older ``Pooling``: padding counts as 0 in a maximum, and always in a mean.

    Args:
        data: ``(batch, channels, height, width)``.

    Raises:
        ShapeError: the kernel does not fit the data.

    Source: MXNet operator ``Pooling_v1``.
    """
    if data.ndim != 4:
        raise RankError(
            f"Pooling_v1: data {data.shape} must have the axes (batch, channels, height, width); "
            f"Pooling takes one to three spatial axes."
        )
    if global_pool:
        kernel, stride, pad = data.shape[2:], (), ()
    pads = spatial("pad", pad, 2, 0)
    inner = jnp.pad(data, ((0, 0), (0, 0), *((p, p) for p in pads)))
    if pool_type == "avg":
        total = _pool(inner, kernel, "sum", False, pooling_convention, stride, (), None, None)
        return total / math.prod(kernel)
    out = _pool(inner, kernel, pool_type, False, pooling_convention, stride, (), None, None)
    # Windows that lie beyond the padding have nothing, which counts as 0 too.
    return jnp.where(out == jnp.finfo(data.dtype).min, 0, out) if pool_type == "max" else out


def _equal_windows(extent: int, out: int) -> Taps:
    """Means over ``out`` windows that cover an axis; they overlap where it does not divide."""
    start = np.arange(out) * extent // out
    stop = -(-np.arange(1, out + 1) * extent // out)
    index = start[:, None] + np.arange((stop - start).max())
    weight = (index < stop[:, None]) / (stop - start)[:, None]
    return Taps(np.minimum(index, extent - 1).astype(np.int32), weight)


@op("_contrib_AdaptiveAvgPooling2D", floats=True)
def adaptive_avg_pooling(data, *, output_size: Extents | None = ()):
    """Means over as many windows as the output has elements.

    Args:
        data: ``(batch, channels, height, width)``.
        output_size: height and width, or one number for both; 1 by default.

    Raises:
        ShapeError: the data have other axes.
        AttributeValueError: the size is not one or two numbers above 0.

    Source: MXNet operator ``_contrib_AdaptiveAvgPooling2D``.
    """
    if data.ndim != 4:
        raise RankError(
            f"_contrib_AdaptiveAvgPooling2D: data {data.shape} must have the axes (batch, "
            f"channels, height, width)."
        )
    size = output_size or (1,)
    size = size * 2 if len(size) == 1 else size
    if len(size) != 2 or min(size) < 1:
        raise OperatorValueError(
            f"_contrib_AdaptiveAvgPooling2D: output_size={output_size} must be one number or "
            f"(height, width), above 0."
        )
    for axis, out in zip((2, 3), size, strict=True):
        data = along(data, axis, _equal_windows(data.shape[axis], out))
    return data


def _upsampling_arguments(sample_type: str) -> tuple[str, ...]:
    return ("data", "weight") if sample_type == "bilinear" else ()


def _bilinear_kernel(scale: int) -> tuple[int, int]:
    """Extent and padding of the transposed convolution that enlarges ``scale`` times."""
    return 2 * scale - scale % 2, math.ceil((scale - 1) / 2)


@op(
    "UpSampling",
    floats=True,
    arguments=_upsampling_arguments,
    initializers={"weight": '["bilinear", {}]'},
)
def upsampling(
    *data,
    scale: Positive,
    num_filter: int = 0,
    sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: Long = 512,
):
    """Height and width ``scale`` times as large.

    "nearest" repeats every element; several arrays are enlarged to the size of the first and
    joined along channels, or summed. "bilinear" takes the data and a weight, and is a transposed
    convolution of each channel by its own: linear interpolation where the weight says so (the
    initializer ``Bilinear``).

    Args:
        data: ``(batch, channels, height, width)`` each; the weight of "bilinear" is
            ``(channels, 1, k, k)`` with ``k = 2 scale - scale % 2``.
        num_filter: the number of channels, for "bilinear".

    Raises:
        ShapeError: "bilinear" without data and weight.
        AttributeValueError: ``num_filter`` is not the number of channels.

    Source: MXNet operator ``UpSampling``.
    """
    if sample_type == "bilinear":
        return _upsampling_bilinear(data, scale, num_filter)
    height = data[0].shape[2] * scale
    parts = [
        jnp.repeat(jnp.repeat(each, height // each.shape[2], 2), height // each.shape[2], 3)
        for each in data
    ]
    return sum(parts[1:], parts[0]) if multi_input_mode == "sum" else jnp.concatenate(parts, 1)


def _upsampling_bilinear(arrays: Any, scale: int, num_filter: int) -> Any:
    if len(arrays) != 2:
        raise ShapeError(
            f"UpSampling: sample_type='bilinear' takes data and weight, not {len(arrays)} array(s)."
        )
    data, weight = arrays
    if num_filter != data.shape[1]:
        raise OperatorValueError(
            f"UpSampling: num_filter={num_filter} must be the number of channels of data "
            f"{data.shape} for sample_type='bilinear'."
        )
    extent, pad = _bilinear_kernel(scale)
    return deconvolution.function(
        data,
        weight,
        kernel=(extent, extent),
        stride=(scale, scale),
        pad=(pad, pad),
        num_filter=num_filter,
        num_group=num_filter,
    )


@upsampling.infer_inputs
def _(data, *, scale, num_filter):
    extent, _ = _bilinear_kernel(scale)
    return {"weight": (num_filter, 1, extent, extent)}
