"""Shapes and dtypes of the values of an ONNX graph, inferred while it is read."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np

from mixnet.export.network import as_function
from mixnet.graph.node import Entry, Node
from mixnet.onnx.extents import is_open, simplified
from mixnet.passes.infer_shape import evaluate_node

Spec = tuple[tuple[Any, ...], np.dtype]
"""A shape, with symbols for open extents, and a dtype."""


class Specs:
    """Shapes and dtypes of all values of a file, those in bodies too."""

    def __init__(self) -> None:
        self._known: dict[Entry, Spec] = {}
        self.alike: set[Node] = set()
        """Nodes whose inputs have equal extents."""

    def note(self, entry: Entry, shape: tuple[Any, ...], dtype: np.dtype) -> None:
        """Set the shape and dtype of a value that nothing is computed for."""
        self._known[entry] = (shape, dtype)

    def of(self, entry: Entry) -> Spec:
        """The shape and dtype of a value; those of all that it is computed from are inferred first."""
        waiting = [entry]
        while waiting:
            node = waiting[-1].node
            missing = [e for e in node.inputs if e not in self._known]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if Entry(node) not in self._known:
                self._infer(node)
        return self._known[entry]

    def _infer(self, node: Node) -> None:
        inputs = [self._known[e] for e in node.inputs]
        if any(is_open(shape) for shape, _ in inputs):
            outputs = [
                (tuple(map(simplified, shape)), dtype)
                for shape, dtype in _open_outputs(node, inputs, node in self.alike)
            ]
        else:
            outputs = evaluate_node(node, inputs)
        for i, (shape, dtype) in enumerate(outputs):
            self._known[Entry(node, i)] = (tuple(shape), np.dtype(dtype))


def _open_outputs(node: Node, inputs: list[Spec], alike: bool) -> list[Spec]:
    """Shapes and dtypes of the results of a node some of whose extents are open.

    Args:
        node: of the graph.
        inputs: shapes and dtypes of its inputs.
        alike: whether these have equal extents. They may be computed in ways of which this cannot be seen,
            as ``2 * (n // 2)`` for ``n``; they are then taken to be those of the first input, along as few
            axes as possible. Where they are not, the call is an error.
    """
    try:
        return _evaluated(node, inputs)
    except Exception:
        first = inputs[0][0]
        others = [shape for shape, _ in inputs if len(shape) == len(first)]
        differ = [
            axis
            for axis, extent in enumerate(first)
            if any(shape[axis] != extent and is_open((shape[axis], extent)) for shape in others)
        ]
        for count in range(1, len(differ) + 1) if alike else ():
            for axes in itertools.combinations(differ, count):
                try:
                    return _evaluated(node, [_like(first, each, axes) for each in inputs])
                except Exception:
                    continue
        raise


def _like(first: tuple[Any, ...], spec: Spec, axes: tuple[int, ...]) -> Spec:
    """The shape and dtype of an array with the extents of the first one along these axes."""
    shape, dtype = spec
    if len(shape) != len(first):
        return spec
    extents = enumerate(zip(first, shape, strict=True))
    return tuple(a if axis in axes and is_open((a, b)) else b for axis, (a, b) in extents), dtype


def _evaluated(node: Node, inputs: list[Spec]) -> list[Spec]:
    structs = [jax.ShapeDtypeStruct(*each) for each in inputs]
    with jax.enable_x64(True):
        results = jax.eval_shape(as_function(node), *structs)
    return [(each.shape, each.dtype) for each in results]
