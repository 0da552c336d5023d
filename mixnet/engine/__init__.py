"""``mx.engine``, the dependency engine: orders tasks by what they read and write. It knows no JAX or
graphs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from mixnet.engine.bulk import bulk, set_bulk_size
from mixnet.engine.current import current, using
from mixnet.engine.engine import Engine
from mixnet.engine.naive import NaiveEngine
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
    "push_async",
    "push_sync",
    "set_bulk_size",
    "timeline",
    "using",
    "wait_for_all",
    "wait_for_var",
]


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _of_current(
    method: Callable[Concatenate[Engine, Parameters], Result],
) -> Callable[Parameters, Result]:
    """A function that calls a method of the current engine."""
    name = method.__name__

    @wraps(method)
    def function(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        bound: Callable[Parameters, Result] = getattr(current.engine, name)
        return bound(*args, **kwargs)

    declared = inspect.signature(method)
    _, *rest = declared.parameters.values()
    function.__signature__ = declared.replace(parameters=rest)  # type: ignore[attr-defined]
    return function


push = _of_current(Engine.push)
push_async = _of_current(Engine.push_async)
push_sync = _of_current(Engine.push_sync)
wait_for_var = _of_current(Engine.wait_for_var)
wait_for_all = _of_current(Engine.wait_for_all)
delete_variable = _of_current(Engine.delete_variable)
