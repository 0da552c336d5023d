"""Conversions of 8-bit integer operators: pairs of ``QuantizeLinear`` and ``DequantizeLinear``.

The ONNX float operators are between the two; a runtime fuses the three into one on integers (ONNX calls this
form QDQ). It needs calibrated ranges: without them an operator is converted by primitives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.layers import pooled
from mixnet.onnx.export.table import Call, NotHere, converts
from mixnet.ops.quantized.fused import MOST_OF_WEIGHT, body_order, parts_of
from mixnet.ops.quantized.quantize import LIMITS, STEPS

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


def _known(b: Builder, name: str) -> np.ndarray:
    array = b.known(name)
    if array is None:
        raise NotHere
    return array


def _step(b: Builder, low: str, high: str, dtype: Any, steps: float | None = None) -> np.ndarray:
    """The float value of one integer step."""
    end = max(abs(_known(b, each)).max() for each in (low, high))
    number = steps or STEPS[np.dtype(dtype).name]
    return np.asarray(end / number if end > 0 else 1 / number, np.float32)


def restored(
    b: Builder, value: str, step: np.ndarray | str, dtype: DTypeLike, axis: int | None = None
) -> str:
    """Dequantized integers; a step that is computed is one number."""
    zero = b.constant(np.zeros(() if isinstance(step, str) else step.shape, dtype))
    return str(b.DequantizeLinear(value, step, zero, axis=axis))


def rounded(b: Builder, value: str, step: np.ndarray, dtype: DTypeLike) -> str:
    """Quantized floats."""
    return str(b.QuantizeLinear(value, step, b.constant(np.zeros((), dtype))))


def measured(call: Call) -> tuple[float, float]:
    """The calibrated range of a call's result; not here if there is none."""
    low, high = call["min_calib_range"], call["max_calib_range"]
    if low is None or high is None:
        raise NotHere
    return float(low), float(high)


def _in_range(b: Builder, call: Call, value: str) -> list[str]:
    """Floats quantized to the calibrated range, and the range."""
    low, high = measured(call)
    ends = [b.constant(np.asarray([each], np.float32)) for each in (low, high)]
    dtype = call.out_dtypes[0]
    return [rounded(b, value, _step(b, ends[0], ends[1], dtype), dtype), *ends]


def _same_range(b: Builder, call: Call, value: str) -> list[str]:
    """Floats quantized to the range of the first input."""
    _, low, high = call.inputs[:3]
    dtype = call.out_dtypes[0]
    return [rounded(b, value, _step(b, low, high, dtype), dtype), low, high]


def _first(b: Builder, call: Call) -> str:
    x, low, high = call.inputs[:3]
    return restored(b, x, _step(b, low, high, call.dtype), call.dtype)


@converts("_contrib_quantize_v2")
def _(b: Builder, call: Call) -> list[str]:
    if call.dtype != np.float32:
        raise NotHere
    return _in_range(b, call, call.x)


@converts("_contrib_dequantize")
def _(b: Builder, call: Call) -> str:
    if call.dtype.name not in LIMITS:
        raise NotHere
    return _first(b, call)


@converts("_contrib_dequantize_rows")
def _(b: Builder, call: Call) -> str:
    step = b.known(call.inputs[1])
    if step is None or step.shape[1:] != (1,) or call["bits"] != "8":
        raise NotHere
    return restored(b, call.x, step[:, 0], np.int8, axis=0)


@converts("_contrib_quantized_flatten")
def _(b: Builder, call: Call) -> list[str]:
    return [b.Flatten(call.x, axis=1), *call.inputs[1:]]


@converts("_contrib_quantized_act")
def _(b: Builder, call: Call) -> list[str]:
    return _same_range(b, call, b.Relu(_first(b, call)))


@converts("_contrib_quantized_pooling")
def _(b: Builder, call: Call) -> list[str]:
    return _same_range(b, call, pooled(b, call, _first(b, call)))


@converts("_contrib_quantized_elemwise_add")
def _(b: Builder, call: Call) -> list[str]:
    measured(call)
    one, two, *ends = call.inputs
    left = restored(b, one, _step(b, ends[0], ends[1], call.dtypes[0]), call.dtypes[0])
    right = restored(b, two, _step(b, ends[2], ends[3], call.dtypes[1]), call.dtypes[1])
    return _in_range(b, call, b.Add(left, right))


@converts("_contrib_quantized_concat")
def _(b: Builder, call: Call) -> list[str]:
    count = call["num_args"]
    ends = call.inputs[count:]
    parts = [
        restored(b, x, _step(b, ends[2 * i], ends[2 * i + 1], call.dtypes[i]), call.dtypes[i])
        for i, x in enumerate(call.inputs[:count])
    ]
    low = b.constant(np.min([_known(b, each) for each in ends[::2]], 0))
    high = b.constant(np.max([_known(b, each) for each in ends[1::2]], 0))
    dtype = call.out_dtypes[0]
    joined = b.Concat(*parts, axis=call.axis(call["dim"]))
    return [rounded(b, joined, _step(b, low, high, dtype), dtype), low, high]


@converts("_contrib_quantized_batch_norm")
def _(b: Builder, call: Call) -> list[str]:
    x, gamma, beta, mean, var, low, high = call.inputs
    data = restored(b, x, _step(b, low, high, call.dtype), call.dtype)
    if call["fix_gamma"]:
        gamma = b.constant(np.ones_like(_known(b, gamma)))
    if call.axis(call["axis"]) != 1:
        raise NotHere
    normalized = b.BatchNormalization(data, gamma, beta, mean, var, epsilon=float(call["eps"]))
    return _in_range(b, call, normalized)


# ---- fused layers ---------------------------------------------------------------------------------


def _activated(b: Builder, node: Any, value: str) -> str:
    if node is None:
        return value
    known = node.op.keywords(node.statics, node.scalars)
    if node.op.name == "Activation" and known["act_type"] == "relu":
        return str(b.Relu(value))
    if node.op.name == "clip":
        ends = [np.asarray(known[each], np.float32) for each in ("a_min", "a_max")]
        return str(b.Clip(value, *ends))
    if node.op.name == "LeakyReLU" and known["act_type"] == "leaky":
        return str(b.LeakyRelu(value, alpha=float(known["slope"])))
    raise NotHere


def _whole_bias(b: Builder, bias: np.ndarray | None, step: np.ndarray) -> str | None:
    if bias is None:
        return None
    limits = np.iinfo(np.int32)
    whole = np.clip(np.round(bias.astype(np.float64) / step), limits.min, limits.max)
    step = np.broadcast_to(step, bias.shape).astype(np.float32)
    return str(b.DequantizeLinear(whole.astype(np.int32), np.ascontiguousarray(step), axis=0))


def _whole_weight(b: Builder, weight: np.ndarray, step: np.ndarray) -> str:
    shape = (-1, *[1] * (weight.ndim - 1))
    whole = np.clip(np.round(weight / step.reshape(shape)), -MOST_OF_WEIGHT, MOST_OF_WEIGHT)
    return restored(b, b.constant(whole.astype(np.int8)), step, np.int8, axis=0)


def _channel_steps(weight: np.ndarray) -> np.ndarray:
    end = np.abs(weight).reshape(len(weight), -1).max(1)
    return (np.where(end > 0, end, 1) / STEPS["int8"]).astype(np.float32)


@converts("_sg_mkldnn_conv")
def _(b: Builder, call: Call) -> Any:
    if not call["quantized"]:
        raise NotHere
    parts = parts_of(call["subgraphs"][0])
    names = body_order(parts)
    operands = dict(zip(names, call.inputs, strict=False))
    low, high, *others = call.inputs[len(names) :]
    step = _step(b, low, high, call.dtype)
    weight, bias = _folded(b, parts, operands)
    steps = _channel_steps(weight)
    known = parts.layer.op.keywords(parts.layer.statics)
    count = len(known["kernel"])
    result = b.Conv(
        restored(b, call.x, step, call.dtype),
        _whole_weight(b, weight, steps),
        _whole_bias(b, bias, step * steps),
        kernel_shape=list(known["kernel"]),
        pads=list(known["pad"] or (0,) * count) * 2,
        strides=list(known["stride"] or (1,) * count),
        dilations=list(known["dilate"] or (1,) * count),
        group=known["num_group"],
    )
    if parts.sum is not None:
        result = _activated(b, parts.act, result)
        dtype = call.dtypes[names.index("sum")]
        step = _step(b, others[0], others[1], dtype)
        added = restored(b, operands["sum"], step, dtype)
        if _clips(parts.post_act) and not call["enable_float_output"]:
            result = _rounded_before_sum(b, call, result, _extent(step, dtype))
        result = b.Add(result, added)
    return _result(b, call, parts.act if parts.sum is None else parts.post_act, result)


def _extent(step: np.ndarray, dtype: np.dtype) -> tuple[float, float]:
    """The least and the greatest number that integers of these steps stand for."""
    low, high = LIMITS[np.dtype(dtype).name]
    return low * float(step), high * float(step)


def _result_extent(b: Builder, call: Call) -> tuple[float, float]:
    ends = [b.constant(np.asarray([each], np.float32)) for each in measured(call)]
    dtype = call.out_dtypes[0]
    return _extent(_step(b, ends[0], ends[1], dtype), dtype)


def _result(b: Builder, call: Call, act: Any, value: str) -> Any:
    """What a fused layer gives: sums after an activation, in floats or rounded."""
    if call["enable_float_output"]:
        return _activated(b, act, value)
    if not _clips_no_more(act, *_result_extent(b, call)):
        value = _activated(b, act, value)
    return _in_range(b, call, value)


def _clips_no_more(node: Any, low: float, high: float) -> bool:
    """Whether an activation leaves the numbers from ``low`` to ``high`` as they are, and clips others."""
    if node is None or not _clips(node):
        return False
    known = node.op.keywords(node.statics, node.scalars)
    if node.op.name == "clip":
        return bool(known["a_min"] <= low and high <= known["a_max"])
    return bool(known["act_type"] == "relu" and low >= 0)


def _clips(node: Any) -> bool:
    """Whether an activation, or none, keeps numbers in a range and clips the others."""
    return node is None or node.op.name in ("Activation", "clip")


def _rounded_before_sum(b: Builder, call: Call, value: str, added: tuple[float, float]) -> str:
    """What is added to other integers, in integers itself: runtimes add two of them, and fuse the
    layer before.

    The range follows from the others. The result holds numbers from ``low`` to ``high``; a number
    below ``low`` less the greatest that is added is clipped there as well, whatever is added.
    """
    low, high = _result_extent(b, call)
    low, high = min(0.0, low - added[1]), max(0.0, high - added[0])
    most = LIMITS["uint8"][1]
    step = np.asarray((high - low) / most, np.float32)
    zero = b.constant(np.asarray(round(-low / float(step)), np.uint8))
    return str(b.DequantizeLinear(b.QuantizeLinear(value, step, zero), step, zero))


def _folded(
    b: Builder, parts: Any, operands: dict[str, str]
) -> tuple[np.ndarray, np.ndarray | None]:
    weight = _known(b, operands["weight"])
    bias = _known(b, operands["bias"]) if "bias" in operands else None
    if parts.norm is None:
        return weight, bias
    known = parts.norm.op.keywords(parts.norm.statics)
    gamma, beta, mean, var = (_known(b, operands[n]) for n in ("gamma", "beta", "mean", "var"))
    factor = (1 if known["fix_gamma"] else gamma) / np.sqrt(var + known["eps"])
    shift = beta + ((0 if bias is None else bias) - mean) * factor
    return weight * factor.reshape(-1, *[1] * (weight.ndim - 1)), shift


@converts("_sg_mkldnn_fully_connected")
def _(b: Builder, call: Call) -> Any:
    if not call["quantized"]:
        raise NotHere
    parts = parts_of(call["subgraphs"][0])
    names = body_order(parts)
    operands = dict(zip(names, call.inputs, strict=False))
    low, high, *others = call.inputs[len(names) :]
    step = _step(b, low, high, call.dtype)
    if call["channel_wise_quantize"]:
        weight, bias = _folded(b, parts, operands)
        steps = _channel_steps(weight)
        matrix, added = _whole_weight(b, weight, steps), _whole_bias(b, bias, step * steps)
    else:
        steps = _step(b, others[0], others[1], np.int8, LIMITS["int8"][1])
        matrix, added, bias = restored(b, operands["weight"], steps, np.int8), None, None
        if "bias" in operands:
            scale = _step(b, others[2], others[3], np.int8, LIMITS["int8"][1])
            bias = _known(b, operands["bias"]) * scale
            added = _whole_bias(b, bias, step * steps)
    known = parts.layer.op.keywords(parts.layer.statics)
    if known["flatten"] or call.ndim == 2:
        rows = call.x if call.ndim == 2 else b.Flatten(call.x, axis=1)
        result = b.Gemm(restored(b, rows, step, call.dtype), matrix, added, transB=1)
    else:
        x = restored(b, call.x, step, call.dtype)
        result = b.MatMul(x, b.Transpose(matrix, perm=[1, 0]))
        result = result if added is None else b.Add(result, added)
    return _result(b, call, parts.act, result)
