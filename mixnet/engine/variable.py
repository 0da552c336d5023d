"""Variables: objects that tasks read and write, by which the engine orders the tasks."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

_numbers = itertools.count()


class Var:
    """A resource ordered by the engine: an array, a random state, a file, a key of a store.

    ``version`` counts the writes that have finished, ``pushed`` those that were pushed.
    ``number`` is unique in the process; names need not be.
    ``error`` is the error of the last write; it is raised again in every caller that waits for the variable.

    The engine's order is stored here: ``holders`` are the tasks that may use the variable now (many
    readers, or one writer), ``queue`` the next ones, in push order.

    Args:
        name: shown in timelines.
    """

    __slots__ = (
        "deleted",
        "error",
        "holders",
        "name",
        "number",
        "pushed",
        "queue",
        "version",
        "writing",
    )

    def __init__(self, name: str = ""):
        self.name = name
        self.number = next(_numbers)
        self.version = 0
        self.pushed = 0
        self.error: BaseException | None = None
        self.deleted = False
        self.holders: set[Any] = set()
        self.writing = False
        self.queue: deque[tuple[Any, bool]] = deque()  # (task, whether it writes)

    def __repr__(self) -> str:
        return f"<Var {self.name!r} version {self.version}>"
