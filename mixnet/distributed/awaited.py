"""The events that an exchange waits for, and how another thread waits for them."""

from __future__ import annotations

import contextlib
import select
import selectors
import socket
from collections.abc import Generator, Mapping
from typing import TypeVar

Awaited = Mapping[int, int]
"""File descriptors with the events to wait for: ``READABLE``, ``WRITABLE`` or both."""

READABLE, WRITABLE = selectors.EVENT_READ, selectors.EVENT_WRITE

WITHOUT_LIMIT: Awaited = {}
"""No event: the work waits by itself, however long that takes."""

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
    """Lets one thread sleep until an event that other threads have set; setting it does not wake the thread.

    All methods but ``wait`` are called with the same lock.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: Awaited = {}
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._selector.register(self._receiver, READABLE)

    def begin(self, awaited: Awaited) -> None:
        """Wake the thread when one of these events happens; at once if there are none."""
        self.end()
        self._watched = awaited
        for number, events in awaited.items():
            self._selector.register(number, events)
        if not awaited:
            self._sender.send(b"\0")

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
                self._receiver.recv(64)
        return has_happened
