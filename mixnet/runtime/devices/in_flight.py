"""Programs in flight: those that XLA has started, but that may not have finished."""

from __future__ import annotations

import weakref
from collections import deque
from contextlib import suppress
from typing import Any

import jax


class InFlight:
    """One result of every program that may still be running.

    The reference is weak: an array of a result that is no longer held is either not needed, or an
    input of a later program, which is tracked by a result of its own.
    """

    def __init__(self) -> None:
        self._results: deque[weakref.ref[Any]] = deque()

    def add(self, result: object) -> None:
        """Track a program by one of its results."""
        results = self._results
        results.append(weakref.ref(result))
        while len(results) > 16:  # the oldest has usually ended long ago
            oldest = results.popleft()
            if not _is_done(oldest()):
                results.appendleft(oldest)
                break

    def wait(self) -> None:
        """Wait until all of them have ended.

        Raises:
            Exception: what a program raised while it ran.
        """
        while True:
            try:
                result = self._results.popleft()()
            except IndexError:  # none is left
                return
            if not _is_done(result):
                jax.block_until_ready(result)

    def settle(self) -> None:
        """Wait until all of them have ended, ignoring errors, which readers of the results still get."""
        for each in list(self._results):
            result = each()
            if not _is_done(result):
                with suppress(Exception):
                    jax.block_until_ready(result)


def _is_done(result: Any) -> bool:
    return result is None or result.is_deleted() or result.is_ready()


in_flight = InFlight()
