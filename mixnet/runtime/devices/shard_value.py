"""Values that are shards of an array over several devices, and become arrays of their own when they are read.

The results of a joint step are weights and gradients, which the next joint step reads as a whole: most
shards are never read. Creating an array for each would be a third of a small step's time in Python.
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
        divide: returns its shards, in the order of the devices.
    """

    __slots__ = ("_divide", "_shards", "array")

    def __init__(self, array: jax.Array, divide: Callable[[Any], list[Any]]):
        self.array = array
        self._divide = divide
        self._shards: list[Any] | None = None

    def shard(self, place: int) -> Any:
        """The array on one device; the first call creates those of all devices."""
        with _dividing:  # the second of two threads uses what the first one made
            if self._shards is None:
                self._shards = self._divide(self.array)
                # The undivided array, which represented its program, is released.
                in_flight.add(self._shards[0])
            return self._shards[place]

    def is_held_by(self, values: int) -> bool:
        """Whether only this number of values refers to the array, and no shard was read.

        The calling function must hold it in exactly one variable.
        """
        return self._shards is None and sys.getrefcount(self) <= values + _OWN_REFERENCES


class Shard:
    """One device's part of an array over several.

    Args:
        whole: the array.
        place: index of the device among those of the array.
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

    It has the layout of a plain value: an object changes between the two classes in place.
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
        """Whether it is computed; asking does not create the array."""
        return _content(self) is not None

    @property
    def whole(self) -> Sharded | None:
        """The array that it is a shard of; None if another thread has just read it."""
        content = _content(self)
        return content.whole if type(content) is Shard else None

    def is_shard(self, whole: Sharded, place: int) -> bool:
        """Whether it is the shard of this array at this place."""
        content = _content(self)
        return type(content) is Shard and content.whole is whole and content.place == place


_slot: Any = vars(Value)["array"]  # the slot of the plain class, which the property below hides
_content, _set_content = _slot.__get__, _slot.__set__


def become_shard(value: Value, shard: Shard) -> None:
    """Make a shard the content of a pending value, which is computed from then on."""
    # One for each value, an alias too: ``is_held_by`` counts them.
    own = Shard(shard.whole, shard.place)
    # In this order: a reader in between sees a pending value.
    value.__class__ = ShardValue
    _set_content(value, own)
