"""``mx.sym.np._Symbol``: symbols with NumPy semantics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet import numpy as functions
from mixnet.base import AttributeTypeError, IndexingError
from mixnet.numpy.call import call, name_of, order_of_axes
from mixnet.ops.op import Op
from mixnet.ops.schema.docstrings import with_arguments
from mixnet.symbol.compose import compose
from mixnet.symbol.symbol import Symbol

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


class _Symbol(Symbol):
    """A symbol whose operators and methods are those of ``mx.np.ndarray``.

    ``x.as_np_ndarray()`` makes one of a symbol, ``as_nd_ndarray()`` turns it back.
    """

    __slots__ = ()

    @classmethod
    def _operate(
        cls, op: Op, symbols: Any, attributes: dict[str, Any], out: Any = None, called: str = ""
    ) -> Any:
        attributes = {k: v for k, v in attributes.items() if k != "ctx"}
        return cls._apply(op, symbols, attributes, called or op.name)

    @classmethod
    def _apply(
        cls,
        op: Op,
        symbols: Sequence[Any],
        attributes: dict[str, Any],
        called: str,
        name: str | None = None,
        attr: Mapping[str, object] | None = None,
    ) -> Any:
        # As in MXNet, an unknown dtype is not stated.
        attributes = {k: v for k, v in attributes.items() if k != "dtype" or v is not None}
        if op.variadic:
            operands: list[Symbol] | dict[str, Symbol] = list(symbols)
        else:
            statics, _ = op.bind(attributes)
            operands = dict(zip(op.argument_names(statics), symbols, strict=False))
        for prefix in ("_npi_", "_np_", "_npx_", "_"):
            called = called.removeprefix(prefix)
        return cls(compose(op, called, operands, attributes, name, attr)._heads)

    @classmethod
    def _from_source(cls, source: object, context: object = None, dtype: object = None) -> Any:
        raise AttributeTypeError(
            f"A symbol cannot be made from {type(source).__name__}; use mx.sym.var(name)."
        )

    def as_np_ndarray(self) -> _Symbol:
        """This symbol."""
        return self

    def as_nd_ndarray(self) -> Symbol:
        """The symbol with the operators of ``mx.sym``."""
        return Symbol(self._heads)

    def __len__(self) -> int:
        self._check_several("len()")
        return self.num_outputs

    def __iter__(self) -> Iterator[Symbol]:
        self._check_several("Iteration")
        return super().__iter__()

    def _check_several(self, use: str) -> None:
        """Raise TypeError for one output, whose length is not known before its shape is."""
        if self.num_outputs == 1:
            raise AttributeTypeError(
                f"{use} is not supported for the symbol {self.name}, which has one output: the shape of "
                f"the array is not known yet. Index it, or divide it with split."
            )

    def __getitem__(self, key: object) -> Any:
        if self.num_outputs > 1 and isinstance(key, (int, str, slice)):
            return type(self)(Symbol.__getitem__(self, key)._heads)
        return _sliced(self, key)

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        """The elements in another shape; one -1 takes what remains."""
        shape = kwargs.get("newshape", args)
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            shape = args[0]
        return functions.reshape(self, shape, order="C")

    def transpose(self, *axes: Any) -> Any:
        """Axes in another order, reversed by default."""
        return functions.transpose(self, order_of_axes(axes))

    @property
    def T(self) -> Any:
        """Axes in reverse order."""
        return self.transpose()

    def astype(self, dtype: DTypeLike, **kwargs: object) -> Any:
        """The symbol in another dtype."""
        return call("Cast", self, dtype=name_of(dtype))

    def flatten(self, order: str = "C") -> Any:
        """All elements in one axis."""
        return functions.reshape(self, (-1,), order="C")


def _sliced(symbol: _Symbol, key: object) -> Any:
    """Basic indexing with numbers and slices as an operator."""
    parts = key if isinstance(key, tuple) else (key,)
    begin: list[Any] = []
    end: list[Any] = []
    step: list[Any] = []
    dropped: list[int] = []
    new: list[int] = []
    for each in parts:
        if each is None:
            new.append(len(begin) + len(new) - len(dropped))
        elif isinstance(each, slice):
            begin.append(each.start)
            end.append(each.stop)
            step.append(each.step)
        elif isinstance(each, (int, onp.integer)):
            dropped.append(len(begin))
            begin.append(int(each))
            end.append(int(each) + 1 if each != -1 else None)
            step.append(1)
        else:
            raise IndexingError(
                f"A symbol is indexed with numbers, slices and None, not {type(each).__name__}; "
                f"use take or gather_nd."
            )
    if begin:
        steps = {} if len(dropped) == len(begin) else {"step": tuple(step)}
        symbol = call("slice", symbol, begin=tuple(begin), end=tuple(end), **steps)
    if dropped:
        codes = tuple(-3 if axis in dropped else -2 for axis in range(dropped[-1] + 1))
        symbol = call("_npx_reshape", symbol, newshape=(*codes, -4))
    for axis in new:
        symbol = functions.expand_dims(symbol, axis)
    return symbol


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    function = getattr(functions, name)

    def method(self: Any, other: object) -> Any:
        return function(self, other)

    def reflected(self: Any, other: object) -> Any:
        return function(other, self)

    return method, reflected


_OF_EVERY_METHOD = {
    "args": "the other arguments of the function, in its order.",
    "kwargs": "the same by name.",
}
"""The arguments of each method: those of the function of its name, but the first."""


_REDUCED = {"axis": None, "keepdims": False}
_DEFAULTS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("sum", "prod", "max", "min"), _REDUCED),
    **{name: {"axis": None} for name in ("cumsum", "squeeze", "repeat")},
}
"""Attributes that nodes of these methods state, though they are the defaults; so do files of MXNet."""


def _method(name: str) -> Callable[..., Any]:
    function = getattr(functions, name)
    defaults = _DEFAULTS.get(name, {})
    parameters = tuple(inspect.signature(function).parameters)

    def method(self: Any, *args: object, **kwargs: object) -> Any:
        by_position = parameters[1 : len(args) + 1]
        stated = {key: value for key, value in defaults.items() if key not in by_position}
        return function(self, *args, **{**stated, **kwargs})

    method.__name__ = name
    method.__doc__ = with_arguments(function.__doc__ or "", _OF_EVERY_METHOD)
    return method


_ARITHMETIC = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "div": "true_divide",
    "mod": "mod", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "matmul": "matmul",
}  # fmt: skip
_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal",
    "lt": "less", "le": "less_equal",
}  # fmt: skip
"""Functions by Python's names of the operators."""

_METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "broadcast_to", "clip", "copy", "cumsum", "diag", "dot",
    "expand_dims", "max", "mean", "min", "prod", "repeat", "round", "sort", "squeeze", "std", "sum",
    "swapaxes", "take", "tile", "var",
)  # fmt: skip


def _install() -> None:
    for name, function in _ARITHMETIC.items():
        method, reflected = _binary(function)
        setattr(_Symbol, f"__{name}__", method)
        # MXNet's node: whether a number is whole counts in `1 + x`, as in `x + 1`, but not in `1 - x`.
        setattr(_Symbol, f"__r{name}__", method if name == "add" else reflected)
    for name, function in _COMPARISONS.items():
        setattr(_Symbol, f"__{name}__", _binary(function)[0])
    for name in ("abs", "invert"):
        setattr(_Symbol, f"__{name}__", _method(name))
    # MXNet's node; the negative of a truth is a number.
    times = _binary("multiply")[0]
    setattr(_Symbol, "__neg__", lambda self: times(self, -1))  # noqa: B010
    for name in _METHODS:
        setattr(_Symbol, name, _method(name))
    _Symbol.__hash__ = object.__hash__  # type: ignore[method-assign]


def _as_np_ndarray(self: Symbol) -> _Symbol:
    """The symbol with the operators and methods of ``mx.sym.np``."""
    return _Symbol(self._heads)


def _as_nd_ndarray(self: Symbol) -> Symbol:
    """This symbol."""
    return self


_install()
Symbol.as_np_ndarray = _as_np_ndarray  # type: ignore[attr-defined]
Symbol.as_nd_ndarray = _as_nd_ndarray  # type: ignore[attr-defined]
