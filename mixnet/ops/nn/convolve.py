"""XLA's convolution, in forms that XLA compiles well, forward and backward.

XLA's simplifier may let data and kernel change places. It leaves an axis alone that looks as if
it stood for groups: no padding, and a kernel of ``k`` elements on data spread ``k`` apart, read
in steps of ``k - 1``. A true axis can look the
same: kernel 2, stride 2 and pad 1 do in the gradient of a convolution's data and in the forward pass of a
transposed one. What the exchange makes then is no valid program, and the process ends. So such
axes get padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mixnet.ops.tracing.tensor_cores import of_convolutions

Pads = Sequence[tuple[int, int]]


def convolve(
    data: jax.Array,
    kernel: Any,
    stride: Sequence[int],
    pads: Pads,
    dilate: Sequence[int],
    order: tuple[str, str, str],
    groups: int = 1,
) -> Any:
    """Cross-correlation that can be compiled, and so can its gradients.

    Args:
        data: axes as the first word of ``order`` says, as in ``NCHW``.
        kernel: axes as the second word says, as in ``OIHW``.
        stride: one number for each spatial axis, as in all that follows.
        pads: before and after.
        dilate: distance between the elements of the kernel.
        order: axes of data, kernel and result, the spatial ones in the same order.
        groups: of channels.
    """
    spatial = [letter for letter in order[0] if letter not in "NC"]
    kernels = [kernel.shape[order[1].index(letter)] for letter in spatial]
    axes = [order[0].index(letter) for letter in spatial]
    data, pads = padded_for_gradient(data, axes, kernels, stride, pads, dilate)
    return lax.conv_general_dilated(
        data,
        kernel,
        stride,
        pads,
        rhs_dilation=dilate,
        dimension_numbers=order,
        feature_group_count=groups,
        precision=of_convolutions(),
    )


def padded_for_gradient(
    data: jax.Array,
    axes: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pads: Pads,
    dilate: Sequence[int],
) -> tuple[Any, Pads]:
    """Data, and the padding left to do, of a convolution whose data gradient has padding.

    Where the gradient would have none, the data is padded by a separate operation, which XLA merges with
    the convolution.

    Args:
        data: to be convolved.
        axes: its spatial axes.
        kernel: extents of the kernel, for each of them.
        stride: steps.
        pads: before and after.
        dilate: of the kernel.
    """
    widths, left = [(0, 0, 0)] * data.ndim, list(pads)
    for i, axis in enumerate(axes):
        before, after = pads[i]
        if (kernel[i], stride[i], dilate[i], before) == (2, 2, 1, 1):
            widths[axis], left[i] = (1, 0, 0), (0, after)
    if left != list(pads):
        data = lax.pad(data, jnp.zeros((), data.dtype), widths)
    return data, left


def convolve_spread(
    data: Any,
    kernel: Any,
    spread: Sequence[int],
    pads: Pads,
    dilate: Sequence[int],
    groups: int = 1,
) -> Any:
    """Cross-correlation of data with gaps between its elements; compiles, and so do its gradients.

    Args:
        data: ``(batch, channels, *extents)``.
        kernel: ``(filters, channels / groups, *kernel)``.
        spread: distance between the elements of the data, for each spatial axis.
        pads: before and after the spread data; negative ones leave out.
        dilate: distance between the elements of the kernel.
        groups: of channels.
    """
    more = [int(s > 1 and before == 0) for s, (before, _) in zip(spread, pads, strict=True)]
    out = lax.conv_general_dilated(
        data,
        kernel,
        (1,) * len(more),
        [(before + m, after) for (before, after), m in zip(pads, more, strict=True)],
        lhs_dilation=spread,
        rhs_dilation=dilate,
        feature_group_count=groups,
        precision=of_convolutions(),
    )
    return out[(..., *(slice(m, None) for m in more))] if any(more) else out
