"""Automatic names of symbols: ``NameManager`` counts, ``Prefix`` prepends text."""

from __future__ import annotations

import threading
from typing import Any

from mixnet.base import AttributeTypeError, _MXClassPropertyMetaClass, classproperty
from mixnet.process.scopes import Entries, Exit
from mixnet.process.tasks import read, write


class NameManager(metaclass=_MXClassPropertyMetaClass):
    """Gives names ``hint0``, ``hint1``, ...; ``with NameManager():`` starts counting again."""

    _current = threading.local()

    # The name manager of this thread; it can be set.
    current: Any = classproperty(lambda cls: current()).setter(
        lambda cls, value: write(NameManager._current, "value", value)
    )

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._entered = Entries()

    def get(self, name: str | None, hint: str) -> str:
        """``name`` if given, else the next name for ``hint``."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        self._entered.add().set(NameManager._current, "value", self)
        return self

    __exit__ = Exit()


class Prefix(NameManager):
    """A name manager that puts ``prefix`` before every name, given or counted.

    Args:
        prefix: text before the names.
    """

    def __init__(self, prefix: str):
        super().__init__()
        if not isinstance(prefix, str):
            raise AttributeTypeError(f"A prefix must be a string, not {prefix!r:.60}.")
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The prefix, then ``name`` or the next name for ``hint``."""
        return self._prefix + super().get(name, hint)


def current() -> NameManager:
    """The innermost name manager of this thread."""
    manager: NameManager | None = read(NameManager._current, "value")
    if manager is None:
        manager = NameManager()
        write(NameManager._current, "value", manager)
    return manager
