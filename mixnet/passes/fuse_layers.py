"""Fuse: merge a convolution with its successors, and a dense layer with its activation, into one operator.

The operators and their names are those of MXNet's oneDNN subgraphs, see :mod:`mixnet.ops.quantized.fused`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.graph.subgraph import SubGraph
from mixnet.graph.symbol_json import make_node
from mixnet.ops.schema.rewrites import ask
from mixnet.ops.schema.shape_constraints import all_same

CONVOLUTION, AFFINE = "_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"
FUSED = (CONVOLUTION, AFFINE)


def fuse_layers(graph: Graph) -> Graph:
    """The graph of a symbol with fused layers, for prediction only: it has no gradient."""
    chains = {chain[-1]: chain for chain in _Chains(graph)}
    counts: Counter[str] = Counter()
    names = {}
    order = {node: i for i, node in enumerate(graph.nodes)}
    for chain in sorted(chains.values(), key=lambda each: order[each[0]]):
        kind = _kind(chain[0])
        names[chain[-1]] = f"{_stem(chain)}_{counts[kind]}"
        counts[kind] += 1
    fused_of: dict[Node, Node] = {}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        fused_of[node] = node.replaced(inputs)
        if node in chains:
            fused = _fused([fused_of[each] for each in chains[node]], names[node])
            fused_of[node] = fused.made_from(node)
        return fused_of[node]

    return graph.rebuild(change)


def _kind(layer: Node) -> str:
    return CONVOLUTION if fused_part(layer) == "convolution" else AFFINE


def _stem(chain: list[Node]) -> str:
    """MXNet's name for a chain, without its number."""
    layer, *rest = chain
    if _kind(layer) == AFFINE:
        return "sg_mkldnn_fully_connected" + "_eltwise" * bool(rest)
    parts = [_SHORT[fused_part(node)] for node in rest]
    return "_".join(["sg_mkldnn_conv", *parts])


_SHORT = {"norm": "bn", "sum": "add", "activation": "act"}
"""The parts, as spelled in MXNet's names."""


def fused_part(node: Node) -> str:
    """The part of a fused layer that a node can be; empty for none."""
    fusion = None if node.is_variable else node.op.fusion
    if fusion is None or not ask(fusion.fits, node.op.keywords(node.statics, node.scalars)):
        return ""
    return fusion.part


class _Chains:
    """Chains of nodes that become one, each from a layer towards its readers."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.readers: dict[Entry, list[Node]] = {}
        for node in graph.nodes:
            for entry in node.inputs:
                self.readers.setdefault(entry, []).append(node)
        self.heads = set(graph.heads)
        self.fused_nodes: set[Node] = set()

    def __iter__(self) -> Iterator[list[Node]]:
        for node in self.graph.nodes:
            part = fused_part(node)
            if part == "convolution":
                yield self._claimed(self._convolution(node))
            elif part == "affine":
                yield self._claimed(self._affine(node))

    def _claimed(self, chain: list[Node]) -> list[Node]:
        self.fused_nodes.update(chain)
        return chain

    def _next(self, node: Node) -> Node | None:
        """The only reader of a node's first output, if no other output is read."""
        readers = self.readers.get(Entry(node), [])
        others = node.op.num_outputs(node.statics, len(node.inputs))
        hidden = any(self.readers.get(Entry(node, i)) for i in range(1, others))
        if (
            len(readers) != 1
            or hidden
            or Entry(node) in self.heads
            or readers[0] in self.fused_nodes
        ):
            return None
        return readers[0]

    def _convolution(self, node: Node) -> list[Node]:
        chain = [node]
        following = self._next(node)
        if following is not None and fused_part(following) == "norm":
            chain.append(following)
            following = self._next(following)
        if following is not None and fused_part(following) == "activation":
            chain.append(following)
            following = self._next(following)
        if following is not None and _is_sum(following) and fused_part(chain[-1]) != "activation":
            chain.append(following)
            following = self._next(following)
            if following is not None and fused_part(following) == "activation":
                chain.append(following)
        return chain

    def _affine(self, node: Node) -> list[Node]:
        following = self._next(node)
        return (
            [node, following]
            if following is not None and fused_part(following) == "activation"
            else [node]
        )


def _is_sum(node: Node) -> bool:
    """Whether a node adds arrays of one shape."""
    return fused_part(node) == "sum" and node.op.shape_constraint is all_same


def _fused(chain: list[Node], name: str) -> Node:
    """The operator for a chain of nodes on new inputs."""
    layer = chain[0]
    outside: list[Entry] = []
    inner: dict[Node, Node] = {}
    variables: list[Node] = []

    def variable(entry: Entry) -> Entry:
        outside.append(entry)
        stem = entry.node.name if entry.node.is_variable else f"{entry.node.name}_output"
        created = Node(None, name=f"{stem}{sum(v.name.startswith(stem) for v in variables)}")
        variables.append(created)
        return Entry(created)

    for node in chain:
        is_inner = [e.node in inner for e in node.inputs]
        inputs = [
            Entry(inner[e.node], e.index) if is_own else variable(e)
            for e, is_own in zip(node.inputs, is_inner, strict=True)
        ]
        if fused_part(node) == "sum" and not is_inner[0]:
            inputs.reverse()  # MXNet writes the convolution first
        inner[node] = node.replaced(tuple(inputs))
    body = SubGraph(Graph((Entry(inner[chain[-1]]),), tuple(variables)))
    return make_node(_kind(layer), name, tuple(outside), _attributes(chain), (body,))


def _attributes(chain: list[Node]) -> dict[str, str]:
    if _kind(chain[0]) == AFFINE:
        return {"with_eltwise": "True"} if len(chain) > 1 else {}
    parts = [_SHORT[fused_part(node)] for node in chain[1:]]
    known = {
        "with_bn": "bn" in parts,
        "with_sum": "add" in parts,
        "with_act": "act" in parts and "add" not in parts,
        "with_postsum_act": "add" in parts and parts[-1] == "act",
    }
    return {key: "true" for key, has in known.items() if has}
