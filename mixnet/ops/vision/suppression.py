"""Non-maximum suppression: of overlapping boxes, the one with the best score remains."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.control import loops
from mixnet.ops.registry import op
from mixnet.ops.tracing.step import as_step
from mixnet.ops.vision.boxes import Format, areas, floating, overlaps, to_centers, to_corners

# Boxes that are decided at once: the overlaps of so many with all boxes are in memory at a time.
_TILE = 128


@as_step("survivors", lambda candidates, boxes, **_: (candidates.shape, bool), stacks=True)
def _survivors(candidates: jax.Array, boxes: jax.Array, **rule: Any) -> Any:
    def of_one(candidates: jax.Array, boxes: jax.Array) -> Any:
        return _survivors_of_one(candidates, boxes, **rule)

    return jax.vmap(of_one)(candidates, boxes) if candidates.ndim > 1 else of_one(candidates, boxes)


def survivors(
    candidates: jax.Array,
    corners: jax.Array,
    classes: jax.Array | None = None,
    *,
    threshold: float,
    inclusive: bool = False,
    pixel: int = 0,
    sizes: jax.Array | None = None,
) -> Any:
    """Which boxes stay when each, best first, removes the later ones that it overlaps.

    Args:
        candidates: ``(n,)``, False for boxes that neither stay nor remove.
        corners: ``(n, 4)``, the best first.
        classes: ``(n,)``; boxes of different classes do not compete.
        threshold: intersection over union above which the later box goes.
        inclusive: it goes at the threshold, too.
        pixel: as in ``areas``.
        sizes: ``(n,)``, areas of the boxes, if not those of their corners.

    Returns:
        ``(n,)`` of booleans.
    """
    by_class = classes is not None
    sizes = areas(corners, pixel=pixel) if sizes is None else sizes
    columns = [corners, sizes[:, None], *([] if classes is None else [classes[:, None]])]
    boxes = jnp.concatenate(columns, -1)
    rule = {"threshold": float(threshold), "inclusive": inclusive, "pixel": pixel}
    return _survivors(candidates, boxes, by_class=by_class, **rule)


def _survivors_of_one(
    candidates: jax.Array,
    boxes: jax.Array,
    *,
    threshold: float,
    inclusive: bool,
    pixel: int,
    by_class: bool,
) -> Any:
    def clashes(some: jax.Array, every: jax.Array) -> Any:
        shared = overlaps(some[:, :4], every[:, :4], some[:, 4], every[:, 4], pixel)
        beaten = shared >= threshold if inclusive else shared > threshold
        return beaten & (some[:, None, 5] == every[None, :, 5]) if by_class else beaten

    count = candidates.shape[0]
    tile = min(_TILE, count)
    short = -count % tile
    keep = jnp.pad(candidates, (0, short))
    boxes = jnp.pad(boxes, ((0, short), (0, 0)))
    place = jnp.arange(count + short)
    # Boxes after the last candidate need no look; the trip count follows from the data.
    last = jnp.max(jnp.where(keep, place, -1))

    def settle(state: jax.Array) -> Any:
        first, keep = state
        beats = clashes(jax.lax.dynamic_slice_in_dim(boxes, first, tile), boxes)
        within = jnp.triu(jax.lax.dynamic_slice_in_dim(beats, first, tile, 1), 1)
        open_ = jax.lax.dynamic_slice_in_dim(keep, first, tile)

        # Within a tile a box stays if no earlier one that stays beats it. Repeating that rule from
        # any start ends in its only solution: the first k boxes are right after k rounds.
        def change(pair: Any) -> Any:
            return pair[1], open_ & ~jnp.any(within & pair[1][:, None], 0)

        _, stay = loops.while_loop(
            lambda pair: jnp.any(pair[0] != pair[1]), change, change((open_, open_))
        )
        later = place >= first + tile
        keep = keep & ~(later & jnp.any(beats & stay[:, None], 0))
        return first + tile, jax.lax.dynamic_update_slice_in_dim(keep, stay, first, 0)

    _, keep = loops.while_loop(
        lambda state: state[0] <= last, settle, (jnp.zeros((), place.dtype), keep)
    )
    return keep[:count]


@op(
    "_contrib_box_nms",
    aliases=["_contrib_box_non_maximum_suppression"],
    output_names=("output0", "output1"),  # MXNet keeps a second one to itself,
    precision="widest",
)
def box_nms(
    data,
    *,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Format = "corner",
    out_format: Format = "corner",
):
    """Boxes in order of decreasing score, without those that overlap a better one; the other rows are -1.

    Args:
        data: ``(..., boxes, width)``: a row has the box, its score and perhaps its class.
        overlap_thresh: intersection over union from which on the worse box is removed.
        valid_thresh: boxes whose score is not above it are removed.
        topk: boxes, best first, that are considered; all if negative.
        coord_start: place of the box's four numbers in the row.
        score_index: place of the score.
        id_index: place of the class; boxes of different classes do not compete. -1: no class.
        background_id: class whose boxes are removed, as are those of class -1 with the default.
        force_suppress: boxes of different classes compete too.
        in_format: form of the boxes in ``data``.
        out_format: form of the boxes in the result.

    Raises:
        AttributeValueError: a place does not exist in a row, or two places overlap.
        DTypeError: data are not floating-point numbers.
        ShapeError: data have fewer than two axes.

    Source: MXNet operator ``_contrib_box_nms``.
    """
    _check_places(data, coord_start, score_index, id_index)
    count, width = data.shape[-2:]
    by_class = id_index >= 0 and not force_suppress
    looked = count if topk <= 0 else min(topk, count)
    box = slice(coord_start, coord_start + 4)

    def chosen(rows: jax.Array) -> Any:
        """The rows that stay, in order, and which of these places are taken."""
        scores = rows[:, score_index]
        valid = scores > valid_thresh
        if id_index >= 0:
            valid = valid & (rows[:, id_index] != background_id)
        order = jnp.argsort(jnp.where(valid, -scores, jnp.inf))[:looked]
        corners = rows[:, box] if in_format == "corner" else to_corners(rows[:, box])
        sizes = areas(rows[:, box], in_format)[order]
        classes = rows[order, id_index] if by_class else None
        keep = survivors(
            valid[order], corners[order], classes, threshold=overlap_thresh, sizes=sizes
        )
        front = jnp.argsort(~keep)
        return order[front], keep[front]

    batch = data.reshape(-1, count, width)
    places, selected = jax.vmap(chosen)(jax.lax.stop_gradient(batch))
    sorted_rows = jnp.take_along_axis(batch, places[..., None], 1)
    if in_format != out_format:
        convert = to_centers if out_format == "center" else to_corners
        # MXNet's gradient passes the numbers of a box as they are, whatever their form.
        moved = jax.lax.stop_gradient(convert(sorted_rows[..., box]) - sorted_rows[..., box])
        sorted_rows = sorted_rows.at[..., box].add(moved)
    sorted_rows = jnp.where(selected[..., None], sorted_rows, -1)
    rest = ((0, 0), (0, count - looked), (0, 0))
    return jnp.pad(sorted_rows, rest, constant_values=-1).reshape(data.shape)


def _check_places(data: jax.Array, coord_start: int, score_index: int, id_index: int) -> None:
    if data.ndim < 2:
        raise ShapeError(f"_contrib_box_nms: data {data.shape} needs two axes: boxes and a row.")
    floating("_contrib_box_nms", data)
    width = data.shape[-1]
    if not 0 <= coord_start <= width - 4:
        raise OperatorValueError(
            f"_contrib_box_nms: coord_start={coord_start} and the three places after it must lie "
            f"in rows of {width}."
        )
    if id_index == score_index:
        raise OperatorValueError(
            f"_contrib_box_nms: id_index={id_index} and score_index={score_index} must differ."
        )
    for name, place, optional in (
        ("score_index", score_index, False),
        ("id_index", id_index, True),
    ):
        if optional and place < 0:
            continue
        if not 0 <= place < width or coord_start <= place < coord_start + 4:
            raise OperatorValueError(
                f"_contrib_box_nms: {name}={place} must lie in rows of {width}, outside the box "
                f"at {coord_start} to {coord_start + 3}."
            )
