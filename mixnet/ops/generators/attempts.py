"""Gamma and Poisson numbers as MXNet draws them on a CPU: by attempts, until one is accepted.

How many words an attempt takes depends on what it draws, so where the next number begins is known only once
the one before is drawn. Here numbers are computed from every place at which one could begin, all at once,
and those at which MXNet's generators arrive are picked then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

_BEHIND = 4  # places after the last word of a row, where attempts find no numbers
_LARGE = 12  # mean from which on a Poisson number is drawn by rejection
_PI = np.float32(3.1415926)
_SINGLE = np.dtype(np.float32)
_FEWEST = 32  # uniform numbers that are peeked at, at least
_EACH = 5  # of them for a number that is still to be drawn


class Uniforms(NamedTuple):
    """The next uniform numbers of several generators.

    Args:
        numbers: a row for each generator, one after another, with filling between them.
        width: of a row, filling included.
    """

    numbers: np.ndarray
    width: int

    def end(self, places: np.ndarray) -> np.ndarray:
        """For each place, the one behind the last number of its row."""
        ends: np.ndarray = places - places % self.width + self.width - _BEHIND
        return ends


class Draw(Protocol):
    """Draws numbers that begin at different places."""

    def __call__(
        self, uniforms: Uniforms, places: np.ndarray, *parameters: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """The numbers, and the places behind them; these are beyond the row's end if it is too short.

        Args:
            uniforms: drawn from.
            places: where each number begins.
            parameters: of the distribution; each one number, or one for each place.
        """


class Source(Protocol):
    """Generators that draw in parallel."""

    def peek(self, first: int, end: int, count: int) -> np.ndarray:
        """The next words, without consuming them."""

    def skip(self, first: int, end: int, counts: np.ndarray) -> None:
        """Consume words that were peeked at."""


def drawn(
    draw: Draw,
    parameters: Sequence[Any],
    source: Source,
    rows: tuple[int, int],
    shape: tuple[int, int],
    uniform: Callable[[np.ndarray, np.dtype], np.ndarray],
    most: int,
    dtype: np.dtype,
) -> np.ndarray:
    """The next numbers of generators.

    Args:
        draw: draws one number.
        parameters: of the distribution; each one number, or an array of ``shape``.
        source: the generators.
        rows: number of the first of these generators, and one more than that of the last.
        shape: number of generators, and of numbers that each draws.
        uniform: makes uniform numbers from words.
        most: number of words that can be peeked at.
        dtype: of the uniform numbers.
    """
    numbers = np.empty(shape, dtype)
    done = np.zeros(shape[0], np.int64)
    words = dtype.itemsize // 4
    vary = any(np.ndim(each) for each in parameters)
    while (missing := shape[1] - int(done.min())) > 0:
        tries = min(_EACH * missing + _FEWEST, most // words)
        uniforms = _looked_at(uniform(source.peek(*rows, tries * words).reshape(-1), dtype), tries)
        start = np.arange(shape[0]) * uniforms.width
        place = start.copy()
        if not vary:
            begins = (start[:, None] + np.arange(tries)).reshape(-1)
            all_numbers, all_ends = _from_everywhere(draw, uniforms, begins, parameters)
        live = np.flatnonzero(done < shape[1])
        while live.size:
            at = place[live]
            if vary:
                open_parameters = [
                    each[live, done[live]] if np.ndim(each) else each for each in parameters
                ]
                new, end = draw(uniforms, at, *open_parameters)
            else:
                new, end = all_numbers[at], all_ends[at]
            whole = end <= uniforms.end(at)
            if not whole.all():
                live, new, end = live[whole], new[whole], end[whole]
            numbers[live, done[live]] = new
            place[live] = end
            done[live] += 1
            live = live[(done[live] < shape[1]) & (end < start[live] + tries)]
        source.skip(*rows, (place - start) * words)
    return numbers


def _looked_at(numbers: np.ndarray, count: int) -> Uniforms:
    rows = np.full((len(numbers) // count, count + _BEHIND), np.nan, numbers.dtype)
    rows[:, :count] = numbers.reshape(-1, count)
    return Uniforms(rows.reshape(-1), count + _BEHIND)


def _from_everywhere(
    draw: Draw, uniforms: Uniforms, begins: np.ndarray, parameters: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and ends by the place where a number begins."""
    new, end = draw(uniforms, begins, *parameters)
    numbers = np.empty(len(uniforms.numbers), new.dtype)
    ends = np.empty(len(uniforms.numbers), np.int64)
    numbers[begins], ends[begins] = new, end
    return numbers, ends


def gamma(
    uniforms: Uniforms, places: np.ndarray, alpha: Any, beta: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Gamma numbers of shape ``alpha`` and scale ``beta``, by the method of Marsaglia and Tsang (2000).

    An attempt takes pairs of uniform numbers for one normal number by the polar method, and one more for the
    decision. A shape below 1 takes another one at the end.
    """
    numbers, dtype = uniforms.numbers, uniforms.numbers.dtype
    alpha, beta, small, third, width, slope = _of_gamma(alpha, beta, dtype, places.shape)
    # Of what is negative or infinite there is nothing to draw.
    drawn = np.where(alpha < 0, np.nan, alpha).astype(dtype)
    waits = (alpha >= 0) & np.isfinite(alpha)
    place, last = places.copy(), uniforms.end(places)
    active = np.flatnonzero(waits)
    while active.size:
        normal, good = _normal(numbers, place[active])
        place[active] += 2
        tried, normal = _above(active[good], normal, -width[active[good]])
        cube = _cube(normal, slope[tried])
        level = np.log(1 - _exactly(numbers[place[tried]]))
        place[tried] += 1
        accepted = level < _bound(normal, cube, third[tried])
        passed = tried[accepted]
        drawn[passed] = third[passed] * cube[accepted] * beta[passed]
        waits[passed] = False
        active = active[waits[active] & (place[active] < last[active])]
    place[waits] = last[waits] + 1
    less = np.flatnonzero(small & (place > places) & ~waits)
    with np.errstate(divide="ignore"):
        power = _exactly(numbers[place[less]]) ** _exactly(1 / alpha[less])
    drawn[less] = _exactly(drawn[less]) * power
    place[less] += 1
    return drawn, place


def _of_gamma(
    alpha: Any, beta: Any, dtype: np.dtype, shape: tuple[int, ...]
) -> tuple[np.ndarray, ...]:
    """What an attempt needs, for each place."""
    alpha = np.asarray(alpha, dtype)
    exact = _exactly(alpha)
    small = alpha < 1
    third = np.where(small, exact + 2 / 3, exact - 1 / 3).astype(dtype)
    width = np.sqrt(9 * _exactly(third)).astype(dtype)
    every = (alpha, np.asarray(beta, dtype), small, third, width, 1 / width)
    return tuple(np.broadcast_to(each, shape) for each in every)


def _exactly(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.float64)


def _normal(numbers: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers of the pairs within the circle, and which pairs these are."""
    x, y = 2 * numbers[places] - 1, 2 * numbers[places + 1] - 1
    square = x * x + y * y
    good = (square <= 1) & (square != 0)
    square = square[good]
    scale = np.log(_exactly(square)).astype(numbers.dtype) * -2 / square
    return y[good] * np.sqrt(scale), good


def _above(
    places: np.ndarray, numbers: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    good = numbers > limits
    return places[good], numbers[good]


def _cube(normal: np.ndarray, slope: np.ndarray) -> np.ndarray:
    root = 1 + slope * normal
    cube: np.ndarray = root * root * root
    return cube


def _bound(normal: np.ndarray, cube: np.ndarray, third: np.ndarray) -> np.ndarray:
    """What the logarithm of a uniform number must be below, for a gamma number to be accepted."""
    normal, cube, third = _exactly(normal), _exactly(cube), _exactly(third)
    bound: np.ndarray = 0.5 * normal * normal + third * (1 - cube + np.log(cube))
    return bound


def poisson(uniforms: Uniforms, places: np.ndarray, mean: Any) -> tuple[np.ndarray, np.ndarray]:
    """Poisson numbers: small ones by products of uniform numbers, large ones by rejection.

    Source: Press et al., "Numerical Recipes in C", second edition, section 7.3.
    """
    mean = np.broadcast_to(np.asarray(mean, np.float32), places.shape)
    drawn, ends = np.empty(len(places), np.float32), np.empty(len(places), np.int64)
    is_large = mean >= _LARGE
    for which, draw in ((~is_large, _by_products), (is_large, _by_rejection)):
        if which.any():
            drawn[which], ends[which] = draw(uniforms, places[which], mean[which])
    return drawn, ends


def _by_products(
    uniforms: Uniforms, places: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    limit = np.exp(-_exactly(mean)).astype(np.float32)
    product = uniforms.numbers[places].astype(np.float32)
    place = places + 1
    active = np.flatnonzero(product > limit)
    while active.size:
        product[active] *= uniforms.numbers[place[active]]
        place[active] += 1
        active = active[product[active] > limit[active]]
    return (place - places - 1).astype(np.float32), place


def _by_rejection(
    uniforms: Uniforms, places: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    width = np.sqrt(2 * mean)
    logarithm = np.log(_exactly(mean)).astype(np.float32)
    peak = mean * logarithm - _log_gamma(mean + 1)
    drawn, waits = mean.copy(), np.isfinite(mean)
    place, last = places.copy(), uniforms.end(places)
    active = np.flatnonzero(waits)
    while active.size:
        turn = _PI * uniforms.numbers[place[active]].astype(np.float32)
        slope = np.tan(_exactly(turn)).astype(np.float32)
        place[active] += 1
        number = np.floor(width[active] * slope + mean[active])
        # A number below 0 is drawn again, without a decision.
        tried = active[number >= 0]
        slope, number = slope[number >= 0], number[number >= 0]
        level = number * logarithm[tried] - _log_gamma(number + 1) - peak[tried]
        ratio = 0.9 * _exactly(1 + slope * slope) * np.exp(_exactly(level))
        accepted = uniforms.numbers[place[tried]] <= ratio.astype(np.float32)
        place[tried] += 1
        drawn[tried[accepted]] = number[accepted]
        waits[tried[accepted]] = False
        active = active[waits[active] & (place[active] < last[active])]
    place[waits] = last[waits] + 1
    return drawn, place


_FACTORIALS = np.array([math.log(math.factorial(each)) for each in range(7)], np.float32)


def _log_gamma(numbers: np.ndarray) -> np.ndarray:
    """The logarithm of the gamma function, from 8 on by Stirling's series, of whole numbers below.

    In single precision, as in the C library: for large numbers its rounding decides what is accepted.
    """
    near = numbers < len(_FACTORIALS) + 1
    x = np.where(near, np.float32(8), numbers)
    inverse = 1 / x
    square = inverse * inverse
    series = np.float32(1 / 12) + square * (np.float32(-1 / 360) + square * np.float32(1 / 1260))
    series = np.float32(0.5 * math.log(2 * math.pi) - 0.5) + inverse * series
    logarithm = np.log(_exactly(x)).astype(np.float32)
    far = (x - np.float32(0.5)) * (logarithm - 1) + series
    places = np.clip(np.where(near, numbers, 1) - 1, 0, len(_FACTORIALS) - 1).astype(np.int64)
    return np.where(near, _FACTORIALS[places], far)


def negative_binomial(
    uniforms: Uniforms, places: np.ndarray, k: Any, p: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Failures before success number ``k`` of probability ``p``."""
    p = np.asarray(p, np.float32)
    with np.errstate(divide="ignore"):  # of probability 0: infinitely many failures
        odds = (1 - p) / p
    return _mixed(uniforms, places, k, odds)


def generalized_negative_binomial(
    uniforms: Uniforms, places: np.ndarray, mu: Any, alpha: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of mean ``mu`` and variance ``mu + alpha mu²``."""
    mu, alpha = np.asarray(mu, np.float32), np.asarray(alpha, np.float32)
    with np.errstate(divide="ignore"):
        return _mixed(uniforms, places, 1 / alpha, np.where(alpha == 0, mu, alpha * mu))


def _mixed(
    uniforms: Uniforms, places: np.ndarray, alpha: Any, beta: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Poisson numbers whose means are gamma numbers, or ``beta`` where ``alpha`` is infinite."""
    alpha = np.broadcast_to(np.asarray(alpha, np.float32), places.shape)
    drawn = np.broadcast_to(np.asarray(beta, np.float32), places.shape).copy()
    place, last = places.copy(), uniforms.end(places)
    spread = np.flatnonzero(alpha != np.inf)
    drawn[spread], place[spread] = gamma(uniforms, places[spread], alpha[spread], drawn[spread])
    whole = place < last
    drawn[whole], place[whole] = poisson(uniforms, place[whole], drawn[whole])
    place[~whole] = last[~whole] + 1
    return drawn, place


def gamma_in_rounds(
    count: int,
    alpha: Any,
    scale: Any,
    uniform: Callable[[int], np.ndarray],
    normal: Callable[[int], np.ndarray],
    dtype: np.dtype,
) -> np.ndarray:
    """Gamma numbers of the single generator: each round draws for all, used or not, in float64.

    Args:
        count: of numbers.
        alpha: their shape, or one for each.
        scale: their scale, or one for each.
        uniform: draws uniform numbers.
        normal: draws normal numbers.
        dtype: of the numbers.
    """
    alpha, _, small, third, width, slope = _of_gamma(alpha, 1, np.dtype(np.float64), (count,))
    # Infinite and NaN shapes are returned as they are: no attempt would be accepted, and MXNet never ends.
    drawn, missing = alpha.copy(), np.flatnonzero(np.isfinite(alpha))
    while missing.size:
        chance, further = uniform(2 * count).reshape(-1, 2)[missing].T
        tried, z = _above(missing, normal(count)[missing], -width[missing])
        good = np.isin(missing, tried, assume_unique=True)
        chance, further = chance[good], further[good]
        cube = _cube(z, slope[tried])
        accepted = np.log(chance) < _bound(z, cube, third[tried])
        passed = tried[accepted]
        number = third[passed] * cube[accepted]
        power = _single_power(further[accepted], 1 / alpha[passed])
        drawn[passed] = np.where(small[passed], number * power, number)
        missing = np.setdiff1d(missing, passed, assume_unique=True)
    samples: np.ndarray = (drawn * scale).astype(dtype)
    return samples


def _single_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """A power of single precision, as exactly as the C library computes it."""
    power = _exactly(base.astype(np.float32)) ** _exactly(exponent.astype(np.float32))
    rounded: np.ndarray = power.astype(np.float32)
    return rounded
