"""Weights as rows of 8-bit or 4-bit integers, and layers that use them and compute in floats."""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp

from mixnet.base import DTypeError, ShapeError
from mixnet.ops.registry import op

HALF = 8
"""Added to an integer of 4 bits, so that it has no sign where two lie in a byte."""


@op("_contrib_dequantize_rows", differentiable=False, in_amp_lists=False)
def dequantize_rows(data, step, *, bits: Literal["8", "4"] = "8", size: int = 0):
    """Rows of integers as floats; each group of a row has its own step.

    Args:
        data: ``(..., size)`` int8; with 4 bits ``(..., (size + 1) // 2)`` uint8, two numbers in
            each: the first in the low half, both stored plus 8.
        step: ``(..., groups)`` float, the size of one step. ``groups`` divides ``size``.
        bits: of a number.
        size: numbers in a row; 0 for all of them.

    Returns:
        ``(..., size)`` in the dtype of ``step``.

    Raises:
        DTypeError: the integers have another dtype.
        ShapeError: the groups do not divide a row, or the rows are not as many as the steps'.
    """
    dtype = "int8" if bits == "8" else "uint8"
    if str(data.dtype) != dtype:
        raise DTypeError(
            f"contrib.dequantize_rows: data is {data.dtype}; numbers of {bits} bits are stored in "
            f"{dtype}, as mx.contrib.quantization.quantize_weights does."
        )
    whole = data if bits == "8" else _unpacked(data)
    size = size or whole.shape[-1]
    groups = step.shape[-1]
    if size > whole.shape[-1] or groups == 0 or size % groups or data.shape[:-1] != step.shape[:-1]:
        raise ShapeError(
            f"contrib.dequantize_rows: step {step.shape} does not go with data {data.shape} of "
            f"{size} numbers a row: it "
            f"has a row for each of data's, with a number for each group of equal size."
        )
    parts = whole[..., :size].astype(step.dtype).reshape((*step.shape, size // groups))
    return (parts * step[..., None]).reshape((*step.shape[:-1], size))


def _unpacked(data):
    """Two numbers of each byte, side by side."""
    high = data >> 4
    pairs = jnp.stack([data - (high << 4), high], -1).astype(jnp.int8) - HALF
    return pairs.reshape((*data.shape[:-1], 2 * data.shape[-1]))
