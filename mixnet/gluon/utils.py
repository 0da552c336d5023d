"""Splitting batches over contexts, clipping gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from mixnet.base import ShapeError
from mixnet.context import Context
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray


def split_data(
    data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """The batch cut into ``num_slice`` parts.

    Raises:
        ShapeError: it does not divide evenly and ``even_split`` is set, or has too few samples.
    """
    size = data.shape[batch_axis]
    if (even_split and size % num_slice) or size < num_slice:
        raise ShapeError(
            f"split_data: {size} samples do not divide into {num_slice} parts. Take a batch size "
            f"that does, or pass even_split=False."
        )
    step = size // num_slice
    bounds = [(i * step, (i + 1) * step if i < num_slice - 1 else size) for i in range(num_slice)]
    if batch_axis == 0:
        return [data[begin:end] for begin, end in bounds]
    return [data.slice_axis(axis=batch_axis, begin=b, end=e) for b, e in bounds]  # type: ignore[attr-defined]


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """The batch cut into one part for each context, on that context."""
    data = data if isinstance(data, NDArray) else array(data, ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def clip_global_norm(
    arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True
) -> float | NDArray:
    """Scale arrays in place so that their Euclidean norm together is at most ``max_norm``.

    Returns:
        The norm before, a number; with ``check_isfinite`` false an array, without waiting for it.
    """
    context = arrays[0].context
    total: Any = sum(((each.as_in_context(context) ** 2).sum() for each in arrays), 0.0)
    norm = total.sqrt()
    if check_isfinite:
        value = float(norm.asscalar())
        if not math.isfinite(value):
            warnings.warn("nan or inf in the gradients: nothing was clipped.", stacklevel=2)
    scale = (max_norm / (norm + 1e-8)).clip(0.0, 1.0)
    for each in arrays:
        each *= scale.as_in_context(each.context).astype(each.dtype, copy=False)
    return value if check_isfinite else norm
