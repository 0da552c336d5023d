"""Random graphs for the tests of memory plans, and the laws that every plan obeys."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops import find
from mixnet.passes.plan_memory import MemoryPlan

SHAPE = (4, 4)
_OPS: dict[str, dict[str, Any]] = {
    "elemwise_add": {}, "elemwise_mul": {}, "tanh": {}, "relu": {}, "_copy": {}, "softmax": {},
    "transpose": {}, "dot": {}, "Flatten": {}, "BlockGrad": {}, "_mul_scalar": {"scalar": 0.5},
    "SliceChannel": {"num_outputs": 2},
}  # fmt: skip


@st.composite
def graphs(draw: Any, most: int = 14) -> Graph:
    """Graphs of two variables whose arrays are all 4 by 4, or halves of them."""
    variables = [Node(None, name=f"x{i}") for i in range(2)]
    entries = [Entry(v) for v in variables]
    for i in range(draw(st.integers(1, most))):
        name = draw(st.sampled_from(sorted(_OPS)))
        op = find(name)
        statics, scalars = op.bind(_OPS[name])
        inputs = tuple(draw(st.sampled_from(entries)) for _ in op.argument_names(statics))
        node = Node(op, statics, scalars, inputs, f"n{i}")
        if name == "SliceChannel":
            join = find("Concat")
            halves = (Entry(node, 0), Entry(node, draw(st.integers(0, 1))))
            node = Node(join, join.bind({"dim": 1})[0], (), halves, f"n{i}_joined")
        entries.append(Entry(node))
    heads = draw(st.lists(st.sampled_from(entries[2:]), min_size=1, max_size=3, unique=True))
    return Graph(tuple(heads), tuple(variables))


SPEC = (SHAPE, np.dtype("float32"))


def check(plan: MemoryPlan) -> None:
    """Every law of a plan."""
    places = [(s.offset, s.offset + s.nbytes, s.first, s.last) for s in plan.storages]
    for i, (low, high, first, last) in enumerate(places):
        assert 0 <= low <= high <= plan.arena_bytes
        for other_low, other_high, other_first, other_last in places[:i]:
            separate = high <= other_low or other_high <= low
            assert separate or last < other_first or other_last < first, "living storages overlap"
            if not plan.co_share:
                assert separate
    for array in plan.arrays:
        if array.storage is None:
            assert array.kind in ("argument", "state", "gradient", "view") and array.offset is None
        else:
            storage = plan.storages[array.storage]
            assert array.nbytes == storage.nbytes and array.offset == storage.offset
            assert storage.first <= array.first <= array.last <= storage.last
            assert array in storage.arrays
    if not plan.inplace:
        assert all(len(storage.arrays) == 1 for storage in plan.storages)
    assert plan.lower_bound_bytes == max(plan.live_bytes, default=0)
    assert plan.lower_bound_bytes <= plan.total_bytes
    assert plan.total_bytes <= sum(storage.nbytes for storage in plan.storages)
    # Steps whose order shared memory requires depend on each other, or the plan lists them.
    dependencies = set(plan.dependencies)
    for storage in plan.storages:
        for other in plan.storages[: storage.number]:
            if other.offset < storage.offset + storage.nbytes and (
                storage.offset < other.offset + other.nbytes
            ):
                late = other.users & ~storage.before
                steps = [i for i in range(len(plan.steps)) if late >> i & 1]
                assert {(step, storage.first) for step in steps} <= dependencies
