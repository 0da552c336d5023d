"""Brief programs: they take less time than waking another thread, so they run in the thread that pushes them.

A worker starts 20 to 50 microseconds after it is woken. When its program ends, it competes for the GIL with
the thread that records, which releases it only every five milliseconds. That costs a step about 100
microseconds, more than a program of up to ``BRIEF`` gains by running beside Python. This only chooses the
thread and never affects values, so it may depend on measured time.
"""

from __future__ import annotations

from typing import Any

from mixnet.context import Context

BRIEF = 250e-6
"""Seconds of a call. The shortest so far counts, since a worker's call may have waited for the GIL."""

LONG = 4 * BRIEF
"""Seconds after which a program is no longer brief: a loop may make more iterations than before."""

MOST = 10_000
"""The most structures that are remembered; beyond that, all are forgotten."""

_brief: set[Any] = set()
is_brief = _brief.__contains__


def note_seconds(structure: object, seconds: float, context: Context) -> None:
    """Note how long a program ran, where it matters for the next run.

    Args:
        structure: the operations of its segment.
        seconds: the time of its call.
        context: where it ran; only on CPUs does the call last as long as the program.
    """
    if seconds > LONG:
        _brief.discard(structure)
    elif seconds < BRIEF and context.device.platform == "cpu":
        if len(_brief) >= MOST:
            _brief.clear()
        _brief.add(structure)
