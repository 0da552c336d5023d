"""Task: a function with the variables it reads and writes, and its state in the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from enum import Enum

from mixnet.engine.variable import Var

Work = Callable[[], object]
Done = Callable[[BaseException | None], None]


class State(Enum):
    """The state of a task."""

    WAITING = "waiting"  # for variables that others use
    READY = "ready"  # in the queue of a pool of workers
    CLAIMED = "claimed"  # the thread that pushed it will run it
    RUNNING = "running"  # a thread runs it
    DONE = "done"


class Task:
    """A function scheduled by the engine.

    ``inputs`` are the variables declared as read; ``reads`` are those of them that it does not
    also write. ``missing`` counts the variables that it may not use yet; ``pushed`` and ``ended`` count
    those of ``writes`` that have registered its push, and its end.
    """

    __slots__ = (
        "caller",
        "completed",
        "context",
        "ended",
        "error",
        "forgiving",
        "inputs",
        "missing",
        "name",
        "number",
        "on_wait",
        "priority",
        "pushed",
        "quick",
        "reads",
        "resource",
        "resumable",
        "source",
        "stamps",
        "state",
        "waits_for",
        "work",
        "writes",
    )

    def __init__(
        self,
        work: Work,
        reads: Sequence[Var],
        writes: Sequence[Var],
        resource: str,
        priority: int,
        name: str,
    ):
        self.work = work
        self.inputs = self.reads = tuple(reads)
        self.writes = tuple(writes)
        # Each variable once; variables that it writes are not listed as read.
        if len(reads) + len(writes) > 1:
            self.writes = tuple(dict.fromkeys(writes))
            alone = set(self.writes)
            self.reads = tuple(var for var in dict.fromkeys(reads) if var not in alone)
        self.resource = resource
        self.priority = priority
        self.name = name
        self.number = 0
        self.missing = self.pushed = self.ended = 0
        self.state = State.WAITING
        self.error: BaseException | None = None
        self.forgiving = False  # runs even if an input failed
        self.resumable = False  # after an interrupt, the work is called again to finish
        self.source: str | None = None  # "file:line" of the user's code that pushed it
        self.caller = ""  # the Python operator whose code pushed it, if a timeline is recorded
        # The context of the pushing thread's scopes; None: this thread runs the work.
        self.context: Context | None = None
        # Set for asynchronous work; called while a thread waits for the task.
        self.on_wait: Callable[[float], object] | None = None
        self.quick = False  # the work never waits, so any thread may call it
        self.completed = False  # its end has been reported
        self.waits_for: Var | None = None  # the variable that the running work waits for
        self.stamps: list[int] | None = (
            None  # nanoseconds: pushed, ready, started, ended; if a timeline is recorded
        )

    def __repr__(self) -> str:
        return f"<Task {self.name!r} {self.state.value}>"
