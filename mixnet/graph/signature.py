"""Structural signatures of graphs, and comparison of operations by value."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Node

_ADDRESS = re.compile(r"0x[0-9a-f]+")


def value_numbers(graph: Graph) -> dict[Node, int]:
    """A number for each node; equal for operations with equal operators, attributes and inputs."""
    numbers: dict[Node, int] = {}
    known: dict[tuple[Any, ...], int] = {}
    for node in graph.nodes:
        key: tuple[Any, ...]
        if node.is_variable:
            key = (node,)
        else:
            inputs = tuple((numbers[entry.node], entry.index) for entry in node.inputs)
            key = (node.op, repr(node.statics), node.scalars, inputs)
        numbers[node] = known.setdefault(key, len(known))
    return numbers


def structure_hash(graph: Graph) -> str:
    """Twelve hexadecimal digits of the operators, their attributes and how they are connected.

    Names and values of scalars are ignored, so graphs that share a program have the same hash.
    """
    number = {node: i for i, node in enumerate(graph.inputs)}
    digest = hashlib.sha256(f"{len(number)} inputs\n".encode())
    for node in graph.nodes:
        if node in number:
            continue
        number[node] = len(number)
        inputs = [(number[entry.node], entry.index) for entry in node.inputs]
        op = "variable" if node.op is None else node.op.name
        statics = "" if node.op is None else _ADDRESS.sub("", repr(node.statics))
        digest.update(f"{op} {statics} {len(node.scalars)} {inputs}\n".encode())
    heads = [(number[entry.node], entry.index) for entry in graph.heads]
    digest.update(f"{heads} {graph.num_outputs} {graph.states}".encode())
    return digest.hexdigest()[:12]
