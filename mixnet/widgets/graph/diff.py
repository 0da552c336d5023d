"""The difference of two graphs as one graph.

Nodes are matched by name; those of two networks by where they are in the program, as names only count
layers: ``dense0`` is ``self.hidden`` in one class and ``self.out`` in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixnet.units import how_many
from mixnet.widgets.graph.rows import Pictured

SAME, ADDED, REMOVED, CHANGED, REWIRED, EXPANDED, MERGED = range(7)
Row = Mapping[str, Any]


def difference(before: Pictured, after: Pictured) -> tuple[Pictured, dict[str, list[Any]]]:
    """Both graphs in one, and what happened to each node: columns ``change`` and ``told``.

    Removed nodes keep their inputs. This compares the rows of two pictures;
    :func:`mixnet.passes.changes.changes` compares two graphs.
    """
    before = _as_named_in(after, before)
    old = {row["name"]: row for row in before.rows}
    new = {row["name"]: row for row in after.rows}
    merged = _merged(before.rows, new)
    expanded = _expanded(old, new)
    number = {row["name"]: row["id"] for row in after.rows}
    rows = [dict(row) for row in after.rows]
    for name, row in old.items():
        if name not in new:
            number[name] = len(rows)
            rows.append({**row, "id": len(rows)})
    names = [row["name"] for row in before.rows]
    for row in rows[len(after.rows) :]:
        row["inputs"] = [[number[names[i]], port] for i, port in row["inputs"]]
    inside = {name for parts in expanded.values() for name in parts}
    change, notes = [], []
    for row in rows:
        name = row["name"]
        if name not in new:
            status, text = _fate(name, merged, expanded)
        elif name not in old:
            status, text = ADDED, "part of a node that was expanded" if name in inside else ""
        elif _operation(old[name]) != _operation(row):
            status, text = CHANGED, f"from {_text(old[name])} to {_text(row)}"
        else:
            was = _inputs(old[name], before.rows, merged)
            status, text = _rewired(row, was, _inputs(row, after.rows, {}), expanded)
        change.append(status)
        notes.append(text)
    joined = Pictured(
        f"{before.title} → {after.title}", "difference", rows, after.heads, {**before.blocks, **after.blocks},
        data=before.data | after.data,
    )  # fmt: skip
    counts = [f"{change.count(k)} {word}" for k, word in _WORDS.items() if k in change]
    joined.notes.append(", ".join(counts) or "Nothing changed.")
    return joined, {"change": change, "told": notes}


def _fate(
    name: str, merged: Mapping[str, str], expanded: Mapping[str, list[str]]
) -> tuple[int, str]:
    """How a node has disappeared: merged, expanded or removed, and into what."""
    if name in merged:
        return MERGED, f"into {merged[name]}"
    if name in expanded:
        return EXPANDED, f"into {how_many(len(expanded[name]), 'node')}"
    return REMOVED, ""


def _rewired(
    row: Row, was: list[str], now: list[str], expanded: Mapping[str, list[str]]
) -> tuple[int, str]:
    """Whether a node with the same operation has other inputs."""
    # An input that was a block is one of the block's nodes now, which is no change.
    from_block = any(each.split("[")[0] in expanded for each in was)
    if row["op"] is None or was == now or from_block:
        return SAME, ""
    return REWIRED, f"reads {', '.join(now)}; read {', '.join(was)}"


def _as_named_in(after: Pictured, before: Pictured) -> Pictured:
    """Nodes of a network with the names that the other network gives to the same attribute.

    An attribute that the other one lacks gives its own name to its nodes, so that they are not
    taken for nodes of another layer.
    """
    if not all(any(kind for kind, _ in each.blocks.values()) for each in (before, after)):
        return before
    names = [row["name"] for row in after.rows]
    blocks = {}
    for path, (kind, _) in before.blocks.items():
        prefix = ".".join(path) + "_" if path else ""
        while any(name.startswith(prefix) for name in names):
            prefix = f"before.{prefix}"
        blocks[path] = after.blocks.get(path, (kind, prefix))
    rows = []
    for row in before.rows:
        prefix_before = before.blocks.get(row["path"], ("", ""))[1]
        name = row["name"]
        if prefix_before and name.startswith(prefix_before):
            name = blocks[row["path"]][1] + name.removeprefix(prefix_before)
        rows.append({**row, "name": name})
    return replace(before, rows=rows, blocks=blocks)


_WORDS = {ADDED: "added", REMOVED: "removed", CHANGED: "changed", REWIRED: "with other inputs",
          EXPANDED: "expanded", MERGED: "merged"}  # fmt: skip


def _operation(row: Row) -> Any:
    return row["op"], dict(row["attributes"])


def _text(row: Row) -> str:
    attributes = ", ".join(f"{k}={v}" for k, v in row["attributes"].items())
    return f"{row['op'] or 'variable'}({attributes})"


def _inputs(row: Row, rows: Sequence[Row], merged: Mapping[str, str]) -> list[str]:
    """The inputs of a node as text; a node that was merged has the name of the remaining one."""
    inputs = []
    for number, port in row["inputs"]:
        name = rows[number]["name"]
        name = merged.get(name, name)
        inputs.append(f"{name}[{port}]" if port else name)
    return inputs


def _merged(before: Sequence[Row], new: Mapping[str, Row]) -> dict[str, str]:
    """Nodes that are gone and computed what one that stayed computes."""
    value: list[int] = []  # number of what each node of before computes
    known: dict[Any, int] = {}
    for row in before:
        if row["op"] is None:
            key = row["name"]
        else:
            inputs = tuple((value[i], port) for i, port in row["inputs"])
            key = (row["op"], tuple(row["attributes"].items()), inputs)
        value.append(known.setdefault(key, len(known)))
    remaining: dict[int, str] = {}  # number of a value: a node of the new graph that computes it
    for row in before:
        if row["name"] in new:
            remaining.setdefault(value[row["id"]], row["name"])
    return {
        row["name"]: remaining[value[row["id"]]]
        for row in before
        if row["name"] not in new and value[row["id"]] in remaining
    }


def _expanded(old: Mapping[str, Row], new: Mapping[str, Row]) -> dict[str, list[str]]:
    """Nodes that gave way to the graph they stood for: ``net`` to ``net/dense0`` and others."""
    expanded: dict[str, list[str]] = {}
    for name in new:
        at = name.rfind("/")
        while name not in old and at > 0:
            if name[:at] in old and name[:at] not in new:
                expanded.setdefault(name[:at], []).append(name)
                break
            at = name.rfind("/", 0, at)
    return expanded
