"""Ranges of integers: what their ends stand for, their dtypes, checks, and conversion between ranges.

Every array of integers comes with the ends of its range, ``(1,)`` each. The end that is farther
from 0 is the greatest integer by size, and 0 is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import DTypeError, ShapeError
from mixnet.ops.schema.dtypes import Dtypes

LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}
"""Least and greatest number of a dtype; the greatest stands for the end of a range."""

STEPS = {"int8": 127.5, "uint8": 255.5}
"""How many steps lie between 0 and the end of the range where MXNet counts half a step more.

It does so in quantize_v2, in dequantize and wherever oneDNN scales; it does not in quantize, in
requantize and in the ranges of products.
"""

INT32_STEPS = float(2**31)
"""How many steps lie between 0 and the end of the range of a result in int32."""


WITH_RANGE: dict[str, Any] = {
    "outputs": 3,
    "output_names": ("output", "min_output", "max_output"),
    "differentiable": False,
}
"""What operators declare that return integers and the two ends of their range."""


_ARRAYS = ("data", "weight", "bias")
_RANGES = (
    *(f"{end}_{name}" for name in (*_ARRAYS, "range") for end in ("min", "max")),
    *(f"{name}_{end}" for name in ("lhs", "rhs") for end in ("min", "max")),
    "data_scale",
    "data_shift",
)


def with_ranges(
    result: str | Callable[[Mapping[str, Any]], str | None] | None = None,
    own: Mapping[str, str | None] | Callable[[int], Mapping[int, str | None]] | None = None,
    usual: str = "int8",
    accepts: Mapping[str, Sequence[str]] | None = None,
) -> Dtypes:
    """The dtypes of an operator that takes, or gives, arrays of integers with their ranges.

    Args:
        result: of the first output, as :class:`Dtypes` has it; the outputs behind it are ranges.
        own: of arrays that are neither ranges nor of the data's dtype; a function also gives the ranges.
        usual: the dtype that shape inference assumes where none is known.
        accepts: dtypes of arrays, as :class:`Dtypes` has them; a range is float32.
    """
    if callable(own):
        return Dtypes(own, result=result, others="float32", usual=usual, accepts=_each_alone(own))
    own = {**dict.fromkeys(_RANGES, "float32"), **(own or {})}
    accepts = {**dict.fromkeys(_RANGES, ("float32",)), **(accepts or {})}
    return Dtypes(own, result=result, others="float32", usual=usual, accepts=accepts)


def _each_alone(
    own: Callable[[int], Mapping[int, str | None]],
) -> Callable[[int], dict[int, tuple[str, ...]]]:
    """Inputs with a dtype of their own have no other."""
    return lambda count: {place: (dtype,) for place, dtype in own(count).items() if dtype}


def out_type(attributes: Mapping[str, Any]) -> str | None:
    """The attribute ``out_type`` where it names a dtype."""
    dtype = attributes["out_type"]
    return None if dtype == "auto" else dtype


def farthest(low: jax.Array, high: jax.Array) -> Any:
    """The end of a range that is farther from 0: its absolute value, without axes."""
    low, high = jnp.abs(low), jnp.abs(high)
    return jnp.where(low < high, high, low).reshape(())  # of a NaN in ``high``, as MXNet: ``low``


def ratio(steps: Any, end: Any) -> Any:
    """``steps / end``; 0 for a range without extent, in which all numbers are 0."""
    return jnp.where(end > 0, steps / jnp.where(end > 0, end, 1), 0)


def clipped(data: jax.Array, dtype: str) -> Any:
    """Whole numbers cast to ``dtype``, those out of its range clipped; NaN is 127 of int8 and 0 of uint8."""
    low, high = LIMITS[dtype]
    of_nan = high if dtype == "int8" else low
    return jnp.clip(jnp.where(data == data, data, of_nan), low, high).astype(dtype)


def check_whole(name: str, **arrays: Any) -> None:
    """Raise unless all arrays hold integers of 8 bits.

    Raises:
        DTypeError: one does not.
    """
    for each, array in arrays.items():
        if str(array.dtype) not in LIMITS:
            raise DTypeError(
                f"contrib.{name}: {each} is {array.dtype}; it must be int8 or uint8, as "
                f"contrib.quantize_v2 makes it."
            )


def given_range(low: float | None, high: float | None) -> tuple[Any, Any] | None:
    """The range that was measured before; None unless both ends are given."""
    if low is None or high is None:
        return None
    return jnp.asarray(low, jnp.float32), jnp.asarray(high, jnp.float32)


def check_range(name: str, low: jax.Array, high: jax.Array) -> None:
    """Raise unless both ends are one number.

    Raises:
        ShapeError: an end is not.
    """
    if low.size != 1 or high.size != 1:
        raise ShapeError(
            f"contrib.{name}: min_range is {low.shape} and max_range {high.shape}; give each (1,)."
        )


def range_ends(low: Any, high: Any) -> tuple[Any, Any]:
    """A range as it is returned."""
    low, high = jnp.asarray(low), jnp.asarray(high)
    return low.astype(jnp.float32).reshape((1,)), high.astype(jnp.float32).reshape((1,))


def step_size(array: jax.Array, low: jax.Array, high: jax.Array) -> Any:
    """What one step of the integers stands for, as oneDNN counts steps."""
    return farthest(low, high) / STEPS[str(array.dtype)]


def as_int32(numbers: jax.Array) -> Any:
    """Whole numbers cut to what int32 has."""
    limits = jnp.iinfo(jnp.int32)
    return jnp.clip(numbers, limits.min, limits.max).astype(jnp.int32)


def product_range(one: tuple[Any, Any, Any], two: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    """Range of products in int32, from each factor with its range."""
    end = INT32_STEPS
    for array, low, high in (one, two):
        end = end * (farthest(low, high) / LIMITS[str(array.dtype)][1])
    return range_ends(-end, end)


def bias_in_int32(bias: jax.Array, end: jax.Array, *factors: Any) -> Any:
    """The bias in the steps of the products of ``factors``."""
    steps = step_size(bias, *end)
    for array, low, high in factors:
        steps = steps * ratio(STEPS[str(array.dtype)], farthest(low, high))
    return as_int32(jnp.trunc(bias.astype(jnp.float64) * steps))


def common_dtype(*arrays: jax.Array) -> str:
    """Dtype of a result of these arrays: unsigned if all of them are."""
    return "uint8" if all(each.dtype == jnp.uint8 for each in arrays) else "int8"
