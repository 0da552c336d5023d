"""Compiled programs by structure: the same segment is compiled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from mixnet.passes import pipeline
from mixnet.passes.facts import Facts
from mixnet.runtime import compile_watch, disk_cache, first_sight
from mixnet.runtime.compiler_options import compiler_options
from mixnet.runtime.counters import count
from mixnet.runtime.host_memory import keep_freed_memory
from mixnet.runtime.lower import lower

disk_cache.use()
_programs: dict[Any, Callable[..., Any]] = {}


def executable(key: Any, segment: Any) -> Callable[..., Any]:
    """The compiled program ``(scalars, *arrays) -> live outputs`` of a segment.

    Args:
        key: ``(program, live slots, donated leaves, context)``; equal keys mean equal programs.
        segment: where the graph is taken from when the key is new.
    """
    found = _programs.get(key)
    if found is not None:
        count("cache_hits", operations=len(key[0]))
        return found
    count("operations", len(key[0]))
    program, slots, donated, context = key
    if first_sight.runs_by_operator(key, program):
        return first_sight.stepwise(program, slots)
    count("programs_compiled")
    compile_watch.watch(segment.source, key)
    platform = context.device.platform
    if platform == "cpu":
        keep_freed_memory()
    facts = Facts(platform, [(v.spec.shape, v.spec.dtype) for v in segment.leaves])
    graph = pipeline.run(segment.graph(slots), "segment", facts)
    run = lower(graph)

    def call(scalars: Any, *arrays: Any) -> list[Any]:
        return run(arrays, scalars)

    compiled = jax.jit(
        call,
        donate_argnums=tuple(1 + i for i in donated),
        keep_unused=True,
        compiler_options=compiler_options(graph, platform),
    )
    _programs[key] = compiled
    return compiled


def is_compiled(key: tuple[Any, ...]) -> bool:
    """Whether there is a program, whatever it donates.

    Args:
        key: ``(program, live slots, context)``.
    """
    return any((each[0], each[1], each[3]) == key for each in _programs)


def clear() -> None:
    """Forget all compiled programs."""
    _programs.clear()
    first_sight.clear()
