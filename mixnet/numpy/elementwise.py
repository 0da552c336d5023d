"""Elementwise functions of ``mx.np``: unary, binary, and clipping."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.base import AttributeTypeError, AttributeValueError, OptionError
from mixnet.ndarray.operators import wrong_operands
from mixnet.numpy import ndarray as arrays
from mixnet.numpy.call import NUMBERS, as_operator, call, check_operand, is_array

if TYPE_CHECKING:
    from mixnet.numpy.call import Operable, Operand

_UFUNC_OPTIONS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}


# Functions that MXNet writes without the options of a ufunc.
_WITHOUT_OPTIONS = {
    "true_divide", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
}  # fmt: skip
# For these dtypes MXNet raises NotImplementedError, for others TypeError, NumPy's objects too.
_NUMBERS: list[Any] = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"]
_NUMBERS += [onp.dtype(name).type for name in _NUMBERS]


def check_options(function: str, options: dict[str, Any]) -> None:
    """Raise unless the options of a NumPy ufunc have the only values that are kept.

    Raises:
        TypeError: an unknown option; a ``dtype`` that is not the name or type of a number.
        NotImplementedError: ``where=`` and the like with another value; ``dtype``.
    """
    for key, value in options.items():
        if key == "name":  # a symbol's
            continue
        allowed = ["out"] if function in _WITHOUT_OPTIONS else list(_UFUNC_OPTIONS)
        if key not in allowed:
            raise AttributeTypeError(
                f"{function} has no option {key!r}; it takes {', '.join(allowed)}."
            )
        if key == "dtype" and value is not None:
            is_named = not isinstance(value, onp.dtype) and value in _NUMBERS
            kind = OptionError if is_named else AttributeTypeError
            raise kind(f"{function}: dtype={value!r:.60} is not supported; cast with astype().")
        if value is not _UFUNC_OPTIONS[key] and value != _UFUNC_OPTIONS[key] and value is not None:
            raise OptionError(
                f"{function}: {key}={value!r} is not supported; leave it at {_UFUNC_OPTIONS[key]!r}."
            )


# name in mx.np: operator, sentence
_UNARY = {
    "abs": ("_npi_absolute", "Absolute value"),
    "absolute": ("_npi_absolute", "Absolute value"),
    "fabs": ("_npi_absolute", "Absolute value"),
    "sign": ("_npi_sign", "-1, 0 or 1"),
    "sqrt": ("_npi_sqrt", "Square root"),
    "square": ("_npi_square", "Square"),
    "cbrt": ("_npi_cbrt", "Cube root"),
    "reciprocal": ("_npi_reciprocal", "Reciprocal"),
    "negative": ("_npi_negative", "Opposite sign"),
    "exp": ("_npi_exp", "Exponential"),
    "expm1": ("_npi_expm1", "Exponential minus one"),
    "log": ("_npi_log", "Natural logarithm"),
    "log2": ("_npi_log2", "Logarithm to base 2"),
    "log10": ("_npi_log10", "Logarithm to base 10"),
    "log1p": ("_npi_log1p", "Natural logarithm of one plus the number"),
    "sin": ("_npi_sin", "Sine of radians"),
    "cos": ("_npi_cos", "Cosine of radians"),
    "tan": ("_npi_tan", "Tangent of radians"),
    "arcsin": ("_npi_arcsin", "Inverse sine, in radians"),
    "arccos": ("_npi_arccos", "Inverse cosine, in radians"),
    "arctan": ("_npi_arctan", "Inverse tangent, in radians"),
    "sinh": ("_npi_sinh", "Hyperbolic sine"),
    "cosh": ("_npi_cosh", "Hyperbolic cosine"),
    "tanh": ("_npi_tanh", "Hyperbolic tangent"),
    "arcsinh": ("_npi_arcsinh", "Inverse hyperbolic sine"),
    "arccosh": ("_npi_arccosh", "Inverse hyperbolic cosine"),
    "arctanh": ("_npi_arctanh", "Inverse hyperbolic tangent"),
    "degrees": ("_npi_degrees", "Radians to degrees"),
    "rad2deg": ("_npi_degrees", "Radians to degrees"),
    "radians": ("_npi_radians", "Degrees to radians"),
    "deg2rad": ("_npi_radians", "Degrees to radians"),
    "rint": ("_npi_rint", "Nearest whole number"),
    "ceil": ("_npi_ceil", "Rounded up to a whole number"),
    "floor": ("_npi_floor", "Rounded down to a whole number"),
    "trunc": ("_npi_trunc", "Whole part"),
    "fix": ("_npi_fix", "Whole part"),
    "logical_not": ("_npi_logical_not", "Whether zero"),
    "bitwise_not": ("_npi_bitwise_not", "Every bit inverted"),
    "invert": ("_npi_bitwise_not", "Every bit inverted"),
    "isnan": ("_npi_isnan", "Whether not a number"),
    "isinf": ("_npi_isinf", "Whether infinite"),
    "isposinf": ("_npi_isposinf", "Whether plus infinity"),
    "isneginf": ("_npi_isneginf", "Whether minus infinity"),
    "isfinite": ("_npi_isfinite", "Whether finite"),
}


_OPTIONS = "    kwargs: options of NumPy's ufuncs, such as ``where``, with their defaults.\n"


def _unary(name: str, operator: str, text: str) -> Callable[..., Any]:
    def function(x: Operand, out: Operable | None = None, **kwargs: object) -> Any:
        if kwargs:
            check_options(name, kwargs)
        if isinstance(x, NUMBERS):
            return getattr(onp, name)(x)
        check_operand(name, x)
        return call(operator, x, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{text}, of every element.\n\nArgs:\n    x: an array of any shape, or a number.\n    out: "
        f"an array that the result is written to.\n{_OPTIONS}"
    )
    return function


# name in mx.np: operators, sentence, whether MXNet's function takes further keywords
_BINARY = {
    "add": (arrays.add, "Sum", True),
    "subtract": (arrays.subtract, "Difference", True),
    "multiply": (arrays.multiply, "Product", True),
    "divide": (arrays.true_divide, "Quotient", True),
    "true_divide": (arrays.true_divide, "Quotient", False),
    "mod": (arrays.mod, "Remainder with the divisor's sign", True),
    "remainder": (arrays.mod, "Remainder with the divisor's sign", True),
    "power": (arrays.power, "Power", True),
    "maximum": (arrays.maximum, "The larger element", True),
    "minimum": (arrays.minimum, "The smaller element", True),
    "hypot": (arrays.hypot, "Square root of the sum of squares", True),
    "arctan2": (arrays.arctan2, "Angle of the point (x2, x1), in radians", True),
    "copysign": (arrays.copysign, "The first with the sign of the second", True),
    "ldexp": (arrays.ldexp, "The first times two to the second", True),
    "lcm": (arrays.lcm, "Least common multiple", True),
    "bitwise_and": (arrays.bitwise_and, "Bits in both", True),
    "bitwise_or": (arrays.bitwise_or, "Bits in either", True),
    "bitwise_xor": (arrays.bitwise_xor, "Bits in exactly one of the two", True),
    "equal": (arrays.equal, "Whether equal", False),
    "not_equal": (arrays.not_equal, "Whether different", False),
    "greater": (arrays.greater, "Whether greater", False),
    "greater_equal": (arrays.greater_equal, "Whether greater or equal", False),
    "less": (arrays.less, "Whether less", False),
    "less_equal": (arrays.less_equal, "Whether less or equal", False),
}


def _binary(name: str, operation: Any, text: str, keywords: bool) -> Callable[..., Any]:
    def function(x1: Operand, x2: Operand, out: Operable | None = None, **kwargs: object) -> Any:
        if kwargs:
            check_options(name, kwargs)
        if out is None and isinstance(x1, arrays.ndarray):
            return operation(x1, x2)
        if is_array(x1) and is_array(x2):
            return call(operation.broadcast.name, x1, x2, out=out)
        if is_array(x1) and isinstance(x2, NUMBERS):
            number = _number(x1, x2, isinstance(x2, _INTEGERS))
            return call(operation.scalar.name, x1, out=out, **number)
        if is_array(x2) and isinstance(x1, NUMBERS):
            return call(operation.reflected.name, x2, out=out, **_number(x2, x1, False))
        if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
            if out is not None:
                raise AttributeTypeError(
                    f"{name}: out is for arrays; of two numbers the result is a number."
                )
            return getattr(onp, name)(x1, x2)
        kind = wrong_operands(x1, x2)
        raise kind(
            f"{name} takes mx.np arrays and numbers, not {type(x1).__name__} and "
            f"{type(x2).__name__}. Make an array with mx.np.array(...)."
        )

    function.__name__ = function.__qualname__ = name
    options = _OPTIONS if keywords else ""
    function.__doc__ = (
        f"{text}, element by element.\n\nArgs:\n    x1: an array or a number.\n    x2: an array or "
        f"a number; axes of extent one are repeated.\n    out: an array for the result.\n{options}"
    )
    if not keywords:
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


_INTEGERS = (int, onp.int32, onp.int64)


def _number(array: Operand, value: Operand, is_int: bool) -> dict[str, Any]:
    """The attributes of a call with a number.

    A symbol of whole numbers becomes float64 by a number that is not whole, and by any number on its left,
    as in MXNet. An array keeps its dtype.
    """
    if isinstance(array, arrays.ndarray):
        return {"scalar": value.item() if isinstance(value, onp.generic) else value}
    return {"scalar": float(value), "is_int": is_int}  # type: ignore[arg-type]


FUNCTIONS = {
    **{name: _unary(name, *row) for name, row in _UNARY.items()},
    **{name: _binary(name, *row) for name, row in _BINARY.items()},
}
for _function in FUNCTIONS.values():
    _function.__module__ = "mixnet.numpy"  # where pickle looks for it


@as_operator("_npi_around")
def around(x: Operand, decimals: int = 0, out: Operable | None = None) -> Any:
    """Rounded to ``decimals`` digits after the point, halves to even.

    Args:
        x: any shape.
        decimals: below 0 for digits before the point.
        out: an array for the result.
    """
    if isinstance(x, NUMBERS):
        return onp.around(x, decimals)
    check_operand("around", x)
    return call("_npi_around", x, out=out, decimals=decimals)


@as_operator("_npi_around")
def round(x: Operand, decimals: int = 0, out: Operable | None = None) -> Any:
    """Rounded to ``decimals`` digits after the point, halves to even.

    Args:
        x: any shape.
        decimals: below 0 for digits before the point.
        out: an array for the result.
    """
    return around(x, decimals, out)


round_ = round


def clip(a: Operand, a_min: float | None, a_max: float | None, out: Operable | None = None) -> Any:
    """Elements no less than ``a_min`` and no more than ``a_max``; None leaves an end open.

    Args:
        a: any shape.
        a_min: a number, or None.
        a_max: a number, or None.
        out: an array for the result.

    Raises:
        ValueError: both ends are open.
    """
    if a_min is None and a_max is None:
        raise AttributeValueError("clip: a_min and a_max are both None; give one of them.")
    if isinstance(a, NUMBERS):
        return onp.clip(a, a_min, a_max)
    low = float("-inf") if a_min is None else float(a_min)
    high = float("inf") if a_max is None else float(a_max)
    return call("clip", a, out=out, a_min=low, a_max=high)


def nan_to_num(
    x: Operand,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
    **kwargs: object,
) -> Any:
    """NaN and infinities replaced; the largest and smallest numbers of the dtype by default.

    Args:
        x: an array or a number.
        copy: False writes the result to ``x``.
        nan: replaces NaN.
        posinf: replaces plus infinity.
        neginf: replaces minus infinity.
        kwargs: ignored.
    """
    if isinstance(x, NUMBERS):
        return onp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    check_operand("nan_to_num", x)
    out = None if copy else x
    return call("_npi_nan_to_num", x, out=out, nan=nan, posinf=posinf, neginf=neginf)
