"""The pieces of the compiled program, each with the graph rows that it computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np

from mixnet.context import current_context
from mixnet.graph.graph import Graph
from mixnet.passes.facts import Known
from mixnet.runtime.compile.lower import lower, scopes
from mixnet.runtime.compile.options import options_to_read
from mixnet.runtime.compile.scope import compiling_for
from mixnet.stages import hlo
from mixnet.stages.fusion import groups
from mixnet.stages.program import Program
from mixnet.stages.stages import Stages
from mixnet.widgets.graph.rows import Pictured, twin
from mixnet.widgets.stepper.data import stands_for
from mixnet.widgets.stepper.names import recorded_names

Piece = dict[str, Any]


def pieces_of_stages(
    pictured: Pictured, staged: Stages
) -> tuple[list[Piece], dict[str, list[Any]]]:
    """The pieces of all programs of ``mx.stages``, one after the other, and for rows that run as
    another operator, by row number: its name, its method, and whether it changes the layout.
    """
    pieces: list[Piece] = []
    lowered: dict[str, list[Any]] = {}
    for number, program in enumerate(staged.programs):
        meant = _meaning(pictured, program, number if len(staged.programs) > 1 else None)
        pieces += _pieces(program, meant, len(pieces))
        lowered |= _lowered(program, meant)
    return pieces, lowered


def _pieces(program: Program, meant: dict[int, list[int]], first: int) -> list[Piece]:
    rows: dict[int, list[int]] = {}  # node of the last graph -> rows
    for row, nodes in meant.items():
        for node in nodes:
            rows.setdefault(node, []).append(row)
    by_name = {node["name"]: node["id"] for node in program.graph["nodes"]}
    pieces = []
    for group in program.groups:
        nodes = [by_name[name] for name in group["nodes"] if name in by_name]
        pieces.append(_piece(group, {n for node in nodes for n in rows.get(node, ())}, first))
    return pieces


def _lowered(program: Program, meant: dict[int, list[int]]) -> dict[str, list[Any]]:
    lowered: dict[str, list[Any]] = {}
    nodes = program.graph["nodes"]
    moved = {i for node in nodes if node["name"].endswith(_MOVED) for i, _ in node["inputs"]}
    for row, which in meant.items():
        for n in which:
            method = nodes[n]["attributes"].get("method")
            if nodes[n]["op"] is not None and str(nodes[n]["op"]).endswith("_channels_last"):
                lowered[str(row)] = [nodes[n]["op"], method, n in moved]
    return lowered


_MOVED = ("_channels_last", "_channels_first")


def pieces_of_graph(pictured: Pictured, graph: Graph, inputs: Sequence[Known]) -> list[Piece]:
    """The pieces of a graph that is compiled as it is."""
    structs = [jax.ShapeDtypeStruct(shape, np.dtype(dtype)) for shape, dtype in inputs]
    function = lower(graph)
    device = current_context().device
    with compiling_for(device):
        options = options_to_read(device.platform)
        jitted = jax.jit(lambda *a: function(a, ()), keep_unused=True, compiler_options=options)
        text = jitted.lower(*structs).compile().as_text()
    names = scopes(graph)
    number = {row["name"]: row["id"] for row in pictured.rows}
    row_of = {scope: number[graph.names[node]] for node, scope in names.items()}
    return [
        _piece(each.to_dict(), {row_of[scope] for scope in each.nodes if scope in row_of}, 0)
        for each in groups(hlo.parse(text or ""), names.values())
    ]


def _piece(group: dict[str, Any], rows: Iterable[int], first: int) -> Piece:
    piece = {
        "kind": group["kind"],
        "name": group["target"] or group["hlo_name"],
        "in": group["bytes_in"],
        "out": group["bytes_out"],
        "rows": sorted(rows),
    }
    if group["parent"] is not None:
        piece["parent"] = group["parent"] + first
    return piece


def _meaning(pictured: Pictured, program: Program, segment: int | None) -> dict[int, list[int]]:
    """For each row what it is in the last graph of a program: numbers of nodes there."""
    number = {row["name"]: row["id"] for row in program.graph["nodes"]}
    steps: dict[str, list[int]] = {}
    for step in stands_for(program, number):
        for name, nodes in step.items():
            steps.setdefault(name.rpartition("/")[2], []).extend(nodes)
    rows, prefix = pictured.rows, f"segment{segment}/"
    if segment is not None:
        rows = [row for row in rows if row["name"].startswith(prefix)]
    recorded = recorded_names(rows, program)
    meant: dict[int, list[int]] = {}
    for row in rows:
        name = row["name"].removeprefix(prefix).rpartition("/")[2]
        base_name = recorded.get(row["name"], name)
        if row["part"] == "backward" and name not in steps:
            forward = twin(row["name"])
            base_name = f"{recorded.get(forward, forward).rpartition('/')[2]}_backward"
        meant[row["id"]] = sorted(set(steps.get(base_name, ())))
    return meant
