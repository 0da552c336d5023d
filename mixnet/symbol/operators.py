"""Python's operators on symbols, and methods that are operators."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from numbers import Number, Real
from typing import Any

from mixnet.array_like import has_shape, is_array_like
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    NotImplementedForSymbol,
    OperatorTypeError,
)
from mixnet.ops.registry import OPERATORS, find
from mixnet.ops.schema.docstrings import with_arguments
from mixnet.symbol.compose import compose, make_function
from mixnet.symbol.symbol import Symbol

# Python's name: operator of two symbols, with a number on the right, with one on the left
_BINARY = {
    "add": ("_Plus", "_PlusScalar", "_PlusScalar"),
    "sub": ("_Minus", "_MinusScalar", "_RMinusScalar"),
    "mul": ("_Mul", "_MulScalar", "_MulScalar"),
    "truediv": ("_Div", "_DivScalar", "_RDivScalar"),
    "mod": ("_Mod", "_ModScalar", "_RModScalar"),
    "pow": ("_Power", "_PowerScalar", "_rpower_scalar"),  # as spelled there: names follow
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
    name = attributes.pop("name", None)
    if op.variadic:
        return compose(op, called, list(symbols), attributes, name)
    return compose(op, called, dict(zip(op.arrays, symbols, strict=False)), attributes, name)


def _method(two: str, number: str, refuses: bool = False) -> Callable[[Symbol, Any], Any]:
    def method(self: Symbol, other: object) -> Any:
        if isinstance(other, Symbol):
            return apply(two, self, other)
        if refuses or isinstance(other, Number) or is_array_like(other):
            return apply(number, self, scalar=_number(other))
        return NotImplemented

    return method


def _number(value: object) -> Any:
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, Number):
        of_shape = f" of shape {value.shape}" if has_shape(value) else ""
        raise AttributeTypeError(
            f"A Symbol can be combined with Symbols and numbers, not with {type(value).__name__}"
            f"{of_shape}. Make a variable with mx.sym.Variable(name), and bind an array to it."
        )
    if isinstance(value, Real):
        return value.item() if hasattr(value, "item") else float(value)
    raise OperatorTypeError(f"A Symbol can be combined with real numbers, not with {value!r}.")


def _either(
    name: str,
    two: str,
    right: str,
    left: str,
    numbers: Callable[[Any, Any], Any],
    names: tuple[str, str] = ("left", "right"),
) -> Callable[..., Any]:
    def function(*args: object, **kwargs: object) -> Any:
        operands = {**dict(zip(names, args, strict=False)), **kwargs}
        if operands.keys() != set(names) or len(args) + len(kwargs) != 2:
            raise AttributeTypeError(f"Give two symbols or numbers, {names[0]} and {names[1]}.")
        lhs, rhs = operands[names[0]], operands[names[1]]
        if isinstance(lhs, Symbol) and isinstance(rhs, Symbol):
            return apply(two, lhs, rhs)
        if isinstance(lhs, Symbol):
            return apply(right, lhs, scalar=_number(rhs))
        if isinstance(rhs, Symbol):
            return apply(left, rhs, scalar=_number(lhs))
        if isinstance(lhs, Number) and isinstance(rhs, Number):
            return numbers(lhs, rhs)
        raise AttributeTypeError(
            f"Give symbols or numbers, not {type(lhs).__name__} and {type(rhs).__name__}."
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"``{two}`` of symbols or numbers in either place.\n\n"
        f"Args:\n    {', '.join(names)}: symbols or numbers; of two numbers the result is a number."
    )
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(each, kind) for each in names]
    )
    return function


maximum = _either("maximum", "_Maximum", "_MaximumScalar", "_MaximumScalar", max)
minimum = _either("minimum", "_Minimum", "_MinimumScalar", "_MinimumScalar", min)
pow, power = (
    _either(name, "_Power", "_PowerScalar", "_RPowerScalar", operator.pow, ("base", "exp"))
    for name in ("pow", "power")
)
hypot = _either("hypot", "_Hypot", "_HypotScalar", "_HypotScalar", math.hypot)


def _reshape(self: Symbol, *shape: object, **kwargs: object) -> Symbol:
    """The elements in another shape, with MXNet's codes; see the operator ``Reshape``.

    Args:
        kwargs: ``shape``, instead of arguments by position; ``reverse``, to read the codes from the
            last axis on.
    """
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    return apply("reshape", self, **{"shape": kwargs.pop("shape", shape), **kwargs})


def _astype(self: Symbol, *args: object, **kwargs: object) -> Symbol:
    """The symbol in another dtype.

    Args:
        args: the dtype.
        kwargs: ``dtype``, instead of the argument by position.
    """
    (dtype,) = args or kwargs.values()
    return apply("cast", self, dtype=dtype)


def _transpose(self: Symbol, *axes: object, **kwargs: object) -> Symbol:
    """Axes in another order, reversed by default.

    Args:
        axes: the new order of the axes.
        kwargs: ``axes``, instead of arguments by position.
    """
    if axes:
        kwargs = {"axes": axes[0] if len(axes) == 1 else axes, **kwargs}
    return apply("transpose", self, **kwargs)


def _broadcast_to(self: Symbol, *args: object, **kwargs: object) -> Symbol:
    """The symbol repeated along axes of extent one.

    Args:
        args: the new shape, a tuple.
        kwargs: ``shape``, instead of the argument by position.
    """
    (shape,) = args or kwargs.values()
    return apply("broadcast_to", self, shape=shape)


def _broadcast_like(self: Symbol, *args: object, **kwargs: object) -> Symbol:
    """The symbol repeated along axes of extent one to the shape of another.

    Args:
        args: the other symbol, and attributes of ``mx.sym.broadcast_like``.
        kwargs: the same by name.
    """
    return make_function(find("broadcast_like"), "broadcast_like")(self, *args, **kwargs)


def split_v2(
    ary: Symbol, indices_or_sections: object, axis: int = 0, squeeze_axis: bool = False
) -> Symbol:
    """Split along ``axis`` into equal parts, or before each of several indices.

    Args:
        ary: a symbol.
        indices_or_sections: a number of equal parts, or a tuple of indices at which to cut.
        squeeze_axis: drop ``axis``, which has extent 1 in each part.
    """
    if isinstance(indices_or_sections, int):
        attributes: dict[str, Any] = {"indices": [], "sections": indices_or_sections}
    elif isinstance(indices_or_sections, (tuple, list)):
        attributes = {"indices": [0, *indices_or_sections], "sections": 0}
    else:
        raise AttributeValueError(
            "split_v2: indices_or_sections must be a whole number or a tuple."
        )
    return apply("_split_v2", ary, **attributes, axis=axis, squeeze_axis=squeeze_axis)


def _split_method(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    """Split along ``axis`` into equal parts, or before each of several indices.

    Args:
        args: ``indices_or_sections``, ``axis`` and ``squeeze_axis`` of :func:`split_v2`.
        kwargs: the same by name.
    """
    return split_v2(self, *args, **kwargs)


def _diag(self: Symbol, k: int = 0, **kwargs: object) -> Symbol:
    """A diagonal of a matrix, or the matrix with this diagonal.

    Args:
        k: number of the diagonal: 0 is the main one, positive ones are above it.
        kwargs: ``axis1`` and ``axis2``, the axes of the matrix.
    """
    return apply("diag", self, k=k, **kwargs)


def _unavailable(name: str, alias: str | None = None) -> Any:
    def method(self: Symbol, *args: object, **kwargs: object) -> Any:
        raise NotImplementedForSymbol(name, alias, *args)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Raises: a symbol holds no values; bind it to arrays."
    return method


_OF_EVERY_METHOD = {
    "args": "the other arrays and the attributes, in this order.",
    "kwargs": "other arguments of the function of this name.",
}
"""The arguments of each method besides the attributes of its operator."""


def _with_axes(called: str, name: str) -> Any:
    """A method that takes MXNet's free arguments, with a signature that says which there are."""
    function = make_function(find(called), name)

    def method(self: Symbol, *args: object, **kwargs: object) -> Symbol:
        return function(self, *args, **kwargs)

    kind = inspect.Parameter
    method.__name__ = method.__qualname__ = name
    method.__doc__ = with_arguments(find(called).__doc__ or "", _OF_EVERY_METHOD)
    method.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        kind("self", kind.POSITIONAL_OR_KEYWORD),
        kind("args", kind.VAR_POSITIONAL),
        *[
            kind(each.name, kind.KEYWORD_ONLY, default=each.default)
            for each in find(called).attributes.values()
        ],
        kind("kwargs", kind.VAR_KEYWORD),
    ])  # fmt: skip
    return method


# Arrays share their memory with the result if a program wishes; so that it runs on symbols as well, these
# methods accept `inplace`, too.


def _flatten(self: Symbol, inplace: bool = False, **kwargs: Any) -> Symbol:
    """All axes but the first joined.

    Args:
        inplace: accepted and ignored: a symbol has no memory.
        kwargs: ``name`` and ``attr`` of the node.
    """
    return apply("flatten", self, **kwargs)


def _squeeze(
    self: Symbol, axis: int | Sequence[int] | None = None, inplace: bool = False, **kwargs: Any
) -> Symbol:
    """Without axes of extent one: all, or ``axis``.

    Args:
        axis: one axis or several.
        inplace: accepted and ignored: a symbol has no memory.
        kwargs: ``name`` and ``attr`` of the node.
    """
    return apply("squeeze", self, axis=axis, **kwargs)


def _expand_dims(self: Symbol, axis: int, inplace: bool = False, **kwargs: Any) -> Symbol:
    """With a new axis of extent one.

    Args:
        axis: its position.
        inplace: accepted and ignored: a symbol has no memory.
        kwargs: ``name`` and ``attr`` of the node.
    """
    return apply("expand_dims", self, axis=axis, **kwargs)


def install(cls: Any) -> None:
    """Give symbols Python's operators and the methods that the registry declares."""
    for name, (two, right, left) in _BINARY.items():
        setattr(cls, f"__{name}__", _method(two, right))
        setattr(cls, f"__r{name}__", _method(two, left))
    for name, (two, number) in _COMPARE.items():
        # Where both sides return NotImplemented, Python takes == for False.
        setattr(cls, f"__{name}__", _method(two, number, refuses=True))
    cls.__hash__ = object.__hash__
    cls.__neg__ = lambda self: apply("_MulScalar", self, scalar=-1.0)
    cls.__abs__ = lambda self: apply("abs", self)
    for name, op in OPERATORS.items():
        if op.method and name.isidentifier() and not hasattr(cls, name):
            setattr(cls, name, _with_axes(name, name))
    cls.split = _with_axes("split", "split")
    cls.flatten, cls.squeeze, cls.expand_dims = _flatten, _squeeze, _expand_dims
    cls.broadcast_to, cls.broadcast_like, cls.diag = _broadcast_to, _broadcast_like, _diag
    cls.split_v2 = _split_method
    for name in ("asnumpy", "asscalar", "copy", "detach", "wait_to_read", "backward",
                 "as_in_context"):  # fmt: skip
        setattr(cls, name, _unavailable(name))
    for name, alias in (("add", "+="), ("sub", "-="), ("mul", "*="), ("truediv", "/="),
                        ("div", "/=")):  # fmt: skip
        setattr(cls, f"__i{name}__", _unavailable(f"__i{name}__", alias))
    cls.__div__, cls.__rdiv__ = cls.__truediv__, cls.__rtruediv__
    cls.__nonzero__ = cls.__bool__
    cls.reshape = _reshape
    cls.transpose = _transpose
    cls.astype = _astype
