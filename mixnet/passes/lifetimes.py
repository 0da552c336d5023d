"""Lifetimes: when each array of a graph is written and last read, for a given schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.op import Op
from mixnet.ops.tracing.dataflow import program
from mixnet.ops.tracing.traced import Known

EXTERNAL = frozenset({"argument", "state", "gradient", "view"})
"""Kinds of arrays whose memory belongs to the caller; a plan places the others."""


@dataclass(eq=False)
class Array:
    """One array of a graph.

    Args:
        name: the node's name, with the number of the output if it has several.
        node: name of the node that computes it.
        index: the number of the output.
        shape: its shape.
        dtype: its dtype.
        kind: ``argument``, ``state`` and ``gradient`` belong to the user; ``output`` and ``internal``
            arrays are placed by a plan; a ``view`` is an argument in this or another shape.
        first: step of the schedule that writes it, 0 for arrays that exist from the start.
        last: the last step that needs it, the schedule's last one for outputs and the user's arrays.
        readers: the steps that read it.
        storage: number of its storage in the plan; None if it is the user's.
        offset: where it begins in the plan's arena, in bytes.
    """

    name: str
    node: str
    index: int
    shape: tuple[int, ...]
    dtype: np.dtype
    kind: str
    first: int
    last: int
    readers: tuple[int, ...] = ()
    storage: int | None = None
    offset: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "node": self.node,
            "index": self.index,
            "kind": self.kind,
            "first": self.first,
            "last": self.last,
            "storage": self.storage,
            "offset": self.offset,
            "shape": list(self.shape),
            "dtype": self.dtype.name,
            "nbytes": self.nbytes,
        }


@dataclass(frozen=True, eq=False)
class ScheduledStep:
    """One operation of a schedule.

    Args:
        name: the node's, with a number appended if another step has the same name.
        node: what runs.
        reads: its inputs by index, without those whose elements it does not need.
        writes: its outputs.
        same: outputs that are an input, possibly in another shape: index of the output -> index of the input.
        elementwise: for every output, the indices of inputs in whose memory it can be computed.
        before: a bit set of the steps on which this one depends.
        workspace: bytes of temporary memory, if its program reports them.
    """

    name: str
    node: Node
    reads: Mapping[int, Array]
    writes: tuple[Array, ...]
    same: Mapping[int, int]
    elementwise: Sequence[frozenset[int]]
    before: int
    workspace: int


@dataclass(frozen=True, eq=False)
class Schedule:
    """Operations in the order in which they run, and all arrays with their lifetimes."""

    graph: Graph
    steps: list[ScheduledStep]
    arrays: dict[Entry, Array]

    def inputs(self) -> list[Array]:
        """The arrays of the graph's inputs, in their order."""
        stored = {entry.node: array for entry, array in reversed(self.arrays.items())}
        return [stored[node] for node in self.graph.inputs]


def lifetimes(graph: Graph, inputs: Sequence[Known]) -> Schedule:
    """The schedule that runs the nodes in the graph's order.

    Args:
        graph: heads are outputs, then new values of its states, then gradients.
        inputs: shape and dtype of each of the graph's inputs, in order.
    """
    specs: dict[Entry, Known] = {
        Entry(node): spec for node, spec in zip(graph.inputs, inputs, strict=True)
    }
    arrays = _Arrays(specs, _kinds(graph))
    for node in graph.inputs:
        arrays.add(node, arrays.unique(node.name), 0, 1, 0)
    steps: list[ScheduledStep] = []
    for number, node in enumerate(node for node in graph.nodes if not node.is_variable):
        known = [specs[entry] for entry in node.inputs]
        flow = program(node.op, node.statics, known, len(node.scalars))
        reads = {
            place: arrays.of[entry]
            for place, entry in enumerate(node.inputs)
            if place in flow.reads
        }
        for array in reads.values():
            arrays.readers[array].append(number)
        before = arrays.steps_before(node, steps)
        count = len(flow.outputs)
        specs.update((Entry(node, i), flow.specs[v]) for i, v in enumerate(flow.outputs))
        name = arrays.unique(node.name)
        writes = tuple(arrays.add(node, name, index, count, number) for index in range(count))
        arrays.writers.update(dict.fromkeys(writes, number))
        steps.append(
            ScheduledStep(
                name,
                node,
                reads,
                writes,
                flow.same_elements,
                flow.elementwise,
                before,
                flow.workspace,
            )
        )
    arrays.end(max(len(steps) - 1, 0))
    return Schedule(graph, steps, arrays.of)


def _kinds(graph: Graph) -> dict[Entry, str]:
    """The kind of each entry that is not internal."""
    kinds = {Entry(node): "argument" for node in graph.inputs}
    first_gradient = graph.num_outputs + len(graph.states)
    # An array that is also an output is placed as an output.
    for number in reversed(range(len(graph.heads))):
        kind = "gradient" if number >= first_gradient else "state"
        kinds[graph.heads[number]] = "output" if number < graph.num_outputs else kind
    for number in graph.states:
        kinds[Entry(graph.inputs[number])] = "state"
    for node in graph.nodes:  # states that do not change in prediction
        if isinstance(node.op, Op) and node.op.states:
            for place in node.op.written(node.statics, len(node.inputs)):
                if node.inputs[place].node.is_variable:
                    kinds[node.inputs[place]] = "state"
    for node in graph.inputs:  # an input belongs to the caller, even if it is an output
        if kinds[Entry(node)] != "state":
            kinds[Entry(node)] = "argument"
    return kinds


class _Arrays:
    """The arrays of a schedule under construction, with the steps that write and read them.

    Args:
        specs: shape and dtype of every entry whose array is added; the caller extends it.
        kinds: kinds of the entries that are not internal.
    """

    def __init__(self, specs: Mapping[Entry, Known], kinds: Mapping[Entry, str]) -> None:
        self._specs = specs
        self._kinds = kinds
        self._names: dict[str, int] = {}
        self.of: dict[Entry, Array] = {}
        self.writers: dict[Array, int] = {}
        self.readers: dict[Array, list[int]] = {}

    def unique(self, name: str) -> str:
        """The name, with a number appended from its second use on."""
        self._names[name] = self._names.get(name, 0) + 1
        return name if self._names[name] == 1 else f"{name}#{self._names[name]}"

    def add(self, node: Node, own: str, index: int, count: int, step: int) -> Array:
        """The array of a node's output, which lives from ``step`` on."""
        entry = Entry(node, index)
        shape, dtype = self._specs[entry]
        name = own if count == 1 else f"{own}[{index}]"
        kind = self._kinds.get(entry, "internal")
        array = Array(name, own, index, shape, np.dtype(dtype), kind, step, step)
        self.readers[array] = []
        self.of[entry] = array
        return array

    def steps_before(self, node: Node, steps: Sequence[ScheduledStep]) -> int:
        """A bit set of the steps that the node's inputs depend on."""
        before = 0
        for writer in (self.writers.get(self.of[entry]) for entry in node.inputs):
            if writer is not None:
                before |= steps[writer].before | 1 << writer
        return before

    def end(self, last: int) -> None:
        """Write each array's readers and lifetime; ``last`` is the number of the last step."""
        for array, readers in self.readers.items():
            array.readers = tuple(dict.fromkeys(readers))
            outlives = array.kind != "internal"
            array.last = last if outlives else max((array.first, *readers))
            array.first = 0 if array.kind in EXTERNAL else array.first
