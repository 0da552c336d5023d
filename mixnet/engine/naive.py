"""The naive engine: runs work at once, in the caller's thread."""

from __future__ import annotations

from collections.abc import Sequence

from mixnet.engine.engine import Engine, Work
from mixnet.engine.variable import Var


class NaiveEngine(Engine):
    """Runs each piece of work before ``push`` returns; the order of pushing is the order."""

    def push(
        self,
        work: Work,
        reads: Sequence[Var] = (),
        writes: Sequence[Var] = (),
        resource: str = "compute",
        priority: int = 0,
        name: str = "",
    ) -> None:
        # An input that failed makes what is computed from it fail with the same error.
        error = next((var.error for var in reads if var.error is not None), None)
        if error is None:
            try:
                work()
            except Exception as raised:
                error = raised
        for var in writes:
            var.error = error
            var.version += 1

    def wait_for_var(self, var: Var) -> None:
        if var.error is not None:
            raise var.error

    def wait_for_all(self) -> None:
        """Nothing is ever pending."""


engine: Engine = NaiveEngine()
"""The engine of this process."""
