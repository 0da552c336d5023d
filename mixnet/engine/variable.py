"""Var: what work reads and writes, so that the engine can order it."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

_numbers = itertools.count()


class Var:
    """A resource under the engine's order: an array, a random state, a file, a key of a store.

    ``version`` counts the writes that have finished, ``pushed`` those that were handed over.
    ``number`` tells it from every other variable of the process; names need not.
    ``error`` is what the last write raised; it is raised again at whoever waits for the variable.

    The engine keeps its order here: ``holders`` are the tasks that may use the variable now (many
    that read, or the one that writes), ``queue`` those that come after, in the order of pushing.
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
