"""Pooling over windows or over everything, and its opposite."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import ShapeError
from mixnet.ops.attributes import Shape
from mixnet.ops.convolution import spatial
from mixnet.ops.registry import op


@op("Pooling")
def pooling(
    data,
    *,
    kernel: Shape = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
):
    """The largest, mean, sum or p-norm of every window.

    Args:
        data: ``(batch, channels, *extents)``, one to three spatial axes.

    Returns:
        ``(batch, channels, *out)``; ``valid`` rounds the number of windows down, ``full`` up.

    Source: MXNet operator ``Pooling``.
    """
    if layout is not None and layout.endswith("C"):
        moved = jnp.moveaxis(data, -1, 1)
    else:
        moved = data
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
    if global_pool:
        kernel, stride, pad = data.shape[2:], (), ()
    elif len(kernel) != axes:
        raise ShapeError(
            f"Pooling: kernel {kernel} must have {axes} number(s) for data {data.shape}."
        )
    strides, pads = spatial("stride", stride, axes, 1), spatial("pad", pad, axes, 0)
    widths = [
        _padding(n, k, s, p, pooling_convention)
        for n, k, s, p in zip(data.shape[2:], kernel, strides, pads, strict=True)
    ]
    window = (1, 1, *kernel), (1, 1, *strides), ((0, 0), (0, 0), *widths)
    if pool_type == "max":
        floating = jnp.issubdtype(data.dtype, jnp.floating)
        lowest = -np.inf if floating else np.iinfo(data.dtype).min
        return jax.lax.reduce_window(data, np.array(lowest, data.dtype), jax.lax.max, *window)
    if pool_type == "lp":
        power = p_value or 2
        total = _sum(jnp.abs(data) ** power, window)
        return total ** (1 / power)
    total = _sum(data, window)
    if pool_type == "sum":
        return total
    return total / _counts(data, kernel, strides, pads, widths, count_include_pad)


def _padding(extent: int, kernel: int, stride: int, pad: int, convention: str) -> tuple[int, int]:
    """Elements before and after; ``full`` adds after what a last partial window needs."""
    if extent + 2 * pad < kernel:
        raise ShapeError(
            f"Pooling: kernel {kernel} is larger than the padded extent {extent + 2 * pad}."
        )
    if convention == "valid":
        return pad, pad
    windows = math.ceil((extent + 2 * pad - kernel) / stride) + 1
    return pad, max(pad, (windows - 1) * stride + kernel - extent - pad)


def _sum(data: Any, window: Any) -> Any:
    return jax.lax.reduce_window(data, np.zeros((), data.dtype), jax.lax.add, *window)


def _counts(
    data: Any, kernel: Any, strides: Any, pads: Any, widths: Any, include: bool | None
) -> Any:
    """Elements of each window that a mean counts: padding is counted unless told otherwise."""
    if include is None or include:
        # Only the padding asked for counts, not what a partial last window adds.
        inner = [n + 2 * p for n, p in zip(data.shape[2:], pads, strict=True)]
        ones = jnp.ones((1, 1, *inner), data.dtype)
        outer = [(0, w[1] - p) for w, p in zip(widths, pads, strict=True)]
    else:
        ones = jnp.ones((1, 1, *data.shape[2:]), data.dtype)
        outer = list(widths)
    return _sum(ones, ((1, 1, *kernel), (1, 1, *strides), ((0, 0), (0, 0), *outer)))


@op("UpSampling")
def upsampling(
    *data,
    scale: int,
    num_filter: int = 0,
    sample_type: Literal["nearest"] = "nearest",
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
):
    """Every element repeated ``scale`` times along height and width.

    Several arrays are enlarged to the size of the first and joined along channels, or summed.

    Source: MXNet operator ``UpSampling``.
    """
    height = data[0].shape[2] * scale
    parts = [
        jnp.repeat(jnp.repeat(each, height // each.shape[2], 2), height // each.shape[2], 3)
        for each in data
    ]
    return sum(parts[1:], parts[0]) if multi_input_mode == "sum" else jnp.concatenate(parts, 1)
