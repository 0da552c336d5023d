"""What stands in a node without being of the registry: operators that passes put into graphs."""

from __future__ import annotations

from typing import Any


class PlainOperator:
    """What most of them have in common: one output, no attributes, no states, no randomness.

    A subclass has a ``name`` and ``apply``, and says what is otherwise.
    """

    differentiable = False
    takes_key = False
    takes_training = False
    variadic: str | None = None
    states: tuple[str, ...] = ()
    attributes: dict[str, Any] = {}

    def __init__(self) -> None:
        self.calls: dict[Any, Any] = {}  # the runtime's memo, as that of an ``Op``

    def num_outputs(self, statics: Any = (), num_inputs: int = 0) -> int:
        """One."""
        return 1

    def num_visible(self, statics: Any = (), num_inputs: int = 0) -> int:
        """All outputs."""
        return self.num_outputs(statics, num_inputs)

    def keywords(self, statics: Any, scalars: Any = ()) -> dict[str, Any]:
        """No attributes."""
        return {}


def shared_by(op: Any, statics: Any) -> tuple[Any, ...]:
    """Keys of the objects that calls of an operator share with others; see ``Op``."""
    find = getattr(op, "shared", None)
    return () if find is None else find(statics)
