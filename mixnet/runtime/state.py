"""What a thread is doing: its pending segments, whether it records a tape, trains or traces."""

from __future__ import annotations

import threading
from typing import Any


class ThreadState(threading.local):
    """One per thread, read on every operation."""

    segment: Any = None  # the pending segment of the context used last
    segments: dict[Any, Any]  # context -> pending segment
    recording: bool = False  # autograd keeps operations
    training: bool = False  # operators behave as in training
    trace: Any = None  # a graph is being traced: operations become its nodes
    bulk: int = 0  # operations a segment may hold, 0: the setting's value
    isolation: Any = None  # what is recorded and written is only looked at: see ``isolate``

    def __init__(self) -> None:
        self.segments = {}


state = ThreadState()
