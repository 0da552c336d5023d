"""The arrays that a monitor of an executor shows: all of a run, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mixnet.autograd.scope import RecordingScope
from mixnet.context import Context
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, topological
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.passes.assign_keys import assign_keys
from mixnet.passes.differentiate import differentiate
from mixnet.runtime.trace.graph_op import GraphOp, call_graph
from mixnet.runtime.value.value import Value
from mixnet.symbol.executable import unplaced_graph
from mixnet.symbol.symbol import Symbol, output_name


class Monitor:
    """Calls a function with the name and the array of each output of a run.

    Args:
        callback: gets the output's name and its array.
        graph: what the executor computes.
        monitor_all: also the inputs of operators.
    """

    def __init__(self, callback: Callable[[str, NDArray], Any], graph: Graph, monitor_all: bool):
        self._callback = callback
        self._shown = [
            pair
            for node in graph.nodes
            if not node.is_variable
            for pair in (*(_inputs_shown(node) if monitor_all else ()), *_outputs_shown(node))
        ]
        self.entries = list(dict.fromkeys(entry for _, entry in self._shown))
        """The entries that the executor has to compute as further outputs."""
        self._gradients: tuple[GraphOp, list[Entry]] | None = None

    def show(self, values: Sequence[Value]) -> None:
        """Show the results for ``entries``."""
        values_of = dict(zip(self.entries, values, strict=True))
        for name, entry in self._shown:
            self._call(name, values_of[entry].alias())

    def _call(self, name: str, value: Value) -> None:
        # Kept here meanwhile: a function may hold no more of the array than its handle.
        array = NDArray._wrap(value)
        self._callback(name, array)

    def show_gradients(
        self,
        complete: Callable[[], Symbol],
        names: Sequence[str],
        num_arguments: int,
        inputs: Sequence[Value],
        context: Context,
        draw: tuple[Value, float] | None,
    ) -> None:
        """Show what the operators' backward nodes compute.

        Args:
            complete: gives the symbol that runs.
            names: of its outputs, those for ``entries`` left out.
            num_arguments: how many of the inputs have gradients.
            inputs: arguments, states and gradients of the outputs.
            context: device.
            draw: the random numbers of forward.
        """
        if self._gradients is None:
            self._gradients = _backward_nodes(complete(), names, num_arguments)
        op, entries = self._gradients
        with RecordingScope(False, True):
            values, _ = call_graph(op, inputs, context, draw)
        for entry, value in zip(entries, values, strict=True):
            self._call(output_name(entry), value)


def _backward_nodes(
    symbol: Symbol, names: Sequence[str], num_arguments: int
) -> tuple[GraphOp, list[Entry]]:
    graph = assign_keys(unplaced_graph(symbol, True))
    starts = [Node(None, name=f"{name}_grad") for name in names]
    differentiated = differentiate(
        graph.heads[: len(starts)],
        [Entry(node) for node in starts],
        [Entry(node) for node in graph.inputs[:num_arguments]],
    )
    known = {*graph.nodes, *starts}
    reached = topological(entry.node for entry in differentiated if entry is not None)
    entries = [
        Entry(node, i)
        for node in reached
        if node not in known
        for i in range(node.op.num_outputs(node.statics, len(node.inputs)))
    ]
    gradients = Graph(tuple(entries), (*graph.inputs, *starts), len(entries))
    return GraphOp(gradients, "watched_gradients"), entries


def _inputs_shown(node: Node) -> Iterator[tuple[str, Entry]]:
    """The arrays that a monitor of all arrays shows before an operator runs; variables by name, too."""
    from mixnet.symbol.input_names import input_name  # only monitors need that table

    for place, entry in enumerate(node.inputs):
        if entry.node.is_variable:
            yield entry.node.name, entry
        yield input_name(node, place), entry


def _outputs_shown(node: Node) -> list[tuple[str, Entry]]:
    """The outputs of a node that monitors see: those that have names, hidden ones too."""
    assert node.op is not None
    count = node.op.num_outputs(node.statics, len(node.inputs))
    if len(_names(node)) != count:
        count = node.op.num_visible(node.statics, len(node.inputs))
    entries = [Entry(node, i) for i in range(count)]
    return [(_watched_name(entry), entry) for entry in entries]


def _names(node: Node) -> tuple[str, ...]:
    return node.op.output_names(node.statics) if isinstance(node.op, Op) else ()


def _watched_name(entry: Entry) -> str:
    names = _names(entry.node)
    if len(names) > 1 and entry.index < len(names):
        return f"{entry.node.name}_{names[entry.index]}"
    return output_name(entry)
