"""The data flow of an operator: its JAX program as a flat list of primitives.

Nothing is declared by hand: which inputs an operator reads, which outputs are a reshaped input, and
which can be computed in place is derived from its jaxpr.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from mixnet.ops.operator import Operator, Statics
from mixnet.ops.tracing.primitives import ELEMENTWISE, MATERIALISED
from mixnet.ops.tracing.traced import Known, trace_function, traced
from mixnet.private_jax.calls import called
from mixnet.private_jax.jaxprs import ClosedJaxpr, Literal
from mixnet.process.locks import cached_property

# Primitives that change neither the elements nor their order.
_SAME = frozenset({"reshape", "squeeze", "expand_dims", "copy", "copy_p", "stop_gradient"})


class Step(NamedTuple):
    """One primitive applied to values; values are numbers."""

    primitive: Any
    params: Mapping[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Program:
    """A flat program: numbered values, steps in order, and calls of other programs inlined.

    Args:
        specs: shape and dtype of every value.
        constants: values that exist from the start.
        steps: the operations, in order.
        inputs: numbers of the input values.
        outputs: numbers of the output values.
    """

    def __init__(
        self,
        specs: list[Known],
        constants: dict[int, Any],
        steps: list[Step],
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
    ):
        self.specs, self.constants, self.steps = specs, constants, steps
        self.inputs, self.outputs = inputs, outputs

    def sliced(self, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
        """The part that computes some values from others."""
        steps, _ = self.needed(outputs, frozenset(inputs))
        return Program(self.specs, self.constants, steps, tuple(inputs), tuple(outputs))

    def needed(
        self, outputs: Iterable[int], known: Collection[int] = ()
    ) -> tuple[list[Step], set[int]]:
        """The steps that compute the values ``outputs``, and the inputs and known values they read.

        Args:
            outputs: numbers of values.
            known: values that need not be computed.
        """
        missing: set[int] = set()
        used: set[int] = set()
        equations = []

        def need(value: int) -> None:
            (used if value in known else missing).add(value)

        for value in outputs:
            need(value)
        for step in reversed(self.steps):
            if not missing.isdisjoint(step.outputs):
                equations.append(step)
                for value in step.inputs:
                    need(value)
        return equations[::-1], used | missing.intersection(self.inputs)

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Arrays of the outputs, from those of the inputs."""
        values = {**self.constants, **dict(zip(self.inputs, arrays, strict=True))}
        for step in self.steps:
            params = step.primitive.get_bind_params(step.params)
            results = step.primitive.bind(*[values[i] for i in step.inputs], **params)
            if not step.primitive.multiple_results:
                results = (results,)
            values.update(zip(step.outputs, results, strict=True))
        return tuple(values[i] for i in self.outputs)

    @cached_property
    def reads(self) -> frozenset[int]:
        """Indices of the inputs on whose elements an output depends."""
        used = self.needed(self.outputs)[1]
        return frozenset(place for place, value in enumerate(self.inputs) if value in used)

    @cached_property
    def same_elements(self) -> dict[int, int]:
        """Outputs that are an input, possibly reshaped: index of the output -> index of the input."""
        places = {value: place for place, value in enumerate(self.inputs)}
        for step in self.steps:
            if self._keeps(step) and step.inputs[0] in places:
                places[step.outputs[0]] = places[step.inputs[0]]
        return {i: places[value] for i, value in enumerate(self.outputs) if value in places}

    @cached_property
    def elementwise(self) -> list[frozenset[int]]:
        """For each output, the indices of the inputs to whose memory it can be written.

        Element k of the output depends only on element k of such an input, and so do the other outputs. Both
        have the same size in bytes.
        """
        live, _ = self.needed(self.outputs)
        places: dict[int, frozenset[int]] = {v: frozenset({i}) for i, v in enumerate(self.inputs)}
        elsewhere: set[int] = set()  # inputs of which several elements are read for one result
        sizes = {value: math.prod(self.specs[value][0]) for value in self.inputs}
        for step in live:
            read: frozenset[int] = frozenset()
            size = math.prod(self.specs[step.outputs[0]][0]) if step.outputs else 0
            for value in step.inputs:
                if value not in places:
                    continue
                name = step.primitive.name
                if self._keeps(step) or (name in ELEMENTWISE and sizes[value] == size):
                    read |= places[value]
                else:
                    elsewhere |= places[value]
            if read:
                places[step.outputs[0]] = read
                sizes[step.outputs[0]] = size
        return [
            frozenset(
                place
                for place in places.get(value, frozenset()) - elsewhere
                if self._fits(self.inputs[place], value)
            )
            for value in self.outputs
        ]

    @cached_property
    def workspace(self) -> int:
        """Peak size in bytes of intermediate results that no compiler fuses into their readers.

        These are results of products, windows, sorting and the like; elementwise results, moved elements and
        sums are computed where they are needed. Values from which an output is computed elementwise are in
        the output's own memory.
        """
        steps, _ = self.needed(self.outputs)
        last: dict[int, int] = {}
        for number, step in enumerate(steps):
            for value in (*step.inputs, *step.outputs):
                last[value] = number
        inside = set(self.outputs)  # values in whose memory an output is computed
        for step in reversed(steps):
            passed = self._keeps(step) or step.primitive.name in ELEMENTWISE
            if passed and not inside.isdisjoint(step.outputs):
                inside.update(step.inputs)
        change = [0] * (len(steps) + 1)
        for number, step in enumerate(steps):
            if step.primitive.name in MATERIALISED:
                for value in step.outputs:
                    if value not in inside:
                        shape, dtype = self.specs[value]
                        nbytes = math.prod(shape) * dtype.itemsize
                        change[number] += nbytes
                        change[last[value] + 1] -= nbytes
        return max(itertools.accumulate(change), default=0)

    def _keeps(self, step: Step) -> bool:
        """Whether a step keeps all elements in their order."""
        if step.primitive.name == "broadcast_in_dim":  # if it only adds axes of extent 1
            before, after = (self.specs[each[0]][0] for each in (step.inputs, step.outputs))
            return math.prod(before) == math.prod(after)
        return step.primitive.name in _SAME

    def _fits(self, first: int, second: int) -> bool:
        (shape, dtype), (other, kind) = self.specs[first], self.specs[second]
        return math.prod(shape) == math.prod(other) and dtype.itemsize == kind.itemsize


class _Writer:
    """Converts a jaxpr to a flat program."""

    def __init__(self) -> None:
        self.specs: list[Known] = []
        self.constants: dict[int, Any] = {}
        self.steps: list[Step] = []

    def value(self, aval: jax.core.ShapedArray) -> int:
        self.specs.append((tuple(aval.shape), aval.dtype))
        return len(self.specs) - 1

    def constant(self, value: Any, aval: Any) -> int:
        number = self.value(aval)
        self.constants[number] = value
        return number

    def write(self, closed: ClosedJaxpr, operands: Sequence[int]) -> list[int]:
        # Programs call each other a few levels deep, never as deep as graphs are.
        jaxpr = closed.jaxpr
        known: dict[Any, int] = dict(zip(jaxpr.invars, operands, strict=True))
        for variable, value in zip(jaxpr.constvars, closed.consts, strict=True):
            known[variable] = self.constant(value, variable.aval)

        def number(atom: Any) -> int:
            return self.constant(atom.val, atom.aval) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            inputs = tuple(number(each) for each in equation.invars)
            inner = called(equation)
            if inner is None:
                outputs = tuple(self.value(each.aval) for each in equation.outvars)
                self.steps.append(Step(equation.primitive, equation.params, inputs, outputs))
            else:
                outputs = tuple(self.write(inner, inputs))
            known.update(zip(equation.outvars, outputs, strict=True))
        return [number(each) for each in jaxpr.outvars]


_programs: dict[Any, Program] = {}


def program(op: Operator, statics: Statics, inputs: Sequence[Known], scalars: int) -> Program:
    """The program of an operator, whose inputs are the arrays, then the scalars; cached.

    Args:
        op: the operator.
        statics: its bound attributes.
        inputs: shapes and dtypes of its arrays.
        scalars: the number of scalar inputs.
    """
    known: Program | None = op.program
    if known is not None:
        return known
    inputs = tuple(inputs)
    key = (op, statics, inputs, scalars)
    if key not in _programs:
        apply = op.dataflow
        if apply is None:
            _programs[key] = written_out(traced(op, statics, inputs, scalars))
        else:
            count = len(inputs)

            def run(*arrays: Any) -> tuple[Any, ...]:
                return apply(statics, arrays[:count], arrays[count:])

            _programs[key] = written_out(trace_function(run, inputs, scalars))
    return _programs[key]


def written_out(jaxpr: ClosedJaxpr) -> Program:
    """The flat program of a jaxpr."""
    writer = _Writer()
    inputs = tuple(writer.value(each.aval) for each in jaxpr.jaxpr.invars)
    outputs = tuple(writer.write(jaxpr, inputs))
    return Program(writer.specs, writer.constants, writer.steps, inputs, outputs)


def trace(run: Callable[..., Any], inputs: Sequence[Known], scalars: int) -> Program:
    """The program of a function of arrays and then of float64 numbers."""
    return written_out(trace_function(run, inputs, scalars))
