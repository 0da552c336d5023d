"""Narrow gradients: they read only what they need, outputs of the forward operator or some of its inputs.

A gradient node lists all inputs of the forward operator and computes it again, which costs nothing
if one program contains both. The arrays that it reads stay alive until it runs, so a memory plan has
to know which arrays the formula of the gradient really needs: only the result for ``tanh``, none for
a sum, data and weight for a convolution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.backward import with_gradients
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.tracing.dataflow import Program, trace
from mixnet.ops.tracing.traced import Known
from mixnet.passes.differentiate import BackwardOp


class Source(NamedTuple):
    """An array that a gradient reads: a ``head``, an ``input`` or an ``output``, by number."""

    kind: str
    number: int


class NarrowBackwardOp(Operator):
    """The gradient of an operator, from only the arrays that its formula reads.

    Args:
        forward: the operator.
        program: computes the gradients from these arrays and then the scalars.
    """

    variadic = "what is read"
    program: Program

    def __init__(self, forward: Operator, program: Program):
        super().__init__()
        self.name = f"_backward_{forward.name}"
        self.forward, self.program = forward, program

    def num_outputs(self, statics: Statics = (), num_inputs: int = 0) -> int:
        """One for every input whose gradient is needed."""
        return len(self.program.outputs)

    def output_specs(self, statics: Statics, inputs: Sequence[Known]) -> list[Known]:
        """Shape and dtype of every gradient."""
        return [self.program.specs[value] for value in self.program.outputs]

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """The gradients."""
        return self.program.run([*arrays, *scalars])

    def __repr__(self) -> str:
        return f"<narrow gradient of {self.forward!r}>"


class _Gradient:
    """The gradient of an operator with certain inputs, and the two ways to compute it."""

    def __init__(self, forward: Operator, statics: Statics, inputs: Sequence[Known], scalars: int):
        forward_statics, headed, wrt = statics
        count = len(headed)

        def run(*values: object) -> Any:
            arrays, numbers = values[: len(inputs)], values[len(inputs) :]
            outputs, pull = with_gradients(
                forward, forward_statics, numbers, arrays[count:], headed, wrt
            )
            return outputs, pull(arrays[:count], headed, wrt)

        self.forward = forward
        self.whole = whole = trace(run, inputs, scalars)
        split = len(whole.outputs) - len(wrt)
        outputs, self.gradients = whole.outputs[:split], whole.outputs[split:]
        self.scalars = whole.inputs[len(inputs) :]
        self.named: dict[int, Source] = {
            value: Source("output", i) for i, value in reversed(list(enumerate(outputs)))
        }
        for i, value in enumerate(whole.inputs[: len(inputs)]):
            self.named[value] = Source("head", i) if i < count else Source("input", i - count)
        self.by_inputs = self._way(())
        self.by_outputs = self._way([v for v in outputs if self.named[v].kind == "output"])

    def _way(self, known: Sequence[int]) -> tuple[NarrowBackwardOp, list[Source]]:
        _, used = self.whole.needed(self.gradients, frozenset(known))
        reads = sorted(value for value in used if value in self.named)
        program = self.whole.sliced((*reads, *self.scalars), self.gradients)
        return NarrowBackwardOp(self.forward, program), [self.named[value] for value in reads]


_gradients: dict[Any, _Gradient] = {}


def narrow_gradients(graph: Graph, specs: Mapping[Entry, Known]) -> Graph:
    """The graph with gradient nodes that read only what they need.

    Where the formula of a gradient can also be written in terms of the operator's outputs (``exp``, ``tanh``,
    ``relu``), it reads them if they take no more bytes than the inputs it would read. Inputs
    without other readers can then be freed before backward begins.

    Args:
        graph: with forward and gradient nodes.
        specs: shape and dtype of every entry that a gradient node reads, and of outputs of forward nodes.
    """
    return graph.rebuild(_Rewrite(graph, specs))


class _Rewrite:
    """Rewrites each gradient node of a graph, and copies the others."""

    def __init__(self, graph: Graph, specs: Mapping[Entry, Known]):
        self.specs = specs
        self.forward = {
            _Expression(node.op, node.statics, node.scalars, node.inputs): node
            for node in graph.nodes
            if not node.is_variable
        }
        self.narrowed: dict[Node, Node] = {}

    def __call__(self, node: Node, inputs: tuple[Entry, ...]) -> Node:
        narrowed = (
            self._gradient(node, inputs)
            if isinstance(node.op, BackwardOp)
            else node.replaced(inputs)
        )
        self.narrowed[node] = narrowed
        return narrowed

    def _gradient(self, node: Node, inputs: tuple[Entry, ...]) -> Node:
        assert isinstance(node.op, BackwardOp)
        headed = len(node.statics[1])
        expression = _Expression(
            node.op.forward, node.statics[0], node.scalars, node.inputs[headed:]
        )
        computed = self.forward.get(expression)
        # Otherwise it would be computed after the gradient, or not at all.
        if computed not in self.narrowed:
            computed = None
        key = (node.op, node.statics, tuple(self.specs[e] for e in node.inputs), len(node.scalars))
        gradient = _gradients.get(key)
        if gradient is None:
            forward = node.op.forward
            gradient = _gradients[key] = _Gradient(forward, node.statics, *key[2:])

        def entry_of(source: Source) -> Entry:
            if source.kind == "output":
                assert computed is not None
                return Entry(computed, source.number)
            return node.inputs[source.number + (headed if source.kind == "input" else 0)]

        def cost(sources: Sequence[Source]) -> int:
            return sum(self._nbytes(entry) for entry in {entry_of(each) for each in sources})

        op, sources = gradient.by_inputs
        if computed is not None and cost(gradient.by_outputs[1]) <= cost(sources):
            op, sources = gradient.by_outputs
        places = dict(zip(node.inputs, inputs, strict=True))
        read = []
        for source in sources:
            entry = entry_of(source)
            if source.kind == "output":
                read.append(Entry(self.narrowed[entry.node], entry.index))
            else:
                read.append(places[entry])
        return Node(op, (), node.scalars, tuple(read), node.name, node.attrs)

    def _nbytes(self, entry: Entry) -> int:
        if entry.node.is_variable:  # variables are alive in any case
            return 0
        shape, dtype = self.specs[entry]
        return math.prod(shape) * dtype.itemsize


class _Expression(NamedTuple):
    op: Any
    statics: Any
    scalars: tuple[float, ...]
    inputs: tuple[Entry, ...]
