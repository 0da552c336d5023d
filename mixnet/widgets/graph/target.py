"""Rows of any target: symbols, networks, functions, pending arrays, graphs."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from mixnet.base import AttributeTypeError, ShapeError
from mixnet.gluon.block import Block, HybridBlock
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes import pipeline
from mixnet.process.source import is_users
from mixnet.stages.graph_data import specs_of
from mixnet.stages.recording import Recording, function_of, of_function, parameter_names
from mixnet.symbol.symbol import Symbol
from mixnet.units import how_many
from mixnet.widgets.graph.network import is_shape, of_block
from mixnet.widgets.graph.rows import (
    Pictured,
    of_step,
    rows_of,
)
from mixnet.widgets.graph.symbol import of_symbol


def pictured(
    target: object,
    inputs: Sequence[Any],
    train: bool,
    loss: object,
    named: Mapping[str, Any],
    boundary: FrameType,
    boxes: bool = False,
) -> Pictured:
    """The rows of any target; see :class:`mixnet.widgets.graph.view.GraphView`.

    With ``boxes``, what a block's backend computes is a block of its own, as in a symbol that
    was optimized for it.

    Raises:
        AttributeTypeError: the target, or an input, has a type that is not accepted.
    """
    if isinstance(target, Symbol):
        return of_symbol(target, inputs, train, named)
    if isinstance(target, HybridBlock):
        if named:
            raise AttributeTypeError(
                f"A block takes arrays by position, not {', '.join(named)} by name."
            )
        return of_block(target, inputs, train, loss, boundary, boxes)
    if isinstance(target, NDArray):
        return _of_array(target)
    if isinstance(target, Graph):
        return rows_of(target, None, _title(target), "graph")
    if isinstance(target, Mapping) and "graph" in target and "pass" in target:
        return of_step(target)
    if callable(target):
        return _of_call(target, inputs, train, loss, named, boundary)
    raise AttributeTypeError(
        f"GraphView: {type(target).__name__} is not a graph. Pass a Symbol with shapes by "
        "name, a HybridBlock "
        f"and its inputs, an NDArray that is pending, or a function of NDArrays and its inputs."
    )


def _of_array(array: NDArray) -> Pictured:
    value = array._read()
    segment = value.segment
    if value.array is not None or segment is None or segment.finished:
        node = Node(None, name="array")
        spec = value.spec
        rows = rows_of(
            Graph((Entry(node),)), {Entry(node): (spec.shape, spec.dtype)}, "array", "pending"
        )
        rows.notes.append("Nothing is pending: the array has been computed, or is being computed.")
        rows.rows[0]["device"] = str(spec.context)
        return rows
    graph, leaves = segment.pending_graph((value.slot,))
    for node, leaf in zip(graph.inputs, leaves, strict=True):
        node.name = node.name or ("constant" if leaf.array is not None else "pending elsewhere")
    known = [(leaf.spec.shape, leaf.spec.dtype) for leaf in leaves]
    rows = rows_of(graph, specs_of(graph, known), "pending operations", "pending")
    rows.graph, rows.inputs = graph, known
    for row in rows.rows:
        row["device"] = str(segment.context)
    return rows


def _of_call(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    train: bool,
    loss: object,
    named: Mapping[str, Any],
    boundary: FrameType,
) -> Pictured:
    for each in (*inputs, *named.values()):
        if is_shape(each):
            raise AttributeTypeError(
                f"A function runs on NDArrays, not on the shape {each}: pass mx.nd.zeros({each})."
            )
    names: dict[int, str] = {}
    plain = getattr(function, "name", type(function).__name__)
    title = str(getattr(function, "__name__", plain))
    failed: list[ShapeError] = []
    try:
        if isinstance(function, Block):
            title = function.name if loss is None else f"{function.name} and loss"
            recorded = function_of(function, inputs, train, loss)
            names, function = parameter_names(function), recorded
        elif loss is not None:
            raise AttributeTypeError(
                "GraphView: loss= is for blocks: a function calls its own loss."
            )
        network = of_function(function, title, inputs, named, train or None, boundary, names)
    except ShapeError:
        if isinstance(function, Block) and loss is not None:
            inputs = inputs[:-1]
        # Again, to see how far it comes: the error's frames hold the arrays that were there.
        try:
            guarded = _guarded(function, failed)
            network = of_function(guarded, title, inputs, named, train or None, boundary, names)
        except AttributeTypeError:  # nothing had been recorded yet
            empty = Pictured(title, "function", [], [])
            empty.error = _error(failed)
            return empty
    parts = [_of_program(program, title) for program in network.programs]
    joined = parts[0] if len(parts) == 1 else _joined(parts, network.programs, title)
    joined.error = _error(failed)
    return joined


def _of_program(program: Recording, title: str) -> Pictured:
    """The graph of a program as it was recorded."""
    graph = program.steps[0].graph
    if any(not node.is_variable and node.op.graph is not None for node in graph.nodes):
        graph = pipeline.inline(graph, pipeline.Facts())
    leaves = program.recorded.leaves
    known = [(leaf.spec.shape, leaf.spec.dtype) for leaf in leaves]
    rows = rows_of(graph, specs_of(graph, known), title, "function")
    rows.graph, rows.inputs, rows.scalars = graph, known, program.recorded.scalars
    rows.leaves = leaves
    for row in rows.rows:
        row["device"] = str(program.recorded.context)
    return rows


def _joined(parts: Sequence[Pictured], programs: Sequence[Recording], title: str) -> Pictured:
    """Programs that run one after another in one picture."""
    joined = Pictured(title, "function", [], [])
    for number, (rows, program) in enumerate(zip(parts, programs, strict=True)):
        first = len(joined.rows)
        reason = program.recorded.reason
        for row in rows.rows:
            row["id"] += first
            row["name"] = f"segment{number}/{row['name']}"
            row["inputs"] = [[i + first, k] for i, k in row["inputs"]]
            row["path"] = (f"segment {number} (until {reason})", *row["path"])
            joined.rows.append(row)
        joined.heads += [[i + first, k] for i, k in rows.heads]
    joined.notes.append(
        f"Values are read during the call, so {how_many(len(parts), 'program')} run, one after another."
    )
    return joined


def _title(graph: Graph) -> str:
    return f"graph of {how_many(sum(node.op is not None for node in graph.nodes), 'operation')}"


def _guarded(function: Callable[..., Any], failed: list[ShapeError]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def run(*arrays: object, **named: object) -> Any:
        try:
            return function(*arrays, **named)
        except ShapeError as error:
            failed.append(error)

    return run


def _error(failed: list[ShapeError]) -> dict[str, Any] | None:
    """The error and the user's line that it came from."""
    if not failed:
        return None
    error = failed.pop()
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if is_users(frame.filename)]
    at = f"\n{mine[-1].filename}:{mine[-1].lineno}: {mine[-1].line}" if mine else ""
    return {"node": None, "text": str(error).strip() + at}
