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
from mixnet.ops.quantized.ranges import LIMITS, STEPS

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


def known(b: Builder, name: str) -> np.ndarray:
    """The array of a constant; not here if the value is computed."""
    array = b.known(name)
    if array is None:
        raise NotHere
    return array


def step_of(b: Builder, low: str, high: str, dtype: Any, steps: float | None = None) -> np.ndarray:
    """The float value of one integer step."""
    end = max(abs(known(b, each)).max() for each in (low, high))
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


def in_range(b: Builder, call: Call, value: str) -> list[str]:
    """Floats quantized to the calibrated range, and the range."""
    low, high = measured(call)
    ends = [b.constant(np.asarray([each], np.float32)) for each in (low, high)]
    dtype = call.out_dtypes[0]
    return [rounded(b, value, step_of(b, ends[0], ends[1], dtype), dtype), *ends]


def _same_range(b: Builder, call: Call, value: str) -> list[str]:
    """Floats quantized to the range of the first input."""
    _, low, high = call.inputs[:3]
    dtype = call.out_dtypes[0]
    return [rounded(b, value, step_of(b, low, high, dtype), dtype), low, high]


def _first(b: Builder, call: Call) -> str:
    x, low, high = call.inputs[:3]
    return restored(b, x, step_of(b, low, high, call.dtype), call.dtype)


@converts("_contrib_quantize_v2")
def _(b: Builder, call: Call) -> list[str]:
    if call.dtype != np.float32:
        raise NotHere
    integers, low, high = in_range(b, call, call.x)
    if call.out_dtypes[0] == np.int8:  # whose range reaches as far on both sides
        end = np.maximum(*[np.abs(known(b, each)) for each in (low, high)])
        low, high = b.constant(-end), b.constant(end)
    return [integers, low, high]


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
    left = restored(b, one, step_of(b, ends[0], ends[1], call.dtypes[0]), call.dtypes[0])
    right = restored(b, two, step_of(b, ends[2], ends[3], call.dtypes[1]), call.dtypes[1])
    return in_range(b, call, b.Add(left, right))


@converts("_contrib_quantized_concat")
def _(b: Builder, call: Call) -> list[str]:
    count = call["num_args"]
    ends = call.inputs[count:]
    parts = [
        restored(b, x, step_of(b, ends[2 * i], ends[2 * i + 1], call.dtypes[i]), call.dtypes[i])
        for i, x in enumerate(call.inputs[:count])
    ]
    low = b.constant(np.min([known(b, each) for each in ends[::2]], 0))
    high = b.constant(np.max([known(b, each) for each in ends[1::2]], 0))
    dtype = call.out_dtypes[0]
    joined = b.Concat(*parts, axis=call.axis(call["dim"]))
    return [rounded(b, joined, step_of(b, low, high, dtype), dtype), low, high]


@converts("_contrib_quantized_batch_norm")
def _(b: Builder, call: Call) -> list[str]:
    x, gamma, beta, mean, var, low, high = call.inputs
    data = restored(b, x, step_of(b, low, high, call.dtype), call.dtype)
    if call["fix_gamma"]:
        gamma = b.constant(np.ones_like(known(b, gamma)))
    if call.axis(call["axis"]) != 1:
        raise NotHere
    normalized = b.BatchNormalization(data, gamma, beta, mean, var, epsilon=float(call["eps"]))
    return in_range(b, call, normalized)
