"""Operators that compute over several devices, exchanging data within the operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Operator = TypeVar("Operator")

AXIS = "device"
"""Name of the axis over devices, for collectives."""

Exchange = Callable[[Sequence[Any]], tuple[Any, ...]]


@dataclass(frozen=True)
class OverDevices(Generic[Operator]):
    """An operator in three steps: on every device alone, between them all, on every device again.

    Args:
        own: an operator of the first array; what a device tells the others.
        exchange: every device runs it at the same time; a function of a sequence of arrays with collectives
            along ``AXIS`` that returns as many of the same shapes. The gradient follows from it.
        rest: an operator of all arrays and what ``exchange`` made of ``own``'s, with the attributes of the
            operator itself.
        parties: function of the attributes: the name of the meeting and how many devices of a
            process take part (in a job of several processes all of those follow), None where a
            device computes alone.
    """

    own: Operator
    exchange: Exchange
    rest: Operator
    parties: Callable[..., tuple[str, int] | None]
