"""``mx.sym``: every operator as a function on symbols, made when it is first asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from mixnet.ops.registry import OPERATORS
from mixnet.symbol.symbol import Symbol, make_function

_functions: dict[Any, Callable[..., Symbol]] = {}


def function(name: str) -> Callable[..., Symbol]:
    """The function of an operator.

    Raises:
        AttributeError: there is no such operator; the message has the nearest name.
    """
    op = OPERATORS.get(name)
    if op is None or "." in name:
        near = difflib.get_close_matches(name, names(), 1)
        hint = f" Did you mean {near[0]!r}?" if near else " dir(mx.sym) lists them."
        raise AttributeError(f"mx.sym has no operator {name!r}.{hint}")
    if (op, name) not in _functions:
        _functions[op, name] = make_function(op, name)
    return _functions[op, name]


def names() -> list[str]:
    """Names of all operators that ``mx.sym`` has."""
    return sorted(name for name in OPERATORS if "." not in name)
