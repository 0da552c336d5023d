"""Grouped convolutions on CPUs, where XLA's own implementation works element by element.

Channels are the last axis of data and result; there may be one to three spatial axes. Two ways:

* *Blocks.* Neighbouring groups form blocks of some thirty channels. The kernels of a block become one
  dense kernel, zero where a filter does not read a channel, for which XLA has a fast convolution.
* *Taps.* With one channel a group, each element of the kernel is one product of shifted data with a
  vector, and all of them are one loop over the result.

Both are linear, so their gradients are transposes of them, which XLA computes as fast; except the
weights' gradient by taps, which would be one pass over the data for each element of the kernel. It
goes from sample to sample.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mixnet.ops.lowering.lowering import Lowering
from mixnet.ops.lowering.order import (
    data_as_called,
    data_to_last,
    weight_as_called,
    weight_to_first,
)
from mixnet.ops.nn.convolve import Pads, convolve

_BLOCK = 32
"""Channels of a block, or filters, whichever is more: enough for XLA's dense convolution to be fast."""
_MOST_BLOCKS = 16
"""Each block costs the compiler a convolution, so of many channels a block has more."""
_LEAST_FACTOR = 10
"""Of time for a multiplication, measured: 12 GFLOP/s in blocks where a dense convolution has 120."""
_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def convolution(
    data: jax.Array,
    weight: jax.Array,
    *,
    stride: Sequence[int],
    dilate: Sequence[int],
    pads: Pads,
    groups: int,
) -> Any:
    """Cross-correlation of ``(batch, *extents, channels)`` with kernels, in groups of channels.

    Args:
        data: channels last.
        weight: ``(filters, channels / groups, *kernel)``.
        stride: one number for each spatial axis, as in all that follows.
        dilate: distance between the elements of the kernel.
        pads: zeros before and after.
        groups: at least two.

    Returns:
        ``(batch, *out, filters)``.
    """
    if weight.shape[1] == 1:
        return _by_taps(data, weight, stride, dilate, pads, groups)
    return _in_blocks(data, weight, stride, dilate, pads, groups)


def data_gradient(
    head: jax.Array,
    weight: jax.Array,
    *,
    extents: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pads: Pads,
    groups: int,
) -> Any:
    """Gradient of the data, ``(batch, *extents, channels)``, from the result's."""
    shape = (head.shape[0], *extents, weight.shape[1] * groups)
    (gradient,) = jax.linear_transpose(
        lambda data: convolution(
            data, weight, stride=stride, dilate=dilate, pads=pads, groups=groups
        ),
        jax.ShapeDtypeStruct(shape, head.dtype),
    )(head)
    return gradient


def weight_gradient(
    head: jax.Array,
    data: jax.Array,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pads: Pads,
    groups: int,
) -> Any:
    """Gradient of the weight, ``(filters, channels / groups, *kernel)``, from the result's."""
    filters, channels = head.shape[-1], data.shape[-1]
    if channels == groups:
        return _weight_gradient_by_samples(head, data, kernel, stride, dilate, pads)
    shape = (filters, channels // groups, *kernel)
    (gradient,) = jax.linear_transpose(
        lambda weight: _in_blocks(data, weight, stride, dilate, pads, groups),
        jax.ShapeDtypeStruct(shape, head.dtype),
    )(head)
    return gradient


def work_factor(channels: int, groups: int) -> int:
    """By how much more multiplications of a convolution cost XLA where its channels are in groups.

    Args:
        channels: of the data.
        groups: 1 for a dense convolution, whose factor is 1.
    """
    return 1 if groups == 1 else max(_LEAST_FACTOR, _BLOCK * groups // channels)


# ---- in the layout of the operator --------------------------------------------------------------


def convolution_as_written(
    data: jax.Array,
    weight: jax.Array,
    *bias: jax.Array,
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    groups: int,
    channels_last: bool,
) -> Any:
    """The operator ``Convolution`` with groups, for any number of spatial axes.

    Args:
        data: ``(batch, channels, *extents)``.
        weight: ``(filters, channels / groups, *kernel)``.
        bias: none, or ``(filters,)``.
        channels_last: channels are the last axis of data, weight and result instead.
    """
    data, weight = data_to_last(data, channels_last), weight_to_first(weight, channels_last)
    pads = [(p, p) for p in pad]
    out = convolution(data, weight, stride=stride, dilate=dilate, pads=pads, groups=groups)
    for each in bias:
        out = out + each
    return data_as_called(out, channels_last)


def gradients_as_written(
    head: jax.Array,
    data: jax.Array,
    weight: jax.Array,
    *,
    wrt: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    groups: int,
    channels_last: bool,
) -> tuple[Any, ...]:
    """Gradients of data, weight and bias (0 to 2), those of ``wrt``, in the operator's layout."""
    head, data = data_to_last(head, channels_last), data_to_last(data, channels_last)
    weight = weight_to_first(weight, channels_last)
    window: dict[str, Any] = {"stride": stride, "dilate": dilate, "groups": groups}
    window["pads"] = [(p, p) for p in pad]
    results = []
    for position in wrt:
        if position == 0:
            gradient = data_gradient(head, weight, extents=data.shape[1:-1], **window)
            results.append(data_as_called(gradient, channels_last))
        elif position == 1:
            gradient = weight_gradient(head, data, kernel=weight.shape[2:], **window)
            results.append(weight_as_called(gradient, channels_last))
        else:
            results.append(jnp.sum(head, range(head.ndim - 1)))
    return tuple(results)


# ---- blocks -------------------------------------------------------------------------------------


def _groups_of_block(channels: int, filters: int, groups: int) -> int:
    """How many groups form a block; the last block may have fewer."""
    widest = max(channels, filters)
    width = max(_BLOCK, -(-widest // _MOST_BLOCKS))
    return max(1, min(groups, width * groups // widest))


def _in_blocks(
    data: jax.Array,
    weight: jax.Array,
    stride: Sequence[int],
    dilate: Sequence[int],
    pads: Pads,
    groups: int,
) -> Any:
    filters, channels = weight.shape[:2]
    each = filters // groups
    together = _groups_of_block(data.shape[-1], filters, groups)
    letters = _LETTERS[weight.ndim - 2]
    order = (f"N{letters}C", f"OI{letters}", f"N{letters}C")
    results = []
    for first in range(0, groups, together):
        last = min(groups, first + together)
        part = data[..., first * channels : last * channels]
        kernel = _dense(weight[first * each : last * each], last - first)
        results.append(convolve(part, kernel, stride, pads, dilate, order))
    return jnp.concatenate(results, -1)


def _dense(weight: jax.Array, groups: int) -> Any:
    """Kernels in groups as kernels of one convolution, ``(filters, all channels, *kernel)``."""
    if groups == 1:
        return weight
    filters, channels, *kernel = weight.shape
    grouped = weight.reshape(groups, filters // groups, 1, channels, *kernel)
    own = jnp.eye(groups, dtype=weight.dtype).reshape(groups, 1, groups, 1, *(1,) * len(kernel))
    return (grouped * own).reshape(filters, groups * channels, *kernel)


# ---- taps ---------------------------------------------------------------------------------------


def _met(
    data: jax.Array,
    taps: Sequence[int],
    places: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
) -> Iterator[Any]:
    """For each element of the kernel the data that it meets: ``(..., *places, channels)``.

    The data is padded; its last ``len(taps) + 1`` axes are the spatial ones and the channels.
    """
    for tap in itertools.product(*map(range, taps)):
        key = tuple(
            slice(t * d, t * d + (p - 1) * s + 1, s)
            for t, d, p, s in zip(tap, dilate, places, stride, strict=True)
        )
        yield data[(..., *key, slice(None))]


def _by_taps(
    data: jax.Array,
    weight: jax.Array,
    stride: Sequence[int],
    dilate: Sequence[int],
    pads: Pads,
    groups: int,
) -> Any:
    filters, _, *kernel = weight.shape
    each = filters // groups
    places = [
        (n + sum(p) - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(data.shape[1:-1], pads, dilate, kernel, stride, strict=True)
    ]
    data = jnp.repeat(_padded(data, pads), each, -1) if each > 1 else _padded(data, pads)
    factors = weight.reshape(filters, math.prod(kernel))
    total = None
    for i, part in enumerate(_met(data, kernel, places, stride, dilate)):
        product = part * factors[:, i]
        total = product if total is None else total + product
    return total


def _padded(data: jax.Array, pads: Pads) -> Any:
    widths = [(0, 0, 0), *((before, after, 0) for before, after in pads), (0, 0, 0)]
    return lax.pad(data, jnp.zeros((), data.dtype), widths) if any(map(any, widths)) else data


def _weight_gradient_by_samples(
    head: jax.Array,
    data: jax.Array,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pads: Pads,
) -> Any:
    """Products of one sample after the other added up, place by place; then the places."""
    filters, channels = head.shape[-1], data.shape[-1]
    places, wide = head.shape[1:-1], jnp.promote_types(head.dtype, jnp.float32)
    data = _padded(data, pads)

    def add(i: Any, totals: list[Any]) -> list[Any]:
        sample = lax.dynamic_index_in_dim(data, i, 0, keepdims=False)
        sample_head = lax.dynamic_index_in_dim(head, i, 0, keepdims=False).astype(wide)
        sample = jnp.repeat(sample, filters // channels, -1).astype(wide)
        parts = _met(sample, kernel, places, stride, dilate)
        return [total + part * sample_head for total, part in zip(totals, parts, strict=True)]

    zeros = [jnp.zeros((*places, filters), wide)] * math.prod(kernel)
    totals = lax.fori_loop(0, head.shape[0], add, zeros)
    sums = [jnp.sum(total, range(len(places))) for total in totals]
    return jnp.stack(sums, -1).reshape(filters, 1, *kernel).astype(head.dtype)


CONVOLUTION = Lowering("Convolution_grouped", convolution_as_written)
GRADIENTS = Lowering("Convolution_grouped_gradients", gradients_as_written)
