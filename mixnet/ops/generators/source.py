"""Where an operator's random numbers come from: threefry, or a table of what MXNet would have drawn.

With a key, numbers are computed where the operator runs. On a CPU they come from MXNet's own generators,
which are not made for parallel processors: the host draws them before the program runs, and the program reads
them from a table. What has to be drawn is not declared anywhere: the operator's function is called with
:class:`Asked` in place of a key. Operators that draw in another way than MXNet find a threefry key in the table.

A table is an array of words: the number of the first draw, where each draw begins, then the words drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet.ops.generators import mersenne

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class Demand(NamedTuple):
    """Numbers that a call draws.

    Args:
        kind: of the words, see ``_KINDS``.
        numbers: how many.
        each: words for a number.
    """

    kind: str
    numbers: int
    each: int

    @property
    def size(self) -> int:
        """In words."""
        return self.numbers * self.each


def _as_words(numbers: np.ndarray) -> np.ndarray:
    return numbers.view(np.uint32)


def _normal_kind(each: int) -> np.dtype:
    return _DOUBLE if each == 2 else _SINGLE


_KINDS: dict[str, Callable[[mersenne.Generator, int, int], np.ndarray]] = {
    "key": lambda source, count, each: source.key(),
    "words": lambda source, count, each: source.words(count * each),
    "shared words": lambda source, count, each: source.shared_words(count, each),
    "normal": lambda source, count, each: _as_words(source.normal(count, _normal_kind(each))),
    "shared normal": lambda source, count, each: _as_words(
        source.shared_normal(count, _normal_kind(each))
    ),
    "order": lambda source, count, each: source.order(count).astype(np.uint32),
    "order of rows": lambda source, count, each: source.order_of_rows(count).astype(np.uint32),
}


def table(source: mersenne.Generator, demands: Sequence[Sequence[Demand]]) -> np.ndarray:
    """What calls of operators draw, in order.

    Args:
        source: drawn from.
        demands: of each call.
    """
    head = 1 + len(demands)
    size = head + sum(demand.size for call in demands for demand in call)
    words = np.empty(size, np.uint32)
    words[0] = 0
    place = head
    for number, call in enumerate(demands):
        words[1 + number] = place
        for kind, count, each in call:
            words[place : place + count * each] = _KINDS[kind](source, count, each)
            place += count * each
    return words


class Asked:
    """In place of a key: notes what an operator draws, and gives zeros."""

    def __init__(self) -> None:
        self.demands: list[Demand] = []

    def take(self, demand: Demand) -> Any:
        self.demands.append(demand)
        return jnp.zeros(demand.size, np.uint32)


class Drawn:
    """In place of a key: a draw of a table.

    Args:
        words: the table.
        number: of the draw, counted from the table's first.
    """

    def __init__(self, words: Any, number: Any):
        self._words = words
        index = jax.lax.add(_element(words, 0), jax.lax.convert_element_type(number, np.uint32))
        self._place = _element(words, jax.lax.add(index, np.uint32(1)))

    def take(self, demand: Demand) -> Any:
        words = jax.lax.dynamic_slice(self._words, (self._place,), (demand.size,))
        self._place = jax.lax.add(self._place, np.uint32(demand.size))
        return words


def _element(words: Any, index: Any) -> Any:
    index = jnp.asarray(index, np.uint32)
    return jax.lax.squeeze(jax.lax.dynamic_slice(words, (index,), (1,)), (0,))


KEY_DEMAND = Demand("key", 1, 2)
"""A key of threefry, for operators whose numbers are not MXNet's."""


def key_of(key: Any) -> Any:
    """A key of threefry that the host has drawn."""
    return jax.random.wrap_key_data(key.take(KEY_DEMAND))


def is_drawn_by_host(key: object) -> bool:
    """Whether numbers are those of MXNet's generators."""
    return isinstance(key, (Asked, Drawn))


def words(key: Any, count: int, each: int = 1, *, shared: bool = False) -> Any:
    """Words of the host's generators.

    Args:
        key: see :func:`is_drawn_by_host`.
        count: of numbers.
        each: words for a number.
        shared: whether the many generators draw, not the single one.
    """
    return key.take(Demand("shared words" if shared else "words", count, each))


def uniform(key: Any, shape: Sequence[int], dtype: DTypeLike, *, shared: bool = False) -> Any:
    """Numbers in [0, 1) of the host's generators, float32 or float64."""
    kind = np.dtype(dtype)
    drawn = words(key, math.prod(shape), kind.itemsize // 4, shared=shared)
    if kind == _DOUBLE:
        halves = drawn.reshape(-1, 2).astype(_DOUBLE)
        number = (halves[:, 0] + halves[:, 1] * 2.0**32) / 2.0**64
    else:
        number = jax.lax.mul(jax.lax.convert_element_type(drawn, _SINGLE), np.float32(2.0**-32))
    number = jax.lax.min(number, np.nextafter(kind.type(1), kind.type(0)))
    return jax.lax.reshape(number, tuple(shape))


def normal(key: Any, shape: Sequence[int], dtype: DTypeLike, *, shared: bool = False) -> Any:
    """Standard normal numbers of the host's generators, float32 or float64."""
    kind = np.dtype(dtype)
    each = kind.itemsize // 4
    name = "shared normal" if shared else "normal"
    drawn = key.take(Demand(name, math.prod(shape), each))
    if each == 2:
        drawn = drawn.reshape(-1, 2)
    return jax.lax.reshape(jax.lax.bitcast_convert_type(drawn, kind), tuple(shape))


def order(key: Any, count: int, rows: bool) -> Any:
    """A random order of ``count`` places, as MXNet shuffles numbers, or ``rows`` of them."""
    drawn = key.take(Demand("order of rows" if rows else "order", count, 1))
    return jax.lax.convert_element_type(drawn, np.int32)
