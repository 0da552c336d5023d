"""Shapes with symbolic dimensions, whose sizes are chosen by the user of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax import export

from mixnet.export.network import as_function, symbol_name
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.onnx.export.table import refusal
from mixnet.onnx.extents import simplified

Extents = tuple[Any, ...]


class OpenShapes:
    """Shapes of all entries of a graph; open extents are symbols of JAX's shape polymorphism.

    Args:
        graph: to export.
        variable_shapes: shapes of variables by name: numbers, or names of extents.
        inferred: shapes inferred by the graph, 0 for an open dimension.
        dtypes: of variables, and of entries inferred despite open dimensions.

    Raises:
        MXNetError: the shapes of a node's results are unknown; names it, its operator and the user's line.
    """

    def __init__(
        self,
        graph: Graph,
        variable_shapes: Mapping[str, tuple[Any, ...]],
        inferred: Mapping[Entry, Any],
        dtypes: Mapping[Entry, Any],
    ):
        self._scope = export.SymbolicScope()
        self._inferred = inferred
        self.shapes: dict[Entry, Extents] = {}
        self.dtypes: dict[Entry, Any] = dict(dtypes)
        self.origins: dict[str, tuple[Entry, int]] = {}
        """Where each symbol is first the extent of an axis."""
        self._count = 0
        for node in graph.nodes:
            if node.is_variable:
                entry = Entry(node)
                shape = variable_shapes.get(node.name, inferred.get(entry, ()))
                self.shapes[entry] = tuple(self._symbol(e, entry, i) for i, e in enumerate(shape))
            else:
                self._infer(node)

    def _symbol(self, extent: object, entry: Entry, axis: int) -> Any:
        if isinstance(extent, int) and extent > 0:
            return extent
        if isinstance(extent, str):
            name = symbol_name(extent)
        else:
            self._count += 1
            name = f"open{self._count}"
        self.origins.setdefault(name, (entry, axis))
        return export.symbolic_shape(name, scope=self._scope)[0]

    def _dtype(self, entry: Entry) -> Any:
        return self.dtypes.get(entry, np.dtype("float32"))

    def _infer(self, node: Node) -> None:
        structs = [jax.ShapeDtypeStruct(self.shapes[e], self._dtype(e)) for e in node.inputs]
        op = node.op
        assert op is not None
        try:
            with jax.enable_x64(True):
                outputs = jax.eval_shape(as_function(node), *structs)
            shapes = [tuple(map(simplified, each.shape)) for each in outputs]
            # The inference takes what it cannot know, for want of shapes, for float32.
            self.dtypes |= {Entry(node, i): np.dtype(e.dtype) for i, e in enumerate(outputs)}
        except Exception as error:  # its shapes are computed in a way that symbols do not take
            if Entry(node) not in self._inferred:
                raise refusal(node, f"its dimensions cannot be dynamic: {error}") from error
            shapes = []
        count = 0
        while Entry(node, count) in self._inferred:
            count += 1
        for i in range(max(len(shapes), count)):
            entry = Entry(node, i)
            shape = shapes[i] if i < len(shapes) else self._inferred[entry]
            self.shapes[entry] = tuple(
                e if not isinstance(e, int) or e > 0 else self._symbol(e, entry, axis)
                for axis, e in enumerate(shape)
            )
