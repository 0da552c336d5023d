"""asyncio tasks that take turns in one thread: a scope belongs to the task that entered it.

What a scope sets lies in an object of the thread (``threading.local``). Where a task enters one, a
:class:`PerTask` takes the place of what lies there until the last task has left: it has what each task
set. So programs without tasks read what they always read, and tasks may ``await`` inside a scope.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

_NOTHING = object()
_modules = sys.modules


def running_loop() -> Any:
    """The event loop of asyncio that is running in this thread; None where there is none."""
    # Importing asyncio takes longer than many a program's first result: a loop that runs has imported it.
    running = getattr(_modules.get("asyncio.events"), "_get_running_loop", None)
    return None if running is None else running()


def task_of(loop: object) -> Any:
    """The task that is running in an event loop; None between tasks."""
    return _modules["asyncio.tasks"].current_task(loop)


def current_task() -> Any:
    """The task of asyncio that is running in this thread; None where there is none."""
    loop = running_loop()
    return None if loop is None else task_of(loop)


class PerTask:
    """The values that each task has set.

    Args:
        base: what there is for tasks that have set nothing, and was before.
    """

    __slots__ = ("base", "own")

    def __init__(self, base: Any):
        self.base = base
        self.own: dict[Any, Any] = {}

    def now(self) -> Any:
        """The value in the running task."""
        return self.own.get(current_task(), self.base)


class _Open(threading.local):
    """The values of the open scopes of a thread, the innermost last."""

    def __init__(self) -> None:
        self.entered: list[Entered] = []


_open = _Open()


class Entered:
    """The value that a scope has set, and the one before.

    Scopes may be left in any order, as those in generators are: one that is not the innermost hands
    what it would restore to the next one inside.
    """

    __slots__ = ("before", "local", "name", "task")

    def __init__(self, local: Any, name: str, task: Any, before: Any):
        self.local, self.name, self.task, self.before = local, name, task, before

    def leave(self) -> None:
        """Give the task that entered what it had, whichever is running; once more does nothing."""
        opened = _open.entered
        place = next((at for at, each in enumerate(opened) if each is self), None)
        # It has ended already, or it began in another thread, which has its own state.
        if place is None:
            return
        for inner in opened[place + 1 :]:
            if inner.local is self.local and inner.name == self.name and inner.task is self.task:
                inner.before = self.before
                break
        else:
            self._restore()
        opened.remove(self)

    def _restore(self) -> None:
        if self.task is None:
            setattr(self.local, self.name, self.before)
            return
        place = getattr(self.local, self.name)
        if not isinstance(place, PerTask):
            return
        if self.before is _NOTHING:
            place.own.pop(self.task, None)
        else:
            place.own[self.task] = self.before
        if not place.own:
            setattr(self.local, self.name, place.base)


def enter(
    local: object,
    name: str,
    value: object,
    kind: type[PerTask] = PerTask,
    into: list[Any] | None = None,
) -> Entered:
    """Set an attribute of a thread's object, for the running task alone if there is one.

    Args:
        local: the object.
        name: of the attribute.
        value: the new value.
        kind: what takes the attribute's place where tasks set it.
        into: gets what is returned before anything is set, so that no interrupt loses it.
    """
    task = current_task()
    place = getattr(local, name, None)
    if task is not None and not isinstance(place, PerTask):
        place = kind(place)
        setattr(local, name, place)
    before = place if task is None else place.own.get(task, _NOTHING)  # type: ignore[union-attr]
    entered = Entered(local, name, task, before)
    if into is not None:
        into.append(entered)
    _open.entered.append(entered)
    if task is None:
        setattr(local, name, value)
    else:
        place.own[task] = value  # type: ignore[union-attr]
    return entered


def read(local: object, name: str) -> Any:
    """The current value of an attribute: the running task's, else the thread's; None if it was never set."""
    place = getattr(local, name, None)
    return place.now() if isinstance(place, PerTask) else place


def write(local: object, name: str, value: object) -> Any:
    """Set an attribute for good, of the task alone if it is in a scope; returns what it was."""
    place = getattr(local, name, None)
    if not isinstance(place, PerTask):
        setattr(local, name, value)
        return place
    before, task = place.now(), current_task()
    if task in place.own:
        place.own[task] = value
    else:
        place.base = value
    return before
