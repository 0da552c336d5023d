"""A graph as the body of a loop or the branch of a conditional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from mixnet.graph.graph import Graph


class SubGraph:
    """What ``_foreach``, ``_while_loop`` and ``_cond`` run; compared by identity.

    Args:
        graph: its inputs are the body's, in order. Random operators have no key among their
            inputs and operators any training mode: both come with every run.
    """

    def __init__(self, graph: Graph):
        self.graph = graph

    def run(self, arrays: Sequence[Any], key: Any, training: bool) -> list[Any]:
        """Arrays of the heads.

        Args:
            arrays: one for each input.
            key: where random operators draw from, each by its number.
            training: mode of operators that behave otherwise in training.
        """
        known = {(node, 0): array for node, array in zip(self.graph.inputs, arrays, strict=True)}
        draws = 0
        for node in self.graph.nodes:
            if node.is_variable:
                continue
            given = [known[entry.node, entry.index] for entry in node.inputs]
            statics, scalars = node.statics, list(node.scalars)
            if node.op.takes_training:
                statics = (*statics[:-1], training)
            if node.op.takes_key:
                given.append(jax.random.key_data(key))
                scalars.append(float(draws))
                draws += 1
            for i, output in enumerate(node.op.apply(statics, given, scalars)):
                known[node, i] = output
        return [known[entry.node, entry.index] for entry in self.graph.heads]

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the graph."""
        return self.graph.to_dict()

    def __repr__(self) -> str:
        return f"<subgraph of {len(self.graph.nodes)} nodes>"
