"""Deformable convolutions: a further input gives the sampling offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.derive import with_attributes_of
from mixnet.ops.nn.convolution import spatial
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Extents, Long, Pair, Positive, Steps

Layout = Literal["NCDHW", "NCHW", "NCW"]


def _extents(
    data: Any,
    kernel: Any,
    stride: Any,
    dilate: Any,
    pad: Any,
) -> tuple[int, ...]:
    """Height and width of the result."""
    sizes = (data[2:], kernel, _two(stride, 1), _two(dilate, 1), _two(pad, 0))
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in zip(*sizes, strict=True)
    )


def _two(value: Any, default: int) -> tuple[int, ...]:
    return spatial("stride, dilate or pad", value, 2, default)


def _shapes(
    data: Any,
    kernel: Any,
    stride: Any,
    dilate: Any,
    pad: Any,
    num_filter: int,
    num_group: int,
    num_deformable_group: int,
) -> dict[str, tuple[int, ...]]:
    """Shapes of the other inputs."""
    area = kernel[0] * kernel[1]
    out = _extents(data, kernel, stride, dilate, pad)
    return {
        "offset": (data[0], 2 * num_deformable_group * area, *out),
        "mask": (data[0], num_deformable_group * area, *out),
        "weight": (num_filter, data[1] // num_group, *kernel),
        "bias": (num_filter,),
    }


def _check(
    operator: str, data: jax.Array, kernel: Sequence[int], num_filter: int, groups: int, parts: int
) -> None:
    if len(kernel) != 2 or data.ndim != 4:
        raise ShapeError(
            f"{operator}: kernel {kernel} must be two numbers and data {data.shape} of four axes: "
            "batch, channels, height, width."
        )
    for name, count, total in (
        ("num_group", groups, num_filter),
        ("num_group", groups, data.shape[1]),
        ("num_deformable_group", parts, data.shape[1]),
    ):
        if count < 1 or total % count:
            raise OperatorValueError(
                f"{operator}: {name}={count} must divide num_filter={num_filter} and the "
                f"{data.shape[1]} channels of data."
            )


def _convolve(
    operator: str,
    data: Any,
    arrays: dict[str, Any],
    zeros_outside: bool,
    *,
    kernel: Any,
    stride: Any,
    dilate: Any,
    pad: Any,
    num_filter: int,
    num_group: int,
    num_deformable_group: int,
    no_bias: bool,
    **unused: Any,
) -> Any:
    """The convolution; ``zeros_outside`` fades to 0 within an element outside, else cut off."""
    groups, parts = num_group, num_deformable_group
    arrays = {**arrays, "bias": None if no_bias else arrays["bias"]}
    _check(operator, data, kernel, num_filter, groups, parts)
    expected = _shapes(data.shape, kernel, stride, dilate, pad, num_filter, groups, parts)
    _check_shapes(operator, data, arrays, expected)
    offset, weight, mask = arrays["offset"], arrays["weight"], arrays.get("mask")
    batch, channels = data.shape[:2]
    rows, columns = offset.shape[2:]
    area = kernel[0] * kernel[1]
    strides, dilates, pads = _two(stride, 1), _two(dilate, 1), _two(pad, 0)

    def places(axis: int, count: int) -> Any:
        """Where the undeformed kernel looks: ``(kernel, out)``."""
        taps = jnp.arange(kernel[axis], dtype=data.dtype) * dilates[axis]
        return taps[:, None] + jnp.arange(count, dtype=data.dtype) * strides[axis] - pads[axis]

    y = places(0, rows)[:, None, :, None]
    x = places(1, columns)[:, None, :]
    moves = offset.reshape(batch, parts, *kernel, 2, rows, columns)
    y, x = y + moves[:, :, :, :, 0], x + moves[:, :, :, :, 1]
    value = _sampled(data, y, x, parts, zeros_outside)
    if mask is not None:
        value = value * mask.reshape(batch, parts, 1, *kernel, rows, columns)
    value = value.reshape(batch, groups, channels // groups * area, rows, columns)
    return _filtered(value, weight, arrays["bias"])


def _check_shapes(
    operator: str, data: Any, arrays: dict[str, Any], expected: Mapping[str, tuple[int, ...]]
) -> None:
    for name, each in arrays.items():
        if each is not None and each.shape != expected[name]:
            raise ShapeError(
                f"{operator}: {name} is {each.shape}, but data {data.shape} with these attributes "
                f"needs {expected[name]}."
            )


def _sampled(data: Any, y: Any, x: Any, parts: int, zeros_outside: bool) -> Any:
    """``data`` interpolated at ``(y, x)``, which are ``(batch, parts, *kernel, rows, columns)``.

    Returns ``(batch, parts, channels of a part, *kernel, rows, columns)``.
    """
    batch, channels, height, width = data.shape
    if zeros_outside:
        inside = (y > -1) & (y < height) & (x > -1) & (x < width)
        edges, mode = ((0, 0), (0, 0), (1, 1), (1, 1)), "constant"
        y, x = y + 1, x + 1
    else:
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        edges, mode = ((0, 0), (0, 0), (0, 1), (0, 1)), "edge"
    features = jnp.pad(data, edges, mode=mode).reshape(batch, parts, channels // parts, -1)
    across = width + (2 if zeros_outside else 1)
    # A place outside gives 0 whatever it is, but must stay in range: gradients would be NaN.
    y, x = jnp.where(inside, y, 0), jnp.where(inside, x, 0)
    top, left = (jax.lax.stop_gradient(jnp.floor(each)) for each in (y, x))
    down, right = (y - top)[:, :, None], (x - left)[:, :, None]
    corner = top.astype(jnp.int32) * across + left.astype(jnp.int32)

    def at(shift: int) -> Any:
        return jax.vmap(jax.vmap(lambda flat, place: flat[:, place]))(features, corner + shift)

    upper = at(0) * (1 - right) + at(1) * right
    lower = at(across) * (1 - right) + at(across + 1) * right
    return jnp.where(inside[:, :, None], upper * (1 - down) + lower * down, 0)


def _filtered(value: jax.Array, weight: jax.Array, bias: jax.Array | None) -> Any:
    """The products of sampled values ``(batch, groups, taps, rows, columns)`` with the filters
    of each group.
    """
    batch, groups, _, rows, columns = value.shape
    filters = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = jnp.einsum("ngkhw,gfk->ngfhw", value, filters)
    out = out.reshape(batch, weight.shape[0], rows, columns)
    return out if bias is None else out + bias.reshape(1, -1, 1, 1)


@op("_contrib_DeformableConvolution", floats=True, one_dtype=True, precision="full")
def deformable_convolution(
    data,
    offset,
    weight,
    bias=None,
    *,
    kernel: Pair,
    stride: Steps = (),
    dilate: Steps = (),
    pad: Extents = (),
    num_filter: Positive,
    num_group: Positive = 1,
    num_deformable_group: Positive = 1,
    workspace: Long = 1024,
    no_bias: bool = False,
    layout: Layout | None = None,
):
    """A convolution over an image whose kernel reads, at every position, from places moved by ``offset``.

    Args:
        data: ``(batch, channels, height, width)``.
        offset: moves down and across, in elements, for every element of the kernel at every position:
            ``(batch, num_deformable_group * rows * columns of the kernel * 2, *out)``.
        weight: ``(num_filter, channels / num_group, *kernel)``.
        bias: ``(num_filter,)``; left out when ``no_bias``.
        num_deformable_group: groups of channels with offsets of their own.

    Returns:
        ``(batch, num_filter, *out)``; the image is 0 outside.

    Raises:
        AttributeValueError: the groups do not divide the channels.
        ShapeError: shapes do not fit together.

    Source: MXNet operator ``_contrib_DeformableConvolution``.
    """
    arrays = {"offset": offset, "weight": weight, "bias": bias}
    return _convolve(
        "_contrib_DeformableConvolution",
        data,
        arrays,
        False,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=pad,
        num_filter=num_filter,
        num_group=num_group,
        num_deformable_group=num_deformable_group,
        no_bias=no_bias,
    )


@op("_contrib_ModulatedDeformableConvolution", floats=True, one_dtype=True, in_amp_lists=False)
@with_attributes_of(deformable_convolution, before="layout")
def modulated_deformable_convolution(
    data, offset, mask, weight, bias=None, *, im2col_step: Positive = 64, **attributes: Any
):
    """A deformable convolution in which every sample has a weight of its own.

    Args:
        data: ``(batch, channels, height, width)``.
        offset: as in ``_contrib_DeformableConvolution``.
        mask: weight of every sample, half as many channels as ``offset``.
        weight: ``(num_filter, channels / num_group, *kernel)``.
        bias: ``(num_filter,)``; left out when ``no_bias``.
        num_deformable_group: groups of channels with offsets of their own.

    Returns:
        ``(batch, num_filter, *out)``; within an element outside the image fades to 0.

    Raises:
        AttributeValueError: the groups do not divide the channels.
        ShapeError: shapes do not fit together.

    Source: MXNet operator ``_contrib_ModulatedDeformableConvolution``.
    """
    arrays = {"offset": offset, "mask": mask, "weight": weight, "bias": bias}
    return _convolve("_contrib_ModulatedDeformableConvolution", data, arrays, True, **attributes)


for _operator in (deformable_convolution, modulated_deformable_convolution):

    @_operator.infer_inputs
    def _(data, *, kernel, stride, dilate, pad, num_filter, num_group, num_deformable_group):
        return _shapes(
            data, kernel, stride, dilate, pad, num_filter, num_group, num_deformable_group
        )
