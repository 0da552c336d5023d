"""``mx.nd``: every operator as a function on arrays, made when it is first asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from mixnet.ndarray.invoke import make_function
from mixnet.ops.registry import OPERATORS

_functions: dict[Any, Callable[..., Any]] = {}


def function(name: str) -> Callable[..., Any]:
    """The function of an operator.

    Raises:
        AttributeError: there is no such operator; the message has the nearest names.
    """
    op = OPERATORS.get(name)
    if op is None or "." in name:
        near = difflib.get_close_matches(name, names(), 1)
        hint = f" Did you mean {near[0]!r}?" if near else " dir(mx.nd) lists them."
        raise AttributeError(f"mx.nd has no operator {name!r}.{hint}")
    # Looked up by the operator, so that one registered anew is found.
    if (op, name) not in _functions:
        _functions[op, name] = make_function(op, name)
    return _functions[op, name]


def names() -> list[str]:
    """Names of all operators that ``mx.nd`` has."""
    return sorted(name for name in OPERATORS if "." not in name)
