"""Memory that Python allocates for a piece of work."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

from mixnet.runtime.compile import background


def nothing_compiles() -> None:
    """Wait until the thread that compiles has done what earlier tests left to it: its memory would count."""
    background.submit(lambda: None).result(120)


def peak(work: Callable[[], object]) -> int:
    """The bytes that were allocated at most while the work ran."""
    nothing_compiles()
    tracemalloc.start()
    try:
        work()
    finally:
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return result
