"""Statistics of an array: range, spread, non-finite values, and its first values."""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 24
FIRST = 6
BLOCK = 1 << 13  # values that fit into a core's cache as float64


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
    finite, low, high = _finite(flat)
    nans = int(np.isnan(flat).sum()) if finite.size < flat.size else 0
    facts: list[float | None] = [None] * 5
    bins: list[int] = []
    with np.errstate(all="ignore"):  # sums of large values may overflow: the result says so
        if finite.size:
            facts, bins = _facts(finite, low, high)
    first = [_short(each) for each in flat[:FIRST].tolist()]
    return [*map(_short, facts), nans, int(flat.size - finite.size - nans), bins, first]


def _finite(flat: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The finite values, the least and the largest; the array itself, not a copy, where all are."""
    if not flat.size:
        return flat, 0.0, 0.0
    low, high = float(flat.min()), float(flat.max())
    if np.isfinite(low) and np.isfinite(high):
        return flat, low, high
    finite = flat[np.isfinite(flat)]
    if not finite.size:
        return finite, 0.0, 0.0
    return finite, float(finite.min()), float(finite.max())


def _facts(finite: np.ndarray, low: float, high: float) -> tuple[list[float | None], list[int]]:
    """Range, mean, standard deviation, share of zeros, and bins.

    They are computed block by block: a copy of a large array in float64 would cost more than all of
    the arithmetic. Sums are those of the distances from the least value. That costs no digits: the
    least value alone contributes (mean - least)² / size to the variance.
    """
    size = finite.size
    width = high - low
    spread = high > low and bool(np.isfinite(width))
    counts = np.zeros(BINS + 1, np.int64)
    total = squares = 0.0
    zeros = 0
    distances, squared = np.empty((2, min(size, BLOCK)))
    places = np.empty(min(size, BLOCK), np.int32)
    for start in range(0, size, BLOCK):
        block = finite[start : start + BLOCK]
        far, near = distances[: block.size], squared[: block.size]
        zeros += int(np.count_nonzero(block == 0))
        np.subtract(block, low, out=far, dtype="float64")
        total += float(far.sum())
        squares += float(np.square(far, out=near).sum())
        if spread:
            place = places[: block.size]
            np.multiply(np.divide(far, width, out=near), BINS, out=near)
            np.copyto(place, near, casting="unsafe")
            counts += np.bincount(place, minlength=BINS + 1)
    mean = total / size
    deviation = max(squares / size - mean * mean, 0.0) ** 0.5
    counts[-2] += counts[-1]  # the largest value
    facts = [low, high, low + mean, deviation, zeros / size]
    return list(facts), counts[:-1].tolist() if spread else []


def _short(number: float | None) -> float | str | None:
    """Three digits, the most that a view shows, as JSON takes them; what is not finite as text."""
    if number is None:
        return None
    return float(f"{number:.3g}") if np.isfinite(number) else str(float(number))
