"""Programs that end sooner than another thread would take them over: they run where they are pushed.

A worker that is woken begins after 20 to 50 microseconds. When its program ends, it competes for Python's
lock with the thread that records, which gives it up only every five milliseconds. Only the
thread depends on this, never the values, so the clock may decide.
"""

from __future__ import annotations

from typing import Any

from mixnet.context import Context

BRIEF = 75e-6
"""Seconds of a call: the shortest so far counts, since a worker's call may have waited for Python's lock."""

LONG = 10 * BRIEF
"""Seconds after which a program was not brief after all: a loop may run more often than before."""

MOST = 10_000
"""Structures that are remembered; then all are forgotten, and a worker runs the next of each."""

_brief: set[Any] = set()
is_brief = _brief.__contains__


def note_seconds(structure: object, seconds: float, context: Context) -> None:
    """Note how long a program ran, where that decides something.

    Args:
        structure: the operations of its segment.
        seconds: of its call.
        context: where it ran. Only on CPUs does a call take as long as its program.
    """
    if seconds > LONG:
        _brief.discard(structure)
    elif seconds < BRIEF and context.device.platform == "cpu":
        if len(_brief) >= MOST:
            _brief.clear()
        _brief.add(structure)
