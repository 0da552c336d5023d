"""The single-shot detector: anchors, training targets, and detection."""

from __future__ import annotations

import math
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.ranges import Length, Range
from mixnet.ops.vision.boxes import (
    areas,
    match,
    of_four,
    offsets,
    overlaps,
    placed,
    to_centers,
    to_corners,
)
from mixnet.ops.vision.suppression import survivors

Numbers = Annotated[tuple[float, ...], Length(1, math.inf)]
Ratios = Annotated[tuple[float, ...], Length(1, math.inf), Range(above=0)]
Variances = Annotated[tuple[float, ...], Length(4)]

_VARIANCES = (0.1, 0.1, 0.2, 0.2)


@op(
    "_contrib_MultiBoxPrior",
    aliases=["_npx_multibox_prior"],
    floats=True,
    booleans=False,
    differentiable=False,
    precision="full",
    bfloat16="widest",
)
def multibox_prior(
    data,
    *,
    sizes: Numbers = (1.0,),
    ratios: Ratios = (1.0,),
    clip: bool = False,
    steps: Annotated[tuple[float, ...], Length(2)] = (-1.0, -1.0),
    offsets: Annotated[tuple[float, ...], Length(2), Range(0, 1)] = (0.5, 0.5),
):
    """Anchors around every element of a feature map: all sizes, then the other ratios.

    Args:
        data: the map, ``(batch, channels, height, width)``; only its shape is read.
        sizes: heights of the anchors; their shape has the first ratio.
        ratios: width to height; those after the first are made at the first size.
        clip: cut the anchors at the picture's border.
        steps: height and width of an element; the picture over the map's shape if negative.
        offsets: where in an element, down and across, the center is.

    Returns:
        Corners, the picture being from 0 to 1:
        ``(1, height * width * (len(sizes) + len(ratios) - 1), 4)``.

    Raises:
        AttributeValueError: there is no size or ratio, or steps or offsets are not two.
        ShapeError: data have fewer than four axes.

    Source: MXNet operator ``_contrib_MultiBoxPrior``.
    """
    name = "_contrib_MultiBoxPrior"
    if data.ndim < 4:
        raise ShapeError(
            f"{name}: data {data.shape} must have four axes: batch, channels, height, width."
        )
    height, width = data.shape[2:4]
    down, across = (s if s > 0 else 1 / n for s, n in zip(steps, (height, width), strict=True))
    y = (np.arange(height) + offsets[0]) * down
    x = (np.arange(width) + offsets[1]) * across
    shapes = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
    # Sizes are a share of the height; the width's share depends on the map's shape.
    half = np.array([(s * height / width * r**0.5, s / r**0.5) for s, r in shapes]) / 2
    middle = np.stack(np.broadcast_arrays(x, y[:, None]), -1)[:, :, None]
    anchors = np.concatenate([middle - half, middle + half], -1).reshape(1, -1, 4)
    if clip:
        anchors = np.clip(anchors, 0, 1)
    return jnp.asarray(anchors, data.dtype)


@op(
    "_contrib_MultiBoxTarget",
    aliases=["_npx_multibox_target"],
    outputs=3,
    output_names=("loc_target", "loc_mask", "cls_target"),
    floats=True,
    booleans=False,
    differentiable=False,
    precision="full",
    bfloat16="widest",
)
def multibox_target(
    anchor,
    label,
    cls_pred,
    *,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: Variances = _VARIANCES,
):
    """What each anchor should predict, from the true boxes of a picture.

    Every true box gets the anchor that overlaps it most, pair after pair; a free anchor then takes
    the box it overlaps most, if enough. The other anchors are background, all of them or those that
    the classifier finds hardest.

    Args:
        anchor: corners, ``(1, anchors, 4)``.
        label: ``(batch, boxes, 5 or more)``: class, corners; class -1 ends a picture's list.
        cls_pred: scores before softmax, ``(batch, classes + 1, anchors)``, background first.
        overlap_threshold: intersection over union from which on a free anchor takes a box.
        ignore_label: class target of anchors that are not learnt from.
        negative_mining_ratio: background anchors for each one with a box; all if not positive.
        negative_mining_thresh: most that a mined background anchor may overlap a box.
        minimum_negative_samples: accepted and ignored, as in MXNet.
        variances: what the four offsets are divided by.

    Returns:
        Offsets ``(batch, anchors * 4)``, their mask of the same shape, and the class plus one (0
        for background) ``(batch, anchors)``.

    Raises:
        AttributeValueError: variances are not four.
        ShapeError: shapes do not fit together.

    Source: MXNet operator ``_contrib_MultiBoxTarget``.
    """
    name = "_contrib_MultiBoxTarget"
    of_four(name, "anchor", anchor.shape, 3)
    anchors = anchor.reshape(-1, 4)
    count = anchors.shape[0]
    if label.ndim != 3 or label.shape[2] < 5:
        raise ShapeError(f"{name}: label {label.shape} must be (batch, boxes, 5 or more).")
    if cls_pred.ndim != 3 or cls_pred.shape[::2] != (label.shape[0], count):
        raise ShapeError(
            f"{name}: cls_pred {cls_pred.shape} must be (batch, classes, anchors), here "
            f"({label.shape[0]}, classes, {count})."
        )

    def picture(rows: jax.Array, scores: jax.Array) -> Any:
        real = jnp.cumprod(rows[:, 0] != -1).astype(bool)
        truth = rows[:, 1:5]
        shared = jnp.where(real, overlaps(anchors, truth, areas(anchors), areas(truth)), -1)
        # An overlap of nothing is no reason for a pair.
        paired, _ = match(shared, 1e-6, min(shared.shape))
        best, nearest = shared.max(1), shared.argmax(1)
        matched = paired >= 0
        if overlap_threshold > 0:
            matched = matched | (best > overlap_threshold)
        chosen = rows[jnp.where(paired >= 0, paired, nearest)]
        if negative_mining_ratio > 0:
            empty = _hardest(scores, ~matched & (best < negative_mining_thresh), matched.sum())
        else:
            empty = ~matched
        any_box = real[0]
        matched, empty = matched & any_box, empty & any_box
        targets = offsets(to_centers(anchors), to_centers(chosen[:, 1:5]))
        targets = targets / jnp.array(variances, targets.dtype)
        mask = jnp.broadcast_to(matched[:, None], targets.shape)
        classes = jnp.where(empty, 0, ignore_label)
        return (
            jnp.where(mask, targets, 0).reshape(-1),
            mask.astype(targets.dtype).reshape(-1),
            jnp.where(matched, chosen[:, 0] + 1, classes).astype(targets.dtype),
        )

    def _hardest(scores: jax.Array, candidates: jax.Array, positives: jax.Array) -> Any:
        """Candidates that the classifier gives the least probability of background."""
        count = jnp.floor(positives * negative_mining_ratio).astype(jnp.int64)
        background = jax.nn.softmax(scores, 0)[0]
        order = jnp.argsort(jnp.where(candidates, background, jnp.inf))
        rank = jnp.argsort(order)
        return candidates & (rank < count)

    return jax.vmap(picture)(label, cls_pred)


@op(
    "_contrib_MultiBoxDetection",
    aliases=["_npx_multibox_detection"],
    floats=True,
    booleans=False,
    differentiable=False,
    precision="full",
    bfloat16="widest",
)
def multibox_detection(
    cls_prob,
    loc_pred,
    anchor,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Variances = _VARIANCES,
    nms_topk: int = -1,
):
    """The boxes that a detector finds, best first, each overlapping no better one of its class.

    Args:
        cls_prob: ``(batch, classes + 1, anchors)``, background first.
        loc_pred: offsets, ``(batch, anchors * 4)``.
        anchor: corners, ``(1, anchors, 4)``.
        clip: cut the boxes at the picture's border.
        threshold: smallest probability of a box.
        background_id: accepted and ignored, as in MXNet: the first class is the background.
        nms_threshold: intersection over union from which on the worse box is removed; outside of
            0 to 1 none is, and the boxes stay in the order of the anchors.
        force_suppress: boxes of different classes compete too.
        variances: what the four offsets are multiplied by.
        nms_topk: boxes, best first, that compete; all if not positive.

    Returns:
        Rows of class, probability and corners, ``(batch, anchors, 6)``. The class is -1 in unused
        rows.

    Raises:
        AttributeValueError: variances are not four.
        ShapeError: shapes do not fit together.

    Source: MXNet operator ``_contrib_MultiBoxDetection``.
    """
    name = "_contrib_MultiBoxDetection"
    of_four(name, "anchor", anchor.shape, 3)
    if cls_prob.ndim != 3:
        raise ShapeError(f"{name}: cls_prob {cls_prob.shape} must be (batch, classes, anchors).")
    count = cls_prob.shape[2]
    if loc_pred.shape != (cls_prob.shape[0], count * 4) or anchor.shape[1] != count:
        raise ShapeError(
            f"{name}: cls_prob {cls_prob.shape} has {count} anchors; loc_pred must be "
            f"({cls_prob.shape[0]}, {count * 4}), not {loc_pred.shape}, and anchor (1, {count}, 4),"
            f" not {anchor.shape}."
        )
    if not cls_prob.shape[0]:
        return jnp.zeros((0, count, 6), cls_prob.dtype)
    looked = min(nms_topk, count) if nms_topk > 0 else count

    def picture(scores: jax.Array, predicted: jax.Array) -> Any:
        best = scores[1:].max(0)
        is_object = best >= threshold
        scaled = predicted.reshape(-1, 4) * jnp.array(variances, predicted.dtype)
        boxes = to_corners(placed(to_centers(anchor[0]), scaled))
        if clip:
            boxes = jnp.clip(boxes, 0, 1)
        classes = scores[1:].argmax(0).astype(scores.dtype)
        rows = jnp.concatenate([classes[:, None], best[:, None], boxes], -1)
        # Rows that are not among the best keep the order of the anchors, in MXNet.
        front = jnp.argsort(~is_object)
        plain = jnp.where(is_object[front, None], rows[front], -1)
        if not 0 < nms_threshold <= 1:
            return plain
        order = jnp.argsort(jnp.where(is_object, -best, jnp.inf))
        near = jnp.arange(count) < looked
        rows = jnp.where(near[:, None], jnp.where(is_object[order, None], rows[order], -1), plain)
        stay = survivors(
            near & is_object[order],
            rows[:, 2:],
            None if force_suppress else rows[:, 0],
            threshold=nms_threshold,
            inclusive=True,
        )
        return rows.at[:, 0].set(jnp.where(stay, rows[:, 0], -1))

    return jax.vmap(picture)(cls_prob, loc_pred)
