"""An interpreter that runs a planned graph in one arena, exactly as planned.

Compiled programs get their memory from XLA. Here every internal array is stored where the plan
places it, so a plan in which two live arrays overlap gives wrong numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mixnet.base import ShapeError
from mixnet.context import cpu
from mixnet.passes.lifetimes import Array, ScheduledStep
from mixnet.passes.plan_memory import MemoryPlan
from mixnet.runtime.interpret import on_numpy
from mixnet.runtime.interpret.runner import runner_of

POISON = 0xFF  # the content of unreadable memory: NaN as a float


def run_in_arena(
    plan: MemoryPlan, arrays: Mapping[str, Any], separate: bool = False
) -> list[np.ndarray]:
    """Arrays of the graph's heads: outputs, new values of states, gradients.

    Operations run one by one in the order of the plan. Memory is filled with NaN before it is
    first written and once its last reader is done.

    Args:
        plan: of a graph.
        arrays: the graph's inputs by name, of the planned shapes.
        separate: give every array its own memory instead, to compare with.

    Raises:
        ShapeError: an input is missing, or has another shape or dtype than the plan's.
    """
    return _Run(plan, arrays, separate).run()


class _Run:
    def __init__(self, plan: MemoryPlan, arrays: Mapping[str, Any], separate: bool):
        self.plan, self.separate = plan, separate
        self.arena = np.full(plan.arena_bytes, POISON, np.uint8)
        self.own: dict[Array, np.ndarray] = {}  # arrays that do not lie in the arena
        for node in plan.schedule.graph.inputs:
            array = plan.schedule.arrays[node, 0]  # type: ignore[index]  # an Entry is a tuple
            inputs = np.asarray(arrays[node.name]) if node.name in arrays else None
            if inputs is None or inputs.shape != array.shape or inputs.dtype != array.dtype:
                actual = "nothing" if inputs is None else f"{inputs.dtype}{list(inputs.shape)}"
                raise ShapeError(
                    f"run_in_arena: the plan has input {node.name!r} of {array.dtype}"
                    f"{list(array.shape)}, but got {actual}."
                )
            self.own[array] = inputs

    def memory(self, array: Array) -> np.ndarray:
        """The array's place."""
        if array.offset is None or self.separate:
            if array not in self.own:
                self.own[array] = np.empty(array.shape, array.dtype)
            return self.own[array]
        piece = self.arena[array.offset : array.offset + array.nbytes]
        return (
            np.ndarray(array.shape, array.dtype, piece.data)
            if array.nbytes
            else np.empty(array.shape, array.dtype)
        )

    def run(self) -> list[np.ndarray]:
        ending: dict[int, list[Any]] = {}
        for storage in self.plan.storages:
            if not storage.holds_output:
                ending.setdefault(storage.last, []).append(storage)
        for number, step in enumerate(self.plan.schedule.steps):
            self.step(step)
            for storage in ending.get(number, ()):
                if not self.separate:
                    self.arena[storage.offset : storage.offset + storage.nbytes] = POISON
        arrays = self.plan.schedule.arrays
        return [self.memory(arrays[head]).copy() for head in self.plan.schedule.graph.heads]

    def step(self, step: ScheduledStep) -> None:
        arrays = self.plan.schedule.arrays
        inputs = []
        for place, entry in enumerate(step.node.inputs):
            array = arrays[entry]
            # A copy: JAX may otherwise read the arena itself, later than now.
            needed = place in step.reads
            inputs.append(
                self.memory(array).copy() if needed else np.zeros(array.shape, array.dtype)
            )
        for index, (array, value) in enumerate(
            zip(step.writes, self.compute(step, inputs), strict=False)
        ):
            source = step.reads.get(step.same.get(index, -1))
            shared = source is not None and array.storage == source.storage is not None
            if not shared or self.separate:
                self.memory(array)[...] = value

    def compute(self, step: ScheduledStep, inputs: list[np.ndarray]) -> list[np.ndarray]:
        node = step.node
        known = tuple([(each.shape, each.dtype) for each in inputs])
        runner = runner_of(node.op, node.statics, known, len(node.scalars), cpu())
        scalars = [np.float64(each) for each in node.scalars]
        results = on_numpy.quietly(runner.run, *inputs, *scalars)
        return [np.asarray(each) for each in results]
