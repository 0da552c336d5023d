"""The payload ``mixnet.graph/1``: columns with one entry per node, and tables of repeated values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.process.source import in_project
from mixnet.stages.flops import flops
from mixnet.widgets.graph.blocks import Block, blocks_of, labels_of, plain_name
from mixnet.widgets.graph.rows import Pictured

PARTS = ("input", "forward", "backward", "parameter")
CATEGORIES = [
    (r"conv|fullyconnected|dot|gemm|matmul|embedding|attention|(^|_)(linear|addmm|bmm|mm)$", 0),
    (r"activation|relu|sigmoid|tanh|elu", 1),
    (r"pool", 2),
    (r"norm|lrn", 3),
    (r"softmax|loss|regression|output", 4),
    (r"^_?rnn|lstm|gru", 5),
    (r"add|plus|mul|sub|minus|div|broadcast|elemwise|sum|mean", 6),
]
_MOST_TEXT = 400  # characters of an attribute


def category(op: str) -> int:
    """Number of the colour of an operator: products, activations, pooling, norms, losses,
    sequences, the rest.
    """
    plain = op.removeprefix("_backward_").lower()
    return next((number for pattern, number in CATEGORIES if re.search(pattern, plain)), 7)


class _Table:
    """Numbers for things: equal things get the same one."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._number: dict[str, int] = {}

    def __call__(self, item: object) -> int:
        key = json.dumps(item)
        if key not in self._number:
            self._number[key] = len(self.items)
            self.items.append(item)
        return self._number[key]


def payload_of(pictured: Pictured) -> dict[str, Any]:
    """The payload of a picture; see the class :class:`mixnet.widgets.graph.view.GraphView`."""
    rows = pictured.rows
    strings, specs, outs, sources = _Table(), _Table(), _Table(), _Table()
    strings("")
    parameters = _parameters(pictured)
    names = ("op", "block", "part", "attributes", "outputs", "flops", "device", "source")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    counts, origins, ports = [], [], []
    shapes = [[out["shape"] for out in row["outputs"]] for row in rows]
    for row in rows:
        columns["op"].append(-1 if row["op"] is None else strings(row["op"]))
        part = "parameter" if row["id"] in parameters else row["part"]
        columns["part"].append(PARTS.index(part))
        text = "\n".join(f"{k}={str(v)[:_MOST_TEXT]}" for k, v in row["attributes"].items())
        columns["attributes"].append(strings(text))
        columns["outputs"].append(
            outs([specs([o["shape"], o["dtype"], o["bytes"]]) for o in row["outputs"]])
        )
        columns["flops"].append(_flops(row, shapes))
        columns["device"].append(strings(str(row["device"])))
        columns["source"].append(_source(row["source"], sources, strings))
        counts.append(len(row["inputs"]))
        for number, port in row["inputs"]:
            origins.append(row["id"] - number)
            ports.append(port)
    blocks, columns["block"] = blocks_of(rows, pictured.blocks)
    labels = labels_of(rows, blocks, columns["block"], pictured.blocks)
    has_backward = any(row["part"] == "backward" for row in rows)
    return {
        "title": pictured.title,
        "kind": pictured.kind,
        "direction": "forward and backward" if has_backward else "forward",
        "notes": pictured.notes,
        "error": pictured.error,
        "prefix": pictured.blocks.get((), ("", ""))[1],
        "names": [row["name"] for row in rows],
        "labels": labels,
        "strings": strings.items,
        "categories": {op: category(op) for op in sorted({r["op"] for r in rows if r["op"]})},
        "specs": specs.items,
        "outs": outs.items,
        "sources": sources.items,
        "nodes": columns,
        "edges": {"count": counts, "back": origins, "port": ports},
        "open": _opened(rows, blocks, columns["block"], pictured.error),
        "heads": [number for number, _ in pictured.heads],
        "blocks": _block_columns(blocks, strings),
        "facts": {},
    }


def _source(source: dict[str, Any] | None, sources: _Table, strings: _Table) -> int:
    """The number of a line of the program, -1 for none."""
    if source is None:
        return -1
    return sources([strings(in_project(source["file"])), source["line"], strings(source["text"])])


def _block_columns(blocks: Sequence[Block], strings: _Table) -> dict[str, list[Any]]:
    return {
        "label": [block.label for block in blocks],
        "parent": [block.parent for block in blocks],
        "repeat": [block.repeat for block in blocks],
        "kind": [strings(block.kind) for block in blocks],
        "prefix": [strings(block.prefix) for block in blocks],
    }


def _parameters(pictured: Pictured) -> set[int]:
    """Variables that no operation of forward reads as its first input: weights and states."""
    first, read = set(), set()
    for row in pictured.rows:
        if row["part"] != "forward":
            continue
        for place, (number, _) in enumerate(row["inputs"]):
            read.add(number)
            if place == 0:
                first.add(number)
    return {
        row["id"]
        for row in pictured.rows
        if row["op"] is None
        and (
            row["name"] in pictured.weights
            or (row["id"] in read - first and row["name"] not in pictured.data)
        )
    }


_FEW, _ENOUGH = 6, 24


def _opened(
    rows: Sequence[Mapping[str, Any]], blocks: Sequence[Block], of: Sequence[int], error: Any
) -> list[int]:
    """Blocks that are open at first: those around an error, and one that holds nearly all.

    A network whose layers are all in one block would be a picture of one box.
    """
    opened: list[int] = []
    at = -1 if error is None or error["node"] is None else of[error["node"]]
    while at >= 0:
        opened.append(at)
        at = blocks[at].parent
    operations = [row["id"] for row in rows if row["op"] is not None]

    def inside(block: int, outer: int) -> bool:
        while block >= 0 and block != outer:
            block = blocks[block].parent
        return block == outer

    level = -1
    while True:
        children = [b for b, each in enumerate(blocks) if each.parent == level]
        loose = sum(of[i] == level for i in operations)
        if not children or len(children) + loose > _FEW:
            break
        children = [b for b in children if not blocks[b].repeat] or [level]
        most = max(children, key=lambda b: sum(inside(of[i], b) for i in operations))
        below = sum(each.parent == most for each in blocks) + sum(of[i] == most for i in operations)
        covered = sum(inside(of[i], most) for i in operations)
        if most == level or 2 * covered < len(operations) or below > _ENOUGH:
            break
        opened.append(most)
        level = most
    return sorted(set(opened))


def _flops(row: Mapping[str, Any], shapes: Sequence[Sequence[Any]]) -> int:
    if "flops" in row:  # known where the row was made
        return int(row["flops"])
    inputs = []
    for number, port in row["inputs"]:
        if port >= len(shapes[number]):
            return 0
        inputs.append(shapes[number][port])
    try:
        return int(flops(row["op"], row["attributes"], inputs, shapes[row["id"]]))
    except (KeyError, IndexError, ValueError):
        return 0  # an operator called in a way that its rule does not know: no number is better than none


class Reader:
    """A payload, read: what the picture and the table need.

    Args:
        payload: of a ``GraphView``.
        opened: blocks that are open; without it those that are open at first.
    """

    def __init__(self, payload: Mapping[str, Any], opened: Sequence[int] | None = None):
        self.payload = payload
        self.opened = frozenset(payload["open"] if opened is None else opened)
        self.names: list[str] = payload["names"]
        self.labels: Mapping[str, str] = payload.get("labels", {})
        nodes = payload["nodes"]
        strings = payload["strings"]
        self.ops = [None if i < 0 else strings[i] for i in nodes["op"]]
        self.parts = [PARTS[i] for i in nodes["part"]]
        self.blocks: list[int] = nodes["block"]
        self.flops: list[int] = nodes["flops"]
        self.devices = [strings[i] for i in nodes["device"]]
        self.attributes = [strings[i] for i in nodes["attributes"]]
        self.outputs = [[payload["specs"][i] for i in payload["outs"][k]] for k in nodes["outputs"]]
        self.bytes = [sum(each[2] for each in out) for out in self.outputs]
        self.sources = [None if i < 0 else payload["sources"][i] for i in nodes["source"]]
        edges = payload["edges"]
        self.inputs: list[list[int]] = []
        at = 0
        for node, count in enumerate(edges["count"]):
            self.inputs.append([node - distance for distance in edges["back"][at : at + count]])
            at += count

    def source(self, node: int) -> str:
        """``file:line`` of a node; empty if it is not known."""
        index = self.sources[node]
        if index is None:
            return ""
        return f"{self.payload['strings'][index[0]]}:{index[1]}"

    def label(self, node: int) -> str:
        """The text of the node's box: its place in the program, or its name without what the
        names of its block, or all, begin with (as in model.js).
        """
        block = self.blocks[node]
        strings, prefixes = self.payload["strings"], self.payload["blocks"].get("prefix", ())
        prefix = strings[prefixes[block]] if 0 <= block < len(prefixes) else ""
        known = self.labels.get(str(node))
        return known or plain_name(self.names[node], [prefix, self.payload["prefix"]])

    def outermost(self, node: int) -> int:
        """The outermost closed block that contains a node, -1 for none."""
        block, outer = self.blocks[node], -1
        while block >= 0:
            if block not in self.opened:
                outer = block
            block = self.payload["blocks"]["parent"][block]
        return outer

    def path(self, block: int) -> str:
        """Labels from the outermost block to this one."""
        blocks = self.payload["blocks"]
        labels: list[str] = []
        while block >= 0:
            if not blocks["repeat"][block]:
                labels.append(blocks["label"][block])
            block = blocks["parent"][block]
        return "/".join(reversed(labels))
