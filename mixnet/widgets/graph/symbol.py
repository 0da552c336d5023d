"""Rows of symbols: forward with inferred shapes, or forward and backward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.array_like import has_dtype, has_shape
from mixnet.base import AttributeTypeError, ShapeError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.passes.assign_keys import KEY_NAME, KEY_SPEC, assign_keys
from mixnet.passes.complete_shapes import complete_shapes
from mixnet.passes.facts import Known
from mixnet.passes.infer_shape import Inference, is_known
from mixnet.passes.training_graph import training_graph
from mixnet.stages.graph_data import specs_of
from mixnet.stages.recording import inputs_by_name
from mixnet.symbol.backend import spelled_out
from mixnet.symbol.executable import unplaced_graph
from mixnet.symbol.symbol import Symbol
from mixnet.widgets.graph.rows import Pictured, rows_of


def of_symbol(
    symbol: Symbol, inputs: Sequence[Any], train: bool, named: Mapping[str, Any]
) -> Pictured:
    """Rows of a symbol with shapes or arrays by name; what a backend computes is a box that opens."""
    title = symbol.name or "group"
    symbol, stored = spelled_out(symbol)
    by_name = inputs_by_name("GraphView", inputs, named)
    known = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    for name in by_name:
        if name not in known:
            raise AttributeTypeError(
                f"The symbol has no input {name!r}; it has {', '.join(known)}."
            )
    shapes = {n: tuple(each.shape if has_shape(each) else each) for n, each in by_name.items()}
    dtypes = {n: np.dtype(each.dtype) for n, each in by_name.items() if has_dtype(each)}
    for name, each in stored.items():
        shapes[name], dtypes[name] = tuple(each.shape), np.dtype(each.dtype)
    arguments = [n for n in symbol.list_arguments() if not n.endswith("label")]
    trainable = [n for n in arguments if n not in by_name] or arguments
    rows = composed(symbol, shapes, dtypes, train, trainable, title, "symbol")
    rows.data = frozenset(name for name in known if name in by_name or name.endswith("label"))
    return rows


class _Watched(Inference):
    """Inference that knows which node it is at, so that an error has its place."""

    at: Node | None = None

    def _node(self, node: Node) -> None:
        self.at = node
        super()._node(node)


def composed(
    symbol: Symbol,
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, np.dtype],
    train: bool,
    trainable: Sequence[str],
    title: str,
    kind: str,
) -> Pictured:
    """Rows of a symbol: forward with what can be inferred, or forward and backward."""
    graph = symbol.graph
    inferred = _Watched(graph, shapes, dtypes, np.dtype("float32"))
    failed: ShapeError | None = None
    try:
        inferred.run()
    except ShapeError as error:
        failed = error
    except Exception as error:  # a rule that stumbles over such a shape
        failed = ShapeError(f"{type(error).__name__}: {error}")
    variables = {node.name: Entry(node) for node in graph.nodes if node.is_variable}
    complete = failed is None and all(is_known(inferred.shapes.get(e)) for e in variables.values())

    def known(name: str) -> Known:
        if name == KEY_NAME:
            return KEY_SPEC
        dtype = inferred.dtypes.get(variables[name]) or np.dtype("float32")
        return inferred.shapes[variables[name]], dtype

    if complete:
        all_shapes = {name: inferred.shapes[entry] for name, entry in variables.items()}
        symbol = Symbol(complete_shapes(graph, all_shapes).heads)
    if complete or (train and failed is None):
        run = assign_keys(unplaced_graph(symbol, train))
        inputs = [known(node.name) for node in run.inputs] if complete else None
    if train and failed is None:
        rows = with_gradients(run, inputs, trainable, title, kind)
    elif complete:
        # Forward alone is shown as composed, without the states' new values as heads.
        specs = specs_of(symbol.graph, [known(node.name) for node in symbol.graph.inputs])
        rows = rows_of(symbol.graph, specs, title, kind)
        rows.graph, rows.inputs = run, inputs
    else:
        specs = {
            entry: (tuple(shape), inferred.dtypes.get(entry) or np.dtype("float32"))
            for entry, shape in inferred.shapes.items()
            if is_known(shape)
        }
        rows = rows_of(graph, specs, title, kind)
    if failed is not None:
        place = None if inferred.at is None else graph.names.get(inferred.at)
        at = next((row["id"] for row in rows.rows if row["name"] == place), None)
        rows.error = {"node": at, "text": str(failed).strip()}
    elif not complete and shapes:
        missing = [n for n, entry in variables.items() if not is_known(inferred.shapes.get(entry))]
        rows.notes.append(f"The shape is unknown for {', '.join(missing[:6])}.")
    return rows


def with_gradients(
    graph: Graph, inputs: list[Known] | None, trainable: Sequence[str], title: str, kind: str
) -> Pictured:
    """Rows of a graph and of the gradients of some inputs."""
    complete = training_graph(graph, dict.fromkeys(trainable, "write"))
    specs = None
    known = None
    if inputs is not None:
        forward = specs_of(graph, inputs)
        heads = [forward[head] for head in graph.heads[: graph.num_outputs]]
        known = [*inputs, *heads]
        specs = specs_of(complete.graph, known)
    rows = rows_of(complete.graph, specs, title, kind)
    rows.graph, rows.inputs = complete.graph, known
    for row in rows.rows:
        if row["name"].startswith("gradient of output"):
            row["part"] = "backward"
    return rows
