"""Ctrl-C that is pressed while the garbage collector runs: it is said again, not lost.

Python drops what is raised in a finalizer, in the callback of a weak reference or in one of the garbage
collector, where JAX has one: a loop that makes many arrays is there a few percent of its time. Then the
program would go on as if nobody had pressed anything.
"""

from __future__ import annotations

import _thread
import sys
import time
from typing import Any

_LATER_SECONDS = 0.005
"""By then Python has left the place where nothing can be raised."""


def say_again(dropped: Any) -> None:
    """A hook for what Python drops: an interrupt is sent anew, all else goes to the hook before.

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


_before: Any = sys.unraisablehook


def install() -> None:
    """Let Python call ``say_again``, once."""
    global _before
    if sys.unraisablehook is not say_again:
        _before, sys.unraisablehook = sys.unraisablehook, say_again
