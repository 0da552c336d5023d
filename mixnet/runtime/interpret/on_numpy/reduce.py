"""Reductions and cumulative operations."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.private_jax.jaxprs import opened
from mixnet.runtime.interpret.on_numpy.table import NoRuleError, Run, is_half, rule, wide

_UFUNCS: dict[str, Any] = {
    "reduce_sum": np.add, "reduce_max": np.maximum, "reduce_min": np.minimum,
    "reduce_prod": np.multiply, "reduce_and": np.bitwise_and, "reduce_or": np.bitwise_or,
    "reduce_xor": np.bitwise_xor,
}  # fmt: skip


def nothing(name: str, dtype: np.dtype) -> Any:
    """The result of ``max`` or ``min`` over no elements."""
    if dtype.kind == "b":
        return name == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if name == "max" else limits.max
    return dtype.type(-np.inf if name == "max" else np.inf)


@rule(*_UFUNCS)
def _reduction(equation: Equation, axes: Sequence[int], **_: object) -> Run:
    name, dtype = equation.primitive.name, equation.outvars[0].aval.dtype
    axes = tuple(int(axis) for axis in axes)
    if not axes:
        return lambda x: x
    reduce = _UFUNCS[name].reduce
    if name in ("reduce_sum", "reduce_prod"):
        if is_half(dtype):  # as on devices
            return lambda x: reduce(x, axes, np.float32).astype(dtype)
        return lambda x: reduce(x, axes, dtype)
    if name in ("reduce_max", "reduce_min"):
        shape = equation.invars[0].aval.shape
        if not all(shape[axis] for axis in axes):
            start = nothing(name[-3:], dtype)
            return lambda x: reduce(x, axes, None, None, False, start)
    return lambda x: reduce(x, axes)


@rule("argmax", "argmin")
def _argument(equation: Equation, axes: Sequence[int], index_dtype: np.dtype, **_: object) -> Run:
    place = methodcaller(equation.primitive.name, *axes)
    dtype = wide(equation.invars[0].aval.dtype)
    return lambda x: np.asarray(place(x.astype(dtype, copy=False)), index_dtype)


_ALONG: dict[str, Any] = {
    "cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
    "cumlogsumexp": np.logaddexp,
}  # fmt: skip


@rule(*_ALONG)
def _cumulative(equation: Equation, axis: int, reverse: bool, **_: object) -> Run:
    name, dtype = equation.primitive.name, equation.outvars[0].aval.dtype
    accumulate = _ALONG[name].accumulate
    kind = wide(dtype)

    def along(x: np.ndarray) -> Any:
        # Half precision is accumulated in single precision; integers keep their dtype.
        return accumulate(x.astype(kind, copy=False), axis, kind).astype(dtype, copy=False)

    if reverse:
        return lambda x: np.flip(along(np.flip(x, axis)), axis)
    return along


@rule("reduce")
def _general(equation: Equation, jaxpr: Any, dimensions: Sequence[int], **_: object) -> Run:
    ufunc = combination(jaxpr)
    if len(equation.outvars) > 1:
        raise NoRuleError("reduce")
    axes = tuple(int(axis) for axis in dimensions)
    dtype = equation.outvars[0].aval.dtype
    return lambda x, start: ufunc.reduce(x, axes, dtype, initial=start)


COMBINATIONS: dict[str, Any] = {
    "add": np.add, "add_any": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def combination(jaxpr: Any) -> Any:
    """The ufunc that is equivalent to a jaxpr of two numbers.

    Raises:
        NoRuleError: it is more than one operation.
    """
    inside = opened(jaxpr)
    if len(inside.eqns) == 1:
        (equation,) = inside.eqns
        name = equation.primitive.name
        if name in COMBINATIONS and {*equation.invars} == {*inside.invars}:
            return COMBINATIONS[name]
    raise NoRuleError("reduce")
