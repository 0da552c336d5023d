"""Rewrites: equivalences by which passes remove, merge and precompute calls."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.typing import DTypeLike

MAX_BYTES = 4096
"""Larger constants are not precomputed: a program is no place for data."""

Rule = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Rewrites:
    """Rewrites allowed for graphs that contain the operator; none by default.

    Rules take the attributes that they name, as keyword-only parameters. Whatever they say must
    hold bit by bit.

    Args:
        unchanged: whether a call returns its first array as it is. Beside attributes a rule may
            name ``count``, how many arrays there are, and ``input_dtype``, the dtype of the first one,
            None where it is not known.
        only_gradient: every call returns its first array as it is, and only its gradient differs, so graphs
            that are not differentiated any further can omit the call.
        keeps_order: the elements stay as they are and in their order; only the shape is another.
        sets_shape: for one that keeps the order, whether the shape of the result does not depend
            on that of the array, but on its number of elements.
        combined: the attributes of the one call that two in a row amount to, from those of the first and
            of the second; none (``{}``) where the second undoes the first, None where it takes
            two. Operators that share the function can be combined with each other.
        keeps_dtype: whether the first result has the dtype of the first array, whatever that is.
        constant: the result in NumPy, from NumPy arrays (positional), where nothing is rounded;
            None where something is, or where it is larger than ``MAX_BYTES``.
        described: the result in NumPy for an operator that reads no values: ``rule(shape,
            dtype)`` of its array.
        made_like: the operator of a ``shape`` and a ``dtype`` that makes what this one makes of an array's.
    """

    unchanged: Rule | None = None
    only_gradient: bool = False
    keeps_order: bool = False
    sets_shape: Rule | None = None
    combined: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any] | None] | None = (
        None
    )
    keeps_dtype: bool = False
    constant: Rule | None = None
    described: Callable[[tuple[int, ...], np.dtype], np.ndarray] | None = None
    made_like: str | None = None


NOTHING = Rewrites()
"""No rewrites."""


@functools.cache
def names(rule: Rule) -> tuple[str, ...] | None:
    """The keyword-only parameters of a rule; None if it takes any."""
    parameters = inspect.signature(rule).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    return tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)


def ask(rule: Rule, known: Mapping[str, Any], positional: Sequence[Any] = ()) -> Any:
    """The answer of a rule for a call.

    Args:
        rule: of an operator's ``Rewrites``.
        known: the attributes by name, and whatever else the rule may name.
        positional: what the rule takes by place, such as the arrays of one that computes.
    """
    accepted = names(rule)
    return rule(
        *positional, **(known if accepted is None else {name: known[name] for name in accepted})
    )


# ---- rules that several operators share ------------------------------------------------------------


def always() -> bool:
    """Every call returns its first array unchanged."""
    return True


def alone(*, count: int) -> bool:
    """A call that joins arrays: there is only one array."""
    return count == 1


def neutral(number: float) -> Rule:
    """A call with a number: it is the neutral element, and the result has the dtype of the array.

    Booleans would become integers, and integers float64 unless the number is whole.
    """

    def unchanged(*, input_dtype: np.dtype | None, scalar: float | None, is_int: bool) -> bool:
        if scalar != number or input_dtype is None:
            return False
        return input_dtype.kind not in ("b" if is_int else "biu")

    return unchanged


def whole(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    """A function of two arrays, if both are integers of one dtype: other dtypes round."""

    def constant(left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        if left.dtype != right.dtype or left.dtype.kind not in "iu":
            return None
        with np.errstate(over="ignore"):
            return function(left, right)

    return constant


def exactly(array: np.ndarray, dtype: DTypeLike) -> np.ndarray | None:
    """The array in another dtype, if its numbers alone determine the result; else None."""
    with np.errstate(all="ignore"):
        value = array.astype(np.dtype(dtype))
        exact = bool((value.astype(array.dtype) == array).all())
    return value if exact else None


def filled(shape: Sequence[int], number: float, dtype: DTypeLike) -> np.ndarray | None:
    """An array filled with one number; None if the dtype rounds it or the array is too large."""
    if math.prod(shape) * np.dtype(dtype).itemsize > MAX_BYTES:
        return None
    return exactly(np.full(shape, number), dtype)


def diagonal(rows: int, columns: int, k: int, dtype: DTypeLike) -> np.ndarray | None:
    """Ones on diagonal ``k``; None if the matrix is too large."""
    return exactly(np.eye(rows, columns, k), dtype) if rows * columns * 8 <= MAX_BYTES else None


def counted(
    *, start: float, stop: float | None, step: float, repeat: int, dtype: Any
) -> np.ndarray | None:
    """The numbers of ``arange``, if they are integers and few; else None."""
    start, stop = (0.0, start) if stop is None else (start, stop)
    count = max(0, math.ceil((stop - start) / step))
    is_whole = float(start).is_integer() and float(step).is_integer()
    if not is_whole or count * repeat * 8 > MAX_BYTES:
        return None  # what rounds is left to the device
    return exactly(np.repeat(start + step * np.arange(count, dtype=np.float64), repeat), dtype)


def one_permutation(first: Mapping[str, Any], then: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The single permutation of axes equal to two in a row; without axes, they are reversed."""
    before, after = (counted_axes(each["axes"]) for each in (first, then))
    ndim = len(after or before)
    if not ndim:
        return {}  # reversed twice
    before, after = (each or tuple(reversed(range(ndim))) for each in (before, after))
    axes = tuple(before[axis] for axis in after)
    return {} if axes == tuple(range(ndim)) else {"axes": axes}


def free_of_codes(shape: Sequence[int]) -> bool:
    """Whether a target shape refers to no axis of the array; codes other than -1 do."""
    return bool(shape) and all(extent >= 1 or extent == -1 for extent in shape)


def in_order(*, axes: Sequence[int] | None) -> bool:
    """A call that permutes axes: it keeps their order."""
    return bool(axes) and counted_axes(axes) == tuple(range(len(axes or ())))


def counted_axes(axes: Sequence[int] | None) -> tuple[int, ...]:
    """Axes counted from 0."""
    return tuple(axis % len(axes) for axis in axes) if axes else ()


COPY = Rewrites(unchanged=always, keeps_dtype=True, constant=lambda data: data)
"""For an operator that returns its array."""

TRANSPOSE = Rewrites(
    unchanged=in_order,
    combined=one_permutation,
    keeps_dtype=True,
    constant=lambda data, *, axes: np.transpose(data, axes or None),
)
"""For an operator whose ``axes`` are a permutation."""
