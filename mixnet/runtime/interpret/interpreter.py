"""Running a segment without a compiler: its operations one by one on NumPy.

Compiling costs milliseconds per operation; running a small one this way costs microseconds. So a new segment
is interpreted; one that runs repeatedly is compiled (:mod:`mixnet.runtime.interpret.patience`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from mixnet.context import Context
from mixnet.graph.node import ScalarSlot
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.tracing.traced import Known
from mixnet.passes.infer_shape import evaluate
from mixnet.passes.inline import ADVANCE
from mixnet.runtime.devices.to_device import owned, to_device
from mixnet.runtime.interpret import on_numpy, patience
from mixnet.runtime.interpret.on_numpy.work import (
    Cost,
    away_from_device,
    total,
)
from mixnet.runtime.interpret.runner import Applied, runner_of
from mixnet.runtime.value.counters import count
from mixnet.runtime.value.memory import logs
from mixnet.runtime.value.value import Spec

# Replaced in a forked process, see ``forked``.
on_host: Callable[[Any], np.ndarray] = np.asarray


class Step(NamedTuple):
    """An operation of a flat program; values are numbered, the leaves first."""

    run: Callable[..., Sequence[Any]]
    inputs: tuple[int, ...]
    # An int is an index into the vector of scalars, a float a number.
    scalars: tuple[int | float, ...]
    outputs: range
    last_read: tuple[int, ...]  # values that no later operation reads
    applied: Applied


class _Operation(NamedTuple):
    op: Any
    statics: Any
    inputs: tuple[int, ...]
    scalars: tuple[int | float, ...]
    outputs: range


class Interpreter:
    """A segment's program as a list of steps, called like a compiled one.

    Arrays on a GPU are copied to the host and the results back, which takes microseconds; compiling for a GPU
    takes seconds.

    ``cost`` estimates the seconds of a run, and of compiling it. ``is_python`` says whether it only calls
    Python, in which case a compiled program would not be faster. ``steps`` are its operations, and
    ``heads`` the numbers of the values that it returns.

    Args:
        program: operations ``(call, *slots of the inputs)``, as in a segment.
        slots: the requested outputs.
        leaves: specs of the inputs.
        context: the device of the results.
    """

    def __init__(
        self,
        program: Sequence[tuple[Any, ...]],
        slots: Sequence[int],
        leaves: Sequence[Spec],
        context: Context,
    ):
        writer = _Writer(leaves)
        at: list[int] = []  # slot -> number of its value
        scalars = 0
        for call, *places in program:
            # A segment numbers its leaves with negative slots; here they are the first values.
            inputs = tuple([at[place] if place >= 0 else -1 - place for place in places])
            numbers = tuple(range(scalars, scalars + call.num_scalars))
            scalars += call.num_scalars
            at += writer.write(call.op, call.statics, inputs, numbers, call.outputs)
        heads = [at[slot] for slot in slots]
        self.heads = heads
        self._specs = [Spec.of(*writer.specs[head], context) for head in heads]
        self.steps, costs, python = writer.steps(heads, context)
        self.cost = total([*costs, Cost(0, 0, patience.WHOLE_SECONDS)])
        self.is_python = python == len(self.steps) > 0
        self._copies = patience.is_away(context)
        if self._copies:
            moved = [*leaves, *self._specs]
            self.cost = away_from_device(
                self.cost, len(moved), sum([each.nbytes for each in moved])
            )
        self._run: Callable[..., Sequence[Any]] | None = None
        self._has_run = False

    def __len__(self) -> int:
        return len(self.steps)

    def __call__(self, scalars: Sequence[Any], *arrays: np.ndarray) -> list[Any]:
        """Arrays of the requested outputs; on a CPU, NumPy's, which no one else holds."""
        count("interpreted", len(self.steps))
        # Generating code pays off over many runs; the second one is the first sign of them.
        if self._has_run and self._run is None:
            self._run = _written_out(self.steps, len(arrays), self.heads)
        self._has_run = True
        if self._copies:
            for array in arrays:
                if not isinstance(array, np.ndarray):
                    array.copy_to_host_async()  # start all transfers before waiting for the first
        host_arrays = [on_host(array) for array in arrays]
        results = on_numpy.quietly(self._run or self._stepwise, scalars, host_arrays)
        if self._copies or logs:  # logs follow the arrays of devices
            with jax.enable_x64(True):
                pairs = zip(results, self._specs, strict=True)
                return [to_device(each, spec) for each, spec in pairs]
        return [owned(each) for each in results]

    def _stepwise(self, scalars: Sequence[Any], arrays: list[Any]) -> list[Any]:
        values = dict(enumerate(arrays))
        arrays.clear()  # otherwise the list would hold every input until the end
        for run, inputs, numbers, outputs, last_read, _ in self.steps:
            operands = [values[i] for i in inputs]
            for number in numbers:
                operands.append(scalars[number] if type(number) is int else np.float64(number))
            values.update(zip(outputs, run(*operands), strict=True))
            for i in last_read:
                del values[i]
        return [values[head] for head in self.heads]


def _written_out(
    steps: Sequence[Step], leaves: int, heads: Sequence[int]
) -> Callable[..., Sequence[Any]]:
    """The steps as one generated Python function, ``(scalars, arrays) -> results``.

    Iterating over steps costs about as much as a small operation itself. The generated function costs a
    tenth of that; for Python to compile it takes as long as some ten iterations.
    """
    names: dict[str, Any] = {}
    lines = ["def run(s, a):"]
    if leaves:
        lines.append(f" {''.join(f'v{i}, ' for i in range(leaves))}= a")
        lines.append(" a.clear()")
    for number, (run, inputs, scalars, outputs, last_read, _) in enumerate(steps):
        names[f"f{number}"] = run
        operands = [f"v{i}" for i in inputs]
        for k, each in enumerate(scalars):
            if type(each) is int:
                operands.append(f"s[{each}]")
            else:
                names[f"c{number}_{k}"] = np.float64(each)
                operands.append(f"c{number}_{k}")
        results = "".join(f"v{i}, " for i in outputs)
        lines.append(f" {results}= f{number}({', '.join(operands)})")
        if last_read:
            lines.append(f" {' = '.join(f'v{i}' for i in last_read)} = None")
    lines.append(f" return [{', '.join(f'v{head}' for head in heads)}]")
    exec("\n".join(lines), names)
    function: Callable[..., Sequence[Any]] = names["run"]
    return function


class _Writer:
    """Flattens operations: replaces graphs by their nodes."""

    def __init__(self, leaves: Sequence[Spec]):
        self.specs: list[Known] = [(spec.shape, spec.dtype) for spec in leaves]
        self.operations: list[_Operation] = []

    def write(
        self,
        op: Operator,
        statics: Statics,
        inputs: tuple[int, ...],
        scalars: tuple[int | float, ...],
        specs: Sequence[Any] | None = None,
    ) -> Sequence[int]:
        """Indices of the outputs of an operation."""
        if op.graph is not None:
            return self._write_graph(op, inputs, scalars)
        if specs is None:
            known = tuple([self.specs[i] for i in inputs])
            results: list[Known] = evaluate(op, statics, known, len(scalars))
        else:
            results = [(spec.shape, spec.dtype) for spec in specs]
        start = len(self.specs)
        self.specs += results
        outputs = range(start, len(self.specs))
        self.operations.append(_Operation(op, statics, inputs, scalars, outputs))
        return outputs

    def _write_graph(
        self, op: Operator, inputs: tuple[int, ...], scalars: tuple[int | float, ...]
    ) -> list[int]:
        graph = op.graph
        number: dict[Any, Sequence[int]] = {}
        for place, (node, value) in enumerate(zip(graph.inputs, inputs, strict=True)):
            # The operators inside count their draws from 0, so their stream begins at this call's draw.
            if place == op.key:
                (value,) = self.write(ADVANCE, (), (value,), scalars[-1:])
            number[node] = (value,)
        for node in graph.nodes:
            if not node.is_variable:
                numbers = tuple(
                    scalars[each] if type(each) is ScalarSlot else float(each)
                    for each in node.scalars
                )
                places = tuple([number[entry.node][entry.index] for entry in node.inputs])
                number[node] = self.write(node.op, node.statics, places, numbers)
        return [number[entry.node][entry.index] for entry in graph.heads]

    def steps(self, heads: Sequence[int], context: Context) -> tuple[list[Step], list[Cost], int]:
        """The operations that the heads need, their costs, and how many of them run Python."""
        # Backwards: unneeded operations are skipped, and the first one met that needs a value reads it last.
        needed = set(heads)
        steps: list[Step] = []
        costs: list[Cost] = []
        python = 0
        for op, statics, inputs, scalars, outputs in reversed(self.operations):
            if needed.isdisjoint(outputs):
                continue
            known = tuple([self.specs[i] for i in inputs])
            applied = Applied(op, statics, known, len(scalars))
            runner = runner_of(*applied, context)
            costs.append(runner.cost)
            python += runner.calls_python
            fresh = {*inputs, *outputs} - needed
            needed.update(inputs)
            steps.append(Step(runner.run, inputs, scalars, outputs, tuple(fresh), applied))
        steps.reverse()
        return steps, costs, python
