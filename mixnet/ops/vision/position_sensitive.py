"""Position-sensitive regions of interest: separate channels for each group of grid cells."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mixnet.base import ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Count, Positive, Share
from mixnet.ops.vision.region import (
    cells_between,
    check_regions,
    each_region,
    half_up,
    quotient,
    rounded,
    sampled,
    scaled,
    weighted,
)


def _own_channels(operator: str, channels: int, output_dim: int, groups: int) -> None:
    if channels != output_dim * groups * groups:
        raise ShapeError(
            f"{operator}: data have {channels} channels, but output_dim={output_dim} and "
            f"{groups} x {groups} groups need {output_dim * groups * groups}."
        )


def _group(bins: int, groups: int) -> Any:
    """The group of each bin."""
    return jnp.clip(jnp.arange(bins) * groups // bins, 0, groups - 1)


def _sensitive_corners(roi: jax.Array, spatial_scale: float, dtype: DTypeLike) -> Any:
    """Left, top, width and height of a region whose corners are whole pixels that belong to it."""
    left, top = scaled(half_up(roi[1:3]), spatial_scale, dtype)
    right, bottom = scaled(half_up(roi[3:5]) + 1, spatial_scale, dtype)
    wide, tall = rounded(right - left, dtype), rounded(bottom - top, dtype)
    return left, top, jnp.maximum(wide, 0.1), jnp.maximum(tall, 0.1)


@op("_contrib_PSROIPooling", precision="widest")
def position_sensitive_pooling(
    data,
    rois,
    *,
    spatial_scale: Share,
    output_dim: Positive,
    pooled_size: Positive,
    group_size: Count = 0,
):
    """The mean of each cell of a grid over each region, every group of cells in its own channels.

    Args:
        data: ``(batch, output_dim * group_size ** 2, height, width)``.
        rois: number of the picture, then left, top, right, bottom: ``(regions, 5)``.
        spatial_scale: extent of ``data`` to that of what the corners are measured in.
        output_dim: channels of the result.
        pooled_size: rows, and columns, of the grid.
        group_size: rows, and columns, of groups; ``pooled_size`` if 0.

    Returns:
        ``(regions, output_dim, pooled_size, pooled_size)``; 0 in cells that lie outside.

    Raises:
        ShapeError: the shapes are different.

    Source: MXNet operator ``_contrib_PSROIPooling``.
    """
    name = "_contrib_PSROIPooling"
    check_regions(name, data, rois)
    groups = group_size or pooled_size
    _own_channels(name, data.shape[1], output_dim, groups)
    height, width = data.shape[2:]
    group = _group(pooled_size, groups)

    def cells(first: jax.Array, length: jax.Array, extent: int) -> Any:
        size = quotient(length, pooled_size, data.dtype)
        edges = rounded(jnp.arange(pooled_size + 1) * size, data.dtype)
        return cells_between(rounded(edges + first, data.dtype), extent).astype(data.dtype)

    def pool(features: jax.Array, roi: jax.Array) -> Any:
        left, top, wide, tall = _sensitive_corners(roi, spatial_scale, data.dtype)
        rows, columns = cells(top, tall, height), cells(left, wide, width)
        maps = features.reshape(output_dim, groups, groups, height, width)
        maps = maps[:, group[:, None], group].reshape(-1, height, width)
        total = weighted(maps, rows, columns, (pooled_size, pooled_size))
        number = rows.sum(1)[:, None] * columns.sum(1)
        return total / jnp.maximum(number, 1)

    return each_region(pool, data, rois)


def _trans_arguments(no_trans: bool) -> tuple[str, ...]:
    return ("data", "rois") if no_trans else ("data", "rois", "trans")


@op(
    "_contrib_DeformablePSROIPooling",
    one_dtype=True,
    arguments=_trans_arguments,
    outputs=2,
    visible=1,
    output_names=("output", "top_count"),
    precision="full",
)
def deformable_position_sensitive_pooling(
    data,
    rois,
    trans=None,
    *,
    spatial_scale: Share,
    output_dim: Positive,
    group_size: Count,
    pooled_size: Positive,
    part_size: Count = 0,
    sample_per_part: Positive = 1,
    trans_std: Share = 0.0,
    no_trans: bool = False,
):
    """As ``_contrib_PSROIPooling``, of interpolated samples in cells that are moved.

    Args:
        data: ``(batch, output_dim * group_size ** 2, height, width)``.
        rois: number of the picture, then left, top, right, bottom: ``(regions, 5)``.
        trans: how far each part is moved across and down, in extents of the region:
            ``(regions, 2 * classes, part_size, part_size)``; left out with ``no_trans``.
        spatial_scale: extent of ``data`` to that of what the corners are measured in.
        output_dim: channels of the result, a multiple of the classes.
        group_size: rows, and columns, of groups of cells.
        pooled_size: rows, and columns, of the grid.
        part_size: rows, and columns, of parts; ``pooled_size`` if 0.
        sample_per_part: samples of a cell along each axis.
        trans_std: what ``trans`` is multiplied by.
        no_trans: nothing is moved.

    Returns:
        ``(regions, output_dim, pooled_size, pooled_size)``, and how many samples of a cell lay
        inside.

    Raises:
        ShapeError: the shapes are different.

    Source: MXNet operator ``_contrib_DeformablePSROIPooling``.
    """
    name = "_contrib_DeformablePSROIPooling"
    check_regions(name, data, rois)
    _own_channels(name, data.shape[1], output_dim, group_size)
    height, width = data.shape[2:]
    parts = part_size or pooled_size
    if no_trans or trans is None:
        trans = jnp.zeros((rois.shape[0], 2, parts, parts), data.dtype)
    if trans.shape[0] != rois.shape[0] or trans.shape[2:] != (parts, parts) or trans.shape[1] % 2:
        raise ShapeError(
            f"{name}: trans {trans.shape} must be (regions, 2 * classes, part_size, part_size), "
            f"here ({rois.shape[0]}, 2 * classes, {parts}, {parts})."
        )
    classes = trans.shape[1] // 2
    if output_dim % classes:
        raise ShapeError(
            f"{name}: output_dim={output_dim} does not divide among {classes} classes."
        )
    group, part = _group(pooled_size, group_size), _group(pooled_size, parts)
    # Axes of the samples: class, channel of the class, row, column, sample down, sample across.
    channel = jnp.arange(output_dim).reshape(classes, -1, 1, 1) * group_size + group[:, None]
    channel = (channel * group_size + group)[..., None, None]
    step = jnp.arange(sample_per_part, dtype=data.dtype) / sample_per_part

    # The samples are few enough for all regions at once, each from where its picture begins.
    flat = data.reshape(-1)

    def pool(roi: jax.Array, moves: jax.Array) -> Any:
        left, top, wide, tall = (
            each.astype(data.dtype) for each in _sensitive_corners(roi, spatial_scale, data.dtype)
        )
        # MXNet shifts these regions by half an element, other than those of PSROIPooling.
        left, top = left - 0.5, top - 0.5
        cell = jnp.stack([tall, wide]).astype(data.dtype) / pooled_size
        moves = moves.reshape(classes, 2, parts, parts)[:, :, part[:, None], part] * trans_std
        moves = moves[:, :, None, :, :, None, None]
        place = jnp.arange(pooled_size, dtype=data.dtype)
        y = (place[:, None, None, None] + step[:, None]) * cell[0] + top + moves[:, 1] * tall
        x = (place[:, None, None] + step) * cell[1] + left + moves[:, 0] * wide
        number = roi[0].astype(jnp.int32)
        inside = (y >= -0.5) & (y <= height - 0.5) & (x >= -0.5) & (x <= width - 0.5)
        inside = inside & (number >= 0)
        plane = jnp.clip(number, 0, data.shape[0] - 1) * data.shape[1] + channel
        value = jnp.where(inside, sampled(flat, plane, y, x, height, width), 0)
        count = inside.sum((-1, -2)).astype(data.dtype)
        mean = value.sum((-1, -2)) / jnp.maximum(count, 1)
        shape = output_dim, pooled_size, pooled_size
        return mean.reshape(shape), jnp.broadcast_to(count, mean.shape).reshape(shape)

    pooled, counts = jax.vmap(pool)(jax.lax.stop_gradient(rois), trans)
    return pooled, jax.lax.stop_gradient(counts)
