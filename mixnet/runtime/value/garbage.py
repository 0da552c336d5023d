"""Pending values of arrays stay while garbage is collected, for finalizers that read them.

Python clears the weak references to garbage before it calls finalizers. One that reads an array, to save or
to print it, would find that no segment computes it.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Mapping
from typing import Any

from mixnet.process.live_objects import LiveObjects
from mixnet.runtime.value.state import pending_segments
from mixnet.runtime.value.value import Value

left_to_workers: LiveObjects[Any] = LiveObjects()
"""Segments that workers run, and tasks that take the place of one."""

held: set[Value] = set()
"""The values that are held now."""


def references(value: Value) -> int:
    """How many references there are to a value that is held; a large number for one that is not."""
    return sys.getrefcount(value) if value in held else sys.maxsize


def _count_unread() -> int:
    made = Value.__new__(Value)
    reference = weakref.ref(made)
    held.add(made)
    del made
    value = reference()
    assert value is not None
    count = references(value)
    held.clear()
    return count


UNREAD = _count_unread()
"""``references`` of the variable of a function, if nothing but ``held`` refers to its value: no array does.

It is measured, because interpreters differ in how they count a variable.
"""


def _hold(phase: str, collection: Mapping[str, int]) -> None:
    """Hold the values that this collection may find to be garbage: new ones, if it looks only at new objects.

    A loop that records for long would otherwise visit all its values after every few hundred operations.
    """
    held.clear()
    if phase == "start":
        is_young = collection["generation"] == 0
        for segment in (*pending_segments(), *left_to_workers.all()):
            held.update(segment.pending_values(is_young))


gc.callbacks.append(_hold)
