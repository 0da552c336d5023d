"""Calling an operator from a function of ``mx.np``, on arrays or symbols.

The functions are written once: with arrays they compute, with symbols they compose.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

import numpy as onp

from mixnet.base import (
    AttributeKindError,
    AttributeTypeError,
    MXNetError,
    NotAnArrayError,
    OtherArrayError,
)
from mixnet.dtype import dtype_name
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.ops.registry import find
from mixnet.ops.schema.ranges import AxisOf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import TypeIs

    from mixnet.context import Context
    from mixnet.dtype import DTypeLike

P = ParamSpec("P")
R = TypeVar("R")
NUMBERS = (bool, int, float, onp.number, onp.bool_)


def order_of_axes(axes: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The axes that ``transpose(*axes)`` was called with, one by one or as one tuple; None reverses them."""
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = tuple(axes[0] or ())
    return axes or None


class Operable(Protocol):
    """An array, which operators compute with, or a symbol, which they extend."""

    @classmethod
    def _operate(
        cls,
        op: Op,
        arrays: object,
        attributes: dict[str, Any],
        out: Operable | None = None,
        called: str = "",
    ) -> Any: ...


class Array(Operable, Protocol):
    """An operand that says what it is like, as arrays do."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""

    @property
    def ndim(self) -> int:
        """Number of axes."""

    @property
    def size(self) -> int:
        """Number of elements."""

    @property
    def dtype(self) -> Any:
        """Data type."""

    @property
    def ctx(self) -> Context:
        """Device."""

    def reshape(self, *shape: Any) -> Any:
        """The elements in another shape."""

    def __mul__(self, other: Any) -> Any: ...

    def __truediv__(self, other: Any) -> Any: ...


if TYPE_CHECKING:
    # What functions of ``mx.np`` take: arrays, symbols, numbers and nested lists.
    Operand = Operable | ArrayLike


class _Face(threading.local):
    # What functions without array arguments make: set by mixnet.numpy and by mixnet.symbol.numpy.face.
    current: Any = None


_face = _Face()
_default: list[Any] = []


def set_default_face(cls: type[NDArray]) -> None:
    """The class of arrays that creation functions return."""
    _default[:] = [cls]


@contextmanager
def face(cls: Any) -> Iterator[None]:
    """Creation functions return ``cls`` inside."""
    before, _face.current = _face.current, cls
    try:
        yield
    finally:
        _face.current = before


def current_face() -> Any:
    """The class that a function without array arguments makes."""
    return _face.current or _default[0]


def is_array(value: object) -> TypeIs[Array]:
    """Whether ``value`` is an array or a symbol."""
    return hasattr(type(value), "_operate")


def call(name: str, *arrays: Any, out: Any = None, **attributes: Any) -> Any:
    """The operator on arrays or symbols; None among them is left out.

    Args:
        name: its registered name.
        arrays: its inputs, of one face.
        out: an array that the result is written to.
        attributes: by name; ``ctx`` says where an operator without inputs runs.

    Raises:
        TypeError: an input is neither an array nor a symbol.
    """
    operands = [each for each in arrays if each is not None]
    for each in operands:
        if not is_array(each):  # a name is only made for an error
            check_array(name.removeprefix("_npi_").removeprefix("_np_"), each)
    cls = type(operands[0]) if operands else current_face()
    return cls._operate(find(name), operands, attributes, out, name)


def as_operator(operator: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator for a function that MXNet generates from an operator.

    A call with wrong arguments raises what an operator's does; that of another function raises Python's
    TypeError, as in MXNet. Symbols get a node with the attributes that the call states, under ``name``
    and with the user's attributes ``attr``; arrays ignore ``name``.

    Args:
        operator: its registered name.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__
        signature = inspect.signature(function)

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            first = args[0] if args else next(iter(kwargs.values()), None)
            try:
                if not isinstance(first, NDArray) and is_array(first):  # a symbol
                    of_node = {key: kwargs.pop(key) for key in ("name", "attr") if key in kwargs}
                    stated = signature.bind(*args, **kwargs)
                    return _composed(operator, stated, of_node)  # type: ignore[no-any-return]
                if kwargs:
                    kwargs.pop("name", None)
                return function(*args, **kwargs)
            except TypeError as error:
                if isinstance(error, MXNetError):
                    raise
                raise AttributeKindError(
                    f"{name}: {error}. Call it as {name}{signature}."
                ) from error

        return checked

    return decorated


def _composed(operator: str, stated: inspect.BoundArguments, of_node: dict[str, Any]) -> Any:
    """The node of a generated function: its symbols, and the attributes that were stated."""
    symbols: list[Any] = []
    attributes: dict[str, Any] = {}
    if operator.startswith("_npi_"):  # behind a function of Python, which states its defaults
        stated.apply_defaults()
    for name, value in stated.arguments.items():
        if stated.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            symbols.extend(value)
        elif is_array(value) and name != "out":
            symbols.append(value)
        elif name == "dtype":
            attributes[name] = name_of(value)
        elif name != "out":
            attributes[name] = value
    return type(symbols[0])._apply(find(operator), symbols, attributes, operator, **of_node)


def check_array(name: str, value: object) -> None:
    """Refuse what is neither an array nor a symbol.

    Raises:
        NotAnArrayError: ``value`` is something else.
    """
    if not is_array(value):
        raise NotAnArrayError(
            f"{name} takes mx.np arrays, not {type(value).__name__}. Make one with mx.np.array(...)."
        )


def check_operand(name: str, value: object) -> None:
    """Refuse what an elementwise function does not take: neither an array, nor a symbol, nor a number.

    Raises:
        OtherArrayError: ``value`` is something else.
    """
    if not is_array(value) and not isinstance(value, NUMBERS):
        raise OtherArrayError(
            f"{name} takes mx.np arrays and numbers, not {type(value).__name__}. Make an array with "
            f"mx.np.array(...)."
        )


def as_array(value: Operand, like: object = None) -> Any:
    """An array from a number or nested lists; arrays and symbols as they are."""
    if is_array(value):
        return value
    context = like.context if isinstance(like, NDArray) else None
    return current_face()._from_source(value, context)


def as_axes(axis: int | Sequence[int] | None) -> Any:
    """An axis, several, or None, as a tuple or None."""
    if axis is None:
        return None
    if isinstance(axis, (float, onp.floating)):
        raise AttributeTypeError(f"An axis must be a whole number, not {axis!r}.")
    return numbers_of(axis)


def counted_from_first(name: str, axes: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Axes of an array of ``ndim`` axes without negative numbers.

    Raises:
        AxisError: the array does not have all of them; names the function ``name``.
    """
    AxisOf().check(name, "axis", axes, ndim)
    return tuple(each % ndim for each in axes)


def numbers_of(value: Any) -> tuple[Any, ...]:
    """The numbers of one, of a sequence, or of an array, which may have no axes."""
    if isinstance(value, (int, onp.integer)):
        return (value,)
    if isinstance(value, (NDArray, onp.ndarray)):
        listed = (value.asnumpy() if isinstance(value, NDArray) else value).tolist()
        return tuple(listed) if isinstance(listed, list) else (listed,)
    return tuple(value)


def name_of(dtype: DTypeLike) -> str | None:
    """Name of a dtype; None stays."""
    return None if dtype is None else dtype_name(dtype)
