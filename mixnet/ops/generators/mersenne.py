"""The random numbers that MXNet draws on a CPU, word for word.

MXNet has two sources there. One is a single generator, Matsumoto and Nishimura's "Mersenne Twister" (1998).
The other has 1,024 of them, between which a call that needs many numbers is divided. Which operator draws
from which, and how many words it takes for a number, was learned by comparison with MXNet 1.9.1.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mixnet.ops.generators import attempts

STREAMS = 1024
_FEWEST = 64  # numbers that MXNet draws from a stream, before it takes one more
LENGTH, _DISTANCE = 624, 397  # words of a state, and what a new one is mixed with
_SEED_FACTOR = 127
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_ONE, _TWICE, _MINUS_TWO = np.float32(1), np.float32(2), np.float32(-2)
_FEW_PAIRS = 4
_PAIRS = 1 << 16  # that are tried at a time
_GROUP = 64  # streams that draw at a time, at least
_TOGETHER = 1 << 16  # words that they draw at a time
_FEW = 32  # streams that are quicker to start one by one
_SLICE = 64  # numbers that are quicker to copy by slices than by places


class Twister:
    """One generator: NumPy's has the same words.

    Args:
        seed: below 2**32.
    """

    def __init__(self, seed: int):
        self._numpy = np.random.MT19937()
        self._numpy._legacy_seeding(seed)
        self._ahead = np.empty(0, np.uint32)  # words that were looked at

    def peek(self, first: int, end: int, count: int) -> np.ndarray:
        """The next words, without consuming them; arguments as :meth:`Twisters.peek`."""
        if (missing := count - len(self._ahead)) > 0:
            self._ahead = np.concatenate([self._ahead, self._drawn(missing)])
        return self._ahead[None, :count]

    def skip(self, first: int, end: int, counts: np.ndarray) -> None:
        """Consume words that were peeked at."""
        self._ahead = self._ahead[int(counts[0]) :]

    def take(self, first: int, end: int, count: int) -> np.ndarray:
        """The next words."""
        ahead, self._ahead = self._ahead[:count], self._ahead[count:]
        words = self._drawn(count - len(ahead))
        return (np.concatenate([ahead, words]) if len(ahead) else words)[None]

    def _drawn(self, count: int) -> np.ndarray:
        return self._numpy.random_raw(count).astype(np.uint32)


class Twisters:
    """Generators that draw in parallel.

    Args:
        seeds: of each, below 2**32.
    """

    def __init__(self, seeds: np.ndarray):
        self._seeds = seeds
        self._started = 0
        self._state = np.empty((len(seeds), LENGTH), np.uint32)
        # In each row the words of two states: so LENGTH of them can be peeked at wherever the place is.
        self._words = np.empty((len(seeds), 2 * LENGTH), np.uint32)
        self._place = np.full(len(seeds), 2 * LENGTH)  # of the next word, in each row

    def peek(self, first: int, end: int, count: int) -> np.ndarray:
        """The next words, without consuming them.

        Args:
            first: number of the first of these generators.
            end: one more than that of the last.
            count: of words of each, LENGTH at most.

        Returns:
            A row for each of them; it may be a view.
        """
        self._fill(first, end)
        place = self._place[first:end]
        start = int(place[0])
        if (place == start).all():
            return self._words[first:end, start : start + count]
        if count < _SLICE:
            return np.take_along_axis(
                self._words[first:end], place[:, None] + np.arange(count), axis=1
            )
        words = np.empty((end - first, count), np.uint32)
        for row, of, start in zip(words, self._words[first:end], place.tolist(), strict=True):
            row[:] = of[start : start + count]
        return words

    def skip(self, first: int, end: int, counts: np.ndarray | int) -> None:
        """Consume words that were peeked at, ``counts`` of each generator."""
        self._place[first:end] += counts

    def take(self, first: int, end: int, count: int) -> np.ndarray:
        """The next words, ``count`` of each generator; arguments as :meth:`peek`."""
        words = np.empty((end - first, count), np.uint32)
        for done in range(0, count, LENGTH):
            part = min(count - done, LENGTH)
            words[:, done : done + part] = self.peek(first, end, part)
            self.skip(first, end, part)
        return words

    def start(self, streams: int) -> None:
        """Seed the first ``streams`` generators, which is faster than one by one."""
        if streams > self._started:
            new = slice(self._started, streams)
            _seed(self._state[new], self._seeds[new])
            self._started = streams

    def _fill(self, first: int, end: int) -> None:
        """Have LENGTH words at least, after the place of each."""
        self.start(end)
        while (spent := np.flatnonzero(self._place[first:end] > LENGTH)).size:
            rows: slice | np.ndarray = spent + first
            if spent.size == end - first:
                rows = slice(first, end)
            state = self._state[rows]
            _twist(state)
            self._state[rows] = state
            self._words[rows, :LENGTH] = self._words[rows, LENGTH:]
            self._words[rows, LENGTH:] = _tempered(state)
            self._place[rows] -= LENGTH


def _seed(states: np.ndarray, seeds: np.ndarray) -> None:
    """Write the first state of generators, ``(generators, 624)``."""
    if len(seeds) < _FEW:
        source = np.random.MT19937()
        for state, seed in zip(states, seeds.tolist(), strict=True):
            source._legacy_seeding(seed)
            state[:] = source.state["state"]["key"]
        return
    words = np.empty((LENGTH, len(seeds)), np.uint32)
    words[0] = seeds
    for i in range(1, LENGTH):
        word = words[i - 1] >> np.uint32(30)
        word ^= words[i - 1]
        word *= np.uint32(1812433253)
        np.add(word, np.uint32(i), out=words[i])
    states[:] = words.T


def _twist(state: np.ndarray) -> None:
    """The next state, in place."""
    # A word needs the old state up to the one after it, and the new one from 227 words before it.
    step = LENGTH - _DISTANCE
    for start in range(0, LENGTH, step):
        end = min(start + step, LENGTH)
        after = state[:, start + 1 : end + 1]
        if end == LENGTH:
            after = np.concatenate([after, state[:, :1]], axis=1)
        mixed = state[:, start:end] & np.uint32(0x80000000)
        mixed |= after & np.uint32(0x7FFFFFFF)
        twisted = mixed & np.uint32(1)
        twisted *= np.uint32(0x9908B0DF)
        mixed >>= np.uint32(1)
        twisted ^= mixed
        far = (start + _DISTANCE) % LENGTH
        np.bitwise_xor(twisted, state[:, far : far + end - start], out=state[:, start:end])


def _tempered(state: np.ndarray) -> np.ndarray:
    words = state >> np.uint32(11)
    words ^= state
    for shift, mask in ((7, 0x9D2C5680), (15, 0xEFC60000)):
        shifted = words << np.uint32(shift)
        shifted &= np.uint32(mask)
        words ^= shifted
    words ^= words >> np.uint32(18)
    return words


class Generator:
    """Both of MXNet's sources of random numbers on the CPU, and keys for what does not use them.

    Args:
        seed: as given to ``mx.random.seed``, or 0.
        of_context: whether it was given for a context; the single generator then starts with it as it is.
    """

    def __init__(self, seed: int, of_context: bool = False):
        start = seed * _SEED_FACTOR
        self._one = Twister((seed if of_context else start) % 2**32)
        self._many = Twisters(((start + np.arange(STREAMS)) % 2**32).astype(np.uint32))
        self._key = np.array([seed % 2**32, 0], np.uint32)

    def copy(self) -> Generator:
        """A copy, which draws the same numbers as this one from here on."""
        return copy.deepcopy(self)

    def key(self) -> np.ndarray:
        """A key of threefry: the seed and a counter. It does not disturb MXNet's numbers."""
        key = self._key.copy()
        self._key[1] += 1
        return key

    def words(self, count: int) -> np.ndarray:
        """The next words of the single generator."""
        words: np.ndarray = self._one.take(0, 1, count)[0]
        return words

    def normal(self, count: int, dtype: np.dtype = _SINGLE) -> np.ndarray:
        """Standard normal numbers of the single generator, which uses both numbers of a pair."""
        return _pairs(self._one, (0, 1), (count + 1) // 2, dtype).reshape(-1)[:count]

    def order(self, count: int) -> np.ndarray:
        """A random permutation of ``range(count)``, as C++'s ``std::shuffle`` makes it."""
        return shuffled(count, self.words)

    def order_of_rows(self, count: int) -> np.ndarray:
        """A random permutation of ``range(count)``, by swaps from the last to the first."""
        order = list(range(count))
        for i, j in zip(
            range(count - 1, 0, -1), below(np.arange(count, 1, -1), self.words), strict=True
        ):
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)

    def choice(self, places: int, count: int) -> np.ndarray:
        """Choose ``count`` different numbers below ``places``.

        Less than half of them: the last ``count`` numbers are candidates in turn. Where a place below
        them is chosen, the candidate moves there; a place among them stands for the candidate.
        More: Vitter's algorithm R.
        """
        if 2 * count < places:
            numbers: list[int] = []
            moved: dict[int, int] = {}
            candidates = range(places - count, places)
            for candidate, word in zip(candidates, self.words(count).tolist(), strict=True):
                place = word % (candidate + 1)
                if place >= places - count:
                    numbers.append(candidate)
                else:
                    numbers.append(moved.get(place, place))
                    moved[place] = candidate
            return np.array(numbers, np.int64)
        reservoir = list(range(count))
        words = self.words(places - count).tolist()
        for place, word in zip(range(count, places), words, strict=True):
            if (target := word % (place + 1)) < count:
                reservoir[target] = place
        return np.array(reservoir, np.int64)

    def shared_words(self, count: int, each: int = 1) -> np.ndarray:
        """Words for ``count`` numbers, divided among the many generators.

        Args:
            count: of numbers.
            each: words for a number.
        """
        return self._divided(
            count, each, lambda first, end, count: self._many.take(first, end, count)
        )

    def shared_normal(self, count: int, dtype: np.dtype = _SINGLE) -> np.ndarray:
        """Standard normal numbers of the many generators; the second number of each pair is dropped."""
        return self._divided(
            count,
            1,
            lambda first, end, count: _pairs(self._many, (first, end), count, dtype, both=False),
        )

    def shared_attempts(
        self, draw: attempts.Draw, count: int, parameters: Sequence[Any], dtype: np.dtype = _SINGLE
    ) -> np.ndarray:
        """Numbers of the many generators, drawn by rejection.

        Args:
            draw: draws one number, see :mod:`mixnet.ops.generators.attempts`.
            count: of numbers.
            parameters: of the distribution; each one number, or one for each.
            dtype: of the uniform numbers: float32 or float64.
        """
        number = 0

        def part(first: int, end: int, each: int) -> np.ndarray:
            nonlocal number
            begin, number = number, number + (end - first) * each
            shape = (end - first, each)
            own = [of[begin:number].reshape(shape) if np.ndim(of) else of for of in parameters]
            with np.errstate(invalid="ignore", over="ignore"):
                return attempts.drawn(
                    draw, own, self._many, (first, end), shape, uniform, LENGTH, dtype
                )

        # Each number with parameters of its own is one more call of Python, for all streams of a group.
        varies = any(np.ndim(each) for each in parameters)
        return self._divided(count, 1, part, least=STREAMS if varies else _GROUP)

    def gamma(self, count: int, alpha: Any, scale: Any, dtype: np.dtype = _SINGLE) -> np.ndarray:
        """Gamma numbers of the single generator; parameters as :func:`attempts.gamma_in_rounds`."""

        def normal(count: int) -> np.ndarray:
            return _pairs(self._one, (0, 1), count, _DOUBLE, both=False).reshape(-1)

        def share(count: int) -> np.ndarray:
            return uniform(self.words(2 * count), _DOUBLE)

        return attempts.gamma_in_rounds(count, alpha, scale, share, normal, dtype)

    def unique_zipfian(self, rows: int, count: int, end: int) -> np.ndarray:
        """Rows of ``count`` different numbers below ``end``, and how many tries they took.

        Small numbers are drawn more often. A row comes from one of the many generators, which draws
        several rows if there are more.
        """
        rows_of_each = -(-rows // STREAMS)
        self._many.start(-(-rows // rows_of_each))
        numbers = np.empty((rows, count + 1), np.int64)
        for row in range(rows):
            numbers[row] = self._row_of_zipfian(row // rows_of_each, count, end)
        return numbers

    def _row_of_zipfian(self, stream: int, count: int, end: int) -> np.ndarray:
        numbers = np.empty(0, np.int64)
        while True:
            words = self._many.peek(stream, stream + 1, LENGTH).reshape(-1)
            share = uniform(words, _DOUBLE)
            more = np.rint(np.exp(share * math.log(end))).astype(np.int64) - 1
            tried = np.concatenate([numbers, more])
            _, places = np.unique(tried, return_index=True)
            if len(places) >= count:
                places = np.sort(places)[:count]
                tries = int(places[-1]) + 1 if count else 0
                self._many.skip(stream, stream + 1, 2 * (tries - len(numbers)))
                return np.append(tried[places], tries)
            self._many.skip(stream, stream + 1, LENGTH)
            numbers = tried

    def _divided(
        self,
        count: int,
        each: int,
        draw: Callable[[int, int, int], np.ndarray],
        least: int = _GROUP,
    ) -> np.ndarray:
        """What the many generators draw, as many at a time as the processor's cache holds.

        Args:
            count: of numbers.
            each: what ``draw`` is asked for, for a number.
            draw: from the number of the first generator, the end, and how much each draws.
            least: how many generators draw at a time, at least.
        """
        if count <= _FEWEST:
            return draw(0, 1, count * each).reshape(-1)
        streams = min(-(-count // _FEWEST), STREAMS)
        step = -(-count // streams)
        full, rest = divmod(count, step)
        self._many.start(full + (rest > 0))
        at_once = max(_TOGETHER // (step * each), least)
        groups = [(first, min(first + at_once, full), step) for first in range(0, full, at_once)]
        if rest:
            groups.append((full, full + 1, rest))
        parts = [draw(first, end, each * count).reshape(-1) for first, end, count in groups]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def shuffled(count: int, words: Callable[[int], np.ndarray]) -> np.ndarray:
    """A permutation of ``range(count)``: that of C++'s ``std::shuffle`` in older versions of libstdc++.

    Args:
        count: of places.
        words: draws as many words as it is asked for.
    """
    order = list(range(count))
    for i, j in enumerate(below(np.arange(2, count + 1), words), 1):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def below(extents: np.ndarray, words: Callable[[int], np.ndarray]) -> list[int]:
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
    numbers: list[int] = (drawn // scaling).tolist()
    return numbers


def uniform(words: np.ndarray, dtype: np.dtype = _SINGLE) -> np.ndarray:
    """Numbers in [0, 1) from one word each, or two for float64."""
    if dtype == np.float64:
        low, high = words[0::2].astype(np.float64), words[1::2].astype(np.float64)
        doubles: np.ndarray = np.minimum((low + high * 2.0**32) / 2.0**64, np.nextafter(1.0, 0.0))
        return doubles
    below_1 = np.nextafter(np.float32(1), np.float32(0))
    numbers: np.ndarray = words.astype(np.float32)
    numbers *= np.float32(2.0**-32)
    np.minimum(numbers, below_1, out=numbers)
    return numbers


def _pairs(
    source: Twister | Twisters,
    rows: tuple[int, int],
    count: int,
    dtype: np.dtype,
    both: bool = True,
) -> np.ndarray:
    """Pairs of normal numbers by Marsaglia's polar method.

    Args:
        source: drawn from.
        rows: the number of the first generator, and the end.
        count: of pairs that each draws.
        dtype: float32 or float64.
        both: whether the second number of a pair is needed.

    Returns:
        ``(generators, count)``, or ``(generators, count, 2)`` with both.
    """
    generators = rows[1] - rows[0]
    numbers = np.empty((generators, count, 1 + both), dtype)
    if generators == 1 and count <= _FEW_PAIRS and dtype == _SINGLE:
        _fill_one_by_one(source, rows[0], numbers[0])
        return numbers
    missing_pairs = np.full(generators, count)
    while missing_pairs.any():
        x, y, square, accepted = _in_circle(source, rows, missing_pairs, dtype)
        # As exactly as the C library computes it.
        scale = np.log(square.astype(np.float64)).astype(dtype)
        scale *= dtype.type(-2)
        scale /= square
        np.sqrt(scale, out=scale)
        for place, coordinate in enumerate((y, x)[: 1 + both]):
            coordinate *= scale
            _deal(numbers[..., place], count - missing_pairs, accepted, coordinate)
        missing_pairs -= accepted
    return numbers


def _in_circle(
    source: Twister | Twisters, rows: tuple[int, int], missing_pairs: np.ndarray, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The coordinates of the next points within a circle, and the squares of their distances.

    Args:
        source: drawn from.
        rows: the number of the first generator, and the end.
        missing_pairs: points of each generator, at most.
        dtype: float32 or float64.

    Returns:
        Also how many there are of each generator.
    """
    words = dtype.itemsize // 2  # of a point
    most = LENGTH // words  # points that can be looked at
    tries = min(int(missing_pairs.min()), max(_PAIRS // len(missing_pairs), most))
    is_end = tries < most // 2
    if is_end:
        # About as many as are needed; the words of those after the last one remain.
        missing = int(missing_pairs.max())
        tries = min(int(missing * 4 / math.pi + 3 * math.sqrt(missing)) + 2, most)
        points = _points(source.peek(*rows, tries * words), dtype)
    else:  # no more than each of them needs
        points = _points(source.take(*rows, tries * words), dtype)
    x, y = points[:, 0::2], points[:, 1::2]
    square = x * x
    square += y * y
    good = square <= 1
    good &= square != 0
    if is_end:
        number = np.cumsum(good, axis=1, dtype=np.int32)
        used = np.minimum((number < missing_pairs[:, None]).sum(1) + 1, tries)
        source.skip(*rows, np.where(missing_pairs > 0, used, 0) * words)
        good &= number <= missing_pairs[:, None]
    inside = np.flatnonzero(good)
    place = inside * 2
    flat = points.reshape(-1)
    return flat.take(place), flat.take(place + 1), square.take(inside), good.sum(1)


def _deal(numbers: np.ndarray, target: np.ndarray, counts: np.ndarray, new: np.ndarray) -> None:
    """Write the next numbers of each generator to its place in its row."""
    ends = np.cumsum(counts)
    if len(new) > _SLICE * len(counts):
        starts = (ends - counts).tolist()
        for row, place, start, end in zip(
            numbers, target.tolist(), starts, ends.tolist(), strict=True
        ):
            row[place : place + end - start] = new[start:end]
        return
    places = np.repeat(target - ends + counts, counts)
    places += np.arange(len(new))
    numbers[np.repeat(np.arange(len(counts)), counts), places] = new


def _points(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Coordinates between -1 and 1, ``(generators, coordinates)``."""
    if dtype == np.float64:
        return 2 * uniform(words.reshape(-1), dtype).reshape(len(words), -1) - 1
    points = words.astype(np.float32)
    points *= np.float32(2.0**-31)
    points -= _ONE
    return np.minimum(points, np.float32(1 - 2.0**-23), out=points)


def _fill_one_by_one(source: Twister | Twisters, generator: int, numbers: np.ndarray) -> None:
    """The same for a few float32, in a third of the time."""
    for pair in numbers:
        while True:
            x, y = _TWICE * uniform(source.take(generator, generator + 1, 2)[0]) - _ONE
            square = x * x + y * y
            if square <= 1 and square != 0:
                break
        logarithm = np.float32(math.log(square))
        scale = np.sqrt(_MINUS_TWO * logarithm / square)
        pair[:] = (y * scale, x * scale)[: len(pair)]
