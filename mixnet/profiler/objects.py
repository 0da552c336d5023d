"""User-defined objects in a profile: tasks, frames, events, counters, markers, and their domains."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from mixnet.base import AttributeTypeError, OperatorValueError
from mixnet.engine.timeline import now
from mixnet.process import locks
from mixnet.profiler.session import session

SCOPES = ("global", "process", "thread", "task", "marker")


class Domain:
    """A heading for tasks, frames, counters and markers.

    Args:
        name: shown in the table and the trace.
    """

    def __init__(self, name: str):
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A ``Task`` of this domain.

        Args:
            name: shown in the trace and the table.
        """
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A ``Frame`` of this domain.

        Args:
            name: shown in the trace and the table.
        """
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """A ``Counter`` of this domain.

        Args:
            name: shown in the trace and the table.
            value: the first number; none is recorded by default.
        """
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A ``Marker`` of this domain.

        Args:
            name: shown in the trace and the table.
        """
        return Marker(self, name)


class _Span:
    """Something with a start and an end; kept if the profile is on at the end."""

    _category: str

    def __init__(self, name: str):
        self.name = name
        self._started: int | None = None

    def start(self) -> None:
        """Begin, or begin again."""
        self._started = now()

    def stop(self) -> None:
        """End. Without a start before it nothing happens."""
        started, self._started = self._started, None
        if started is not None and session.on:
            session.add("span", self._category, self.name, started, ended=now())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.name


class Task(_Span):
    """A piece of work: ``start()`` and ``stop()``, or ``with task:``. It may overlap others.

    Args:
        domain: its heading.
        name: shown in the table and the trace.
    """

    def __init__(self, domain: Domain, name: str):
        super().__init__(name)
        self._category = _checked(domain, self).name


class Frame(_Span):
    """One round of something that repeats: ``start()`` and ``stop()``, or ``with frame:``.

    Args:
        domain: its heading.
        name: shown in the table and the trace.
    """

    def __init__(self, domain: Domain, name: str):
        super().__init__(name)
        self._category = f"{_checked(domain, self).name},frame"


class Event(_Span):
    """A span without a domain: ``start()`` and ``stop()``, or ``with event:``.

    Args:
        name: shown in the table and the trace.
    """

    _category = "event"


class Counter:
    """A number over time.

    Args:
        domain: its heading.
        name: shown in the table and the trace.
        value: its initial value; None means 0, and no event is recorded.
    """

    def __init__(self, domain: Domain, name: str, value: float | None = None):
        self.name = name
        self._category = f"{_checked(domain, self).name},counter"
        # Reentrant: a signal handler of the program may count, too.
        self._lock = locks.renewed(threading.RLock())
        self._value: float = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: float) -> None:
        """Set the number.

        Args:
            value: the new number.
        """
        with self._lock:
            self._set(value)

    def increment(self, delta: float = 1) -> None:
        """Add ``delta``."""
        with self._lock:
            self._set(self._value + delta)

    def decrement(self, delta: float = 1) -> None:
        """Subtract ``delta``."""
        self.increment(-delta)

    def _set(self, value: float) -> None:
        self._value = value
        if session.on:
            session.add("value", self._category, self.name, now(), value=value)

    def __iadd__(self, delta: float) -> Self:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Self:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """An instant.

    Args:
        domain: its heading.
        name: shown in the table and the trace.
    """

    def __init__(self, domain: Domain, name: str):
        self.domain = _checked(domain, self)
        self.name = name

    def mark(self, scope: str = "process") -> None:
        """Mark now.

        Args:
            scope: what it concerns: ``global``, ``process``, ``thread``, ``task`` or ``marker``.

        Raises:
            AttributeValueError: another scope.
        """
        if scope not in SCOPES:
            raise OperatorValueError(
                f"mark(scope={scope!r}): expected one of {', '.join(map(repr, SCOPES))}."
            )
        if session.on:
            category = f"{self.domain.name},instant_marker"
            session.add("instant", category, self.name, now(), scope=scope)


def _checked(domain: Domain, owner: object) -> Domain:
    if not isinstance(domain, Domain):
        raise AttributeTypeError(
            f"{type(owner).__name__}: the domain {domain!r} is not an mx.profiler.Domain; make one with "
            f"mx.profiler.Domain('name')."
        )
    return domain
