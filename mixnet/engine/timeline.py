"""Timeline: when each task was pushed, became ready, started and ended, and on which thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mixnet.engine.task import Task

now = time.perf_counter_ns


class _OfThread(threading.local):
    caller = ""  # the Python operator whose code the thread is running
    decision: list[Any] | None = (
        None  # the decision about the program of the task that is just ending
    )


class Timeline:
    """Rows of the tasks that ran while ``on``, as plain data.

    A row has ``name``, ``resource``, ``priority``, ``thread``, the times ``pushed``, ``ready``,
    ``started`` and ``ended`` (nanoseconds of one clock), ``reads`` and ``writes`` (pairs of a
    variable's name and the version that was read, or that the write made), ``read_numbers`` and
    ``write_numbers`` (the same variables' numbers, as names may be given twice), ``source``
    (``file:line`` of the user's code), ``error``, ``caller``: the Python operator whose code pushed
    it, or empty, and ``how``: plain data on how its program ran (the fields of
    :class:`mixnet.runtime.programs.decision.Decision`), or None.

    ``watchers`` are called with every task that gets a row, in the thread that ran it, after its work and
    before any waiting thread continues, so their time is not part of the row's.

    Args:
        capacity: maximum number of rows; the oldest are dropped first.
    """

    def __init__(self, capacity: int = 1_000_000):
        self.on = False
        self.watchers: list[Callable[[Task], None]] = []
        self._rows: deque[dict[str, Any]] = deque(maxlen=capacity)
        self._of_thread = _OfThread()

    def start(self) -> None:
        """Record a row for everything pushed from now on."""
        self.on = True

    def stop(self) -> None:
        """Stop recording rows; existing rows remain."""
        self.on = False

    def clear(self) -> None:
        """Delete all rows."""
        self._rows.clear()

    @property
    def caller(self) -> str:
        """The Python operator whose code this thread is running, or empty."""
        return self._of_thread.caller

    @contextmanager
    def called_by(self, caller: str) -> Iterator[None]:
        """Scope for the Python code of an operator: it gets a row, and the rows of tasks it pushes name it.

        Args:
            caller: the operator's name.
        """
        before, self._of_thread.caller = self.caller, caller
        started = now()
        try:
            yield
        finally:
            self._of_thread.caller = before
            if self.on:
                self._rows.append(_row_of_python(caller, started))

    def note(self, decision: Sequence[Any]) -> None:
        """Store plain data about the program of the task that is just ending, for its row."""
        self._of_thread.decision = list(decision)

    def add(self, task: Task) -> None:
        """Add the row of a task that has just ended."""
        decision, self._of_thread.decision = self._of_thread.decision, None
        assert task.stamps is not None
        # A row always has four times, so readers need no special cases.
        while len(task.stamps) < 4:  # the work was interrupted
            task.stamps.append(now())
        pushed, ready, started, ended = task.stamps
        self._rows.append(
            {
                "number": task.number,
                "name": task.name,
                "resource": task.resource,
                "priority": task.priority,
                "thread": threading.current_thread().name,
                "pushed": pushed,
                "ready": ready,
                "started": started,
                "ended": ended,
                "reads": [[var.name, var.version] for var in task.reads],
                "writes": [[var.name, var.version] for var in task.writes],
                "read_numbers": [var.number for var in task.reads],
                "write_numbers": [var.number for var in task.writes],
                "source": task.source,
                "error": None if task.error is None else repr(task.error),
                "caller": task.caller,
                "how": decision,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data: ``{"rows": [...]}`` in the order in which they ended."""
        return {"rows": list(self._rows.copy())}  # a copy, as workers add rows meanwhile

    def chrome(self) -> dict[str, Any]:
        """The rows as a Chrome trace (``chrome://tracing``, Perfetto): times in microseconds."""
        return {"traceEvents": chrome_events(self._rows.copy()), "displayTimeUnit": "ms"}


def _row_of_python(caller: str, started: int) -> dict[str, Any]:
    return {
        "number": -1,
        "name": "pure_python",
        "resource": "host",
        "priority": 0,
        "thread": threading.current_thread().name,
        "pushed": started,
        "ready": started,
        "started": started,
        "ended": now(),
        "reads": [],
        "writes": [],
        "read_numbers": [],
        "write_numbers": [],
        "source": None,
        "error": None,
        "caller": caller,
        "how": None,
    }


def shown_name(row: Mapping[str, Any]) -> str:
    """The name of a row, prefixed by the Python operator that called it, if any."""
    name = row["name"] or "work"
    return f"{row['caller']}::{name}" if row.get("caller") else name


def chrome_events(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a timeline as events of a Chrome trace: process 0, one trace thread per thread."""
    rows = list(rows)
    threads = {name: i for i, name in enumerate(dict.fromkeys(r["thread"] for r in rows))}
    events: list[dict[str, Any]] = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": i, "args": {"name": name}}
        for name, i in threads.items()
    ]
    for row in rows:
        events.append(
            {
                "name": shown_name(row),
                "cat": row["resource"],
                "ph": "X",
                "pid": 0,
                "tid": threads[row["thread"]],
                "ts": row["started"] / 1000,
                "dur": (row["ended"] - row["started"]) / 1000,
                "args": {
                    "reads": row["reads"],
                    "writes": row["writes"],
                    "source": row["source"],
                    "error": row["error"],
                    "waited for variables (us)": (row["ready"] - row["pushed"]) / 1000,
                    "waited for a worker (us)": (row["started"] - row["ready"]) / 1000,
                },
            }
        )
    return events


timeline = Timeline()
"""The timeline of this process; off until it is started."""
