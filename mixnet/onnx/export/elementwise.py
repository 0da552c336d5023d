"""Conversions of elementwise arithmetic, comparison and maths."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.onnx.export.builder import Builder
from mixnet.onnx.export.table import Call, NotHere, converts

_UNARY = {
    "_copy": "Identity",
    "_np_copy": "Identity",
    "BlockGrad": "Identity",
    "MakeLoss": "Identity",
    "make_loss": "Identity",
    "IdentityAttachKLSparseReg": "Identity",
    "_contrib_gradientmultiplier": "Identity",
    "abs": "Abs",
    "arccos": "Acos",
    "arccosh": "Acosh",
    "arcsin": "Asin",
    "arcsinh": "Asinh",
    "arctan": "Atan",
    "arctanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "negative": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "_npx_relu": "Relu",
    "_contrib_sign_ste": "Sign",
    "sigmoid": "Sigmoid",
    "_npx_sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "softsign": "Softsign",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
_BINARY = {
    "_grad_add": "Add",
    "elemwise_add": "Add",
    "elemwise_div": "Div",
    "elemwise_mul": "Mul",
    "elemwise_sub": "Sub",
    "_maximum": "Max",
    "_minimum": "Min",
    "_power": "Pow",
    "broadcast_add": "Add",
    "broadcast_div": "Div",
    "broadcast_maximum": "Max",
    "broadcast_minimum": "Min",
    "broadcast_mul": "Mul",
    "broadcast_power": "Pow",
    "broadcast_sub": "Sub",
    "add_n": "Sum",
}
_SCALAR = {
    "_div_scalar": "Div", "_maximum_scalar": "Max", "_minimum_scalar": "Min", "_minus_scalar": "Sub",
    "_mul_scalar": "Mul", "_plus_scalar": "Add", "_power_scalar": "Pow", "_rdiv_scalar": "rDiv",
    "_rminus_scalar": "rSub", "_rpower_scalar": "rPow",
}  # fmt: skip
_COMPARE = {
    "equal": ("Equal", False),
    "not_equal": ("Equal", True),
    "greater": ("Greater", False),
    "greater_equal": ("GreaterOrEqual", False),
    "lesser": ("Less", False),
    "lesser_equal": ("LessOrEqual", False),
}
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}


def only_floats(call: Call) -> None:
    """Decline other dtypes, which are converted by primitives."""
    if any(each.kind != "f" for each in (*call.dtypes, *call.out_dtypes)):
        raise NotHere


def one_dtype(call: Call) -> None:
    """Decline mixed dtypes, which are converted by primitives."""
    only_floats(call)
    if len({*call.dtypes, *call.out_dtypes}) > 1:
        raise NotHere


def scalar(b: Builder, call: Call, name: str = "scalar") -> str:
    """A number among the attributes, in the dtype of the data."""
    return b.constant(np.asarray(float(call[name]), call.dtype))


@converts(*_UNARY)
def _(b: Builder, call: Call) -> str:
    op_type = _UNARY[call.node.op.name]
    if op_type == "Identity":
        return call.x
    only_floats(call)
    return b.add(op_type, (call.x,), {})


@converts(*_BINARY)
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    return b.add(_BINARY[call.node.op.name], call.inputs, {})


@converts(*_SCALAR)
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    op_type = _SCALAR[call.node.op.name]
    pair = (call.x, scalar(b, call))
    return b.add(op_type.removeprefix("r"), pair[::-1] if op_type[0] == "r" else pair, {})


@converts(*[f"{start}{name}" for start in ("_", "broadcast_") for name in _COMPARE])
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    name = call.node.op.name
    op_type, turned = _COMPARE[name.removeprefix("broadcast_").removeprefix("_")]
    return _as_number(b, call, b.add(op_type, call.inputs, {}), turned)


@converts(*[f"_{name}_scalar" for name in _COMPARE])
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    op_type, turned = _COMPARE[call.node.op.name[1:].removesuffix("_scalar")]
    return _as_number(b, call, b.add(op_type, (call.x, scalar(b, call)), {}), turned)


def _as_number(b: Builder, call: Call, truth: str, turned: bool = False) -> str:
    """Booleans as 0 and 1: MXNet's comparisons return numbers."""
    return b.cast(b.Not(truth) if turned else truth, call.out_dtypes[0], bool)


def truth(b: Builder, value: str, dtype: np.dtype) -> str:
    """Which elements are not 0."""
    return value if dtype == np.bool_ else b.Not(b.Equal(value, b.constant(np.zeros((), dtype))))


@converts(*[f"broadcast_{name}" for name in _LOGICAL], *[f"_{name}" for name in _LOGICAL])
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    op_type = _LOGICAL[call.node.op.name.removeprefix("broadcast_").removeprefix("_")]
    pair = [truth(b, each, dtype) for each, dtype in zip(call.inputs, call.dtypes, strict=True)]
    return _as_number(b, call, b.add(op_type, pair, {}))


@converts("logical_not")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    return _as_number(b, call, b.Equal(call.x, b.constant(np.zeros((), call.dtype))))


@converts("where")
def _(b: Builder, call: Call) -> str:
    if call.shapes[0] != call.shapes[1] or call.dtypes[1].kind != "f":
        raise NotHere
    return b.Where(truth(b, call.x, call.dtype), *call.inputs[1:])


@converts("clip")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    return b.Clip(call.x, scalar(b, call, "a_min"), scalar(b, call, "a_max"))


@converts("square")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    return b.Mul(call.x, call.x)


@converts("rsqrt")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    return b.Reciprocal(b.Sqrt(call.x))


@converts("log2", "log10")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    base = np.log(2 if call.node.op.name == "log2" else 10)
    return b.Mul(b.Log(call.x), b.constant(np.asarray(1 / base, call.dtype)))


@converts("round", "_contrib_round_ste")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    half = b.constant(np.asarray(0.5, call.dtype))  # away from 0; ONNX's Round goes to even numbers
    return b.Mul(b.Sign(call.x), b.Floor(b.Add(b.Abs(call.x), half)))


@converts("_npi_copysign", "_npi_copysign_scalar", "_npi_rcopysign_scalar")
def _(b: Builder, call: Call) -> str:
    one_dtype(call)
    first, second = call.inputs if len(call.inputs) == 2 else (call.x, scalar(b, call))
    if call.node.op.name == "_npi_rcopysign_scalar":
        first, second = second, first
    below = b.Less(second, b.constant(np.zeros((), call.dtype)))
    return b.Where(below, b.Neg(b.Abs(first)), b.Abs(first))


@converts("hard_sigmoid")
def _(b: Builder, call: Call) -> str:
    only_floats(call)
    return b.HardSigmoid(call.x, alpha=float(call["alpha"]), beta=float(call["beta"]))


@converts("Cast", "amp_cast")
def _(b: Builder, call: Call) -> str:
    if call.out_dtypes[0] == np.bool_:
        raise NotHere
    return b.cast(call.x, call.out_dtypes[0], call.dtype)


@converts("amp_multicast")
def _(b: Builder, call: Call) -> Any:
    return [
        b.cast(x, o, d) for x, d, o in zip(call.inputs, call.dtypes, call.out_dtypes, strict=True)
    ]


@converts("zeros_like", "ones_like")
def _(b: Builder, call: Call) -> str:
    value = np.full(1, int(call.node.op.name == "ones_like"), call.out_dtypes[0])
    return b.ConstantOfShape(b.Shape(call.x), value=_tensor(value))


def _tensor(array: np.ndarray) -> Any:
    from mixnet.onnx.package import onnx_package

    return onnx_package().numpy_helper.from_array(array)
