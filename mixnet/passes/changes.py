"""The changes that a pass made: nodes that it added, removed, merged, expanded or rewired."""

from __future__ import annotations

from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.graph.signature import value_numbers


def changes(before: Graph, after: Graph) -> dict[str, list[Any]]:
    """The difference of two graphs as plain data; nodes are matched by their names.

    Returns:
        ``added``: names of new nodes that no other item explains.
        ``removed``: names of nodes without a counterpart in the new graph.
        ``merged``: ``{"name", "into"}`` of nodes that computed the same as another one.
        ``expanded``: ``{"name", "into"}`` of nodes that were replaced by the graph inside them.
        ``changed``: ``{"name", "before", "after"}`` where the operator or its attributes differ.
        ``rewired``: ``{"name", "before", "after"}`` where the inputs differ for another reason than merging.
    """
    if before is after:  # most passes change nothing
        kinds = ("added", "removed", "merged", "expanded", "changed", "rewired")
        return {kind: [] for kind in kinds}
    old = {name: node for node, name in before.names.items()}
    new = {name: node for node, name in after.names.items()}
    removed = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    merged = _merged(before, removed, new)
    expanded: dict[str, list[str]] = {}
    for name in added:
        outer = _outer(name, set(removed))
        if outer is not None:
            expanded.setdefault(outer, []).append(name)
    inside = {name for names in expanded.values() for name in names}
    explained = {*merged, *expanded}
    return {
        "added": [name for name in added if name not in inside],
        "removed": [name for name in removed if name not in explained],
        "merged": [{"name": name, "into": into} for name, into in merged.items()],
        "expanded": [{"name": name, "into": into} for name, into in expanded.items()],
        "changed": [
            {"name": name, "before": _operation(old[name]), "after": _operation(new[name])}
            for name in old
            if name in new and _operation(old[name]) != _operation(new[name])
        ],
        "rewired": _rewired(before, after, old, new, merged, set(expanded)),
    }


def _outer(name: str, removed: set[str]) -> str | None:
    """The removed node that contained ``name``: ``net`` for ``net/dense0``."""
    at = name.rfind("/")
    while at > 0:
        if name[:at] in removed:
            return name[:at]
        at = name.rfind("/", 0, at)
    # The key of a random block is named after the block.
    return name.removesuffix("_key") if name.removesuffix("_key") in removed else None


def _merged(before: Graph, removed: list[str], new: dict[str, Node]) -> dict[str, str]:
    numbers = value_numbers(before)
    remaining: dict[int, str] = {}  # number of a value: a node of the new graph that computes it
    for node, name in before.names.items():
        if name in new:
            remaining.setdefault(numbers[node], name)
    by_name = {name: node for node, name in before.names.items()}
    merged = {}
    for name in removed:
        into = remaining.get(numbers[by_name[name]])
        if into is not None:
            merged[name] = into
    return merged


def _operation(node: Node) -> str:
    if node.op is None:
        return "variable"
    return f"{node.op.name}{node.statics!r}" if node.statics else node.op.name


def _rewired(
    before: Graph,
    after: Graph,
    old: dict[str, Node],
    new: dict[str, Node],
    merged: dict[str, str],
    expanded: set[str],
) -> list[dict[str, Any]]:
    def text(graph: Graph, entry: Entry) -> str:
        name = graph.names[entry.node]
        name = merged.get(name, name)
        return f"{name}[{entry.index}]" if entry.index else name

    rewired = []
    for name, node in old.items():
        if name not in new or node.is_variable:
            continue
        was = [text(before, entry) for entry in node.inputs]
        now = [text(after, entry) for entry in new[name].inputs]
        # An input that was an expanded block is now one of the block's nodes, which is no change.
        if was != now and not any(entry.split("[")[0] in expanded for entry in was):
            rewired.append({"name": name, "before": was, "after": now})
    return rewired
