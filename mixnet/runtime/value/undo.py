"""Undoing writes: work that fails or is interrupted leaves arrays and counts as they were."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from mixnet.process.interrupt import Deferred
from mixnet.runtime.value.change import array_lock, replace
from mixnet.runtime.value.state import NotedWrites, state

Result = TypeVar("Result")


class Owner(Protocol):
    """An object with other state than arrays that has to be restored."""

    def _mx_changing(self) -> Iterable[dict[Any, Any]]:
        """The dicts that a change may write to: attributes, counts."""


class Writes(NotedWrites):
    """Writes of a thread that can be undone."""

    __slots__ = ("owners",)

    def __init__(self) -> None:
        NotedWrites.__init__(self)
        self.owners: dict[int, Owner] = {}  # owners that the open scopes will restore

    def undo(self, start: int = 0) -> None:
        """Undo all writes from ``start`` on, the latest first, except those that another thread has
        overwritten.
        """
        for owner, attribute, before, after in reversed(self[start:]):
            with array_lock:
                if getattr(owner, attribute) is not after:
                    continue
                if attribute == "_value":
                    replace(owner, before)
                else:
                    setattr(owner, attribute, before)
        self.drop(start)


def all_or_nothing(work: Callable[[], Result], owners: Sequence[Owner] = ()) -> Result:
    """Run ``work``; if it fails or is interrupted, its writes are undone.

    The contents to restore are held until the end, so that no program that is pushed before reuses their
    memory.

    Args:
        work: records and writes arrays.
        owners: other objects that it changes.
    """
    outer = None if state.undo is None else state.undo()
    if outer is not None and outer.owners.keys() >= set(map(id, owners)):
        return work()  # the scope around it restores everything
    writes = Writes() if outer is None else outer
    start, owners_before, undo_before = len(writes), writes.owners, state.undo
    start_before, writes.start = writes.start, start
    owned, copies = owners_before.copy(), []
    for owner in {id(each): each for each in owners}.values() if len(owners) > 1 else owners:
        owned[id(owner)] = owner
        for each in owner._mx_changing():
            copies.append((each, each.copy()))
    # Weak: if an interrupt prevents the cleanup, nothing is noted for a scope that has ended.
    writes.owners, state.undo = owned, weakref.ref(writes)
    try:
        return work()
    except BaseException:
        with Deferred():
            writes.undo(start)
            for each, copy in copies:
                _restore(each, copy)
        raise
    finally:
        writes.owners, state.undo = owners_before, undo_before
        writes.start = start_before


def _restore(contents: dict[Any, Any], before: dict[Any, Any]) -> None:
    contents.update(before)
    for key in contents.keys() - before.keys():
        del contents[key]
