"""Bulk: how many operations may be recorded before they run without being asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from mixnet.base import AttributeValueError

_listeners: list[Callable[[int], None]] = []


class _Size(threading.local):
    value = 0


_size = _Size()


def on_change(listener: Callable[[int], None]) -> Callable[[int], None]:
    """Let the recorder know: ``listener(size)`` runs in the thread that changed its size."""
    _listeners.append(listener)
    return listener


def set_bulk_size(size: int) -> int:
    """Set the bulk size of this thread; what was recorded before runs.

    Args:
        size: operations; 0 for the default (``MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN``), 1 runs each
            operation by itself.

    Returns:
        The size before.

    Raises:
        AttributeValueError: the size is negative or no integer.
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise AttributeValueError(
            f"set_bulk_size({size!r}): a size is an integer from 0 up; 0 means the default."
        )
    before, _size.value = _size.value, size
    for listener in _listeners:
        listener(size)
    return before


class bulk:
    """``with mx.engine.bulk(size):`` operations run in groups of ``size``; the rest at the end.

    Args:
        size: operations in a group.
    """

    def __init__(self, size: int):
        self._size = size
        self._before = 0

    def __enter__(self) -> None:
        self._before = set_bulk_size(self._size)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        set_bulk_size(self._before)
