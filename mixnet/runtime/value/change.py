"""Atomic changes: several arrays get new contents together, or none does.

It uses these attributes of a handle: ``_value``, its content; ``_link.version``, which views compare with the
version that they read; ``_link.base``, the array that a view is part of; and ``_written_to()``, which returns
the base's content with the view's part replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from mixnet.process import locks
from mixnet.runtime.value.handle import Handle
from mixnet.runtime.value.state import noted_writes, state
from mixnet.runtime.value.value import Value

Result = TypeVar("Result")

array_lock = locks.make("array")
"""Held while contents are compared with those that were read, and replaced."""


class Change:
    """New contents of arrays, written atomically when it is committed.

    If another thread has meanwhile replaced a content that the new ones were computed from, nothing is
    written and the change starts again. So no thread waits for another's update, and no update is lost.
    """

    __slots__ = ("_before", "_flags", "_new", "_sparse")

    def __init__(self) -> None:
        # array -> the content that something was computed from
        self._before: dict[Handle, Value] = {}
        self._new: dict[Handle, Value] = {}
        self._sparse: list[tuple[Handle, Value]] = []
        self._flags: list[tuple[Any, str, bool, bool]] = []  # object, attribute, before and after

    def reads(self, handle: Handle) -> None:
        """Record that the new contents depend on the current content of an array."""
        if handle._is_sparse:
            return
        link = handle._link
        base = handle if link is None or link.base is None else link.base
        self._before.setdefault(base, base._value)

    def write(self, handle: Handle, value: Value) -> None:
        """Set an array to ``value``, of the same shape, dtype and context; views write to their base."""
        if handle._is_sparse:  # a sparse array holds other arrays, which it replaces itself
            self._sparse.append((handle, value))
            return
        link = handle._link
        base = handle if link is None or link.base is None else link.base
        if state.recording:
            handle._check_write()
            base._check_write()
        if base is not handle:
            previous = self._new.get(base)
            if previous is None:
                previous = self._before.setdefault(base, base._value)
            value = handle._written_to(previous, value)
        self._new[base] = value

    def write_all(
        self, handles: Sequence[Handle], before: Sequence[Value], after: Sequence[Value]
    ) -> None:
        """``reads`` and ``write`` of arrays, none sparse or a view, where no operations are recorded.

        Args:
            handles: the arrays.
            before: their contents, from which the new ones were computed.
            after: the new contents.
        """
        self._before.update(zip(handles, before, strict=True))
        self._new.update(zip(handles, after, strict=True))

    def set_flags(self, owners: Iterable[Any], attribute: str, flag: bool) -> None:
        """Set a flag of objects together with the arrays."""
        for owner in owners:
            self._flags.append((owner, attribute, getattr(owner, attribute), flag))

    def commit(self) -> bool:
        """Write the new contents; returns False, without changes, if an array was written meanwhile."""
        writes = noted_writes()
        first = 0
        if writes is not None:
            writes += self._flags
            first = len(writes)
        pairs: dict[Any, list[tuple[Value, Value]]] = {}
        previous, own_pairs = None, []  # most values in a row are of one segment
        for handle, value in self._new.items():
            old = handle._value
            if writes is not None:
                writes.append((handle, "_value", old, value))
            segment = value.segment
            if segment is not None:
                if segment is not previous:
                    previous, own_pairs = segment, pairs.setdefault(segment, [])
                own_pairs.append((value, old))
        for segment, replaced in pairs.items():
            segment.replaces(replaced)
        with array_lock:
            for handle, value in self._before.items():
                if handle._value is not value:
                    return False
            before: list[tuple[Handle, Value]] = []
            try:
                for handle, value in self._new.items():
                    before.append((handle, handle._value))
                    link = handle._link  # as replace() does, without a call
                    if link is None:
                        handle._value = value
                    else:
                        link.version += 1
                        handle._value = value
                        link.version += 1
                for owner, attribute, _, flag in self._flags:
                    setattr(owner, attribute, flag)
            except BaseException:  # Ctrl-C, half-way
                self._put_back(before)
                raise
        if writes is not None:
            writes.join(first)
        for handle, value in self._sparse:
            handle._write(value)
        return True

    def _put_back(self, before: list[tuple[Handle, Value]]) -> None:
        """Give arrays and flags their earlier contents."""
        for handle, value in before:
            replace(handle, value)
        for owner, attribute, flag, _ in self._flags:
            setattr(owner, attribute, flag)


def replace(handle: Handle, value: Value) -> None:
    """Replace the content of an array that is not a view."""
    link = handle._link
    if link is None:
        handle._value = value
        return
    # Views check the version before they read: a reader between these lines reads again.
    link.version += 1
    handle._value = value
    link.version += 1


def assign(handle: Handle, value: Value) -> None:
    """Replace the content of an array that is not a view unconditionally."""
    before = handle._value  # dropped after the lock is released
    segment = value.segment
    if segment is not None:
        segment.replaces([(value, before)])
    with array_lock:
        replace(handle, value)


def swap(handle: Handle, expected: Value, value: Value) -> bool:
    """``assign`` if the array still holds ``expected``; returns whether it did."""
    segment = value.segment
    if segment is not None:
        segment.replaces([(value, expected)])
    with array_lock:
        is_expected = handle._value is expected
        if is_expected:
            replace(handle, value)
    return is_expected


def change(body: Callable[[Change], Result]) -> Result:
    """Run ``body``, which reads arrays and writes to the change, until no other thread interferes.

    Args:
        body: may be called several times, so its side effects must be repeatable.
    """
    while True:
        attempt = Change()
        result = body(attempt)
        if attempt.commit():
            return result
