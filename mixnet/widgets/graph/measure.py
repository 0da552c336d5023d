"""Measurements of a graph's operations: times, storages, XLA's fusion groups."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from mixnet.context import current_context
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.passes.facts import Known
from mixnet.passes.plan_memory import plan_memory
from mixnet.runtime.compile.lower import lower, scopes
from mixnet.runtime.compile.options import compiler_options
from mixnet.runtime.compile.scope import compiling_for
from mixnet.stages import hlo
from mixnet.stages.fusion import groups
from mixnet.stages.graph_data import specs_of
from mixnet.stages.program import compiled_anew
from mixnet.widgets.graph.rows import Pictured

_RUNS, _SECONDS = 5, 0.1  # how often, and for how long in all, an operation runs to be timed


def measured(pictured: Pictured) -> dict[str, list[Any]]:
    """Columns by the rows of a picture, None where nothing is known.

    Returns:
        ``time`` in seconds of one operation by itself, compiled, on zeros; ``storage``: number
        of the piece of memory that the plan gives the first output; ``group``: what XLA runs as
        one piece, ``fusion 3``.
    """
    graph, inputs = pictured.graph, pictured.inputs
    if graph is None or inputs is None:
        return {}
    storages = _storages(graph, inputs)
    with jax.default_device(current_context().device):
        times = _times(graph, inputs)
        pieces = _groups(graph, inputs)
    names = [row["name"] for row in pictured.rows]
    return {
        "time": [times.get(name) for name in names],
        "storage": [storages.get(name) for name in names],
        "group": [pieces.get(name) for name in names],
    }


def _scalars(node: Node) -> list[float]:
    # Places in a vector of scalars have no number here: any will do.
    return [float(each) if type(each) is float else 1.0 for each in node.scalars]


def _times(graph: Graph, inputs: Sequence[Known]) -> dict[str, float]:
    """Seconds of each operation; equal operations on equal shapes run once."""
    specs = specs_of(graph, inputs)
    known: dict[Any, float] = {}
    times: dict[str, float] = {}
    with compiling_for(current_context().device):
        for node in graph.nodes:
            if node.is_variable or node.op.calls_python:
                continue
            input_specs = tuple(specs[entry] for entry in node.inputs)
            key = (node.op, node.statics, input_specs)
            if key not in known:
                known[key] = _time(node, input_specs)
            times[graph.names[node]] = known[key]
    return times


def _time(node: Node, input_specs: Sequence[Known]) -> float:
    scalars = _scalars(node)

    def call(*arrays: Any) -> Any:
        return node.op.apply(node.statics, arrays, scalars)

    arrays = [jax.numpy.zeros(shape, np.dtype(dtype)) for shape, dtype in input_specs]
    compiled = jax.jit(call, keep_unused=True).lower(*arrays).compile()
    jax.block_until_ready(compiled(*arrays))
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < _RUNS and (not times or time.perf_counter() - begin < _SECONDS):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arrays))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _storages(graph: Graph, inputs: Sequence[Known]) -> dict[str, str]:
    plan = plan_memory(graph, inputs)
    storages: dict[str, str] = {}
    for array in plan.arrays:
        if array.index == 0:
            storages[array.node] = (
                array.kind if array.storage is None else f"storage {array.storage}"
            )
    return storages


def _groups(graph: Graph, inputs: Sequence[Known]) -> dict[str, str]:
    """By operation the piece of the compiled program that it ends in, of several the last one."""
    function = lower(_with_numbers(graph))
    structs = [jax.ShapeDtypeStruct(shape, np.dtype(dtype)) for shape, dtype in inputs]
    device = current_context().device
    with compiling_for(device), compiled_anew():
        options = compiler_options(graph, device.platform)

        def call(*arrays: object) -> Any:
            return function(arrays, ())

        jitted = jax.jit(call, keep_unused=True, compiler_options=options)
        text = jitted.lower(*structs).compile().as_text() or ""
    names = scopes(graph)
    node_of = {scope: graph.names[node] for node, scope in names.items()}
    group_of: dict[str, str] = {}
    for each in groups(hlo.parse(text), names.values()):
        for scope in each.nodes:
            group_of[node_of[scope]] = f"{each.kind} {each.id}"
    return group_of


def _with_numbers(graph: Graph) -> Graph:
    """The graph with numbers in place of places in a vector of scalars."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        return Node(node.op, node.statics, tuple(_scalars(node)), inputs, node.name, node.attrs)

    return graph.rebuild(change)
