"""Storage types of a graph's outputs and gradients, from those of its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.schema.storage import DENSE, Storage, StorageQuery


def infer_storage(graph: Graph, variables: Mapping[str, str]) -> dict[Entry, str]:
    """The storage type of every output that is not dense.

    Args:
        graph: the graph.
        variables: storage types by name; others are dense.
    """
    stypes: dict[Entry, str] = {}
    for node in graph.nodes:
        if node.op is None:
            stype = variables.get(node.name, DENSE)
        else:
            stype = _output(node, [stypes.get(each, DENSE) for each in node.inputs])
        if stype != DENSE:
            stypes[Entry(node)] = stype
    return stypes


def infer_gradient_storage(graph: Graph, known: Mapping[Entry, str]) -> dict[str, str]:
    """The storage types of the variables' gradients that are not dense, by name.

    The gradient of a head has the storage type of the head, as in MXNet's executors.

    Args:
        graph: the graph to differentiate.
        known: storage types of its outputs, see :func:`infer_storage`.
    """
    parts: dict[Entry, list[str]] = {}
    for head in graph.heads:
        parts.setdefault(head, []).append(known.get(head, DENSE))
    for node in reversed(graph.nodes):
        heads = parts.get(Entry(node))
        if node.op is None or not node.inputs or heads is None:
            continue
        types = [known.get(each, DENSE) for each in node.inputs]
        query = StorageQuery(types, _attributes(node), _sum(heads), known.get(Entry(node), DENSE))
        rule = _rule(node)
        gradients = [DENSE] * len(types) if rule is None else rule.gradients(query)
        for entry, stype in zip(node.inputs, gradients, strict=True):
            parts.setdefault(entry, []).append(stype)
    sums = {node.name: _sum(parts.get(Entry(node), [DENSE])) for node in graph.nodes if not node.op}
    return {name: stype for name, stype in sums.items() if stype != DENSE}


def _rule(node: Node) -> Storage | None:
    return None if node.op is None else node.op.storage


def _attributes(node: Node) -> dict[str, Any]:
    return node.op.keywords(node.statics, node.scalars)


def _output(node: Node, types: Sequence[str]) -> str:
    rule = _rule(node)
    if rule is None:
        return DENSE
    return rule.output(types, _attributes(node)) or DENSE


def _sum(types: Sequence[str]) -> str:
    """The storage type of a sum of gradients: MXNet keeps it sparse only if all are row_sparse."""
    if len(types) == 1:
        return types[0]
    return "row_sparse" if set(types) == {"row_sparse"} else DENSE
