"""Fusion puzzles: the operations of a graph, fusion constraints, and XLA's own grouping."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax

from mixnet.context import current_context
from mixnet.ops.tracing.dataflow import program
from mixnet.ops.tracing.primitives import MATERIALISED
from mixnet.passes.plan_memory import MemoryPlan
from mixnet.runtime.compile.lower import lower, scopes
from mixnet.runtime.compile.scope import compiling_for
from mixnet.stages import hlo
from mixnet.stages.fusion import groups
from mixnet.stages.program import compiled_anew
from mixnet.widgets.puzzle.rules import judge, numbered

Items = list[dict[str, Any]]
Values = list[dict[str, Any]]
ALL_TRIED = 8  # operations whose 4,140 groupings are judged in less than a second


class Piece(NamedTuple):
    """A unit that XLA runs: the numbers of its operations, whether it is a library call, and the
    bytes that it moves.
    """

    items: frozenset[int]
    is_library: bool
    nbytes: int


def items_of(plan: MemoryPlan) -> tuple[Items, Values]:
    """An item for each operation, and the arrays between them.

    Returns:
        Items with ``name``, ``op``, ``kind`` (``pointwise``, ``reduction``, ``library``), and
        numbers of the arrays that it ``reads`` and ``writes``. Arrays with ``name``, ``bytes``,
        and whether it goes ``out``. What only gives an array another shape is no operation.
    """
    schedule = plan.schedule
    number: dict[Any, int] = {}
    values: Values = []
    items: Items = []

    def value_of(array: Any) -> int:
        if array not in number:
            number[array] = len(values)
            values.append({"name": array.name, "bytes": array.nbytes, "out": False})
        return number[array]

    stored = {
        array for entry, array in schedule.arrays.items() if entry in set(schedule.graph.heads)
    }
    for step in schedule.steps:
        for output, place in step.same.items():
            number[step.writes[output]] = value_of(schedule.arrays[step.node.inputs[place]])
        written = [array for array in step.writes if array not in number]
        if written:
            reads = sorted({value_of(array) for array in step.reads.values()})
            writes = [value_of(array) for array in written]
            items.append(
                {
                    "name": step.name,
                    "op": step.node.op.name,
                    "kind": _kind(plan, step),
                    "reads": reads,
                    "writes": writes,
                }
            )
        for array in step.writes:
            values[number[array]]["out"] |= array in stored
    return items, values


def _kind(plan: MemoryPlan, step: Any) -> str:
    arrays = plan.schedule.arrays
    known = [(arrays[entry].shape, arrays[entry].dtype) for entry in step.node.inputs]
    flow = program(step.node.op, step.node.statics, known, len(step.node.scalars))
    names = {each.primitive.name for each in flow.needed(flow.outputs)[0]}
    if names & MATERIALISED:
        return "library"
    return (
        "reduction"
        if any(name.startswith(("reduce_", "arg")) and name != "reduce_precision" for name in names)
        else "pointwise"
    )


def references(
    items: Items, values: Values, plan: MemoryPlan | None
) -> tuple[list[dict[str, Any]], list[int]]:
    """The solutions that an answer is compared with, and the initial answer: no fusion.

    Args:
        items: the operations.
        values: the arrays.
        plan: of the graph, to ask XLA; None: it is not asked.
    """
    payload = {"kind": "fusion", "items": items, "values": values}
    alone = list(range(len(items)))
    if len(items) <= ALL_TRIED:
        name, least = "best answer", _least(payload)
        means = "no answer is better: all groupings were tried"
    else:
        name, least = "lower bound", _bound(items, values)
        means = (
            "bytes that no grouping saves: inputs, outputs, and the results of library calls and "
            "reductions"
        )
    rows: list[dict[str, Any]] = [
        {"name": name, "means": means, "score": least, "place": None, "bound": True},
        {
            "name": "greedy",
            "means": "repeatedly join the two groups that save most",
            "place": greedy(payload),
        },
    ]
    if plan is not None:
        rows.append(_by_xla(payload, xla_groups(items, plan)))
    rows.append({"name": "no fusion", "means": "every operation on its own", "place": alone})
    return rows, alone


def greedy(payload: dict[str, Any]) -> list[int]:
    """Groups made by repeatedly joining the two that save most without a conflict."""
    place = list(range(len(payload["items"])))
    score = judge(payload, place)["score"]
    while True:
        best: tuple[int, list[int]] | None = None
        for a, b in itertools.combinations(range(max(place, default=-1) + 1), 2):
            joined = numbered([a if group == b else group for group in place])
            verdict = judge(payload, joined)
            if not verdict["conflicts"] and verdict["score"] < (score if best is None else best[0]):
                best = verdict["score"], joined
        if best is None:
            return place
        score, place = best


def _least(payload: dict[str, Any]) -> int:
    """The lowest score of all groupings without a conflict."""

    def groupings(count: int) -> Iterator[list[int]]:
        if not count:
            yield []
            return
        for rest in groupings(count - 1):
            for group in range(max(rest, default=-1) + 2):
                yield [*rest, group]

    judged = (judge(payload, place) for place in groupings(len(payload["items"])))
    least: int = min(each["score"] for each in judged if not each["conflicts"])
    return least


def _bound(items: Items, values: Values) -> int:
    """Bytes that move in every grouping: everything that a library call reads or writes goes
    through memory, and so do the results of reductions, inputs and outputs.
    """
    maker = {value: each for each in items for value in each["writes"]}
    total = 0
    for number, value in enumerate(values):
        readers = [each["kind"] for each in items if number in each["reads"]]
        libraries = readers.count("library")
        producer = maker.get(number)
        if producer is None or producer["kind"] != "pointwise":
            moves = libraries + (libraries < len(readers))
        else:
            moves = libraries
        if producer is not None:
            moves += bool(moves or value["out"])
        total += moves * value["bytes"]
    return total


def _by_xla(payload: dict[str, Any], pieces: list[Piece]) -> dict[str, Any]:
    """XLA's row: with its groups if they are a valid answer of this puzzle, else with the bytes
    of its program.
    """
    items = payload["items"]
    means = f"XLA's fusion for {current_context().device.platform}; XLA runs mixnet's graphs"
    # A library call may leave its bias to the kernel behind it: it counts where its product is.
    in_libraries = {n for piece in pieces if piece.is_library for n in piece.items}
    place, recomputed = [-1 - number for number in range(len(items))], []
    for number, piece in enumerate(pieces):
        for each in sorted(piece.items):
            if items[each]["kind"] == "library" and each in in_libraries and not piece.is_library:
                continue
            if place[each] >= 0:
                recomputed.append(items[each]["name"])
            place[each] = number
    place = numbered(place)
    if not recomputed and not judge(payload, place)["conflicts"]:
        return {"name": "XLA", "means": means, "place": place}
    means += (
        (
            f"; it recomputes {', '.join(dict.fromkeys(recomputed))} in several kernels instead of "
            "storing it, which the puzzle does not allow"
        )
        if recomputed
        else "; it fuses more than this puzzle allows"
    )
    return {
        "name": "XLA",
        "means": means,
        "score": sum(piece.nbytes for piece in pieces),
        "place": None,
    }


def xla_groups(items: Items, plan: MemoryPlan) -> list[Piece]:
    """The pieces of the program that XLA compiles for the graph, each with its operations."""
    graph = plan.schedule.graph
    structs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in plan.schedule.inputs()]
    function = lower(graph)
    with compiling_for(current_context().device), compiled_anew():
        text = (
            jax.jit(lambda *arrays: function(arrays, ()), keep_unused=True)
            .lower(*structs)
            .compile()
            .as_text()
            or ""
        )
    names = scopes(graph)
    step_of = {step.node: step.name for step in plan.schedule.steps}
    step_of_scope = {scope: step_of[node] for node, scope in names.items()}
    number = {each["name"]: i for i, each in enumerate(items)}
    return [
        Piece(
            frozenset(
                number[step_of_scope[scope]]
                for scope in piece.nodes
                if step_of_scope[scope] in number
            ),
            piece.kind == "library call",
            piece.bytes_in + piece.bytes_out,
        )
        for piece in groups(hlo.parse(text), names.values())
        if piece.parent is None
    ]
