"""Axes and elements in another order, repeated, or padded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from mixnet.base import AxisError, OperatorValueError, RankError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import (
    Axes,
    Axis,
    Count,
    Extents,
    Positive,
)
from mixnet.ops.schema.ranges import AxisOf
from mixnet.ops.schema.rewrites import TRANSPOSE, Rewrites


@op("transpose", booleans=False, flops=0, rewrites=TRANSPOSE)
def transpose(data, *, axes: Axes = ()):
    """The axes in the order ``axes``, reversed by default.

    Source: MXNet operator ``transpose``.
    """
    if axes and sorted(a % data.ndim for a in axes) != list(range(data.ndim)):
        raise ShapeError(
            f"transpose: axes {axes} are not a permutation of the {data.ndim} axes of data."
        )
    return jnp.transpose(data, axes or None)


def _swapped_twice(first: Mapping[str, Any], then: Mapping[str, Any]) -> Mapping[str, Any] | None:
    pairs = [{each["dim1"], each["dim2"]} for each in (first, then)]
    return {} if pairs[0] == pairs[1] else None


@op(
    "SwapAxis",
    aliases=["swapaxes", "_npi_swapaxes"],
    method=True,
    flops=0,
    rewrites=Rewrites(
        unchanged=lambda *, dim1, dim2: dim1 == dim2,
        combined=_swapped_twice,
        keeps_dtype=True,
        constant=lambda data, *, dim1, dim2: np.swapaxes(data, dim1, dim2),
    ),
)
def swapaxes(data, *, dim1: Axis = 0, dim2: Axis = 0):
    """The array with axes ``dim1`` and ``dim2`` exchanged.

    Source: MXNet operator ``SwapAxis``.
    """
    return jnp.swapaxes(data, dim1, dim2)


def odd_axes(axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    """The axes that are named an odd number of times: reversing one twice leaves it as it is."""
    counts = Counter(each % ndim for each in axes)
    return tuple(axis for axis, count in counts.items() if count % 2)


@op("reverse", booleans=False, aliases=["flip"], method=True, flops=0)
def flip(data, *, axis: Axes):
    """The array with its elements in reverse order along ``axis``.

    Source: MXNet operator ``reverse``.
    """
    return jnp.flip(data, odd_axes(axis, data.ndim))


@op("repeat", method=True, flops=0, aliases=["_np_repeat"])
def repeat(data, *, repeats: Count, axis: Axis | None = None):
    """Each element ``repeats`` times in a row along ``axis``; of the flattened array if that is None.

    Source: MXNet operator ``repeat``.
    """
    return jnp.repeat(data, repeats, axis)


@op("tile", method=True, flops=0, aliases=["_npi_tile"])
def tile(data, *, reps: Extents | None):
    """The whole array repeated ``reps[i]`` times along each axis ``i``.

    Source: MXNet operator ``tile``.
    """
    return jnp.tile(data, reps or ())


@op("Pad", floats=True, aliases=["pad"], method=True, flops=0)
def pad(
    data,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: Extents,
    constant_value: float = 0.0,
):
    """The array with elements added around it: ``pad_width`` has two counts, before and after, for each axis.

    Source: MXNet operator ``Pad``.
    """
    if len(pad_width) != 2 * data.ndim:
        raise RankError(
            f"Pad: pad_width has {len(pad_width)} numbers; {data.ndim} axes need "
            f"{2 * data.ndim}, before and after for each."
        )
    widths = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    extents = data.shape
    if mode == "reflect" and any(
        max(w) >= n for w, n in zip(widths, extents, strict=True) if any(w)
    ):
        raise ShapeError(
            f"Pad: pad_width={pad_width} reflects more elements than data {extents} has; every "
            f"number must be below the extent of its axis."
        )
    if mode == "constant":
        return jnp.pad(data, widths, constant_values=jnp.asarray(constant_value, data.dtype))
    return jnp.pad(data, widths, mode=mode)


def _image(data: Any, name: str) -> tuple[int, int, int, int]:
    if data.ndim != 4:
        raise RankError(
            f"{name}: data {data.shape} must have four axes: batch, channels, height, width."
        )
    shape: tuple[int, int, int, int] = data.shape
    return shape


@op("depth_to_space", booleans=False, method=True, flops=0)
def depth_to_space(data, *, block_size: Positive):
    """Blocks of channels moved into the spatial axes; the opposite of ``space_to_depth``.

    Args:
        data: ``(batch, channels, height, width)``.
        block_size: side b of a block; ``b * b`` divides the channels.

    Returns:
        ``(batch, channels / (b * b), height * b, width * b)``.

    Source: MXNet operator ``depth_to_space``.
    """
    n, c, h, w = _image(data, "depth_to_space")
    b = block_size
    if c % (b * b):
        raise ShapeError(
            f"depth_to_space: {c} channels of data {data.shape} are not a multiple of "
            f"block_size² = {b * b}."
        )
    moved = data.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    return moved.reshape(n, c // (b * b), h * b, w * b)


@op("space_to_depth", booleans=False, method=True, flops=0)
def space_to_depth(data, *, block_size: Positive):
    """Blocks of the spatial axes moved into the channels; the opposite of ``depth_to_space``.

    Args:
        data: ``(batch, channels, height, width)``.
        block_size: side b of a block; it divides height and width.

    Returns:
        ``(batch, channels * b * b, height / b, width / b)``.

    Source: MXNet operator ``space_to_depth``.
    """
    n, c, h, w = _image(data, "space_to_depth")
    b = block_size
    if h % b or w % b:
        raise ShapeError(
            f"space_to_depth: height and width of data {data.shape} are not multiples of "
            f"block_size={b}."
        )
    moved = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return moved.reshape(n, c * b * b, h // b, w // b)


@op("diag", booleans=False, method=True, flops=0)
def diag(data, *, k: int = 0, axis1: int = 0, axis2: int = 1):
    """Diagonal ``k`` of the matrices on axes ``axis1`` and ``axis2``, as a new last axis.

    Of a vector, the matrix that has it on diagonal ``k`` and zeros elsewhere.

    Source: MXNet operator ``diag``.
    """
    if data.ndim == 1:
        return jnp.diag(data, k)
    for name, axis in (("axis1", axis1), ("axis2", axis2)):
        AxisOf().check("diag", name, axis, data.ndim)
    if data.ndim == 0 or axis1 % data.ndim == axis2 % data.ndim:
        raise AxisError(
            f"diag: axis1={axis1} and axis2={axis2} must be two axes of data {data.shape}."
        )
    # As in MXNet, the diagonals at either end have no elements.
    if not -data.shape[axis1] <= k <= data.shape[axis2]:
        raise OperatorValueError(
            f"diag: k={k} is out of range: data {data.shape} has the diagonals "
            f"{-data.shape[axis1]} to {data.shape[axis2]}."
        )
    return jnp.diagonal(data, k, axis1, axis2)
