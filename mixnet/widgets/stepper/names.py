"""Names of a program's operations in the network: ``conv2`` for ``self.conv2``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from types import FrameType
from typing import Any

from mixnet.base import MXNetError
from mixnet.gluon.block import HybridBlock
from mixnet.stages.program import Program
from mixnet.widgets.graph.attributes import program_names
from mixnet.widgets.graph.rows import twin
from mixnet.widgets.graph.target import pictured


def recorded_names(rows: Sequence[Mapping[str, Any]], program: Program) -> dict[str, str]:
    """Names that the operations of forward have in the graph that was recorded for a program.

    A network composed of symbols and the same one traced have the same operations in the same order, under
    other names: ``conv0_fwd`` and ``convolution0``.

    Args:
        rows: of a picture of the network.
        program: of ``mx.stages`` of the same network.
    """
    mine = [row for row in rows if row["op"] is not None and row["part"] == "forward"]
    first = program.steps[0]["graph"]["nodes"]
    theirs = [node for node in first if node["op"] is not None and node["part"] == "forward"]
    if len(mine) == len(theirs):
        return {a["name"]: b["name"] for a, b in zip(mine, theirs, strict=True)}
    match = SequenceMatcher(None, [a["op"] for a in mine], [b["op"] for b in theirs], False)
    return {
        mine[i + k]["name"]: theirs[j + k]["name"]
        for i, j, size in match.get_matching_blocks()
        for k in range(size)
    }


def labels_of(
    block: HybridBlock, inputs: Sequence[Any], loss: object, program: Program, boundary: FrameType
) -> dict[str, str]:
    """For nodes of all graphs of a program, by name: what they are called in the network.

    Args:
        block: the network.
        inputs: what it was called with.
        loss: called on its output and the last input, or None.
        program: of ``mx.stages`` of it.
        boundary: the frame at which the search for the user's lines ends.
    """
    try:
        picture = pictured(block, inputs, False, loss, {}, boundary)
    except MXNetError:
        return {}  # names are a help: what is recorded can be shown without
    labels = program_names(picture)
    recorded = recorded_names(picture.rows, program)
    known = {_tail(recorded.get(name, name)): label for name, label in labels.items()}
    nodes = {node["name"] for step in program.steps for node in step["graph"]["nodes"]}
    texts = {name: _label(_tail(name), known) for name in nodes}
    return {name: label for name, label in texts.items() if label}


def _label(name: str, known: Mapping[str, str]) -> str:
    if name in known:
        return known[name]
    if "+" in name:
        parts = [_label(part, known) for part in name.split("+")]
        return " + ".join(parts) if all(parts) else ""
    if (forward := twin(name)) in known and forward != name:
        return f"∇ {known[forward]}"
    for layout in ("channels_last", "channels_first"):
        if name.endswith(f"_{layout}") and (
            plain := _label(name.removesuffix(f"_{layout}"), known)
        ):
            return f"{plain}, {layout.replace('_', ' ')}"
    return ""


def _tail(name: str) -> str:
    return name.rpartition("/")[2]
