"""The engine of this process, chosen by ``MXNET_ENGINE_TYPE``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from mixnet import config
from mixnet.base import AttributeValueError
from mixnet.engine.engine import Engine
from mixnet.engine.naive import NaiveEngine
from mixnet.engine.threaded import ThreadedEngine
from mixnet.process.interrupt import Deferred


def make(kind: str) -> Engine:
    """A new engine: ``NaiveEngine``, ``ThreadedEngine`` or ``ThreadedEnginePerDevice``.

    Raises:
        AttributeValueError: there is no engine of this kind.
    """
    if kind == "NaiveEngine":
        return NaiveEngine()
    workers = {
        "compute": config.get("MXNET_CPU_WORKER_NTHREADS"),
        "compute:gpu": config.get("MXNET_GPU_WORKER_NTHREADS"),
        "copy": config.get("MXNET_GPU_COPY_NTHREADS"),
        "io": config.get("MIXNET_IO_NTHREADS"),
        "communication": config.get("MIXNET_COMMUNICATION_NTHREADS"),
    }
    if kind in ("ThreadedEngine", "ThreadedEnginePooled"):
        return ThreadedEngine(workers, per_device=False)
    if kind == "ThreadedEnginePerDevice":
        return ThreadedEngine(workers)
    raise AttributeValueError(
        f"MXNET_ENGINE_TYPE={kind!r} is not an engine; use NaiveEngine, ThreadedEngine or "
        f"ThreadedEnginePerDevice."
    )


Scope = tuple[str, Engine]
"""A kind, and an engine of this kind."""


class Current:
    """Holds the current engine."""

    def __init__(self) -> None:
        self.kind: str = config.get("MXNET_ENGINE_TYPE")
        self.engine: Engine = make(self.kind)
        self.naive = self.kind == "NaiveEngine"
        # That of the process and open ones, the latest last. Scopes of two threads may end in any order.
        self._scopes: list[Scope] = [(self.kind, self.engine)]

    def enter(self, scope: Scope) -> None:
        """Use another engine until ``leave``."""
        self._scopes.append(scope)
        self._use_latest()

    def leave(self, scope: Scope) -> None:
        """Use the engine of another scope that is still open, or that of the process."""
        with Deferred():
            if scope in self._scopes:  # else it was interrupted when it began
                self._scopes.remove(scope)
            self._use_latest()

    def _use_latest(self) -> None:
        used = None
        while used is not self._scopes[-1]:  # another thread may enter or leave one meanwhile
            used = kind, engine = self._scopes[-1]
            self.kind, self.engine, self.naive = kind, engine, kind == "NaiveEngine"
            for listener in _listeners:
                listener(self.naive)


_listeners: list[Callable[[bool], None]] = []
current = Current()


def on_switch(listener: Callable[[bool], None]) -> Callable[[bool], None]:
    """Register a listener: ``listener(naive)`` runs when the engine changes."""
    _listeners.append(listener)
    return listener


@contextmanager
def using(kind: str) -> Iterator[Engine]:
    """``with mx.engine.using("NaiveEngine"):`` use another engine inside the scope, in all threads.

    The previous engine finishes its tasks first. Of several scopes at a time, in as many threads, the one
    that was entered last decides.

    Args:
        kind: ``'NaiveEngine'``, ``'ThreadedEngine'`` or another value of ``MXNET_ENGINE_TYPE``.
    """
    engine = make(kind)
    scope = kind, engine
    current.engine.wait_for_all()
    try:
        current.enter(scope)
        yield engine
    finally:
        try:
            engine.stop()
        finally:  # stopping may take long, and be interrupted
            current.leave(scope)


def whole_or_not_at_all() -> AbstractContextManager[object]:
    """A scope for pushing tasks that belong together: Ctrl-C is deferred to its end.

    The naive engine runs them inside, which may take long, so Ctrl-C is not deferred there.
    """
    return nullcontext() if current.naive else Deferred()
