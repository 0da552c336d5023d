"""Quantize weights: dense layers and embeddings read 8-bit or 4-bit weights and compute in floats."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.graph.symbol_json import make_node

ROWS = "_contrib_dequantize_rows"
# The operators whose weights are tables of rows; the pass has a rule for each.
DENSE, EMBEDDING = "FullyConnected", "Embedding"
_WEIGHT = 1  # index of the weight among the inputs of both


@dataclass(frozen=True)
class Rows:
    """How a weight's rows are stored.

    Args:
        bits: 8 or 4.
        size: the number of elements in a row.
        groups: the number of groups in a row, each with a step of its own.
    """

    bits: int
    size: int
    groups: int

    @property
    def stored(self) -> int:
        """Bytes of a row's integers."""
        return self.size if self.bits == 8 else (self.size + 1) // 2


def weights_of(graph: Graph, excluded: Collection[str] = ()) -> dict[str, Node]:
    """The weights that only dense layers and embeddings read, by name, each with a node that reads it.

    Args:
        graph: the graph of a network.
        excluded: names of nodes whose weights remain floats.
    """
    readers: dict[str, Node] = {}
    others = {each.node.name for each in graph.heads if each.node.is_variable}
    for node in graph.nodes:
        for place, each in enumerate(node.inputs):
            if not each.node.is_variable:
                continue
            fits = (
                node.op.name in (DENSE, EMBEDDING)
                and place == _WEIGHT
                and node.name not in excluded
            )
            if fits:
                readers.setdefault(each.node.name, node)
            else:
                others.add(each.node.name)
    return {name: node for name, node in readers.items() if name not in others}


def quantize_weights(graph: Graph, rows: Mapping[str, Rows]) -> Graph:
    """The graph that reads ``NAME_quantize`` and ``NAME_step`` in place of each weight ``NAME``.

    Args:
        graph: the graph of a network.
        rows: how each weight is stored, for the weights of :func:`weights_of` that become integers.
    """
    pairs = {n: (Node(None, name=f"{n}_quantize"), Node(None, name=f"{n}_step")) for n in rows}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        weight = node.inputs[_WEIGHT].node if len(node.inputs) > _WEIGHT else None
        if weight is None or not weight.is_variable or weight.name not in rows:
            return node.replaced(inputs)
        pair, layout = pairs[weight.name], rows[weight.name]
        if node.op.name == EMBEDDING:
            return _embedding(node, inputs[0], pair, layout)
        integers, step = pair
        restored = _restored(f"{node.name}_weight_dequantize", Entry(integers), Entry(step), layout)
        return node.replaced((inputs[0], Entry(restored), *inputs[2:]))

    return graph.rebuild(change)


def _embedding(node: Node, data: Entry, pair: tuple[Node, Node], layout: Rows) -> Node:
    """An embedding that reads rows of integers and steps, so that only rows that are read are dequantized."""
    parts = (("quantize", pair[0], layout.stored), ("step", pair[1], layout.groups))
    rows = []
    for part, variable, extent in parts:
        attrs = {**node.attrs, "output_dim": str(extent), "sparse_grad": "False"}
        inputs = (data, Entry(variable))
        rows.append(Entry(make_node(EMBEDDING, f"{node.name}_{part}", inputs, attrs)))
    return _restored(node.name, rows[0], rows[1], layout)


def _restored(name: str, integers: Entry, step: Entry, layout: Rows) -> Node:
    return make_node(
        ROWS, name, (integers, step), {"bits": str(layout.bits), "size": str(layout.size)}
    )
