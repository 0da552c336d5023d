"""Readers of operators that move elements: reshaping, slicing, joining, gather and scatter."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import NotDefinedError
from mixnet.onnx.extents import Extent, is_negative, is_open
from mixnet.onnx.load.extents import array_of, broadcast, fill_value
from mixnet.onnx.load.table import Call, reads
from mixnet.onnx.package import onnx_package

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading


_FAR = (1 << 31) - 1
"""A place behind the end of any axis, or before its begin."""


def axes_of(g: Reading, call: Call, since: int = 13) -> list[int] | None:
    """Axes from the attribute, or from the second input in newer operator sets."""
    if g.opset < since or call.get("axes") is not None:
        axes = call.get("axes")
        return None if axes is None else list(axes)
    listed = call.input(1)
    return None if listed is None else g.ints(listed, "the list of axes")


@reads("Reshape")
def _(g: Reading, call: Call) -> Any:
    shape = tuple(g.ints(call.inputs[1], "the shape")) if g.opset >= 5 else tuple(call.get("shape"))
    if not shape:
        return g.mark_scalar(g.op("Reshape", call.x, shape=(1,)))
    if call.get("allowzero", 0) and 0 in shape:
        raise NotDefinedError("empty arrays are not supported")
    return g.reshaped(call.x, shape)


@reads("Flatten")
def _(g: Reading, call: Call) -> Any:
    axis = call.get("axis", 1)
    if axis == 1:
        return g.op("Flatten", call.x)
    shape = g.shape(call.x)
    axis = axis % len(shape) if axis < 0 else axis
    return g.reshaped(call.x, (math.prod(shape[:axis]), -1))


@reads("Transpose")
def _(g: Reading, call: Call) -> Any:
    return g.op(
        "_np_transpose", call.x, axes=tuple(call.get("perm", range(len(g.shape(call.x)))[::-1]))
    )


@reads("Squeeze")
def _(g: Reading, call: Call) -> Any:
    shape, axes = g.shape(call.x), axes_of(g, call)
    squeezed = (
        {a % len(shape) for a in axes}
        if axes is not None
        else {i for i, e in enumerate(shape) if e == 1}
    )
    left = [i for i in range(len(shape)) if i not in squeezed]
    return (
        g.op("_np_squeeze", call.x, axis=tuple(sorted(squeezed)))
        if left
        else g.mark_scalar(g.op("Reshape", call.x, shape=(1,)))
    )


@reads("Unsqueeze")
def _(g: Reading, call: Call) -> Any:
    axes = axes_of(g, call) or []
    if g.is_scalar(call.x):
        return g.op("Reshape", call.x, shape=(1,) * len(axes))
    rank = len(g.shape(call.x)) + len(axes)
    x = call.x
    for axis in sorted(a % rank for a in axes):
        x = g.op("expand_dims", x, axis=axis)
    return x


@reads("Concat", alike=True)
def _(g: Reading, call: Call) -> Any:
    axis = call.get("axis", 1)
    parts = [each for each in call.inputs if 0 not in g.shape(each)] or call.inputs
    if g.dtype(parts[0]) == np.bool_:
        return g.op("_npi_concatenate", *parts, axis=axis)
    return g.op("Concat", *parts, dim=axis)


@reads("Split")
def _(g: Reading, call: Call) -> Any:
    axis, count = call.get("axis", 0), len(call.node.output)
    extent = g.shape(call.x)[axis]
    sizes = call.get("split") if g.opset < 13 else call.input(1)
    if isinstance(sizes, np.ndarray):
        sizes = sizes.tolist()
    if sizes is None:
        size = -(-extent // count)
        sizes = [size] * (count - 1) + [extent - size * (count - 1)]
    ends = list(itertools.accumulate(sizes))
    return [
        g.op("slice_axis", call.x, axis=axis, begin=end - size, end=end)
        for end, size in zip(ends, sizes, strict=True)
    ]


@reads("Slice")
def _(g: Reading, call: Call) -> Any:
    shape = g.shape(call.x)
    if g.opset < 10:
        starts, ends, steps = list(call.get("starts")), list(call.get("ends")), None
        axes = call.get("axes")
    else:
        starts, ends = (g.ints(each, "where a slice begins and ends") for each in call.inputs[1:3])
        axes, steps = (
            None if call.input(i) is None else g.ints(call.inputs[i], "axes and steps")
            for i in (3, 4)
        )
    axes = list(range(len(starts))) if axes is None else [a % len(shape) for a in axes]
    steps = steps or [1] * len(starts)
    begin: list[Any] = [None] * len(shape)
    end: list[Any] = [None] * len(shape)
    step = [1] * len(shape)
    for a, s, e, t in zip(axes, starts, ends, steps, strict=True):
        if is_open((shape[a], s, e)):
            begin[a], end[a] = (_end_of_slice(each) for each in (s, e))
            step[a] = t
            continue
        first, last, _ = slice(s, e, t).indices(shape[a])
        begin[a], end[a], step[a] = first, last if last >= 0 else None, t
    return g.op("slice", call.x, begin=tuple(begin), end=tuple(end), step=tuple(step))


def _end_of_slice(place: Extent) -> Any:
    """Where a slice of an open axis begins or ends; None for numbers that exporters write for its ends."""
    return None if not is_open(place) and abs(place) >= _FAR else place


@reads("Gather")
def _(g: Reading, call: Call) -> Any:
    axis, index = call.get("axis", 0), call.inputs[1]
    extent = g.shape(call.x)[axis]
    if isinstance(index, np.ndarray):
        if not is_open(extent):
            index = np.where(index < 0, index + extent, index)
        if index.ndim == 0:
            place = int(index)
            end = None if place == -1 else place + 1
            picked = g.op("slice_axis", call.x, axis=axis, begin=place, end=end)
            return _without_axis(g, picked, axis)
    picked = g.op("take", call.x, index, axis=axis, mode="wrap")
    return _without_axis(g, picked, axis) if g.is_scalar(index) else picked


def _without_axis(g: Reading, picked: object, axis: int) -> Any:
    """A value without an axis of extent 1; one of no axes keeps it here."""
    if len(g.shape(picked)) > 1:
        return g.op("_np_squeeze", picked, axis=axis)
    return g.mark_scalar(picked)


@reads("GatherND")
def _(g: Reading, call: Call) -> Any:
    index, batch = call.inputs[1], call.get("batch_dims", 0)
    if batch:  # the batch's own numbers, before the others
        shape = g.shape(index)
        rows = [g.places((*shape[:-1], 1), axis) for axis in range(batch)]
        index = g.op("Concat", *rows, g.op("Cast", index, dtype="int64"), dim=-1)
    return g.op("gather_nd", call.x, g.op("_np_moveaxis", index, source=-1, destination=0))


def _places(g: Reading, call: Call) -> Any:
    """Places in the first input, one row for each axis: the second input along ``axis``, elsewhere
    where that input's element itself is.
    """
    index, shape = call.inputs[1], g.shape(call.x)
    axis = call.get("axis", 0) % len(shape)
    index_shape = g.shape(index)
    rows = []
    for i in range(len(shape)):
        if i == axis:
            rows.append(g.op("_npi_mod", g.op("Cast", index, dtype="int64"), array_of((shape[i],))))
        else:
            rows.append(g.places(index_shape, i))
    return g.op("stack", *rows, axis=0)


@reads("GatherElements")
def _(g: Reading, call: Call) -> Any:
    return g.op("gather_nd", call.x, _places(g, call))


@reads("Scatter", "ScatterElements")
def _(g: Reading, call: Call) -> Any:
    return _written(g, call, _places(g, call))


@reads("ScatterND")
def _(g: Reading, call: Call) -> Any:
    index = g.op("Cast", call.inputs[1], dtype="int64")
    extents = array_of(g.shape(call.x)[: g.shape(index)[-1]])
    index = g.op("_npi_mod", index, extents)
    return _written(g, call, g.op("_np_moveaxis", index, source=-1, destination=0))


def _written(g: Reading, call: Call, places: object) -> Any:
    """The first input with the third one's elements at places."""
    reduction, shape = call.get("reduction", "none"), g.shape(call.x)
    if reduction == "none":
        return g.op("_scatter_set_nd", call.x, call.inputs[2], places, shape=shape)
    return g.op(
        "_scatter_reduce_nd", call.x, call.inputs[2], places, shape=shape, reduction=reduction
    )


@reads("Expand")
def _(g: Reading, call: Call) -> Any:
    before, shape = g.shape(call.x), tuple(g.ints(call.inputs[1], "the shape"))
    shape = broadcast(before, shape)
    axes = {i: g.origins.axis_of(e) for i, e in enumerate(shape) if is_open(e) and e not in before}
    if (
        len(axes) == 1
        and len(shape) == len(before)
        and shape == tuple(e if i in axes else before[i] for i, e in enumerate(shape))
    ):
        # MXNet has an operator for it.
        ((axis, origin),) = axes.items()
        if origin is not None:
            return g.op(
                "broadcast_like", call.x, origin[0], lhs_axes=(axis,), rhs_axes=(origin[1],)
            )
    return g.op("_npi_broadcast_to", call.x, shape=shape)


@reads("ConstantOfShape")
def _(g: Reading, call: Call) -> Any:
    element = fill_value(call)
    return g.filled(tuple(g.ints(call.inputs[0], "the shape")), element, element.dtype)


@reads("Tile")
def _(g: Reading, call: Call) -> Any:
    return g.op("tile", call.x, reps=tuple(g.ints(call.inputs[1], "the number of repeats")))


@reads("Pad")
def _(g: Reading, call: Call) -> Any:
    rank = len(g.shape(call.x))
    if g.opset < 11:
        pads, value = list(call.get("pads")), call.get("value", 0.0)
    else:
        pads = g.ints(call.inputs[1], "the padding")
        fill = call.input(2)
        value = float(fill.reshape(-1)[0]) if isinstance(fill, np.ndarray) else 0.0
        if fill is not None and not isinstance(fill, np.ndarray):
            return _filled(g, call, pads, fill)
    axes = (
        list(range(rank))
        if call.input(3) is None
        else [a % rank for a in g.ints(call.inputs[3], "axes")]
    )
    widths = [(0, 0)] * rank
    for i, axis in enumerate(axes):
        widths[axis] = (pads[i], pads[i + len(axes)])
    x = call.x
    if any(is_negative(side) for pair in widths for side in pair):
        begin = tuple(-a if is_negative(a) else 0 for a, _ in widths)
        end = tuple(
            n + (b if is_negative(b) else 0) for n, (_, b) in zip(g.shape(x), widths, strict=True)
        )
        x = g.op("slice", x, begin=begin, end=end)
        widths = [(0 if is_negative(a) else a, 0 if is_negative(b) else b) for a, b in widths]
    if call.get("mode") == "wrap":
        for axis, (before, after) in enumerate(widths):
            extent = g.shape(x)[axis]
            if before or after:
                x = g.op("take", x, np.arange(-before, extent + after) % extent, axis=axis)
        return g.op("_copy", x) if x is call.x else x
    return g.op(
        "_npi_pad",
        x,
        pad_width=tuple(widths),
        mode=call.get("mode", "constant"),
        constant_value=value,
    )


def _filled(g: Reading, call: Call, pads: list[int], fill: object) -> Any:
    """Data with padding whose value is computed from the model's inputs."""
    if call.get("mode", "constant") != "constant":
        raise NotDefinedError(f"mode={call.get('mode')!r} with a padding value")
    shape = g.shape(call.x)
    axes = range(len(shape)) if call.input(3) is None else g.ints(call.inputs[3], "axes")
    pairs = zip(pads[: len(pads) // 2], pads[len(pads) // 2 :], strict=True)
    widths = dict(zip((a % len(shape) for a in axes), pairs, strict=True))
    sides = [widths.get(axis, (0, 0)) for axis in range(len(shape))]
    if any(side < 0 for pair in sides for side in pair):
        raise NotDefinedError("negative padding with a computed value")
    g.checked_shape([n + before + after for n, (before, after) in zip(shape, sides, strict=True)])
    inside = np.pad(np.ones(shape, bool), sides)
    padded = g.op("_npi_pad", call.x, pad_width=tuple(sides), mode="constant", constant_value=0.0)
    return g.op("_npi_where", inside, padded, g.op("Cast", fill, dtype=g.dtype(call.x).name))


@reads("DepthToSpace")
def _(g: Reading, call: Call) -> Any:
    size = call.get("blocksize")
    if call.get("mode", "DCR") == "DCR":
        return g.op("depth_to_space", call.x, block_size=size)
    _, c, h, w = g.shape(call.x)
    blocks = g.op("Reshape", call.x, shape=(-1, c // size**2, size, size, h, w))
    return g.op(
        "Reshape",
        g.op("_np_transpose", blocks, axes=(0, 1, 4, 2, 5, 3)),
        shape=(-1, c // size**2, h * size, w * size),
    )


@reads("SpaceToDepth")
def _(g: Reading, call: Call) -> Any:
    size = call.get("blocksize")
    if call.get("mode", "DCR") == "DCR":
        return g.op("space_to_depth", call.x, block_size=size)
    _, c, h, w = g.shape(call.x)
    blocks = g.op("Reshape", call.x, shape=(-1, c, h // size, size, w // size, size))
    joined = (-1, c * size**2, h // size, w // size)
    return g.op("Reshape", g.op("_np_transpose", blocks, axes=(0, 1, 3, 5, 2, 4)), shape=joined)


@reads("Shape")
def _(g: Reading, call: Call) -> Any:
    shape = () if g.is_scalar(call.x) else g.shape(call.x)
    return array_of(shape[call.get("start", 0) : call.get("end")])


@reads("Size")
def _(g: Reading, call: Call) -> Any:
    return array_of(math.prod(g.shape(call.x)))


@reads("EyeLike")
def _(g: Reading, call: Call) -> Any:
    code = call.get("dtype")
    dtype = (
        g.dtype(call.x) if code is None else onnx_package().helper.tensor_dtype_to_np_dtype(code)
    )
    rows, columns = g.checked_shape(g.shape(call.x))
    return np.eye(rows, columns, call.get("k", 0), dtype)


@reads("Trilu")
def _(g: Reading, call: Call) -> Any:
    k = 0 if call.input(1) is None else int(g.constant(call.inputs[1], "the diagonal"))
    shape = g.shape(call.x)
    if is_open(shape[-2:]):
        return _triangle(g, call.x, k, bool(call.get("upper", 1)))
    rows, columns = g.checked_shape(shape[-2:])
    keep = np.tri(rows, columns, k if not call.get("upper", 1) else k - 1, dtype=bool)
    keep = ~keep if call.get("upper", 1) else keep
    zero = np.zeros(1, g.dtype(call.x))
    return g.op("_npi_where", keep.reshape((1,) * (len(shape) - 2) + keep.shape), call.x, zero)


def _triangle(g: Reading, x: object, k: int, upper: bool) -> Any:
    """The part of matrices of any size above a diagonal, or below it."""
    rows, columns = (g.places(g.shape(x)[-2:], axis) for axis in (0, 1))
    beyond = g.op("_npi_subtract", columns, rows)
    kind = "_npi_greater_equal_scalar" if upper else "_npi_less_equal_scalar"
    zero = np.zeros(1, g.dtype(x))
    return g.op("_npi_where", g.op(kind, beyond, scalar=float(k)), x, zero)


@reads("OneHot")
def _(g: Reading, call: Call) -> Any:
    depth = int(g.constant(call.inputs[1], "the depth").reshape(-1)[0])
    off, on = g.constant(call.inputs[2], "the values").reshape(-1)
    index = g.op("Cast", call.x, dtype="int64")
    index = g.op(
        "_npi_where",
        g.op("_npi_less_scalar", index, scalar=0),
        g.op("_npi_add_scalar", index, scalar=depth),
        index,
    )
    result = g.op(
        "one_hot",
        index,
        depth=depth,
        on_value=float(on),
        off_value=float(off),
        dtype=np.asarray(on).dtype.name,
    )
    axis = call.get("axis", -1)
    return (
        result
        if axis in (-1, len(g.shape(call.x)))
        else g.op("_np_moveaxis", result, source=-1, destination=axis)
    )


@reads("ReverseSequence")
def _(g: Reading, call: Call) -> Any:
    time, batch = call.get("time_axis", 0), call.get("batch_axis", 1)
    x = call.x if (time, batch) == (0, 1) else g.op("SwapAxis", call.x, dim1=0, dim2=1)
    lengths = g.op("Cast", call.inputs[1], dtype="int32")
    out = g.op("SequenceReverse", x, lengths, use_sequence_length=True)
    return out if (time, batch) == (0, 1) else g.op("SwapAxis", out, dim1=0, dim2=1)
