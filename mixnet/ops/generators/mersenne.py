"""The random numbers that MXNet draws on a CPU, word for word.

MXNet has two sources there. One is a single generator, Matsumoto and Nishimura's "Mersenne Twister" (1998).
The other has 1,024 of them, between which a call that needs many numbers is divided. Which operator draws
from which, and how many words it takes for a number, was learned by comparison with MXNet 1.9.1.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np

STREAMS = 1024
_FEWEST = 64  # numbers that MXNet draws from a stream, before it takes one more
_LENGTH, _DISTANCE = 624, 397
_SEED_FACTOR = 127
_SINGLE = np.dtype(np.float32)
_ONE, _TWICE, _MINUS_TWO = np.float32(1), np.float32(2), np.float32(-2)
_FEW_PAIRS = 4
_PAIRS = 1 << 16  # that are tried at a time
_GROUP = 64  # streams that draw at a time
_FEW = 32  # streams that are quicker to start one by one


class Twisters:
    """Generators that draw side by side.

    Args:
        seeds: of each, below 2**32.
    """

    def __init__(self, seeds: np.ndarray):
        self._seeds = seeds
        self._state = np.empty((_LENGTH, 0), np.uint32)
        self._words = np.empty((_LENGTH, 0), np.uint32)  # the tempered state: the words to come
        self._place = np.empty(0, np.int64)  # of the next word, in each column

    def take(self, counts: np.ndarray, first: int = 0) -> np.ndarray:
        """The next words of some generators, one generator after the other.

        Args:
            counts: how many words of each.
            first: number of the first of them.
        """
        end = first + len(counts)
        self.start(end)
        place = self._place[first:end]
        if len(counts) and (place == place[0]).all() and (counts == counts[0]).all():
            return self._take_in_step(first, end, int(counts[0])).reshape(-1)
        words = np.empty(int(counts.sum()), np.uint32)
        target = np.cumsum(counts) - counts
        missing = counts.copy()
        while missing.any():
            spent = np.flatnonzero((place == _LENGTH) & (missing > 0))
            if spent.size:
                self._refill(first + spent)
            part = np.minimum(missing, _LENGTH - place)
            column = np.repeat(np.arange(len(counts)), part)
            within = np.arange(column.size) - np.repeat(np.cumsum(part) - part, part)
            words[target[column] + within] = self._words[place[column] + within, first + column]
            place += part
            target += part
            missing -= part
        return words

    def _take_in_step(self, first: int, end: int, count: int) -> np.ndarray:
        words = np.empty((end - first, count), np.uint32)
        done, place = 0, int(self._place[first])
        while done < count:
            if place == _LENGTH:
                self._refill(slice(first, end))
                place = 0
            part = min(count - done, _LENGTH - place)
            words[:, done : done + part] = self._words[place : place + part, first:end].T
            done, place = done + part, place + part
        self._place[first:end] = place
        return words

    def start(self, streams: int) -> None:
        """Seed the first generators, which is quicker for many at once."""
        known = self._state.shape[1]
        if streams <= known:
            return
        new = _seeded(self._seeds[known:streams])
        self._state = np.concatenate([self._state, new], axis=1)
        self._words = np.concatenate([self._words, np.empty_like(new)], axis=1)
        more = np.full(streams - known, _LENGTH)
        self._place = np.concatenate([self._place, more])

    def _refill(self, streams: slice | np.ndarray) -> None:
        state = self._state[:, streams]
        _twist(state)
        self._state[:, streams] = state
        self._words[:, streams] = _tempered(state)
        self._place[streams] = 0


def _seeded(seeds: np.ndarray) -> np.ndarray:
    """The state of each generator, ``(624, generators)``."""
    state = np.empty((_LENGTH, len(seeds)), np.uint32)
    if len(seeds) < _FEW:
        for column, seed in enumerate(seeds.tolist()):
            word = seed
            words = [word]
            for i in range(1, _LENGTH):
                word = (1812433253 * (word ^ (word >> 30)) + i) & 0xFFFFFFFF
                words.append(word)
            state[:, column] = words
        return state
    state[0] = seeds
    for i in range(1, _LENGTH):
        before = state[i - 1]
        state[i] = np.uint32(1812433253) * (before ^ (before >> np.uint32(30))) + np.uint32(i)
    return state


def _twist(state: np.ndarray) -> None:
    """The next state, in place."""
    # A word needs the old state up to the one after it, and the new one from 227 words before it.
    step = _LENGTH - _DISTANCE
    for start in range(0, _LENGTH, step):
        end = min(start + step, _LENGTH)
        after = state[start + 1 : end + 1]
        if end == _LENGTH:
            after = np.concatenate([after, state[:1]])
        mixed = (state[start:end] & np.uint32(0x80000000)) | (after & np.uint32(0x7FFFFFFF))
        twisted = (mixed >> np.uint32(1)) ^ ((mixed & np.uint32(1)) * np.uint32(0x9908B0DF))
        far = (start + _DISTANCE) % _LENGTH
        state[start:end] = twisted ^ state[far : far + end - start]


def _tempered(state: np.ndarray) -> np.ndarray:
    words = state ^ (state >> np.uint32(11))
    words ^= (words << np.uint32(7)) & np.uint32(0x9D2C5680)
    words ^= (words << np.uint32(15)) & np.uint32(0xEFC60000)
    words ^= words >> np.uint32(18)
    return words


class Generator:
    """Both of MXNet's sources on the CPU, and keys for what they do not serve.

    Args:
        seed: as given to ``mx.random.seed``, or 0.
        of_context: whether it was given for a context: the single generator then starts with it.
    """

    def __init__(self, seed: int, of_context: bool = False):
        start = seed * _SEED_FACTOR
        self._one = Twisters(np.array([(seed if of_context else start) % 2**32], np.uint32))
        self._many = Twisters(((start + np.arange(STREAMS)) % 2**32).astype(np.uint32))
        self._key = np.array([seed % 2**32, 0], np.uint32)

    def copy(self) -> Generator:
        """A generator that draws what this one will draw."""
        return copy.deepcopy(self)

    def key(self) -> np.ndarray:
        """A key of threefry: the seed and a counter. It does not disturb MXNet's numbers."""
        key = self._key.copy()
        self._key[1] += 1
        return key

    def words(self, count: int) -> np.ndarray:
        """The next words of the single generator."""
        return self._one.take(np.array([count]))

    def normal(self, count: int, dtype: np.dtype = _SINGLE) -> np.ndarray:
        """Standard normal numbers of the single generator, which uses both numbers of a pair."""
        first, second = _pairs(self._one, np.array([(count + 1) // 2]), dtype)
        return np.stack([first, second], axis=-1).reshape(-1)[:count]

    def order(self, count: int) -> np.ndarray:
        """A random order of ``count`` places, as C++'s ``std::shuffle`` makes it."""
        return shuffled(count, self.words)

    def order_of_rows(self, count: int) -> np.ndarray:
        """A random order of ``count`` places by swaps from the last to the first."""
        order = list(range(count))
        for i, j in zip(
            range(count - 1, 0, -1), _below(np.arange(count, 1, -1), self.words), strict=True
        ):
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)

    def choice(self, places: int, count: int) -> np.ndarray:
        """Different places, ``count`` of ``places``.

        Less than half of them are chosen by Floyd's algorithm, more by Vitter's algorithm R.
        """
        if 2 * count < places:
            chosen: dict[int, None] = {}
            extents = range(places - count + 1, places + 1)
            for extent, word in zip(extents, self.words(count).tolist(), strict=True):
                place = word % extent
                chosen[extent - 1 if place in chosen else place] = None
            return np.array(list(chosen), np.int64)
        reservoir = list(range(count))
        words = self.words(places - count).tolist()
        for place, word in zip(range(count, places), words, strict=True):
            if (target := word % (place + 1)) < count:
                reservoir[target] = place
        return np.array(reservoir, np.int64)

    def shared_words(self, count: int, each: int = 1) -> np.ndarray:
        """Words for ``count`` numbers between which the many generators are divided.

        Args:
            count: of numbers.
            each: words for a number.
        """
        counts = _division(count) * each
        self._many.start(len(counts))
        return _in_groups(counts, self._many.take)

    def shared_normal(self, count: int, dtype: np.dtype = _SINGLE) -> np.ndarray:
        """Standard normal numbers of the many generators; the second number of each pair is dropped."""
        counts = _division(count)
        self._many.start(len(counts))
        return _in_groups(
            counts,
            lambda counts, first: _pairs(self._many, counts, dtype, first, both=False)[0],
        )


def shuffled(count: int, words: Callable[[int], np.ndarray]) -> np.ndarray:
    """A permutation of ``range(count)``: that of C++'s ``std::shuffle`` in older versions of libstdc++.

    Args:
        count: of places.
        words: draws as many words as it is asked for.
    """
    order = list(range(count))
    for i, j in enumerate(_below(np.arange(2, count + 1), words), 1):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _below(extents: np.ndarray, words: Callable[[int], np.ndarray]) -> list[int]:
    """A number below each extent, as C++'s ``uniform_int_distribution`` draws it."""
    scaling = (2**32 - 1) // np.maximum(extents, 1)
    limits = extents * scaling
    drawn = words(len(extents)).astype(np.int64)
    rejected = drawn >= limits
    while rejected.any():
        # A word that would introduce bias is rejected, which moves those after it up by one.
        first = int(rejected.argmax())
        drawn[first:-1] = drawn[first + 1 :]
        drawn[-1:] = words(1)
        rejected = drawn >= limits
    return (drawn // scaling).tolist()


def _in_groups(counts: np.ndarray, draw: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
    """What generators draw, some of them at a time, so that the processor's cache holds it.

    Args:
        counts: of each generator.
        draw: what those of a group draw, from their counts and the number of the first.
    """
    if len(counts) <= _GROUP:
        return draw(counts, 0)
    groups = range(0, len(counts), _GROUP)
    return np.concatenate([draw(counts[first : first + _GROUP], first) for first in groups])


def _division(count: int) -> np.ndarray:
    """How many of ``count`` numbers each generator draws."""
    streams = min(-(-count // _FEWEST), STREAMS)
    if not streams:
        return np.zeros(0, np.int64)
    step = -(-count // streams)
    return np.clip(count - step * np.arange(streams), 0, step)


def uniform(words: np.ndarray, dtype: np.dtype = _SINGLE) -> np.ndarray:
    """Numbers in [0, 1) from one word each, or two for float64."""
    if dtype == np.float64:
        low, high = words[0::2].astype(np.float64), words[1::2].astype(np.float64)
        return np.minimum((low + high * 2.0**32) / 2.0**64, np.nextafter(1.0, 0.0))
    below_1 = np.nextafter(np.float32(1), np.float32(0))
    return np.minimum(words.astype(np.float32) / np.float32(2**32), below_1)


def _pairs(
    twisters: Twisters, counts: np.ndarray, dtype: np.dtype, generator: int = 0, both: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of normal numbers by Marsaglia's polar method, ``counts`` of each generator in order.

    Args:
        twisters: drawn from.
        counts: of pairs.
        dtype: float32 or float64.
        generator: number of the first generator.
        both: whether the second numbers are needed; else they are not computed.
    """
    if len(counts) == 1 and counts[0] <= _FEW_PAIRS and dtype == _SINGLE:
        return _pairs_one_by_one(twisters, int(counts[0]), generator)
    first = np.empty(int(counts.sum()), dtype)
    second = np.empty_like(first if both else first[:0])
    target = np.cumsum(counts) - counts
    missing = counts.copy()
    at_once = max(_PAIRS // max(len(counts), 1), 1)
    while missing.any():
        # No more pairs than are missing: so the last one of a generator that is drawn is needed.
        tries = np.minimum(missing, at_once)
        points = _points(twisters.take(tries * (2 * dtype.itemsize // 4), generator), dtype)
        x, y = points[0::2], points[1::2]
        square = x * x
        square += y * y
        inside = np.flatnonzero((square <= 1) & (square != 0))
        owner = np.repeat(np.arange(len(counts)), tries).take(inside)
        accepted = np.bincount(owner, minlength=len(counts))
        place = (target - np.cumsum(accepted) + accepted).take(owner)
        place += np.arange(owner.size)
        square = square.take(inside)
        # As exactly as the C library computes it.
        scale = np.log(square.astype(np.float64)).astype(dtype)
        scale *= dtype.type(-2)
        scale /= square
        np.sqrt(scale, out=scale)
        first[place] = y.take(inside) * scale
        if both:
            second[place] = x.take(inside) * scale
        target += accepted
        missing -= accepted
    return first, second


def _points(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Coordinates between -1 and 1."""
    if dtype == np.float64:
        return 2 * uniform(words, dtype) - 1
    points = words.astype(np.float32)
    points *= np.float32(2.0**-31)
    points -= _ONE
    return np.minimum(points, np.float32(1 - 2.0**-23), out=points)


def _pairs_one_by_one(
    twisters: Twisters, count: int, generator: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same in a third of the time for a few."""
    first, second = np.empty(count, np.float32), np.empty(count, np.float32)
    pair = np.array([2])
    done = 0
    while done < count:
        x, y = _TWICE * uniform(twisters.take(pair, generator)) - _ONE
        square = x * x + y * y
        if square <= 1 and square != 0:
            logarithm = np.float32(math.log(square))
            scale = np.sqrt(_MINUS_TWO * logarithm / square)
            first[done], second[done] = y * scale, x * scale
            done += 1
    return first, second
