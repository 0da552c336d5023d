"""Running a symbol operator by operator on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixnet.graph.draws import in_order_of_calls
from mixnet.graph.node import Entry
from mixnet.ndarray.invoke import invoke_any
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.ndarray import share
from mixnet.ops.generators.source import does_host_draw
from mixnet.passes.complete_shapes import attributes_of, complete_shapes
from mixnet.symbol.input_names import input_name
from mixnet.symbol.symbol import Symbol, output_name


def run_symbol(
    symbol: Symbol,
    handles: dict[str, NDArray],
    cls: Any,
    hook: tuple[Callable[..., Any], bool] | None = None,
) -> list[NDArray]:
    """Record the operations of a symbol one by one; returns its outputs.

    Args:
        symbol: the symbol.
        handles: arrays of its variables by name; states are updated.
        cls: class of the results.
        hook: called with the name, the operator's name and the array of every result; and whether
            also of every input.
    """
    results: dict[Entry, NDArray] = {}
    graph = complete_shapes(symbol.graph, {name: each.shape for name, each in handles.items()})
    # MXNet draws for a graph in the order of its nodes.
    is_as_mxnet = all(does_host_draw(each.context) for each in handles.values())
    for node in graph.nodes if is_as_mxnet else in_order_of_calls(graph.nodes):
        if node.is_variable:
            handle = handles[node.name]
            as_it_is = type(handle) is cls or handle._is_sparse
            results[Entry(node)] = handle if as_it_is else share(handle, cls)
            continue
        inputs = [results[entry] for entry in node.inputs]
        if hook is not None and hook[1]:
            for i, each in enumerate(inputs):
                hook[0](input_name(node, i), node.op.name, each)
        attributes = attributes_of(node)
        if "subgraphs" in node.op.attributes:  # a loop or a branch
            attributes["subgraphs"] = node.op.keywords(node.statics)["subgraphs"]
        # A symbol has operators of the registry alone.
        outputs = invoke_any(node.op, inputs, attributes, cls=cls)  # type: ignore[arg-type]
        outputs = [outputs] if isinstance(outputs, NDArray) else outputs
        for i, output in enumerate(outputs):
            results[Entry(node, i)] = output
            if hook is not None:
                hook[0](output_name(Entry(node, i)), node.op.name, output)
    return [results[entry] for entry in graph.heads]
