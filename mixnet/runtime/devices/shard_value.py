"""Values that are shards of an array over several devices, and become arrays of their own when they are read.

The results of a joint step are weights and gradients, which the next joint step takes as a whole: most
shards are never looked at. Making an array of each takes a third of a small step's time in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import jax

from mixnet.process import locks
from mixnet.runtime.devices.in_flight import in_flight
from mixnet.runtime.value.value import Value

_dividing = locks.make("shards")


class Sharded:
    """An array over several devices, as a program returned it.

    Args:
        array: the whole.
        divide: its shards, in the order of the devices.
    """

    __slots__ = ("_divide", "_shards", "array")

    def __init__(self, array: jax.Array, divide: Callable[[Any], list[Any]]):
        self.array = array
        self._divide = divide
        self._shards: list[Any] | None = None

    def shard(self, place: int) -> Any:
        """The array on one device; all of them are made at the first call."""
        with _dividing:  # of two threads, the second one finds what the first one made
            if self._shards is None:
                self._shards = self._divide(self.array)
                in_flight.add(self._shards[0])  # the whole, by which its program was known, goes
            return self._shards[place]

    def is_held_by(self, values: int) -> bool:
        """Whether nobody but this number of values holds the array, and no shard was read.

        To be asked by a function that holds it in one variable besides.
        """
        return self._shards is None and sys.getrefcount(self) <= values + _OWN_REFERENCES


class Shard:
    """One device's part of an array over several.

    Args:
        whole: the array.
        place: of the device among those of the array.
    """

    __slots__ = ("place", "whole")

    def __init__(self, whole: Sharded, place: int):
        self.whole = whole
        self.place = place


def _count_references() -> int:
    """The references to an object that ``is_held_by`` sees if a variable of its caller is the only one."""

    class Probe:
        def count(self) -> int:
            return sys.getrefcount(self)

    probe = Probe()
    return probe.count()


_OWN_REFERENCES = _count_references()


class ShardValue(Value):
    """A computed value whose content is a shard until its ``array`` is read; then it is a plain value.

    It has the layout of a plain value, which becomes one of this class and ceases to be one in place.
    """

    __slots__ = ()

    @property
    def array(self) -> Any:
        """The array on the value's device."""
        content = _content(self)
        if type(content) is Shard:
            content = content.whole.shard(content.place)
            self.array = content
        return content

    @array.setter
    def array(self, array: object) -> None:
        _set_content(self, array)
        self.__class__ = Value  # type: ignore[assignment]

    def is_computed(self) -> bool:
        """Whether it has its content, which does not become an array by that."""
        return _content(self) is not None

    @property
    def whole(self) -> Sharded | None:
        """What it is a shard of; None if another thread has just read it."""
        content = _content(self)
        return content.whole if type(content) is Shard else None

    def is_shard(self, whole: Sharded, place: int) -> bool:
        """Whether it is the shard of this array at this place."""
        content = _content(self)
        return type(content) is Shard and content.whole is whole and content.place == place


_slot: Any = vars(Value)["array"]  # of the plain class: this one has a property of that name
_content, _set_content = _slot.__get__, _slot.__set__


def become_shard(value: Value, shard: Shard) -> None:
    """Let a pending value have a shard as its content: it is computed from now on."""
    # In this order: a reader in between sees a pending value.
    value.__class__ = ShardValue
    _set_content(value, shard)
