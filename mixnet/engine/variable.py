"""Var: what work reads and writes, so that the engine can order it."""

from __future__ import annotations

import threading


class Var:
    """A resource under the engine's order: an array, a random state, a file, a key of a store.

    ``version`` counts the writes that have finished. ``error`` is what the last write raised; it
    is raised again at whoever waits for the variable.
    """

    __slots__ = ("error", "finished", "name", "version")

    def __init__(self, name: str = ""):
        self.name = name
        self.version = 0
        self.error: BaseException | None = None
        self.finished: threading.Event | None = None  # set by engines that run work later

    def __repr__(self) -> str:
        return f"<Var {self.name!r} version {self.version}>"
