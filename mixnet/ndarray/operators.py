"""Python's operators on arrays, and the functions that take an array or a number on either side."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    DTypeError,
    NotAnArrayError,
    OtherArrayError,
    SizeError,
)
from mixnet.ndarray.invoke import check_face, invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.ops.operator import Statics
from mixnet.ops.registry import find
from mixnet.runtime.record.precision import current as precision
from mixnet.runtime.record.precision import fitted, on_change
from mixnet.runtime.record.record import record, record_small
from mixnet.runtime.value.call import MOST_CALLS, make_call
from mixnet.runtime.value.change import Change, change, swap
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Value

_NUMBERS = (bool, int, float, np.number, np.bool_)
_NO_OPERANDS = (np.ndarray, list, tuple, str, type(None))
"""Types of which no class gives a result; NumPy's would be a NumPy array."""
_NUMPY_NAMES = {
    "sub": "subtract",
    "mul": "multiply",
    "div": "true_divide",
    "lesser": "less",
    "lesser_equal": "less_equal",
}


def wrong_operands(left: object, right: object) -> type[NotAnArrayError]:
    """The class of the error for operands that are not all arrays and numbers.

    With a number on one side, or an array on the right, the other side has to be an array, as the input of
    an operator has to.
    """
    alone = isinstance(left, _NUMBERS) or isinstance(right, (*_NUMBERS, NDArray))
    return NotAnArrayError if alone else OtherArrayError


def _signature(*names: str) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(each, kind) for each in names])


class Binary:
    """One binary operation: its operators for equal shapes, broadcasting and numbers."""

    def __init__(self, same: str, broadcast: str, scalar: str, reflected: str | None = None):
        self.same, self.broadcast = find(same), find(broadcast)
        self.scalar, self.reflected = find(scalar), find(reflected or scalar)
        self._forms = {op: op.bind({"scalar": 1.0})[0] for op in (self.scalar, self.reflected)}

    def arrays(self, left: NDArray, right: NDArray) -> Any:
        """The result for two arrays."""
        if left._is_numpys is not right._is_numpys:
            check_face(self.broadcast, (left, right), self.broadcast.is_numpys)
        if left._is_sparse or right._is_sparse:
            return invoke(self.broadcast, (left, right), {})
        a, b = left._read(), right._read()
        op = self.same if a.spec.shape == b.spec.shape else self.broadcast
        values = (a, b) if precision.rule is None else fitted(op, (), (a, b))
        return type(left)._wrap(record(op, (), (), values)[0])

    def stored(self, lhs: Any, rhs: Any) -> Any:
        """Of arrays or numbers; two of one shape, one of them sparse, by their stored elements.

        So ``mx.nd.sparse`` and the operators of sparse arrays have it, where ``mx.nd`` broadcasts.
        """
        arrays = isinstance(lhs, NDArray) and isinstance(rhs, NDArray)
        if arrays and lhs.shape == rhs.shape and lhs._is_numpys is rhs._is_numpys:
            return invoke(self.same, (lhs, rhs), {})
        return self(lhs, rhs)

    def number(self, array: NDArray, number: Any, op: Op) -> Any:
        """Of an array and a number."""
        if array._is_sparse or not op.dynamic:  # an exponent is structure: XLA specialises it
            return invoke(op, (array,), {"scalar": float(number)})
        values: tuple[Value, ...] = (array._read(),)
        if precision.rule is not None:
            values = fitted(op, self._forms[op], values)
        return type(array)._wrap(record(op, self._forms[op], (float(number),), values)[0])

    def __call__(self, left: Any, right: Any) -> Any:
        """Of arrays or numbers in either place."""
        if isinstance(left, NDArray):
            if isinstance(right, NDArray):
                return self.arrays(left, right)
            if isinstance(right, _NUMBERS):
                return self.number(left, right, self.scalar)
        elif isinstance(right, NDArray) and isinstance(left, _NUMBERS):
            return self.number(right, left, self.reflected)
        elif isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
            return self.of_numbers(left, right)
        raise self._wrong(left, right)

    def _wrong(self, left: object, right: object) -> NotAnArrayError:
        name, module = self.broadcast.name, "mx.nd"
        if name.startswith("_npi_"):
            name, module = name.removeprefix("_npi_"), "mx.np"
        return wrong_operands(left, right)(
            f"{name} takes arrays and numbers, not {_kind(left)} and {_kind(right)}. Make an array "
            f"with {module}.array(...)."
        )

    def of_numbers(self, left: object, right: object) -> Any:
        """The result for two numbers: a number."""
        name = self.broadcast.name.removeprefix("broadcast_").removeprefix("_npi_")
        function = getattr(np, _NUMPY_NAMES.get(name, name))
        result = function(left, right).item()
        # A truth value of ``mx.nd`` is 0 or 1.
        is_legacy = self.broadcast.name.startswith("broadcast_")
        return int(result) if is_legacy and isinstance(result, bool) else result

    def method(self, refuses: bool = False) -> Callable[[NDArray, Any], Any]:
        """The method for the array on the left.

        Args:
            refuses: an operand that is neither an array nor a number is an error; otherwise Python asks
                its class.
        """
        same, broadcast, scalar, form = (
            self.same,
            self.broadcast,
            self.scalar,
            self._forms[self.scalar],
        )
        dynamic = bool(scalar.dynamic)

        by_spec: dict[Any, Any] = {}  # spec -> call with a number
        by_specs: dict[Any, Any] = {}  # spec, spec -> call
        on_change(by_specs.clear)

        def find_call(op: Op, statics: Statics, specs: tuple[Any, ...], scalars: int) -> Any:
            known = op.calls.get((statics, specs, None))
            return known or make_call(op, statics, specs, scalars, None)

        # The hot path of imperative programs, hence spelled out.
        def method(left: NDArray, right: Any) -> Any:
            kind = type(right)
            if (kind is float or kind is int) and dynamic:
                a = left._value if left._link is None else left._read()
                call = by_spec.get(a.spec)
                if call is None:
                    if len(by_spec) >= MOST_CALLS:
                        by_spec.clear()
                    call = by_spec[a.spec] = find_call(scalar, form, (a.spec,), 1)
                value = record_small(call, float(right), a, None)
            elif isinstance(right, NDArray):
                if right._is_numpys is not left._is_numpys:
                    return self.arrays(left, right)  # says what is wrong
                a = left._value if left._link is None else left._read()
                b = right._value if right._link is None else right._read()
                specs = (a.spec, b.spec)
                call = by_specs.get(specs)
                if call is None:
                    if a.spec.context is not b.spec.context:
                        return self.arrays(left, right)
                    op = same if a.spec.shape == b.spec.shape else broadcast
                    if precision.rule is not None:
                        a, b = fitted(op, (), (a, b))
                    call = find_call(op, (), (a.spec, b.spec), 0)
                    if (a.spec, b.spec) == specs:
                        if len(by_specs) >= MOST_CALLS:
                            by_specs.clear()
                        by_specs[specs] = call
                value = record_small(call, None, a, b)
            elif isinstance(right, _NUMBERS):
                return self.number(left, right, scalar)
            elif refuses or isinstance(right, _NO_OPERANDS):
                raise self._wrong(left, right)
            else:
                return NotImplemented
            cls = left.__class__
            result = cls.__new__(cls)
            result._value = value
            result._link = None
            return result

        return method

    def reflected_method(self) -> Callable[[NDArray, Any], Any]:
        """The method for the array on the right."""

        def method(right: Any, left: object) -> Any:
            if isinstance(left, _NUMBERS):
                return self.number(right, left, self.reflected)
            if isinstance(left, NDArray):  # its own method says what is wrong
                return NotImplemented
            commutes = self.reflected is self.scalar
            raise self._wrong(right, left) if commutes else self._wrong(left, right)

        return method

    def inplace_method(self) -> Callable[[NDArray, Any], Any]:
        """The method that writes its result to the array on the left."""

        def method(left: NDArray, right: object) -> Any:
            if not isinstance(right, (NDArray, *_NUMBERS)):
                return NotImplemented
            if left._link is not None or left._is_sparse or state.undo is not None:
                change(partial(update, left, right))
                return left
            while True:  # the same for a plain array, which is quicker
                before = left._value
                value = changed(left, right)
                if state.recording:
                    left._check_write()
                    left._check_part(value)
                if swap(left, before, value):
                    return left

        def changed(left: NDArray, right: object) -> Value:
            result: NDArray = self(left, right)
            if result._value.spec is left._value.spec and not result._is_sparse:
                return result._value
            if result.shape != left.shape:
                raise SizeError(
                    f"{self.broadcast.title}: the result has shape {result.shape} and cannot be written to "
                    f"an array of shape {left.shape}. Assign the result to a name, or reshape the array "
                    f"on the right."
                )
            if result.dtype != left.dtype:
                raise DTypeError(
                    f"{self.broadcast.title}: the result is {result._spec.dtype.name} and cannot be "
                    f"written to an array of {left._spec.dtype.name}. Assign the result to a name, or "
                    f"cast one of the two with astype()."
                )
            return left._fitted(result._read())

        def update(left: NDArray, right: object, attempt: Change) -> None:
            attempt.reads(left)
            value = changed(left, right)
            left._check_part(value)
            attempt.write(left, value)

        return method


def _kind(operand: object) -> str:
    if operand is None:
        return "None"
    cls = type(operand)
    return (
        f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
        if cls.__module__ != "builtins"
        else cls.__name__
    )


def _binary(name: str, symbol: str, scalar: str = "", reflected: str | None = None) -> Binary:
    scalar = scalar or f"_{symbol}_scalar"
    return Binary(name, f"broadcast_{symbol}", scalar, reflected)


_DIVIDE = _binary("elemwise_div", "div", "_div_scalar", "_rdiv_scalar")
OPERATIONS = {
    "add": _binary("elemwise_add", "add", "_plus_scalar"),
    "subtract": _binary("elemwise_sub", "sub", "_minus_scalar", "_rminus_scalar"),
    "multiply": _binary("elemwise_mul", "mul", "_mul_scalar"),
    "divide": _DIVIDE,
    "true_divide": _DIVIDE,
    "modulo": _binary("_mod", "mod", "_mod_scalar", "_rmod_scalar"),
    "power": _binary("_power", "power", "_power_scalar", "_rpower_scalar"),
    "maximum": _binary("_maximum", "maximum"),
    "minimum": _binary("_minimum", "minimum"),
    "hypot": _binary("_hypot", "hypot"),
    "equal": _binary("_equal", "equal"),
    "not_equal": _binary("_not_equal", "not_equal"),
    "greater": _binary("_greater", "greater", reflected="_lesser_scalar"),
    "greater_equal": _binary("_greater_equal", "greater_equal", reflected="_lesser_equal_scalar"),
    "lesser": _binary("_lesser", "lesser", reflected="_greater_scalar"),
    "lesser_equal": _binary("_lesser_equal", "lesser_equal", reflected="_greater_equal_scalar"),
    "logical_and": _binary("_logical_and", "logical_and"),
    "logical_or": _binary("_logical_or", "logical_or"),
    "logical_xor": _binary("_logical_xor", "logical_xor"),
}


def function_of(name: str, compute: Callable[[Any, Any], Any], module: str) -> Callable[..., Any]:
    """An operation as a function: libraries wrap and pickle the functions of ``mx.nd``.

    Args:
        name: of the operation.
        compute: the result of two operands.
        module: where programs find the function.
    """
    names = ("base", "exp") if name == "power" else ("lhs", "rhs")
    signature = _signature(*names)

    def function(*args: Any, **kwargs: object) -> Any:
        if kwargs or len(args) != 2:
            try:
                args = signature.bind(*args, **kwargs).args
            except TypeError as error:
                raise AttributeTypeError(
                    f"{OPERATIONS[name].broadcast.title}: {error}. It takes two arrays or numbers, "
                    f"{' and '.join(names)}."
                ) from None
        return compute(*args)

    function.__module__, function.__name__, function.__qualname__ = module, name, name
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = (
        f"``{name}`` of arrays, or of an array and a number.\n\n"
        f"Args:\n    {', '.join(names)}: arrays or numbers; shapes broadcast."
    )
    return function


_functions = {name: function_of(name, each, __name__) for name, each in OPERATIONS.items()}
add = _functions["add"]
subtract = _functions["subtract"]
multiply = _functions["multiply"]
divide = _functions["divide"]
true_divide = _functions["true_divide"]
modulo = _functions["modulo"]
power = _functions["power"]
maximum = _functions["maximum"]
minimum = _functions["minimum"]
hypot = _functions["hypot"]
equal = _functions["equal"]
not_equal = _functions["not_equal"]
greater = _functions["greater"]
greater_equal = _functions["greater_equal"]
lesser = _functions["lesser"]
lesser_equal = _functions["lesser_equal"]
logical_and = _functions["logical_and"]
logical_or = _functions["logical_or"]
logical_xor = _functions["logical_xor"]

_METHODS = {
    "add": OPERATIONS["add"],
    "sub": OPERATIONS["subtract"],
    "mul": OPERATIONS["multiply"],
    "truediv": OPERATIONS["divide"],
    "mod": OPERATIONS["modulo"],
    "pow": OPERATIONS["power"],
}
_COMPARISONS = {
    "eq": OPERATIONS["equal"],
    "ne": OPERATIONS["not_equal"],
    "gt": OPERATIONS["greater"],
    "ge": OPERATIONS["greater_equal"],
    "lt": OPERATIONS["lesser"],
    "le": OPERATIONS["lesser_equal"],
}
_BY_STORED = [OPERATIONS[name] for name in ("add", "subtract", "multiply")]


def install_sparse(cls: Any) -> None:
    """Give a class of sparse arrays Python's operators: each goes by its rule."""

    def both(operation: Binary) -> tuple[Any, Any]:
        by_stored = operation in _BY_STORED

        def method(self: Any, other: object) -> Any:
            return operation.stored(self, other) if by_stored else operation(self, other)

        def reflected(self: Any, other: object) -> Any:
            return operation(other, self)

        return method, reflected

    for name, operation in _METHODS.items():
        method, reflected = both(operation)
        setattr(cls, f"__{name}__", method)
        setattr(cls, f"__r{name}__", reflected)
    for name, operation in _COMPARISONS.items():
        setattr(cls, f"__{name}__", both(operation)[0])
    cls.__hash__ = object.__hash__
    cls.__neg__ = lambda self: invoke(find("negative"), (self,), {})
    cls.__abs__ = lambda self: invoke(find("abs"), (self,), {})


_NEGATIVE = find("negative")


def _negative(self: NDArray) -> Any:
    value = self._read()
    if value.spec.dtype.kind == "b":  # the negative of a truth is a number
        return self * -1
    return type(self)._wrap(record(_NEGATIVE, (), (), (value,))[0])


def _absolute(self: NDArray) -> Any:
    return type(self)._wrap(record(find("abs"), (), (), (self._read(),))[0])


def install(cls: Any) -> None:
    """Give a class of arrays Python's operators."""
    for name, operation in _METHODS.items():
        setattr(cls, f"__{name}__", operation.method())
        setattr(cls, f"__r{name}__", operation.reflected_method())
        if name not in ("pow",):
            setattr(cls, f"__i{name}__", operation.inplace_method())
    for name, operation in _COMPARISONS.items():
        # Where both sides return NotImplemented, Python takes == for False.
        setattr(cls, f"__{name}__", operation.method(refuses=True))
    cls.__hash__ = object.__hash__
    cls.__neg__ = _negative
    cls.__abs__ = _absolute
