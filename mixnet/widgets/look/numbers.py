"""Statistics of an array: range, spread, non-finite values, and its first values."""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 24
FIRST = 6
BLOCK = 1 << 14  # values that fit into a core's cache as float64


def numbers(array: np.ndarray) -> list[Any]:
    """A row for an array of any shape and of a dtype of numbers.

    Returns:
        ``[least, largest, mean, standard deviation, share of zeros, NaNs, infinities, bins,
        first values]``; the bins count finite values between the least and the largest. Three
        digits; None where there is no number.
    """
    flat = np.ravel(np.asarray(array))
    if flat.dtype.kind not in "biuf":
        flat = flat.astype("float32")
    finite = _finite(flat)
    nans = int(np.isnan(flat).sum()) if finite.size < flat.size else 0
    with np.errstate(all="ignore"):  # sums of large values may overflow: the result says so
        facts, bins = _facts(finite) if finite.size else ([None] * 5, [])
    first = [_short(each) for each in flat[:FIRST].tolist()]
    return [*map(_short, facts), nans, int(flat.size - finite.size - nans), bins, first]


def _finite(flat: np.ndarray) -> np.ndarray:
    """The finite values; the array itself, not a copy, where all are."""
    if not flat.size or (np.isfinite(flat.min()) and np.isfinite(flat.max())):
        return flat
    return flat[np.isfinite(flat)]


def _facts(finite: np.ndarray) -> tuple[list[float | None], list[int]]:
    """Range, mean, standard deviation, share of zeros, and bins.

    They are computed block by block: a copy of a large array in float64 would cost more than all of
    the arithmetic.
    """
    size = finite.size
    low, high = float(finite.min()), float(finite.max())
    mean = float(finite.mean(dtype="float64"))
    width = high - low
    spread = high > low and bool(np.isfinite(width))
    counts = np.zeros(BINS, np.int64)
    squares = 0.0
    for start in range(0, size, BLOCK):
        block = finite[start : start + BLOCK].astype("float64")
        if spread:
            places = ((block - low) / width * BINS).astype(np.int64)
            counts += np.bincount(np.minimum(places, BINS - 1), minlength=BINS)
        squares += float(np.square(block - mean).sum())
    zeros = (size - np.count_nonzero(finite)) / size
    return [low, high, mean, (squares / size) ** 0.5, zeros], counts.tolist() if spread else []


def _short(number: float | None) -> float | str | None:
    """Three digits, the most that a view shows, as JSON takes them; what is not finite as text."""
    if number is None:
        return None
    return float(f"{number:.3g}") if np.isfinite(number) else str(float(number))
