"""Facts available to passes besides the graph: the platform, and known shapes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixnet.base import MXNetError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.passes.infer_shape import evaluate

Known = tuple[tuple[int, ...], np.dtype]


def _name_node(error: MXNetError, node: Node) -> None:
    """Let an error name the innermost node that refused its inputs: a line calls a graph as a whole."""
    place = "" if node.source is None else f", made in {node.source}"
    note = f"In node {node.name}{place}"
    if not any(each.startswith("In node ") for each in getattr(error, "__notes__", ())):
        error.add_note(note)


@dataclass(frozen=True)
class Facts:
    """Facts about the program that a graph is to become.

    Args:
        platform: ``cpu``, ``gpu`` or ``tpu``, as JAX names it.
        inputs: shape and dtype of each of the graph's inputs, in order; None: unknown.
        hot: whether the program has run often, so that it may use libraries that prevent storing it on disk.
    """

    platform: str = "cpu"
    inputs: Sequence[Known] | None = None
    hot: bool = False

    def known_inputs(self, graph: Graph) -> dict[Node, Known]:
        """Shape and dtype of the graph's inputs, by variable; empty if they are not known."""
        if self.inputs is None:
            return {}
        return dict(zip(graph.inputs, self.inputs, strict=True))

    def specs(self, graph: Graph, drawing: bool = True) -> dict[Entry, Known]:
        """Shape and dtype of every entry, by abstract evaluation, which is cached for each operator.

        That takes up to a millisecond for each new combination of operator and shapes, so a pass calls it
        only if the graph has something that it could change.

        Args:
            graph: the graph whose inputs these are.
            drawing: operators that may draw have their stream of random numbers among their
                inputs; False: they have none, as in a symbol.
        """
        assert self.inputs is not None, "the shapes of the inputs are not known"
        known_specs: dict[Entry, Known] = {
            Entry(node): spec for node, spec in zip(graph.inputs, self.inputs, strict=True)
        }
        for node in graph.nodes:
            if node.is_variable:
                continue
            input_specs = tuple(known_specs[entry] for entry in node.inputs)
            scalars = len(node.scalars)
            if node.op.takes_key and not drawing:
                input_specs, scalars = (*input_specs, STREAM_SPEC), scalars + 1
            try:
                specs = evaluate(node.op, node.statics, input_specs, scalars)
            except MXNetError as error:
                _name_node(error, node)
                raise
            for i, spec in enumerate(specs):
                known_specs[Entry(node, i)] = spec
        return known_specs
