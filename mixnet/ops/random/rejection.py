"""Gamma and Poisson numbers by rejection sampling, in rounds over whole arrays.

Every round draws a candidate for each element, and an element keeps the first that is accepted;
the key of a round follows from its number. So an element does not depend on the others, and the
same steps serve the interpreter, which has no loop for each element, and the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mixnet.ops.control import loops

_LARGE = 10.0
"""Mean from which on Poisson numbers are drawn by rejection, and below by inversion."""
_MOST = 150
"""More than a Poisson number of a mean below ``_LARGE`` can be, with 53 bits of a uniform number."""


def standard_gamma(key: jax.Array, alpha: jax.Array, shape: Sequence[int], dtype: DTypeLike) -> Any:
    """Gamma numbers of shape ``alpha`` and scale 1; NaN where ``alpha`` is negative.

    Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    """
    alpha = jnp.broadcast_to(alpha, shape).astype(dtype)
    first, second = jax.random.split(key)
    boosted = jnp.where(alpha < 1, alpha + 1, alpha)
    third = boosted - 1 / 3
    slope = 1 / jnp.sqrt(9 * third)

    def candidate(key: jax.Array) -> tuple[Any, Any]:
        ahead, behind = jax.random.split(key)
        x = jax.random.normal(ahead, shape, dtype)
        cube = (1 + slope * x) ** 3
        level = jnp.log1p(-jax.random.uniform(behind, shape, dtype))
        logarithm = jnp.log(jnp.where(cube > 0, cube, 1))
        accepted = (cube > 0) & (level < x * x / 2 + third * (1 - cube + logarithm))
        return third * cube, accepted

    # Shape 0 has only zeros; of what is negative or infinite there is nothing to draw.
    fixed = jnp.where(alpha < 0, jnp.nan, alpha)
    numbers = _first_accepted(first, candidate, fixed, (alpha > 0) & jnp.isfinite(alpha))
    share = jnp.log1p(-jax.random.uniform(second, shape, dtype)) / jnp.where(alpha > 0, alpha, 1)
    return jnp.where((alpha > 0) & (alpha < 1), numbers * jnp.exp(share), numbers)


def poisson(key: jax.Array, mean: jax.Array, shape: Sequence[int], dtype: DTypeLike) -> Any:
    """Poisson numbers; NaN where ``mean`` is negative.

    Source: Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
    """
    mean = jnp.broadcast_to(mean, shape).astype(jnp.float64)
    first, second = jax.random.split(key)
    fixed = jnp.where(mean < 0, jnp.nan, mean)
    small = _inverted(first, jnp.where(mean < _LARGE, mean, 0), shape)
    large = _transformed(second, mean, fixed, shape, dtype)
    return jnp.where((mean >= 0) & (mean < _LARGE), small, large).astype(dtype)


def _inverted(key: jax.Array, mean: jax.Array, shape: Sequence[int]) -> Any:
    """The numbers at which the distribution function passes uniform numbers."""
    level = jax.random.uniform(key, shape, jnp.float64)
    start = jnp.exp(-mean)

    def further(state: jax.Array) -> Any:
        count, number, term, total = state
        beyond = level > total
        term = term * mean / (count + 1)
        return count + 1, jnp.where(beyond, count + 1, number), term, total + term

    def unfinished(state: jax.Array) -> Any:
        count, _, _, total = state
        return (count < _MOST) & jnp.any(level > total)

    zero = jnp.zeros(shape, jnp.float64)
    return loops.while_loop(unfinished, further, (jnp.float64(0), zero, start, start))[1]


def _transformed(
    key: jax.Array, mean: jax.Array, fixed: Any, shape: Sequence[int], dtype: DTypeLike
) -> Any:
    """Numbers of means from ``_LARGE`` on; ``fixed`` elsewhere."""
    drawn = (mean >= _LARGE) & jnp.isfinite(mean)
    mean = jnp.where(drawn, mean, _LARGE).astype(dtype)
    b = 0.931 + 2.53 * jnp.sqrt(mean)
    a = -0.059 + 0.02483 * b
    scale = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)

    def candidate(key: jax.Array) -> tuple[Any, Any]:
        ahead, behind = jax.random.split(key)
        u = jax.random.uniform(ahead, shape, dtype) - 0.5
        v = 1 - jax.random.uniform(behind, shape, dtype)
        inside = 0.5 - jnp.abs(u)
        away = jnp.where(inside > 0, inside, 1)
        number = jnp.floor((2 * a / away + b) * u + mean + 0.43)
        level = jnp.log(v * scale / (a / (away * away) + b))
        under = level <= _log_probability(jnp.maximum(number, 0), mean)
        surely = (inside >= 0.07) & (v <= squeeze)
        never = (number < 0) | (inside <= 0) | ((inside < 0.013) & (v > inside))
        return number, surely | (under & ~never)

    return _first_accepted(key, candidate, fixed, drawn)


def _log_probability(number: jax.Array, mean: jax.Array) -> Any:
    """Of a Poisson number, by Stirling's series for (number + 1)!; no large terms cancel."""
    after = number + 1
    inverse = 1 / after
    series = inverse * (1 / 12 - inverse * inverse * (1 / 360 - inverse * inverse / 1260))
    away = after - mean
    factorial = 0.5 * jnp.log(after) + 0.5 * math.log(2 * math.pi) + series
    return away - number * jnp.log1p(away / mean) - factorial


def _first_accepted(
    key: jax.Array, candidate: Callable[[Any], tuple[Any, Any]], fixed: Any, drawn: jax.Array
) -> Any:
    """For each element the first candidate that is accepted; ``fixed`` where nothing is ``drawn``."""

    def unfinished(state: jax.Array) -> Any:
        return jnp.any(state[2])

    def draw(state: jax.Array) -> Any:
        turn, numbers, missing = state
        number, accepted = candidate(jax.random.fold_in(key, turn))
        numbers = jnp.where(missing & accepted, number.astype(numbers.dtype), numbers)
        return turn + 1, numbers, missing & ~accepted

    return loops.while_loop(unfinished, draw, (jnp.uint32(0), fixed, drawn))[1]
