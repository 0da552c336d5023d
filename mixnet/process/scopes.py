"""Scopes that are always left: whatever interrupts a ``with`` block, its ends, or another scope's end.

A scope has ``_entered``, some :class:`Entries`, to which ``__enter__`` adds, and ``__exit__ = Exit()``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol

from mixnet.process.tasks import PerTask, current_task, enter


class Part(Protocol):
    """Something that the end of a scope undoes."""

    def leave(self) -> None:
        """Undo it; once more, after an interrupt, does nothing."""


class Entry:
    """One time that a scope was entered: by which thread and task, and what is to be undone."""

    __slots__ = ("owner", "parts")

    def __init__(self) -> None:
        self.owner = _owner()
        self.parts: list[Part] = []

    def set(self, local: object, name: str, value: object, kind: type[PerTask] = PerTask) -> None:
        """Set an attribute of a thread's object until the scope is left."""
        enter(local, name, value, kind, into=self.parts)

    def leave(self) -> None:
        """Undo all parts, the last one first."""
        # Each part is taken off the list after it was undone: an interrupt in between undoes it again.
        while self.parts:
            self.parts[-1].leave()
            self.parts.pop()


class Entries(list[Entry]):
    """The times that a scope was entered and has not been left; a copy of the scope has not been entered."""

    def add(self) -> Entry:
        """A new last entry."""
        self.append(Entry())
        return self[-1]

    def __reduce__(self) -> tuple[Any, ...]:
        return Entries, ()


class Exit:
    """``__exit__`` of a scope, which happens even where Ctrl-C comes just as Python calls it.

    A ``with`` block asks for ``__exit__`` before it calls ``__enter__``, and holds it until it is left.
    """

    def __get__(self, scope: Any, cls: type) -> Callable[..., None]:
        if scope is None:
            return lambda scope, *_: _leave_last(scope._entered, _owner())
        return _Leave(scope._entered)


class _Leave:
    """Leaves what the running thread and task entered last; if it was not called, when it is dropped."""

    _entries: Entries | None = None  # of one that an interrupt left half made

    def __init__(self, entries: Entries):
        self._owner = _owner()
        self._depth = _count(entries, self._owner)
        self._entries = entries

    def __call__(self, *_: object) -> None:
        if self._entries is not None:
            _leave_last(self._entries, self._owner)
            self._depth = sys.maxsize  # nothing is left to do

    def __del__(self) -> None:
        while self._entries and _count(self._entries, self._owner) > self._depth:
            _leave_last(self._entries, self._owner)


def _owner() -> tuple[int, Any]:
    return threading.get_ident(), current_task()


def _count(entries: Entries, owner: object) -> int:
    return sum(each.owner == owner for each in entries)


def _leave_last(entries: Entries, owner: object) -> None:
    """Leave the last entry of a thread and task; if there is none, as in another task, the last of all."""
    owned = [each for each in entries if each.owner == owner] or entries
    for last in owned[-1:]:
        last.leave()
        entries.remove(last)
