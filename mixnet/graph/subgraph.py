"""A graph as the body of a loop or the branch of a conditional."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import jax
import numpy as np

from mixnet.graph.draws import in_order_of_calls
from mixnet.graph.graph import Graph
from mixnet.graph.node import Node


class SubGraph:
    """What ``_foreach``, ``_while_loop`` and ``_cond`` run; compared by identity.

    Args:
        graph: its inputs are the body's, in order. Random operators have no stream among their
            inputs and operators any training mode: both come with every run.
    """

    def __init__(self, graph: Graph):
        self.graph = graph

    @cached_property
    def _nodes(self) -> list[Node]:
        return [node for node in in_order_of_calls(self.graph.nodes) if not node.is_variable]

    def run(self, arrays: Sequence[Any], stream: Any, training: bool) -> list[Any]:
        """Arrays of the heads.

        Args:
            arrays: one for each input.
            stream: where random operators draw from, each by its number.
            training: mode of operators that behave otherwise in training.
        """
        return self._run(arrays, stream, training)[0]

    def draws(self, arrays: Sequence[Any], training: bool) -> int:
        """How many numbers of the stream a run takes.

        Args:
            arrays: the inputs, or their shapes and dtypes.
            training: mode of operators that behave otherwise in training.
        """
        if not any(node.op.takes_key for node in self._nodes):
            return 0
        count = 0

        def run(arrays: Sequence[Any]) -> list[Any]:
            nonlocal count
            outputs, count = self._run(arrays, np.zeros(3, np.uint32), training)
            return outputs

        with jax.enable_x64(True):
            jax.eval_shape(run, arrays)
        return count

    def _run(self, arrays: Sequence[Any], stream: Any, training: bool) -> tuple[list[Any], int]:
        known = {(node, 0): array for node, array in zip(self.graph.inputs, arrays, strict=True)}
        draws = 0
        for node in self._nodes:
            given = [known[entry.node, entry.index] for entry in node.inputs]
            statics, scalars = node.statics, list(node.scalars)
            if node.op.takes_training:
                statics = (*statics[:-1], training)
            if node.op.takes_key:
                taken = node.op.draws(statics, [(each.shape, each.dtype) for each in given])
                given.append(stream)
                scalars.append(float(draws))
                draws += taken
            for i, output in enumerate(node.op.apply(statics, given, scalars)):
                known[node, i] = output
        return [known[entry.node, entry.index] for entry in self.graph.heads], draws

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the graph."""
        return self.graph.to_dict()

    def __repr__(self) -> str:
        return f"<subgraph of {len(self.graph.nodes)} nodes>"
