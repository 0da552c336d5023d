"""What an exchange waits for: sockets that can be read or written; and a watch on it for another thread."""

from __future__ import annotations

import contextlib
import select
import selectors
import socket
from collections.abc import Generator, Mapping
from typing import TypeVar

Awaited = Mapping[int, int]
"""File descriptors with what is to happen to them: ``READABLE``, ``WRITABLE`` or both."""

READABLE, WRITABLE = selectors.EVENT_READ, selectors.EVENT_WRITE

WITHOUT_LIMIT: Awaited = {}
"""What goes on then waits for something else, without a limit."""

Result = TypeVar("Result")
Steps = Generator[Awaited, None, Result]
"""Work that yields where it has to wait. It continues in any thread."""


def happens(awaited: Awaited, seconds: float) -> bool:
    """Wait for one of the events.

    Args:
        awaited: at least one.
        seconds: to wait at most.
    """
    poll = select.poll()
    for number, events in awaited.items():
        reads = select.POLLIN if events & READABLE else 0
        poll.register(number, reads | (select.POLLOUT if events & WRITABLE else 0))
    return bool(poll.poll(1000 * seconds))


class Watch:
    """One thread sleeps until something happens that others have named; naming it does not wake it.

    All but ``wait`` is called with one lock.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: Awaited = {}
        self._bell, self._button = socket.socketpair()
        self._bell.setblocking(False)
        self._selector.register(self._bell, READABLE)

    def begin(self, awaited: Awaited) -> None:
        """Wake the thread when one of these events happens; at once if there are none."""
        self.end()
        self._watched = awaited
        for number, events in awaited.items():
            self._selector.register(number, events)
        if not awaited:
            self._button.send(b"!")

    def end(self) -> None:
        """Do not wake the thread any more."""
        watched, self._watched = self._watched, {}
        for number in watched:
            with contextlib.suppress(KeyError, OSError):  # closed meanwhile
                self._selector.unregister(number)

    def wait(self, seconds: float) -> bool:
        """Wait for one of the events, at most some seconds; returns whether there was one."""
        has_happened = bool(self._selector.select(seconds))
        if has_happened:
            with contextlib.suppress(BlockingIOError):
                self._bell.recv(64)
        return has_happened
