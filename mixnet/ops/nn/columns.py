"""im2col and col2im: image windows as columns of a matrix, and their sum back into images."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import RankError, ShapeError
from mixnet.ops.nn.convolution import check_reach, spatial
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Extents, Kernel, Steps


def _columns(
    data: jax.Array,
    kernel: Sequence[int],
    stride: Any,
    dilate: Any,
    pad: Any,
) -> Any:
    axes = len(kernel)
    steps, dilates = spatial("stride", stride, axes, 1), spatial("dilate", dilate, axes, 1)
    pads = [(0, 0, 0)] * 2 + [(p, p, 0) for p in spatial("pad", pad, axes, 0)]
    data = jax.lax.pad(data, jnp.zeros((), data.dtype), pads)
    counts = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(data.shape[2:], kernel, steps, dilates, strict=True)
    ]
    # Each tap is a slice: a convolution that picks elements would multiply infinity by 0.
    taps = []
    for tap in itertools.product(*map(range, kernel)):
        first = [t * d for t, d in zip(tap, dilates, strict=True)]
        end = [f + s * (n - 1) + 1 for f, s, n in zip(first, steps, counts, strict=True)]
        window = jax.lax.slice(data, (0, 0, *first), (*data.shape[:2], *end), (1, 1, *steps))
        taps.append(window.reshape(*data.shape[:2], 1, math.prod(counts)))
    columns = jnp.concatenate(taps, 2)
    return columns.reshape(data.shape[0], data.shape[1] * len(taps), columns.shape[-1])


@op("im2col", floats=True, in_amp_lists=False)
def im2col(data, *, kernel: Kernel, stride: Steps = (), dilate: Steps = (), pad: Extents = ()):
    """The windows that a convolution reads, each as a column.

    Args:
        data: ``(batch, channels, *extents)``.

    Returns:
        ``(batch, channels * prod(kernel), windows)``.

    Raises:
        ShapeError: kernel and data differ in their number of spatial axes.

    Source: MXNet operator ``im2col``.
    """
    if data.ndim != len(kernel) + 2:
        raise RankError(
            f"im2col: data {data.shape} must have {len(kernel) + 2} axes for kernel {kernel}: "
            f"batch, channels and {len(kernel)} spatial."
        )
    check_reach("im2col", data.shape, data.shape[2:], kernel, dilate, pad)
    return _columns(data, kernel, stride, dilate, pad)


@op("col2im", floats=True, in_amp_lists=False)
def col2im(
    data,
    *,
    output_size: Steps,
    kernel: Kernel,
    stride: Steps = (),
    dilate: Steps = (),
    pad: Extents = (),
):
    """Columns added at the places that ``im2col`` takes them from: its transpose.

    Args:
        data: ``(batch, channels * prod(kernel), windows)``.
        output_size: the spatial extents of the images.

    Returns:
        ``(batch, channels, *output_size)``.

    Raises:
        ShapeError: the columns do not fit the attributes.

    Source: MXNet operator ``col2im``.
    """
    area = math.prod(kernel)
    if data.ndim != 3 or len(output_size) != len(kernel) or data.shape[1] % area:
        raise ShapeError(
            f"col2im: data {data.shape} must be (batch, channels * {area}, windows) for kernel "
            f"{kernel}, and output_size={output_size} have as many numbers as the kernel."
        )
    images = jax.ShapeDtypeStruct((data.shape[0], data.shape[1] // area, *output_size), data.dtype)

    def take(images: jax.Array) -> Any:
        return _columns(images, kernel, stride, dilate, pad)

    expected = jax.eval_shape(take, images).shape
    if expected != data.shape:
        raise ShapeError(
            f"col2im: data are {data.shape}, but output_size={output_size} and the kernel's "
            f"attributes need {expected}."
        )
    return jax.linear_transpose(take, images)(data)[0]
