"""Running a graph operator by operator: once for the values, then as engine tasks for the times."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from mixnet import engine
from mixnet.context import current_context
from mixnet.engine.variable import Var
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.process.source import in_project
from mixnet.runtime.interpret.runner import runner_of
from mixnet.stages.graph_data import specs_of
from mixnet.widgets.graph.rows import Pictured
from mixnet.widgets.look.numbers import numbers
from mixnet.widgets.timeline.view import EngineTimeline

MOST_OUTPUTS = 3  # of one operation that numbers are stored of: a gradient has one for each input


def _start_threads() -> None:
    """The first task of a process starts the engine's threads, which takes longer than a small graph."""
    first = Var("start")
    engine.push(lambda: None, (), [first], name="start")
    engine.wait_for_var(first)


class Run:
    """Two runs of a graph; nothing outside of it changes.

    The first gives the numbers. Statistics of an array take longer than many operators, and the
    first call of an operator takes longer than all others: the second run is the one that is timed.

    Args:
        pictured: rows with the graph, and specs of its inputs.
        values: an array for each input, by name.

    ``timeline`` is the payload of an :class:`EngineTimeline`, ``numbers`` has for each row the rows of
    :func:`mixnet.widgets.look.numbers.numbers` of its outputs.

    Raises:
        Exception: what an operator raised.
    """

    def __init__(self, pictured: Pictured, values: Mapping[str, np.ndarray]):
        assert pictured.graph is not None and pictured.inputs is not None
        self._graph: Graph = pictured.graph
        self._scalars = pictured.scalars
        self._specs = specs_of(pictured.graph, pictured.inputs)
        self._numbers: dict[str, list[Any]] = {}
        self._arrays: dict[Entry, np.ndarray] = {}
        self._lock = threading.Lock()
        names = self._graph.names
        for node in self._graph.inputs:
            if node in names:
                self._numbers[names[node]] = [numbers(values[node.name])]
        # Operators are prepared here: the times are those of the work alone.
        self._calls = {node: self._call(node) for node in self._graph.nodes if not node.is_variable}
        self._begin(values)
        for node in self._calls:
            self._note(node, self._compute(node))
        self.numbers = [self._numbers.get(row["name"]) for row in pictured.rows]
        self._begin(values)
        _start_threads()
        with EngineTimeline() as timeline:
            self._push()
        self.timeline = _named(timeline.payload)

    def _begin(self, values: Mapping[str, np.ndarray]) -> None:
        """The arrays of a new run are its inputs."""
        self._readers = Counter(entry for node in self._graph.nodes for entry in node.inputs)
        self._arrays = {Entry(each): values[each.name] for each in self._graph.inputs}

    def _note(self, node: Node, arrays: list[np.ndarray]) -> None:
        self._numbers[self._graph.names[node]] = [numbers(each) for each in arrays[:MOST_OUTPUTS]]

    def _push(self) -> None:
        names = self._graph.names
        variables = {node: Var(names[node]) for node in self._graph.nodes}
        for node in self._graph.nodes:
            if node.is_variable:
                continue
            reads = list({variables[entry.node]: None for entry in node.inputs})
            source = node.source
            engine.push(
                partial(self._compute, node), reads, [variables[node]], name=names[node],
                source=None if source is None else f"{in_project(source.file)}:{source.line}",
            )  # fmt: skip
        for node in {entry.node for entry in self._graph.heads}:
            engine.wait_for_var(variables[node])

    def _call(self, node: Node) -> tuple[Any, list[Any]]:
        """The function that runs a node, and its arguments after the arrays: a random stream, and numbers."""
        run_on_host = node.op.run_on_host
        if run_on_host is not None:
            return lambda *arrays: run_on_host(arrays), []
        known = tuple(self._specs[entry] for entry in node.inputs)
        scalars = [self._scalars[s] if type(s) is ScalarSlot else s for s in node.scalars]
        more: list[Any] = []
        if node.op.takes_key and not node.op.has_stream(node.statics, node.scalars):
            known = (*known, STREAM_SPEC)
            scalars.append(0)
            more.append(np.zeros(*STREAM_SPEC))
        runner = runner_of(node.op, node.statics, known, len(scalars), current_context())
        return runner.run, [*more, *map(np.float64, scalars)]

    def _compute(self, node: Node) -> list[np.ndarray]:
        """Run a node; arrays that have no more readers are released."""
        run, more = self._calls[node]
        with np.errstate(all="ignore"):
            results = run(*[self._arrays[entry] for entry in node.inputs], *more)
        arrays = [np.asarray(each) for each in results]
        with self._lock:
            for place, each in enumerate(arrays):
                if self._readers[Entry(node, place)]:
                    self._arrays[Entry(node, place)] = each
            for entry in node.inputs:
                self._readers[entry] -= 1
                if not self._readers[entry]:
                    self._arrays.pop(entry, None)
        return arrays


def _named(payload: dict[str, Any]) -> dict[str, Any]:
    payload["runs"][0]["name"] = "operator by operator"
    return payload
