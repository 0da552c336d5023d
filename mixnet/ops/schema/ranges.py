"""Ranges: the values of its type that an attribute accepts.

They stand in annotations. ``Annotated[int, Range(1)]`` is a whole number of 1 or more; for a tuple
a :class:`Range` holds for each of its numbers and :class:`Length` for how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mixnet.base import AxisError


@dataclass(frozen=True)
class Range:
    """The numbers from ``low`` to ``high``; one that is not a number is in no range.

    Args:
        low: the least; None for no limit.
        high: the greatest; None for no limit.
        above: numbers must be greater than it.
        below: numbers must be smaller than it.
    """

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None

    def __contains__(self, number: Any) -> bool:
        return (
            number == number
            and (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def allows(self, value: Any) -> bool:
        """Whether a number, or each number of a tuple, is in the range; None is."""
        if isinstance(value, tuple):
            return all(each is None or each in self for each in value)
        return value in self

    def __str__(self) -> str:
        if self.low is not None and self.low == self.high:
            return f"{self.low:g} alone"
        if self.low is not None and self.high is not None:
            return f"from {self.low:g} to {self.high:g}"
        words = []
        if self.low is not None:
            words.append(f"{self.low:g} or more")
        if self.above is not None:
            words.append(f"above {self.above:g}")
        if self.high is not None:
            words.append(f"{self.high:g} or less")
        if self.below is not None:
            words.append(f"below {self.below:g}")
        return " and ".join(words) or "a number"


@dataclass(frozen=True)
class Length:
    """How many numbers a tuple has.

    Args:
        least: the fewest.
        most: the most; ``least`` if it is None, infinite for no limit.
    """

    least: int
    most: float | None = None

    def allows(self, value: Any) -> bool:
        """Whether the tuple has as many."""
        most = self.least if self.most is None else self.most
        return self.least <= len(value) <= most

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least} number{'s' if self.least != 1 else ''}"
        if self.most == math.inf:
            return f"{self.least} or more numbers"
        return f"{self.least} to {self.most} numbers"


@dataclass(frozen=True)
class AxisOf:
    """Axes of an array, counted from 0, or from -1 backwards.

    Args:
        new: how many axes more the result has: the axis is one of the result.
        of_scalars: whether an array without axes counts as one with a single element along axis 0.
    """

    new: int = 0
    of_scalars: bool = False

    def check(self, owner: str, name: str, value: object, ndim: int) -> None:
        """Whether an array of ``ndim`` axes has the axis, or all of several; None is no axis.

        Raises:
            AxisError: it has not; names owner and argument.
        """
        axes = value if isinstance(value, tuple) else (value,)
        count = max(ndim + self.new, int(self.of_scalars))
        if all(axis is None or -count <= axis < count for axis in axes):
            return
        whose = "the result" if self.new else "the array"
        way_out = f"give one from {-count} to {count - 1}" if count else "leave it out"
        raise AxisError(
            f"{owner}: {name}={value!r} is out of range: {whose} has {count} "
            f"{'axis' if count == 1 else 'axes'}; "
            f"{way_out}."
        )

    def __str__(self) -> str:
        return "an axis of the result" if self.new else "an axis of the array"


Limit = Range | Length


def in_words(kind: str, limits: Iterable[Limit]) -> str:
    """A kind of value with its limits: ``"a shape of 1 to 3 numbers, each 1 or more"``."""
    lengths = [str(each) for each in limits if isinstance(each, Length)]
    ranges = [str(each) for each in limits if isinstance(each, Range)]
    if kind in ("a shape", "a tuple of numbers", "a tuple"):
        kind = " of ".join([kind.removesuffix(" of numbers"), *(lengths or ["numbers"])])
        return ", each ".join([kind, *ranges])
    return " ".join([kind, *(each if each[0].isalpha() else f"of {each}" for each in ranges)])


def in_short(limits: Iterable[Limit]) -> str:
    """The limits alone, as a docstring lists them."""
    limits = tuple(limits)
    lengths = [str(each) for each in limits if isinstance(each, Length)]
    ranges = [str(each) for each in limits if isinstance(each, Range)]
    return ", each ".join([*lengths, *ranges])
