"""Arrays joined, and one array split into parts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import (
    Axis,
    Count,
    NewAxis,
    Positive,
    Shape,
)
from mixnet.ops.schema.integer_layers import Quantization
from mixnet.ops.schema.ranges import AxisOf
from mixnet.ops.schema.rewrites import Rewrites, alone
from mixnet.ops.schema.shape_constraints import joined, same_inputs


@op(
    "Concat",
    booleans=False,
    one_dtype=True,
    aliases=["concat", "_sparse_concat"],
    flops=0,
    layout_axis="dim",
    recomputed="asked",
    rewrites=Rewrites(unchanged=alone, constant=lambda *data, dim: np.concatenate(data, dim)),
    precision="widest",
    shape_constraint=joined,
    quantization=Quantization("_contrib_quantized_concat"),
    bfloat16="any",
    storage=storage_rules.JOINED,
    family="reshaping",
)
def concat(*data, dim: Axis = 1):
    """The arrays joined along axis ``dim``; their other axes have equal extents.

    Source: MXNet operator ``Concat``.
    """
    check_joined("Concat", [each.shape for each in data], dim)
    return jnp.concatenate(data, dim)


def check_joined(name: str, shapes: Sequence[tuple[int, ...]], axis: int) -> None:
    """Whether arrays can be joined along an axis.

    Raises:
        AxisError: the first has no such axis.
        ShapeError: they differ elsewhere.
    """
    first = shapes[0]
    AxisOf().check(name, "dim", axis, len(first))
    at = axis % len(first)
    outlines = [(len(each), each[:at], each[at + 1 :]) for each in shapes]
    if any(each != outlines[0] for each in outlines):
        raise ShapeError(f"{name}: shapes {list(shapes)} differ in axes other than axis {axis}.")


def _stacked(*data: np.ndarray, axis: int) -> np.ndarray:
    return np.stack([each.reshape(data[0].shape) for each in data], axis)


@op(
    "stack",
    one_dtype=True,
    flops=0,
    rewrites=Rewrites(constant=_stacked),
    precision="widest",
    shape_constraint=same_inputs,
)
def stack(*data, axis: NewAxis = 0):
    """The arrays joined along a new axis at position ``axis``.

    An array of another shape than the first takes that of the first.

    Raises:
        ShapeError: an array has more or fewer elements than the first.

    Source: MXNet operator ``stack``.
    """
    first = data[0]
    if any(each.size != first.size for each in data):
        raise ShapeError(
            f"stack: arrays of shapes {[each.shape for each in data]} do not stack; each must have "
            f"as many elements as the first."
        )
    return jnp.stack([each.reshape(first.shape) for each in data], axis)


def _parts(num_outputs: int) -> int:
    return num_outputs


@op(
    "SliceChannel",
    booleans=False,
    aliases=["split"],
    outputs=_parts,
    output_names=("output0",),
    flops=0,
    rewrites=Rewrites(
        unchanged=lambda *, num_outputs, squeeze_axis: num_outputs == 1 and not squeeze_axis
    ),
)
def split(data, *, num_outputs: Positive, axis: Axis = 1, squeeze_axis: bool = False):
    """The array cut into ``num_outputs`` equal parts along ``axis``.

    With ``squeeze_axis`` each part has extent 1 there, and loses the axis.

    Source: MXNet operator ``SliceChannel``.
    """
    if data.shape[axis] % num_outputs:
        raise ShapeError(
            f"SliceChannel: axis {axis} of extent {data.shape[axis]} does not divide into "
            f"{num_outputs} equal parts."
        )
    parts = jnp.split(data, num_outputs, axis)
    return tuple(jnp.squeeze(part, axis) for part in parts) if squeeze_axis else tuple(parts)


def _pieces(indices: tuple[int, ...], sections: int) -> int:
    return sections or len(indices)


@op("_split_v2", outputs=_pieces, flops=0, aliases=["_npi_split"])
def split_v2(
    data, *, indices: Shape, axis: Axis = 1, squeeze_axis: bool = False, sections: Count = 0
):
    """The array cut along ``axis``: into ``sections`` parts, or before each of ``indices``.

    Parts are equal; where the extent does not divide, the first ones have one element more.

    Args:
        data: any shape.
        indices: where parts begin, in ascending order; not used with ``sections``.

    Raises:
        ShapeError: an index is out of range, or smaller than the one before it.

    Source: MXNet operator ``_split_v2``.
    """
    extent = data.shape[axis]
    if not sections and not indices:
        raise OperatorValueError("_split_v2: give sections of 1 or more, or indices.")
    starts = _even_starts(extent, sections) if sections else indices
    edges = [*starts, extent]
    if any(not 0 <= a <= b for a, b in itertools.pairwise(edges)):
        raise ShapeError(
            f"_split_v2: indices {tuple(starts)} must rise within axis {axis} of extent {extent}."
        )
    parts = [jax.lax.slice_in_dim(data, a, b, axis=axis) for a, b in itertools.pairwise(edges)]
    return tuple(jnp.squeeze(part, axis) for part in parts) if squeeze_axis else tuple(parts)


def _even_starts(extent: int, sections: int) -> list[int]:
    """Where parts begin whose extents differ by one at most, the longer ones first."""
    each, longer = divmod(extent, sections)
    return [number * each + min(number, longer) for number in range(sections)]
