"""Correlation of two feature maps: similarity under displacement."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.control import loops
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Count, Positive


@op("Correlation", floats=True, one_dtype=True, precision="widest")
def correlation(
    data1,
    data2,
    *,
    kernel_size: Positive = 1,
    max_displacement: Count = 1,
    stride1: Positive = 1,
    stride2: Positive = 1,
    pad_size: Count = 0,
    is_multiply: bool = True,
):
    """Correlation of two maps: the mean product of patches of both, in a channel for each displacement.

    Args:
        data1: ``(batch, channels, height, width)``.
        data2: as ``data1``; its patches are displaced.
        kernel_size: side of a patch, odd.
        max_displacement: largest displacement along an axis.
        stride1: elements between patches.
        stride2: elements between displacements.
        pad_size: zeros around both maps.
        is_multiply: take products; otherwise absolute differences.

    Returns:
        ``(batch, (2 * (max_displacement // stride2) + 1) ** 2, rows, columns)``, displacements
        row by row.

    Raises:
        AttributeValueError: ``kernel_size`` is even.
        ShapeError: the maps differ in shape, or no patch can be displaced so far in them.

    Source: MXNet operator ``Correlation``.
    """
    if data1.ndim != 4 or data1.shape != data2.shape:
        raise ShapeError(
            f"Correlation: data1 {data1.shape} and data2 {data2.shape} must be one shape "
            "of four axes: batch, channels, height, width."
        )
    if kernel_size % 2 == 0:
        raise OperatorValueError(
            f"Correlation: kernel_size={kernel_size} is even; a patch needs a middle, so choose "
            "an odd number."
        )
    channels, height, width = data1.shape[1:]
    radius = (kernel_size - 1) // 2
    border = max_displacement + radius
    rows, columns = (-(-(n + 2 * pad_size - 2 * border) // stride1) for n in (height, width))
    if min(rows, columns) < 1:
        raise ShapeError(
            f"Correlation: maps {data1.shape[2:]} with pad_size={pad_size} are too small for "
            f"max_displacement={max_displacement} and kernel_size={kernel_size}."
        )
    edge = pad_size, pad_size
    fixed, moved = (jnp.pad(each, ((0, 0), (0, 0), edge, edge)) for each in (data1, data2))
    reach = max_displacement // stride2
    steps = jnp.arange(-reach, reach + 1) * stride2
    extent = [(n - 1) * stride1 + kernel_size for n in (rows, columns)]
    first = border - radius
    still = fixed[:, :, first : first + extent[0], first : first + extent[1]]

    def displaced(step: Any) -> Any:
        size = (*moved.shape[:2], *extent)
        other = jax.lax.dynamic_slice(moved, (0, 0, first + step[0], first + step[1]), size)
        alike = still * other if is_multiply else jnp.abs(still - other)
        window = (1, kernel_size, kernel_size), (1, stride1, stride1), "valid"
        return jax.lax.reduce_window(alike.sum(1), np.zeros((), alike.dtype), jax.lax.add, *window)

    grid = jnp.stack(jnp.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)
    products = loops.map_rows(displaced, grid)
    return jnp.moveaxis(products, 0, 1) / (kernel_size**2 * channels)
