"""Functions and other callable objects, as messages and pictures name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function, or of the class of another callable object."""
    return str(getattr(function, "__name__", type(function).__name__))
