"""Functions passed by a caller: whether they are callable, and whether their results are valid."""

from __future__ import annotations

import contextlib
from typing import Any

from mixnet.base import AttributeKindError, AttributeTypeError, AttributeValueError, checked_count


def checked_function(owner: str, name: str, function: object, example: str) -> Any:
    """The function, if it is one.

    Args:
        owner: who takes it, for the error.
        name: what it is called there.
        function: what was given.
        example: one, as a program would write it.

    Raises:
        AttributeTypeError: it cannot be called.
    """
    if not callable(function):
        raise AttributeTypeError(
            f"{owner}: {name} must be a function, such as {example}, not {function!r:.60}."
        )
    return function


def checked_pair(owner: str, name: str, pair: object, example: str) -> tuple[Any, Any]:
    """The two things that a function returned.

    Args:
        owner: who called it, for the error.
        name: what the function is called there.
        pair: what it returned.
        example: what it should end with.

    Raises:
        AttributeKindError: they are not two.
    """
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        description = f"{len(pair)} things" if isinstance(pair, (list, tuple)) else _kind(pair)
        raise AttributeKindError(f"{owner}: {name} returned {description}; let it {example}.")
    return pair[0], pair[1]


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def checked_while_loop(cond: Any, func: Any, max_iterations: Any) -> int:
    """How many turns a ``while_loop`` makes at most; raises unless its functions are functions.

    Raises:
        AttributeTypeError: a function is not callable, or the number is not a whole number; a text is an
            AttributeKindError.
        AttributeValueError: there is no number, or it is below 1.
    """
    if max_iterations is None:
        raise AttributeValueError("while_loop: pass max_iterations, the rows of the outputs.")
    checked_function("while_loop", "cond", cond, "def cond(*loop_vars)")
    checked_function("while_loop", "func", func, "def func(*loop_vars)")
    turns = max_iterations
    if isinstance(turns, str):
        raise AttributeKindError(
            f"while_loop: max_iterations must be a whole number, not {turns!r:.60}."
        )
    with contextlib.suppress(TypeError, ValueError):
        turns = int(turns)
    return checked_count("while_loop: max_iterations", turns)
