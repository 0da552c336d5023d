"""The rows that GraphView draws: one per node, for any target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry
from mixnet.passes.facts import Known
from mixnet.passes.place_devices import group_of
from mixnet.stages.graph_data import graph_data

Path = tuple[str, ...]
_SUFFIX = re.compile(r"(_backward|_gradient_sum|rows_of|_no_gradient|_gradient)(_.*)?$")


@dataclass
class Pictured:
    """A graph as rows (see :func:`mixnet.stages.graph_data.graph_data`) with what else is known of them.

    Args:
        title: what it is a graph of.
        kind: ``symbol``, ``block``, ``pending``, ``function``, ``graph`` or ``difference``.
        rows: the nodes; ``path`` is the block of each, ``device`` where it runs.
        heads: pairs of node and output.
        blocks: by path the class of a block, and what the names in it begin with.
        notes: what a reader should know.
        error: ``{"node": id or None, "text": ...}`` if shapes do not match.
        data: names of variables that are inputs, whatever reads them.
        weights: names of variables that are parameters or states, whatever reads them.
        graph: the graph itself, for what is measured later.
        inputs: shape and dtype of each of its inputs, None where they are not known.
        leaves: of a recorded function the runtime's value for each input.
        scalars: the program's numbers, that scalar slots of its nodes point into.
    """

    title: str
    kind: str
    rows: list[dict[str, Any]]
    heads: list[list[int]]
    blocks: dict[Path, tuple[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    error: dict[str, Any] | None = None
    data: frozenset[str] = frozenset()
    weights: frozenset[str] = frozenset()
    graph: Graph | None = None
    inputs: list[Known] | None = None
    leaves: Sequence[Any] = ()
    scalars: Sequence[float] = ()


def of_step(step: Mapping[str, Any]) -> Pictured:
    """The graph of one step of ``mx.stages``: an entry of ``Program.steps``."""
    data = step["graph"]
    rows = [{**row, "path": path_in(row["name"]), "device": ""} for row in data["nodes"]]
    return Pictured(f"after {step['pass']}", "graph", rows, list(data["heads"]))


def twin(name: str) -> str:
    """The name of the forward node that a gradient belongs to."""
    return "/".join(_SUFFIX.sub("", part) for part in name.split("/"))


def rows_of(graph: Graph, specs: dict[Entry, Known] | None, title: str, kind: str) -> Pictured:
    """Rows of a graph; ``specs`` holds what is known of its entries."""
    data = graph_data(graph, specs)
    nodes = graph.nodes
    by_name = kind in ("symbol", "graph")
    paths = prefix_paths(data["nodes"]) if by_name else {}
    for row, node in zip(data["nodes"], nodes, strict=True):
        row["device"] = group_of(node) or ""
        row["path"] = paths.get(row["name"]) or path_in(row["name"])
        if not row["attributes"] and node.attrs and node.op is not None and kind == "symbol":
            row["attributes"] = {k: v for k, v in node.attrs.items() if not k.startswith("__")}
    blocks: dict[Path, tuple[str, str]] = {}
    if by_name:
        blocks[()] = "", common_prefix(data["nodes"])
    return Pictured(title, kind, data["nodes"], data["heads"], blocks)


def path_in(name: str) -> Path:
    """The graphs that a name says a node was inlined from: ``("net",)`` of ``net/dense0``."""
    return tuple(_SUFFIX.sub("", part) for part in name.split("/")[:-1])


def common_prefix(rows: Sequence[Mapping[str, Any]]) -> str:
    """The common prefix of the names of all operations, up to an underscore: ``lenet_``."""
    words = [row["name"].split("_")[:-1] for row in _forward(rows) if not _is_automatic(row)]
    shared = takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))
    first = [column[0] for column in shared]
    return "_".join([*first, ""]) if len(words) > 1 and any(first) else ""


def _forward(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["op"] is not None and row["part"] == "forward"]


def _is_automatic(row: Mapping[str, Any]) -> bool:
    """Whether the library has given the name, such as ``elemwise_add0``."""
    plain = re.sub(r"\d+$", "", row["name"]).strip("_").lower()
    return bool(plain == row["op"].strip("_").lower())


def prefix_paths(rows: Sequence[Mapping[str, Any]]) -> dict[str, Path]:
    """Blocks by name: prefixes up to an underscore that several operations share.

    ``stage1_unit1_conv1`` belongs to ``unit1`` of ``stage1`` if other nodes do, too. Names that the
    library has given, such as ``elemwise_add0``, say nothing.
    """
    parts: dict[str, list[str]] = {}
    count: dict[Path, int] = {}
    operations = _forward(rows)
    names = {row["name"] for row in operations}
    for row in operations:
        # In ONNX files: nodes that prepare the inputs of ``outer``.
        outer = row["name"].partition("/")[0]
        label = outer if outer in names else row["name"]
        if _is_automatic(row) or "/" in label:
            continue
        tokens = [t for t in label.split("_")[:-1] if t]
        parts[row["name"]] = tokens
        for depth in range(1, len(tokens) + 1):
            prefix = tuple(tokens[:depth])
            count[prefix] = count.get(prefix, 0) + 1
    paths: dict[str, Path] = {}
    for name, tokens in parts.items():
        path: list[str] = []
        waiting: list[str] = []
        above = len(operations)
        for depth in range(1, len(tokens) + 1):
            waiting.append(tokens[depth - 1])
            shared = count[tuple(tokens[:depth])]
            if shared < 2:
                break
            if shared == len(parts):  # all share it: it is no block, and no part of a block's name
                waiting = []
            elif shared < above:
                path.append("_".join(waiting))
                waiting, above = [], shared
        paths[name] = tuple(path)
    by_name = {row["id"]: row["name"] for row in rows}
    for row in rows:  # variables stand with who reads them first; gradients with their operation
        if row["op"] is None:
            continue
        own_path = paths.get(row["name"]) or paths.get(twin(row["name"])) or ()
        paths.setdefault(row["name"], own_path)
        for place, (number, _) in enumerate(row["inputs"]):
            if place and rows[number]["op"] is None:
                paths.setdefault(by_name[number], own_path)
    return paths
