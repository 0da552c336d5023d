"""Rules for JAX's primitives: arithmetic, shapes, sums and products."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet.onnx.export.primitives import Lowering, NoRule, rule
from mixnet.onnx.extents import is_negative
from mixnet.private_jax.equation import Atom, Equation

_UNARY = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
    "atanh": "Atanh", "ceil": "Ceil", "copy": "Identity", "copy_p": "Identity", "cos": "Cos", "cosh": "Cosh",
    "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log", "logistic": "Sigmoid", "neg": "Neg",
    "reduce_precision": "Identity", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt",
    "stop_gradient": "Identity", "tan": "Tan", "tanh": "Tanh", "optimization_barrier": "Identity",
}  # fmt: skip
_BINARY = {"add": "Add", "add_any": "Add", "sub": "Sub", "mul": "Mul", "max": "Max", "min": "Min"}
_COMPARE = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual",
            "lt_to": "Less", "le_to": "LessOrEqual"}  # fmt: skip
_LOGIC = {"and": ("And", "BitwiseAnd"), "or": ("Or", "BitwiseOr"), "xor": ("Xor", "BitwiseXor")}
_REDUCE = {
    "reduce_sum": "ReduceSum",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
}
# Whole numbers that runtimes compute with; others are computed in int64 and cut to their width.
_WIDE = {np.dtype("int32"), np.dtype("int64")}


def dtype_of(atom: Atom) -> np.dtype:
    """Dtype of a value of a program."""
    return np.dtype(atom.aval.dtype)


def is_narrow(dtype: np.dtype) -> bool:
    """Whether runtimes do not support arithmetic with this integer or boolean dtype."""
    return dtype.kind in "iub" and dtype not in _WIDE


def in_wide(
    low: Lowering, equation: Equation, inputs: list[str], compute: Callable[..., str]
) -> str:
    """``compute(*inputs)`` in a dtype that runtimes support."""
    dtype = dtype_of(equation.invars[0])
    if not is_narrow(dtype):
        return compute(*inputs)
    wide = [
        low.b.cast(each, np.int64, dtype_of(a))
        for each, a in zip(inputs, equation.invars, strict=True)
    ]
    return low.b.cast(compute(*wide), dtype_of(equation.outvars[0]))


def number(low: Lowering, value: object, atom: Atom) -> str:
    """A constant in the dtype of another value."""
    return low.b.constant(np.asarray(value, dtype_of(atom)))


@rule(*_UNARY)
def _(low: Lowering, equation: Equation, inputs: list[str]) -> Any:
    op_type = _UNARY[equation.primitive.name]
    if op_type == "Identity":
        return inputs
    return in_wide(low, equation, inputs, low.b.operator(op_type))


@rule(*_BINARY)
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    op_type = _BINARY[equation.primitive.name]
    if dtype_of(equation.invars[0]) == np.bool_:
        return low.b.add({"Min": "And", "Mul": "And"}.get(op_type, "Or"), inputs, {})
    return in_wide(low, equation, inputs, low.b.operator(op_type))


@rule("div", "quotient")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    return in_wide(low, equation, inputs, low.b.Div)


@rule("rem")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    return in_wide(low, equation, inputs, lambda a, b: low.b.Mod(a, b, fmod=1))


@rule(*_COMPARE)
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    dtype, op_type = dtype_of(equation.invars[0]), _COMPARE[equation.primitive.name]
    if dtype == np.bool_ and op_type == "Equal":
        return low.b.Equal(*inputs)
    if is_narrow(dtype):
        inputs = [low.b.cast(each, np.int64) for each in inputs]
    return low.b.add(op_type, inputs, {})


@rule("ne")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    if is_narrow(dtype_of(equation.invars[0])) and dtype_of(equation.invars[0]) != np.bool_:
        inputs = [low.b.cast(each, np.int64) for each in inputs]
    return low.b.Not(low.b.Equal(*inputs))


@rule(*_LOGIC)
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    logical, bitwise = _LOGIC[equation.primitive.name]
    if dtype_of(equation.invars[0]) == np.bool_:
        return low.b.add(logical, inputs, {})
    return low.b.add(needs(low, bitwise, 18), inputs, {})


@rule("not")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    if dtype_of(equation.invars[0]) == np.bool_:
        return low.b.Not(*inputs)
    return low.b.add(needs(low, "BitwiseNot", 18), inputs, {})


@rule("shift_left", "shift_right_logical", "shift_right_arithmetic")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    dtype = dtype_of(equation.invars[0])
    if dtype.kind != "u":
        raise NoRule("it shifts the bits of signed integers, and ONNX shifts only unsigned ones")
    left = equation.primitive.name == "shift_left"
    return low.b.BitShift(*inputs, direction="LEFT" if left else "RIGHT")


def needs(low: Lowering, op_type: str, opset: int) -> str:
    """Require an operator that exists from some operator set on.

    Raises:
        NoRule: the operator set to write is older.
    """
    if low.b.opset < opset:
        raise NoRule(f"it needs ONNX's {op_type}, which is available from opset_version={opset} on")
    return op_type


@rule("round")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    (x,) = inputs
    if "EVEN" in str(equation.params["rounding_method"]):
        return low.b.Round(x)
    half = number(low, 0.5, equation.invars[0])  # away from zero
    return low.b.Mul(low.b.Sign(x), low.b.Floor(low.b.Add(low.b.Abs(x), half)))


@rule(
    "exp2",
    "erfc",
    "log1p",
    "expm1",
    "rsqrt",
    "square",
    "cbrt",
    "is_finite",
    "integer_pow",
    "population_count",
)
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    (x,), atom, b = inputs, equation.invars[0], low.b
    name = equation.primitive.name
    if name == "square":
        return in_wide(low, equation, inputs, lambda x: b.Mul(x, x))
    if name == "exp2":
        return b.Pow(number(low, 2, atom), x)
    if name == "erfc":
        return b.Sub(number(low, 1, atom), b.Erf(x))
    if name == "log1p":
        return b.Log(b.Add(x, number(low, 1, atom)))
    if name == "expm1":
        return b.Sub(b.Exp(x), number(low, 1, atom))
    if name == "rsqrt":
        return b.Reciprocal(b.Sqrt(x))
    if name == "cbrt":
        return b.Mul(b.Sign(x), b.Pow(b.Abs(x), number(low, 1 / 3, atom)))
    if name == "integer_pow":
        return in_wide(low, equation, inputs, lambda x: _integer_power(low, x, equation))
    if name == "is_finite":
        x = b.cast(x, np.float32, dtype_of(atom)) if dtype_of(atom).itemsize < 4 else x
        return b.Not(
            b.Or(b.IsNaN(x), b.Equal(b.Abs(x), b.constant(np.asarray(np.inf, _wide_float(atom)))))
        )
    raise NoRule(f"it computes {name!r}, which is not one of ONNX's operators")


def _wide_float(atom: Atom) -> np.dtype:
    return np.dtype("float64") if dtype_of(atom).itemsize == 8 else np.dtype("float32")


def _integer_power(low: Lowering, x: str, equation: Equation) -> str:
    power, atom = equation.params["y"], equation.invars[0]
    if power == 2:
        return low.b.Mul(x, x)
    dtype = np.dtype("int64") if is_narrow(dtype_of(atom)) else dtype_of(atom)
    return low.b.Pow(x, low.b.constant(np.asarray(power, dtype)))


@rule("pow")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    return in_wide(low, equation, inputs, low.b.Pow)


@rule("atan2")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    (y, x), b, atom = inputs, low.b, equation.invars[0]
    zero, pi, half = (number(low, v, atom) for v in (0, math.pi, math.pi / 2))
    plain = b.Atan(b.Div(y, x))
    turn = b.Where(b.Less(y, zero), b.Sub(plain, pi), b.Add(plain, pi))
    upright = b.Mul(b.Sign(y), half)
    return b.Where(b.Equal(x, zero), upright, b.Where(b.Less(x, zero), turn, plain))


@rule("erf_inv")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    # Giles' approximation, made exact to float32 by two of Newton's steps.
    (x,), b = inputs, low.b
    n = functools.partial(number, low, atom=equation.invars[0])
    log = b.Log(b.Mul(b.Sub(n(1), x), b.Add(n(1), x)))
    part = b.Add(n(2 / (math.pi * 0.147)), b.Mul(log, n(0.5)))
    root = b.Sqrt(b.Sub(b.Mul(part, part), b.Mul(log, n(1 / 0.147))))
    guess = b.Mul(b.Sign(x), b.Sqrt(b.Sub(root, part)))
    for _ in range(2):
        slope = b.Mul(n(2 / math.sqrt(math.pi)), b.Exp(b.Neg(b.Mul(guess, guess))))
        guess = b.Sub(guess, b.Div(b.Sub(b.Erf(guess), x), slope))
    ends = b.Div(b.Sign(x), n(0))
    return b.Where(b.Equal(b.Abs(x), n(1)), ends, guess)


_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip


@rule("lgamma")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    # Lanczos' series for arguments from 1/2 on, the reflection formula below.
    (x,), b = inputs, low.b
    n = functools.partial(number, low, atom=equation.invars[0])
    below = b.Less(x, n(0.5))
    at = b.Sub(b.Where(below, b.Sub(n(1), x), x), n(1))
    total = n(_LANCZOS[0])
    for i, share in enumerate(_LANCZOS[1:], 1):
        total = b.Add(total, b.Div(n(share), b.Add(at, n(i))))
    base = b.Add(at, n(7.5))
    plain = b.Sub(
        b.Add(b.Mul(b.Add(at, n(0.5)), b.Log(base)), n(0.5 * math.log(2 * math.pi))), base
    )
    plain = b.Add(plain, b.Log(total))
    turned = b.Sub(n(math.log(math.pi)), b.Log(b.Abs(b.Sin(b.Mul(n(math.pi), x)))))
    return b.Where(below, b.Sub(turned, plain), plain)


@rule("clamp")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    least, x, most = inputs
    return in_wide(low, equation, [least, x, most], lambda a, x, c: low.b.Min(low.b.Max(x, a), c))


@rule("select_n")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    which, *cases = inputs
    b, dtype = low.b, dtype_of(equation.outvars[0])
    if len(cases) == 1:
        return cases[0]
    if is_narrow(dtype):
        cases = [b.cast(each, np.int64) for each in cases]
    if dtype_of(equation.invars[0]) == np.bool_:
        chosen = b.Where(which, cases[1], cases[0])
    else:
        chosen = cases[0]
        for i, case in enumerate(cases[1:], 1):
            chosen = b.Where(b.Equal(which, number(low, i, equation.invars[0])), case, chosen)
    return b.cast(chosen, dtype) if is_narrow(dtype) else chosen


@rule("convert_element_type")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    before, after = dtype_of(equation.invars[0]), dtype_of(equation.outvars[0])
    known = low.b.known(inputs[0])
    if known is not None and known.size == 1 and before != after:
        return low.b.constant(known.astype(after))
    if after == np.bool_ and before != np.bool_:
        zero = low.b.constant(np.zeros((), before))
        return low.b.Not(low.b.Equal(inputs[0], zero))
    return low.b.cast(inputs[0], after, before)


# ---- shapes -------------------------------------------------------------------------------------


@rule("dim_as_value")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    value = low.scalar(equation.params["dim"])
    return low.b.cast(value, dtype_of(equation.outvars[0]), np.int64)


@rule("reshape", "squeeze", "expand_dims")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    (x,), after = inputs, equation.outvars[0].aval.shape
    before = equation.invars[0].aval.shape
    order = equation.params.get("dimensions")
    if equation.primitive.name == "reshape" and order is not None:
        x, before = low.b.Transpose(x, perm=list(order)), tuple(before[i] for i in order)
    open_ones = sum(not isinstance(e, int) for e in after)
    if open_ones == 1 and len(after) and 0 not in after:  # the one open extent is what is left over
        return low.b.Reshape(x, [e if isinstance(e, int) else -1 for e in after])
    return low.reshape(x, after, before)


@rule("transpose")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    order = list(equation.params["permutation"])
    return inputs[0] if order == sorted(order) else low.b.Transpose(*inputs, perm=order)


@rule("broadcast_in_dim")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    x, atom = inputs[0], equation.invars[0]
    shape = equation.params["shape"]
    places = equation.params["broadcast_dimensions"]
    aligned: list[Any] = [1] * len(shape)
    for axis, place in enumerate(places):
        aligned[place] = atom.aval.shape[axis]
    before = tuple(atom.aval.shape)
    if tuple(aligned) != before:
        x = _with_ones(low, x, aligned, places)
    return x if tuple(aligned) == tuple(shape) else low.b.Expand(x, low.shape(shape))


def _with_ones(low: Lowering, x: str, aligned: list[Any], places: Any) -> str:
    new = [i for i in range(len(aligned)) if i not in places]
    return low.b.Unsqueeze(x, new) if new else x


def _is_zero(extent: object) -> bool:
    return isinstance(extent, int) and extent == 0


@rule("concatenate")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    axis = equation.params["dimension"]
    parts = [
        each
        for each, atom in zip(inputs, equation.invars, strict=True)
        if not _is_zero(atom.aval.shape[axis])
    ]
    return low.b.Concat(*(parts or inputs), axis=axis)  # what is empty adds nothing


@rule("tile")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    return low.b.Tile(inputs[0], low.shape(equation.params["reps"]))


@rule("platform_index")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    """The program for CPUs, which is independent of the device."""
    platforms = equation.params["platforms"]
    place = next(i for i, each in enumerate(platforms) if each is None or "cpu" in each)
    return low.b.constant(np.asarray(place, dtype_of(equation.outvars[0])))


@rule("stack")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    axis = equation.params["axis"] if "axis" in equation.params else equation.params["dimension"]
    return low.b.Concat(*[low.b.Unsqueeze(each, [axis]) for each in inputs], axis=axis)


@rule("split")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> Any:
    return low.b.split(inputs[0], equation.params["axis"], equation.params["sizes"])


@rule("slice")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    params, shape = equation.params, equation.invars[0].aval.shape
    steps = params["strides"] or (1,) * len(shape)
    cut = [
        i
        for i, (start, end, step) in enumerate(
            zip(params["start_indices"], params["limit_indices"], steps, strict=True)
        )
        if (start, end, step) != (0, shape[i], 1)
    ]
    if not cut:
        return inputs[0]
    starts, ends = (
        low.shape([params[k][i] for i in cut]) for k in ("start_indices", "limit_indices")
    )
    return low.b.Slice(inputs[0], starts, ends, cut, [steps[i] for i in cut])


@rule("rev")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    axes = list(equation.params["dimensions"])
    far = [-(1 << 60)] * len(axes)
    return low.b.Slice(inputs[0], [-1] * len(axes), far, axes, [-1] * len(axes))


@rule("pad")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    x, value = inputs
    widths, shape, dtype = (
        equation.params["padding_config"],
        equation.invars[0].aval.shape,
        dtype_of(equation.outvars[0]),
    )
    narrow = is_narrow(dtype)
    if narrow:
        x, value = (low.b.cast(each, np.int64) for each in (x, value))
    for axis, (_, _, inside) in enumerate(widths):
        if inside:
            x = _spread(low, x, value, axis, inside, shape)
    sides = [w[side] for side in (0, 1) for w in widths]
    if any(side != 0 and not is_negative(side) for side in sides):
        x = low.b.Pad(x, low.shape([0 if is_negative(side) else side for side in sides]), value)
    cut = [i for i, w in enumerate(widths) if is_negative(w[0]) or is_negative(w[1])]
    if cut:
        starts = low.shape([-widths[i][0] if is_negative(widths[i][0]) else 0 for i in cut])
        ends = low.shape([widths[i][1] if is_negative(widths[i][1]) else 1 << 60 for i in cut])
        x = low.b.Slice(x, starts, ends, cut)
    return low.b.cast(x, dtype) if narrow else x


def _spread(low: Lowering, x: str, value: str, axis: int, inside: int, shape: Any) -> str:
    """Padding between the elements of an axis."""
    rank = len(shape)
    unsqueezed = low.b.Unsqueeze(x, [axis + 1])
    after = [0] * (rank + 1)
    after[axis + 1] = inside
    unsqueezed = low.b.Pad(unsqueezed, [0] * (rank + 1) + after, value)
    merged = [0] * axis + [-1] + [0] * (rank - axis - 1)
    # two axes become one, so the 0 that keeps an extent fits only before them
    behind = [int(shape[i]) for i in range(axis + 1, rank)]
    unsqueezed = low.b.Reshape(unsqueezed, merged[: axis + 1] + behind)
    return low.b.slice(unsqueezed, axis, 0, -inside)


@rule("iota")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    shape, axis = equation.outvars[0].aval.shape, equation.params["dimension"]
    dtype = dtype_of(equation.outvars[0])
    numbers = low.b.cast(low.count(shape[axis]), dtype, np.int64)
    known = low.b.known(low.count(shape[axis]))
    if known is not None:
        numbers = low.b.constant(known.astype(dtype))
    if len(shape) == 1:
        return numbers
    numbers = low.b.Unsqueeze(numbers, [i for i in range(len(shape)) if i != axis])
    return low.b.Expand(numbers, low.shape(shape))


# ---- sums, orders, products ---------------------------------------------------------------------


@rule(*_REDUCE)
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    op_type, axes = _REDUCE[equation.primitive.name], equation.params["axes"]
    return in_wide(low, equation, inputs, lambda x: low.b.reduce(op_type, x, axes, False))


@rule("reduce_and", "reduce_or")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    op_type = "ReduceMin" if equation.primitive.name == "reduce_and" else "ReduceMax"
    return in_wide(
        low, equation, inputs, lambda x: low.b.reduce(op_type, x, equation.params["axes"], False)
    )


@rule("argmax", "argmin")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    op_type = "ArgMax" if equation.primitive.name == "argmax" else "ArgMin"
    x = inputs[0]
    if is_narrow(dtype_of(equation.invars[0])):
        x = low.b.cast(x, np.int64)
    place = low.b.add(op_type, (x,), {"axis": equation.params["axes"][0], "keepdims": 0})
    return low.b.cast(place, dtype_of(equation.outvars[0]), np.int64)


@rule("cumsum")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    axis = low.b.constant(np.int64(equation.params["axis"]))
    reverse = int(equation.params["reverse"])
    return in_wide(low, equation, inputs, lambda x: low.b.CumSum(x, axis, reverse=reverse or None))


@rule("cumlogsumexp")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    axis = low.b.constant(np.int64(equation.params["axis"]))
    largest = low.b.reduce("ReduceMax", inputs[0], [equation.params["axis"]], True)
    total = low.b.CumSum(low.b.Exp(low.b.Sub(inputs[0], largest)), axis)
    return low.b.Add(low.b.Log(total), largest)


@rule("cumprod", "cummax", "cummin")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    """Cumulative reduction by a triangular matrix, for short axes."""
    b, axis, extent = (
        low.b,
        equation.params["axis"],
        equation.invars[0].aval.shape[equation.params["axis"]],
    )
    if not isinstance(extent, int):
        raise NoRule(f"{equation.primitive.name} along a dynamic axis")
    name = equation.primitive.name
    rank, dtype = len(equation.invars[0].aval.shape), dtype_of(equation.invars[0])
    ends = (np.iinfo if dtype.kind in "iu" else np.finfo)(dtype)
    neutral = {"cumprod": 1, "cummax": ends.min, "cummin": ends.max}[name]
    triangle = np.tri(extent, dtype=bool)
    if equation.params["reverse"]:
        triangle = triangle.T
    counted = triangle.reshape(extent, extent, *(1,) * (rank - axis - 1))
    rows = b.Where(
        b.constant(counted),
        b.Unsqueeze(inputs[0], [axis]),
        number(low, neutral, equation.invars[0]),
    )
    return b.reduce(
        {"cumprod": "ReduceProd", "cummax": "ReduceMax", "cummin": "ReduceMin"}[name],
        rows,
        [axis + 1],
        False,
    )


@rule("sort")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> Any:
    b, axis = low.b, equation.params["dimension"]
    shape, dtype = equation.invars[0].aval.shape, dtype_of(equation.invars[0])
    if equation.params["num_keys"] != 1:
        raise NoRule("it sorts by several keys")
    keys = b.cast(inputs[0], np.int64, dtype) if is_narrow(dtype) else inputs[0]
    count = low.shape([shape[axis]])
    attributes = {"axis": axis, "largest": 0, "sorted": 1}
    keys, order = b.add_several("TopK", (keys, count), 2, attributes)
    keys = b.cast(keys, dtype, np.int64) if is_narrow(dtype) else keys
    return [keys] + [b.GatherElements(each, order, axis=axis) for each in inputs[1:]]


@rule("top_k")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> Any:
    dtype = dtype_of(equation.invars[0])
    x = low.b.cast(inputs[0], np.int64, dtype) if is_narrow(dtype) else inputs[0]
    count = low.shape([equation.params["k"]])
    values, order = low.b.add_several("TopK", (x, count), 2, {"axis": -1})
    values = low.b.cast(values, dtype, np.int64) if is_narrow(dtype) else values
    return values, low.b.cast(order, dtype_of(equation.outvars[1]), np.int64)


@rule("dot_general")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> str:
    (left, right), (left_batch, right_batch) = equation.params["dimension_numbers"]
    out = dtype_of(equation.outvars[0])
    compute = out if out.kind == "f" else np.dtype("float64")  # runtimes multiply few whole numbers
    x, y = (
        low.b.cast(each, compute, dtype_of(a))
        for each, a in zip(inputs, equation.invars, strict=True)
    )
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    ranks = [len(a.aval.shape) for a in equation.invars]
    first = [next(letters) for _ in range(ranks[0])]
    second = [""] * ranks[1]
    for mine, other in [*zip(left, right, strict=True), *zip(left_batch, right_batch, strict=True)]:
        second[other] = first[mine]
    second = [each or next(letters) for each in second]
    result = [first[i] for i in left_batch]
    result += [c for i, c in enumerate(first) if i not in (*left, *left_batch)]
    result += [c for i, c in enumerate(second) if i not in (*right, *right_batch)]
    if ranks == [2, 2] and (tuple(left), tuple(right)) == ((1,), (0,)):
        product = low.b.MatMul(x, y)
    else:
        product = low.b.Einsum(
            x, y, equation=f"{''.join(first)},{''.join(second)}->{''.join(result)}"
        )
    return low.b.cast(product, out, compute)
