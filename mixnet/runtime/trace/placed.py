"""A graph that runs in parts: on several devices, or split where an operator waits for values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mixnet.graph.node import Entry, Node
from mixnet.ops.control.custom import run_at_once
from mixnet.ops.op import Op
from mixnet.passes import pipeline
from mixnet.passes.assign_keys import assign_keys
from mixnet.passes.facts import Facts
from mixnet.passes.place_devices import COPY, Part, Placement
from mixnet.runtime.record.copy import copy_across
from mixnet.runtime.record.drawing import record_drawn
from mixnet.runtime.record.measure import record_measured
from mixnet.runtime.record.moving import move
from mixnet.runtime.record.record import record
from mixnet.runtime.trace.graph_op import GraphOp, call_graph
from mixnet.runtime.trace.turns import record_turns
from mixnet.runtime.value.value import Value


class PlacedGraph:
    """Runs a :class:`~mixnet.passes.place_devices.Placement`.

    A part is a program on its device, so it starts when all its inputs have been computed. JAX dispatches
    programs without waiting for them, so independent parts run at the same time on their devices. Only an
    operation whose shape or random numbers depend on values waits for these values.

    Args:
        placement: the split graph.
        name: shown in graphs and timelines.
        recompute: see :class:`~mixnet.runtime.trace.graph_op.GraphOp`.
    """

    def __init__(self, placement: Placement, name: str, recompute: str | None = None):
        self.placement = placement
        self.states = placement.graph.states
        self.ops: list[GraphOp | None] = []
        for i, part in enumerate(placement.parts):
            if part.alone is not None:
                self.ops.append(None)
                continue
            facts = Facts(part.context.device.platform)
            graph = assign_keys(pipeline.run(part.graph, "graph", facts))
            self.ops.append(GraphOp(graph, f"{name}_part{i}", recompute=recompute))

    def run(self, values: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        """Outputs, each on the device that computed it, and the new values of the states.

        Args:
            values: one for each input of the graph, on its device.
        """
        graph = self.placement.graph
        known = {Entry(node): value for node, value in zip(graph.inputs, values, strict=True)}

        def read(entry: Entry) -> Value:
            if entry not in known:
                assert entry.node.op is COPY
                known[entry] = copy_across(known[entry.node.inputs[0]], entry.node.statics[1])
            return known[entry]

        replaced: dict[int, Value] = {}
        for part, op in zip(self.placement.parts, self.ops, strict=True):
            if op is None:
                results = _run_alone(part, read)
                outputs = [results[entry.index] for entry in part.outputs]
                new = [graph.heads[graph.num_outputs + number] for number in part.states]
                states = [results[entry.index] for entry in new]
            else:
                outputs, states = call_graph(op, [read(e) for e in part.inputs], part.context)
            known.update(zip(part.outputs, outputs, strict=True))
            replaced.update(zip(part.states, states, strict=True))
        heads = graph.heads
        new_states = []
        for i, place in enumerate(graph.states):
            value = replaced[i] if i in replaced else read(heads[graph.num_outputs + i])
            home = values[place].spec.context
            new_states.append(value if value.spec.context is home else copy_across(value, home))
        return [read(head) for head in heads[: graph.num_outputs]], new_states

    def move_states(self, handles: Sequence[Any], before: Sequence[Value], after: Any) -> None:
        """Update the states.

        Args:
            handles: the arrays that are the states, in order.
            before: their values at the call.
            after: the results of :meth:`run`.
        """
        for handle, old, new in zip(handles, before, after, strict=True):
            move(handle, old, new, None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the placed graph, see ``Placement.to_dict``."""
        return self.placement.to_dict()


def _run_alone(part: Part, read: Callable[[Entry], Value]) -> list[Value]:
    """The results of an operation that is a part of its own."""
    node = part.alone
    assert isinstance(node, Node)
    op, values = node.op, tuple([read(each) for each in node.inputs])
    if op.turns_by_value:
        return record_turns(node, values, part.context)
    if op.takes_key:
        assert isinstance(op, Op)  # only the draws of an Op can depend on the values of its inputs
        results, _ = record_drawn(op, node.statics, node.scalars, values)
    elif isinstance(op, Op) and op.runs_at_once is not None and op.awaits_values(node.statics):
        results = run_at_once(op.keywords(node.statics), values)
    elif op.measure is not None:
        results = record_measured(op, node.statics, node.scalars, values)
    else:
        results = record(op, node.statics, node.scalars, values)
    return results
