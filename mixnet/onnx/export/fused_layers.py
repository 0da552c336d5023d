"""Conversions of fused layers, in 8-bit integers and in floats; see :mod:`mixnet.ops.quantized.fused`.

Every part of a fused layer is written by the conversion of its own operator. In integers,
``DequantizeLinear`` and ``QuantizeLinear`` enclose them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.integers import in_range, known, measured, restored, step_of
from mixnet.onnx.export.table import CONVERSIONS, Call, NotHere, converts
from mixnet.ops.quantized.fused import MOST_OF_WEIGHT, Parts, body_order, parts_of
from mixnet.ops.quantized.ranges import LIMITS, STEPS

_NORM = ("gamma", "beta", "mean", "var")

_MOST_OF_BIAS = 2**30
"""How many steps of the products a bias may have: runtimes add it to them in int32."""

_LEAST_STEP = 1e-20
"""Of a weight; products of steps stay within float32."""


# ---- parts in floats ------------------------------------------------------------------------------


def _part(
    b: Builder, call: Call, node: Any, values: Sequence[str], places: Sequence[int] = ()
) -> str:
    """A part of a fused layer in floats, by the conversion of its operator.

    Args:
        b: receives the nodes.
        call: the fused layer.
        node: the part.
        values: what it reads.
        places: where the fused layer reads them; the first is its own result if one is missing.
    """
    own = call.out_shapes[:1] if len(places) < len(values) else ()
    floats = np.dtype(np.float32) if call.out_dtypes[0].name in LIMITS else call.out_dtypes[0]
    part = replace(
        call,
        node=node,
        inputs=tuple(values),
        shapes=(*own, *[call.shapes[i] for i in places]),
        dtypes=(floats,) * len(values),
        out_shapes=call.out_shapes[:1],
        out_dtypes=(floats,),
        attributes=node.op.keywords(node.statics, node.scalars),
    )
    if node.op.name not in CONVERSIONS:
        raise NotHere
    result: str = CONVERSIONS[node.op.name](b, part)
    return result


def _activated(b: Builder, call: Call, node: object, value: str) -> str:
    return value if node is None else _part(b, call, node, [value])


def _in_floats(b: Builder, call: Call) -> str:
    """A fused layer that was not quantized."""
    parts = parts_of(call["subgraphs"][0])
    names = body_order(parts)

    def part(node: object, first: Sequence[str], others: Sequence[str]) -> str:
        places = [names.index(each) for each in others]
        return _part(b, call, node, [*first, *[call.inputs[i] for i in places]], places)

    value = part(parts.layer, (), names[: 2 + parts.has_bias])
    if parts.norm is not None:
        value = part(parts.norm, [value], _NORM)
    value = _activated(b, call, parts.act, value)
    if parts.sum is not None:
        value = part(parts.sum, [value], ["sum"])
    return _activated(b, call, parts.post_act, value)


# ---- weights in integers --------------------------------------------------------------------------


def _folded(
    b: Builder, parts: Parts, operands: dict[str, str]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Weight and bias with the normalization folded in."""
    weight = known(b, operands["weight"])
    bias = known(b, operands["bias"]) if "bias" in operands else None
    if parts.norm is None:
        return weight, bias
    attributes = parts.norm.op.keywords(parts.norm.statics)
    gamma, beta, mean, var = (known(b, operands[name]) for name in _NORM)
    factor = (1 if attributes["fix_gamma"] else gamma) / np.sqrt(var + attributes["eps"])
    shift = beta + ((0 if bias is None else bias) - mean) * factor
    return weight * factor.reshape(-1, *[1] * (weight.ndim - 1)), shift


def _by_channel(
    b: Builder, weight: np.ndarray, bias: np.ndarray | None, step: np.ndarray
) -> tuple[str, str | None]:
    """Weight and bias with a step for each channel, from the step of the data."""
    end = np.abs(weight).reshape(len(weight), -1).max(1)
    steps = np.where(end > 0, end, 1) / STEPS["int8"]
    if bias is not None:
        # A channel whose weights are tiny is its bias: that must not be cut off.
        steps = np.maximum(steps, np.abs(bias) / (np.float64(step) * _MOST_OF_BIAS))
    steps = np.maximum(steps, _LEAST_STEP).astype(np.float32)
    return _integer_weight(b, weight, steps), _integer_bias(b, bias, step * steps)


def _integer_weight(b: Builder, weight: np.ndarray, steps: np.ndarray) -> str:
    shape = (-1, *[1] * (weight.ndim - 1))
    integers = np.clip(np.round(weight / steps.reshape(shape)), -MOST_OF_WEIGHT, MOST_OF_WEIGHT)
    return restored(b, b.constant(integers.astype(np.int8)), steps, np.int8, axis=0)


def _integer_bias(b: Builder, bias: np.ndarray | None, step: np.ndarray) -> str | None:
    if bias is None:
        return None
    step = np.broadcast_to(step, bias.shape).astype(np.float32)
    integers = np.round(bias.astype(np.float64) / step).astype(np.int32)
    return str(b.DequantizeLinear(integers, np.ascontiguousarray(step), axis=0))


def _in_one_step(
    b: Builder, operands: dict[str, str], ends: Sequence[str], step: np.ndarray
) -> tuple[str, str | None]:
    """Weight and bias that are integers already, with one step each.

    Args:
        b: receives the nodes.
        operands: values by name.
        ends: of the ranges of weight and bias.
        step: of the data.
    """
    most = LIMITS["int8"][1]
    steps = step_of(b, ends[0], ends[1], np.int8, most)
    if "bias" not in operands:
        return restored(b, operands["weight"], steps, np.int8), None
    bias = known(b, operands["bias"]) * step_of(b, ends[2], ends[3], np.int8, most)
    if np.abs(bias).max(initial=0) > np.float64(step) * steps * _MOST_OF_BIAS:
        return _by_channel(b, known(b, operands["weight"]) * steps, bias, step)
    return restored(b, operands["weight"], steps, np.int8), _integer_bias(b, bias, step * steps)


# ---- what a layer gives ---------------------------------------------------------------------------


def _extent(step: np.ndarray, dtype: np.dtype) -> tuple[float, float]:
    """The least and the greatest number that integers of these steps stand for."""
    low, high = LIMITS[np.dtype(dtype).name]
    return low * float(step), high * float(step)


def _result_extent(b: Builder, call: Call) -> tuple[float, float]:
    ends = [b.constant(np.asarray([each], np.float32)) for each in measured(call)]
    dtype = call.out_dtypes[0]
    return _extent(step_of(b, ends[0], ends[1], dtype), dtype)


def _result(b: Builder, call: Call, act: object, value: str) -> Any:
    """The results of a fused layer: sums after an activation, in floats or rounded."""
    if call["enable_float_output"]:
        return _activated(b, call, act, value)
    if not _clips_no_more(act, *_result_extent(b, call)):
        value = _activated(b, call, act, value)
    return in_range(b, call, value)


def _clip_range(node: Any) -> tuple[float, float] | None:
    """The range in which an activation, or none, keeps numbers, if it clips the others to its ends."""
    if node is None:
        return -np.inf, np.inf
    attributes = node.op.keywords(node.statics, node.scalars)
    if node.op.name == "clip":
        return float(attributes["a_min"]), float(attributes["a_max"])
    return (0, np.inf) if attributes["act_type"] == "relu" else None


def _clips_no_more(node: object, low: float, high: float) -> bool:
    """Whether an activation leaves the numbers from ``low`` to ``high`` as they are, and clips others."""
    ends = _clip_range(node)
    return node is not None and ends is not None and ends[0] <= low and high <= ends[1]


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


# ---- the layers -----------------------------------------------------------------------------------


class _Quantized:
    """What the conversions of both layers in integers begin with: parts, inputs by name, the data's step."""

    def __init__(self, b: Builder, call: Call):
        self.parts = parts_of(call["subgraphs"][0])
        self.names = body_order(self.parts)
        self.operands = dict(zip(self.names, call.inputs, strict=False))
        low, high, *self.other_ends = call.inputs[len(self.names) :]
        self.step = step_of(b, low, high, call.dtype)
        self.attributes = self.parts.layer.op.keywords(self.parts.layer.statics)

    def by_channel(self, b: Builder) -> tuple[str, str | None]:
        """Weight and bias with the normalization folded in, and a step for each channel."""
        return _by_channel(b, *_folded(b, self.parts, self.operands), self.step)


@converts("_sg_mkldnn_conv")
def _(b: Builder, call: Call) -> Any:
    if not call["quantized"]:
        return _in_floats(b, call)
    layer = _Quantized(b, call)
    parts, attributes = layer.parts, layer.attributes
    weight, bias = layer.by_channel(b)
    count = len(attributes["kernel"])
    result = b.Conv(
        restored(b, call.x, layer.step, call.dtype),
        weight,
        bias,
        kernel_shape=list(attributes["kernel"]),
        pads=list(attributes["pad"] or (0,) * count) * 2,
        strides=list(attributes["stride"] or (1,) * count),
        dilations=list(attributes["dilate"] or (1,) * count),
        group=attributes["num_group"],
    )
    if parts.sum is not None:
        result = _activated(b, call, parts.act, result)
        dtype = call.dtypes[layer.names.index("sum")]
        step = step_of(b, layer.other_ends[0], layer.other_ends[1], dtype)
        added = restored(b, layer.operands["sum"], step, dtype)
        if _clip_range(parts.post_act) is not None and not call["enable_float_output"]:
            result = _rounded_before_sum(b, call, result, _extent(step, dtype))
        result = b.Add(result, added)
    return _result(b, call, parts.act if parts.sum is None else parts.post_act, result)


@converts("_sg_mkldnn_fully_connected")
def _(b: Builder, call: Call) -> Any:
    if not call["quantized"]:
        return _in_floats(b, call)
    layer = _Quantized(b, call)
    step, attributes = layer.step, layer.attributes
    if call["channel_wise_quantize"]:
        matrix, bias = layer.by_channel(b)
    else:
        matrix, bias = _in_one_step(b, layer.operands, layer.other_ends, step)
    if attributes["flatten"] or call.ndim == 2:
        rows = call.x if call.ndim == 2 else b.Flatten(call.x, axis=1)
        result = b.Gemm(restored(b, rows, step, call.dtype), matrix, bias, transB=1)
    else:
        x = restored(b, call.x, step, call.dtype)
        result = b.MatMul(x, b.Transpose(matrix, perm=[1, 0]))
        result = result if bias is None else b.Add(result, bias)
    return _result(b, call, layer.parts.act, result)
