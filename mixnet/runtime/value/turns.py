"""Turns: an engine variable for each user object that several calls share.

The calls write the variable, so calls of one Python operator run one after another, in the order in which
they were recorded, on any thread, and without holding a lock.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence

from mixnet.engine.variable import Var
from mixnet.process import locks


class _Turn(Var):
    __slots__ = ("__weakref__",)


_turns: weakref.WeakValueDictionary[Hashable, _Turn] = weakref.WeakValueDictionary()
_lock = locks.make("custom operator")


def turns_of(keys: Sequence[Hashable]) -> tuple[Var, ...]:
    """The variables of shared objects, which exist as long as they are referenced."""
    turns = []
    for key in keys:
        with _lock:
            turn = _turns.get(key)
            if turn is None:
                turn = _turns[key] = _Turn(f"operator {key}")
        turns.append(turn)
    return tuple(turns)
