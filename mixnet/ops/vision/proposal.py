"""Region proposals: candidate boxes of a two-stage detector, from a feature map."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Count
from mixnet.ops.schema.ranges import Range
from mixnet.ops.vision.suppression import survivors


def _outputs(output_score: bool) -> int:
    return 2 if output_score else 1


def _anchors(stride: int, scales: Any, ratios: Any) -> np.ndarray:
    """Corners of the anchors of the first element, all scales of a ratio after each other."""
    area, middle = stride * stride, (stride - 1) / 2
    anchors = []
    for ratio in ratios:
        # Sides are whole numbers of pixels before they are scaled.
        width = np.floor(np.sqrt(np.floor(area / ratio)) + 0.5)
        height = np.floor(width * ratio + 0.5)
        for scale in scales:
            x, y = (width * scale - 1) / 2, (height * scale - 1) / 2
            anchors.append([middle - x, middle - y, middle + x, middle + y])
    return np.array(anchors)


def _moved(anchors: jax.Array, deltas: jax.Array) -> Any:
    """Anchors moved by offsets of their center and logarithms of their size, in pixels."""
    size = anchors[:, 2:] - anchors[:, :2] + 1
    center = anchors[:, :2] + (size - 1) / 2 + deltas[:, :2] * size
    half = (jnp.exp(deltas[:, 2:]) * size - 1) / 2
    return jnp.concatenate([center - half, center + half], -1)


def _propose(
    scores: jax.Array,
    deltas: jax.Array,
    info: jax.Array,
    pre: int,
    post: int,
    threshold: float,
    min_size: int,
    anchors: np.ndarray,
    stride: int,
    iou_loss: bool,
) -> tuple[Any, Any]:
    """Boxes ``(post, 4)`` and scores ``(post,)`` of one picture."""
    count, height, width = scores.shape
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    shift = np.stack([x, y, x, y], -1)[:, :, None] * stride
    every = jnp.asarray((shift + anchors).reshape(-1, 4), deltas.dtype)
    moves = deltas.reshape(count, 4, height, width).transpose(2, 3, 0, 1).reshape(-1, 4)
    boxes = every + moves if iou_loss else _moved(every, moves)
    edge = jnp.stack([info[1], info[0], info[1], info[0]]) - 1
    boxes = jnp.maximum(jnp.minimum(boxes, edge), 0)  # 0 where a picture has no extent
    # A map may be larger than its picture, where pictures of a batch were padded to one shape.
    outside = (x >= jnp.floor(info[1] / stride)) | (y >= jnp.floor(info[0] / stride))
    values = jnp.where(outside, -1, scores).transpose(1, 2, 0).reshape(-1)
    least = min_size * info[2]
    sides = boxes[:, 2:] - boxes[:, :2] + 1
    small = (sides < least).any(-1)
    grown = boxes + jnp.array([-0.5, -0.5, 0.5, 0.5], boxes.dtype) * least
    boxes = jnp.where(small[:, None], grown, boxes)
    values = jnp.where(small, -1, values)
    looked = len(values) if pre <= 0 else min(pre, len(values))
    order = jnp.argsort(-values)[:looked]
    boxes, values = boxes[order], values[order]
    keep = survivors(jnp.ones(looked, bool), boxes, threshold=threshold, pixel=1)
    front = jnp.argsort(~keep)
    # Too few proposals are repeated from the first on.
    place = front[jnp.arange(post) % jnp.minimum(keep.sum(), post)]
    return boxes[place], values[place]


def _numbered(boxes: Any) -> Any:
    """Boxes of each image as one list, ``(batch * count, 5)``: the number of the image before each."""
    number = jnp.arange(boxes.shape[0], dtype=boxes.dtype)[:, None, None]
    number = jnp.broadcast_to(number, (*boxes.shape[:2], 1))
    return jnp.concatenate([number, boxes], -1).reshape(-1, 5)


def _proposal(name: str, text: str, check: Callable[[int], None]) -> None:
    def proposal(
        cls_prob,
        bbox_pred,
        im_info,
        *,
        rpn_pre_nms_top_n: int = 6000,
        rpn_post_nms_top_n: Count = 300,
        threshold: float = 0.7,
        rpn_min_size: int = 16,
        scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0),
        ratios: Annotated[tuple[float, ...], Range(above=0)] = (0.5, 1.0, 2.0),
        feature_stride: int = 16,
        output_score: bool = False,
        iou_loss: bool = False,
    ):
        batch, _, height, width = cls_prob.shape
        count = len(scales) * len(ratios)
        check(batch)
        expected = (batch, 2 * count, height, width), (batch, 4 * count, height, width), (batch, 3)
        shapes = cls_prob.shape, bbox_pred.shape, im_info.shape
        if shapes != expected:
            raise ShapeError(
                f"{name}: {len(scales)} scales and {len(ratios)} ratios are {count} anchors, for "
                f"which cls_prob, bbox_pred and im_info must be {expected}, not {shapes}."
            )
        propose = functools.partial(
            _propose,
            pre=rpn_pre_nms_top_n,
            post=rpn_post_nms_top_n,
            threshold=threshold,
            min_size=rpn_min_size,
            anchors=_anchors(feature_stride, scales, ratios),
            stride=feature_stride,
            iou_loss=iou_loss,
        )
        boxes, values = jax.vmap(propose)(cls_prob[:, count:], bbox_pred, im_info)
        return (_numbered(boxes), values.reshape(-1, 1)) if output_score else _numbered(boxes)

    proposal.__doc__ = _DOCUMENTATION.format(name=name, text=text)
    declared = op(
        name,
        outputs=_outputs,
        output_names=("output", "score"),
        floats=True,
        differentiable=False,
        precision="widest",
    )(proposal)

    @declared.infer_inputs
    def _(cls_prob):
        batch, channels, *picture = cls_prob
        return {"bbox_pred": (batch, 2 * channels, *picture), "im_info": (batch, 3)}


_DOCUMENTATION = """{text}

Anchors of every element of a feature map are moved and scaled as the network predicts and cut at
the picture's border; those that overlap a better one are removed.

Args:
    cls_prob: ``(batch, 2 * anchors, height, width)``, background before objects.
    bbox_pred: offsets, ``(batch, 4 * anchors, height, width)``.
    im_info: height, width and scale of each picture, ``(batch, 3)``.
    rpn_pre_nms_top_n: boxes, best first, that are considered; all if not positive.
    rpn_post_nms_top_n: boxes of a picture in the result.
    threshold: intersection over union from which on the worse box is removed.
    rpn_min_size: smallest side of a box before the picture was scaled; smaller ones come last.
    scales: sides of the anchors in strides.
    ratios: heights of the anchors to their widths.
    feature_stride: pixels of the picture between elements of the map.
    output_score: whether the scores are a second output.
    iou_loss: the offsets are those of the corners, in pixels.

Returns:
    Rows of picture and corners, ``(batch * rpn_post_nms_top_n, 5)``; the scores have one
    column. If there are too few boxes, they are repeated.

Raises:
    ShapeError: shapes do not fit the number of anchors.

Source: MXNet operator ``{name}``.
"""


def _only_one(batch: int) -> None:
    if batch != 1:
        raise ShapeError(
            f"_contrib_Proposal takes one image, not {batch}; use contrib.MultiProposal."
        )


_proposal("_contrib_Proposal", "Boxes of one picture that may have an object.", _only_one)
_proposal(
    "_contrib_MultiProposal", "Boxes of each picture that may have an object.", lambda batch: None
)
