"""Floats as 8-bit integers and back."""

from __future__ import annotations

from typing import Any, Literal

import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.registry import op

_LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}
# How many steps lie between 0 and the end of the range: MXNet counts half a step more in
# quantize_v2 and dequantize than in quantize.
_STEPS = {"int8": 127.5, "uint8": 255.5}


def _farthest(low: Any, high: Any) -> Any:
    return jnp.maximum(jnp.abs(low), jnp.abs(high))


def _rounded(data: Any, steps: float, farthest: Any, dtype: str) -> Any:
    # A range without extent holds zeros alone.
    scale = jnp.where(farthest > 0, steps / jnp.where(farthest > 0, farthest, 1), 0)
    low, high = _LIMITS[dtype]
    return jnp.clip(jnp.round(data * scale), low, high).astype(dtype)


def _range_of(dtype: str, low: Any, high: Any, farthest: Any) -> tuple[Any, Any]:
    """The range as ``(1,)`` arrays; that of signed integers reaches as far on both sides."""
    if dtype == "int8":
        low, high = -farthest, farthest
    return low.astype(jnp.float32).reshape((1,)), high.astype(jnp.float32).reshape((1,))


def _given_range(low: float | None, high: float | None) -> tuple[Any, Any] | None:
    """The range that was measured before; None unless both ends are given."""
    if low is None or high is None:
        return None
    return jnp.asarray(low, jnp.float32), jnp.asarray(high, jnp.float32)


def _check_range(name: str, low: Any, high: Any) -> None:
    if low.size != 1 or high.size != 1:
        raise ShapeError(
            f"contrib.{name}: min_range is {low.shape} and max_range {high.shape}; give each (1,)."
        )


def _infer_range(data):
    return {"min_range": (1,), "max_range": (1,)}


@op("_contrib_quantize", outputs=3, differentiable=False)
def quantize(data, min_range, max_range, *, out_type: Literal["int8", "uint8"] = "uint8"):
    """Floats as integers of 8 bits; 0 stays 0, what is outside the range becomes its end.

    Args:
        data: float.
        min_range: least number, ``(1,)``.
        max_range: greatest number, ``(1,)``. The end that is farther from 0 becomes the greatest
            integer by size.

    Returns:
        The integers, and the ends of their range, ``(1,)`` each.

    Raises:
        ShapeError: an end is not a single number.

    Source: MXNet operator ``_contrib_quantize``.
    """
    _check_range("quantize", min_range, max_range)
    farthest = _farthest(min_range, max_range).reshape(())
    found = _rounded(data, _LIMITS[out_type][1], farthest, out_type)
    return found, *_range_of(out_type, min_range, max_range, farthest)


@op("_contrib_quantize_v2", outputs=3, differentiable=False)
def quantize_v2(
    data,
    *,
    out_type: Literal["auto", "int8", "uint8"] = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Floats as integers of 8 bits, with the range that was measured before or else the data's.

    ``auto`` means ``uint8`` where ``min_calib_range`` is given and not below 0, else ``int8``.

    Args:
        data: float; integers of 8 bits stay as they are.

    Returns:
        The integers, and the ends of their range, ``(1,)`` each.

    Source: MXNet operator ``_contrib_quantize_v2``.
    """
    given = _given_range(min_calib_range, max_calib_range)
    whole = str(data.dtype)
    if whole in _LIMITS:
        steps = jnp.asarray(_STEPS[whole], jnp.float32)
        low, high = given or (-steps if whole == "int8" else 0 * steps, steps)
        return data, low.reshape((1,)), high.reshape((1,))
    dtype = out_type
    if dtype == "auto":
        dtype = "uint8" if given and (min_calib_range or 0) >= 0 else "int8"
    low, high = given or (data.min(), data.max())
    farthest = _farthest(low, high)
    found = _rounded(data, _STEPS[dtype], farthest, dtype)
    return found, *_range_of(dtype, low, high, farthest)


@op(
    "_contrib_quantize_asym",
    outputs=3,
    output_names=("output", "scale", "shift"),
    differentiable=False,
)
def quantize_asym(
    data, *, min_calib_range: float | None = None, max_calib_range: float | None = None
):
    """Floats as ``uint8``: the least becomes 0 and the greatest 255.

    Args:
        data: float. Its range is the one given, or else its own.

    Returns:
        The integers ``data * scale + shift``, then scale and shift, ``(1,)`` each.

    Source: MXNet operator ``_contrib_quantize_asym``.
    """
    low, high = _given_range(min_calib_range, max_calib_range) or (data.min(), data.max())
    extent = high - low
    scale = jnp.where(extent > 0, 255 / jnp.where(extent > 0, extent, 1), 1).astype(jnp.float32)
    shift = 255 - high * scale
    found = jnp.clip(jnp.floor(data * scale + shift + 0.5), 0, 255).astype(jnp.uint8)
    return found, scale.reshape((1,)), shift.astype(jnp.float32).reshape((1,))


@op("_contrib_dequantize", differentiable=False)
def dequantize(data, min_range, max_range, *, out_type: Literal["float32"] = "float32"):
    """Integers of 8 bits as the floats that they stand for.

    Args:
        data: ``int8`` or ``uint8``.
        min_range: least number that was quantized, ``(1,)``.
        max_range: greatest number that was quantized, ``(1,)``.

    Raises:
        ShapeError: an end is not a single number.

    Source: MXNet operator ``_contrib_dequantize``.
    """
    _check_range("dequantize", min_range, max_range)
    steps = _STEPS[str(data.dtype) if str(data.dtype) in _STEPS else "int8"]
    step = _farthest(min_range, max_range).reshape(()) / steps
    return data.astype(out_type) * step.astype(out_type)


for _operator in (quantize, dequantize):
    _operator.infer_inputs(_infer_range)
