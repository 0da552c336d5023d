"""Conversions of reductions, sorting, products and indexing."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.elementwise import one_dtype, only_floats
from mixnet.onnx.export.table import Call, NotHere, converts

_REDUCE = {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "max": "ReduceMax",
    "min": "ReduceMin",
    "prod": "ReduceProd",
}


def axes_of(call: Call) -> list[int] | None:
    """Axes to reduce over; None for all."""
    axes = call["axis"]
    axes = [axes] if isinstance(axes, int) else axes
    listed = None if axes is None or len(axes) == 0 else [call.axis(a) for a in axes]
    if call.attributes.get("exclude"):
        listed = [i for i in range(call.ndim) if i not in (listed or range(call.ndim))]
    return listed


def _reduced(b: Builder, call: Call, op_type: str) -> str:
    """The input reduced over the call's axes; over all of them, MXNet's result has one axis."""
    axes, keep = axes_of(call), bool(call["keepdims"])
    result = b.reduce(op_type, call.x, axes, keep)
    reduces_all = axes is None or len(set(axes)) == call.ndim
    return (
        b.Reshape(result, [1])
        if reduces_all and not keep and call.out_shapes[0] == (1,)
        else result
    )


@converts(*_REDUCE)
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    return _reduced(b, call, _REDUCE[call.node.op.name])


@converts("norm")
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    if call["ord"] not in (1, 2):
        raise NotHere
    return _reduced(b, call, f"ReduceL{call['ord']}")


@converts("argmax", "argmin")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    if call["axis"] is None:
        raise NotHere
    op_type = "ArgMax" if call.node.op.name == "argmax" else "ArgMin"
    attributes = {"axis": call.axis(int(call["axis"])), "keepdims": int(call["keepdims"])}
    place = b.cast(b.add(op_type, (call.x,), attributes), call.out_dtypes[0], np.int64)
    return b.Reshape(place, [1]) if call.ndim == 1 and not call["keepdims"] else place


def _ordered(b: Builder, call: Call, axis: int, count: Any) -> list[str]:
    """The first ``count`` elements along an axis in order, and their indices."""
    attributes = {"axis": axis, "largest": int(not call["is_ascend"])}
    return b.add_several("TopK", (call.x, count), 2, attributes)


@converts("topk")
def _(b: Builder, call: Call) -> Any:
    only_floats(call)
    axis, kind = call["axis"], call["ret_typ"]
    if axis is None or kind not in ("indices", "value", "both") or call["k"] < 1:
        raise NotHere
    values, order = _ordered(b, call, call.axis(axis), [int(call["k"])])
    order = b.cast(order, call.out_dtypes[-1], np.int64) if kind != "value" else order
    return {"indices": [order], "value": [values], "both": [values, order]}[kind]


@converts("argsort", "sort")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    if call["axis"] is None:
        raise NotHere
    axis = call.axis(call["axis"])
    values, order = _ordered(b, call, axis, b.extent(call.x, axis))
    return values if call.node.op.name == "sort" else b.cast(order, call.out_dtypes[0], np.int64)


@converts("take")
def _(b: Builder, call: Call) -> str:
    axis = call.axis(call["axis"])
    index = b.cast(call.inputs[1], np.int64, call.dtypes[1])
    extent = b.extent(call.x, axis)
    zero = b.constant(np.zeros(1, np.int64))
    if call["mode"] == "wrap":
        index = b.Mod(index, extent)
    else:
        index = b.Min(b.Max(index, zero), b.Sub(extent, b.constant(np.ones(1, np.int64))))
    if not call.shapes[1]:
        index = b.Reshape(index, [])
    return b.Gather(call.x, index, axis=axis)


@converts("one_hot")
def _(b: Builder, call: Call) -> str:
    dtype = call.out_dtypes[0]
    index, depth = b.cast(call.x, np.int64, call.dtype), int(call["depth"])
    inside = b.And(
        b.GreaterOrEqual(index, b.constant(np.int64(0))), b.Less(index, b.constant(np.int64(depth)))
    )
    ends = b.constant(np.asarray([call["off_value"], call["on_value"]], dtype))
    rows = b.OneHot(
        b.Where(inside, index, b.constant(np.int64(depth))), b.constant(np.int64(depth + 1)), ends
    )
    return b.slice(rows, call.ndim, 0, depth)


@converts("gather_nd")
def _(b: Builder, call: Call) -> str:
    rank = len(call.shapes[1])
    index = b.cast(call.inputs[1], np.int64, call.dtypes[1])
    return b.GatherND(call.x, b.Transpose(index, perm=[*range(1, rank), 0]))


@converts("batch_dot")
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    return b.MatMul(*_transposed(b, call))


@converts("_linalg_gemm2")
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    if call["axis"] != -2:
        raise NotHere
    product = b.MatMul(*_transposed(b, call))
    alpha = float(call["alpha"])
    return product if alpha == 1 else b.Mul(product, b.constant(np.asarray(alpha, call.dtype)))


@converts("dot")
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    if [len(each) for each in call.shapes] != [2, 2]:
        raise NotHere
    return b.MatMul(*_transposed(b, call))


def _transposed(b: Builder, call: Call) -> list[str]:
    transposed = []
    for name, value, shape in zip("ab", call.inputs, call.shapes, strict=True):
        rank = len(shape)
        turned = call[f"transpose_{name}"]
        transposed.append(
            b.Transpose(value, perm=[*range(rank - 2), rank - 1, rank - 2]) if turned else value
        )
    return transposed
