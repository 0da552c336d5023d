"""Regions of interest: a grid of fixed size from each box in a feature map.

Of the operators here ``ROIPooling`` takes the largest element of each cell, the others a mean: of
the elements in it, or of samples between elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import AttributeValueError, ShapeError
from mixnet.ops.attributes import Shape
from mixnet.ops.registry import op

# Regions that are worked on at once; each needs a copy of its picture's features.
_AT_ONCE = 16
# Interpolation is a mean of few elements; accelerators would round them to fewer digits.
_EXACT = jax.lax.Precision.HIGHEST


def _check(operator: str, data: Any, rois: Any, columns: int = 5) -> None:
    if data.ndim != 4:
        raise ShapeError(
            f"{operator}: data {data.shape} must have four axes: batch, channels, height, width."
        )
    if rois.ndim != 2 or rois.shape[1] != columns:
        box = "corners" if columns == 5 else "center, size, angle"
        raise ShapeError(
            f"{operator}: rois {rois.shape} must be (regions, {columns}): picture, then {box}."
        )


def _two(operator: str, pooled_size: tuple[int, ...]) -> tuple[int, int]:
    if len(pooled_size) != 2 or min(pooled_size) < 1:
        raise AttributeValueError(
            f"{operator}: pooled_size={pooled_size} must be two positive numbers: height, width."
        )
    return pooled_size[0], pooled_size[1]


def _each_region(pool: Callable[[Any, Any], Any], data: Any, rois: Any) -> Any:
    """``pool(features of its picture, region)`` of every region; 0 for those of no picture."""

    def one(roi: Any) -> Any:
        number = roi[0].astype(jnp.int32)
        features = data[jnp.clip(number, 0, data.shape[0] - 1)]
        return jnp.where(number >= 0, pool(features, roi), 0)

    return jax.lax.map(one, jax.lax.stop_gradient(rois), batch_size=_AT_ONCE)


def _half_up(value: Any) -> Any:
    """Rounded as C does: halves away from zero."""
    return jnp.sign(value) * jnp.floor(jnp.abs(value) + 0.5)


def _rounded(value: Any, dtype: Any) -> Any:
    """A float64 with the digits of ``dtype``."""
    kind = jnp.finfo(dtype)
    return jax.lax.reduce_precision(value, kind.nexp, kind.nmant)


def _scaled(value: Any, scale: float, dtype: Any) -> Any:
    """The product as the nearest number of ``dtype``, in float64; ``scale`` is of one precision."""
    return _rounded(value.astype(jnp.float64) * float(np.float32(scale)), dtype)


def _part(length: Any, bins: int, dtype: Any) -> Any:
    """The quotient as the nearest number of ``dtype``, in float64.

    XLA divides by a constant as it multiplies by its inverse, and a last place decides here how
    many elements a cell has.
    """
    return _rounded(length.astype(jnp.float64) / bins, dtype)


def _cells(edges: Any, extent: int) -> Any:
    """Which elements lie between successive ``edges``, in part at least: ``(cells, extent)``."""
    low, high = jnp.floor(edges[:-1]), jnp.ceil(edges[1:])
    place = jnp.arange(extent)
    return (place >= low[:, None]) & (place < high[:, None])


@op("ROIPooling", aliases=["_npx_roi_pooling"])
def roi_pooling(data, rois, *, pooled_size: Shape, spatial_scale: float):
    """The largest element in each cell of a grid over each region.

    Args:
        data: ``(batch, channels, height, width)``.
        rois: number of the picture, then left, top, right, bottom: ``(regions, 5)``.
        pooled_size: rows and columns of the grid.
        spatial_scale: extent of ``data`` to that of what the corners are measured in.

    Returns:
        ``(regions, channels, *pooled_size)``; 0 in cells that lie outside.

    Raises:
        AttributeValueError: ``pooled_size`` is not two positive numbers.
        ShapeError: shapes are others than these.

    Source: MXNet operator ``ROIPooling``.
    """
    _check("ROIPooling", data, rois)
    bins = _two("ROIPooling", pooled_size)
    height, width = data.shape[2:]

    def cells(first: Any, last: Any, count: int, extent: int) -> Any:
        size = _part(jnp.maximum(last - first + 1, 1), count, data.dtype)
        return _cells(_rounded(jnp.arange(count + 1) * size, data.dtype) + first, extent)

    def largest(features: Any, roi: Any) -> Any:
        left, top, right, bottom = _half_up(_scaled(roi[1:], spatial_scale, data.dtype))
        rows = cells(top, bottom, bins[0], height)
        columns = cells(left, right, bins[1], width)
        in_rows = jnp.where(rows[:, None, :, None], features, -jnp.inf)
        best = in_rows.max(2)
        # A search for the first one equal to it, which XLA does faster than an argmax.
        row = jnp.arange(height, dtype=jnp.int32)[:, None]
        row = jnp.where(in_rows == best[:, :, None], row, height).min(2)
        tops = jnp.where(columns[:, None, None], best, -jnp.inf)
        place = row * width + jnp.arange(width, dtype=jnp.int32)
        place = jnp.where(tops == tops.max(-1, keepdims=True), place, height * width).min(-1)
        filled = rows.any(1)[:, None] & columns.any(1)
        return jnp.where(filled, place.transpose(2, 1, 0) + 1, 0)

    # Where the largest is, the first in reading order if several are, so that the gradient goes
    # to that one alone. Counted from 1: nothing is 0.
    places = _each_region(largest, jax.lax.stop_gradient(data), rois)
    number = jnp.clip(rois[:, 0].astype(jnp.int32), 0, data.shape[0] - 1)
    plane = number[:, None] * data.shape[1] + jnp.arange(data.shape[1])
    taken = data.reshape(-1)[
        plane[:, :, None, None] * (height * width) + jnp.maximum(places - 1, 0)
    ]
    return jnp.where(places > 0, taken, 0)


def _hats(places: Any, extent: int) -> Any:
    """Weights with which elements make up the value at each of ``places``, ``(..., extent)``.

    Places up to one outside have the value at the border, those farther out 0.
    """
    inside = (places >= -1) & (places <= extent)
    near = jnp.clip(places, 0, extent - 1)
    element = jnp.arange(extent, dtype=places.dtype)
    weights = jnp.maximum(1 - jnp.abs(near[..., None] - element), 0)
    return jnp.where(inside[..., None], weights, 0)


def _averaging(start: Any, length: Any, bins: int, samples: int, extent: int, dtype: Any) -> Any:
    """Weights of the elements in the mean of evenly spread samples in each bin.

    Args:
        start: where the stretch begins, in float64 as ``length``.
        length: of the stretch.
        bins: number of parts, the bins, that it is cut in.
        samples: in a bin; as many as elements fit in it if not positive.
        extent: number of elements.
        dtype: of the result.

    Returns:
        ``(bins, extent)``.
    """
    exact = _part(length, bins, dtype)
    size, count = exact.astype(dtype), _samples(exact, samples).astype(dtype)
    first = start.astype(dtype) + jnp.arange(bins, dtype=dtype) * size

    def add(i: Any, total: Any) -> Any:
        place = first + (i + 0.5).astype(dtype) * size / count
        return total + jnp.where(i < count, _hats(place, extent), 0)

    # A loop because the number of samples follows from the data.
    total = jax.lax.fori_loop(0, count.astype(jnp.int32), add, jnp.zeros((bins, extent), dtype))
    return total / jnp.maximum(count, 1)


def _samples(size: Any, samples: int) -> Any:
    """How many samples a bin of that size has along an axis."""
    return jnp.ceil(size) if samples <= 0 else jnp.full_like(size, samples)


@op("_contrib_ROIAlign")
def roi_align(
    data,
    rois,
    *,
    pooled_size: Shape,
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
):
    """The mean of interpolated samples in each cell of a grid over each region.

    Args:
        data: ``(batch, channels, height, width)``.
        rois: number of the picture, then left, top, right, bottom: ``(regions, 5)``. A region of
            no picture, -1, gives 0.
        pooled_size: rows and columns of the grid.
        spatial_scale: extent of ``data`` to that of what the corners are measured in.
        sample_ratio: samples of a cell along each axis; as many as elements if not positive.
        position_sensitive: every cell has channels of its own,
            ``channels / (rows * columns)`` of them.
        aligned: elements lie at the middle of their pixel, and regions may be smaller than one.

    Returns:
        ``(regions, channels, *pooled_size)``.

    Raises:
        AttributeValueError: ``pooled_size`` is not two positive numbers.
        ShapeError: shapes are others than these.

    Source: MXNet operator ``_contrib_ROIAlign``.
    """
    _check("_contrib_ROIAlign", data, rois)
    bins = _two("_contrib_ROIAlign", pooled_size)
    channels, height, width = data.shape[1:]
    if position_sensitive and channels % (bins[0] * bins[1]):
        raise ShapeError(
            f"_contrib_ROIAlign: {channels} channels do not divide among the "
            f"{bins[0] * bins[1]} cells of pooled_size={bins}."
        )
    shift = 0.5 if aligned else 0.0

    def pool(features: Any, roi: Any) -> Any:
        corners = _rounded(_scaled(roi[1:], spatial_scale, data.dtype) - shift, data.dtype)
        left, top = corners[:2]
        wide, tall = _rounded(corners[2:] - corners[:2], data.dtype)
        if not aligned:
            tall, wide = jnp.maximum(tall, 1), jnp.maximum(wide, 1)
        rows = _averaging(top, tall, bins[0], sample_ratio, height, data.dtype)
        columns = _averaging(left, wide, bins[1], sample_ratio, width, data.dtype)
        return _weighted(features, rows, columns, bins if position_sensitive else None)

    return _each_region(pool, data, rois)


def _weighted(features: Any, rows: Any, columns: Any, own: tuple[int, int] | None) -> Any:
    """``features`` times weights of rows and columns; with ``own`` each cell has its channels."""
    if own is None:
        return jnp.einsum("chw,ph,qw->cpq", features, rows, columns, precision=_EXACT)
    features = features.reshape(-1, *own, *features.shape[1:])
    return jnp.einsum("cpqhw,ph,qw->cpq", features, rows, columns, precision=_EXACT)


def bilinear(features: Any, y: Any, x: Any) -> Any:
    """Values between elements; places outside have those of the border.

    Args:
        features: ``(channels, height, width)``.
        y: rows, any shape.
        x: columns, of that shape.

    Returns:
        ``(channels, *y.shape)``.
    """
    height, width = features.shape[1:]
    y, x = jnp.clip(y, 0, height - 1), jnp.clip(x, 0, width - 1)
    top, left = jnp.floor(y), jnp.floor(x)
    down, right = y - top, x - left
    i, j = top.astype(jnp.int32), left.astype(jnp.int32)
    below, beside = jnp.minimum(i + 1, height - 1), jnp.minimum(j + 1, width - 1)
    upper = features[:, i, j] * (1 - right) + features[:, i, beside] * right
    lower = features[:, below, j] * (1 - right) + features[:, below, beside] * right
    return upper * (1 - down) + lower * down


@op("_contrib_RROIAlign", differentiable=False)
def rotated_roi_align(
    data, rois, *, pooled_size: Shape, spatial_scale: float, sampling_ratio: int = -1
):
    """The mean of interpolated samples in each cell of a grid over each turned region.

    Args:
        data: ``(batch, channels, height, width)``.
        rois: number of the picture, center across and down, width, height, and the angle in
            degrees: ``(regions, 6)``.
        pooled_size: rows and columns of the grid.
        spatial_scale: extent of ``data`` to that of what the regions are measured in.
        sampling_ratio: samples of a cell along each axis; as many as elements if not positive.

    Returns:
        ``(regions, channels, *pooled_size)``.

    Raises:
        AttributeValueError: ``pooled_size`` is not two positive numbers.
        ShapeError: shapes are others than these.

    Source: MXNet operator ``_contrib_RROIAlign``.
    """
    _check("_contrib_RROIAlign", data, rois, 6)
    bins = _two("_contrib_RROIAlign", pooled_size)
    height, width = data.shape[2:]

    def pool(features: Any, roi: Any) -> Any:
        center_x, center_y, wide, tall = _scaled(roi[1:5], spatial_scale, data.dtype)
        tall, wide = jnp.maximum(tall, 1), jnp.maximum(wide, 1)
        exact = jnp.stack([_part(tall, bins[0], data.dtype), _part(wide, bins[1], data.dtype)])
        size = exact.astype(data.dtype)
        count = _samples(exact, sampling_ratio).astype(data.dtype)
        center_x, center_y, wide, tall, angle = (
            each.astype(data.dtype) for each in (center_x, center_y, wide, tall, roi[5])
        )
        angle = jnp.deg2rad(angle)
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        rows = jnp.arange(bins[0], dtype=data.dtype)[:, None]
        columns = jnp.arange(bins[1], dtype=data.dtype)

        def add(k: Any, total: Any) -> Any:
            step = jnp.stack([k // count[1].astype(jnp.int32), k % count[1].astype(jnp.int32)])
            within = (step + 0.5).astype(data.dtype) / count
            v = (rows + within[0]) * size[0] - tall / 2
            u = (columns + within[1]) * size[1] - wide / 2
            x = u * cosine + v * sine + center_x
            y = v * cosine - u * sine + center_y
            inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
            return total + jnp.where(inside, bilinear(features, y, x), 0)

        zero = jnp.zeros((features.shape[0], *bins), data.dtype)
        number = count[0] * count[1]
        return jax.lax.fori_loop(0, number.astype(jnp.int32), add, zero) / number

    return _each_region(pool, data, rois)


def _own_channels(operator: str, channels: int, output_dim: int, groups: int) -> None:
    if channels != output_dim * groups * groups:
        raise ShapeError(
            f"{operator}: data have {channels} channels, but output_dim={output_dim} and "
            f"{groups} x {groups} groups need {output_dim * groups * groups}."
        )


def _group(bins: int, groups: int) -> Any:
    """The group of each bin."""
    return jnp.clip(jnp.arange(bins) * groups // bins, 0, groups - 1)


def _sensitive_corners(roi: Any, spatial_scale: float, dtype: Any) -> Any:
    """Left, top, width and height of a region whose corners are whole pixels that belong to it."""
    left, top = _scaled(_half_up(roi[1:3]), spatial_scale, dtype)
    right, bottom = _scaled(_half_up(roi[3:5]) + 1, spatial_scale, dtype)
    wide, tall = _rounded(right - left, dtype), _rounded(bottom - top, dtype)
    return left, top, jnp.maximum(wide, 0.1), jnp.maximum(tall, 0.1)


@op("_contrib_PSROIPooling")
def position_sensitive_pooling(
    data, rois, *, spatial_scale: float, output_dim: int, pooled_size: int, group_size: int = 0
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
        ShapeError: shapes are others than these.

    Source: MXNet operator ``_contrib_PSROIPooling``.
    """
    name = "_contrib_PSROIPooling"
    _check(name, data, rois)
    groups = group_size or pooled_size
    _own_channels(name, data.shape[1], output_dim, groups)
    height, width = data.shape[2:]
    group = _group(pooled_size, groups)

    def cells(first: Any, length: Any, extent: int) -> Any:
        size = _part(length, pooled_size, data.dtype)
        edges = _rounded(jnp.arange(pooled_size + 1) * size, data.dtype)
        return _cells(_rounded(edges + first, data.dtype), extent).astype(data.dtype)

    def pool(features: Any, roi: Any) -> Any:
        left, top, wide, tall = _sensitive_corners(roi, spatial_scale, data.dtype)
        rows, columns = cells(top, tall, height), cells(left, wide, width)
        maps = features.reshape(output_dim, groups, groups, height, width)
        maps = maps[:, group[:, None], group].reshape(-1, height, width)
        total = _weighted(maps, rows, columns, (pooled_size, pooled_size))
        number = rows.sum(1)[:, None] * columns.sum(1)
        return total / jnp.maximum(number, 1)

    return _each_region(pool, data, rois)


def _trans_arguments(no_trans: bool) -> tuple[str, ...]:
    return ("data", "rois") if no_trans else ("data", "rois", "trans")


@op(
    "_contrib_DeformablePSROIPooling",
    arguments=_trans_arguments,
    outputs=2,
    visible=1,
    output_names=("output", "top_count"),
)
def deformable_position_sensitive_pooling(
    data,
    rois,
    trans=None,
    *,
    spatial_scale: float,
    output_dim: int,
    group_size: int,
    pooled_size: int,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
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
        ShapeError: shapes are others than these.

    Source: MXNet operator ``_contrib_DeformablePSROIPooling``.
    """
    name = "_contrib_DeformablePSROIPooling"
    _check(name, data, rois)
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

    def pool(roi: Any, moves: Any) -> Any:
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
        value = jnp.where(inside, _sampled(flat, plane, y, x, height, width), 0)
        count = inside.sum((-1, -2)).astype(data.dtype)
        mean = value.sum((-1, -2)) / jnp.maximum(count, 1)
        shape = output_dim, pooled_size, pooled_size
        return mean.reshape(shape), jnp.broadcast_to(count, mean.shape).reshape(shape)

    found, counts = jax.vmap(pool)(jax.lax.stop_gradient(rois), trans)
    return found, jax.lax.stop_gradient(counts)


def _sampled(flat: Any, plane: Any, y: Any, x: Any, height: int, width: int) -> Any:
    """As :func:`bilinear`, of maps one after another, where each place has its own."""
    y, x = jnp.clip(y, 0, height - 1), jnp.clip(x, 0, width - 1)
    top, left = jnp.floor(y), jnp.floor(x)
    down, right = y - top, x - left
    i, j = top.astype(jnp.int32), left.astype(jnp.int32)
    below, beside = jnp.minimum(i + 1, height - 1), jnp.minimum(j + 1, width - 1)

    def at(row: Any, column: Any) -> Any:
        return flat[(plane * height + row) * width + column]

    upper = at(i, j) * (1 - right) + at(i, beside) * right
    lower = at(below, j) * (1 - right) + at(below, beside) * right
    return upper * (1 - down) + lower * down
