"""The memory plan of a graph: shared storages, offsets, and total size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry
from mixnet.ops.tracing.traced import Known
from mixnet.passes.differentiate import BackwardOp
from mixnet.passes.facts import Facts
from mixnet.passes.lifetimes import EXTERNAL, Array, Schedule, lifetimes
from mixnet.passes.narrow_gradients import narrow_gradients
from mixnet.passes.place_arrays import place_arrays
from mixnet.passes.share_storage import Storage, conflicts, live_bytes, make_storages
from mixnet.units import size_text

# If an arena exceeds the lower bound by this factor, the schedule's order is worth more than parallelism.
WORTH_AN_ORDER = 1.05


@dataclass(frozen=True, eq=False)
class MemoryPlan:
    """The memory that a graph needs, and the position of each array in it.

    Args:
        inplace: whether outputs may reuse storages of inputs.
        co_share: whether storages may overlap if they are not needed at the same time.
        recompute: how gradients recompute forward results; None if they do not.
        schedule: operations in order, and the arrays with their lifetimes.
        storages: pieces of memory; arrays that share memory in place have one storage.
        arena_bytes: size of the arena that holds all storages.
        lower_bound_bytes: the least size of any arena: the bytes of the storages that are needed at the same
            time, at the step with the most of them.
        dependencies: pairs of steps of which the first must run before the second because they share memory,
            though no data flows between them.
    """

    inplace: bool
    co_share: bool
    recompute: str | None
    schedule: Schedule
    storages: list[Storage]
    arena_bytes: int
    lower_bound_bytes: int
    dependencies: list[tuple[int, int]] = field(default_factory=list)

    @property
    def arrays(self) -> list[Array]:
        """All arrays: the user's, then those of each step."""
        return list(self.schedule.arrays.values())

    @property
    def steps(self) -> list[str]:
        """Names of the operations in the order in which they run."""
        return [step.name for step in self.schedule.steps]

    @property
    def total_bytes(self) -> int:
        """Bytes for internal arrays and outputs: what MXNet's "Total N MB allocated" counts."""
        return self.arena_bytes

    @property
    def live_bytes(self) -> list[int]:
        """Bytes of the storages that are needed at each step."""
        return live_bytes(self.storages, len(self.schedule.steps))

    @property
    def argument_bytes(self) -> int:
        """Bytes of data and parameters, which belong to the user."""
        return self._bytes("argument")

    @property
    def gradient_bytes(self) -> int:
        """Bytes of the requested gradients, which belong to the user."""
        return self._bytes("gradient")

    @property
    def state_bytes(self) -> int:
        """Bytes of auxiliary states, which operators write in place."""
        variables = {Entry(node) for node in self.schedule.graph.inputs}
        arrays = self.schedule.arrays.items()
        return sum(a.nbytes for entry, a in arrays if a.kind == "state" and entry in variables)

    @property
    def workspace_bytes(self) -> int:
        """An estimate of the largest workspace that one operation needs while it runs.

        It counts an operator's intermediate results of products, windows, sorting and the like; neither
        values that a compiler fuses nor the memory of its libraries.
        """
        return max((step.workspace for step in self.schedule.steps), default=0)

    def _bytes(self, kind: str) -> int:
        return sum(array.nbytes for array in self.arrays if array.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the figures, names of the steps, storages and arrays."""
        return {
            "inplace": self.inplace,
            "co_share": self.co_share,
            "recompute": self.recompute,
            "total_bytes": self.total_bytes,
            "lower_bound_bytes": self.lower_bound_bytes,
            "arena_bytes": self.arena_bytes,
            "argument_bytes": self.argument_bytes,
            "gradient_bytes": self.gradient_bytes,
            "state_bytes": self.state_bytes,
            "workspace_bytes": self.workspace_bytes,
            "steps": self.steps,
            "live_bytes": self.live_bytes,
            "storages": [storage.to_dict() for storage in self.storages],
            "arrays": [array.to_dict() for array in self.arrays],
            "dependencies": [list(pair) for pair in self.dependencies],
        }

    def __repr__(self) -> str:
        internal = sum(array.kind not in EXTERNAL for array in self.arrays)
        switches = {"inplace": self.inplace, "co_share": self.co_share, "recompute": self.recompute}
        options = [name for name, is_on in switches.items() if is_on]
        lines = [
            f"Memory plan of {len(self.steps)} operations ({', '.join(options) or 'nothing shared'})",
            f"  internal arrays  {size_text(self.total_bytes)}: {internal} arrays in "
            f"{len(self.storages)} storages, at least {size_text(self.lower_bound_bytes)}",
            f"  arguments        {size_text(self.argument_bytes)}",
            f"  gradients        {size_text(self.gradient_bytes)}",
            f"  states           {size_text(self.state_bytes)}",
            f"  workspace        {size_text(self.workspace_bytes)} (estimate)",
        ]
        return "\n".join(lines)


def with_fewest_reads(graph: Graph, inputs: Sequence[Known]) -> Graph:
    """The graph for planning: gradients read only what they need.

    Plans of one graph that differ in their options can share it.
    """
    if not any(isinstance(node.op, BackwardOp) for node in graph.nodes):
        return graph
    return narrow_gradients(graph, Facts(inputs=inputs).specs(graph))


def plan_memory(
    graph: Graph,
    inputs: Sequence[Known],
    inplace: bool = True,
    co_share: bool = True,
    recompute: str | None = None,
) -> MemoryPlan:
    """The memory plan of a graph; linear in its nodes, except for sorting storages and searching gaps.

    Co-sharing does not order operations that could run at the same time, unless the arena would otherwise
    exceed ``WORTH_AN_ORDER`` times the lower bound; ``dependencies`` lists the pairs that it orders.

    Args:
        graph: heads are outputs, then new values of its states, then gradients.
        inputs: shape and dtype of each of the graph's inputs, in order.
        inplace: whether outputs may reuse storages of inputs that are not read later.
        co_share: whether storages may overlap those that are no longer needed.
        recompute: how the graph recomputes; only stored in the plan.
    """
    graph = with_fewest_reads(graph, inputs)
    schedule = lifetimes(graph, inputs)
    storages = make_storages(schedule, inplace)
    count = len(schedule.steps)
    bound = max(live_bytes(storages, count), default=0)
    dependencies: list[tuple[int, int]] = []
    if not co_share:
        top = 0
        for storage in storages:
            storage.offset = top
            top += storage.nbytes
    else:
        unordered = conflicts(storages, count, in_order=False)
        top = _place(storages, unordered, bound)
        if top > WORTH_AN_ORDER * bound:
            before = [storage.offset for storage in storages]
            other = _place(storages, conflicts(storages, count, in_order=True), bound)
            if other < top:
                top = other
                dependencies = _dependencies(storages, unordered)
            else:
                for storage, offset in zip(storages, before, strict=True):
                    storage.offset = offset
    for array in schedule.arrays.values():
        if array.storage is not None:
            array.offset = storages[array.storage].offset
    return MemoryPlan(inplace, co_share, recompute, schedule, storages, top, bound, dependencies)


def _place(storages: list[Storage], conflicts: list[list[int]], bound: int) -> int:
    """Give storages their offsets; returns the end of the last one."""
    unit = max((array.dtype.itemsize for each in storages for array in each.arrays), default=1)
    sizes = [-(-storage.nbytes // unit) * unit for storage in storages]
    offsets = place_arrays(sizes, conflicts, [storage.first for storage in storages], bound)
    for storage, offset in zip(storages, offsets, strict=True):
        storage.offset = offset
    return max((storage.offset + storage.nbytes for storage in storages), default=0)


def _dependencies(storages: list[Storage], unordered: list[list[int]]) -> list[tuple[int, int]]:
    """Pairs of steps that are ordered only because their storages overlap."""
    pairs: dict[tuple[int, int], None] = {}
    for storage in storages:
        for other in (storages[number] for number in unordered[storage.number]):
            overlap = (
                other.offset < storage.offset + storage.nbytes
                and storage.offset < other.offset + other.nbytes
            )
            if overlap and other.number < storage.number:
                late = other.users & ~storage.before
                while late:
                    low = late & -late
                    pairs[low.bit_length() - 1, storage.first] = None
                    late ^= low
    return list(pairs)
