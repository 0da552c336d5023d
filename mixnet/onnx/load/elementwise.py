"""Readers of arithmetic, comparison, activations and casts."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.onnx.load.table import Call, reads
from mixnet.onnx.package import onnx_package

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

_UNARY = {
    "Abs": "_npi_absolute",
    "Acos": "_npi_arccos",
    "Acosh": "_npi_arccosh",
    "Asin": "_npi_arcsin",
    "Asinh": "_npi_arcsinh",
    "Atan": "_npi_arctan",
    "Atanh": "_npi_arctanh",
    "BitwiseNot": "_npi_bitwise_not",
    "Ceil": "_npi_ceil",
    "Cos": "_npi_cos",
    "Cosh": "_npi_cosh",
    "Erf": "erf",
    "Exp": "_npi_exp",
    "Floor": "_npi_floor",
    "Identity": "_copy",
    "IsNaN": "_npi_isnan",
    "Log": "_npi_log",
    "Neg": "_npi_negative",
    "Not": "_npi_logical_not",
    "Reciprocal": "_npi_reciprocal",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Sign": "_npi_sign",
    "Sin": "_npi_sin",
    "Sinh": "_npi_sinh",
    "Softsign": "softsign",
    "Sqrt": "_npi_sqrt",
    "Tan": "_npi_tan",
    "Tanh": "_npi_tanh",
}
_BINARY = {
    "Add": "_npi_add", "BitwiseAnd": "_npi_bitwise_and", "BitwiseOr": "_npi_bitwise_or",
    "BitwiseXor": "_npi_bitwise_xor", "Equal": "_npi_equal", "Greater": "_npi_greater",
    "GreaterOrEqual": "_npi_greater_equal", "Less": "_npi_less", "LessOrEqual": "_npi_less_equal",
    "Mul": "_npi_multiply", "Sub": "_npi_subtract",
}  # fmt: skip
_MANY = {"Max": "broadcast_maximum", "Min": "broadcast_minimum", "Sum": "_npi_add"}


@reads(*_UNARY)
def _(g: Reading, call: Call) -> Any:
    return g.op(_UNARY[call.node.op_type], call.x)


@reads(*_BINARY, alike=True)
def _(g: Reading, call: Call) -> Any:
    return g.op(_BINARY[call.node.op_type], *call.inputs)


@reads(*_MANY, alike=True)
def _(g: Reading, call: Call) -> Any:
    op = _MANY[call.node.op_type]
    return functools.reduce(lambda a, b: g.op(op, a, b), call.inputs)


@reads("Mean", alike=True)
def _(g: Reading, call: Call) -> Any:
    total = functools.reduce(lambda a, b: g.op("_npi_add", a, b), call.inputs)
    return g.op("_npi_multiply_scalar", total, scalar=1 / len(call.inputs))


@reads("Div", alike=True)
def _(g: Reading, call: Call) -> Any:
    if g.dtype(call.x).kind == "f":
        return g.op("_npi_true_divide", *call.inputs)
    dtype = g.dtype(call.x)
    # Whole numbers are cut towards 0.
    parts = [g.op("Cast", each, dtype="float64") for each in call.inputs]
    return g.op("Cast", g.op("_npi_trunc", g.op("_npi_true_divide", *parts)), dtype=dtype.name)


@reads("Pow", alike=True)
def _(g: Reading, call: Call) -> Any:
    exponent = call.inputs[1]
    if isinstance(exponent, np.ndarray) and exponent.size == 1:
        return g.op("_npi_power_scalar", call.x, scalar=float(exponent.reshape(-1)[0]))
    return g.op("Cast", g.op("_npi_power", call.x, exponent), dtype=g.dtype(call.x).name)


def _no_zeros(g: Reading, divisor: object) -> Any:
    """A divisor with NaN where it is 0, if it is of floats: MXNet's remainder is 0 there, ONNX's NaN."""
    if g.dtype(divisor).kind != "f":
        return divisor
    if isinstance(divisor, np.ndarray):
        if divisor.all():
            return divisor
        return np.where(divisor == 0, np.nan, divisor).astype(divisor.dtype)
    is_zero = g.op("_npi_equal_scalar", divisor, scalar=0.0)
    return g.op("_npi_where_lscalar", is_zero, divisor, scalar=float("nan"))


@reads("Mod", alike=True)
def _(g: Reading, call: Call) -> Any:
    x, y = call.inputs[0], _no_zeros(g, call.inputs[1])
    if not call.get("fmod", 0):
        return g.op("_npi_mod", x, y)
    sign = g.op("_npi_sign", x)
    return g.op(
        "_npi_multiply", sign, g.op("_npi_mod", g.op("_npi_absolute", x), g.op("_npi_absolute", y))
    )


_LOGICAL = {
    "And": "broadcast_logical_and",
    "Or": "broadcast_logical_or",
    "Xor": "broadcast_logical_xor",
}


@reads(*_LOGICAL, alike=True)
def _(g: Reading, call: Call) -> Any:
    floats = [g.op("Cast", each, dtype="float32") for each in call.inputs]
    return g.op("_npi_not_equal_scalar", g.op(_LOGICAL[call.node.op_type], *floats), scalar=0.0)


@reads("Where", alike=True)
def _(g: Reading, call: Call) -> Any:
    return g.op("_npi_where", *call.inputs)


@reads("Round")
def _(g: Reading, call: Call) -> Any:
    # Halves go to the even number; rint goes down with them.
    up = g.op("_npi_floor", g.op("_npi_add_scalar", call.x, scalar=0.5))
    tie = g.op("_npi_equal", up, g.op("_npi_add_scalar", call.x, scalar=0.5))
    odd = g.op("_npi_mod_scalar", up, scalar=2.0)
    return g.op(
        "_npi_subtract",
        up,
        g.op("_npi_multiply", odd, g.op("Cast", tie, dtype=g.dtype(call.x).name)),
    )


@reads("IsInf")
def _(g: Reading, call: Call) -> Any:
    up, down = call.get("detect_positive", 1), call.get("detect_negative", 1)
    return g.op(
        {(1, 1): "_npi_isinf", (1, 0): "_npi_isposinf", (0, 1): "_npi_isneginf"}[up, down], call.x
    )


@reads("Cast", "CastLike")
def _(g: Reading, call: Call) -> Any:
    if call.node.op_type == "CastLike":
        dtype = g.dtype(call.inputs[1])
    else:
        dtype = np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(call.get("to")))
    if dtype == np.bool_:
        return g.op("_npi_not_equal_scalar", call.x, scalar=0.0)
    return g.op("Cast", call.x, dtype=dtype.name)


@reads("LeakyRelu", "Elu", "Selu")
def _(g: Reading, call: Call) -> Any:
    kind = call.node.op_type
    if kind == "Selu" and (call.get("alpha", 1.67326), call.get("gamma", 1.0507)) != (
        1.67326,
        1.0507,
    ):
        gamma, alpha = call.get("gamma", 1.0507), call.get("alpha", 1.67326)
        out = g.op("LeakyReLU", call.x, act_type="elu", slope=alpha)
        return g.op("_npi_multiply_scalar", out, scalar=gamma)
    slope = call.get("alpha", {"LeakyRelu": 0.01, "Elu": 1.0, "Selu": 1.67326}[kind])
    return g.op(
        "LeakyReLU",
        call.x,
        act_type={"LeakyRelu": "leaky", "Elu": "elu", "Selu": "selu"}[kind],
        slope=slope,
    )


@reads("PRelu")
def _(g: Reading, call: Call) -> Any:
    zero = g.op("relu", call.x)
    below = g.op("_npi_subtract", call.x, zero)
    return g.op("_npi_add", zero, g.op("_npi_multiply", below, call.inputs[1]))


@reads("HardSigmoid", "HardSwish", "ThresholdedRelu", "Softplus", "Celu", "Mish", "Gelu", "Shrink")
def _(g: Reading, call: Call) -> Any:
    return _ACTIVATIONS[call.node.op_type](g, call)


def _scaled(g: Reading, x: object, factor: float, shift: float = 0.0) -> Any:
    scaled = g.op("_npi_multiply_scalar", x, scalar=factor)
    return g.op("_npi_add_scalar", scaled, scalar=shift) if shift else scaled


def _hard_swish(g: Reading, call: Call) -> Any:
    gate = g.op("hard_sigmoid", call.x, alpha=1 / 6, beta=0.5)
    return g.op("_npi_multiply", call.x, gate)


def _mish(g: Reading, call: Call) -> Any:
    return g.op(
        "_npi_multiply", call.x, g.op("_npi_tanh", g.op("Activation", call.x, act_type="softrelu"))
    )


def _celu(g: Reading, call: Call) -> Any:
    alpha = call.get("alpha", 1.0)
    return _scaled(
        g, g.op("LeakyReLU", _scaled(g, call.x, 1 / alpha), act_type="elu", slope=1.0), alpha
    )


def _gelu(g: Reading, call: Call) -> Any:
    if call.get("approximate", "none") == "none":
        return g.op("LeakyReLU", call.x, act_type="gelu")
    cube = _scaled(g, g.op("_npi_power_scalar", call.x, scalar=3.0), 0.044715)
    inner = _scaled(g, g.op("_npi_add", call.x, cube), (2 / np.pi) ** 0.5)
    return g.op(
        "_npi_multiply", _scaled(g, call.x, 0.5), _scaled(g, g.op("_npi_tanh", inner), 1.0, 1.0)
    )


def _thresholded(g: Reading, call: Call) -> Any:
    above = g.op("_npi_greater_scalar", call.x, scalar=call.get("alpha", 1.0))
    return g.op("_npi_multiply", call.x, g.op("Cast", above, dtype=g.dtype(call.x).name))


def _shrink(g: Reading, call: Call) -> Any:
    bias, ends = call.get("bias", 0.0), call.get("lambd", 0.5)
    dtype = g.dtype(call.x).name
    above = g.op("Cast", g.op("_npi_greater_scalar", call.x, scalar=ends), dtype=dtype)
    below = g.op("Cast", g.op("_npi_less_scalar", call.x, scalar=-ends), dtype=dtype)
    up = g.op("_npi_multiply", above, _scaled(g, call.x, 1.0, -bias))
    return g.op("_npi_add", up, g.op("_npi_multiply", below, _scaled(g, call.x, 1.0, bias)))


_ACTIVATIONS = {
    "HardSigmoid": lambda g, call: g.op(
        "hard_sigmoid", call.x, alpha=call.get("alpha", 0.2), beta=call.get("beta", 0.5)
    ),
    "Softplus": lambda g, call: g.op("Activation", call.x, act_type="softrelu"),
    "HardSwish": _hard_swish,
    "Mish": _mish,
    "Celu": _celu,
    "Gelu": _gelu,
    "ThresholdedRelu": _thresholded,
    "Shrink": _shrink,
}


@reads("Clip")
def _(g: Reading, call: Call) -> Any:
    ends = (call.get("min"), call.get("max")) if g.opset < 11 else (call.input(1), call.input(2))
    x = call.x
    for end, op in zip(ends, ("broadcast_maximum", "broadcast_minimum"), strict=True):
        if isinstance(end, (float, np.ndarray)):
            scalar = float(np.asarray(end).reshape(-1)[0])
            x = g.op(op.replace("broadcast", "") + "_scalar", x, scalar=scalar)
        elif end is not None:
            x = g.op(op, x, end)
    return g.op("_copy", x) if x is call.x else x


@reads("Softmax", "LogSoftmax", "Hardmax")
def _(g: Reading, call: Call) -> Any:
    shape = g.shape(call.x)
    axis = call.get("axis", -1 if g.opset >= 13 else 1) % max(1, len(shape))
    x = call.x
    if g.opset < 13 and axis != len(shape) - 1:  # over all axes from this one on
        x = g.op("_np_reshape", x, newshape=(math.prod(shape[:axis]), -1))
    at = axis if x is call.x else -1
    if call.node.op_type == "Hardmax":
        extent = shape[axis] if x is call.x else math.prod(shape[axis:])
        result = g.op(
            "one_hot", g.op("argmax", x, axis=at), depth=extent, dtype=g.dtype(call.x).name
        )
        result = g.op("_np_moveaxis", result, source=-1, destination=at) if at != -1 else result
    else:
        result = g.op(
            {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[call.node.op_type], x, axis=at
        )
    return result if x is call.x else g.reshaped(result, shape)
