"""A step of a traced program, for code that reads programs step by step."""

from __future__ import annotations

from typing import Any, Protocol


class Equation(Protocol):
    """One primitive operation of a jaxpr: what JAX calls ``JaxprEqn``.

    Attributes:
        primitive: the operation; its ``name`` says which.
        params: its attributes, by name.
        invars: the variables and literals that it reads; each has ``aval``, with ``shape`` and ``dtype``.
        outvars: the variables that it gives a value.
    """

    primitive: Any
    params: dict[str, Any]
    invars: Any
    outvars: Any

    def replace(self, *args: Any, **changes: Any) -> Any:
        """A copy with some parts replaced."""
