"""Rows of networks, with the blocks that created them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from mixnet.base import AttributeTypeError
from mixnet.gluon.block import HybridBlock
from mixnet.gluon.block.compose import Composition
from mixnet.gluon.trace import Traced, flatten
from mixnet.graph.graph import Graph
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes.assign_keys import KEY_SPEC
from mixnet.process.source import source_lines
from mixnet.stages.graph_data import specs_of
from mixnet.stages.recording import check_loss, label_hint
from mixnet.units import how_many
from mixnet.widgets.graph.calls import Calls
from mixnet.widgets.graph.parts import Parts, parts_of_block
from mixnet.widgets.graph.rows import (
    Pictured,
    rows_of,
    twin,
)
from mixnet.widgets.graph.symbol import composed, with_gradients


def of_block(
    block: HybridBlock,
    inputs: Sequence[Any],
    train: bool,
    loss: object,
    boundary: FrameType,
    boxes: bool = False,
) -> Pictured:
    """Rows of a network called with these inputs, arrays or shapes; nothing of it is run or changed.

    Args:
        block: the network.
        inputs: arrays or shapes.
        train: with gradients.
        loss: called on its output and the last input, or None.
        boundary: the frame at which the search for the user's lines ends.
        boxes: each part that the network's backend computes is a block.
    """
    if loss is not None:
        check_loss(loss)
    inputs = inputs or _last_inputs(block, loss)
    arrays = _as_structs(inputs)
    leaves, structure = flatten(arrays)
    calls = Calls(block, loss)

    def forward(*arguments: Any) -> Any:
        if loss is None:
            return block(*arguments)
        return calls.outside(loss, calls.run(block, arguments[:-1]), arguments[-1])

    parameters = block._mx_all_parameters()
    trainable = [name for name, each in parameters.items() if each.grad_req != "null"]
    notes = [] if not train or trainable else ["There are no gradients: no parameter requires one."]
    count = len(leaves)
    reason: Exception | None = None
    try:
        with calls, source_lines(boundary):
            composition = Composition(forward, structure, count)
            calls.note(composition.symbol)
    except Exception as error:
        reason = error
    if reason is not None:  # outside of `except`: an error of forward is shown once, not twice
        return _traced(block, inputs, train, loss, forward, calls, boundary, reason, trainable)
    names = dict(zip(composition.names, leaves, strict=True))
    shapes: dict[str, Any] = {n: tuple(leaf.shape) for n, leaf in names.items()}
    dtypes = {n: np.dtype(leaf.dtype) for n, leaf in names.items()}
    for name, each in parameters.items():
        dtypes.setdefault(name, np.dtype(each.dtype))
        if each._shape is not None:
            shapes.setdefault(name, each._shape)
    title = block.name if loss is None else f"{block.name} and loss"
    parts = parts_of_block(block, composition.symbol, train or loss is not None)
    symbol = parts.symbol if boxes else composition.symbol
    for name, each in parts.arrays.items():
        shapes[name], dtypes[name] = tuple(each.shape), np.dtype(each.dtype)
    rows = composed(symbol, shapes, dtypes, train, trainable, title, "block")
    rows.data, rows.weights = frozenset(composition.names), frozenset(parameters)
    _place(rows, calls, composition.symbol.graph, inputs, parts)
    rows.notes += [each for each in (*notes, parts.note()) if each]
    return rows


def _last_inputs(block: HybridBlock, loss: object) -> Sequence[Any]:
    """The specs of a call that there was."""
    for specs, structure, _ in block._mx_cache:
        if (
            loss is None
            and structure[0] is tuple
            and all(isinstance(s, type) for s in structure[1])
        ):
            return [_Struct(spec.shape, spec.dtype) for spec in specs]
    raise AttributeTypeError(
        f"{block.name} needs an input. Pass the arrays that you would call it with, such as "
        f"mx.nd.zeros((1, 3, 224, 224)), or their shapes."
    )


class _Struct(NDArray):
    """Shape and dtype in the place of an array that need not exist."""

    def __init__(self, shape: Any, dtype: Any):
        self._struct = tuple(shape), np.dtype(dtype)

    shape = property(lambda self: self._struct[0])
    dtype = property(lambda self: self._struct[1])


def is_shape(value: object) -> bool:
    """Whether an input of a block is a shape in the place of an array."""
    return isinstance(value, tuple) and bool(value) and all(isinstance(n, int) for n in value)


def _as_structs(inputs: Sequence[Any]) -> tuple[Any, ...]:
    structs = [_Struct(each, "float32") if is_shape(each) else each for each in inputs]
    leaves, _ = flatten(tuple(structs))
    if not leaves:
        kinds = ", ".join(type(each).__name__ for each in inputs) or "nothing"
        raise AttributeTypeError(
            f"A block takes NDArrays, or shapes such as (1, 3, 224, 224), not {kinds}."
        )
    return tuple(structs)


def _traced(
    block: HybridBlock,
    inputs: Sequence[Any],
    train: bool,
    loss: object,
    forward: Callable[..., Any],
    calls: Calls,
    boundary: FrameType,
    reason: Exception,
    trainable: Sequence[str],
) -> Pictured:
    """Rows of a block that takes arrays only: its forward runs on placeholders."""
    leaves, structure = flatten(tuple(inputs))
    if any(type(leaf) is _Struct for leaf in leaves) or not leaves:
        raise AttributeTypeError(
            f"{block.name} needs arrays: it does not run on symbols ({reason})."
        ) from reason
    context = leaves[0].context
    specs = [leaf._spec for leaf in leaves]
    try:
        with calls, source_lines(boundary):
            traced = Traced(calls.noted(forward), specs, structure, train, context)
    except TypeError as error:
        raise AttributeTypeError(
            f"{block.name} does not take {how_many(len(leaves), 'input')}: "
            f"{str(error).rstrip('.')}.{label_hint(loss, len(leaves))}"
        ) from error
    graph = traced.graph
    known = [(spec.shape, spec.dtype) for spec in specs]
    known += [(h._spec.shape, h._spec.dtype) for h in traced.parameter_handles(context)]
    known += [(value.spec.shape, value.spec.dtype) for value in traced.captured]
    if len(known) < len(graph.inputs):
        known.append(KEY_SPEC)
    if train:
        rows = with_gradients(graph, known, trainable, block.name, "block")
    else:
        rows = rows_of(graph, specs_of(graph, known), block.name, "block")
        rows.graph, rows.inputs = graph, known
    rows.data = frozenset(traced.key.names)
    _place(rows, calls, traced.graph, inputs)
    return rows


def _place(
    pictured: Pictured,
    calls: Calls,
    graph: Graph,
    inputs: Sequence[Any],
    parts: Parts | None = None,
) -> None:
    """Give rows the blocks that were running when their nodes were made, and where they run."""
    paths = {graph.names[node]: path for node, path in calls.of.items() if node in graph.names}
    lines = {graph.names[node]: node.source for node in graph.nodes}
    leaves, _ = flatten(tuple(inputs))
    device = str(leaves[0].context) if leaves and type(leaves[0]) is not _Struct else ""
    pictured.blocks = dict(calls.kinds)
    for row in pictured.rows:
        part, name = parts.split(row["name"]) if parts is not None else ("", row["name"])
        base_name = twin(name)
        path = paths.get(name, paths.get(base_name, ()))
        row["path"] = (part, *path) if part else path
        if part:
            for depth in range(len(path) + 1):
                pictured.blocks[part, *path[:depth]] = (
                    calls.kinds.get(path[:depth], ("", "")) if depth else ("", f"{part}/")
                )
        row["device"] = row["device"] or device
        if parts is not None and row["op"] is not None:
            row["device"] = parts.device(name, row["device"])
        source = lines.get(name) or lines.get(base_name)
        if row["source"] is None and source is not None:
            row["source"] = source.to_dict()
