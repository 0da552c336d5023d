"""A step of a traced program, for code that reads programs step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np


class Abstract(Protocol):
    """What is known of an array before it is computed."""

    shape: tuple[int, ...]
    dtype: np.dtype
    ndim: int
    weak_type: bool

    def update(self, *, shape: tuple[int, ...]) -> Any:
        """The same with another shape."""


class Atom(Protocol):
    """A variable or literal of a jaxpr."""

    aval: Abstract


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
    invars: Sequence[Atom]
    outvars: Sequence[Atom]

    def replace(self, *args: object, **changes: object) -> Any:
        """A copy with some parts replaced."""
