"""Calibration: choose the clipping range of floats that preserves the most information in few bits."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.control import loops
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Positive

_SMOOTH = 1e-4
"""What an empty bin gets, taken evenly from the others, so that a divergence is finite."""


def _smoothed(counts: jax.Array, inside: Any) -> Any:
    """Counts as probabilities without zeros; NaN where they cannot be made so."""
    empty = inside & (counts == 0)
    filled = inside & (counts != 0)
    share = _SMOOTH * empty.sum() / filled.sum()
    smooth = jnp.where(empty, _SMOOTH, jnp.where(filled, counts - share, 0))
    return jnp.where(share < 1, smooth / smooth.sum(), jnp.nan)


@op(
    "_contrib_calibrate_entropy",
    outputs=2,
    output_names=("threshold", "divergence"),
    differentiable=False,
    in_amp_lists=False,
)
def calibrate_entropy(hist, hist_edges, *, num_quantized_bins: Positive = 255):
    """The threshold whose quantized histogram diverges least from the clipped one.

    A threshold clips equally many bins on both sides, which are counted in the outermost bins
    that remain. The clipped histogram is approximated by ``num_quantized_bins`` numbers; the
    divergence is that of Kullback and Leibler.

    Args:
        hist: counts of bins that are symmetric about 0, ``(bins,)``.
        hist_edges: edges of the bins, ``(bins + 1,)``.
        num_quantized_bins: how many numbers the integers have.

    Returns:
        The threshold and its divergence, float32 ``(1,)`` each.

    Raises:
        ShapeError: the edges do not fit the bins.
        AttributeValueError: there are fewer bins than quantized ones.

    Source: MXNet operator ``_contrib_calibrate_entropy``; Migacz, 2017.
    """
    bins = hist.size
    if hist.ndim != 1 or hist_edges.shape != (bins + 1,):
        raise ShapeError(
            f"contrib.calibrate_entropy: hist is {hist.shape} and hist_edges {hist_edges.shape}; "
            f"give (bins,) and (bins + 1,)."
        )
    if not 0 < num_quantized_bins <= bins:
        raise OperatorValueError(
            f"contrib.calibrate_entropy: num_quantized_bins={num_quantized_bins} must be between 1 "
            f"and the {bins} bins of hist."
        )
    counts = hist.astype(jnp.float64)
    zero = jnp.zeros(1)
    # Sums over any run of bins are differences of these.
    totals = jnp.concatenate([zero, jnp.cumsum(counts)])
    places = jnp.arange(bins)
    groups = jnp.arange(num_quantized_bins)
    filled = jnp.concatenate([zero, jnp.cumsum(counts != 0)])

    def divergence(reach: Any) -> tuple[Any, Any]:
        start, stop = bins // 2 - reach, jnp.minimum(bins // 2 + reach + 1, bins)
        inside = (places >= start) & (places < stop)
        cut = jnp.where(inside, counts, 0)
        cut = cut.at[start].add(totals[start]).at[stop - 1].add(totals[bins] - totals[stop])
        merged = (stop - start) // num_quantized_bins
        # MXNet leaves the first bin out of the sums.
        first = jnp.where(groups == 0, start + 1, start + groups * merged)
        last = jnp.append(start + groups[1:] * merged, stop)
        number = filled[last] - filled[first]
        level = jnp.where(number > 0, (totals[last] - totals[first]) / jnp.maximum(number, 1), 0)
        group = jnp.clip((places - start) // merged, 0, num_quantized_bins - 1)
        levels = jnp.where(inside & (cut != 0), level[group], 0)
        one, two = _smoothed(cut, inside), _smoothed(levels, inside)
        total = jnp.sum(jnp.where(inside, one * jnp.log(one / two), 0))
        return jnp.where(jnp.isfinite(total), total, jnp.finfo(jnp.float32).max), stop

    reaches = jnp.arange(num_quantized_bins // 2, bins // 2 + 1)
    divergences, stops = loops.map_rows(divergence, reaches, batch_size=32)
    best = jnp.argmin(divergences)
    threshold = hist_edges[stops[best]]
    return tuple(each.astype(jnp.float32).reshape((1,)) for each in (threshold, divergences[best]))
