"""Arithmetic and comparison of ``mx.np``: broadcasting, mixed dtypes, boolean comparisons.

The dtypes are MXNet's, which are not always NumPy's: floating-point wins over integers whatever
their widths, a number takes the dtype of the array it meets, and where MXNet refuses a pair of
dtypes, so does this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mixnet.base import DTypeError
from mixnet.ops.math.broadcast import check_broadcast
from mixnet.ops.math.elementwise import BINARY, FUSIONS, hypot, power_scalar
from mixnet.ops.math.quotient import quotient
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Scalar
from mixnet.ops.schema.dtypes import (
    FRACTION,
    TRUTH,
    beside_number,
    infer_beside_number,
    to_dtype,
)
from mixnet.private_jax.derivatives import CustomJVP

Function = Callable[..., Any]


def _is_float(dtype: DTypeLike) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating))


def promoted(name: str, left: Any, right: Any) -> Any:
    """The dtype in which two arrays meet.

    Raises:
        DTypeError: MXNet does not combine the two.
    """
    if left == right:
        return left
    floats = [each for each in (left, right) if _is_float(each)]
    if floats:
        return max(floats, key=lambda each: (each.itemsize, each.name == "float16"))
    if left == jnp.bool_ or right == jnp.bool_:
        return right if left == jnp.bool_ else left
    if left.itemsize != right.itemsize:
        return max(left, right, key=lambda each: each.itemsize)
    raise _refused(name, left, right)


def _refused(name: str, left: Any, right: Any) -> DTypeError:
    return DTypeError(
        f"{name}: arrays of {left.name} and {right.name} do not combine; cast one of them with "
        f"astype()."
    )


def _in_float(function: Function) -> Function:
    """Computed in floating point and cut back to whole numbers, where these come in."""

    def compute(x: jax.Array, y: jax.Array) -> Any:
        if _is_float(x.dtype):
            return function(x, y)
        return to_dtype(function(x.astype(jnp.float64), y.astype(jnp.float64)), x.dtype)

    return compute


@CustomJVP
def _copysign(x: jax.Array, y: jax.Array) -> Any:
    """The derivative is 1 where the signs are the same and -1 where not, 0 having either."""
    return jnp.copysign(x, y)


@_copysign.defjvp
def _(primals: jax.Array, tangents: jax.Array) -> Any:
    (x, y), (dx, _) = primals, tangents
    same = ((x >= 0) & (y >= 0)) | ((x < 0) & (y < 0))
    return _copysign(x, y), jnp.where(same, dx, -dx)


def _times_power_of_two(x: jax.Array, y: jax.Array) -> Any:
    return x * jnp.power(jnp.asarray(2, y.dtype), y)


def _lcm(x: jax.Array, y: jax.Array) -> Any:
    return x & y if x.dtype == jnp.bool_ else jnp.lcm(x, y)


def _add(x: jax.Array, y: jax.Array) -> Any:
    return x + y


def _multiply(x: jax.Array, y: jax.Array) -> Any:
    return x * y


# name: function, text, kinds of dtypes: "any" promotes, "numbers" promotes but refuses two booleans,
# "same" wants equal dtypes, "same floats" and "same integers" of that kind
_ARITHMETIC: dict[str, tuple[Function, str, str]] = {
    "add": (_add, "Sum.", "any"),
    "subtract": (jnp.subtract, "Difference.", "numbers"),
    "multiply": (_multiply, "Product.", "any"),
    "mod": (BINARY["mod"][0], "Remainder with the divisor's sign.", "numbers"),
    "power": (BINARY["power"][0], "Power.", "any"),
    "hypot": (hypot, "Square root of the sum of squares.", "same floats"),
    "arctan2": (_in_float(jnp.arctan2), "Angle of (x2, x1) in radians.", "same floats"),
    "copysign": (_in_float(_copysign), "First with the sign of the second.", "same"),
    "ldexp": (
        _in_float(_times_power_of_two),
        "First times two to the power of the second.",
        "same",
    ),
    "lcm": (_lcm, "Least common multiple.", "same integers"),
    "bitwise_and": (jnp.bitwise_and, "Bits in both.", "same integers"),
    "bitwise_or": (jnp.bitwise_or, "Bits in either.", "same integers"),
    "bitwise_xor": (jnp.bitwise_xor, "Bits in exactly one of the two.", "same integers"),
}
_COMPARISONS: dict[str, tuple[Function, str]] = {
    "equal": (jnp.equal, "Whether equal."),
    "not_equal": (jnp.not_equal, "Whether different."),
    "greater": (jnp.greater, "Whether greater."),
    "greater_equal": (jnp.greater_equal, "Whether greater or equal."),
    "less": (jnp.less, "Whether less."),
    "less_equal": (jnp.less_equal, "Whether less or equal."),
}
_NAMES = {"arctan2": ("x1", "x2"), "hypot": ("x1", "x2")}
_REFLECTED = ("subtract", "mod", "power", "arctan2", "copysign", "ldexp")
_SCALAR_ELSEWHERE = ("hypot",)  # the same operator as in mx.nd
_NO_GRADIENT = ("lcm", "bitwise_and", "bitwise_or", "bitwise_xor")


def common_dtype(name: str, kinds: str, left: jax.Array, right: jax.Array) -> Any:
    """The dtype in which arithmetic ``name`` computes.

    Raises:
        DTypeError: not with these dtypes.
    """
    if kinds in ("any", "numbers"):
        dtype = promoted(name, left, right)
        if kinds == "numbers" and dtype == jnp.bool_:
            raise _refused(name, left, right)
        return dtype
    floating = _is_float(left)
    wrong = (kinds == "same floats" and not floating) or (kinds == "same integers" and floating)
    if left != right or wrong or (kinds == "same" and left == jnp.bool_):
        raise _refused(name, left, right)
    return left


def met_by_number(array: Any, number: Any, is_int: bool) -> tuple[Any, Any]:
    """An array and a number in the dtype in which they meet."""
    array = beside_number(array, is_int)
    return array, to_dtype(jnp.asarray(number), array.dtype)


def _declare(name: str, function: Function, text: str, kinds: str) -> None:
    gradient = name not in _NO_GRADIENT

    def declare(registered: str, compute: Function, of: str, **facts: Any) -> Op:
        compute.__doc__ = _text(text, of, registered)
        return op(registered, differentiable=gradient, **facts)(compute)

    def declare_beside_number(registered: str, compute: Function, of: str) -> None:
        declared = declare(registered, compute, of)
        if not name.startswith("bitwise"):
            declared.infer_dtypes_of_known(infer_beside_number)

    both = "For two arrays; axes of extent one are repeated."
    declare(f"_npi_{name}", _of_arrays(name, function, kinds), both, fusion=FUSIONS.get(name))
    if name not in _SCALAR_ELSEWHERE:
        compute = _of_number(name, function, kinds)
        declare_beside_number(f"_npi_{name}_scalar", compute, "For an array and a number.")
    if name in _REFLECTED:
        declare_beside_number(
            f"_npi_r{name}_scalar", _reflected(function), "For a number and an array."
        )


def _of_arrays(name: str, function: Function, kinds: str) -> Function:
    """The arithmetic for two arrays, whose parameters are called as in MXNet."""
    registered = f"_npi_{name}"

    def binary(lhs, rhs):
        check_broadcast(registered, lhs.shape, rhs.shape)
        dtype = common_dtype(registered, kinds, lhs.dtype, rhs.dtype)
        return function(lhs.astype(dtype), rhs.astype(dtype)).astype(dtype)

    def renamed(x1, x2):
        return binary(x1, x2)

    return renamed if name in _NAMES else binary


def _of_number(name: str, function: Function, kinds: str) -> Function:
    """The arithmetic for an array and a number."""
    registered = f"_npi_{name}"

    def bitwise(data, *, scalar: Scalar = 1.0, is_int: bool = True):
        if _is_float(data.dtype):
            raise _refused(registered, data.dtype, jnp.dtype(int))
        return function(data, to_dtype(jnp.asarray(scalar), data.dtype))

    # An exponent is structure: XLA makes a product of a square.
    def power(data, *, scalar: float = 1.0, is_int: bool = True):
        if _is_float(data.dtype):
            return power_scalar.function(data, scalar=scalar)
        array, number = met_by_number(data, scalar, is_int)
        return BINARY["power"][0](array, number)

    def other(data, *, scalar: Scalar = 1.0, is_int: bool = True):
        if kinds == "same integers" and (_is_float(data.dtype) or data.dtype == jnp.bool_):
            raise _refused(registered, data.dtype, jnp.dtype(int))
        array, number = met_by_number(data, scalar, is_int)
        return function(array, number).astype(array.dtype)

    return bitwise if name.startswith("bitwise") else power if name == "power" else other


def _reflected(function: Function) -> Function:
    """The arithmetic for a number and an array."""

    def reflected(data, *, scalar: Scalar = 1.0, is_int: bool = True):
        array, number = met_by_number(data, scalar, is_int)
        number = jnp.broadcast_to(number, array.shape)
        return function(number, array).astype(array.dtype)

    return reflected


def _text(text: str, of: str, name: str) -> str:
    return f"{text} {of}\n\nSource: MXNet operator ``{name}``."


for _name, _row in _ARITHMETIC.items():
    _declare(_name, *_row)


def _declare_comparison(name: str, function: Function, text: str) -> None:
    registered = f"_npi_{name}"

    def compare(lhs, rhs):
        check_broadcast(registered, lhs.shape, rhs.shape)
        if lhs.dtype != rhs.dtype:
            raise _refused(registered, lhs.dtype, rhs.dtype)
        return function(lhs, rhs)

    def compare_scalar(data, *, scalar: Scalar = 1.0, is_int: bool = True):
        if data.dtype != jnp.bool_ and not is_int:
            data = beside_number(data, is_int)
        return function(data, to_dtype(jnp.asarray(scalar), data.dtype))

    compare.__doc__ = _text(
        text, "For two arrays of equal dtype; the result is boolean.", registered
    )
    compare_scalar.__doc__ = _text(text, "For an array and a number.", f"{registered}_scalar")
    op(registered, dtypes=TRUTH, differentiable=False)(compare)
    op(f"{registered}_scalar", dtypes=TRUTH, differentiable=False)(compare_scalar)


for _name, _comparison in _COMPARISONS.items():
    _declare_comparison(_name, *_comparison)


def _quotient(x: jax.Array, y: jax.Array) -> Any:
    # Whole numbers are divided in float32, as MXNet has it.
    dtype = x.dtype if _is_float(x.dtype) else y.dtype if _is_float(y.dtype) else jnp.float32
    return quotient(x.astype(dtype), y.astype(dtype))


@op("_npi_true_divide", dtypes=FRACTION)
def true_divide(lhs, rhs):
    """Quotient of two arrays; of whole numbers in float32.

    Raises:
        DTypeError: floating-point arrays of different widths, or whole numbers of different dtypes.

    Source: MXNet operator ``_npi_true_divide``.
    """
    check_broadcast("_npi_true_divide", lhs.shape, rhs.shape)
    if lhs.dtype != rhs.dtype and _is_float(lhs.dtype) == _is_float(rhs.dtype):
        raise _refused("_npi_true_divide", lhs.dtype, rhs.dtype)
    return _quotient(lhs, rhs)


@op("_npi_true_divide_scalar", dtypes=FRACTION)
def true_divide_scalar(data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """An array divided by a number; whole numbers in float32.

    Source: MXNet operator ``_npi_true_divide_scalar``.
    """
    data = data if _is_float(data.dtype) else data.astype(jnp.float32)
    return quotient(data, jnp.asarray(scalar).astype(data.dtype))


@op("_npi_rtrue_divide_scalar", dtypes=FRACTION)
def rtrue_divide_scalar(data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """A number divided by an array; whole numbers in float32.

    Source: MXNet operator ``_npi_rtrue_divide_scalar``.
    """
    data = data if _is_float(data.dtype) else data.astype(jnp.float32)
    return quotient(jnp.asarray(scalar).astype(data.dtype), data)


def _declare_test(name: str, function: Function, text: str) -> None:
    def test(x):
        return function(x)

    test.__doc__ = _text(text, "Element by element; the result is boolean.", f"_npi_{name}")
    op(f"_npi_{name}", dtypes=TRUTH, differentiable=False)(test)


_declare_test("logical_not", lambda x: x == 0, "Whether zero.")
_declare_test("isnan", jnp.isnan, "Whether not a number.")
_declare_test("isinf", jnp.isinf, "Whether infinite.")
_declare_test("isposinf", jnp.isposinf, "Whether plus infinity.")
_declare_test("isneginf", jnp.isneginf, "Whether minus infinity.")
_declare_test("isfinite", jnp.isfinite, "Whether finite.")


@op("_npi_bitwise_not", differentiable=False)
def bitwise_not(x):
    """Every bit inverted; booleans are negated.

    Source: MXNet operator ``_npi_bitwise_not``.
    """
    if _is_float(x.dtype):
        raise DTypeError(f"bitwise_not takes integers or booleans, not {x.dtype.name}.")
    return jnp.bitwise_not(x)


@op("_npi_around", booleans=False, differentiable=False)
def around(x, *, decimals: int = 0):
    """Rounded to ``decimals`` digits after the point; whole numbers are cut.

    Source: MXNet operator ``_npi_around``.
    """
    if not _is_float(x.dtype):
        step = jnp.asarray(10 ** max(0, -decimals), jnp.int64)
        return (jax.lax.div(x.astype(jnp.int64), step) * step).astype(x.dtype)
    # Digit by digit, as MXNet moves the point: the last bit depends on it.
    return _moved(jnp.round(_moved(x, decimals)), -decimals)


def _moved(x: jax.Array, digits: int) -> Any:
    """Times ``10**digits``, rounded after each factor: XLA would join them."""
    for _ in range(min(abs(digits), 700)):  # beyond, everything is infinite or 0
        moved = x * 10 if digits > 0 else quotient(x, 10.0)
        x = jax.lax.optimization_barrier(moved).astype(x.dtype)
    return x


@op("_npi_nan_to_num")
def nan_to_num(
    data,
    *,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
):
    """NaN and infinities replaced by numbers; the largest and smallest numbers of the dtype by default.

    Source: MXNet operator ``_npi_nan_to_num``.
    """
    if not _is_float(data.dtype):
        return data
    replaced = jnp.nan_to_num(jax.lax.stop_gradient(data), nan=nan, posinf=posinf, neginf=neginf)
    return jnp.where(jnp.isfinite(data), data, replaced)
