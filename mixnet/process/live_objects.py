"""Objects of one kind that are in use, for those who have to visit all of them."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

T = TypeVar("T")


class LiveObjects(Generic[T]):
    """Objects that are in use, without keeping them in use.

    Other threads may add and drop objects while one thread visits them. A ``WeakSet`` does not allow
    that: it raises "Set changed size during iteration". Objects are told from each other by identity.
    """

    def __init__(self) -> None:
        self._by_id: weakref.WeakValueDictionary[int, T] = weakref.WeakValueDictionary()

    def add(self, member: T) -> None:
        """Visit this object, too, as long as it is in use."""
        self._by_id[id(member)] = member

    def discard(self, member: T) -> None:
        """Do not visit this object any more, though it may still be in use."""
        self._by_id.pop(id(member), None)

    def all(self) -> list[T]:
        """The objects that are in use now."""
        return [
            member for reference in self._by_id.valuerefs() if (member := reference()) is not None
        ]
