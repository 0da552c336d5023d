"""Two-dimensional convolution with channels last, and its gradients.

Weights keep MXNet's order, ``(filters, channels / groups, height, width)``. ``method`` says who
computes: ``onednn`` (see ``onednn.py``), ``dot`` (a matrix product, for kernels of one element),
``grouped`` (see ``grouped.py``, for channels in groups), ``columns`` (matrix products whose results
are added up, for gradients and groups with long strides) or ``xla`` (XLA's own convolution).

A transposed convolution is the gradient of a convolution's data. Its own gradients are that
convolution and the gradient of its weight, with data and result exchanged.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mixnet.ops.lowering import grouped, onednn
from mixnet.ops.lowering.lowering import Lowering, not_inlined
from mixnet.ops.nn.convolve import convolve

Pair = tuple[int, int]
ORDER = ("NHWC", "OIHW", "NHWC")
ORDER_IN_PLACE = ("NHWC", "HWIO", "NHWC")


def convolution(
    data: jax.Array,
    weight: jax.Array,
    *operands: jax.Array,
    stride: Pair,
    dilate: Pair,
    pad: Pair,
    groups: int = 1,
    method: str = "xla",
    fusions: Sequence[str] = (),
) -> Any:
    """Cross-correlation of ``(batch, height, width, channels)`` with kernels.

    Args:
        data: channels last.
        weight: ``(filters, channels / groups, height, width)``.
        operands: what ``fusions`` read, in their order.
        fusions: ``BIAS`` adds ``(filters,)``, ``BINARY_ADD`` an array of the result's shape,
            ``RELU`` sets what is negative to 0.
    """
    pads = [(p, p) for p in pad]
    if method == "onednn":
        return onednn.convolution(
            data,
            weight,
            *operands,
            stride=stride,
            dilate=dilate,
            pads=pads,
            groups=groups,
            fusions=fusions,
        )
    if method == "dot":
        data = data[:, :: stride[0], :: stride[1], :]
        out = jnp.tensordot(data, weight[:, :, 0, 0], ((3,), (1,)))
    elif method == "grouped":
        out = grouped.convolution(
            data, weight, stride=stride, dilate=dilate, pads=pads, groups=groups
        )
    elif method == "columns":
        out = _by_columns(data, weight, stride, pad, groups)
    else:
        out = _xla(data, weight, stride, dilate, pads)
    pending = iter(operands)
    for each in fusions:
        out = jax.nn.relu(out) if each == "RELU" else out + next(pending)
    return out


def _xla(data: Any, weight: Any, stride: Pair, dilate: Pair, pads: Sequence[Pair]) -> Any:
    return convolve(data, weight, stride, pads, dilate, ORDER)


def data_gradient(
    head: jax.Array,
    weight: jax.Array,
    *,
    extents: Pair,
    stride: Pair,
    dilate: Pair,
    pad: Pair,
    groups: int = 1,
    method: str = "xla",
) -> Any:
    """Gradient of the data, ``(batch, *extents, channels)``, from the result's.

    It is a convolution of ``head`` with the kernels turned around. With a stride, every residue of
    an output's place modulo the stride meets other elements of the kernel: one small convolution
    for each, whose results are interleaved, rather than one over a ``head`` widened by zeros.
    """
    if method == "onednn":
        return _gradient_by_phases(head, weight, extents, stride, dilate, pad, groups)
    if method == "columns":
        return _gradient_by_columns(head, weight, extents, stride, pad, groups)
    if method == "dot":
        out = jnp.tensordot(head, weight[:, :, 0, 0], ((3,), (0,)))
        widths = [
            (0, n - (o - 1) * s - 1, s - 1)
            for n, o, s in zip(extents, head.shape[1:3], stride, strict=True)
        ]
        return lax.pad(out, jnp.zeros((), out.dtype), ((0, 0, 0), *widths, (0, 0, 0)))
    pads = [(p, p) for p in pad]
    if method == "grouped":
        return grouped.data_gradient(
            head, weight, extents=extents, stride=stride, dilate=dilate, pads=pads, groups=groups
        )
    shape = (head.shape[0], *extents, weight.shape[1])
    (gradient,) = jax.linear_transpose(
        lambda data: _xla(data, weight, stride, dilate, pads),
        jax.ShapeDtypeStruct(shape, head.dtype),
    )(head)
    return gradient


def data_gradient_method(method: str, window: Mapping[str, Any], extents: Sequence[int]) -> str:
    """The fastest method for the gradient of the data.

    Args:
        method: that of the convolution.
        window: ``kernel``, ``stride``, ``dilate``, ``pad`` and ``groups`` of the convolution.
        extents: of its data.
    """
    if method != "dot" and takes_columns(window["stride"], window["dilate"]):
        return "columns"
    sizes = (window[name] for name in ("kernel", "stride", "dilate", "pad"))
    kernel, stride, dilate, pad = sizes
    if method == "onednn" and not _fits_phases(kernel, extents, stride, dilate, pad):
        return "xla" if window["groups"] == 1 else "grouped"
    return method


def takes_columns(stride: Sequence[int], dilate: Sequence[int]) -> bool:
    """Whether matrix products are faster than XLA's convolutions with zeros between the data.

    Phases would be as many convolutions as a step of the strides has places.
    """
    return max(stride) >= _LONG_STRIDE and max(dilate) == 1


_LONG_STRIDE = 4


def _fits_phases(
    kernel: Sequence[int],
    extents: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
) -> bool:
    """Whether phases can compute the gradient: padding is below the kernel's reach."""
    return all(
        (s == 1 or d == 1) and p <= d * (k - 1) and n + 2 * p >= d * (k - 1) + 1
        for k, n, s, d, p in zip(kernel, extents, stride, dilate, pad, strict=True)
    )


def _gradient_by_phases(
    head: jax.Array,
    weight: jax.Array,
    extents: Pair,
    stride: Pair,
    dilate: Pair,
    pad: Pair,
    groups: int,
) -> Any:
    channels = weight.shape[1] * groups
    turned = _channels_before_filters(weight, groups)
    down, across = (
        phases(n, o, k, s, d, p)
        for n, o, k, s, d, p in zip(
            extents, head.shape[1:3], weight.shape[2:], stride, dilate, pad, strict=True
        )
    )
    rows = []
    for taps_down, pads_down, length_down in down:
        row = []
        for taps_across, pads_across, length_across in across:
            part = turned[:, :, taps_down, taps_across]
            if 0 in part.shape:
                shape = (head.shape[0], length_down, length_across, channels)
                row.append(jnp.zeros(shape, head.dtype))
                continue
            (before, after), (left, right) = pads_down, pads_across
            # A phase may leave out margins of the head: negative padding.
            cut = head[
                :,
                max(0, -before) : head.shape[1] - max(0, -after),
                max(0, -left) : head.shape[2] - max(0, -right),
            ]
            row.append(
                onednn.convolution(
                    cut,
                    part,
                    stride=(1, 1),
                    dilate=dilate,
                    pads=((max(0, before), max(0, after)), (max(0, left), max(0, right))),
                    groups=groups,
                    weight_order="IOHW" if groups == 1 else "OIHW",
                )
            )
        rows.append(row[0] if len(row) == 1 else _interleave(row, 2))
    out = rows[0] if len(rows) == 1 else _interleave(rows, 1)
    return out[:, : extents[0], : extents[1]]


def _gradient_by_columns(
    head: jax.Array, weight: jax.Array, extents: Pair, stride: Pair, pad: Pair, groups: int
) -> Any:
    """What each element of the head adds to the positions of one stride, block by block.

    A kernel of ``k`` elements is ``ceil(k / stride)`` such blocks, in each direction. The products
    of a block lie side by side in the result, so that few arrays are added up.
    """
    batch, *places, filters = head.shape
    counts = [-(-k // s) for k, s in zip(weight.shape[2:], stride, strict=True)]
    missing = [c * s - k for c, s, k in zip(counts, stride, weight.shape[2:], strict=True)]
    kernel = jnp.pad(weight, ((0, 0), (0, 0), *((0, more) for more in missing)))
    kernel = kernel.reshape(
        groups, filters // groups, -1, counts[0], stride[0], counts[1], stride[1]
    )
    head = head.reshape(batch, *places, groups, filters // groups)
    inner = [n * s for n, s in zip(places, stride, strict=True)]
    zero = jnp.zeros((), head.dtype)
    total = None
    for down, across in itertools.product(*map(range, counts)):
        term = jnp.einsum("bhwgf,gfcij->bhiwjgc", head, kernel[:, :, :, down, :, across])
        widths = [
            (i * s - p, n - (i * s - p) - length, 0)
            for i, s, p, n, length in zip((down, across), stride, pad, extents, inner, strict=True)
        ]
        term = lax.pad(term.reshape(batch, *inner, -1), zero, ((0, 0, 0), *widths, (0, 0, 0)))
        total = term if total is None else total + term
    return total


def _by_columns(data: Any, weight: Any, stride: Pair, pad: Pair, groups: int) -> Any:
    """The transpose of :func:`_gradient_by_columns`: the convolution whose data gradient that computes."""
    out = [
        (n + 2 * p - k) // s + 1
        for n, p, k, s in zip(data.shape[1:3], pad, weight.shape[2:], stride, strict=True)
    ]
    (result,) = jax.linear_transpose(
        lambda head: _gradient_by_columns(head, weight, data.shape[1:3], stride, pad, groups),
        jax.ShapeDtypeStruct((data.shape[0], *out, weight.shape[0]), data.dtype),
    )(data)
    return result


def deconvolution(data: jax.Array, weight: jax.Array, *bias: jax.Array, **attributes: Any) -> Any:
    """A transposed convolution of ``(batch, height, width, channels)``.

    Args:
        data: channels last.
        weight: ``(channels, filters / groups, height, width)``.
        bias: none, or ``(filters,)``.
        attributes: those of :func:`data_gradient`; ``extents`` are the result's.
    """
    out = data_gradient(data, weight, **attributes)
    return out + bias[0] if bias else out


def _channels_before_filters(weight: jax.Array, groups: int) -> Any:
    """Kernels in groups as those of the gradient: ``(channels, filters / groups, height, width)``.

    Without groups they stay as they are: oneDNN reads them in either order.
    """
    if groups == 1:
        return weight
    filters, channels, *kernel = weight.shape
    grouped_weight = weight.reshape(groups, filters // groups, channels, *kernel)
    return jnp.swapaxes(grouped_weight, 1, 2).reshape(-1, filters // groups, *kernel)


def phases(
    extent: int, out: int, kernel: int, stride: int, dilate: int, pad: int
) -> list[tuple[slice, Pair, int]]:
    """For each residue of a place modulo the stride: elements of the kernel, padding, length.

    With ``stride`` 1 it is one: all elements turned around. Place ``stride a + r`` gets from
    ``head[a + shift - t]`` what element ``first + stride t`` of the kernel gave it.
    """
    if stride == 1:
        before = dilate * (kernel - 1) - pad
        after = extent - out - before + dilate * (kernel - 1)
        return [(slice(None, None, -1), (before, after), extent)]
    length = -(-extent // stride)
    result = []
    for residue in range(stride):
        first = (residue + pad) % stride
        count = max(0, -(-(kernel - first) // stride))
        shift = (residue + pad - first) // stride
        last = first + stride * (count - 1)
        taps = slice(last, first - 1 if first else None, -stride) if count else slice(0, 0)
        result.append((taps, (count - 1 - shift, length + shift - out), length))
    return result


def _interleave(parts: Sequence[Any], axis: int) -> Any:
    """Elements of the parts in turn along an axis."""
    shape = list(parts[0].shape)
    shape[axis] *= len(parts)
    return jnp.stack(parts, axis + 1).reshape(shape)


def weight_gradient(
    head: Any,
    data: Any,
    *,
    kernel: Pair,
    stride: Pair,
    dilate: Pair,
    pad: Pair,
    groups: int = 1,
    method: str = "xla",
) -> Any:
    """Gradient of the weight, ``(filters, channels / groups, *kernel)``, from the result's.

    ``dot`` takes, for each element of the kernel, the matrix product of the head and the data
    which that element met.
    """
    if method == "dot":
        return _gradient_by_products(head, data, kernel, stride, dilate, pad, groups)
    if method == "onednn":
        return _gradient_by_exchange(head, data, kernel, stride, dilate, pad, groups)
    if method == "columns":
        shape = (head.shape[-1], data.shape[-1] // groups, *kernel)
        (gradient,) = jax.linear_transpose(
            lambda weight: _gradient_by_columns(head, weight, data.shape[1:3], stride, pad, groups),
            jax.ShapeDtypeStruct(shape, head.dtype),
        )(data)
        return gradient
    if method == "grouped":
        pads = [(p, p) for p in pad]
        return grouped.weight_gradient(
            head, data, kernel=kernel, stride=stride, dilate=dilate, pads=pads, groups=groups
        )
    # A convolution in which channels and batch change places. XLA would fuse what the two come
    # from, back to the last convolution, into their transposes: all of it computed again, element
    # by element across the memory. Only the transposes are separate: what is left inside such a
    # call is not brought into the form that XLA's fast convolution needs.
    by_channel = not_inlined(lambda each: jnp.transpose(each, (3, 1, 2, 0)), data)
    by_place = not_inlined(lambda each: jnp.transpose(each, (1, 2, 0, 3)), head)
    widths = [
        (p, d * (k - 1) + s * (o - 1) + 1 - n - p)
        for p, d, k, s, o, n in zip(
            pad, dilate, kernel, stride, head.shape[1:3], data.shape[1:3], strict=True
        )
    ]
    gradient = lax.conv_general_dilated(
        by_channel, by_place, dilate, widths, None, stride, dimension_numbers=ORDER_IN_PLACE
    )
    return jnp.transpose(gradient, (3, 0, 1, 2))


def weight_gradient_method(
    method: str,
    window: Mapping[str, Any],
    weight: Sequence[int],
    batch: int,
    lies_last: bool = False,
) -> str:
    """The fastest method for the gradient of a weight.

    ``dot`` for kernels of one element, which are a matrix product; ``onednn`` for groups with a
    stride, over which XLA's own convolution is slow; ``columns`` for other groups with a long one;
    else ``grouped`` or ``xla``. Without groups or without strides oneDNN's way was no faster inside
    of networks.

    Args:
        method: that of the convolution.
        window: ``stride``, ``dilate`` and ``groups`` of the convolution.
        weight: ``(filters, channels / groups, height, width)``.
        batch: how many samples there are.
        lies_last: the data is computed with channels last. XLA takes the other layout as it is;
            oneDNN's way would copy it twice.
    """
    groups, stride = window["groups"], window["stride"]
    each, filters = weight[1], weight[0] // groups
    if tuple(weight[2:]) == (1, 1) and each > 1:
        return "dot"
    if groups == 1:
        return "xla"
    # Batch and channels change places, so oneDNN uses the batch as channels.
    large = batch > 1 and min(each, filters) >= _LEAST_CHANNELS
    if method == "onednn" and lies_last and large and max(stride) > 1:
        return "onednn"
    # One product for each element of the kernel otherwise: of long strides the kernels are large.
    return "columns" if takes_columns(stride, window["dilate"]) else "grouped"


_LEAST_CHANNELS = 8
"""Of a group, from which oneDNN is faster than XLA; measured."""


def _gradient_by_products(
    head: jax.Array,
    data: jax.Array,
    kernel: Pair,
    stride: Pair,
    dilate: Pair,
    pad: Pair,
    groups: int,
) -> Any:
    channels, filters = data.shape[-1], head.shape[-1]
    head_rows = head.reshape(-1, groups, filters // groups)
    if any(pad):
        data = jnp.pad(data, ((0, 0), *((p, p) for p in pad), (0, 0)))
    reach = [s * (o - 1) + 1 for s, o in zip(stride, head.shape[1:3], strict=True)]
    products = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilate[0], j * dilate[1]
            met = data[
                :,
                top : top + reach[0] : stride[0],
                left : left + reach[1] : stride[1],
            ]
            rows = met.reshape(-1, groups, channels // groups)
            products.append(_products_of_groups(head_rows, rows))
    return jnp.stack(products, -1).reshape(filters, channels // groups, *kernel)


def _products_of_groups(one: jax.Array, other: jax.Array) -> Any:
    """For each group the product of its columns, ``(groups, columns of one, columns of other)``."""
    if one.shape[1] == 1:
        return lax.dot_general(one[:, 0], other[:, 0], (((0,), (0,)), ((), ())))
    return lax.dot_general(one, other, (((0,), (0,)), ((1,), (1,))))


def _gradient_by_exchange(
    head: jax.Array,
    data: jax.Array,
    kernel: Pair,
    stride: Pair,
    dilate: Pair,
    pad: Pair,
    groups: int,
) -> Any:
    """One convolution in which channels and batch change places, as do strides and dilation.

    Its samples are the channels of a group, its channels the samples, group by group, and its
    kernels are as large as an image of the result.
    """
    widths = [
        (p, d * (k - 1) + s * (o - 1) + 1 - n - p)
        for p, d, k, s, o, n in zip(
            pad, dilate, kernel, stride, head.shape[1:3], data.shape[1:3], strict=True
        )
    ]
    down, across = (
        n + min(0, after) for n, (_, after) in zip(data.shape[1:3], widths, strict=True)
    )
    # Apart, or XLA would choose for the loop an order in memory that suits its neighbours.
    by_sample = not_inlined(lambda each: _samples_last(each, groups), data)
    gradient = onednn.convolution(
        by_sample[:, :down, :across],  # places that no window reads are left out
        jnp.transpose(head, (3, 0, 1, 2)),
        stride=dilate,
        dilate=stride,
        pads=[(before, max(0, after)) for before, after in widths],
        groups=groups,
    )
    return jnp.transpose(gradient, (3, 0, 1, 2))


def _samples_last(data: jax.Array, groups: int) -> Any:
    """``(channels / groups, height, width, groups * batch)``, copied row by row.

    The samples of one row fit into cache. Over all rows at once every element read would come from
    a line of memory that is gone before its next element is wanted.
    """
    batch, height, width, channels = data.shape
    each = channels // groups
    shape = (each, height, width, groups * batch)

    def copy(i: jax.Array, copied: jax.Array) -> Any:
        row = lax.dynamic_index_in_dim(data, i, 1, keepdims=False)
        row = jnp.transpose(row.reshape(batch, width, groups, each), (3, 1, 2, 0))
        row = row.reshape(each, 1, width, groups * batch)
        return lax.dynamic_update_slice_in_dim(copied, row, i, 1)

    return lax.fori_loop(0, height, copy, jnp.zeros(shape, data.dtype))


def bias_gradient(head: jax.Array) -> Any:
    """Gradient of the bias, ``(filters,)``: the sum of the result's over all places."""
    return jnp.sum(head, (0, 1, 2))


CONVOLUTION = Lowering("Convolution_channels_last", convolution)
DECONVOLUTION = Lowering("Deconvolution_channels_last", deconvolution)
DATA_GRADIENT = Lowering("Convolution_data_gradient", data_gradient)
WEIGHT_GRADIENT = Lowering("Convolution_weight_gradient", weight_gradient)
BIAS_GRADIENT = Lowering("Convolution_bias_gradient", bias_gradient)
