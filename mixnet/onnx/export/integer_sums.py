"""Layers that give the sums of their products in int32, and the operator that rounds these.

The layer is written in floats between dequantized arrays, and ``requantize`` rounds those floats: runtimes
fuse this into one layer on integers. The sums themselves are written too, and dropped where
nobody else reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.integers import measured, restored, rounded
from mixnet.onnx.export.table import CONVERSIONS, Call, NotHere, converts
from mixnet.onnx.package import type_code
from mixnet.ops.quantized.ranges import INT32_STEPS, LIMITS, STEPS

_LEAST_END = 1e-30
"""Of a range: a step is never 0."""


@dataclass(frozen=True)
class _Whole:
    """An array of integers; ``end`` is the greatest number by size that its integers stand for."""

    value: str
    dtype: np.dtype
    end: Any

    def step(self, b: Builder, steps: float) -> Any:
        """The value of one integer if ``steps`` of them reach the end."""
        return _calculated(b, np.divide, "Div", self.end, np.float32(steps))


def _calculated(b: Builder, function: Any, op_type: str, one: Any, two: Any) -> Any:
    """A number where both are known when the file is written, else the name of a value."""
    if isinstance(one, str) or isinstance(two, str):
        return b.add(op_type, (one, two), {})
    return np.asarray(function(one, two), np.float32)


def _whole(b: Builder, call: Call, place: int, ends: int) -> _Whole:
    low, high = (b.known(each) for each in call.inputs[ends : ends + 2])
    if low is None or high is None:
        far = b.Max(*[b.Abs(each) for each in call.inputs[ends : ends + 2]])
        end: str | np.floating = b.Squeeze(b.Max(far, np.float32(_LEAST_END)))
    else:
        end = np.float32(max(abs(low).max(), abs(high).max(), _LEAST_END))
    return _Whole(call.inputs[place], call.dtypes[place], end)


def _sums(b: Builder, call: Call, layer: str) -> list[str]:
    arrays = 2 if call["no_bias"] else 3
    operands = [_whole(b, call, i, arrays + 2 * i) for i in range(arrays)]
    factors = operands[:2]
    data, weight = (each.step(b, LIMITS[each.dtype.name][1]) for each in factors)
    step = _calculated(b, np.multiply, "Mul", data, weight)
    inputs = [
        restored(b, each.value, size, each.dtype)
        for each, size in zip(factors, (data, weight), strict=True)
    ]
    if not call["no_bias"]:
        inputs.append(_bias(b, operands, step))
    floats = (np.dtype(np.float32),) * arrays
    plain = replace(
        call,
        inputs=tuple(inputs),
        dtypes=floats,
        out_dtypes=floats[:1],
        shapes=call.shapes[:arrays],
    )
    result = CONVERSIONS[layer](b, plain)
    sums = b.Cast(b.Round(b.Div(result, step)), to=type_code(np.int32))
    b.floats[sums] = result
    end = _calculated(b, np.multiply, "Mul", step, np.float32(INT32_STEPS))
    high = b.Reshape(end, [1]) if isinstance(end, str) else b.constant(end.reshape(1))
    low = b.Neg(high) if isinstance(end, str) else b.constant(-end.reshape(1))
    return [sums, low, high]


def _bias(b: Builder, operands: list[_Whole], step: object) -> str:
    """The bias in steps of the products, which are counted as oneDNN does, in floats."""
    data, weight, bias = (each.step(b, STEPS[each.dtype.name]) for each in operands)
    product = _calculated(b, np.multiply, "Mul", data, weight)
    per_step = _calculated(b, np.divide, "Div", bias, product)
    integers = b.known(operands[2].value)
    if integers is None or isinstance(per_step, str) or isinstance(step, str):
        numbers = b.Mul(b.Cast(operands[2].value, to=type_code(np.float32)), per_step)
        return str(
            b.Mul(b.Cast(b.Cast(numbers, to=type_code(np.int32)), to=type_code(np.float32)), step)
        )
    numbers = np.trunc(integers.astype(np.float64) * per_step).astype(np.int32)
    return restored(b, b.constant(numbers), np.full(numbers.shape, step), np.int32, axis=0)


converts("_contrib_quantized_conv")(partial(_sums, layer="Convolution"))
converts("_contrib_quantized_fully_connected")(partial(_sums, layer="FullyConnected"))


@converts("_contrib_requantize")
def _(b: Builder, call: Call) -> list[str]:
    floats = b.floats.get(call.x)
    if floats is None:
        raise NotHere
    dtype = call.out_dtypes[0]
    end = np.float32(max(max(map(abs, measured(call))), _LEAST_END))
    integers = rounded(b, floats, np.asarray(end / LIMITS[dtype.name][1], np.float32), dtype)
    low = np.zeros(1, np.float32) if dtype == np.uint8 else -end.reshape(1)
    return [integers, b.constant(low), b.constant(end.reshape(1))]
