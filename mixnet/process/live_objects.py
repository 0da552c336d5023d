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

    def add(self, item: T) -> None:
        """Visit this object, too, as long as it is in use."""
        self._by_id[id(item)] = item

    def discard(self, item: T) -> None:
        """Do not visit this object any more, though it may still be in use."""
        self._by_id.pop(id(item), None)

    def all(self) -> list[T]:
        """The objects that are in use now."""
        return [item for reference in self._by_id.valuerefs() if (item := reference()) is not None]
