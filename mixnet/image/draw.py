"""The random numbers of images that record iterators augment.

MXNet's iterators have generators of their own, one for each thread. With ``seed_aug`` each image starts
from a seed that follows from its place in the batch, or in what is read of the file at once; otherwise
images are drawn for in order, here as one thread of MXNet does it.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from mixnet.ops.generators.mersenne import Twister, below

FIRST_SEED = 111
"""Of MXNet's first thread; images with ``seed_aug`` count from here, too."""


class Draws(random.Random):
    """Python's interface to numbers that C++ draws from words.

    Args:
        words: draws as many as it is asked for.
    """

    def __init__(self, words: Callable[[int], np.ndarray]):
        super().__init__(0)
        self._words = words

    def random(self) -> float:
        """A float32 in [0, 1)."""
        number = np.float32(int(self._words(1)[0])) * np.float32(2.0**-32)
        return float(min(number, np.nextafter(np.float32(1), np.float32(0))))

    def getrandbits(self, k: int, /) -> int:
        """An integer of ``k`` random bits."""
        number = 0
        for word in self._words(-(-k // 32)).tolist():
            number = number << 32 | word
        return number >> -k % 32

    def randint(self, a: int, b: int) -> int:
        """An integer from ``a`` to ``b``."""
        return a + below(np.array([b - a + 1]), self._words)[0]

    def is_heads(self) -> bool:
        """Whether a coin shows heads: a float64 below a half."""
        return int(self._words(2)[1]) < 2**31


def of_seed(seed: int) -> Draws:
    """The draws of an image with its own generator."""
    twister: list[Twister] = []

    def words(count: int) -> np.ndarray:
        if not twister:
            twister.append(Twister(seed % 2**32))
        numbers: np.ndarray = twister[0].take(0, 1, count)[0]
        return numbers

    return Draws(words)


def of_words(drawn: np.ndarray) -> Draws:
    """The draws of an image whose words were drawn before."""
    place = 0

    def words(count: int) -> np.ndarray:
        nonlocal place
        place += count
        return drawn[place - count : place]

    return Draws(words)
