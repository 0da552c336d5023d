"""Where an operator's random numbers come from: threefry, or a table of what MXNet would have drawn.

With a key, numbers are computed where the operator runs. On a CPU they come from MXNet's own generators,
which are not made for parallel processors: the host draws them before the program runs, and the program reads
them from a table. What has to be drawn is not declared anywhere: the operator's function is called with
:class:`Asked` in place of a key. Operators that draw in another way than MXNet find a threefry key there.

A table is an array of words: the number of the first draw, a zero, where each draw begins, then the words
drawn. It is always longer than the three words of a stream.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet import config
from mixnet.context import Context
from mixnet.ops.generators import attempts, mersenne

_HEAD = 2  # words before the places of the draws
_SHORTEST = 4  # words of a table
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def does_host_draw(context: Context) -> bool:
    """Whether the numbers of a context are drawn by MXNet's generators, on the host."""
    return context.device_type != "gpu" and config.get("MIXNET_RANDOM") == "mxnet"


class Demand(NamedTuple):
    """Numbers that a call draws.

    Args:
        kind: of the words, see ``_KINDS``.
        numbers: how many.
        each: words for a number.
        places: how many positions there are to choose from.
        parameters: of the distribution, for numbers that are drawn until they are accepted; each a number, or
            one for each number. Of tables: how many draws each has, and their demands.
    """

    kind: str
    numbers: int
    each: int
    places: int = 0
    parameters: tuple[Any, ...] = ()

    @property
    def size(self) -> int:
        """Number of words."""
        return self.numbers * self.each


# The number of a draw and what it takes, in the order in which the host draws.
Demands = Sequence[tuple[int, Sequence[Demand]]]


def _as_words(numbers: np.ndarray) -> np.ndarray:
    return numbers.view(np.uint32)


def _normal_kind(each: int) -> np.dtype:
    return _DOUBLE if each == 2 else _SINGLE


def _accepted(draw: attempts.Draw) -> Callable[[mersenne.Generator, Demand], np.ndarray]:
    def numbers(source: mersenne.Generator, demand: Demand) -> np.ndarray:
        dtype = _normal_kind(demand.each)
        return _as_words(source.shared_attempts(draw, demand.numbers, demand.parameters, dtype))

    return numbers


_KINDS: dict[str, Callable[[mersenne.Generator, Demand], np.ndarray]] = {
    "key": lambda source, demand: source.key(),
    "words": lambda source, demand: source.words(demand.size),
    "shared words": lambda source, demand: source.shared_words(demand.numbers, demand.each),
    "normal": lambda source, demand: _as_words(
        source.normal(demand.numbers, _normal_kind(demand.each))
    ),
    "shared normal": lambda source, demand: _as_words(
        source.shared_normal(demand.numbers, _normal_kind(demand.each))
    ),
    "gamma": lambda source, demand: _as_words(
        source.gamma(
            demand.numbers, demand.parameters[0], demand.parameters[1], _normal_kind(demand.each)
        )
    ),
    "shared gamma": _accepted(attempts.GAMMA),
    "shared poisson": _accepted(attempts.POISSON),
    "shared negative binomial": _accepted(attempts.NEGATIVE_BINOMIAL),
    "shared generalized negative binomial": _accepted(attempts.GENERALIZED_NEGATIVE_BINOMIAL),
    "order": lambda source, demand: source.order(demand.numbers),
    "order of rows": lambda source, demand: source.order_of_rows(demand.numbers),
    "choice": lambda source, demand: source.choice(demand.places, demand.numbers),
    "unique zipfian": lambda source, demand: _as_words(
        source.unique_zipfian(demand.parameters[0], demand.parameters[1], demand.places).reshape(-1)
    ),
}


def _tables(source: mersenne.Generator, demand: Demand) -> np.ndarray:
    words = np.empty((demand.numbers, demand.each), np.uint32)
    for table in words:
        fill(table, source, *demand.parameters)
    return words.reshape(-1)


_KINDS["tables"] = _tables


def size_of(draws: int, demands: Demands) -> int:
    """Number of words in a table of so many draws."""
    size = _HEAD + draws + sum(demand.size for _, call in demands for demand in call)
    return max(size, _SHORTEST)


def fill(words: np.ndarray, source: mersenne.Generator, draws: int, demands: Demands) -> None:
    """Fill a table with what calls of operators draw.

    Args:
        words: the memory, see :func:`size_of`.
        source: drawn from.
        draws: how many there are.
        demands: of the calls that draw.
    """
    place = _HEAD + draws
    words[:_HEAD] = 0
    words[_HEAD:place] = place
    words[place:_SHORTEST] = 0
    for number, call in demands:
        words[_HEAD + number] = place
        for demand in call:
            words[place : place + demand.size] = _KINDS[demand.kind](source, demand)
            place += demand.size


class AnswerError(Exception):
    """Carries what an operator would draw out of its function.

    Args:
        demands: all of them: an operator draws once.
    """

    def __init__(self, demands: tuple[Demand, ...]):
        super().__init__(demands)
        self.demands = demands


class Asked:
    """Replaces a key: the operator stops where it draws, and reports what it would draw."""

    def take(self, *demands: Demand) -> list[Any]:
        raise AnswerError(demands)


class Drawn:
    """Replaces a key: a draw from a table.

    Args:
        words: the table.
        number: of the draw, counted from the table's first.
    """

    def __init__(self, words: Any, number: Any):
        self._words = words
        index = jax.lax.add(_element(words, 0), jax.lax.convert_element_type(number, np.uint32))
        self._place = _element(words, jax.lax.add(index, np.uint32(_HEAD)))

    def take(self, *demands: Demand) -> list[Any]:
        """The words of each demand."""
        parts, place = [], self._place
        for demand in demands:
            parts.append(jax.lax.dynamic_slice(self._words, (place,), (demand.size,)))
            place = jax.lax.add(place, np.uint32(demand.size))
        return parts


class DrawnForHost:
    """The same for an operator that NumPy computes, which may draw a part at a time.

    Args:
        words: the table.
        number: of the draw, counted from the table's first.
    """

    def __init__(self, words: np.ndarray, number: int):
        self._words = words
        self._place = int(words[_HEAD + int(words[0]) + number])

    def take(self, *demands: Demand) -> list[np.ndarray]:
        """The next words, those of each demand."""
        ends = np.cumsum([self._place, *[demand.size for demand in demands]]).tolist()
        self._place = ends[-1]
        return [self._words[start:end] for start, end in itertools.pairwise(ends)]


class DrawnNow:
    """In place of a key: generators that draw when they are asked, for an operator that runs at once.

    Args:
        generator: drawn from.
    """

    def __init__(self, generator: mersenne.Generator):
        self._generator = generator

    def take(self, *demands: Demand) -> list[np.ndarray]:
        """The words of each demand."""
        return [_KINDS[demand.kind](self._generator, demand) for demand in demands]


def _element(words: Any, index: Any) -> Any:
    index = jnp.asarray(index, np.uint32)
    return jax.lax.squeeze(jax.lax.dynamic_slice(words, (index,), (1,)), (0,))


KEY_DEMAND = Demand("key", 1, 2)
"""A key of threefry, for operators whose numbers are not MXNet's."""


def key_of(key: Any) -> Any:
    """A key of threefry that the host has drawn."""
    return jax.random.wrap_key_data(key.take(KEY_DEMAND)[0])


def is_drawn_by_host(key: object) -> bool:
    """Whether numbers are those of MXNet's generators."""
    return isinstance(key, (Asked, Drawn, DrawnForHost, DrawnNow))


def knows_arrays(key: object) -> bool:
    """Whether the values of arrays are known where the host draws."""
    return isinstance(key, DrawnNow)


def words(key: Any, count: int, each: int = 1, *, shared: bool = False) -> Any:
    """Words of the host's generators.

    Args:
        key: see :func:`is_drawn_by_host`.
        count: of numbers.
        each: words for a number.
        shared: whether the many generators draw, not the single one.
    """
    return key.take(Demand("shared words" if shared else "words", count, each))[0]


def uniform(key: Any, shape: Sequence[int], dtype: DTypeLike, *, shared: bool = False) -> Any:
    """Numbers in [0, 1) of the host's generators, float32 or float64."""
    kind = np.dtype(dtype)
    drawn = words(key, math.prod(shape), kind.itemsize // 4, shared=shared)
    if isinstance(drawn, np.ndarray):
        return mersenne.uniform(drawn, kind).reshape(shape)
    return _uniform_of(drawn, shape, kind)


def _uniform_of(drawn: Any, shape: Sequence[int], kind: np.dtype) -> Any:
    if kind == _DOUBLE:
        halves = drawn.reshape(-1, 2).astype(_DOUBLE)
        number = (halves[:, 0] + halves[:, 1] * 2.0**32) / 2.0**64
    else:
        number = jax.lax.mul(jax.lax.convert_element_type(drawn, _SINGLE), np.float32(2.0**-32))
    number = jax.lax.min(number, np.nextafter(kind.type(1), kind.type(0)))
    return jax.lax.reshape(number, tuple(shape))


def normal(key: Any, shape: Sequence[int], dtype: DTypeLike, *, shared: bool = False) -> Any:
    """Standard normal numbers of the host's generators, float32 or float64."""
    return _numbers(key, "shared normal" if shared else "normal", shape, dtype)


def accepted(key: Any, kind: str, shape: Sequence[int], dtype: DTypeLike, *parameters: Any) -> Any:
    """Numbers of the host's generators, drawn by rejection.

    Args:
        key: see :func:`is_drawn_by_host`.
        kind: of the distribution, see ``_KINDS``.
        shape: of the numbers.
        dtype: float32 or float64.
        parameters: of the distribution, of NumPy where the operator is asked what it draws.
    """
    # MXNet keeps numbers that are parameters in float32.
    constants: tuple[Any, ...] = ()
    if isinstance(key, Asked):
        constants = tuple(float(np.float32(each)) for each in parameters)
    elif isinstance(key, DrawnNow):
        constants = tuple(_for_each(each, shape) for each in parameters)
    return _numbers(key, kind, shape, dtype, constants)


def _for_each(parameter: Any, shape: Sequence[int]) -> Any:
    """A parameter as a number, or one for each of the numbers to be drawn."""
    values = np.asarray(parameter, np.float32)
    return np.broadcast_to(values, shape).reshape(-1) if values.ndim else float(values)


def _numbers(
    key: Any, name: str, shape: Sequence[int], dtype: DTypeLike, parameters: tuple[Any, ...] = ()
) -> Any:
    kind = np.dtype(dtype)
    words_of_one = kind.itemsize // 4
    (drawn,) = key.take(Demand(name, math.prod(shape), words_of_one, 0, parameters))
    if isinstance(drawn, np.ndarray):
        return drawn.view(kind).reshape(shape)
    if words_of_one == 2:
        drawn = drawn.reshape(-1, 2)
    return jax.lax.reshape(jax.lax.bitcast_convert_type(drawn, kind), tuple(shape))


def order(key: Any, count: int, rows: bool) -> Any:
    """A random permutation of ``range(count)``, as MXNet shuffles numbers, or rows."""
    (drawn,) = key.take(Demand("order of rows" if rows else "order", count, 1))
    return jax.lax.convert_element_type(drawn, np.int32)


def order_and_uniform(key: Any, places: int, shape: Sequence[int]) -> tuple[Any, Any]:
    """A random permutation of ``range(places)``, then float32 numbers in [0, 1)."""
    drawn, words = key.take(Demand("order", places, 1), Demand("words", math.prod(shape), 1))
    return jax.lax.convert_element_type(drawn, np.int32), _uniform_of(words, shape, _SINGLE)


def is_heads(key: Any) -> Any:
    """Whether a coin shows heads: a float64 above a half."""
    (pair,) = key.take(Demand("words", 1, 2))
    low, high = pair[0].astype(_DOUBLE), pair[1].astype(_DOUBLE)
    return low + high * 2.0**32 > 2.0**63


def choice(key: Any, places: int, count: int) -> Any:
    """``count`` different numbers below ``places``, as MXNet chooses them."""
    return key.take(Demand("choice", count, 1, places))[0].astype(jnp.int64)


def unique_zipfian(key: Any, places: int, rows: int, count: int) -> tuple[Any, Any]:
    """Rows of ``count`` different numbers below ``places``, and how many draws each row took."""
    (drawn,) = key.take(Demand("unique zipfian", rows * (count + 1), 2, places, (rows, count)))
    numbers = jax.lax.bitcast_convert_type(drawn.reshape(-1, 2), jnp.int64).reshape(rows, count + 1)
    return numbers[:, :-1], numbers[:, -1]


def tables(key: Any, count: int, draws: int, demands: Demands) -> Any:
    """A table for each turn of a loop, one in each row.

    Args:
        key: see :func:`is_drawn_by_host`.
        count: of the turns.
        draws: how many a turn has.
        demands: of a turn.
    """
    size = size_of(draws, demands)
    return key.take(Demand("tables", count, size, 0, (draws, demands)))[0].reshape(count, size)
