"""Tables of a network's layers: as plain data, and printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mixnet.base import AttributeTypeError, ShapeError
from mixnet.gluon.block import Block, HybridBlock
from mixnet.graph.node import Entry, Node
from mixnet.ops.schema.attributes import numbers
from mixnet.passes.infer_shape import infer, is_known
from mixnet.symbol.inference_arguments import arguments_printed, check_shapes
from mixnet.symbol.symbol import Symbol, output_name


def table(symbol: Symbol, shapes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row per operation: ``name``, ``op``, ``output`` shape, ``parameters`` in number.

    Args:
        symbol: the network.
        shapes: shapes of its inputs by name.

    Raises:
        ShapeError: the shapes do not fit.
    """
    inferred = infer(symbol.graph, shapes).shapes
    counted: set[Node] = set()
    rows = []
    for node in symbol.graph.nodes:
        if node.is_variable:
            continue
        count = 0
        for entry in node.inputs:
            fresh = entry.node.is_variable and entry.node.name not in shapes
            if fresh and entry.node not in counted and not entry.node.name.endswith("label"):
                counted.add(entry.node)
                size = 1
                for extent in inferred[entry]:
                    size *= extent
                count += size
        output = inferred.get(Entry(node), ())
        rows.append({"name": node.name, "op": node.op.name, "output": output, "parameters": count})
    return rows


def no_symbol(target: object) -> AttributeTypeError:
    """The error for what is pictured or tabled in place of a symbol."""
    hint = ""
    if isinstance(target, HybridBlock):
        hint = (
            ' Give the symbol of the block, net(mx.sym.var("data")), or use net.summary(x) or '
            "mx.widgets.GraphView(net, x)."
        )
    elif isinstance(target, Block):
        hint = " A Block has no symbol: use net.summary(x) or mx.widgets.GraphView(net, x)."
    return AttributeTypeError(f"symbol must be a Symbol, not {type(target).__name__}.{hint}")


def shapes_of(symbol: Symbol, known: Mapping[str, Any]) -> Mapping[Entry, Any]:
    """Shapes of every output of every node.

    Args:
        symbol: the network.
        known: shapes of its inputs by name.

    Raises:
        ShapeError: they do not determine all others, or do not fit.
    """
    if not isinstance(known, Mapping):
        raise AttributeTypeError(
            f"shape must be a dict from names of inputs to shapes, such as {{'data': (1, 10)}}, "
            f"not {known!r:.60}."
        )
    with arguments_printed("infer_shape", (), known):
        check_shapes((), known)
        symbol._known_by_name("infer_shape", "shapes", (), known)  # raises for an unknown name
        shapes = infer(symbol.graph, known).shapes
    unknown = [n.name for n in symbol.graph.nodes if not is_known(shapes.get(Entry(n)))]
    if unknown:
        raise ShapeError(f"Input shape is incomplete: give the shape of {', '.join(unknown[:6])}.")
    return shapes


def _filters(node: Node, fed: int) -> int:
    attrs = node.attrs
    count = fed * int(attrs["num_filter"]) // int(attrs.get("num_group", "1"))
    for extent in numbers(attrs["kernel"]):
        count *= extent
    return count + (0 if _is_on(attrs, "no_bias") else int(attrs["num_filter"]))


def _is_on(attrs: Mapping[str, str], name: str) -> bool:
    return attrs.get(name) in ("True", "1")


def _dense(node: Node, fed: int) -> int:
    return (fed if _is_on(node.attrs, "no_bias") else fed + 1) * int(node.attrs["num_hidden"])


# How MXNet's table counts parameters, from the second extent of what a layer is fed.
_COUNTS: dict[str, Callable[[Node, int], int]] = {
    "Convolution": _filters,
    "FullyConnected": _dense,
    "Embedding": lambda node, fed: int(node.attrs["input_dim"]) * int(node.attrs["output_dim"]),
}


def _line(fields: Sequence[Any], ends: Sequence[float]) -> str:
    """Fields in columns that end at these places."""
    line = ""
    for field, end in zip(fields, ends, strict=False):
        line = f"{line}{field}"[: int(end)].ljust(int(end))
    return line


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Any] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = [0.44, 0.64, 0.74, 1.0],
) -> None:
    """Print MXNet's table of layers: output shape, number of parameters, layers before.

    It counts as MXNet does: only weights of ``Convolution``, ``FullyConnected``, ``Embedding`` and
    ``BatchNorm``, the weights of a dense layer from the second axis of its input.
    :func:`table` gives exact numbers.

    Args:
        symbol: the network.
        shape: shapes of its inputs by name; without them, shapes and most counts are omitted.
        line_length: characters of a line.
        positions: where columns end, as shares of the line.

    Raises:
        TypeError: ``symbol`` is not a Symbol.
        ShapeError: the shapes do not determine those of all layers.
    """
    if not isinstance(symbol, Symbol):
        raise no_symbol(symbol)
    shapes = shapes_of(symbol, shape) if shape is not None else {}
    ends = [int(line_length * p) for p in positions] if positions[-1] <= 1 else list(positions)
    nodes = symbol.graph.nodes
    # MXNet takes the numbers of the first output (its node, its place) for nodes.
    first = {0, nodes.index(symbol._heads[0].node), symbol._heads[0].index}
    heads = {nodes[i] for i in first if i < len(nodes)}

    def output_shape(node: Node) -> tuple[int, ...]:
        """Of the output that bears the node's own name: numbered outputs show no shape."""
        entry = Entry(node)
        named = node.is_variable or output_name(entry) == f"{node.name}_output"
        return tuple(shapes.get(entry, ()))[1:] if named else ()

    total = 0
    print("_" * line_length)
    print(_line(["Layer (type)", "Output Shape", "Param #", "Previous Layer"], ends))
    print("=" * line_length)
    for i, node in enumerate(nodes):
        if node.is_variable and i:
            continue
        before, fed = [], 0
        for entry in node.inputs:
            if not entry.node.is_variable or entry.node in heads:
                before.append(entry.node.name)
                fed += next(iter(output_shape(entry.node)), 0)
        kind = "null" if node.op is None else node.op.name
        count = _COUNTS[kind](node, fed) if kind in _COUNTS else 0
        if kind == "BatchNorm" and shapes:
            count = 2 * shapes[Entry(node)][1]
        total += count
        extents = "x".join(map(str, output_shape(node)))
        row = [f"{node.name}({kind})", extents, count, before[0] if before else ""]
        print(_line(row, ends))
        for name in before[1:]:
            print(_line(["", "", "", name], ends))
        print(("=" if i == len(nodes) - 1 else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)
