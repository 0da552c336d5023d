"""How much of Python's stack is left, for what must not stop halfway with a ``RecursionError``."""

from __future__ import annotations

import sys

CALLS_OF_PROGRAM = 300
"""The most nested calls with which a program is compiled and run."""

CALLS_OF_PUSH = 60
"""The most nested calls with which pending operations are pushed, and their results waited for."""


def is_stack_left(calls: int) -> bool:
    """Whether this thread may nest so many calls more; with a lower limit than that, whatever it may."""
    most = sys.getrecursionlimit() - calls
    if most <= 0:
        return True
    try:
        sys._getframe(most)
    except ValueError:  # the stack is not that deep
        return True
    return False


def check_stack() -> None:
    """Check that pending operations can be pushed.

    Raises:
        RecursionError: they could be pushed only in part.
    """
    if not is_stack_left(CALLS_OF_PUSH):
        raise RecursionError(
            f"maximum recursion depth exceeded: fewer than {CALLS_OF_PUSH} calls are left, which it takes to "
            f"run operations. End the recursion earlier, or raise the limit with sys.setrecursionlimit()."
        )
