"""A graph as the body of a loop or the branch of a conditional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from mixnet.graph.draws import numbers_of_draws
from mixnet.graph.graph import Graph
from mixnet.graph.node import Node
from mixnet.ops.generators.source import Demands
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.process.locks import cached_property


class SubGraph:
    """The graph that ``_foreach``, ``_while_loop`` or ``_cond`` runs; compared by identity.

    Args:
        graph: its inputs are the body's, in order. Its random operators have no stream as input, and its
            operators no training mode: both are passed to every run.
        called: the random operators that were called for it; those that no output needs take draws, too.
        has_scalars: whether an element of an array with one axis has no axes, as in programs on arrays of
            ``mx.np``. In symbols it is an array of one element, also after ``npx.set_np()``, as in MXNet.
    """

    def __init__(self, graph: Graph, called: Sequence[Node] = (), has_scalars: bool = False):
        self.graph = graph
        self.called = tuple(called)
        self.has_scalars = has_scalars
        self._numbers: dict[bool, tuple[dict[Node, int], int]] = {}

    @cached_property
    def _nodes(self) -> list[Node]:
        return [node for node in self.graph.nodes if not node.is_variable]

    def draws(self, training: bool) -> int:
        """The number of draws of a run.

        Args:
            training: the mode of operators that behave differently in training.
        """
        return self._draws(training)[1]

    def _draws(self, training: bool) -> tuple[dict[Node, int], int]:
        numbers = self._numbers.get(training)
        if numbers is None:
            statics = partial(Node.in_mode, training=training)
            numbers = numbers_of_draws(self._nodes, self.called, statics)
            self._numbers[training] = numbers
        return numbers

    def demands(self, arrays: Sequence[Any], training: bool) -> Demands:
        """The numbers that the host draws for a run, in the order of the nodes, as in MXNet.

        Args:
            arrays: one for each input; only their shapes and dtypes are read.
            training: mode of operators that behave otherwise in training.
        """
        demands: list[tuple[int, Any]] = []

        def watch(node: Node, number: int, inputs: Sequence[Any]) -> None:
            known = tuple([(each.shape, np.dtype(each.dtype)) for each in inputs])
            demands.append((number, node.op.demands(node.in_mode(training), known, node.scalars)))

        specs = [None if e is None else jax.ShapeDtypeStruct(e.shape, e.dtype) for e in arrays]
        stream = jax.ShapeDtypeStruct(*STREAM_SPEC)
        jax.eval_shape(lambda each, stream: self.run(each, stream, training, watch), specs, stream)
        return demands

    def run(
        self,
        arrays: Sequence[Any],
        stream: object,
        training: bool,
        watch: Callable[[Node, int, Sequence[Any]], None] | None = None,
    ) -> list[Any]:
        """Arrays of the heads.

        Args:
            arrays: one for each input.
            stream: the stream from which random operators draw, each with its own index.
            training: mode of operators that behave otherwise in training.
            watch: called with each operator that draws, its number and its inputs.
        """
        known = {(node, 0): array for node, array in zip(self.graph.inputs, arrays, strict=True)}
        numbers, _ = self._draws(training)
        for node in self._nodes:
            inputs = [known[entry.node, entry.index] for entry in node.inputs]
            scalars = list(node.scalars)
            if node.op.takes_key:
                if watch is not None and node.op.draws(node.in_mode(training)):
                    watch(node, numbers[node], inputs)
                inputs.append(stream)
                scalars.append(float(numbers[node]))
            for i, output in enumerate(node.op.apply(node.in_mode(training), inputs, scalars)):
                known[node, i] = output
        return [known[entry.node, entry.index] for entry in self.graph.heads]

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the graph."""
        return self.graph.to_dict()

    def __repr__(self) -> str:
        return f"<subgraph of {len(self.graph.nodes)} nodes>"
