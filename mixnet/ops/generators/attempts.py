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

from mixnet.process.locks import cached_property

_BEHIND = 4  # places after the last word of a row, where attempts find no numbers
_LARGE = 12  # mean from which on a Poisson number is drawn by rejection
_PI = np.float32(3.1415926)
_SINGLE = np.dtype(np.float32)
_FEWEST = 32  # uniform numbers that are peeked at, at least
_EACH = 5  # of them for a number that is still to be drawn
_TABULATED = 1 << 16  # attempts up to which every number is drawn from everywhere


class Uniforms:
    """The next uniform numbers of several generators.

    Args:
        numbers: a row for each generator, one after another, with filling between them.
        width: of a row, filling included.
    """

    def __init__(self, numbers: np.ndarray, width: int):
        self.numbers = numbers
        self.width = width

    @cached_property
    def attempts(self) -> Attempts:
        """What attempts at a gamma number draw from each place."""
        return Attempts.of(self.numbers)

    def end(self, places: np.ndarray) -> np.ndarray:
        """For each place, the one behind the last number of its row."""
        ends: np.ndarray = places - places % self.width + self.width - _BEHIND
        return ends


class Attempts(NamedTuple):
    """What attempts at a gamma number draw, whatever its parameters are.

    Args:
        first: for each place, that of the next pair within the circle in steps of two; a place beyond the
            row's end if there is none.
        normal: the normal number of each such pair.
        level: the logarithm of each uniform number, subtracted from 1, which decides.
    """

    first: np.ndarray
    normal: np.ndarray
    level: np.ndarray

    @classmethod
    def of(cls, numbers: np.ndarray) -> Attempts:
        """From uniform numbers.

        Args:
            numbers: rows with filling between them.
        """
        count = len(numbers)
        x = 2 * numbers - 1
        square = x * x
        square = square[:-1] + square[1:]
        good = np.flatnonzero((square <= 1) & (square != 0))
        square = square[good]
        scale = np.log(_exactly(square)).astype(numbers.dtype) * -2 / square
        normal = np.empty_like(numbers)
        normal[good] = x[1:][good] * np.sqrt(scale)
        # From behind, so that the least is the next; no pair: behind the last row.
        first = np.full(count + count % 2, count + _BEHIND)
        first[good] = good
        for which in (first[::2], first[1::2]):
            which[::-1] = np.minimum.accumulate(which[::-1])
        return cls(first, normal, np.log(1 - _exactly(numbers)))


class Draw(NamedTuple):
    """Draws numbers that begin at different places.

    Args:
        derive: called once with the dtype of the uniform numbers and the parameters of the distribution,
            each one number or an array; what it returns is computed element by element.
        draw: called with uniform numbers, the place where each number begins, and what ``derive`` returned,
            each one number or one for each place. It returns the numbers, and the places behind them; these
            are beyond the row's end if it is too short.
    """

    derive: Callable[..., tuple[Any, ...]]
    draw: Callable[..., tuple[np.ndarray, np.ndarray]]


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
    derived = draw.derive(dtype, *parameters)
    while (missing := shape[1] - int(done.min())) > 0:
        tries = min(_EACH * missing + _FEWEST, most // words)
        uniforms = _looked_at(uniform(source.peek(*rows, tries * words).reshape(-1), dtype), tries)
        start = np.arange(shape[0]) * uniforms.width
        place = start.copy()
        next_numbers = _next_numbers(draw, derived, uniforms, done.copy(), missing, tries)
        live = np.flatnonzero(done < shape[1])
        while live.size:
            new, end = next_numbers(live, done[live], place[live])
            whole = end <= uniforms.end(place[live])
            if not whole.all():
                live, new, end = live[whole], new[whole], end[whole]
            numbers[live, done[live]] = new
            place[live] = end
            done[live] += 1
            live = live[(done[live] < shape[1]) & (end < start[live] + tries)]
        source.skip(*rows, (place - start) * words)
    return numbers


def _next_numbers(
    draw: Draw,
    derived: Sequence[Any],
    uniforms: Uniforms,
    done: np.ndarray,
    missing: int,
    tries: int,
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A function of rows, of how many numbers each has, and of places: the next numbers, and their ends.

    Args:
        draw: draws one number.
        derived: from the parameters.
        uniforms: drawn from.
        done: how many numbers each row has.
        missing: how many a row needs, at most.
        tries: the uniform numbers of a row.
    """
    varying = [each for each in derived if np.ndim(each)]
    begins = np.arange(tries) + (np.arange(len(done)) * uniforms.width)[:, None]
    if not varying:
        alike = draw.draw(uniforms, begins.reshape(-1), *derived)
        return lambda rows, done, places: _at(alike, places - rows * _BEHIND)
    if begins.size * missing > _TABULATED:
        return lambda rows, done, places: draw.draw(
            uniforms, places, *[each[rows, done] if np.ndim(each) else each for each in derived]
        )
    # Of the number that a row draws next, of the one behind it, and so on.
    which = np.minimum(done[:, None] + np.arange(missing), varying[0].shape[1] - 1)
    own = [
        np.repeat(np.take_along_axis(each, which, 1), tries) if np.ndim(each) else each
        for each in derived
    ]
    table = draw.draw(uniforms, np.repeat(begins, missing, 0).reshape(-1), *own)

    def tabulated(
        rows: np.ndarray, number: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        first = (rows * missing + number - done[rows]) * tries
        return _at(table, first + places - rows * uniforms.width)

    return tabulated


def _at(drawn: tuple[np.ndarray, np.ndarray], places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    numbers, ends = drawn
    return numbers[places], ends[places]


def _looked_at(numbers: np.ndarray, count: int) -> Uniforms:
    rows = np.full((len(numbers) // count, count + _BEHIND), np.nan, numbers.dtype)
    rows[:, :count] = numbers.reshape(-1, count)
    return Uniforms(rows.reshape(-1), count + _BEHIND)


def _of_gamma(dtype: np.dtype, alpha: Any, beta: Any) -> tuple[Any, ...]:
    """What an attempt at a gamma number of shape ``alpha`` and scale ``beta`` needs."""
    alpha = np.asarray(alpha, dtype)
    exact = _exactly(alpha)
    small = alpha < 1
    third = np.where(small, exact + 2 / 3, exact - 1 / 3).astype(dtype)
    width = np.sqrt(9 * _exactly(third)).astype(dtype)
    return alpha, np.asarray(beta, dtype), small, third, width, 1 / width


def _gamma(
    uniforms: Uniforms, places: np.ndarray, *derived: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gamma numbers, by the method of Marsaglia and Tsang (2000).

    An attempt takes pairs of uniform numbers for one normal number by the polar method, and one more for the
    decision. A shape below 1 takes another one at the end.
    """
    numbers, attempts = uniforms.numbers, uniforms.attempts
    alpha, beta, small, third, width, slope = (
        each if each.shape else np.broadcast_to(each, places.shape) for each in derived
    )
    # Of what is negative or infinite there is nothing to draw.
    drawn = np.where(alpha < 0, np.nan, alpha).astype(numbers.dtype)
    waits = (alpha >= 0) & np.isfinite(alpha)
    place, last = places.copy(), uniforms.end(places)
    active = np.flatnonzero(waits)
    while active.size:
        at = attempts.first[place[active]]
        active, at = _where(at < last[active], active, at)
        normal = attempts.normal[at]
        place[active] = at + 2
        tried, at, normal = _where(normal > -width[active], active, at, normal)
        cube = _cube(normal, slope[tried])
        place[tried] = at + 3
        accepted = attempts.level[at + 2] < _bound(normal, cube, third[tried])
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


def _where(good: np.ndarray, *arrays: np.ndarray) -> Sequence[np.ndarray]:
    """The elements of arrays where something holds."""
    return arrays if good.all() else [each[good] for each in arrays]


def _exactly(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.float64)


def _cube(normal: np.ndarray, slope: np.ndarray) -> np.ndarray:
    root = 1 + slope * normal
    cube: np.ndarray = root * root * root
    return cube


def _bound(normal: np.ndarray, cube: np.ndarray, third: np.ndarray) -> np.ndarray:
    """What the logarithm of a uniform number must be below, for a gamma number to be accepted."""
    normal, cube, third = _exactly(normal), _exactly(cube), _exactly(third)
    bound: np.ndarray = 0.5 * normal * normal + third * (1 - cube + np.log(cube))
    return bound


def _of_poisson(_: np.dtype, mean: Any) -> tuple[Any, ...]:
    return (np.asarray(mean, np.float32),)


def _poisson(
    uniforms: Uniforms, places: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Poisson numbers: small ones by products of uniform numbers, large ones by rejection.

    Source: Press et al., "Numerical Recipes in C", second edition, section 7.3.
    """
    mean = np.broadcast_to(mean, places.shape)
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


def _of_negative_binomial(_: np.dtype, k: Any, p: Any) -> tuple[Any, ...]:
    """Failures before success number ``k`` of probability ``p``."""
    p = np.asarray(p, np.float32)
    with np.errstate(divide="ignore"):  # of probability 0: infinitely many failures
        odds = (1 - p) / p
    return np.asarray(k, np.float32), odds


def _of_generalized_negative_binomial(_: np.dtype, mu: Any, alpha: Any) -> tuple[Any, ...]:
    """Counts of mean ``mu`` and variance ``mu + alpha mu²``."""
    mu, alpha = np.asarray(mu, np.float32), np.asarray(alpha, np.float32)
    with np.errstate(divide="ignore"):
        return 1 / alpha, np.where(alpha == 0, mu, alpha * mu)


def _mixed(
    uniforms: Uniforms, places: np.ndarray, alpha: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Poisson numbers whose means are gamma numbers, or ``beta`` where ``alpha`` is infinite."""
    alpha = np.broadcast_to(alpha, places.shape)
    drawn = np.broadcast_to(beta, places.shape).copy()
    place, last = places.copy(), uniforms.end(places)
    spread = np.flatnonzero(alpha != np.inf)
    of_gamma = _of_gamma(uniforms.numbers.dtype, alpha[spread], drawn[spread])
    drawn[spread], place[spread] = _gamma(uniforms, places[spread], *of_gamma)
    whole = place < last
    drawn[whole], place[whole] = _poisson(uniforms, place[whole], drawn[whole])
    place[~whole] = last[~whole] + 1
    return drawn, place


GAMMA = Draw(_of_gamma, _gamma)
POISSON = Draw(_of_poisson, _poisson)
NEGATIVE_BINOMIAL = Draw(_of_negative_binomial, _mixed)
GENERALIZED_NEGATIVE_BINOMIAL = Draw(_of_generalized_negative_binomial, _mixed)


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
    alpha, _, small, third, width, slope = (
        np.broadcast_to(each, (count,)) for each in _of_gamma(np.dtype(np.float64), alpha, 1)
    )
    # Infinite and NaN shapes are returned as they are: no attempt would be accepted, and MXNet never ends.
    drawn, missing = alpha.copy(), np.flatnonzero(np.isfinite(alpha))
    while missing.size:
        chance, further = uniform(2 * count).reshape(-1, 2)[missing].T
        z = normal(count)[missing]
        tried, z = _where(z > -width[missing], missing, z)
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
