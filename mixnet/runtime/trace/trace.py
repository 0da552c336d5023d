"""Tracing: operations on placeholders become a graph instead of being recorded to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from mixnet.context import Context
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, keep_line
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.passes.assign_keys import key_variable
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value

if TYPE_CHECKING:
    from mixnet.runtime.value.call import Call


class Trace:
    """``with Trace() as trace:`` operations of this thread become nodes of one graph.

    ``captured`` holds values from outside that the operations used, by their variable.
    """

    host = False  # operations do not run; a ``HostRun`` is set in the same place

    def __init__(self) -> None:
        self.placeholders: list[Node] = []
        self.captured: dict[Node, Value] = {}
        self._variables: dict[Value, Node] = {}
        self._key: Node | None = None
        self._draws = 0
        self._names: dict[str, int] = {}
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        self._before.append((state.trace, state.recording))
        # A traced graph is differentiated as a whole: its operations need no tape of their own.
        state.trace, state.recording = self, False
        return self

    def __exit__(self, *_: object) -> None:
        state.trace, state.recording = self._before.pop()

    def placeholder(self, spec: Spec, name: str) -> Value:
        """A value without data: an input of the graph."""
        value = Value(spec)
        value.node, value.index = Node(None, name=name), 0
        self.placeholders.append(value.node)
        return value

    def record(
        self, call: Call, scalars: tuple[float, ...], values: Sequence[Value]
    ) -> list[Value]:
        """A node for one operation; returns its outputs."""
        inputs = tuple(self.entry(value) for value in values)
        prefix = call.op.name.strip("_").lower()
        number = self._names[prefix] = self._names.get(prefix, -1) + 1
        node = Node(call.op, call.statics, scalars, inputs, f"{prefix}{number}")
        keep_line(node)
        outputs = []
        for index, spec in enumerate(call.outputs):
            value = Value(spec)
            value.node, value.index = node, index
            outputs.append(value)
        return outputs

    def entry(self, value: Value) -> Entry:
        """The entry of a value in the graph; a value from outside becomes an input."""
        # A value of this trace has a node, but neither content nor a segment that will compute it.
        if value.array is None and value.segment is None and value.node is not None:
            return Entry(value.node, value.index)
        return self._capture(value, "constant")

    def _capture(self, value: Value, prefix: str) -> Entry:
        """The input that represents a value from outside."""
        if value not in self._variables:
            node = Node(None, name=f"{prefix}{len(self.captured)}")
            self._variables[value] = node
            self.captured[node] = value
        return Entry(self._variables[value])

    def parameter(self, parameter: object, data: Any) -> Any:
        """The array that represents a block's parameter: the array itself, unless a block is traced."""
        return data

    def next_draw(self, context: Context, count: int) -> tuple[Value, float]:
        """The graph's stream and the index of the next draw; reserves ``count`` draws."""
        stream = Value(Spec.of(*STREAM_SPEC, context))
        if self._key is None:
            self._key = key_variable(0)
        stream.node, stream.index = self._key, 0
        first = self._draws
        self._draws += count
        return stream, float(first)

    def graph(self, outputs: Sequence[Value], states: Sequence[tuple[int, Value]] = ()) -> Graph:
        """The traced graph.

        Its inputs are the placeholders in order of creation, captured values, then the key.

        Args:
            outputs: of the traced function.
            states: pairs of the index of a placeholder and its new value.
        """
        heads = tuple(self.entry(value) for value in outputs)
        heads += tuple(self.entry(value) for _, value in states)
        inputs = [*self.placeholders, *self.captured]
        if self._key is not None:
            # Only the complete graph determines how many numbers it draws.
            self._key.attrs = key_variable(self._draws).attrs
            inputs.append(self._key)
        return Graph(heads, tuple(inputs), len(outputs), tuple(i for i, _ in states))
