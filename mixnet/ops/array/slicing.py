"""Parts of arrays by begin, end and step, read and replaced."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from mixnet.base import OperatorValueError, RankError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import (
    Axes,
    Axis,
    Scalar,
)
from mixnet.ops.schema.dtypes import Dtypes, number_of_dtype
from mixnet.ops.schema.rewrites import Rewrites


@op(
    "slice",
    aliases=["crop", "_sparse_slice", "_npi_slice", "_npx_slice"],
    method=True,
    flops=0,
    rewrites=Rewrites(keeps_dtype=True),
    storage=storage_rules.SLICE,
)
def slice_(data, *, begin: tuple, end: tuple, step: tuple | None = ()):
    """``data[begin[0]:end[0]:step[0], ...]``; None is the beginning or the end of the axis.

    Source: MXNet operator ``slice``.
    """
    return data[_slices("slice", data, begin, end, step)]


def _slices(
    name: str, data: Any, begin: tuple, end: tuple, step: tuple | None
) -> tuple[slice, ...]:
    """The key of a part of ``data``."""
    step = step or ()
    if not 0 < len(begin) == len(end) <= data.ndim or len(step) not in (0, len(begin)):
        raise RankError(
            f"{name}: begin={begin}, end={end} and step={step or None} must have the same "
            f"length, from 1 to {data.ndim} for data {data.shape}."
        )
    if 0 in step:
        raise OperatorValueError(f"{name}: step={step} is out of range; no step may be 0.")
    steps = step or (None,) * len(begin)
    return tuple(slice(b, e, s) for b, e, s in zip(begin, end, steps, strict=True))


@op("_slice_assign", aliases=["_crop_assign", "_npi_slice_assign"], one_dtype=True)
def slice_assign(lhs, rhs, *, begin: tuple, end: tuple, step: tuple | None = ()):
    """``lhs`` with ``rhs`` in the place of ``slice(lhs, begin, end, step)``.

    Args:
        lhs: any shape.
        rhs: the shape of the part.

    Raises:
        ShapeError: ``rhs`` has another shape.

    Source: MXNet operator ``_slice_assign``.
    """
    key = _slices("_slice_assign", lhs, begin, end, step)
    part = jax.eval_shape(lambda array: array[key], lhs).shape
    if rhs.shape != part:
        raise ShapeError(
            f"_slice_assign: rhs is {rhs.shape}, the part of lhs {part}; give it that shape."
        )
    return lhs.at[key].set(rhs)


@slice_assign.infer_inputs
def _(lhs, *, begin, end, step):
    key = _slices("_slice_assign", jax.ShapeDtypeStruct(lhs, np.dtype("bool")), begin, end, step)
    extents = [len(range(*one.indices(extent))) for one, extent in zip(key, lhs, strict=False)]
    return {"rhs": (*extents, *lhs[len(key) :])}


@op(
    "_slice_assign_scalar",
    aliases=["_crop_assign_scalar", "_npi_slice_assign_scalar"],
)
def slice_assign_scalar(
    data, *, scalar: Scalar = 0.0, begin: tuple, end: tuple, step: tuple | None = ()
):
    """``data`` with a number in the place of ``slice(data, begin, end, step)``.

    Source: MXNet operator ``_slice_assign_scalar``.
    """
    key = _slices("_slice_assign_scalar", data, begin, end, step)
    return data.at[key].set(number_of_dtype(scalar, data.dtype))


@op(
    "slice_axis",
    booleans=False,
    method=True,
    flops=0,
    rewrites=Rewrites(keeps_dtype=True),
)
def slice_axis(data, *, axis: Axis, begin: int, end: int | None):
    """The part of ``data`` from ``begin`` up to ``end`` along ``axis``; None for ``end`` is its end.

    Source: MXNet operator ``slice_axis``.
    """
    extent = data.shape[axis]
    first = begin + extent if begin < 0 else begin
    last = extent if end is None else end + extent if end < 0 else end
    if not 0 <= first <= last <= extent:
        raise ShapeError(
            f"slice_axis: begin={begin} to end={end} is not a part of axis {axis} of data {data.shape}, "
            f"which has {extent} elements there."
        )
    return jax.lax.slice_in_dim(data, first, last, axis=axis)


@op("slice_like", booleans=False, method=True, flops=0, dtypes=Dtypes(own={"shape_like": None}))
def slice_like(data, shape_like, *, axes: Axes | None = ()):
    """The first elements of ``data`` along ``axes`` (all by default), as many as ``shape_like`` has there.

    Negative ``axes`` are counted from the end of ``data``, whatever the number of axes of ``shape_like``.

    Raises:
        ShapeError: ``shape_like`` is longer along an axis, or has no such axis; or, without ``axes``, it
            has a different number of axes.

    Source: MXNet operator ``slice_like``.
    """
    if not axes and data.ndim != shape_like.ndim:
        raise ShapeError(
            f"slice_like: data {data.shape} and shape_like {shape_like.shape} have other numbers of axes; "
            f"give axes=."
        )
    key: list[Any] = [slice(None)] * data.ndim
    for each in axes or range(shape_like.ndim):
        axis = each + data.ndim if each < 0 else each
        if axis >= shape_like.ndim:
            raise ShapeError(
                f"slice_like: axis {each} of data {data.shape} is number {axis}, which shape_like "
                f"{shape_like.shape} does not have; axes are counted in data."
            )
        extent = shape_like.shape[axis]
        if extent > data.shape[axis]:
            raise ShapeError(
                f"slice_like: shape_like {shape_like.shape} is longer than data {data.shape} along axis "
                f"{axis}; give only axes= along which it is not."
            )
        key[axis] = slice(0, extent)
    return data[tuple(key)]
