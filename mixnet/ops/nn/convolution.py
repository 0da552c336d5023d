"""Convolution in one to three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import jax.numpy as jnp

from mixnet.base import RankError, ShapeError
from mixnet.ops.derive import with_attributes_of
from mixnet.ops.nn.convolve import convolve, convolve_spread
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Extents, Kernel, Long, Positive, Steps
from mixnet.ops.schema.integer_layers import Fusion, Quantization, plain_images
from mixnet.ops.schema.rewrites import Rewrites
from mixnet.ops.schema.shape_constraints import window

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def spatial(name: str, values: tuple[int, ...], count: int, default: int) -> tuple[int, ...]:
    """One number for each spatial axis; ``default`` if none are given.

    Raises:
        ShapeError: there are as many as no array of these axes has.
    """
    if not values:
        return (default,) * count
    if len(values) != count:
        raise ShapeError(f"{name} has {len(values)} numbers, but kernel has {count} axes.")
    return values


def check_reach(
    name: str,
    shape: Sequence[int],
    extents: Sequence[int],
    kernel: Sequence[int],
    dilate: tuple[int, ...],
    pad: tuple[int, ...],
) -> None:
    """Whether a kernel fits into data of that shape, with those extents, once it is padded.

    Raises:
        ShapeError: it does not.
    """
    axes = len(kernel)
    pads, dilates = spatial("pad", pad, axes, 0), spatial("dilate", dilate, axes, 1)
    for extent, size, p, d in zip(extents, kernel, pads, dilates, strict=True):
        reach = d * (size - 1) + 1
        if isinstance(extent, int) and reach > extent + 2 * p:  # a symbol is large enough
            raise ShapeError(
                f"{name}: kernel {kernel} reaches over {reach} elements, but data {shape} has "
                f"{extent + 2 * p} there, padding included. Use larger data, more padding or a smaller "
                f"kernel."
            )


Layout = Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"]


@op(
    "Convolution",
    integers=("int8",),
    one_dtype=True,
    recomputed="asked",
    rewrites=Rewrites(keeps_dtype=True),
    precision="low",
    shape_constraint=window,
    fusion=Fusion("convolution", plain_images),
    quantization=Quantization("_contrib_quantized_conv", True, sums=True, fits=plain_images),
    bfloat16="low",
    aliases=["_npx_convolution"],
    family="layer",
)
def convolution(
    data,
    weight,
    bias=None,
    *,
    kernel: Kernel,
    stride: Steps = (),
    dilate: Steps = (),
    pad: Extents = (),
    num_filter: Positive,
    num_group: Positive = 1,
    workspace: Long = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Layout | None = None,
):
    """Cross-correlation of every sample with ``num_filter`` kernels.

    Args:
        data: ``(batch, channels, *extents)``, one to three spatial axes.
        weight: ``(num_filter, channels / num_group, *kernel)``.
        bias: ``(num_filter,)``; left out when ``no_bias``.
        layout: one that ends in C puts channels last, in ``weight`` too.

    Returns:
        ``(batch, num_filter, *out)`` with
        ``out = (extent + 2 pad - dilate (kernel - 1) - 1) // stride + 1``.

    Source: MXNet operator ``Convolution``.
    """
    axes = len(kernel)
    if data.ndim != axes + 2:
        raise RankError(
            f"Convolution: data {data.shape} must have {axes + 2} axes for kernel {kernel}: "
            f"batch, channels and {axes} spatial."
        )
    expected = _weight_shape(data.shape, kernel, num_filter, num_group, layout)
    if weight.shape != expected:
        raise ShapeError(
            f"Convolution: weight is {weight.shape}, but data {data.shape}, num_filter="
            f"{num_filter}, num_group={num_group} and kernel {kernel} need {expected}: the channels of "
            f"the data are on axis {axes + 1 if _is_last(layout) else 1}."
        )
    pads, dilates = spatial("pad", pad, axes, 0), spatial("dilate", dilate, axes, 1)
    extents = data.shape[1:-1] if _is_last(layout) else data.shape[2:]
    check_reach("Convolution", data.shape, extents, kernel, dilate, pad)
    letters = _SPATIAL[axes]
    out = convolve(
        data,
        weight,
        spatial("stride", stride, axes, 1),
        [(p, p) for p in pads],
        dilates,
        _order(letters, layout),
        num_group,
    )
    if no_bias:
        return out
    return out + bias.reshape((-1,) if _is_last(layout) else (1, -1, *(1,) * axes))


def _is_last(layout: str | None) -> bool:
    """Whether channels are the last axis."""
    return layout is not None and layout.endswith("C")


def _order(letters: str, layout: str | None) -> tuple[str, str, str]:
    if _is_last(layout):
        return f"N{letters}C", f"O{letters}I", f"N{letters}C"
    return f"NC{letters}", f"OI{letters}", f"NC{letters}"


def _weight_shape(
    data: Any, kernel: Any, num_filter: int, num_group: int, layout: str | None
) -> tuple[int, ...]:
    channels = data[-1] if _is_last(layout) else data[1]
    check_groups("Convolution", channels, num_filter, num_group)
    if _is_last(layout):
        return (num_filter, *kernel, channels // num_group)
    return (num_filter, channels // num_group, *kernel)


def check_groups(name: str, channels: int, num_filter: int, num_group: int) -> None:
    """Whether channels and filters fall into groups of one size; 0 or less is not known yet.

    Raises:
        ShapeError: they do not.
    """
    if max(channels, 0) % num_group or num_filter % num_group:
        raise ShapeError(
            f"{name}: {channels} channels and {num_filter} filters cannot form {num_group} groups of one "
            f"size each; both must be multiples of num_group."
        )


@op("Convolution_v1", floats=True, one_dtype=True, precision="full")
@with_attributes_of(convolution, layout=Literal["NCDHW", "NCHW", "NDHWC", "NHWC"] | None)
def convolution_v1(data, weight, bias=None, **attributes: Any):
    """``Convolution`` under its former name.

    Args:
        data: ``(batch, channels, *extents)``.
        weight: ``(num_filter, channels / num_group, *kernel)``.
        bias: ``(num_filter,)``; left out when ``no_bias``.

    Source: MXNet operator ``Convolution_v1``.
    """
    return convolution.function(data, weight, bias, **attributes)


@convolution.infer_inputs
@convolution_v1.infer_inputs
def _(data, *, kernel, num_filter, num_group, layout):
    weight = _weight_shape(data, kernel, num_filter, num_group, layout)
    return {"weight": weight, "bias": (num_filter,)}


@convolution.set_flops(is_product=True)
@convolution_v1.set_flops(is_product=True)
def _(inputs, outputs):
    # A weight is (filters, channels of a group, kernel...): an element of the output reads one filter.
    return math.prod(outputs[0]) * (2 * math.prod(inputs[1][1:]) + (len(inputs) > 2))


@op("Deconvolution", floats=True, one_dtype=True, precision="low", aliases=["_npx_deconvolution"])
def deconvolution(
    data,
    weight,
    bias=None,
    *,
    kernel: Kernel,
    stride: Steps = (),
    dilate: Steps = (),
    pad: Extents = (),
    adj: Extents = (),
    target_shape: Extents | None = (),
    num_filter: Positive,
    num_group: Positive = 1,
    workspace: Long = 512,
    no_bias: bool = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Layout | None = None,
):
    """The gradient of a convolution with respect to its data, as an operator of its own.

    Args:
        data: ``(batch, channels, *extents)``.
        weight: ``(channels, num_filter / num_group, *kernel)``.
        bias: ``(num_filter,)``; left out when ``no_bias``.
        target_shape: extents of the result; ``pad`` and ``adj`` then follow from it.
        layout: one that ends in C puts channels last in ``data``, and filters last in ``weight``.

    Returns:
        ``(batch, num_filter, *out)`` with
        ``out = (extent - 1) stride + dilate (kernel - 1) + 1 - 2 pad + adj``, or ``target_shape``.

    Raises:
        ShapeError: data or weight have another shape, or ``target_shape`` or ``adj`` do not fit.

    Source: MXNet operator ``Deconvolution``.
    """
    axes = len(kernel)
    if data.ndim != axes + 2:
        raise RankError(
            f"Deconvolution: data {data.shape} must have {axes + 2} axes for kernel {kernel}: "
            f"batch, channels and {axes} spatial."
        )
    if _is_last(layout):
        data, weight = jnp.moveaxis(data, -1, 1), jnp.moveaxis(weight, -1, 1)
    expected = (data.shape[1], num_filter // num_group, *kernel)
    if weight.shape != expected:
        raise ShapeError(
            f"Deconvolution: weight is {weight.shape}, but {data.shape[1]} channels, num_filter="
            f"{num_filter}, num_group={num_group} and kernel {kernel} need {expected}, channels first."
        )
    strides = spatial("stride", stride, axes, 1)
    dilates = spatial("dilate", dilate, axes, 1)
    reach = [d * (k - 1) + 1 for d, k in zip(dilates, kernel, strict=True)]
    pads, adjs = spatial("pad", pad, axes, 0), spatial("adj", adj, axes, 0)
    if target_shape and any(target_shape):
        pads, adjs = pads_to_reach(data.shape[2:], kernel, stride, dilate, target_shape)
    if any(a >= s for a, s in zip(adjs, strides, strict=True)):
        raise ShapeError(f"Deconvolution: adj {adjs} must be below stride {strides} on every axis.")
    sizes = [
        (n - 1) * s + r - 2 * p + a
        for n, s, r, p, a in zip(data.shape[2:], strides, reach, pads, adjs, strict=True)
    ]
    if any(isinstance(each, int) and each < 1 for each in sizes):
        raise ShapeError(
            f"Deconvolution: pad {pads} leaves nothing of the result, of extents {sizes}; use less."
        )
    # The kernels as the transposed convolution reads them: flipped, and outputs before inputs.
    turned = jnp.flip(weight, range(2, 2 + axes))
    turned = turned.reshape(num_group, data.shape[1] // num_group, num_filter // num_group, *kernel)
    turned = jnp.swapaxes(turned, 1, 2).reshape(num_filter, data.shape[1] // num_group, *kernel)
    widths = [(r - 1 - p, r - 1 - p + a) for r, p, a in zip(reach, pads, adjs, strict=True)]
    out = convolve_spread(data, turned, strides, widths, dilates, num_group)
    out = out if no_bias else out + bias.reshape((1, -1, *(1,) * axes))
    return jnp.moveaxis(out, 1, -1) if _is_last(layout) else out


def pads_to_reach(
    extents: Sequence[int],
    kernel: Sequence[int],
    stride: tuple[int, ...],
    dilate: tuple[int, ...],
    target_shape: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """``pad`` and ``adj`` for which the result of a transposed convolution has ``target_shape``.

    Args:
        extents: of the data.
        kernel: its extents, for each spatial axis.
        stride: empty for 1.
        dilate: empty for 1.
        target_shape: extents of the result.

    Raises:
        ShapeError: the result is smaller even without padding.
    """
    axes = len(kernel)
    strides, dilates = spatial("stride", stride, axes, 1), spatial("dilate", dilate, axes, 1)
    spatial("target_shape", target_shape, axes, 0)
    total = [
        (n - 1) * s + d * (k - 1) + 1 - t
        for n, s, d, k, t in zip(extents, strides, dilates, kernel, target_shape, strict=True)
    ]
    if min(total) < 0:
        raise ShapeError(
            f"Deconvolution: target_shape={target_shape} is too large for data of extents "
            f"{tuple(extents)}; the result without padding is smaller by "
            f"{[-min(t, 0) for t in total]}."
        )
    return tuple((t + 1) // 2 for t in total), tuple(t % 2 for t in total)


@deconvolution.set_flops(is_product=True)
def _(inputs, outputs):
    bias = math.prod(outputs[0]) if len(inputs) > 2 else 0
    return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:]) + bias


@deconvolution.infer_inputs
def _(data, *, kernel, num_filter, num_group, layout):
    check_groups("Deconvolution", data[-1] if _is_last(layout) else data[1], num_filter, num_group)
    per_group = num_filter // num_group
    weight = (data[-1], *kernel, per_group) if _is_last(layout) else (data[1], per_group, *kernel)
    return {"weight": weight, "bias": (num_filter,)}
