"""Check that a random number generator samples from the expected distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mixnet.base import AttributeValueError
from mixnet.ndarray.ndarray import NDArray

Generator = Callable[[int], Any]


def _drawn(generator: Generator, count: int) -> np.ndarray:
    samples = generator(count)
    return np.array(samples.asnumpy() if isinstance(samples, NDArray) else samples)


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Intervals that a distribution hits equally often.

    Args:
        ppf: its quantile function, such as ``lambda q: scipy.stats.norm.ppf(q, 0, 1)``.
        nbuckets: how many.

    Returns:
        The intervals, and the probability of each.

    Raises:
        AssertionError: ``nbuckets`` is not positive.
    """
    assert nbuckets > 0, f"nbuckets={nbuckets} is not positive."
    probability = 1.0 / nbuckets
    ends = [
        (float(ppf(probability * i)), float(ppf(probability * (i + 1)))) for i in range(nbuckets)
    ]
    return ends, [probability] * nbuckets


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the mean of drawn numbers is within three standard errors of ``mu``.

    Args:
        generator: from a count to that many numbers.
        mu: expected mean.
        sigma: standard deviation of the distribution.
        nsamples: how many are drawn.
    """
    mean = _drawn(generator, nsamples).mean()
    error = sigma / np.sqrt(nsamples)
    return bool(mu - 3 * error < mean < mu + 3 * error)


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance of drawn numbers is within three standard errors of ``sigma`` squared.

    Args:
        generator: from a count to that many numbers.
        sigma: expected standard deviation; the error is that of a normal distribution.
        nsamples: how many are drawn.
    """
    variance = _drawn(generator, nsamples).var(ddof=1)
    expected = sigma**2
    error = np.sqrt(2 * sigma**4 / (nsamples - 1))
    return bool(expected - 3 * error < variance < expected + 3 * error)


def chi_square_check(
    generator: Generator, buckets: Sequence[Any], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, np.ndarray, np.ndarray]:
    """Pearson's chi-square test of drawn numbers against a distribution.

    Args:
        generator: from a count to that many numbers.
        buckets: intervals (low, high) of a continuous distribution, or the values of a discrete one.
        probs: probability of each.
        nsamples: how many are drawn.

    Returns:
        The probability of a difference as large as this by chance, the counts, the expected counts.

    Raises:
        AssertionError: ``buckets`` is no list.
        ValueError: as many numbers are not in the buckets as their probabilities say.
    """
    import scipy.stats

    assert isinstance(buckets, list), f"buckets must be a list, not {type(buckets).__name__}."
    assert len(probs) == len(buckets), f"{len(probs)} probabilities for {len(buckets)} buckets."
    samples = _drawn(generator, nsamples).reshape(-1)
    expected = (len(samples) * np.array(probs, np.float64)).astype(np.int32)
    if isinstance(buckets[0], (list, tuple)):
        edges = [buckets[0][0], *[high for _, high in buckets]]
        places = np.searchsorted(edges, samples, side="right") - 1
        counts = np.bincount(
            places[(places >= 0) & (places < len(buckets))], minlength=len(buckets)
        )
    else:
        counts = np.array([np.count_nonzero(samples == each) for each in buckets])
    if abs(int(counts.sum()) - int(expected.sum())) > len(buckets):
        raise AttributeValueError(
            f"chi_square_check: {counts.sum()} of {len(samples)} numbers are in the buckets, where "
            f"{expected.sum()} are expected. Give buckets for all values, with probabilities whose sum is 1."
        )
    # The test wants equal sums: what whole numbers leave of the expected counts is spread again.
    weights = np.array(expected, np.float64)
    total = weights.sum()
    scaled = weights * (counts.sum() / total) if total else weights
    _, probability = scipy.stats.chisquare(f_obs=counts, f_exp=scaled)
    return float(probability), counts, expected


def verify_generator(
    generator: Generator,
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Repeat ``chi_square_check`` and raise if too few of the tests pass.

    Args:
        generator: from a count to that many numbers.
        buckets: intervals or values, see ``chi_square_check``.
        probs: probability of each.
        nsamples: how many are drawn, a test.
        nrepeat: how many tests.
        success_rate: share of them that must pass.
        alpha: a test passes with a probability above this.

    Returns:
        The probabilities.

    Raises:
        AssertionError: fewer tests passed.
    """
    checks = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    chances = [each[0] for each in checks]
    passed = sum(each > alpha for each in chances)
    if passed < nrepeat * success_rate:
        raise AssertionError(
            f"Generator test fails, Chi-square p={chances}, obs_freq={[e[1] for e in checks]}, "
            f"expected_freq={[e[2] for e in checks]}.\nbuckets={buckets}, probs={probs}"
        )
    return chances
