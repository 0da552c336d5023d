"""The record that describes how an operator is tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Record:
    """How an operator is tested.

    Args:
        op: its registered name.
        shapes: shapes of the random inputs.
        attrs: attributes.
        reference: NumPy function of the inputs; the attributes are in its text.
        low: least random input.
        high: greatest random input.
        gradient: whether the derivative is checked by finite differences.
        integers: which inputs are whole numbers in [0, low integers].
        dtypes: dtypes of inputs that are not the floats of the test; random over all their numbers.
        stored: True where stored results of MXNet are the reference (tests/parity).
    """

    op: str
    shapes: list[tuple[int, ...]] = field(default_factory=lambda: [(2, 3)])
    attrs: dict[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    low: float = -1.0
    high: float = 1.0
    gradient: bool = True
    integers: dict[int, int] = field(default_factory=dict)
    dtypes: dict[int, str] = field(default_factory=dict)
    stored: bool = False
