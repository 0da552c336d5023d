"""A graph as plain data, with shapes, attributes, source line and direction of each node."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, ScalarSlot
from mixnet.ops.schema.attributes import Dynamic
from mixnet.passes.facts import Known
from mixnet.passes.infer_shape import evaluate_node

_BACKWARD = re.compile(r"_backward\d*(_\d+)?$|_gradient_sum(_\d+)?$|_rows$|^no_gradient")


def specs_of(graph: Graph, inputs: Sequence[Known]) -> dict[Entry, Known]:
    """Shape and dtype of every entry; for nodes that represent graphs, from those graphs.

    Args:
        graph: any graph.
        inputs: shape and dtype of each of its inputs.
    """
    specs: dict[Entry, Known] = {
        Entry(node): spec for node, spec in zip(graph.inputs, inputs, strict=True)
    }
    for node in graph.nodes:
        if node.is_variable:
            continue
        input_specs = tuple(specs[entry] for entry in node.inputs)
        inner = node.op.graph
        if inner is not None:
            known = specs_of(inner, input_specs)
            outputs = [known[head] for head in inner.heads]
        else:
            outputs = evaluate_node(node, input_specs)
        specs.update({Entry(node, i): spec for i, spec in enumerate(outputs)})
    return specs


def part_of(node: Node) -> str:
    """``input``, ``forward`` or ``backward``, from the operator and the name."""
    if node.op is None:
        return "input"
    if node.op.name.startswith("_backward"):
        return "backward"
    parts = node.name.split("/")
    return "backward" if any(_BACKWARD.search(each) for each in parts) else "forward"


def attributes_of(node: Node) -> dict[str, str]:
    """The attributes that are set, as text; ``(input)`` for numbers that are inputs and not known here."""
    if node.op is None or not node.statics:
        return {}
    attributes = {}
    for name, value in node.op.keywords(node.statics, node.scalars).items():
        if value is not None and value != ():
            attributes[name] = _attribute_text(value)
    return attributes


def _attribute_text(value: object) -> str:
    """An attribute; numbers that are inputs are places in a vector once a program is made."""
    items = value if isinstance(value, tuple) else (value,)
    if any(isinstance(each, (Dynamic, ScalarSlot)) for each in items):
        return "(input)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def graph_data(graph: Graph, specs: dict[Entry, Known] | None = None) -> dict[str, Any]:
    """Plain data of a graph.

    Args:
        graph: any graph.
        specs: shape and dtype of its entries, see :func:`specs_of`; left out where not known.

    Returns:
        ``{"nodes": [...], "heads": [[node, output], ...], "inputs": [...]}``. A node has ``id``,
        ``name`` (no two are equal), ``op`` (None for an input), ``attributes``, ``inputs`` as
        pairs of id and output, ``outputs`` as ``{"shape", "dtype", "bytes"}``, ``part`` (see
        :func:`part_of`) and ``source``, the line that it comes from, or None.
    """
    number = {node: i for i, node in enumerate(graph.nodes)}
    nodes = []
    for node, i in number.items():
        source = node.source
        nodes.append(
            {
                "id": i,
                "name": graph.names[node],
                "op": None if node.op is None else node.op.name,
                "attributes": attributes_of(node),
                "inputs": [[number[entry.node], entry.index] for entry in node.inputs],
                "outputs": [] if specs is None else _outputs(node, specs),
                "part": part_of(node),
                "source": None if source is None else source.to_dict(),
            }
        )
    return {
        "nodes": nodes,
        "heads": [[number[entry.node], entry.index] for entry in graph.heads],
        "inputs": [number[node] for node in graph.inputs if node in number],
    }


def _outputs(node: Node, specs: dict[Entry, Known]) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    while (entry := Entry(node, len(outputs))) in specs:
        shape, dtype = specs[entry]
        name, itemsize = _name_and_size(dtype)
        outputs.append({"shape": list(shape), "dtype": name, "bytes": math.prod(shape) * itemsize})
    return outputs


@cache
def _name_and_size(dtype: Any) -> tuple[str, int]:
    """NumPy builds the name of a dtype each time it is read."""
    dtype = np.dtype(dtype)
    return dtype.name, dtype.itemsize
