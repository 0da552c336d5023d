"""Regions of interest: a grid of fixed size from each box of a feature map.

``ROIPooling`` takes the largest element of a cell, the others the mean of samples between elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet.base import ShapeError
from mixnet.ops.control import loops
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Pair, Share
from mixnet.ops.tracing.step import as_step

# Regions that are worked on at once; each needs a copy of its picture's features.
_AT_ONCE = 16
# Samples of a bin that are traced one by one; a loop takes longer to trace, and to compile.
_MOST_WRITTEN_OUT = 4
# Interpolation is a mean of few elements; accelerators would round them to fewer digits.
_EXACT = jax.lax.Precision.HIGHEST


def check_regions(operator: str, data: jax.Array, rois: jax.Array, columns: int = 5) -> None:
    """Nothing for maps and regions of the right shapes.

    Raises:
        ShapeError: data have not four axes, or rois not two, the last of ``columns``; or there are
            regions of an empty batch.
    """
    if data.ndim != 4:
        raise ShapeError(
            f"{operator}: data {data.shape} must have four axes: batch, channels, height, width."
        )
    if rois.ndim != 2 or rois.shape[1] != columns:
        box = "corners" if columns == 5 else "center, size, angle"
        raise ShapeError(
            f"{operator}: rois {rois.shape} must be (regions, {columns}): picture, then {box}."
        )
    if rois.shape[0] and not data.shape[0]:
        raise ShapeError(
            f"{operator}: data {data.shape} have no picture for the {rois.shape[0]} regions of rois; "
            f"give no regions, (0, {columns}), for an empty batch."
        )


def at_least_one(data: jax.Array) -> Any:
    """The pictures; for an empty batch a picture of zeros, which no region reads.

    JAX refuses to index an axis without elements even where there are no indices.
    """
    return data if data.shape[0] else jnp.zeros((1, *data.shape[1:]), data.dtype)


def each_region(pool: Callable[[Any, Any], Any], data: jax.Array, rois: jax.Array) -> Any:
    """``pool(features of its picture, region)`` of every region; 0 for those of no picture."""
    data = at_least_one(data)

    def one(roi: jax.Array) -> Any:
        number = roi[0].astype(jnp.int32)
        features = data[jnp.clip(number, 0, data.shape[0] - 1)]
        return jnp.where(number >= 0, pool(features, roi), 0)

    return loops.map_rows(one, jax.lax.stop_gradient(rois), batch_size=_AT_ONCE)


def half_up(value: jax.Array) -> Any:
    """Rounded as C does: halves away from zero."""
    return jnp.sign(value) * jnp.floor(jnp.abs(value) + 0.5)


def rounded(value: jax.Array, dtype: DTypeLike) -> Any:
    """A float64 with the digits of ``dtype``."""
    kind = jnp.finfo(dtype)
    return jax.lax.reduce_precision(value, kind.nexp, kind.nmant)


def scaled(value: jax.Array, scale: float, dtype: DTypeLike) -> Any:
    """The product as the nearest number of ``dtype``, in float64; ``scale`` is of one precision."""
    return rounded(value.astype(jnp.float64) * float(np.float32(scale)), dtype)


def quotient(length: Any, bins: int, dtype: Any) -> Any:
    """The quotient as the nearest number of ``dtype``, in float64.

    XLA divides by a constant as it multiplies by its inverse, and a last place decides here how
    many elements a cell has.
    """
    return rounded(length.astype(jnp.float64) / bins, dtype)


def cells_between(edges: jax.Array, extent: int) -> Any:
    """Which elements lie between successive ``edges``, in part at least: ``(cells, extent)``."""
    low, high = jnp.floor(edges[:-1]), jnp.ceil(edges[1:])
    place = jnp.arange(extent)
    return (place >= low[:, None]) & (place < high[:, None])


@op("ROIPooling", aliases=["_npx_roi_pooling"])
def roi_pooling(data, rois, *, pooled_size: Pair, spatial_scale: Share):
    """The largest element in each cell of a grid over each region.

    Args:
        data: ``(batch, channels, height, width)``.
        rois: number of the picture, then left, top, right, bottom: ``(regions, 5)``.
        pooled_size: rows and columns of the grid.
        spatial_scale: extent of ``data`` to that of what the corners are measured in.

    Returns:
        ``(regions, channels, *pooled_size)``; 0 in cells that lie outside.

    Raises:
        ShapeError: the shapes are different.

    Source: MXNet operator ``ROIPooling``.
    """
    check_regions("ROIPooling", data, rois)
    data = at_least_one(data)
    bins = pooled_size[0], pooled_size[1]
    height, width = data.shape[2:]

    def cells(first: jax.Array, last: jax.Array, count: int, extent: int) -> Any:
        size = quotient(jnp.maximum(last - first + 1, 1), count, data.dtype)
        return cells_between(rounded(jnp.arange(count + 1) * size, data.dtype) + first, extent)

    def largest(features: jax.Array, roi: jax.Array) -> Any:
        left, top, right, bottom = half_up(scaled(roi[1:], spatial_scale, data.dtype))
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
    places = each_region(largest, jax.lax.stop_gradient(data), rois)
    number = jnp.clip(rois[:, 0].astype(jnp.int32), 0, data.shape[0] - 1)
    plane = number[:, None] * data.shape[1] + jnp.arange(data.shape[1])
    values = data.reshape(-1)[
        plane[:, :, None, None] * (height * width) + jnp.maximum(places - 1, 0)
    ]
    return jnp.where(places > 0, values, 0)


def _hats(places: jax.Array, extent: int) -> Any:
    """Weights with which elements make up the value at each of ``places``, ``(..., extent)``.

    Places up to one outside have the value at the border, those farther out 0.
    """
    inside = (places >= -1) & (places <= extent)
    near = jnp.clip(places, 0, extent - 1)
    element = jnp.arange(extent, dtype=places.dtype)
    weights = jnp.maximum(1 - jnp.abs(near[..., None] - element), 0)
    return jnp.where(inside[..., None], weights, 0)


def _averaging(
    start: jax.Array, length: jax.Array, bins: int, samples: int, extent: int, dtype: DTypeLike
) -> Any:
    """Weights of the elements in the mean of evenly spread samples in each bin.

    Args:
        start: where each stretch begins, in float64 as ``length``: ``(stretches,)``.
        length: of each stretch.
        bins: number of parts, the bins, that it is cut in.
        samples: in a bin; as many as elements fit in it if not positive.
        extent: number of elements.
        dtype: of the result.

    Returns:
        ``(stretches, bins, extent)``.
    """
    exact = quotient(length, bins, dtype)[:, None]
    size, count = exact.astype(dtype), _samples(exact, samples).astype(dtype)
    first = start.astype(dtype)[:, None] + jnp.arange(bins, dtype=dtype) * size

    def add(i: Any, total: Any) -> Any:
        place = first + jnp.asarray(i + 0.5, dtype) * size / count
        hats = _hats(place, extent)
        return total + (hats if samples > 0 else jnp.where((i < count)[..., None], hats, 0))

    total = jnp.zeros((*first.shape, extent), dtype)
    if 0 < samples <= _MOST_WRITTEN_OUT:
        for i in range(samples):
            total = add(i, total)
    else:  # a loop because the number of samples follows from the data
        most = jnp.max(count, initial=0).astype(jnp.int32)
        total = loops.fori_loop(0, most, add, total)
    return total / jnp.maximum(count, 1)[..., None]


def _samples(size: Any, samples: int) -> Any:
    """How many samples a bin of that size has along an axis."""
    return jnp.ceil(size) if samples <= 0 else jnp.full_like(size, samples)


@op("_contrib_ROIAlign", precision="widest")
def roi_align(
    data,
    rois,
    *,
    pooled_size: Pair,
    spatial_scale: Share,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
):
    """The mean of interpolated samples in each cell of a grid over each region.

    Args:
        data: ``(batch, channels, height, width)``.
        rois: number of the picture, then left, top, right, bottom: ``(regions, 5)``. A region
            with picture number -1 gives 0.
        pooled_size: rows and columns of the grid.
        spatial_scale: extent of ``data`` to that of what the corners are measured in.
        sample_ratio: samples of a cell along each axis; as many as elements if not positive.
        position_sensitive: every cell has channels of its own,
            ``channels / (rows * columns)`` of them.
        aligned: elements are at the centres of their pixels, and regions may be smaller than one.

    Returns:
        ``(regions, channels, *pooled_size)``.

    Raises:
        ShapeError: the shapes are different.

    Source: MXNet operator ``_contrib_ROIAlign``.
    """
    check_regions("_contrib_ROIAlign", data, rois)
    bins = pooled_size[0], pooled_size[1]
    channels, height, width = data.shape[1:]
    if position_sensitive and channels % (bins[0] * bins[1]):
        raise ShapeError(
            f"_contrib_ROIAlign: {channels} channels do not divide among the "
            f"{bins[0] * bins[1]} cells of pooled_size={bins}."
        )
    shift = 0.5 if aligned else 0.0

    rois = jax.lax.stop_gradient(rois)
    corners = rounded(scaled(rois[:, 1:], spatial_scale, data.dtype) - shift, data.dtype)
    left, top = corners[:, 0], corners[:, 1]
    sides = rounded(corners[:, 2:] - corners[:, :2], data.dtype)
    if not aligned:
        sides = jnp.maximum(sides, 1)
    rows = _averaging(top, sides[:, 1], bins[0], sample_ratio, height, data.dtype)
    columns = _averaging(left, sides[:, 0], bins[1], sample_ratio, width, data.dtype)
    number = rois[:, 0].astype(jnp.int32)
    return _weighted_regions(data, number, rows, columns, own=bins if position_sensitive else None)


def _grids(data: Any, number: Any, rows: Any, columns: Any, own: Any) -> tuple[Any, Any]:
    channels = data.shape[1] // (own[0] * own[1] if own else 1)
    return (number.shape[0], channels, rows.shape[1], columns.shape[1]), data.dtype


@as_step("weighted_regions", _grids)
def _weighted_regions(
    data: jax.Array,
    number: jax.Array,
    rows: jax.Array,
    columns: jax.Array,
    *,
    own: tuple[int, int] | None,
) -> Any:
    """Weighted sums of the features of each region's picture; 0 for those of no picture."""
    data = at_least_one(data)

    def one(region: Any) -> Any:
        number, rows, columns = region
        features = data[jnp.clip(number, 0, data.shape[0] - 1)]
        return jnp.where(number >= 0, weighted(features, rows, columns, own), 0)

    return loops.map_rows(one, (number, rows, columns), batch_size=_AT_ONCE)


def weighted(
    features: jax.Array, rows: jax.Array, columns: jax.Array, own: tuple[int, int] | None
) -> Any:
    """``features`` times weights of rows and columns; with ``own`` each cell has its channels."""
    if own is None:
        return jnp.einsum("chw,ph,qw->cpq", features, rows, columns, precision=_EXACT)
    features = features.reshape(-1, *own, *features.shape[1:])
    return jnp.einsum("cpqhw,ph,qw->cpq", features, rows, columns, precision=_EXACT)


def sampled(
    flat: jax.Array, plane: jax.Array, y: jax.Array, x: jax.Array, height: int, width: int
) -> Any:
    """Values between elements; places outside have those of the border.

    Args:
        flat: maps one after another, ``(maps * height * width,)``.
        plane: number of the map of each place.
        y: rows; the shapes of these three broadcast.
        x: columns.
        height: of a map.
        width: of a map.
    """
    y, x = jnp.clip(y, 0, height - 1), jnp.clip(x, 0, width - 1)
    top, left = jnp.floor(y), jnp.floor(x)
    down, right = y - top, x - left
    i, j = top.astype(jnp.int32), left.astype(jnp.int32)
    below, beside = jnp.minimum(i + 1, height - 1), jnp.minimum(j + 1, width - 1)

    def at(row: jax.Array, column: jax.Array) -> Any:
        return flat[(plane * height + row) * width + column]

    upper = at(i, j) * (1 - right) + at(i, beside) * right
    lower = at(below, j) * (1 - right) + at(below, beside) * right
    return upper * (1 - down) + lower * down


@op("_contrib_RROIAlign", differentiable=False, in_amp_lists=False)
def rotated_roi_align(
    data, rois, *, pooled_size: Pair, spatial_scale: Share, sampling_ratio: int = -1
):
    """The mean of interpolated samples in each cell of a grid over each rotated region.

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
        ShapeError: the shapes are different.

    Source: MXNet operator ``_contrib_RROIAlign``.
    """
    check_regions("_contrib_RROIAlign", data, rois, 6)
    bins = pooled_size[0], pooled_size[1]
    channels, height, width = data.shape[1:]
    plane = jnp.arange(channels)[:, None, None]

    def pool(features: jax.Array, roi: jax.Array) -> Any:
        flat = features.reshape(-1)
        center_x, center_y, wide, tall = scaled(roi[1:5], spatial_scale, data.dtype)
        tall, wide = jnp.maximum(tall, 1), jnp.maximum(wide, 1)
        exact = jnp.stack(
            [quotient(tall, bins[0], data.dtype), quotient(wide, bins[1], data.dtype)]
        )
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
            return total + jnp.where(inside, sampled(flat, plane, y, x, height, width), 0)

        zero = jnp.zeros((channels, *bins), data.dtype)
        number = count[0] * count[1]
        return loops.fori_loop(0, number.astype(jnp.int32), add, zero) / number

    return each_region(pool, data, rois)
