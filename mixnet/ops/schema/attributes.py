"""Operator attributes: types, defaults, parsing from the strings of a symbol file, printing."""

from __future__ import annotations

import ast
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from mixnet.base import (
    AttributeKindError,
    AttributeTypeError,
    AttributeValueError,
    OperatorTypeError,
    OperatorValueError,
    _Null,
)
from mixnet.dtype import dtype_name
from mixnet.ops.schema.ranges import AxisOf, Length, Limit, Range, in_short, in_words

Shape = Annotated[tuple[int, ...], "shape"]
"""Annotation: a tuple of whole numbers; one number stands for a tuple of one."""

Scalar = Annotated[float, "scalar"]
"""Annotation: a number that is an input of the compiled program, so a new value compiles nothing."""

Scalars = Annotated[tuple[float, ...], "scalars"]
"""Annotation: a tuple of numbers that are inputs of the program; only their count is structure."""

PositiveScalar = Annotated[Scalar, Range(above=0)]
"""Annotation: a number above 0 that is an input of the program."""

NonNegativeScalar = Annotated[Scalar, Range(0)]
"""Annotation: a number of 0 or more that is an input of the program."""

DType = Annotated[str, "dtype"]
"""Annotation: name of a dtype; types and NumPy dtypes are taken too."""

Count = Annotated[int, Range(0)]
"""Annotation: a whole number of 0 or more."""

Positive = Annotated[int, Range(1)]
"""Annotation: a whole number of 1 or more."""

Long = Annotated[int, "long"]
"""Annotation: a whole number of 64 bits; others have 32, as in MXNet."""

LongCount = Annotated[int, "long", Range(0)]
"""Annotation: a whole number of 64 bits of 0 or more."""

NonNegative = Annotated[float, Range(0)]
"""Annotation: a number of 0 or more."""

Share = Annotated[float, Range(0, 1)]
"""Annotation: a number from 0 to 1: a probability, a fraction."""

Extents = Annotated[Shape, Range(0)]
"""Annotation: numbers of elements along axes, none of them negative: a shape, a padding."""

Steps = Annotated[Shape, Range(1)]
"""Annotation: numbers along axes of which none may be 0: strides, dilations, repetitions."""

Kernel = Annotated[Shape, Length(1, 3), Range(1)]
"""Annotation: extents of a window of one to three axes."""

Pair = Annotated[Shape, Length(2), Range(1)]
"""Annotation: a height and a width."""

Axis = Annotated[int, AxisOf()]
"""Annotation: an axis of the first array."""

AxisOrScalar = Annotated[int, AxisOf(of_scalars=True)]
"""Annotation: an axis of the first array; 0 or -1 of one without axes, as if it had one element along it."""

Axes = Annotated[Shape, AxisOf()]
"""Annotation: axes of the first array."""

AxisPair = Annotated[Shape, Length(2), AxisOf()]
"""Annotation: two axes of the first array."""

NewAxis = Annotated[int, AxisOf(new=1)]
"""Annotation: an axis of a result that has one axis more than the first array."""

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "required"})()


class Dynamic(int):
    """Stands in the static attributes for numbers that are inputs: how many, -1 for a single one."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _dynamic, (int(self),)


ONE = Dynamic(-1)


def _dynamic(count: int) -> Dynamic:
    return ONE if count == ONE else Dynamic(count)


@dataclass(frozen=True)
class Attribute:
    """One attribute of an operator, read off a keyword-only parameter of its function."""

    name: str
    kind: str  # as printed in messages: "int", "bool", "shape", "one of 'a', 'b'", ...
    default: Any
    convert: Callable[[Any], Any]
    optional: bool = False  # None is a value
    dynamic: bool = False  # an input of the program rather than part of its structure
    limits: tuple[Limit, ...] = ()  # which values of its kind it takes
    axis: AxisOf | None = None  # whether it is an axis of the first array

    def description(self) -> str:
        """The type as MXNet words it: ``"int, optional, default='1'"``, ``"float, required"``."""
        words = {
            "a boolean": "boolean", "a whole number": "int", "a number": "float",
            "a string": "string", "a shape": "Shape(tuple)", "a tuple of numbers": "tuple of <float>",
            "a dtype": "dtype",
        }  # fmt: skip
        if self.kind.startswith("one of "):
            choices = sorted(str(each) for each in ast.literal_eval(f"[{self.kind[7:]}]"))
            kind = "{" + ", ".join(repr(each) for each in choices) + "}"
        else:
            kind = words.get(self.kind, self.kind)
        if self.optional:
            kind += " or None"
        if self.required:
            return f"{kind}, required"
        default = self.default
        if isinstance(default, bool):
            return f"{kind}, optional, default={int(default)}"
        if isinstance(default, tuple):
            return f"{kind}, optional, default={list(default)}"
        if isinstance(default, float):
            return f"{kind}, optional, default={default:g}"
        return f"{kind}, optional, default='{default}'"

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is REQUIRED

    def parse(self, value: object, operator: str) -> Any:
        """The value in its own type, from that type, a NumPy scalar or the string of a file.

        Raises:
            AttributeValueError: ``value`` cannot be one, or is out of range; names operator,
                attribute and the way out.
        """
        if value is None or (isinstance(value, str) and value == "None"):
            if self.optional:
                return None
            if value is None and self.kind in _WITHOUT_NONE and not self.required:
                return self.default
        try:
            converted = self.convert(value)
        except (ValueError, TypeError, SyntaxError, KeyError, AttributeError):
            if value is _Null and not self.required:
                return self.default
            also = " or None" if self.optional else ""
            raise AttributeKindError(
                f"{operator}: attribute {self.name}={value!r} is not {self.kind}{also}."
            ) from None
        except OverflowError:
            raise self._out_of_range(value, operator, " of 32 bits") from None
        for limit in self.limits:
            if not limit.allows(converted):
                raise self._out_of_range(value, operator)
        return converted

    @property
    def range(self) -> str:
        """The values of its kind that it takes, in words; empty if it takes all."""
        return in_short(self.limits) if self.limits else str(self.axis or "")

    @property
    def in_help(self) -> str:
        """Its type, range and default, for docstrings."""
        kind = {"a shape": "a tuple of whole numbers", "hashable": "any value that has a hash"}
        text = kind.get(self.kind, self.kind)
        if self.default is not None and self.optional:
            text += " or None"
        if self.range:
            text += f", {self.range}"
        return f"{text}; {'required' if self.required else f'{self.default!r} by default'}"

    def _out_of_range(self, value: object, operator: str, size: str = "") -> AttributeValueError:
        expected = in_words(self.kind + size, self.limits) + (", or None" if self.optional else "")
        default = (
            "" if self.required or self.default is None else f" Its default is {self.default!r}."
        )
        return OperatorValueError(
            f"{operator}: {self.name}={value!r} is out of range; give {expected}.{default}"
        )


_WITHOUT_NONE = ("a string", "hashable")
"""Kinds of attributes of which MXNet has no check: None is their default."""


def to_text(value: object) -> str:
    """Text of an attribute value in a symbol file, as MXNet writes it."""
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, type):
        return np.dtype(value).name
    if isinstance(value, np.ndarray):
        value = tuple(value.tolist())
    if isinstance(value, (list, tuple)):
        inner = ", ".join(to_text(each) for each in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, np.generic):
        return str(value.item())
    return str(value)


def _bool(value: object) -> bool:
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
    if isinstance(value, (bool, int, np.bool_, np.integer)):
        return bool(value)
    raise TypeError


def _int(value: object) -> int:
    number = _whole(value)
    if not -(2**31) <= number < 2**32:  # MXNet's have 32 bits, some without a sign
        raise OverflowError
    return number


def _whole(value: Any) -> int:
    if isinstance(value, str):
        return int(value.rstrip("Ll"))
    return _extent(value)


def _extent(value: Any) -> int:
    """A whole number that is one already: 2.0 and True are refused, as in MXNet."""
    if isinstance(value, (bool, np.bool_)) or _has_axes(value):
        raise TypeError
    return int(value.__index__())


def _float(value: Any) -> float:
    if isinstance(value, (list, tuple, dict)) or _has_axes(value):
        raise TypeError
    return float(value)


def _has_axes(value: object) -> bool:
    """Whether it is an array of one element or more: its number would lose the array's gradient."""
    return bool(getattr(value, "shape", ()))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


_TOKEN = re.compile(r"[()\[\],]|[^()\[\],\s]+")
_DEEPEST = 8  # brackets in brackets


def numbers(text: str) -> tuple[Any, ...]:
    """The numbers in text as files have it: ``(2, 3)``, ``[2, 3L]``, ``((0, 1), (2, None))``, ``2``.

    Raises:
        ValueError: it is no such text.
    """
    open_ones: list[tuple[str, list[Any]]] = [("", [])]
    after_value = False  # where only a comma or an end can follow
    for token in map(re.Match.group, _TOKEN.finditer(text)):
        values = open_ones[-1][1]
        if token in (")", "]"):
            bracket, inner = open_ones.pop()
            if bracket + token not in ("()", "[]"):
                raise ValueError(f"{text!r:.80} has no balanced brackets")
            open_ones[-1][1].append(tuple(inner))
            after_value = True
        elif token == "," and after_value:
            after_value = False
        elif token == "," or after_value:
            raise ValueError(f"{text!r:.80} is not a list of numbers")
        elif token in ("(", "["):
            if len(open_ones) > _DEEPEST:
                raise ValueError(f"{text!r:.80} is nested too deeply")
            open_ones.append((token, []))
        else:
            values.append(_number(token))
            after_value = True
    if len(open_ones) > 1:
        raise ValueError(f"{text!r:.80} has no balanced brackets")
    values = open_ones[0][1]
    return values[0] if len(values) == 1 and isinstance(values[0], tuple) else tuple(values)


def _number(text: str) -> Any:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    digits = text.rstrip("Ll")
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _sequence(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = numbers(value)
    if isinstance(value, (int, float, np.integer)) and not isinstance(value, bool):
        return (value,)
    if hasattr(value, "shape"):  # an array, which has no rows where it has no axes
        listed = (value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)).tolist()
        return tuple(listed) if isinstance(listed, list) else (listed,)
    return tuple(value)


def _shape(value: object) -> tuple[int | None, ...]:
    return tuple(None if each is None else _extent(each) for each in _sequence(value))


def _extents(value: object) -> tuple[int, ...]:
    return tuple(_extent(each) for each in _sequence(value))


def _floats(value: object) -> tuple[float, ...]:
    return tuple(_float(each) for each in _sequence(value))


def _dtype_name(value: Any) -> str:
    return dtype_name(value)


def _choice(choices: tuple[Any, ...]) -> Callable[[Any], Any]:
    table = {str(each): each for each in choices}

    def convert(value: object) -> Any:
        return table[str(value)]

    return convert


def _as_is(value: object) -> Any:
    hash(value)
    return value


# The converters by annotation; Shape, Scalar and DType are distinguished by their Annotated mark.
_BY_MARK = {
    "shape": ("a shape", _extents),
    "dtype": ("a dtype", _dtype_name),
    "scalars": ("a tuple of numbers", _floats),
    "long": ("a whole number", _whole),
}
_BY_TYPE: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    bool: ("a boolean", _bool),
    int: ("a whole number", _int),
    float: ("a number", _float),
    str: ("a string", _text),
    tuple[float, ...]: ("a tuple of numbers", _floats),
    tuple[int, ...]: ("a shape", _shape),
    tuple: ("a tuple", _sequence),
}


def attribute(name: str, hint: Any, default: object) -> Attribute:
    """The attribute that a parameter ``name: hint = default`` declares."""
    dynamic = optional = False
    limits: tuple[Limit, ...] = ()
    axis = None
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [each for each in typing.get_args(hint) if each is not type(None)]
        optional = len(members) < len(typing.get_args(hint))
        hint = members[0] if len(members) == 1 else Any
    if typing.get_origin(hint) is Annotated:
        inner, *marks = typing.get_args(hint)
        words = [each for each in marks if isinstance(each, str)]
        dynamic = "scalar" in words or "scalars" in words
        kind, convert = next(
            (_BY_MARK[each] for each in words if each in _BY_MARK), _BY_TYPE[inner]
        )
        limits = tuple(each for each in marks if isinstance(each, Range | Length))
        axis = next((each for each in marks if isinstance(each, AxisOf)), None)
    elif typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        kind, convert = "one of " + ", ".join(map(repr, choices)), _choice(choices)
        optional = optional or None in choices
    else:
        kind, convert = _BY_TYPE.get(hint, ("hashable", _as_is))
    return Attribute(
        name,
        kind,
        default,
        convert,
        optional or default is None,
        dynamic,
        limits,
        axis,
    )


def missing(operator: str, name: str, signature: str) -> AttributeTypeError:
    """The error for a required attribute that a call leaves out."""
    return OperatorTypeError(
        f"{operator}: attribute {name!r} is required and was not given. Call it as {signature}."
    )
