"""Conversion of floats to 8-bit integers and back."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.ops.quantized.ranges import (
    INT32_STEPS,
    LIMITS,
    STEPS,
    check_range,
    clipped,
    farthest,
    given_range,
    out_type,
    ratio,
    with_ranges,
)
from mixnet.ops.registry import op
from mixnet.ops.schema.shape_constraints import with_new_range, with_range


def _rounded(data: Any, steps: float, end: Any, dtype: str) -> Any:
    return clipped(jnp.round(data * ratio(steps, end)), dtype)


def _range_of(dtype: str, low: jax.Array, high: jax.Array, end: jax.Array) -> tuple[Any, Any]:
    """The range as ``(1,)`` arrays; that of signed integers reaches as far on both sides."""
    if dtype == "int8":
        low, high = -end, end
    return low.astype(jnp.float32).reshape((1,)), high.astype(jnp.float32).reshape((1,))


def _infer_range(data):
    return {"min_range": (1,), "max_range": (1,)}


@op(
    "_contrib_quantize",
    shape_constraint=with_new_range,
    outputs=3,
    differentiable=False,
    dtypes=with_ranges(out_type, {"data": "float32"}, "float32", {"data": ("float32",)}),
)
def quantize(data, min_range, max_range, *, out_type: Literal["int8", "uint8"] = "uint8"):
    """Floats as integers of 8 bits; 0 stays 0, and numbers outside the range become its ends.

    Args:
        data: float.
        min_range: smallest number, ``(1,)``.
        max_range: largest number, ``(1,)``. The end that is farther from 0 becomes the largest
            integer by size.

    Returns:
        The integers, and the ends of their range, ``(1,)`` each.

    Raises:
        ShapeError: an end is not a single number.

    Source: MXNet operator ``_contrib_quantize``.
    """
    check_range("quantize", min_range, max_range)
    end = farthest(min_range, max_range)
    result = _rounded(data, LIMITS[out_type][1], end, out_type)
    return result, *_range_of(out_type, min_range, max_range, end)


@op(
    "_contrib_quantize_v2",
    shape_constraint=with_new_range,
    any_layout=True,
    outputs=3,
    differentiable=False,
    dtypes=with_ranges(out_type, usual="float32", accepts={"data": ("float32", "int8", "uint8")}),
)
def quantize_v2(
    data,
    *,
    out_type: Literal["auto", "int8", "uint8"] = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Floats as integers of 8 bits, in the given range, by default that of the data.

    ``auto`` means ``uint8`` where ``min_calib_range`` is given and not below 0, else ``int8``.

    Args:
        data: float; integers of 8 bits stay as they are. The range of data leaves NaN out.

    Returns:
        The integers, and the ends of their range, ``(1,)`` each.

    Source: MXNet operator ``_contrib_quantize_v2``.
    """
    calibrated = given_range(min_calib_range, max_calib_range)
    whole = str(data.dtype)
    if whole in LIMITS:
        steps = jnp.asarray(STEPS[whole], jnp.float32)
        low, high = calibrated or (-steps if whole == "int8" else 0 * steps, steps)
        return data, low.reshape((1,)), high.reshape((1,))
    dtype = out_type
    if dtype == "auto":
        dtype = "uint8" if calibrated and (min_calib_range or 0) >= 0 else "int8"
    low, high = calibrated or (jnp.nanmin(data), jnp.nanmax(data))
    end = farthest(low, high)
    result = _rounded(data, STEPS[dtype], end, dtype)
    return result, *_range_of(dtype, low, high, end)


@op(
    "_contrib_quantize_asym",
    outputs=3,
    output_names=("output", "scale", "shift"),
    dtypes=with_ranges("uint8", usual="float32", accepts={"data": ("float32",)}),
    differentiable=False,
    in_amp_lists=False,
)
def quantize_asym(
    data, *, min_calib_range: float | None = None, max_calib_range: float | None = None
):
    """Floats as ``uint8``: the ends of the given range, by default that of the data, become 0 and 255.

    Args:
        data: float.

    Returns:
        The integers ``data * scale + shift``, then scale and shift, ``(1,)`` each.

    Source: MXNet operator ``_contrib_quantize_asym``.
    """
    low, high = given_range(min_calib_range, max_calib_range) or (data.min(), data.max())
    extent = high - low
    scale = jnp.where(extent > 0, 255 / jnp.where(extent > 0, extent, 1), 1).astype(jnp.float32)
    shift = 255 - high * scale
    result = jnp.clip(jnp.floor(data * scale + shift + 0.5), 0, 255).astype(jnp.uint8)
    return result, scale.reshape((1,)), shift.astype(jnp.float32).reshape((1,))


@op(
    "_contrib_dequantize",
    shape_constraint=with_range,
    differentiable=False,
    dtypes=with_ranges("float32", accepts={"data": ("int8", "uint8")}),
    any_layout=True,
)
def dequantize(data, min_range, max_range, *, out_type: Literal["float32"] = "float32"):
    """Integers of 8 bits as the floats that they represent.

    Args:
        data: ``int8`` or ``uint8``.
        min_range: smallest number that was quantized, ``(1,)``.
        max_range: largest number that was quantized, ``(1,)``.

    Raises:
        ShapeError: an end is not a single number.

    Source: MXNet operator ``_contrib_dequantize``.
    """
    check_range("dequantize", min_range, max_range)
    steps = STEPS[str(data.dtype) if str(data.dtype) in STEPS else "int8"]
    step = farthest(min_range, max_range) / steps
    return data.astype(out_type) * step.astype(out_type)


@op(
    "_contrib_requantize",
    shape_constraint=with_new_range,
    any_layout=True,
    outputs=3,
    differentiable=False,
    dtypes=with_ranges(out_type, {"data": "int32"}, "float32", {"data": ("int32",)}),
)
def requantize(
    data,
    min_range,
    max_range,
    *,
    out_type: Literal["auto", "int8", "uint8"] = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """int32 sums as integers of 8 bits, in the given range, by default that of the data.

    ``auto`` means ``uint8`` where ``min_calib_range`` is given and not below 0, else ``int8``.

    Args:
        data: int32.
        min_range: smallest number that int32 represents, ``(1,)``.
        max_range: largest number that int32 represents, ``(1,)``.

    Returns:
        The integers, and the ends of their range, ``(1,)`` each.

    Raises:
        DTypeError: the data are not int32.
        ShapeError: an end is not a single number.

    Source: MXNet operator ``_contrib_requantize``.
    """
    check_range("requantize", min_range, max_range)
    calibrated = given_range(min_calib_range, max_calib_range)
    dtype = out_type
    if dtype == "auto":
        dtype = "uint8" if calibrated and (min_calib_range or 0) >= 0 else "int8"
    values = data.astype(jnp.float32) * (farthest(min_range, max_range) / INT32_STEPS)
    end = farthest(*calibrated) if calibrated else jnp.abs(values).max()
    result = _rounded(values, LIMITS[dtype][1], end, dtype)
    return result, *_range_of(dtype, 0 * end, end, end)


for _operator in (quantize, dequantize, requantize):
    _operator.infer_inputs(_infer_range)
