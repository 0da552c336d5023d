"""mx.engine: the dependency engine. It knows neither JAX nor graphs."""

from __future__ import annotations

from collections.abc import Sequence

from mixnet.engine.bulk import bulk, set_bulk_size
from mixnet.engine.current import current, using
from mixnet.engine.engine import Engine
from mixnet.engine.naive import NaiveEngine
from mixnet.engine.task import Work
from mixnet.engine.threaded import ThreadedEngine
from mixnet.engine.timeline import Timeline, timeline
from mixnet.engine.variable import Var

__all__ = [
    "Engine",
    "NaiveEngine",
    "ThreadedEngine",
    "Timeline",
    "Var",
    "bulk",
    "delete_variable",
    "push",
    "push_sync",
    "set_bulk_size",
    "timeline",
    "using",
    "wait_for_all",
    "wait_for_var",
]


def push(
    work: Work,
    reads: Sequence[Var] = (),
    writes: Sequence[Var] = (),
    resource: str = "compute",
    priority: int = 0,
    name: str = "",
) -> None:
    """``Engine.push`` of the engine in use."""
    current.engine.push(work, reads, writes, resource, priority, name)


def push_sync(
    work: Work,
    reads: Sequence[Var] = (),
    writes: Sequence[Var] = (),
    resource: str = "compute",
    priority: int = 0,
    name: str = "",
) -> None:
    """``Engine.push_sync`` of the engine in use."""
    current.engine.push_sync(work, reads, writes, resource, priority, name)


def wait_for_var(var: Var) -> None:
    """``Engine.wait_for_var`` of the engine in use."""
    current.engine.wait_for_var(var)


def wait_for_all() -> None:
    """``Engine.wait_for_all`` of the engine in use."""
    current.engine.wait_for_all()


def delete_variable(var: Var) -> None:
    """``Engine.delete_variable`` of the engine in use."""
    current.engine.delete_variable(var)
