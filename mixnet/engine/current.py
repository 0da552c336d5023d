"""The engine of this process, chosen by ``MXNET_ENGINE_TYPE``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mixnet import config
from mixnet.base import AttributeValueError
from mixnet.engine.engine import Engine
from mixnet.engine.naive import NaiveEngine
from mixnet.engine.threaded import ThreadedEngine


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


class Current:
    """Holds the current engine."""

    def __init__(self) -> None:
        self.kind: str = config.get("MXNET_ENGINE_TYPE")
        self.engine: Engine = make(self.kind)
        self.naive = self.kind == "NaiveEngine"

    def switch(self, kind: str, engine: Engine) -> None:
        """Use another engine from now on."""
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

    The previous engine finishes its tasks first.

    Args:
        kind: ``'NaiveEngine'``, ``'ThreadedEngine'`` or another value of ``MXNET_ENGINE_TYPE``.
    """
    engine = make(kind)
    before = current.kind, current.engine
    current.engine.wait_for_all()
    current.switch(kind, engine)
    try:
        yield engine
    finally:
        engine.stop()
        current.switch(*before)
