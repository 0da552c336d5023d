"""The session: which rows and events belong to the running profile."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from typing import Any

import jax

from mixnet.context import Context
from mixnet.engine.task import Task as EngineTask
from mixnet.engine.timeline import now, timeline
from mixnet.process import locks
from mixnet.profiler.settings import Settings
from mixnet.runtime.record.record import hand_over_all, run_one_by_one
from mixnet.runtime.trace.graph_op import by_operator
from mixnet.runtime.value.memory import device_arrays

CAPACITY = 1_000_000
"""Events that are kept; the oldest go first."""

_COMPILING = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}


class Session:
    """The profile of this process: on while it runs and is not paused.

    Operations, copies and the like are rows of the engine's timeline. ``events`` holds the rest:
    what users mark, compiling, and bytes alive. Both have times in nanoseconds of one clock.
    """

    def __init__(self) -> None:
        self.settings = Settings()
        self.running = False
        self.paused = False
        self.finished = True  # nothing was profiled since the last dump that finished a profile
        self.events: deque[dict[str, Any]] = deque(maxlen=CAPACITY)
        self._lock = locks.renewed(threading.RLock())
        self._numbers = itertools.count()
        self._since = 0  # the trace begins here
        self._table_since = 0  # the aggregate table begins here
        self._on = False
        self._timeline_was_on = False
        self._watches_compiling = False
        self._xla_trace = False

    @property
    def on(self) -> bool:
        """Whether what happens now is kept."""
        return self._on

    def set_settings(self, settings: Settings) -> None:
        """Replace the settings; a running profile continues with the new ones."""
        self._hand_over(False)
        with self._lock:
            self._switch(False)
            self.settings = settings
            self._apply()

    def set_running(self, running: bool) -> None:
        """Start or stop, which ends a pause; a start begins a new trace after a finished profile."""
        self._hand_over(running)
        with self._lock:
            if running or self.running:
                self.paused = False
            if running and not self.running and self.finished:
                self.finished = False
                self._since = now()
                self._forget()
            self.running = running
            self._apply()

    def set_paused(self, paused: bool) -> None:
        """Keep nothing for a while, or go on."""
        self._hand_over(self.running and not paused)
        with self._lock:
            self.paused = paused
            self._apply()

    def reset_table(self) -> None:
        """Begin a new aggregate table; the trace keeps what it has."""
        self._table_since = now()

    def add(self, kind: str, category: str, name: str, started: int, **more: object) -> None:
        """Keep an event.

        Args:
            kind: ``span``, ``value``, ``instant``, ``compile`` or ``memory``.
            category: heading in the table.
            name: shown.
            started: nanoseconds.
            more: ``ended``, ``value``, ``scope``.
        """
        self.events.append(
            {
                "number": next(self._numbers),
                "kind": kind,
                "category": category,
                "name": name,
                "thread": threading.current_thread().name,
                "started": started,
                **more,
            }
        )

    def rows(self, table: bool = False) -> list[dict[str, Any]]:
        """Rows of the engine's timeline in this profile, or since the table was reset."""
        since = max(self._since, self._table_since) if table else self._since
        return [row for row in timeline.to_dict()["rows"] if row["pushed"] >= since]

    def happened(self, table: bool = False) -> list[dict[str, Any]]:
        """Events in this profile, or since the table was reset."""
        since = max(self._since, self._table_since) if table else self._since
        return [e for e in self.events.copy() if e.get("ended", e["started"]) >= since]

    # ---- on and off ---------------------------------------------------------------------------

    def _apply(self) -> None:
        self._switch(self.running and not self.paused)

    def _hand_over(self, on: bool) -> None:
        """Before a switch, run what was recorded: it counts to the side where it was recorded.

        Without the lock: this may wait for work that itself uses the profiler, such as a Python operator.
        """
        if on != self._on:
            hand_over_all("profiler")

    def _switch(self, on: bool) -> None:
        if on == self._on:
            return
        if not on:
            return self._end()
        try:
            self._begin()
        except BaseException:  # XLA's profile may be running already, or Ctrl-C came
            self.running = False
            self._end()
            raise

    def _begin(self) -> None:
        self._timeline_was_on = timeline.on
        if self.settings.memory:
            timeline.watchers.append(self._watch_memory)
        jax.monitoring.register_event_duration_secs_listener(self._watch_compiling)
        self._watches_compiling = True
        timeline.start()
        run_one_by_one(self.settings.arrays_by_operator)
        by_operator.on = self.settings.graphs_by_operator
        if self.settings.xla_trace_dir is not None:
            jax.profiler.start_trace(self.settings.xla_trace_dir)
            self._xla_trace = True
        self._on = True

    def _end(self) -> None:
        """Undo what ``_begin`` has done, all of it or a part."""
        run_one_by_one(False)
        by_operator.on = False
        if not self._timeline_was_on:
            timeline.stop()
        if self._watch_memory in timeline.watchers:
            timeline.watchers.remove(self._watch_memory)
        if self._watches_compiling:
            self._watches_compiling = False
            jax.monitoring.unregister_event_duration_listener(self._watch_compiling)
        self._on = False
        if self._xla_trace:
            self._xla_trace = False
            jax.profiler.stop_trace()  # last: it fails where the disk is full

    def _forget(self) -> None:
        """Drop what no trace and no table will show."""
        since = min(self._since, self._table_since)
        while self.events and self.events[0]["started"] < since:
            self.events.popleft()

    # ---- what is watched ----------------------------------------------------------------------

    def _watch_compiling(self, event: str, duration_secs: float, **about: object) -> None:
        name = _COMPILING.get(event)
        if name is not None:
            ended = now()
            self.add("compile", "compile", name, ended - int(duration_secs * 1e9), ended=ended)

    def _watch_memory(self, task: EngineTask) -> None:
        kind, _, device = task.resource.partition(":")
        if kind in ("compute", "copy") and device:
            name, _, number = device.rstrip(")").partition("(")
            value = bytes_alive(Context(name, int(number)))
            self.add("memory", "Device Storage", f"Memory: {name}/{number}", now(), value=value)


def bytes_alive(context: Context) -> int:
    """Bytes of the arrays on a device: what its allocator says, or the sum of all live arrays.

    A device of the host has no allocator that can be asked; then an array over several devices counts
    by its share, and a buffer that two arrays share counts twice. ``mx.runtime.live_bytes`` tells
    those apart, but takes ten times as long, too long to be asked after every program.
    """
    device = context.device
    stats = device.memory_stats()
    if stats:
        in_use: int = stats["bytes_in_use"]
        return in_use
    total = 0
    for array in device_arrays(device.platform):
        if not array.is_deleted():
            devices = array.devices()
            if device in devices:
                total += array.nbytes // len(devices)
    return total


session = Session()
"""The profile of this process."""


def to_dict() -> dict[str, Any]:
    """The profile as plain data.

    Returns:
        ``rows``, as in ``mx.engine.timeline.to_dict()``, and ``events``: dicts with ``kind``,
        ``category``, ``name``, ``thread``, ``started`` and, by kind, ``ended``, ``value`` and ``scope``.
        Times are nanoseconds of one clock.
    """
    return {"rows": session.rows(), "events": session.happened()}
