"""Conversions of operators that move elements: reshaping, slicing, joining."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.table import Call, NotHere, converts

_FAR = (1 << 31) - 1


def shape_of(b: Builder, shape: tuple[Any, ...], like: str | None = None) -> Any:
    """A shape with at most one open dimension, as the input of ``Reshape``."""
    open_ones = [i for i, extent in enumerate(shape) if extent is None]
    if len(open_ones) > 1:
        raise NotHere
    if open_ones and 0 in shape:
        raise NotHere
    return [-1 if extent is None else extent for extent in shape]


def reshaped(b: Builder, call: Call, value: str) -> str:
    """A value in the shape of the call's first output."""
    shape = call.out_shapes[0]
    if 0 in shape:
        raise NotHere
    return b.Reshape(value, shape_of(b, shape))


@converts("Reshape", "_np_reshape", "_npx_reshape", "reshape_like")
def _(b: Builder, call: Call) -> str:
    codes = call.attributes.get("shape") or ()
    plain = call.node.op.name == "Reshape" and not call.attributes.get("reverse")
    if plain and codes and min(codes) >= -1 and codes.count(-1) < 2 and 0 not in call.shapes[0]:
        return b.Reshape(call.x, list(codes))  # 0 keeps an extent there too
    return reshaped(b, call, call.x)


@converts("Flatten")
def _(b: Builder, call: Call) -> str:
    return b.Flatten(call.x, axis=1) if call.ndim > 1 else b.Unsqueeze(call.x, [1])


@converts("transpose", "_np_transpose")
def _(b: Builder, call: Call) -> str:
    axes = [call.axis(a) for a in call["axes"] or range(call.ndim)[::-1]]
    return b.Transpose(call.x, perm=axes)


@converts("SwapAxis")
def _(b: Builder, call: Call) -> str:
    order = list(range(call.ndim))
    first, second = call.axis(call["dim1"]), call.axis(call["dim2"])
    order[first], order[second] = second, first
    return b.Transpose(call.x, perm=order)


@converts("expand_dims")
def _(b: Builder, call: Call) -> str:
    return b.Unsqueeze(call.x, [call["axis"] % (call.ndim + 1)])


@converts("squeeze", "_np_squeeze")
def _(b: Builder, call: Call) -> str:
    axes = call["axis"]
    if axes is None:
        axes = [i for i, extent in enumerate(call.shapes[0]) if extent == 1]
    axes = [axes] if isinstance(axes, int) else list(axes)
    if len(axes) == call.ndim and call.out_shapes[0]:
        return b.Reshape(call.x, [1])
    return b.Squeeze(call.x, [call.axis(a) for a in axes]) if axes else call.x


@converts("Concat", "_rnn_param_concat")
def _(b: Builder, call: Call) -> str:
    return b.Concat(*call.inputs, axis=call.axis(call["dim"]))


@converts("stack")
def _(b: Builder, call: Call) -> str:
    axis = call["axis"] % (call.ndim + 1)
    return b.Concat(*[b.Unsqueeze(each, [axis]) for each in call.inputs], axis=axis)


@converts("SliceChannel")
def _(b: Builder, call: Call) -> Any:
    axis, count = call.axis(call["axis"]), call["num_outputs"]
    extent = call.shapes[0][axis]
    if extent is None:
        raise NotHere
    parts = b.split(call.x, axis, [extent // count] * count)
    return [b.Squeeze(each, [axis]) for each in parts] if call["squeeze_axis"] else parts


@converts("_split_v2")
def _(b: Builder, call: Call) -> Any:
    axis, extent = call.axis(call["axis"]), call.shapes[0][call.axis(call["axis"])]
    if extent is None:
        raise NotHere
    sections = call["sections"]
    starts = list(range(0, extent, extent // sections)) if sections else list(call["indices"])
    sizes = [end - start for start, end in zip(starts, [*starts[1:], extent], strict=True)]
    value = b.slice(call.x, axis, starts[0], extent) if starts[0] else call.x
    parts = b.split(value, axis, sizes)
    return [b.Squeeze(each, [axis]) for each in parts] if call["squeeze_axis"] else parts


@converts("slice")
def _(b: Builder, call: Call) -> str:
    steps = [1 if s is None else s for s in call["step"] or (None,) * len(call["begin"])]
    starts = [
        (0 if s > 0 else _FAR) if v is None else v
        for v, s in zip(call["begin"], steps, strict=True)
    ]
    ends = [
        (_FAR if s > 0 else -_FAR) if v is None else v
        for v, s in zip(call["end"], steps, strict=True)
    ]
    return b.Slice(call.x, starts, ends, list(range(len(steps))), steps)


@converts("slice_axis")
def _(b: Builder, call: Call) -> str:
    end = _FAR if call["end"] is None else call["end"]
    return b.slice(call.x, call.axis(call["axis"]), call["begin"], end)


@converts("slice_like")
def _(b: Builder, call: Call) -> str:
    axes = [call.axis(a) for a in call["axes"] or range(len(call.shapes[1]))]
    ends = b.Gather(b.Shape(call.inputs[1]), axes, axis=0)
    return b.Slice(call.x, [0] * len(axes), ends, axes)


@converts("reverse")
def _(b: Builder, call: Call) -> str:
    axes = [call.axis(a) for a in call["axis"]]
    return b.Slice(call.x, [-1] * len(axes), [-_FAR] * len(axes), axes, [-1] * len(axes))


@converts("tile")
def _(b: Builder, call: Call) -> str:
    reps = list(call["reps"])
    longer = len(reps) - call.ndim
    x = b.Unsqueeze(call.x, list(range(longer))) if longer > 0 else call.x
    return b.Tile(x, [1] * -longer + reps)


@converts("Pad")
def _(b: Builder, call: Call) -> str:
    widths = list(call["pad_width"])
    value = (
        b.constant(np.asarray(call["constant_value"], call.dtype))
        if call["mode"] == "constant"
        else None
    )
    return b.Pad(call.x, widths[::2] + widths[1::2], value, mode=call["mode"])


@converts("depth_to_space")
def _(b: Builder, call: Call) -> str:
    return b.DepthToSpace(call.x, blocksize=call["block_size"], mode="DCR")


@converts("space_to_depth")
def _(b: Builder, call: Call) -> str:
    return b.SpaceToDepth(call.x, blocksize=call["block_size"])


@converts("shape_array")
def _(b: Builder, call: Call) -> str:
    return b.Shape(call.x)


@converts("size_array")
def _(b: Builder, call: Call) -> str:
    return b.Unsqueeze(b.Size(call.x), [0])


@converts("broadcast_like")
def _(b: Builder, call: Call) -> str:
    if call["lhs_axes"] or call["rhs_axes"]:
        raise NotHere
    return b.Expand(call.x, b.Shape(call.inputs[1]))


@converts("broadcast_to")
def _(b: Builder, call: Call) -> str:
    return b.Expand(call.x, [extent or 1 for extent in call["shape"]])


@converts("broadcast_axis")
def _(b: Builder, call: Call) -> str:
    shape = [1] * call.ndim
    for axis, size in zip(call["axis"], call["size"], strict=True):
        shape[call.axis(axis)] = size
    return b.Expand(call.x, shape)


@converts("_contrib_arange_like")
def _(b: Builder, call: Call) -> str:
    if call["axis"] is None or call["repeat"] != 1:
        raise NotHere
    count = b.Squeeze(b.extent(call.x, call.axis(call["axis"])), [0])
    numbers = b.cast(
        b.Range(b.constant(np.int64(0)), count, b.constant(np.int64(1))), call.out_dtypes[0]
    )
    step, start = (
        b.constant(np.asarray(float(call[n]), call.out_dtypes[0])) for n in ("step", "start")
    )
    return b.Add(b.Mul(numbers, step), start)
