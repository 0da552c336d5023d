"""Reshape with MXNet's codes, transpose, join, split, slice, repeat."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import AxisError, OperatorValueError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import (
    Axes,
    Axis,
    Count,
    Extents,
    NewAxis,
    Positive,
    Scalar,
    Shape,
)
from mixnet.ops.schema.dtypes import Dtypes, number_of_dtype
from mixnet.ops.schema.integer_layers import Quantization
from mixnet.ops.schema.ranges import AxisOf
from mixnet.ops.schema.rewrites import TRANSPOSE, Rewrites, alone, free_of_codes
from mixnet.ops.schema.shape_constraints import joined, same_inputs, same_number


def target_shape(shape: tuple[int, ...], codes: tuple[int, ...], reverse: bool) -> tuple[int, ...]:
    """The shape that MXNet's reshape codes mean for an array of shape ``shape``.

    0 keeps the axis; -1 takes what remains; -2 keeps all remaining axes; -3 joins two axes; -4 splits one
    into the two numbers after it. ``reverse`` reads from the last axis on.

    Raises:
        ShapeError: the codes do not fit.
    """
    source, target = list(shape), list(codes)
    if reverse:
        source.reverse()
        target = _reversed_codes(target)
    out: list[int] = []
    at, i, unknown = 0, 0, -1
    try:
        while i < len(target):
            code = target[i]
            if not isinstance(code, (int, np.integer)) or code > 0:  # a symbol is an extent
                out.append(code)
                at += 1
            elif code == 0:
                out.append(source[at])
                at += 1
            elif code == -1:
                if unknown >= 0:
                    raise IndexError  # two of them are not known
                unknown = len(out)
                out.append(1)
                at += 1
            elif code == -2:
                out += source[at:]
                at = len(source)
            elif code == -3:
                out.append(source[at] * source[at + 1])
                at += 2
            elif code == -4:
                left, right = target[i + 1], target[i + 2]
                left = source[at] // right if left == -1 else left
                right = source[at] // left if right == -1 else right
                if left * right != source[at]:
                    raise IndexError
                out += [left, right]
                at += 1
                i += 2
            else:
                raise IndexError
            i += 1
        if unknown >= 0:
            out[unknown] = math.prod(source) // math.prod(out)
    except (IndexError, ZeroDivisionError):
        out = [-1]
    if math.prod(out) != math.prod(source):
        raise ShapeError(
            f"Reshape: an array of shape {shape} ({math.prod(shape)} elements) cannot become "
            f"{codes}{' read from the last axis' if reverse else ''}."
        )
    return tuple(reversed(out)) if reverse else tuple(out)


def _reversed_codes(codes: list[int]) -> list[int]:
    """Codes from last to first, the two numbers of a split still behind their -4."""
    groups: list[list[int]] = []
    i = 0
    while i < len(codes):
        width = 3 if codes[i] == -4 else 1
        group = codes[i : i + width]
        groups.append([group[0], *reversed(group[1:])])
        i += width
    return [code for group in reversed(groups) for code in group]


def _reshaped(
    data: jax.Array,
    *,
    shape: tuple[int, ...],
    reverse: bool,
    target_shape: tuple[int, ...],
    keep_highest: bool,
) -> Any:
    if target_shape and not shape:
        return data.reshape(_former_target(data.shape, target_shape, keep_highest))
    return data.reshape(_codes(data.shape, shape, reverse))


@op(
    "Reshape",
    aliases=["reshape"],
    flops=0,
    rewrites=Rewrites(
        keeps_order=True,
        sets_shape=lambda *, shape: free_of_codes(shape),
        keeps_dtype=True,
        constant=_reshaped,
    ),
    shaped_by="shape",
    shape_constraint=same_number,
    family="reshaping",
)
def reshape(
    data,
    *,
    shape: Shape = (),
    reverse: bool = False,
    target_shape: Shape = (),
    keep_highest: bool = False,
):
    """The elements in another shape; codes 0, -1, -2, -3 and -4 as MXNet has them.

    0 keeps the axis; -1 takes what remains; -2 keeps all remaining axes; -3 joins two axes; -4 splits one
    into the two numbers after it. ``reverse`` reads from the last axis on. ``target_shape`` is
    the form in old files: a 0 takes what remains, and ``keep_highest`` keeps the first axis.

    Source: MXNet operator ``Reshape``.
    """
    return _reshaped(
        data, shape=shape, reverse=reverse, target_shape=target_shape, keep_highest=keep_highest
    )


_codes = target_shape


def _former_target(
    shape: tuple[int, ...], target: tuple[int, ...], keep_highest: bool
) -> tuple[int, ...]:
    """The shape that ``target_shape`` means, which preceded the codes: one 0 is what is left.

    Raises:
        ShapeError: it has another number of elements, or several extents are not known.
    """
    out = [*shape[:1], *target[1:]] if keep_highest else list(target)
    if out.count(0) == 1:
        rest = math.prod(extent for extent in out if extent)
        out[out.index(0)] = math.prod(shape) // rest
    if math.prod(out) != math.prod(shape):
        raise ShapeError(
            f"Reshape: an array of shape {shape} ({math.prod(shape)} elements) cannot become "
            f"target_shape={target}{', keep_highest=True' if keep_highest else ''}. Give shape=, "
            f"whose codes say what is kept."
        )
    return tuple(out)


@op(
    "reshape_like",
    method=True,
    flops=0,
    dtypes=Dtypes(own={"rhs": None}),
    aliases=["_npx_reshape_like"],
)
def reshape_like(
    lhs,
    rhs,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
):
    """``lhs`` in the shape of ``rhs``; with limits, only its axes ``lhs_begin:lhs_end`` get those of ``rhs``.

    The axes of ``rhs`` are then ``rhs_begin:rhs_end``.

    Source: MXNet operator ``reshape_like``.
    """
    left, right = list(lhs.shape), list(rhs.shape)
    left[_span("lhs", lhs_begin, lhs_end, left)] = right[_span("rhs", rhs_begin, rhs_end, right)]
    if math.prod(left) != lhs.size:
        raise ShapeError(
            f"reshape_like: lhs {lhs.shape} has {lhs.size} elements and cannot become {tuple(left)}, "
            f"as rhs {rhs.shape} is. Give arrays with the same number of elements."
        )
    return lhs.reshape(left)


def _span(name: str, begin: int | None, end: int | None, shape: list[int]) -> slice:
    """The axes from ``begin`` to ``end`` of the shape of array ``name``.

    Raises:
        AxisError: it has not as many axes.
    """
    count = len(shape)
    for word, axis in (("begin", begin), ("end", end)):
        if axis is not None and not -count <= axis <= count:
            raise AxisError(
                f"reshape_like: {name}_{word}={axis} is out of range, {name} has {count} axes; give "
                f"one from {-count} to {count}."
            )
    return slice(begin, end)


def _flattened(data: jax.Array) -> Any:
    return data.reshape(data.shape[0], math.prod(data.shape[1:]))  # -1 fails without elements


@op(
    "Flatten",
    aliases=["flatten", "_npx_batch_flatten"],
    flops=0,
    rewrites=Rewrites(keeps_order=True, keeps_dtype=True, constant=_flattened),
    quantization=Quantization("_contrib_quantized_flatten"),
    family="reshaping",
)
def flatten(data):
    """All axes but the first joined into one: ``(batch, rest)``.

    Source: MXNet operator ``Flatten``.
    """
    return _flattened(data)


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


@op(
    "expand_dims",
    method=True,
    flops=0,
    rewrites=Rewrites(
        keeps_order=True,
        keeps_dtype=True,
        constant=lambda data, *, axis: np.expand_dims(data, axis),
    ),
    aliases=["_npi_expand_dims"],
)
def expand_dims(data, *, axis: NewAxis):
    """The array with a new axis of extent one at position ``axis``.

    Source: MXNet operator ``expand_dims``.
    """
    return jnp.expand_dims(data, axis)


@op("squeeze", method=True, flops=0, rewrites=Rewrites(keeps_order=True, keeps_dtype=True))
def squeeze(data, *, axis: Axes | None = None):
    """The array without its axes of extent one: all of them, or those in ``axis``.

    Source: MXNet operator ``squeeze``.
    """
    if any(data.shape[each] != 1 for each in axis or ()):
        raise ShapeError(f"squeeze: axes {axis} of data {data.shape} are not all of extent 1.")
    out = jnp.squeeze(data, axis and tuple({each % data.ndim for each in axis}))
    return out.reshape((1,)) if out.ndim == 0 else out


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


@op(
    "stack",
    one_dtype=True,
    flops=0,
    rewrites=Rewrites(constant=lambda *data, axis: np.stack(data, axis)),
    precision="widest",
    shape_constraint=same_inputs,
)
def stack(*data, axis: NewAxis = 0):
    """The arrays, all of one shape, joined along a new axis at position ``axis``.

    Source: MXNet operator ``stack``.
    """
    if any(each.shape != data[0].shape for each in data):
        raise ShapeError(f"stack: shapes {[e.shape for e in data]} differ; they must be equal.")
    return jnp.stack(data, axis)


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


@op(
    "slice",
    aliases=["crop", "_sparse_slice", "_npi_slice", "_npx_slice"],
    method=True,
    flops=0,
    rewrites=Rewrites(keeps_dtype=True),
    storage=storage_rules.SLICE,
)
def slice_(data, *, begin: tuple, end: tuple, step: tuple = ()):
    """``data[begin[0]:end[0]:step[0], ...]``; None stands for an end of the axis.

    Source: MXNet operator ``slice``.
    """
    return data[_slices("slice", data, begin, end, step)]


def _slices(name: str, data: jax.Array, begin: tuple, end: tuple, step: tuple) -> tuple[slice, ...]:
    """The key of a part of ``data``."""
    if not 0 < len(begin) == len(end) <= data.ndim or len(step) not in (0, len(begin)):
        raise ShapeError(
            f"{name}: begin={begin}, end={end} and step={step or None} must have the same "
            f"length, from 1 to {data.ndim} for data {data.shape}."
        )
    if 0 in step:
        raise OperatorValueError(f"{name}: step={step} is out of range; no step may be 0.")
    steps = step or (None,) * len(begin)
    return tuple(slice(b, e, s) for b, e, s in zip(begin, end, steps, strict=True))


@op("_slice_assign", aliases=["_crop_assign", "_npi_slice_assign"], one_dtype=True)
def slice_assign(lhs, rhs, *, begin: tuple, end: tuple, step: tuple = ()):
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


@op(
    "_slice_assign_scalar",
    aliases=["_crop_assign_scalar", "_npi_slice_assign_scalar"],
)
def slice_assign_scalar(data, *, scalar: Scalar = 0.0, begin: tuple, end: tuple, step: tuple = ()):
    """``data`` with a number in the place of ``slice(data, begin, end, step)``.

    Source: MXNet operator ``_slice_assign_scalar``.
    """
    key = _slices("_slice_assign_scalar", data, begin, end, step)
    return data.at[key].set(number_of_dtype(scalar, data.dtype))


@op("_identity_with_attr_like_rhs", one_dtype=True, storage=storage_rules.LIKE_RIGHT)
def identity_with_attr_like_rhs(lhs, rhs):
    """``lhs``; its shape and dtype are those of ``rhs`` where they are not known.

    Source: MXNet operator ``_identity_with_attr_like_rhs``.
    """
    if lhs.shape != rhs.shape:
        raise ShapeError(
            f"_identity_with_attr_like_rhs: lhs is {lhs.shape}, rhs {rhs.shape}; give equal shapes."
        )
    return lhs


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
def slice_like(data, shape_like, *, axes: Axes = ()):
    """The first elements of ``data`` along ``axes`` (all by default), as many as ``shape_like`` has there.

    Raises:
        ShapeError: ``shape_like`` is longer along an axis; or, without ``axes``, it has a different number
            of axes.

    Source: MXNet operator ``slice_like``.
    """
    if not axes and data.ndim != shape_like.ndim:
        raise ShapeError(
            f"slice_like: data {data.shape} and shape_like {shape_like.shape} have other numbers of axes; "
            f"give axes=."
        )
    key: list[Any] = [slice(None)] * data.ndim
    for axis in axes or range(shape_like.ndim):
        extent = shape_like.shape[axis]
        if extent > data.shape[axis]:
            raise ShapeError(
                f"slice_like: shape_like {shape_like.shape} is longer than data {data.shape} along axis "
                f"{axis}; give only axes= along which it is not."
            )
        key[axis] = slice(0, extent)
    return data[tuple(key)]


@op("reverse", booleans=False, aliases=["flip"], method=True, flops=0)
def flip(data, *, axis: Axes):
    """The array with its elements in reverse order along ``axis``.

    Source: MXNet operator ``reverse``.
    """
    return jnp.flip(data, tuple({each % data.ndim for each in axis}))


@op("repeat", method=True, flops=0, aliases=["_np_repeat"])
def repeat(data, *, repeats: Count, axis: Axis | None = None):
    """Each element ``repeats`` times in a row along ``axis``; of the flattened array if that is None.

    Source: MXNet operator ``repeat``.
    """
    return jnp.repeat(data, repeats, axis)


@op("tile", method=True, flops=0, aliases=["_npi_tile"])
def tile(data, *, reps: Extents):
    """The whole array repeated ``reps[i]`` times along each axis ``i``.

    Source: MXNet operator ``tile``.
    """
    return jnp.tile(data, reps)


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
        raise ShapeError(
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
        raise ShapeError(
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


@op(
    "shape_array",
    method=True,
    differentiable=False,
    flops=0,
    dtypes=Dtypes(result="int64"),
    rewrites=Rewrites(described=lambda shape, dtype: np.array(shape, np.int64)),
    aliases=["_npx_shape_array"],
)
def shape_array(data):
    """The shape of the array, int64 ``(number of axes,)``.

    Source: MXNet operator ``shape_array``.
    """
    return jnp.asarray(data.shape, jnp.int64)


@op(
    "size_array",
    method=True,
    differentiable=False,
    flops=0,
    dtypes=Dtypes(result="int64"),
    rewrites=Rewrites(described=lambda shape, dtype: np.array([math.prod(shape)], np.int64)),
)
def size_array(data):
    """The number of elements of the array, int64 ``(1,)``.

    Source: MXNet operator ``size_array``.
    """
    return jnp.asarray([data.size], jnp.int64)


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
    if not -data.shape[axis1] < k < data.shape[axis2]:
        raise OperatorValueError(
            f"diag: k={k} is out of range, data {data.shape} has the diagonals "
            f"{1 - data.shape[axis1]} to {data.shape[axis2] - 1}."
        )
    return jnp.diagonal(data, k, axis1, axis2)
