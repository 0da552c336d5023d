"""Loops and branches whose bodies draw random numbers on the host: their iterations run one after another.

The numbers that MXNet's generators draw depend on the iterations of a ``_while_loop``, or on the branch of a
``_cond``. So their conditions are read, as in MXNet, and each body that runs is a call of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.context import Context
from mixnet.graph.node import Node
from mixnet.graph.subgraph import SubGraph
from mixnet.ops.registry import find
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.passes.assign_keys import assign_keys
from mixnet.passes.set_training import set_training
from mixnet.runtime.record.copy import to_host
from mixnet.runtime.record.record import record
from mixnet.runtime.trace.graph_op import GraphOp, call_graph
from mixnet.runtime.value.value import Value

_ops: weakref.WeakKeyDictionary[SubGraph, dict[bool, GraphOp]] = weakref.WeakKeyDictionary()


def record_turns(node: Node, values: Sequence[Value], context: Context) -> list[Value]:
    """The outputs of a ``_while_loop`` or ``_cond``.

    Args:
        node: the loop or branch.
        values: one for each of its inputs.
        context: where it runs.
    """
    attributes = node.op.keywords(node.statics)
    training = bool(node.statics[-1])
    run = _branch if node.op is find("_cond") else _loop
    return run(attributes, list(values), training, context)


def _branch(
    attributes: Mapping[str, Any], values: list[Value], training: bool, context: Context
) -> list[Value]:
    condition, yes, no = attributes["subgraphs"]
    holds = _holds(condition, values, attributes["cond_input_locs"], training, context)
    body, places = (
        (yes, attributes["then_input_locs"]) if holds else (no, attributes["else_input_locs"])
    )
    return _call(body, [values[i] for i in places], training, context)


def _loop(
    attributes: Mapping[str, Any], values: list[Value], training: bool, context: Context
) -> list[Value]:
    condition, body = attributes["subgraphs"]
    most, count = attributes["max_iterations"], attributes["num_out_data"]
    places = attributes["func_input_locs"]
    variables = [places[at] if at >= 0 else i for i, at in enumerate(attributes["func_var_locs"])]
    rows: list[list[Value]] = []
    while len(rows) < most and _holds(
        condition, values, attributes["cond_input_locs"], training, context
    ):
        results = _call(body, [values[i] for i in places], training, context)
        rows.append(results[:count])
        for i, new in zip(variables, results[count:], strict=True):
            values[i] = _in_dtype(new, values[i])
    if rows:
        stacked = [_stacked(column, most) for column in zip(*rows, strict=True)]
    else:
        op = _op_of(body, training)
        known = [(values[i].spec.shape, values[i].spec.dtype) for i in places]
        if op.key is not None:
            known.insert(op.key, STREAM_SPEC)
        specs = op.output_specs((), known)[:count]
        stacked = [_zeros((most, *shape), dtype, context) for shape, dtype in specs]
    return [*stacked, *[values[i] for i in variables]]


def _holds(
    condition: SubGraph,
    values: Sequence[Value],
    places: Sequence[int],
    training: bool,
    context: Context,
) -> bool:
    (truth,) = _call(condition, [values[i] for i in places], training, context)
    return bool(to_host(truth, "condition").reshape(()) != 0)


def _op_of(body: SubGraph, training: bool) -> GraphOp:
    modes = _ops.setdefault(body, {})
    if training not in modes:
        graph = assign_keys(set_training(body.graph, training), body.called, training)
        modes[training] = GraphOp(graph, "turn")
    return modes[training]


def _call(body: SubGraph, values: Sequence[Value], training: bool, context: Context) -> list[Value]:
    return call_graph(_op_of(body, training), values, context)[0]


def _in_dtype(value: Value, like: Value) -> Value:
    if value.spec.dtype == like.spec.dtype:
        return value
    cast = find("Cast")
    statics, scalars = cast.bind({"dtype": like.spec.dtype.name})
    return record(cast, statics, scalars, (value,))[0]


def _stacked(rows: Sequence[Value], most: int) -> Value:
    """Rows as one array of ``most`` rows, the last ones 0."""
    stack = find("stack")
    statics, scalars = stack.bind({"axis": 0})
    (stacked,) = record(stack, statics, scalars, tuple(rows))
    missing = most - len(rows)
    if not missing:
        return stacked
    spec = rows[0].spec
    rest = _zeros((missing, *spec.shape), spec.dtype, spec.context)
    concat = find("Concat")
    statics, scalars = concat.bind({"dim": 0})
    return record(concat, statics, scalars, (stacked, rest))[0]


def _zeros(shape: tuple[int, ...], dtype: Any, context: Context) -> Value:
    zeros = find("_zeros")
    statics, scalars = zeros.bind({"shape": shape, "dtype": dtype.name})
    return record(zeros, statics, scalars, (), context)[0]
