"""A program's signal handlers run between operations, not in the middle of one.

In MXNet an operation is one call of C, which no handler written in Python can interrupt. Here operations
are Python: a handler that saves parameters when a cluster ends the job would find a half-made record, or a
lock that its own thread holds. So each handler is wrapped, and runs as soon as the main thread has left the
core.

Ctrl-C without a handler of the program raises ``KeyboardInterrupt`` at once: see ``interrupt``.
"""

from __future__ import annotations

import _signal  # without enumerations: this is called for every segment
import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeVar

_NAMES = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGBREAK"]
_SIGNALS = [each for each in signal.Signals if each.name in _NAMES]
"""Those that programs use to stop, to save or to report. Handlers of profilers must run at once."""

_CORE = tuple(
    f"mixnet.{folder}."
    for folder in (
        *("autograd", "distributed", "engine", "graph", "kvstore", "ndarray", "numpy", "ops"),
        *("passes", "private_jax", "process", "runtime", "symbol"),
    )
)
"""Modules whose functions must not be interrupted half-way. Those above only call them, as a program does."""

_RETRY_SECONDS = 0.02
_PATIENCE = 5.0
"""Seconds after which a handler runs even inside the core, if that only waits for a computation."""

Handler = Callable[[int, FrameType | None], Any]

_waiting: set[CodeType] = set()
"""Of functions that only wait, besides those of ``threading``."""


class BetweenOperations:
    """A handler that waits until the main thread is outside the core.

    Args:
        handler: of the program.
    """

    def __init__(self, handler: Handler):
        self.handler = handler
        self._deferred_since: float | None = None
        self._outside: FrameType | None = None  # where it is to run
        self._is_sleeping = False  # the thread that has it tried again

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        """Run the handler, or have it run when the core returns."""
        outside = outside_core(frame)
        if outside is frame or (self._is_overdue() and _is_asleep(frame)):
            return self._run(number, frame)
        if self._deferred_since is None:  # a signal that is pending is not delivered twice
            self._deferred_since = time.monotonic()
            if outside is not None and sys.gettrace() is None:  # no debugger
                self._run_in(outside, number)
        if not self._is_sleeping:
            self._is_sleeping = True
            try:
                # Where nothing can be traced, or the core never returns.
                _thread.start_new_thread(self._retry, (number,))
            except RuntimeError:  # the process is ending
                self._is_sleeping = False
                return self._run(number, frame)
        return None

    def _is_overdue(self) -> bool:
        since = self._deferred_since
        return since is not None and time.monotonic() - since > _PATIENCE

    def _run(self, number: int, frame: FrameType | None) -> Any:
        self._deferred_since = None
        if self._outside is not None:
            self._outside.f_trace, self._outside.f_trace_opcodes = None, False
            self._outside = None
            sys.settrace(None)
        return self.handler(number, frame)

    def _run_in(self, outside: FrameType, number: int) -> None:
        """Run the handler before the next instruction of a frame, the first that follows the core."""

        def trace(frame: FrameType, event: str, argument: object) -> None:
            self._run(number, frame)

        self._outside = outside
        outside.f_trace, outside.f_trace_opcodes = trace, True
        sys.settrace(_trace_nothing)

    def _retry(self, number: int) -> None:
        end = time.monotonic() + _PATIENCE
        time.sleep(_RETRY_SECONDS)
        # ``interrupt.Deferred`` takes its place for a moment, another handler of the program for good.
        while _signal.getsignal(number) is not self and time.monotonic() < end:
            time.sleep(_RETRY_SECONDS)
        self._is_sleeping = False
        if self._deferred_since is not None and _signal.getsignal(number) is self:
            # Not the main thread of the start: a thread that forks becomes that of the child.
            main = threading.main_thread().ident
            assert main is not None
            _signal.pthread_kill(main, number)  # which wakes it, too


def _trace_nothing(frame: FrameType, event: str, argument: object) -> None:
    """Frames that are entered need no trace, but Python traces none without this."""


def outside_core(frame: FrameType | None) -> FrameType | None:
    """``frame`` if no function of the core is running, else the frame that called the first of them."""
    outside = frame
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_CORE):
            outside = frame.f_back
        frame = frame.f_back
    return outside


Function = TypeVar("Function", bound=Callable[..., object])


def only_waits(function: Function) -> Function:
    """Declare that a function of the core waits, and that its callers are in no half-made state meanwhile.

    After some seconds, a handler of the program runs inside of it.
    """
    assert isinstance(function, FunctionType)
    _waiting.add(function.__code__)
    return function


@only_waits
def pause(seconds: float) -> None:
    """Sleep between two tries."""
    time.sleep(seconds)


def _is_asleep(frame: FrameType | None) -> bool:
    if frame is None:
        return False
    return frame.f_code in _waiting or frame.f_globals.get("__name__") == "threading"


def wrap_handlers() -> None:
    """Wrap handlers that the program has installed since the last call. Only the main thread can do this."""
    global _last_handlers
    for place, number in enumerate(_SIGNALS):
        if _signal.getsignal(number) is not _last_handlers[place]:
            break
    else:  # as nearly always
        return
    handlers = [*map(_signal.getsignal, _SIGNALS)]
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in zip(_SIGNALS, handlers, strict=True):
        if handler is None or type(handler) in _NOT_OF_A_PROGRAM or handler is _raise_interrupt:
            continue
        # asyncio.run removes its own handler only if it is still there; it cancels a task, later.
        module = str(getattr(getattr(handler, "func", handler), "__module__", ""))
        if callable(handler) and not module.startswith(("mixnet.", "asyncio.")):
            _signal.signal(number, BetweenOperations(handler))
    _last_handlers = [*map(_signal.getsignal, _SIGNALS)]


_last_handlers: list[Any] = [object()] * len(_SIGNALS)
"""The handlers after the last call that wrapped some, or found that there were none to wrap."""
_NOT_OF_A_PROGRAM = (int, signal.Handlers, BetweenOperations)
_raise_interrupt = _signal.default_int_handler
