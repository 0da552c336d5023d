"""The engine's interface: push work with what it reads and writes, wait for a variable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from mixnet.engine.variable import Var

Work = Callable[[], object]


class Engine(ABC):
    """Runs work when the variables that it reads and writes allow.

    Work that reads a variable runs beside other readers; work that writes it runs alone, in the
    order of pushing.
    """

    @abstractmethod
    def push(
        self,
        work: Work,
        reads: Sequence[Var] = (),
        writes: Sequence[Var] = (),
        resource: str = "compute",
        priority: int = 0,
        name: str = "",
    ) -> None:
        """Hand over ``work``; returns at once or after it has run, as the engine does.

        An exception of ``work`` is kept by the variables it writes and raised at their waiters.

        Args:
            work: called without arguments.
            reads: variables that it only reads.
            writes: variables that it changes.
            resource: kind of worker: ``compute``, ``copy``, ``io``, ``communication``.
            priority: larger runs earlier among what is ready.
            name: shown in timelines.
        """

    @abstractmethod
    def wait_for_var(self, var: Var) -> None:
        """Return when all writes pushed to ``var`` so far have finished.

        Raises:
            BaseException: what the last write raised.
        """

    @abstractmethod
    def wait_for_all(self) -> None:
        """Return when everything pushed so far has finished; raises what failed."""
