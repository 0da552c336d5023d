"""Names of symbols that were not given one: ``NameManager`` counts, ``Prefix`` puts text before."""

from __future__ import annotations

import threading

from mixnet.base import classproperty


class NameManager:
    """Gives names ``hint0``, ``hint1``, ...; ``with NameManager():`` starts counting anew."""

    _current = threading.local()
    current = classproperty(lambda cls: current())

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._before: NameManager | None = None

    def get(self, name: str | None, hint: str) -> str:
        """``name`` if given, else the next name for ``hint``."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        self._before = current()
        NameManager._current.value = self
        return self

    def __exit__(self, *_: object) -> None:
        NameManager._current.value = self._before


class Prefix(NameManager):
    """A name manager that puts ``prefix`` before every name, given or counted.

    Args:
        prefix: text before the names.
    """

    def __init__(self, prefix: str):
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The prefix, then ``name`` or the next name for ``hint``."""
        return self._prefix + super().get(name, hint)


def current() -> NameManager:
    """The innermost name manager of this thread."""
    found = getattr(NameManager._current, "value", None)
    if found is None:
        found = NameManager._current.value = NameManager()
    return found
