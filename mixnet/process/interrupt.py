"""Ctrl-C: not lost where Python drops it, and deferred in critical sections.

Python drops what is raised in a finalizer, in the callback of a weak reference or in one of the garbage
collector, where JAX has one: a loop that makes many arrays is there a few percent of its time. Then the
program would go on as if nobody had pressed anything.
"""

from __future__ import annotations

import _signal  # without enumerations, which take ten times as long as the rest
import _thread
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any, Self

_LATER_SECONDS = 0.005
"""By then Python has left the place where nothing can be raised."""


def say_again(dropped: Any) -> None:
    """A hook for what Python drops: an interrupt is sent again, everything else goes to the previous hook.

    Args:
        dropped: see ``sys.unraisablehook``.
    """
    if dropped.exc_type is KeyboardInterrupt:
        try:
            _thread.start_new_thread(_interrupt, ())
        except RuntimeError:  # the process is ending
            pass
        else:
            return
    if _before is not None:  # Python clears modules while it ends
        _before(dropped)


def _interrupt() -> None:
    time.sleep(_LATER_SECONDS)
    _thread.interrupt_main()


class Deferred:
    """``with Deferred():`` what is inside is done whole or, if Ctrl-C came before, not at all.

    An interrupt that comes inside is raised at the end. So nothing inside may wait for long. Only the main
    thread is ever interrupted: in others nothing happens.
    """

    _is_open = False  # whether the main thread is inside of one

    def __init__(self) -> None:
        self._handler: Any = None
        self._came: FrameType | None = None
        self._waits = False

    def __enter__(self) -> Self:
        # Inside another, and in other threads, there is nothing to do.
        if not Deferred._is_open and threading.current_thread() is threading.main_thread():
            handler = _signal.getsignal(_signal.SIGINT)
            if callable(handler):
                self._handler = handler
                _signal.signal(_signal.SIGINT, self._note)
                Deferred._is_open = True
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._waits, self._came = True, frame

    def __exit__(self, *_: object) -> None:
        if self._handler is None:
            return
        Deferred._is_open = False
        _signal.signal(_signal.SIGINT, self._handler)
        if self._waits:
            frame, self._came = self._came, None
            self._handler(signal.SIGINT, frame)


_before: Any = sys.unraisablehook


def install() -> None:
    """Let Python call ``say_again``, once."""
    global _before
    if sys.unraisablehook is not say_again:
        _before, sys.unraisablehook = sys.unraisablehook, say_again
