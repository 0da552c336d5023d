"""Calibration: choose the clipping range of floats that preserves the most information in few bits."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.control import loops
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Positive
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.shape_constraints import two_numbers

_SMOOTH = 1e-4
"""What an empty bin gets, taken evenly from the others, so that a divergence is finite."""


def _smoothed(counts: jax.Array, inside: Any) -> Any:
    """Counts as probabilities without zeros; NaN where they cannot be made so."""
    empty = inside & (counts == 0)
    filled = inside & (counts != 0)
    share = _SMOOTH * empty.sum() / filled.sum()
    smooth = jnp.where(empty, _SMOOTH, jnp.where(filled, counts - share, 0))
    return jnp.where(share < 1, smooth / smooth.sum(), jnp.nan)


def _check(hist: tuple[int, ...], edges: tuple[int, ...], quantized: int) -> None:
    if len(hist) != 1 or edges != (hist[0] + 1,):
        raise ShapeError(
            f"contrib.calibrate_entropy: hist is {hist} and hist_edges {edges}; "
            f"give (bins,) and (bins + 1,)."
        )
    if not 0 < quantized <= hist[0]:
        raise OperatorValueError(
            f"contrib.calibrate_entropy: num_quantized_bins={quantized} must be between 1 "
            f"and the {hist[0]} bins of hist."
        )


@op(
    "_contrib_calibrate_entropy",
    shape_constraint=two_numbers,
    outputs=2,
    output_names=("threshold", "divergence"),
    dtypes=Dtypes(accepts={"hist": ("float32",), "hist_edges": ("float32",)}),
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
    _check(hist.shape, hist_edges.shape, num_quantized_bins)
    bins = hist.size
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


@calibrate_entropy.infer_outputs
def _(hist, hist_edges, *, num_quantized_bins):
    _check(hist[0], hist_edges[0], num_quantized_bins)
    return [((1,), np.dtype(np.float32))] * 2


def calibrate_entropy_on_host(
    hist: np.ndarray, hist_edges: np.ndarray, *, num_quantized_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same with NumPy, which reads the bins inside of each threshold alone, and compiles nothing."""
    counts = hist.astype(np.float64)
    totals = np.concatenate([[0], np.cumsum(counts)])
    filled = np.concatenate([[0], np.cumsum(counts != 0)])
    best, threshold = np.inf, 0
    with np.errstate(divide="ignore", invalid="ignore"):
        for reach in range(num_quantized_bins // 2, hist.size // 2 + 1):
            start = hist.size // 2 - reach
            stop = min(hist.size // 2 + reach + 1, hist.size)
            lost = _divergence(counts, totals, filled, start, stop, num_quantized_bins)
            lost = lost if np.isfinite(lost) else float(np.finfo(np.float32).max)
            if lost < best:
                best, threshold = lost, stop
    return hist_edges[threshold : threshold + 1].astype(np.float32), np.array([best], np.float32)


def _divergence(
    counts: np.ndarray,
    totals: np.ndarray,
    filled: np.ndarray,
    start: int,
    stop: int,
    quantized: int,
) -> float:
    """Of the bins from ``start`` to ``stop``; sums of counts and of filled bins before each bin are known."""
    cut = counts[start:stop].copy()
    cut[0] += totals[start]
    cut[-1] += totals[-1] - totals[stop]
    merged = (stop - start) // quantized
    first = start + np.arange(quantized) * merged
    last = np.append(first[1:], stop)
    widths = last - first
    first[0] += 1  # MXNet leaves the first bin out of the sums
    number = filled[last] - filled[first]
    level = np.where(number > 0, (totals[last] - totals[first]) / np.maximum(number, 1), 0)
    levels = np.where(cut != 0, np.repeat(level, widths), 0)
    one, two = _smoothed_on_host(cut), _smoothed_on_host(levels)
    return float(np.sum(one * np.log(one / two)))


def _smoothed_on_host(counts: np.ndarray) -> Any:
    empty = counts == 0
    number = np.count_nonzero(empty)
    share = np.float64(_SMOOTH * number) / (counts.size - number)
    if not share < 1:
        return np.nan
    smooth = np.where(empty, _SMOOTH, counts - share)
    return smooth / smooth.sum()
