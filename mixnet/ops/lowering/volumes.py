"""Three-dimensional convolution as a sum of two-dimensional ones.

Each step of the kernel along the depth is a convolution of the images that it meets, in whatever way
is fastest for images (see ``convolution.py``). With XLA's own three-dimensional convolution
a training step took 6 to 40 times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mixnet.ops.lowering import convolution as images
from mixnet.ops.lowering.lowering import Lowering
from mixnet.ops.lowering.order import (
    data_as_called,
    data_to_last,
    weight_as_called,
    weight_to_first,
)

MOST_STEPS = 8
"""The most kernel elements along the depth; each costs the compiler a convolution."""


def convolution(
    data: Any,
    weight: jax.Array,
    *bias: jax.Array,
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    groups: int,
    channels_last: bool,
    method: str,
) -> Any:
    """The operator ``Convolution`` with three spatial axes.

    Args:
        data: ``(batch, channels, depth, height, width)``.
        weight: ``(filters, channels / groups, depth, height, width)``.
        bias: none, or ``(filters,)``.
        channels_last: channels are the last axis of data, weight and result instead.
        method: of the two-dimensional convolutions.
    """
    data, weight = data_to_last(data, channels_last), weight_to_first(weight, channels_last)
    window = _window(stride, dilate, pad, groups)
    total = None
    for step, met in _met(data, weight.shape[2], stride[0], dilate[0], pad[0]):
        part = images.convolution(_images(met), weight[:, :, step], method=method, **window)
        total = part if total is None else total + part
    out = _volumes(total, data.shape[0])
    for each in bias:
        out = out + each
    return data_as_called(out, channels_last)


def gradients(
    head: Any,
    data: Any,
    weight: Any,
    *,
    wrt: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    groups: int,
    channels_last: bool,
    data_method: str,
    weight_method: str,
) -> tuple[Any, ...]:
    """Gradients of data, weight and bias (0 to 2), those of ``wrt``, in the operator's layout."""
    head, data = data_to_last(head, channels_last), data_to_last(data, channels_last)
    weight = weight_to_first(weight, channels_last)
    window = _window(stride, dilate, pad, groups)
    depth = {"stride": stride[0], "dilate": dilate[0], "pad": pad[0]}
    results = []
    for position in wrt:
        if position == 0:
            gradient = _data_gradient(head, data.shape, weight, depth, window, data_method)
            results.append(data_as_called(gradient, channels_last))
        elif position == 1:
            parts = [
                images.weight_gradient(
                    _images(head),
                    _images(met),
                    kernel=weight.shape[3:],
                    method=weight_method,
                    **window,
                )
                for _, met in _met(data, weight.shape[2], **depth)
            ]
            results.append(weight_as_called(jnp.stack(parts, 2), channels_last))
        else:
            results.append(jnp.sum(head, range(4)))
    return tuple(results)


def _data_gradient(
    head: jax.Array,
    shape: Sequence[int],
    weight: jax.Array,
    depth: Mapping[str, int],
    window: Mapping[str, Any],
    method: str,
) -> Any:
    """The gradient of data of that shape, channels last."""
    stride, dilate, pad = depth["stride"], depth["dilate"], depth["pad"]
    zero = jnp.zeros((), head.dtype)
    total = None
    for step in range(weight.shape[2]):
        part = images.data_gradient(
            _images(head), weight[:, :, step], extents=(shape[2], shape[3]), method=method, **window
        )
        part = _volumes(part, shape[0])
        before = step * dilate - pad
        after = shape[1] - before - (part.shape[1] - 1) * stride - 1
        none = (0, 0, 0)
        part = lax.pad(part, zero, (none, (before, after, stride - 1), none, none, none))
        total = part if total is None else total + part
    return total


def _window(
    stride: Sequence[int], dilate: Sequence[int], pad: Sequence[int], groups: int
) -> dict[str, Any]:
    """The attributes of the convolutions of images."""
    across = {"stride": stride, "dilate": dilate, "pad": pad}
    return {"groups": groups, **{name: tuple(each[1:]) for name, each in across.items()}}


def _met(
    data: jax.Array, steps: int, stride: int, dilate: int, pad: int
) -> Iterator[tuple[int, Any]]:
    """For each step of the kernel along the depth, the images that it covers."""
    data = jnp.pad(data, ((0, 0), (pad, pad), (0, 0), (0, 0), (0, 0))) if pad else data
    reach = data.shape[1] - dilate * (steps - 1)
    for step in range(steps):
        first = step * dilate
        yield step, data[:, first : first + reach : stride]


def _images(volumes: jax.Array) -> Any:
    return volumes.reshape(-1, *volumes.shape[2:])


def _volumes(images: Any, batch: int) -> Any:
    return images.reshape(batch, -1, *images.shape[1:])


CONVOLUTION = Lowering("Convolution_volumes", convolution)
GRADIENTS = Lowering("Convolution_volumes_gradients", gradients)
