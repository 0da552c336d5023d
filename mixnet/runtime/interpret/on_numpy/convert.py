"""Dtype conversion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mixnet.private_jax.equation import Equation
from mixnet.runtime.interpret.on_numpy.table import NoRuleError, Run, is_half, is_key, rule


@rule("convert_element_type")
def _convert(equation: Equation, new_dtype: np.dtype, **_: object) -> Run:
    if is_key(equation.outvars[0].aval):
        return lambda x: x
    dtype, before = np.dtype(new_dtype), equation.invars[0].aval.dtype
    if dtype == before:
        return lambda x: x
    if dtype.kind in "iu" and (before.kind == "f" or is_half(before)):
        return _to_whole(dtype, before)
    if before.kind == "c" and dtype.kind != "c":
        return lambda x: np.real(x).astype(dtype, copy=False)
    if before == np.float64 and dtype == np.float32 and not equation.invars[0].aval.shape:
        return np.float32  # most are rates of a step, whose method takes longer
    return lambda x: x.astype(dtype)


def _to_whole(dtype: Any, before: Any) -> Run:
    """Floats as integers: out-of-range values are clamped and NaN is 0 as in XLA; in C both are undefined."""
    limits = np.iinfo(dtype)
    # The greatest float that is in range.
    kind = before if before.itemsize >= 4 else np.dtype(np.float32)
    low, high = kind.type(limits.min), kind.type(limits.max)
    if float(high) > limits.max:
        high = np.nextafter(high, kind.type(0))

    def run(x: Any) -> Any:
        if not x.size:
            return x.astype(dtype)
        x = x.astype(kind, copy=False)
        # Without NumPy's methods, which are functions of Python.
        if low <= np.minimum.reduce(x, None) and np.maximum.reduce(x, None) <= high:
            return x.astype(dtype)
        result = np.clip(np.where(np.isnan(x), 0, x), low, high).astype(dtype)
        return np.where(x > high, limits.max, result).astype(dtype, copy=False)

    return run


@rule("bitcast_convert_type")
def _bitcast(equation: Equation, new_dtype: np.dtype, **_: object) -> Run:
    dtype, before = np.dtype(new_dtype), equation.invars[0].aval.dtype
    if bool in (dtype, before):
        raise NoRuleError("bitcast_convert_type")
    shape = equation.outvars[0].aval.shape
    if dtype.itemsize == before.itemsize:
        return lambda x: x.view(dtype)
    if not math.prod(shape):
        return lambda x: np.empty(shape, dtype)
    return lambda x: np.ascontiguousarray(x).reshape(-1).view(dtype).reshape(shape)
