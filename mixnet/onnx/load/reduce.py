"""Readers of reductions, sorting and random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.onnx.load.extents import is_open
from mixnet.onnx.load.shape import axes_of
from mixnet.onnx.load.table import Call, reads
from mixnet.onnx.package import onnx_package

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

_PLAIN = {"ReduceMax": "_np_max", "ReduceMin": "_np_min", "ReduceProd": "_np_prod", "ReduceSum": "_np_sum",
          "ReduceMean": "_npi_mean"}  # fmt: skip


def _axes(g: Reading, call: Call) -> tuple[int, ...] | None:
    """Axes to reduce over; None for no axis at all."""
    rank = len(g.shape(call.x))
    axes = axes_of(g, call, 13 if call.node.op_type == "ReduceSum" else 18)
    if not axes:
        return None if call.get("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(a % rank for a in axes)


def _reduced(g: Reading, op: str, x: object, axes: tuple[int, ...], keep: bool) -> Any:
    reduces_all = len(axes) == len(g.shape(x)) and not keep
    result = g.op(op, x, axis=axes, keepdims=keep or reduces_all)
    return g.mark_scalar(g.op("Reshape", result, shape=(1,))) if reduces_all else result


@reads(*_PLAIN)
def _(g: Reading, call: Call) -> Any:
    axes = _axes(g, call)
    if axes is None:
        return g.op("_copy", call.x)
    if call.node.op_type in ("ReduceMax", "ReduceMin") and any(
        g.shape(call.x)[a] == 0 for a in axes
    ):
        return _of_nothing(g, call, axes)
    result = _reduced(g, _PLAIN[call.node.op_type], call.x, axes, bool(call.get("keepdims", 1)))
    if g.dtype(result) == g.dtype(call.x):
        return result
    return g.mark_scalar(g.op("Cast", result, dtype=g.dtype(call.x).name), g.is_scalar(result))


def _of_nothing(g: Reading, call: Call, axes: tuple[int, ...]) -> np.ndarray:
    """The largest or smallest of no elements: what every other element replaces."""
    dtype, largest = g.dtype(call.x), call.node.op_type == "ReduceMax"
    if dtype.kind == "b":
        worst: float = not largest
    elif dtype.kind == "f":
        worst = -np.inf if largest else np.inf
    else:
        worst = np.iinfo(dtype).min if largest else np.iinfo(dtype).max
    return np.full_like(
        np.zeros(g.checked_shape(g.shape(call.x)), dtype).sum(
            axis=axes, keepdims=bool(call.get("keepdims", 1))
        ),
        worst,
        dtype,
    )


@reads("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
def _(g: Reading, call: Call) -> Any:
    kind, keep = call.node.op_type, bool(call.get("keepdims", 1))
    axes, x = _axes(g, call), call.x
    if kind == "ReduceL1":
        x = g.op("_npi_absolute", x)
    if kind in ("ReduceL2", "ReduceSumSquare"):
        x = g.op("_npi_multiply", x, x)
    if kind == "ReduceLogSumExp" and any(g.shape(x)[a] == 0 for a in axes or ()):
        zeros = np.zeros(g.checked_shape(g.shape(x)), g.dtype(x))
        return np.full_like(zeros.sum(axis=axes, keepdims=keep), -np.inf)
    if kind == "ReduceLogSumExp":
        return _log_sum_exp(g, x, axes or (), keep)
    total = x if axes is None else _reduced(g, "_np_sum", x, axes, keep)
    after = {"ReduceL2": "_npi_sqrt", "ReduceLogSum": "_npi_log"}.get(kind)
    return total if after is None else g.op(after, total)


def _log_sum_exp(g: Reading, x: object, axes: tuple[int, ...], keep: bool) -> Any:
    largest = g.op("BlockGrad", g.op("_np_max", x, axis=axes, keepdims=True))
    total = g.op(
        "_np_sum", g.op("_npi_exp", g.op("_npi_subtract", x, largest)), axis=axes, keepdims=True
    )
    result = g.op("_npi_add", g.op("_npi_log", total), largest)
    if keep:
        return result
    reduces_all = len(axes) == len(g.shape(x))
    if reduces_all:
        return g.mark_scalar(g.op("Reshape", result, shape=(1,)))
    return g.op("_np_squeeze", result, axis=axes)


@reads("ArgMax", "ArgMin")
def _(g: Reading, call: Call) -> Any:
    axis, keep = call.get("axis", 0), bool(call.get("keepdims", 1))
    x, extent = call.x, g.shape(call.x)[call.get("axis", 0)]
    last = bool(call.get("select_last_index", 0))
    x = g.op("_npi_flip", x, axis=axis) if last else x
    place = g.op(
        "_npi_argmax" if call.node.op_type == "ArgMax" else "_npi_argmin",
        x,
        axis=axis,
        keepdims=keep,
    )
    if last:
        place = g.op("_npi_rsubtract_scalar", place, scalar=extent - 1)
    return g.op("Cast", place, dtype="int64")


@reads("TopK")
def _(g: Reading, call: Call) -> Any:
    k = call.get("k") if g.opset < 10 else g.ints(call.inputs[1], "k")[0]
    attributes = {"axis": call.get("axis", -1), "k": k, "is_ascend": not call.get("largest", 1)}
    if is_open(k):
        kinds = ("value", "indices")
        return [g.op("topk", call.x, ret_typ=kind, dtype="int64", **attributes) for kind in kinds]
    results = g.op("topk", call.x, ret_typ="both", dtype="int64", **attributes)
    return [results[0], results[1]]


@reads("CumSum")
def _(g: Reading, call: Call) -> Any:
    axis = int(g.constant(call.inputs[1], "the axis").reshape(-1)[0])
    reverse, x = call.get("reverse", 0), call.x
    x = g.op("_npi_flip", x, axis=axis) if reverse else x
    sums = g.op("cumsum", x, axis=axis)
    sums = g.op("_npi_subtract", sums, x) if call.get("exclusive", 0) else sums
    sums = g.op("_npi_flip", sums, axis=axis) if reverse else sums
    return g.op("Cast", sums, dtype=g.dtype(call.x).name)


@reads("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike")
def _(g: Reading, call: Call) -> Any:
    kind = call.node.op_type
    shape = tuple(call.get("shape")) if call.get("shape") else g.shape(call.x)
    if is_open(shape):
        return _drawn_like(g, call)
    code = call.get("dtype", 1)
    dtype = np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(code)).name
    if "Normal" in kind:
        return g.op(
            "_random_normal",
            loc=call.get("mean", 0.0),
            scale=call.get("scale", 1.0),
            shape=shape,
            dtype=dtype,
        )
    return g.op(
        "_random_uniform",
        low=call.get("low", 0.0),
        high=call.get("high", 1.0),
        shape=shape,
        dtype=dtype,
    )


def _drawn_like(g: Reading, call: Call) -> Any:
    """Random numbers in the shape of an array of open extents."""
    if "Normal" in call.node.op_type:
        return g.op(
            "_random_normal_like", call.x, loc=call.get("mean", 0.0), scale=call.get("scale", 1.0)
        )
    return g.op(
        "_random_uniform_like", call.x, low=call.get("low", 0.0), high=call.get("high", 1.0)
    )


@reads("Multinomial")
def _(g: Reading, call: Call) -> Any:
    return g.op(
        "_sample_multinomial", g.op("softmax", call.x, axis=-1), shape=(call.get("sample_size", 1),)
    )
