"""Bulk size: the number of recorded operations after which they run, even if no value is read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mixnet.base import AttributeValueError
from mixnet.process.scopes import Entries, Exit
from mixnet.process.tasks import PerTask, write

_listeners: list[Callable[[Any], None]] = []


class Sizes(PerTask):
    """The sizes that asyncio tasks have set in their scopes; comparisons use the size of the current task."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(self.now())

    def __le__(self, count: int) -> bool:
        return bool(self.now() <= count)


class _Size(threading.local):
    value: Any = 0


_size = _Size()


def on_change(listener: Callable[[Any], None]) -> Callable[[Any], None]:
    """Call ``listener(size)`` in every thread that changes its size, an int or ``Sizes``."""
    _listeners.append(listener)
    return listener


def _tell() -> None:
    for listener in _listeners:
        listener(_size.value)


def set_bulk_size(size: int) -> int:
    """Set the bulk size of this thread; operations recorded earlier run first.

    Args:
        size: operations; 0 for the default (``MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN``), 1 runs each
            operation separately.

    Returns:
        The previous size.

    Raises:
        AttributeValueError: the size is negative or not an integer.
    """
    _check(size)
    before: int = write(_size, "value", size)
    _tell()
    return before


def _check(size: object) -> None:
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise AttributeValueError(
            f"set_bulk_size({size!r}): the size must be an integer of 0 or more; 0 means the default."
        )


class bulk:
    """``with mx.engine.bulk(size):`` operations run in groups of ``size``, and the remaining ones at the end.

    In an asyncio task, it sets the size of that task only.

    Args:
        size: operations in a group.
    """

    def __init__(self, size: int):
        self._size = size
        self._entered = Entries()

    def __enter__(self) -> bulk:
        _check(self._size)
        entry = self._entered.add()
        entry.parts.append(_Announcement())
        entry.set(_size, "value", self._size, Sizes)
        _tell()
        return self

    __exit__ = Exit()


class _Announcement:
    """Tells the listeners of the size once a scope has restored it."""

    def leave(self) -> None:
        _tell()
