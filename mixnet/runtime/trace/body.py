"""Tracing the body of a loop or a branch: operations become a subgraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.graph.subgraph import SubGraph
from mixnet.runtime.trace.trace import Trace
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value

if TYPE_CHECKING:
    from mixnet.runtime.value.call import Call


class BodyTrace(Trace):
    """``with BodyTrace() as trace:`` operations of this thread become nodes of one subgraph.

    Values and placeholders of an outer trace that the body reads are captured
    and become inputs after the placeholders.
    """

    def __init__(self) -> None:
        super().__init__()
        self.outer = state.trace
        self.called: list[Node] = []  # nodes that draw
        self._inside: set[Node] = set()

    def placeholder(self, spec: Spec, name: str) -> Value:
        """An input of the subgraph."""
        value = super().placeholder(spec, name)
        self._inside.add(value.node)
        return value

    def record(
        self, call: Call, scalars: tuple[float, ...], values: Sequence[Value]
    ) -> list[Value]:
        """A node for one operation; its random stream, if any, is supplied when the subgraph runs."""
        if not call.op.takes_key:
            outputs = super().record(call, scalars, values)
        else:
            outputs = super().record(call, scalars[:-1], values[:-1])
            node = outputs[0].node
            self.called.append(node)
            node.order = len(self.called)
        self._inside.update(value.node for value in outputs)
        return outputs

    def entry(self, value: Value) -> Entry:
        """The entry of a value in the subgraph."""
        if value.node in self._inside:
            return Entry(value.node, value.index)
        return self._capture(value, "captured")

    def parameter(self, parameter: object, data: Any) -> Any:
        """The array that represents a block's parameter: the outer trace's, if there is one."""
        return data if self.outer is None else self.outer.parameter(parameter, data)

    def subgraph(self, outputs: Sequence[Value], has_scalars: bool = False) -> SubGraph:
        """The subgraph; its inputs are those that it reads, in order of first use, as in MXNet's symbol
        files.
        """
        graph = Graph(tuple(self.entry(value) for value in outputs))
        return SubGraph(graph, self.called, has_scalars)

    def places(self, body: SubGraph) -> list[int]:
        """Positions of the placeholders among the inputs, -1 for one that is not read."""
        order = {node: i for i, node in enumerate(body.graph.inputs)}
        return [order.get(node, -1) for node in self.placeholders]

    def read(self, body: SubGraph) -> list[tuple[int, Value]]:
        """Positions and values of captured inputs."""
        return [
            (i, self.captured[node])
            for i, node in enumerate(body.graph.inputs)
            if node in self.captured
        ]

    def sources(self, body: SubGraph, first: int) -> list[int]:
        """The loop argument of each input.

        The placeholders are the loop's first arguments; values from outside follow from ``first`` on.
        """
        arguments = {node: i for i, node in enumerate(self.placeholders)}
        sources = []
        for node in body.graph.inputs:
            sources.append(arguments.get(node, first))
            first += node not in arguments
        return sources
