"""Sums, products and concatenation of arrays of 8-bit integers, each with its range."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.array.join import check_joined
from mixnet.ops.quantized.ranges import (
    INT32_STEPS,
    STEPS,
    WITH_RANGE,
    as_int32,
    check_range,
    check_whole,
    clipped,
    common_dtype,
    farthest,
    given_range,
    product_range,
    range_ends,
    ratio,
    step_size,
    with_ranges,
)
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import (
    Axis,
    Positive,
)
from mixnet.ops.schema.shape_constraints import joined_with_ranges


def _ranges_of_joined(count: int) -> dict[int, str | None]:
    """Two thirds of the inputs are ranges; another number of inputs is refused in the function."""
    return dict.fromkeys(range(count // 3, count), "float32") if count % 3 == 0 else {}


@op(
    "_contrib_quantized_concat",
    shape_constraint=joined_with_ranges,
    num_args=None,
    dtypes=with_ranges(own=_ranges_of_joined),
    **WITH_RANGE,
)
def quantized_concat(*data, num_args: Positive, dim: Axis = 1):
    """Arrays of integers of 8 bits joined along ``dim``, brought to the widest of their ranges.

    Args:
        data: the arrays, then the two ends of the range of each.
        num_args: number of the arrays.

    Returns:
        ``uint8`` if all arrays are, else ``int8``; the smallest and the largest of all ends.

    Raises:
        ShapeError: there are not three arrays for each of ``num_args``.
        DTypeError: an array does not have integers of 8 bits.

    Source: MXNet operator ``_contrib_quantized_concat``.
    """
    if len(data) != 3 * num_args:
        raise ShapeError(
            f"contrib.quantized_concat: {len(data)} arrays for num_args={num_args}; give the "
            f"arrays, then min and max of each."
        )
    check_joined("contrib.quantized_concat", [each.shape for each in data[:num_args]], dim)
    arrays, lows, highs = data[:num_args], data[num_args::2], data[num_args + 1 :: 2]
    check_whole("quantized_concat", **{f"arg{i}": each for i, each in enumerate(arrays)})
    for each in (*lows, *highs):
        if each.size != 1:
            raise ShapeError(
                f"contrib.quantized_concat: an end of a range is {each.shape}; it is one number."
            )
    dtype = common_dtype(*arrays)
    # The range always has 0 in it, and leaves NaN out.
    low = jnp.nanmin(jnp.stack([jnp.float32(0), *(each.reshape(()) for each in lows)]))
    high = jnp.nanmax(jnp.stack([jnp.float32(0), *(each.reshape(()) for each in highs)]))
    parts = []
    for array, *ends in zip(arrays, lows, highs, strict=True):
        # Ranges first: the quotient of equal ones is 1, which leaves the integers as they are.
        factor = ratio(farthest(*ends), farthest(low, high))
        factor = factor * (STEPS[dtype] / STEPS[str(array.dtype)])
        parts.append(clipped(jnp.round(array * factor), dtype))
    return jnp.concatenate(parts, dim), *range_ends(low, high)


def _check_pair(name: str, lhs: jax.Array, rhs: jax.Array, *ends: Any) -> None:
    """Raise unless both arrays hold integers of 8 bits and have one shape."""
    check_whole(name, lhs=lhs, rhs=rhs)
    check_range(name, *ends[:2])
    check_range(name, *ends[2:])
    if lhs.shape != rhs.shape:
        raise ShapeError(f"contrib.{name}: lhs is {lhs.shape}, rhs {rhs.shape}; give equal shapes.")


@op(
    "_contrib_quantized_elemwise_add",
    any_layout=True,
    dtypes=with_ranges("int32"),
    **WITH_RANGE,
)
def quantized_elemwise_add(
    lhs,
    rhs,
    lhs_min,
    lhs_max,
    rhs_min,
    rhs_max,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Sums of two arrays of integers of 8 bits, each with its range.

    Returns:
        If ``min_calib_range`` and ``max_calib_range`` are given, integers of 8 bits in this range, ``uint8``
        if both arrays are, and the range. Otherwise int32 and its range, which holds any sum.

    Raises:
        DTypeError: an array does not have integers of 8 bits.
        ShapeError: the shapes differ, or an end of a range is not a single number.

    Source: MXNet operator ``_contrib_quantized_elemwise_add``.
    """
    _check_pair("quantized_elemwise_add", lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max)
    total = lhs.astype(jnp.float64) * step_size(lhs, lhs_min, lhs_max)
    total = total + rhs.astype(jnp.float64) * step_size(rhs, rhs_min, rhs_max)
    calibrated = given_range(min_calib_range, max_calib_range)
    if calibrated:
        dtype = common_dtype(lhs, rhs)
        result = clipped(jnp.round(total * ratio(STEPS[dtype], farthest(*calibrated))), dtype)
        return result, *range_ends(*calibrated)
    end = farthest(lhs_min, lhs_max) + farthest(rhs_min, rhs_max)
    return as_int32(jnp.round(total * ratio(INT32_STEPS, end))), *range_ends(-end, end)


@op(
    "_contrib_quantized_elemwise_mul",
    any_layout=True,
    dtypes=with_ranges(
        lambda attributes: "float32" if attributes["enable_float_output"] else "int32"
    ),
    **{**WITH_RANGE, "outputs": lambda enable_float_output: 1 if enable_float_output else 3},
    in_amp_lists=False,
)
def quantized_elemwise_mul(
    lhs,
    rhs,
    lhs_min,
    lhs_max,
    rhs_min,
    rhs_max,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
):
    """Products of two arrays of integers of 8 bits, each with its range.

    Returns:
        With ``enable_float_output``, the products as float32, without a range. If ``min_calib_range``
        and ``max_calib_range`` are given, int8 truncated towards 0, and this range. Otherwise int32 and
        its range.

    Raises:
        DTypeError: an array does not have integers of 8 bits.
        ShapeError: the shapes differ, or an end of a range is not a single number.

    Source: MXNet operator ``_contrib_quantized_elemwise_mul``.
    """
    _check_pair("quantized_elemwise_mul", lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max)
    product = lhs.astype(jnp.int32) * rhs.astype(jnp.int32)
    scale = step_size(lhs, lhs_min, lhs_max) * step_size(rhs, rhs_min, rhs_max)
    if enable_float_output:
        return (product * scale).astype(jnp.float32)
    calibrated = given_range(min_calib_range, max_calib_range)
    if calibrated:
        factor = scale * ratio(STEPS["int8"], farthest(*calibrated))
        return clipped(jnp.trunc(product * factor), "int8"), *range_ends(*calibrated)
    return product, *product_range((lhs, lhs_min, lhs_max), (rhs, rhs_min, rhs_max))


def _infer_second(lhs):
    ends = dict.fromkeys(("lhs_min", "lhs_max", "rhs_min", "rhs_max"), (1,))
    return {"rhs": lhs, **ends}


for _operator in (quantized_elemwise_add, quantized_elemwise_mul):
    _operator.infer_inputs(_infer_second)
