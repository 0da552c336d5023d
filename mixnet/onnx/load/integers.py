"""Readers of quantized operators, computed in floats that hold the whole numbers exactly.

A quantized array holds whole numbers here, too. ``DequantizeLinear`` right after ``QuantizeLinear`` passes
gradients on as if nothing had been rounded, so that a quantized network can be trained further.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import NotDefinedError
from mixnet.onnx.load.extents import is_open
from mixnet.onnx.load.table import READERS, Call, reads
from mixnet.onnx.package import onnx_package

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

_EXACT = 1 << 24
"""Sums of whole numbers below this are exact in float32."""


def _along(g: Reading, value: object, rank: int, axis: int) -> Any:
    """A scale or zero point in the shape that fits data; a single one fits any."""
    shape = g.shape(value)
    if math.prod(shape) == 1:
        return g.op("Reshape", value, shape=(1,))
    if len(shape) > 1:
        raise NotDefinedError(f"a scale or zero point of shape {shape} is not supported")
    return g.op("Reshape", value, shape=tuple(-1 if i == axis else 1 for i in range(rank)))


def _settings(g: Reading, call: Call, x: object, dtype: object) -> tuple[Any, Any]:
    """Scale and zero point in the shape of data; the zero point is None where it is 0."""
    shape, block = g.shape(x), call.get("block_size", 0)
    axis = call.get("axis", 1) % max(len(shape), 1)

    def fitting(value: object) -> Any:
        if not block:
            return g.op("Cast", _along(g, value, len(shape), axis), dtype=dtype)
        repeated = g.op("repeat", g.op("Cast", value, dtype=dtype), repeats=block, axis=axis)
        return g.op("slice_axis", repeated, axis=axis, begin=0, end=shape[axis])

    scale, zero = fitting(call.inputs[1]), call.input(2)
    if zero is None or (isinstance(zero, np.ndarray) and not zero.any()):
        return scale, None
    return scale, fitting(zero)


def _quantized(g: Reading, x: object, scale: object, zero: object, kind: np.dtype) -> Any:
    """Whole numbers of a dtype, as floats."""
    limits = np.iinfo(kind)
    integers = g.op("_npi_around", g.op("_npi_true_divide", x, scale), decimals=0)
    integers = integers if zero is None else g.op("_npi_add", integers, zero)
    return g.op("clip", integers, a_min=float(limits.min), a_max=float(limits.max))


def _floats(g: Reading, integers: object, scale: object, zero: object) -> Any:
    integers = integers if zero is None else g.op("_npi_subtract", integers, zero)
    return g.op("_npi_multiply", integers, scale)


@reads("QuantizeLinear")
def _(g: Reading, call: Call) -> Any:
    zero = call.input(2)
    kind = np.dtype("uint8") if zero is None else g.dtype(zero)
    if call.get("output_dtype"):
        helper = onnx_package().helper
        kind = np.dtype(helper.tensor_dtype_to_np_dtype(call.get("output_dtype")))
    if kind.kind not in "iu":
        raise NotDefinedError(f"numbers of {kind} are not supported")
    dtype = g.dtype(call.x).name
    if g.dtype(call.x).kind != "f":
        dtype = "float32"
    x = g.op("Cast", call.x, dtype=dtype)
    scale, zero = _settings(g, call, x, dtype)
    integers = _quantized(g, x, scale, zero, kind)
    out = g.op("Cast", integers, dtype=kind.name)
    g.rounded[out._heads[0]] = (x, integers)
    return out


@reads("DequantizeLinear")
def _(g: Reading, call: Call) -> Any:
    dtype = g.dtype(call.inputs[1]).name
    scale, zero = _settings(g, call, call.x, dtype)
    source = None if isinstance(call.x, np.ndarray) else g.rounded.get(call.x._heads[0])
    if source is None:
        return _floats(g, g.op("Cast", call.x, dtype=dtype), scale, zero)
    x, integers = source
    out = _floats(g, g.op("Cast", integers, dtype=dtype), scale, zero)
    limits = np.iinfo(g.dtype(call.x))
    low, high = (
        _floats(g, np.full(1, each, np.dtype(dtype)), scale, zero)
        for each in (limits.min, limits.max)
    )
    # The value is rounded and clipped; the gradient is that of clipping alone.
    clipped = g.op("broadcast_minimum", g.op("broadcast_maximum", x, low), high)
    change = g.op("BlockGrad", g.op("_npi_subtract", out, clipped))
    return g.op("_npi_add", clipped, change)


def _whole_floats(g: Reading, value: object, zero: object, terms: int, axis: int | None) -> Any:
    """Whole numbers minus their zero point, in floats that hold sums of products exactly."""
    bits = g.dtype(value).itemsize * 8
    fits = not is_open(terms) and terms << 2 * bits <= _EXACT
    dtype = "float32" if fits else "float64"
    value, rank = g.op("Cast", value, dtype=dtype), len(g.shape(value))
    if zero is None:
        return value
    place = _along(g, zero, rank, 0 if axis is None else axis % rank)
    return g.op("_npi_subtract", value, g.op("Cast", place, dtype=dtype))


@reads("MatMulInteger")
def _(g: Reading, call: Call) -> Any:
    a, b = _factors(g, call.inputs[:2], [call.input(2), call.input(3)])
    return g.op("Cast", g.op("_npi_matmul", a, b), dtype="int32")


def _factors(g: Reading, values: list[Any], zeros: list[Any]) -> tuple[Any, Any]:
    """Both factors of a matrix product minus their zero points: of rows, and of columns."""
    terms = g.shape(values[0])[-1]
    sides = (-2, -1)
    a, b = (
        _whole_floats(g, value, zero, terms, side if len(g.shape(value)) > 1 else 0)
        for value, zero, side in zip(values, zeros, sides, strict=True)
    )
    return a, b


@reads("QLinearMatMul")
def _(g: Reading, call: Call) -> Any:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = call.inputs
    if any(math.prod(g.shape(each)) != 1 for each in (a_scale, b_scale, scale, zero)):
        raise NotDefinedError("scales of rows and columns are not supported")
    left, right = _factors(g, [a, b], [a_zero, b_zero])
    product = g.op("_npi_matmul", left, right)
    return _requantized(g, product, (a_scale, b_scale), scale, zero)


def _requantized(
    g: Reading, total: object, scales: tuple[Any, Any], scale: object, zero: object, axis: int = 0
) -> Any:
    """A sum of products of whole numbers, as whole numbers of another scale."""
    dtype, rank, kind = g.dtype(total).name, len(g.shape(total)), g.dtype(zero)
    first, second, last, shift = (
        g.op("Cast", _along(g, each, rank, axis), dtype=dtype) for each in (*scales, scale, zero)
    )
    floats = g.op("_npi_multiply", g.op("_npi_multiply", total, first), second)
    return g.op("Cast", _quantized(g, floats, last, shift, kind), dtype=kind.name)


def _convolved(g: Reading, call: Call, x: object, weight: object) -> Any:
    return READERS["Conv"](g, Call(call.node, call.attributes, [x, weight]))


@reads("ConvInteger")
def _(g: Reading, call: Call) -> Any:
    terms = math.prod(g.shape(call.inputs[1])[1:])
    x = _whole_floats(g, call.x, call.input(2), terms, None)
    weight = _whole_floats(g, call.inputs[1], call.input(3), terms, 0)
    return g.op("Cast", _convolved(g, call, x, weight), dtype="int32")


@reads("QLinearConv")
def _(g: Reading, call: Call) -> Any:
    x, x_scale, x_zero, weight, weight_scale, weight_zero, scale, zero = call.inputs[:8]
    terms = math.prod(g.shape(weight)[1:])
    data = _whole_floats(g, x, x_zero, terms, None)
    total = _convolved(g, call, data, _whole_floats(g, weight, weight_zero, terms, 0))
    bias = call.input(8)
    if bias is not None:
        shape = (1, -1, *(1,) * (len(g.shape(total)) - 2))
        row = g.op("Reshape", g.op("Cast", bias, dtype=g.dtype(total).name), shape=shape)
        total = g.op("_npi_add", total, row)
    return _requantized(g, total, (x_scale, weight_scale), scale, zero, 1)
