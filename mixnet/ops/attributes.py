"""Attributes of operators: types, defaults, parsing from the strings of a symbol file, printing."""

from __future__ import annotations

import ast
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError, _Null
from mixnet.dtype import as_dtype

Shape = Annotated[tuple[int, ...], "shape"]
"""Annotation: a tuple of whole numbers; one number stands for a tuple of one."""

Scalar = Annotated[float, "scalar"]
"""Annotation: a number that is an input of the compiled program, so a new value compiles nothing."""

Scalars = Annotated[tuple[float, ...], "scalars"]
"""Annotation: a tuple of numbers that are inputs of the program; only their count is structure."""

DType = Annotated[str, "dtype"]
"""Annotation: name of a dtype; types and NumPy dtypes are taken too."""

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "required"})()


class Dynamic(int):
    """Stands in the static attributes for numbers that are inputs: how many, -1 for a single one."""


ONE = Dynamic(-1)


@dataclass(frozen=True)
class Attribute:
    """One attribute of an operator, read off a keyword-only parameter of its function."""

    name: str
    kind: str  # as printed in messages: "int", "bool", "shape", "one of 'a', 'b'", ...
    default: Any
    convert: Callable[[Any], Any]
    optional: bool = False  # None is a value
    dynamic: bool = False  # an input of the program rather than part of its structure

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

    def parse(self, value: Any, operator: str) -> Any:
        """The value in its own type, from that type, a NumPy scalar or the string of a file.

        Raises:
            AttributeValueError: ``value`` cannot be one; names operator, attribute and the way out.
        """
        if value is None or (self.optional and isinstance(value, str) and value == "None"):
            if self.optional:
                return None
            if not self.required:  # MXNet programs pass None for "not given"
                return self.default
        try:
            return self.convert(value)
        except (ValueError, TypeError, SyntaxError, KeyError, AttributeError):
            if value is _Null and not self.required:
                return self.default
            also = " or None" if self.optional else ""
            raise AttributeValueError(
                f"{operator}: attribute {self.name}={value!r} is not {self.kind}{also}."
            ) from None


def to_text(value: Any) -> str:
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


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
    if isinstance(value, (bool, int, np.bool_, np.integer)):
        return bool(value)
    raise TypeError


def _int(value: Any) -> int:
    if isinstance(value, str):
        return int(value.rstrip("Ll"))
    if isinstance(value, (float, np.floating)):
        if not float(value).is_integer():
            raise ValueError
        return int(value)
    return int(value.__index__())


def _float(value: Any) -> float:
    if isinstance(value, (list, tuple, dict)):
        raise TypeError
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _sequence(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = ast.literal_eval(value.replace("L", "")) if value.strip() else ()
    if isinstance(value, (int, float, np.integer)) and not isinstance(value, bool):
        return (value,)
    return tuple(value)


def _shape(value: Any) -> tuple[int | None, ...]:
    return tuple(None if each is None else _int(each) for each in _sequence(value))


def _floats(value: Any) -> tuple[float, ...]:
    return tuple(_float(each) for each in _sequence(value))


def _dtype_name(value: Any) -> str:
    return as_dtype(value).name


def _choice(choices: tuple[Any, ...]) -> Callable[[Any], Any]:
    table = {str(each): each for each in choices}

    def convert(value: Any) -> Any:
        return table[str(value)]

    return convert


def _as_is(value: Any) -> Any:
    hash(value)
    return value


# The converters by annotation; Shape, Scalar and DType are told apart by their Annotated mark.
_BY_MARK = {
    "shape": ("a shape", _shape),
    "dtype": ("a dtype", _dtype_name),
    "scalars": ("a tuple of numbers", _floats),
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


def attribute(name: str, hint: Any, default: Any) -> Attribute:
    """The attribute that a parameter ``name: hint = default`` declares."""
    dynamic = optional = False
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [each for each in typing.get_args(hint) if each is not type(None)]
        optional = len(members) < len(typing.get_args(hint))
        hint = members[0] if len(members) == 1 else Any
    if typing.get_origin(hint) is Annotated:
        inner, mark = typing.get_args(hint)[:2]
        dynamic = mark in ("scalar", "scalars")
        kind, convert = _BY_MARK.get(mark) or _BY_TYPE[inner]
    elif typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        kind, convert = "one of " + ", ".join(map(repr, choices)), _choice(choices)
        optional = optional or None in choices
    else:
        kind, convert = _BY_TYPE.get(hint, ("hashable", _as_is))
    return Attribute(name, kind, default, convert, optional or default is None, dynamic)


def missing(operator: str, name: str, signature: str) -> AttributeTypeError:
    """The error for a required attribute that a call leaves out."""
    return AttributeTypeError(
        f"{operator}: attribute {name!r} is required and was not given. Call it as {signature}."
    )
