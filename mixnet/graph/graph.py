"""Graph: its heads, its variables, and queries about both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mixnet.graph.node import Entry, Node, topological
from mixnet.process.locks import cached_property


@dataclass(frozen=True)
class Graph:
    """An immutable graph.

    Args:
        heads: the outputs.
        inputs: variables in the order in which a call passes their values; by default in graph order.
        num_outputs: the number of heads that are outputs; the rest are new values of states.
        states: for each new value of a state, the index of the input that it replaces.
    """

    heads: tuple[Entry, ...]
    inputs: tuple[Node, ...] = ()
    num_outputs: int = -1
    states: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.inputs:
            object.__setattr__(
                self, "inputs", tuple(node for node in self.nodes if node.is_variable)
            )
        if self.num_outputs < 0:
            object.__setattr__(self, "num_outputs", len(self.heads))

    @classmethod
    def of_nodes(cls, nodes: list[Node], heads: Iterable[Entry], *rest: Any) -> Graph:
        """A graph whose nodes are known.

        Args:
            nodes: as :func:`topological` gives them for the heads.
            heads: the outputs.
            rest: inputs, number of outputs, states.
        """
        graph = cls(tuple(heads), *rest)
        graph.__dict__["nodes"] = nodes
        return graph

    @cached_property
    def nodes(self) -> list[Node]:
        """All nodes, inputs before users."""
        return topological(entry.node for entry in self.heads)

    @cached_property
    def written_variables(self) -> dict[Node, None]:
        """Variables that operators write, in order."""
        variables: dict[Node, None] = {}
        for node in self.nodes:
            if node.op is not None and node.op.states:
                places = node.op.written(node.statics, len(node.inputs))
                for place, entry in enumerate(node.inputs):
                    if place in places and entry.node.is_variable:
                        variables[entry.node] = None
        return variables

    @cached_property
    def arguments(self) -> list[Node]:
        """Variables that no operator writes, in order."""
        written = self.written_variables
        return [node for node in self.nodes if node.is_variable and node not in written]

    @cached_property
    def names(self) -> dict[Node, str]:
        """A unique name for every node: its own, with a number if another node has the same."""
        uses: dict[str, int] = {}
        names: dict[Node, str] = {}
        for node in self.nodes:
            name = node.name or ("variable" if node.op is None else node.op.name)
            number = uses.get(name, 0)
            uses[name] = number + 1
            while number and f"{name}_{number}" in uses:
                number += 1
            names[node] = f"{name}_{number}" if number else name
            uses.setdefault(names[node], 1)
        return names

    def with_heads(self, heads: Iterable[Entry]) -> Graph:
        """A graph with the same inputs and states, but other heads."""
        return Graph(tuple(heads), self.inputs, self.num_outputs, self.states)

    def rebuild(
        self,
        change: Callable[[Node, tuple[Entry, ...]], Node | tuple[Entry, ...]],
        variables: Mapping[Node, Node | tuple[Entry, ...]] | None = None,
    ) -> Graph:
        """A graph in which ``change(node, new_inputs)`` replaces every operation.

        Args:
            change: returns a node with the same outputs, or the entries that replace them.
            variables: the variables to replace, with their replacements.
        """
        replaced: dict[Node, Node | tuple[Entry, ...]] = dict(variables or {})
        # Nodes whose source line is final, if nodes have lines.
        lines: set[Node] = set()
        if any(node.line is not None for node in self.nodes):
            replacements = [[Entry(v)] if isinstance(v, Node) else v for v in replaced.values()]
            lines = {*self.nodes, *(entry.node for entries in replacements for entry in entries)}

        def moved(entry: Entry) -> Entry:
            now = replaced.get(entry.node)
            if now is None or now is entry.node:
                return entry
            return now[entry.index] if isinstance(now, tuple) else Entry(now, entry.index)

        for node in self.nodes:
            if node.op is None:
                continue
            inputs = node.inputs
            for source, _ in inputs if replaced else ():
                if source in replaced:
                    inputs = tuple([moved(entry) for entry in inputs])
                    break
            rebuilt = change(node, inputs)
            if rebuilt is not node:
                replaced[node] = rebuilt
                if lines:
                    _pass_on(node, rebuilt, lines)
        heads = tuple(moved(entry) for entry in self.heads)
        return self if heads == self.heads else self.with_heads(heads)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: nodes in order with ``id``, ``name``, ``op``, ``inputs``, ``attrs``."""
        number = {node: i for i, node in enumerate(self.nodes)}
        return {
            "nodes": [
                {
                    "id": i,
                    "name": node.name,
                    "op": None if node.op is None else node.op.name,
                    "inputs": [[number[e.node], e.index] for e in node.inputs],
                    "attrs": dict(node.attrs),
                }
                for node, i in number.items()
            ],
            "heads": [[number[e.node], e.index] for e in self.heads],
            "inputs": [number[node] for node in self.inputs if node in number],
        }


def _pass_on(node: Node, replacement: Node | tuple[Entry, ...], settled: set[Node]) -> None:
    """Give the source line of ``node`` to the new nodes of its replacement."""
    stack = (
        [replacement] if isinstance(replacement, Node) else [entry.node for entry in replacement]
    )
    while stack:
        each = stack.pop()
        if each.op is None or each in settled:
            continue
        settled.add(each)
        if each.line is None:
            each.made_from(node)
        stack += [entry.node for entry in each.inputs]
