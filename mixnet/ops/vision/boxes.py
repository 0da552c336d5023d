"""Boxes as four numbers: overlap, regression targets and back, bipartite matching."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import DTypeError, ShapeError
from mixnet.ops.control import loops
from mixnet.ops.registry import op
from mixnet.ops.schema.shape_constraints import CallShapes

Format = Literal["center", "corner"]
"""``corner`` is ``(left, top, right, bottom)``, ``center`` ``(x, y, width, height)``."""


def floating(operator: str, data: jax.Array) -> None:
    """Nothing for an array of floating-point numbers.

    Raises:
        DTypeError: ``data`` has another dtype.
    """
    if not jnp.issubdtype(data.dtype, jnp.floating):
        raise DTypeError(
            f"{operator} takes floating-point arrays, not {data.dtype}; cast it with astype."
        )


def of_four(operator: str, name: str, shape: tuple[int, ...], least: int = 1) -> None:
    """Nothing for the shape of an array of boxes, with ``least`` axes or more.

    Raises:
        ShapeError: the last axis is not a box, or axes are missing.
    """
    if len(shape) < least or shape[-1] != 4:
        raise ShapeError(
            f"{operator}: {name} is {shape}, but needs at least {least} axes, the last of 4 "
            f"numbers for each box."
        )


def to_corners(boxes: jax.Array) -> Any:
    """Boxes given by center and size, by their corners."""
    middle, half = boxes[..., :2], boxes[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half], -1)


def to_centers(boxes: jax.Array) -> Any:
    """Boxes given by their corners, by center and size."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return jnp.concatenate([(low + high) / 2, high - low], -1)


def areas(boxes: jax.Array, format: Format = "corner", pixel: int = 0) -> Any:
    """Of boxes, without their last axis; a turned box, its right side left of the left one, has none.

    Args:
        boxes: ``(..., 4)``.
        format: what the four numbers are.
        pixel: added to every side: 1 where corners are pixels that belong to the box.
    """
    sides = boxes[..., 2:] if format == "center" else boxes[..., 2:] - boxes[..., :2]
    return jnp.prod(jnp.maximum(sides + pixel, 0), -1)


def overlaps(
    left: jax.Array,
    right: jax.Array,
    left_areas: jax.Array,
    right_areas: jax.Array,
    pixel: int = 0,
) -> Any:
    """Intersection over union of every box in ``left`` with every one in ``right``, as corners.

    Args:
        left: ``(..., n, 4)``.
        right: ``(..., m, 4)``.
        left_areas: ``(..., n)``, from the numbers that the boxes came with (``areas``): those of
            corners computed from a center differ in the last digit, which decides at a threshold.
        right_areas: ``(..., m)``.
        pixel: as in ``areas``.

    Returns:
        ``(..., n, m)``.
    """
    left, right = left[..., :, None, :], right[..., None, :, :]
    sides = jnp.minimum(left[..., 2:], right[..., 2:]) - jnp.maximum(left[..., :2], right[..., :2])
    both = jnp.prod(jnp.maximum(sides + pixel, 0), -1)
    union = left_areas[..., :, None] + right_areas[..., None, :] - both
    return jnp.where(both > 0, both / jnp.where(union > 0, union, 1), 0)


@op("_contrib_box_iou", one_dtype=True, differentiable=False, precision="widest")
def box_iou(lhs, rhs, *, format: Format = "corner"):
    """Intersection over union of every box in ``lhs`` with every box in ``rhs``.

    Args:
        lhs: boxes, ``(..., 4)``, two axes or more.
        rhs: boxes, ``(..., 4)``, two axes or more.
        format: what the four numbers are.

    Returns:
        ``lhs.shape[:-1] + rhs.shape[:-1]``.

    Raises:
        DTypeError: the boxes are not floating-point numbers.
        ShapeError: the last axis is not of 4 numbers.

    Source: MXNet operator ``_contrib_box_iou``.
    """
    for name, each in (("lhs", lhs), ("rhs", rhs)):
        of_four("_contrib_box_iou", name, each.shape, 2)
        floating("_contrib_box_iou", each)
    left, right = lhs.reshape(-1, 4), rhs.reshape(-1, 4)
    sizes = areas(left, format), areas(right, format)
    if format == "center":
        left, right = to_corners(left), to_corners(right)
    return overlaps(left, right, *sizes).reshape(lhs.shape[:-1] + rhs.shape[:-1])


def offsets(anchors: jax.Array, boxes: jax.Array) -> Any:
    """What a regression learns: ``boxes`` relative to ``anchors``, both by center and size."""
    return jnp.concatenate(
        [
            (boxes[..., :2] - anchors[..., :2]) / anchors[..., 2:],
            jnp.log(boxes[..., 2:] / anchors[..., 2:]),
        ],
        -1,
    )


def _of_boxes(shapes: CallShapes) -> None:
    """Samples and matches have one shape; means and deviations are one number for each of a box."""
    shapes.same([0, 1])
    for place in (4, 5):
        if not shapes.is_known(shapes.input(place)):
            shapes.set_input(place, (4,))


@op(
    "_contrib_box_encode",
    one_dtype=True,
    outputs=2,
    differentiable=False,
    in_amp_lists=False,
    shape_constraint=_of_boxes,
)
def box_encode(samples, matches, anchors, refs, means, stds):
    """Targets of a box regression, and a mask of those that count.

    Args:
        samples: ``(batch, n)``, 1 for an anchor that is learnt from.
        matches: ``(batch, n)``, number of the box in ``refs`` that an anchor is matched with.
        anchors: corners, ``(batch, n, 4)``.
        refs: true boxes by their corners, ``(batch, m, 4)``.
        means: ``(4,)``, subtracted from the offsets.
        stds: ``(4,)``, what they are then divided by.

    Returns:
        Targets and mask, each ``(batch, n, 4)``; both are 0 where an anchor does not count.

    Raises:
        ShapeError: the last axis of ``anchors`` or ``refs`` is not of 4 numbers.

    Source: MXNet operator ``_contrib_box_encode``.
    """
    of_four("_contrib_box_encode", "anchors", anchors.shape, 3)
    of_four("_contrib_box_encode", "refs", refs.shape, 3)
    numbers = jnp.clip(matches.astype(jnp.int32), 0, refs.shape[1] - 1)
    matched = jnp.take_along_axis(refs, numbers[..., None], 1)
    counts = (samples > 0.5)[..., None]
    targets = (offsets(to_centers(anchors), to_centers(matched)) - means) / stds
    mask = jnp.broadcast_to(counts, targets.shape).astype(targets.dtype)
    return jnp.where(counts, targets, 0), mask


@op("_contrib_box_decode", one_dtype=True, differentiable=False, in_amp_lists=False)
def box_decode(
    data,
    anchors,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Format = "center",
):
    """Boxes, as corners, from the offsets that a network predicts.

    Args:
        data: offsets, ``(batch, n, 4)``.
        anchors: ``(1, n, 4)``, as ``format`` says.
        std0: what the first offset was divided by; ``std1`` to ``std3`` for the others.
        clip: most that the exponent of a size may be; no limit if negative.
        format: form of the anchors.

    Raises:
        ShapeError: the last axis of ``data`` or ``anchors`` is not of 4 numbers.

    Source: MXNet operator ``_contrib_box_decode``.
    """
    of_four("_contrib_box_decode", "data", data.shape, 3)
    of_four("_contrib_box_decode", "anchors", anchors.shape, 3)
    centers = to_centers(anchors) if format == "corner" else anchors
    scaled = data * jnp.array([std0, std1, std2, std3], data.dtype)
    return to_corners(placed(centers, scaled, clip))


def placed(anchors: jax.Array, predicted: jax.Array, most: float = -1.0) -> Any:
    """The opposite of :func:`offsets`, all by center and size.

    Args:
        anchors: ``(..., 4)``.
        predicted: offsets, ``(..., 4)``.
        most: limit of the exponents of the sizes, none if not positive.
    """
    powers = jnp.minimum(predicted[..., 2:], most) if most > 0 else predicted[..., 2:]
    sizes = anchors[..., 2:]
    return jnp.concatenate(
        [anchors[..., :2] + predicted[..., :2] * sizes, jnp.exp(powers) * sizes], -1
    )


@op("_contrib_bipartite_matching", outputs=2, differentiable=False)
def bipartite_matching(data, *, is_ascend: bool = False, threshold: float, topk: int = -1):
    """Rows and columns paired greedily, the best score of those still free first.

    Args:
        data: scores, ``(..., rows, columns)``.
        is_ascend: low scores are good ones.
        threshold: a pair needs a score beyond it.
        topk: pairs after which one more is made, the last; no limit if not positive.

    Returns:
        The column of each row, ``(..., rows)``, and the row of each column, ``(..., columns)``;
        -1 where there is none.

    Raises:
        DTypeError: the scores are not floating-point numbers.
        ShapeError: there are fewer than two axes.

    Source: MXNet operator ``_contrib_bipartite_matching``.
    """
    floating("_contrib_bipartite_matching", data)
    if data.ndim < 2:
        raise ShapeError(
            f"_contrib_bipartite_matching: data {data.shape} needs two axes: rows and columns."
        )
    rows, columns = data.shape[-2:]
    # MXNet stops only when there are more pairs than topk.
    most = min(rows, columns) if topk <= 0 else min(rows, columns, topk + 1)
    goodness = (-data if is_ascend else data).reshape(-1, rows, columns)
    least = -threshold if is_ascend else threshold

    def pair(scores: jax.Array) -> Any:
        pairs = match(scores, least, most)
        return [each.astype(data.dtype) for each in pairs]

    of_rows, of_columns = jax.vmap(pair)(goodness)
    head = data.shape[:-2]
    return of_rows.reshape(*head, rows), of_columns.reshape(*head, columns)


def match(scores: jax.Array, least: float, most: int) -> tuple[Any, Any]:
    """Greedy pairs of the rows and columns of ``scores``, high scores first.

    Returns:
        Column of each row and row of each column, -1 for none.
    """
    rows, columns = scores.shape

    def step(_: object, state: jax.Array) -> Any:
        of_rows, of_columns = state
        free = (of_rows < 0)[:, None] & (of_columns < 0)
        best = jnp.argmax(jnp.where(free, scores, -jnp.inf))
        i, j = best // columns, best % columns
        good = free[i, j] & (scores[i, j] > least)
        return (
            of_rows.at[i].set(jnp.where(good, j, of_rows[i])),
            of_columns.at[j].set(jnp.where(good, i, of_columns[j])),
        )

    start = jnp.full(rows, -1, jnp.int64), jnp.full(columns, -1, jnp.int64)
    pairs: tuple[Any, Any] = loops.fori_loop(0, most, step, start)
    return pairs
