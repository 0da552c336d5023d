"""Partition: replace the subgraphs that a backend accepts by single nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node

Make = Callable[["Part"], Node]


@dataclass(frozen=True)
class Part:
    """Nodes that will become one.

    Args:
        graph: the graph of the part; its inputs are new variables.
        inputs: the entries of the whole graph that these variables replace.
        number: number of the part in the whole graph.
    """

    graph: Graph
    inputs: tuple[Entry, ...]
    number: int


def partition(graph: Graph, accepts: Callable[[Node], bool], make: Make) -> Graph:
    """The graph with one node for each part.

    A part is a set of accepted nodes; on all paths to them there are equally many changes between accepted
    and rejected nodes. So no path leaves a part and enters it again.

    Args:
        graph: the graph of a symbol.
        accepts: whether a backend computes a node.
        make: returns the node for a part; its outputs are the part's heads, its inputs ``Part.inputs``.
    """
    nodes = [node for node in graph.nodes if not node.is_variable]
    accepted = {node: accepts(node) for node in nodes}
    level: dict[Node, int] = {}
    for node in nodes:
        level[node] = max(
            (
                level[e.node] + (accepted[e.node] != accepted[node])
                for e in node.inputs
                if e.node in level
            ),
            default=0 if accepted[node] else 1,
        )
    groups: dict[int, list[Node]] = {}
    for node in nodes:
        if accepted[node]:
            groups.setdefault(level[node], []).append(node)
    read = set(graph.heads)
    readers: dict[Entry, list[Node]] = {}
    for node in nodes:
        for entry in node.inputs:
            readers.setdefault(entry, []).append(node)
    group_of = {node: number for number, members in groups.items() for node in members}
    heads = {
        number: [
            entry
            for node in members
            for entry in _entries(node, readers, read)
            if entry in read or any(group_of.get(r) != number for r in readers[entry])
        ]
        for number, members in groups.items()
    }
    return _rebuilt(graph, nodes, groups, group_of, heads, make)


def _entries(node: Node, readers: dict[Entry, list[Node]], heads: set[Entry]) -> list[Entry]:
    count = node.op.num_outputs(node.statics, len(node.inputs))
    return [e for i in range(count) if (e := Entry(node, i)) in readers or e in heads]


def _rebuilt(
    graph: Graph,
    nodes: list[Node],
    groups: dict[int, list[Node]],
    group_of: dict[Node, int],
    heads: dict[int, list[Entry]],
    make: Make,
) -> Graph:
    moved_to: dict[Entry, Entry] = {}

    def moved(entry: Entry) -> Entry:
        if entry.node.is_variable:
            return entry
        if entry not in moved_to:
            _make_until(entry)
        return moved_to[entry]

    def _make_until(entry: Entry) -> None:
        # The recursion is at most as deep as the chain of parts; nodes between parts are visited in order.
        number = group_of.get(entry.node)
        if number is None:
            node = entry.node
            copied = node.replaced(tuple(moved(e) for e in node.inputs))
            for i in range(node.op.num_outputs(node.statics, len(node.inputs))):
                moved_to[Entry(node, i)] = Entry(copied, i)
            return
        part, outside = _part(groups[number], heads[number])
        node = make(Part(part, tuple(moved(e) for e in outside), number))
        for i, head in enumerate(heads[number]):
            moved_to[head] = Entry(node, i)

    left = [node for node in nodes if node not in group_of]
    for node in left:
        moved(Entry(node))
    return graph.with_heads(moved(head) for head in graph.heads)


def _part(members: list[Node], heads: list[Entry]) -> tuple[Graph, list[Entry]]:
    inside: dict[Node, Node] = {}
    variables: dict[Entry, Node] = {}

    def inner(entry: Entry) -> Entry:
        if entry.node in inside:
            return Entry(inside[entry.node], entry.index)
        if entry not in variables:
            name = entry.node.name if entry.node.is_variable else f"{entry.node.name}_{entry.index}"
            variables[entry] = Node(None, name=name)
        return Entry(variables[entry])

    for node in members:
        inside[node] = node.replaced(tuple(inner(e) for e in node.inputs))
    graph = Graph(tuple(inner(e) for e in heads), tuple(variables.values()))
    return graph, list(variables)
