"""Programs in flight: those that XLA has started, but that may not have finished."""

from __future__ import annotations

import weakref
from collections import deque
from contextlib import suppress
from typing import Any

import jax

from mixnet.process import locks

_MOST = 16  # above this, the oldest are checked: they have usually ended long ago
_changing = locks.make("in flight")


class InFlight:
    """One result of every program that may still be running.

    The reference is weak: an array of a result that is no longer held is either not needed, or an
    input of a later program, which is tracked by a result of its own.

    A program is removed only after it has ended, so that no thread that waits overlooks it while another
    thread adds one or waits, too.
    """

    def __init__(self) -> None:
        self._results: deque[weakref.ref[Any]] = deque()

    def add(self, result: object) -> None:
        """Track a program by one of its results, unless it has ended."""
        if _is_done(result):
            return
        results = self._results
        with _changing:
            results.append(weakref.ref(result))
            while len(results) > _MOST:
                oldest = results[0]
                if not _is_done(oldest()):
                    break
                if results and results[0] is oldest:
                    results.popleft()
                else:  # a finalizer has changed them
                    self._remove(oldest)

    def wait(self) -> None:
        """Wait until all that are in flight now have ended.

        Raises:
            Exception: what a program raised while it ran.
        """
        for each in self._now():
            result = each()
            try:
                if not _is_done(result):
                    jax.block_until_ready(result)
            except Exception:
                self._remove(each)  # its error is raised once
                raise
            self._remove(each)

    def settle(self) -> None:
        """Wait until all of them have ended, ignoring errors, which readers of the results still get."""
        for each in self._now():
            result = each()
            if not _is_done(result):
                with suppress(Exception):
                    jax.block_until_ready(result)

    def _now(self) -> list[weakref.ref[Any]]:
        with _changing:
            return list(self._results)

    def _remove(self, reference: weakref.ref[Any]) -> None:
        """Remove a program that has ended, unless another thread or a finalizer has done so."""
        with _changing:
            # By identity: references to equal arrays are equal.
            if self._results and self._results[0] is reference:
                self._results.popleft()
                return
            for place, each in enumerate(list(self._results)):
                if each is reference:
                    del self._results[place]
                    return


def _is_done(result: Any) -> bool:
    return result is None or result.is_deleted() or result.is_ready()


in_flight = InFlight()
