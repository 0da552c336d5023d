"""The rule table: from a JAX primitive to the NumPy function that computes it.

A rule gets an equation and its parameters, once, and returns a function of arrays, which is called in every
run. That function returns one array, or a sequence of them if the equation has several results, with exactly
the shapes and dtypes of the equation; a NumPy scalar may replace an array without axes. It never modifies its
arguments; its result may be a view of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from mixnet.private_jax.equation import Abstract, Equation

Run = Callable[..., Any]
Rule = Callable[..., Run]
RULES: dict[str, Rule] = {}


class NoRuleError(Exception):
    """A primitive has no rule for NumPy; its name is the argument."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Declare the rule of the primitives with these names."""

    def declare(make: Rule) -> Rule:
        for name in names:
            RULES[name] = make
        return make

    return declare


def plain(name: str, function: Run) -> None:
    """Declare the function of a primitive without parameters."""
    RULES[name] = lambda equation, **params: function


def in_dtype(equation: Equation, function: Run) -> Run:
    """The function, with its result cast to the dtype of the equation's result."""
    dtype = equation.outvars[0].aval.dtype
    return lambda *arrays: np.asarray(function(*arrays)).astype(dtype, copy=False)


def is_key(aval: Abstract) -> bool:
    """Whether an array has random keys, which are rows of two words in NumPy."""
    return jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended)


def shape_of(aval: Abstract) -> tuple[int, ...]:
    """The shape in NumPy, where a random key has an additional axis."""
    return (*aval.shape, 2) if is_key(aval) else aval.shape


def wide(dtype: np.dtype) -> Any:
    """The dtype in which sums are computed: single precision for half, otherwise the dtype itself."""
    return np.dtype(np.float32) if is_half(dtype) else dtype


def is_half(dtype: np.dtype) -> bool:
    """Whether a dtype is a float of fewer than 32 bits, from NumPy or ml_dtypes."""
    return dtype.itemsize < 4 and (dtype.kind in "fV" and dtype.names is None)
