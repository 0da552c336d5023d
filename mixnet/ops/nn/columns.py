"""im2col and col2im: image windows as columns of a matrix, and their sum back into images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax

from mixnet.base import ShapeError
from mixnet.ops.nn.convolution import check_reach, spatial
from mixnet.ops.nn.convolve import Pads, padded_for_gradient
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
    pads: Pads = [(p, p) for p in spatial("pad", pad, axes, 0)]
    data, pads = padded_for_gradient(data, range(2, 2 + axes), kernel, steps, pads, dilates)
    patches = jax.lax.conv_general_dilated_patches(
        data,
        kernel,
        steps,
        pads,
        rhs_dilation=dilates,
        precision=jax.lax.Precision.HIGHEST,
    )
    return patches.reshape(*patches.shape[:2], -1)


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
        raise ShapeError(
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
