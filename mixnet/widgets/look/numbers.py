"""Statistics of an array: range, spread, non-finite values, and its first values."""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 24
FIRST = 6


def numbers(array: np.ndarray) -> list[Any]:
    """A row for an array of any shape and of a dtype of numbers.

    Returns:
        ``[least, largest, mean, standard deviation, share of zeros, NaNs, infinities, bins,
        first values]``; the bins count finite values between the least and the largest. Four
        digits; None where there is no number.
    """
    flat = np.ravel(np.asarray(array))
    if flat.dtype.kind not in "biuf":
        flat = flat.astype("float32")
    finite = flat[np.isfinite(flat)].astype("float64")
    nans = int(np.isnan(flat).sum())
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        spread = high > low and np.isfinite(high - low)
        bins = np.histogram(finite, BINS, (low, high))[0].tolist() if spread else []
        facts = [low, high, float(finite.mean()), float(finite.std()), float((finite == 0).mean())]
    else:
        facts, bins = [None] * 5, []  # type: ignore[list-item]
    first = [_short(each) for each in flat[:FIRST].tolist()]
    return [*map(_short, facts), nans, int(flat.size - finite.size - nans), bins, first]


def _short(number: float | None) -> float | str | None:
    """Three digits, the most that a view shows, as JSON takes them; what is not finite as text."""
    if number is None:
        return None
    return float(f"{number:.3g}") if np.isfinite(number) else str(float(number))
