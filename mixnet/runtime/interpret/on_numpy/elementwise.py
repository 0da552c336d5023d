"""Elementwise arithmetic, comparisons, bit operations and selection."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.table import NoRuleError, Run, plain, rule


def _shift_right(kind: str) -> Run:
    """Shift right as numbers of kind ``u``, with zeros, or ``i``, with repetitions of the uppermost bit."""

    def shift(x: np.ndarray, y: np.ndarray) -> Any:
        dtype = np.dtype(f"{kind}{x.dtype.itemsize}")
        return np.right_shift(x.view(dtype), y.view(dtype)).view(x.dtype)

    return shift


def _less_in_order(x: np.ndarray, y: np.ndarray) -> Any:
    """Compare in the sort order, in which NaN follows all numbers."""
    return (x < y) | (np.isnan(y) & ~np.isnan(x))


_PLAIN: dict[str, Run] = {
    "neg": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "abs": np.absolute,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "is_finite": np.isfinite,
    "not": np.invert,
    "square": np.square,
    "add": np.add,
    "add_any": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "quotient": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "atan2": np.arctan2,
    "nextafter": np.nextafter,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right_logical": _shift_right("u"),
    "shift_right_arithmetic": _shift_right("i"),
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt_to": _less_in_order,
    "le_to": lambda x, y: (x <= y) | np.isnan(y),
    "eq_to": np.equal,
    "real": np.real,
    "imag": np.imag,
    "conj": np.conjugate,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "population_count": lambda x: np.bitwise_count(x).astype(x.dtype),
}
for _name, _function in _PLAIN.items():
    plain(_name, _function)


@rule("div")
def _div(equation: Equation, **_: object) -> Run:
    kind = equation.outvars[0].aval.dtype.kind
    if kind not in "iu":
        return np.divide
    return _divide_signed if kind == "i" else _divide_unsigned


def _divide_unsigned(x: np.ndarray, y: np.ndarray) -> Any:
    """Integer quotients; division by 0 sets all bits, as in XLA."""
    return _unless_zero(y, np.floor_divide(x, y), np.array(-1).astype(y.dtype))


def _divide_signed(x: np.ndarray, y: np.ndarray) -> Any:
    """Integer quotients, rounded towards 0; division by 0 gives -1, as in XLA."""
    return _unless_zero(y, np.floor_divide(x - np.fmod(x, y), y), y.dtype.type(-1))


def _unless_zero(y: np.ndarray, values: Any, instead: Any) -> Any:
    zero = y == 0
    return np.where(zero, instead, values) if zero.any() else values


@rule("rem")
def _rem(equation: Equation, **_: object) -> Run:
    if equation.outvars[0].aval.dtype.kind not in "iu":
        return np.fmod
    return lambda x, y: _unless_zero(y, np.fmod(x, y), x)


@rule("pow")
def _pow(equation: Equation, **_: object) -> Run:
    dtypes = [v.aval.dtype for v in equation.invars]
    dtype = equation.outvars[0].aval.dtype
    if dtypes[0] == dtypes[1] and dtype.kind in "fc":
        return np.power
    if dtype.kind not in "iu":
        return lambda x, y: np.power(x, y.astype(dtype))
    return lambda x, y: _whole_power(x, y).astype(dtype, copy=False)


def _whole_power(x: np.ndarray, y: np.ndarray) -> Any:
    # NumPy refuses negative exponents of integers; XLA squares and multiplies by the exponent's bits.
    x, y = np.broadcast_arrays(x, y)
    result = np.ones(x.shape, x.dtype)
    factor, left = x, y.astype(f"u{y.dtype.itemsize}")
    while left.any():
        result = np.where(left & 1, result * factor, result)
        factor, left = factor * factor, left >> 1
    return np.where(y < 0, np.where(x == 1, 1, np.where(x == -1, result, 0)), result)


@rule("integer_pow")
def _integer_pow(equation: Equation, y: int, **_: object) -> Run:
    if y == 2:
        return np.square
    dtype = equation.outvars[0].aval.dtype
    one = np.ones((), dtype)

    def run(x: Any) -> Any:
        result, factor, left = None, x, abs(y)
        while left:
            if left & 1:
                result = factor if result is None else result * factor
            left >>= 1
            if left:
                factor = factor * factor
        if result is None:
            return np.ones(np.shape(x), dtype)
        return np.divide(one, result) if y < 0 else result

    return run


@rule("rsqrt")
def _rsqrt(equation: Equation, **_: object) -> Run:
    one = np.ones((), equation.outvars[0].aval.dtype)
    return lambda x: np.divide(one, np.sqrt(x))


@rule("logistic")
def _logistic(equation: Equation, **_: object) -> Run:
    one = np.ones((), equation.outvars[0].aval.dtype)

    def run(x: Any) -> Any:
        result = np.exp(np.negative(x))
        return np.divide(one, result + one)

    return run


@rule("round")
def _round(equation: Equation, rounding_method: Any, **_: object) -> Run:
    if int(rounding_method) == 1:
        return np.rint

    def away_from_zero(x: np.ndarray) -> Any:
        truncated = np.trunc(x)
        one = np.copysign(np.ones((), x.dtype), x)
        return np.where(np.abs(x - truncated) >= x.dtype.type(0.5), truncated + one, truncated)

    return away_from_zero


@rule("reduce_precision")
def _reduce_precision(
    equation: Equation, exponent_bits: int, mantissa_bits: int, **_: object
) -> Run:
    kinds: dict[tuple[int, int], Any] = {
        (5, 10): np.float16, (8, 7): ml_dtypes.bfloat16, (8, 23): np.float32, (11, 52): np.float64,
    }  # fmt: skip
    if (exponent_bits, mantissa_bits) not in kinds:
        raise NoRuleError("reduce_precision")
    kind = np.dtype(kinds[exponent_bits, mantissa_bits])
    dtype = equation.outvars[0].aval.dtype
    if kind == dtype:
        return lambda x: x
    least = ml_dtypes.finfo(kind).smallest_normal.astype(dtype)

    def run(x: Any) -> Any:
        result = x.astype(kind).astype(dtype)
        # Numbers that would be subnormal are 0.
        return np.where(np.abs(result) < least, np.copysign(dtype.type(0), result), result)

    return run


@rule("clz")
def _leading_zeros(equation: Equation, **_: object) -> Run:
    dtype = equation.outvars[0].aval.dtype
    bits = dtype.itemsize * 8

    def run(x: Any) -> Any:
        filled = x.view(f"u{dtype.itemsize}")
        step = 1
        while step < bits:
            filled = filled | (filled >> filled.dtype.type(step))
            step *= 2
        return (bits - np.bitwise_count(filled)).astype(dtype)

    return run


@rule("complex")
def _complex(equation: Equation, **_: object) -> Run:
    dtype = equation.outvars[0].aval.dtype

    def run(real: Any, imaginary: Any) -> Any:
        result = np.empty(np.broadcast(real, imaginary).shape, dtype)
        result.real, result.imag = real, imaginary
        return result

    return run


@rule("select_n")
def _select(equation: Equation, **_: object) -> Run:
    if len(equation.invars) == 3:
        return _choose
    return lambda which, *cases: np.choose(which, cases)


def _choose(which: Any, no: Any, yes: Any) -> Any:
    # Often there is a single condition, such as whether to flip an image: nothing is copied then.
    if which.size == 1 or (which.size and not any(which.strides)):
        chosen = yes if which.flat[0] else no
        # A form for all shapes has scalars where a jaxpr broadcasts them.
        return np.full(which.shape, chosen) if which.ndim and not np.ndim(chosen) else chosen
    return choose(which, no, yes)


# np.where branches at each element. Processors predict branches badly if the condition is random, like the
# signs of activations: a million elements take 4.5 ms, but 0.4 to 1.2 ms with arithmetic on their bits.
_BRANCHES_UP_TO = 4096  # elements, for which np.where is as fast
# itemsize -> dtypes of the masks
_MASKS: dict[int, Any] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def choose(condition: np.ndarray, no: Any, yes: Any) -> Any:
    """``np.where(condition, yes, no)`` to the bit, for a boolean condition and two arrays of one dtype.

    Args:
        condition: the choice for each element.
        no: the result where it is false, of the same shape.
        yes: the result where it is true, of the same shape.
    """
    mask = _MASKS.get(yes.dtype.itemsize)
    has_bits = mask is not None and yes.dtype == no.dtype and yes.dtype.kind in "fiub"
    if condition.size <= _BRANCHES_UP_TO or not has_bits:
        return np.where(condition, yes, no)
    bits: np.ndarray = condition.astype(mask)
    if_true, if_false = yes.view(mask), no.view(mask)
    if _is_zero(if_true):
        np.subtract(bits, 1, out=bits, dtype=mask)  # all ones where the condition does not hold
        np.bitwise_and(bits, if_false, out=bits)
        return bits.view(yes.dtype)
    np.negative(bits, out=bits)  # all ones where it holds
    if _is_zero(if_false):
        np.bitwise_and(bits, if_true, out=bits)
    else:
        np.bitwise_and(bits, np.bitwise_xor(if_true, if_false), out=bits)
        np.bitwise_xor(bits, if_false, out=bits)
    return bits.view(yes.dtype)


def _is_zero(bits: np.ndarray) -> bool:
    """Whether all bits are 0: not for -0.0."""
    return not any(bits.strides) and bits.size > 0 and not bits.flat[0]
