"""Operators of Python on symbols, and methods that are operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet.base import AttributeTypeError
from mixnet.ops.registry import OPERATORS, find
from mixnet.symbol.symbol import Symbol, compose, make_function

# Python's name: operator of two symbols, with a number on the right, with one on the left
_BINARY = {
    "add": ("_Plus", "_PlusScalar", "_PlusScalar"),
    "sub": ("_Minus", "_MinusScalar", "_RMinusScalar"),
    "mul": ("_Mul", "_MulScalar", "_MulScalar"),
    "truediv": ("_Div", "_DivScalar", "_RDivScalar"),
    "mod": ("_Mod", "_ModScalar", "_RModScalar"),
    "pow": ("_Power", "_PowerScalar", "_RPowerScalar"),
}
_COMPARE = {
    "eq": ("_equal", "_equal_scalar"),
    "ne": ("_not_equal", "_not_equal_scalar"),
    "gt": ("_greater", "_greater_scalar"),
    "ge": ("_greater_equal", "_greater_equal_scalar"),
    "lt": ("_lesser", "_lesser_scalar"),
    "le": ("_lesser_equal", "_lesser_equal_scalar"),
}


def apply(called: str, *symbols: Symbol, **attributes: Any) -> Symbol:
    """An operator by the name it is called by, on symbols in the order of its parameters."""
    op = find(called)
    if op.variadic:
        return compose(op, called, list(symbols), attributes)
    return compose(op, called, dict(zip(op.arrays, symbols, strict=False)), attributes)


def _method(two: str, number: str) -> Callable[[Symbol, Any], Any]:
    def method(self: Symbol, other: Any) -> Any:
        if isinstance(other, Symbol):
            return apply(two, self, other)
        if isinstance(other, (int, float)) or hasattr(other, "__float__"):
            return apply(number, self, scalar=_number(other))
        return NotImplemented

    return method


def _number(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else value.item()


def _either(two: str, right: str, left: str) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, Symbol) and isinstance(rhs, Symbol):
            return apply(two, lhs, rhs)
        if isinstance(lhs, Symbol):
            return apply(right, lhs, scalar=_number(rhs))
        if isinstance(rhs, Symbol):
            return apply(left, rhs, scalar=_number(lhs))
        raise AttributeTypeError("take a Symbol on one side at least.")

    function.__doc__ = f"``{two}`` of symbols or numbers in either place."
    return function


maximum = _either("_Maximum", "_MaximumScalar", "_MaximumScalar")
minimum = _either("_Minimum", "_MinimumScalar", "_MinimumScalar")
pow = power = _either("_Power", "_PowerScalar", "_RPowerScalar")
hypot = _either("_Hypot", "_HypotScalar", "_HypotScalar")


def _reshape(self: Symbol, *shape: Any, **kwargs: Any) -> Symbol:
    """The elements in another shape, with MXNet's codes; see the operator ``Reshape``."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    return apply("reshape", self, **{"shape": kwargs.pop("shape", shape), **kwargs})


def _astype(self: Symbol, dtype: Any) -> Symbol:
    """The symbol in another dtype."""
    return apply("cast", self, dtype=dtype)


def _transpose(self: Symbol, *axes: Any, **kwargs: Any) -> Symbol:
    """Axes in another order, reversed by default."""
    if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
        axes = tuple(axes[0])
    return apply("transpose", self, axes=kwargs.get("axes", axes))


def install(cls: Any) -> None:
    """Give symbols Python's operators and the methods that the registry declares."""
    for name, (two, right, left) in _BINARY.items():
        setattr(cls, f"__{name}__", _method(two, right))
        setattr(cls, f"__r{name}__", _method(two, left))
    for name, (two, number) in _COMPARE.items():
        setattr(cls, f"__{name}__", _method(two, number))
    cls.__hash__ = object.__hash__
    cls.__neg__ = lambda self: apply("_MulScalar", self, scalar=-1.0)
    cls.__abs__ = lambda self: apply("abs", self)
    for name, op in OPERATORS.items():
        if op.method and name.isidentifier() and not hasattr(cls, name):
            setattr(cls, name, make_function(op, name))
    cls.reshape = _reshape
    cls.transpose = _transpose
    cls.astype = _astype
