"""Let products read the stored values of csr matrices, which a graph else reads as dense arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.op import Op
from mixnet.ops.registry import find


def read_by_values(graph: Graph, names: Collection[str]) -> set[str]:
    """The csr matrices of which the graph reads stored values alone.

    They are on the left of a product, as they are or after operators that leave 0 at 0.

    Args:
        graph: the graph of a symbol.
        names: its variables that are csr matrices.
    """
    matrices = csr_matrices(graph, names)
    others = {matrices[head] for head in graph.heads if head in matrices}
    for node in graph.nodes:
        if Entry(node) in matrices:
            continue
        read = node.inputs[1:] if is_product(node) else node.inputs
        others |= {matrices[entry] for entry in read if entry in matrices}
    return {variable.name for variable in matrices.values() if variable not in others}


class StoredValues(NamedTuple):
    """A graph that reads csr matrices as stored values.

    Args:
        graph: it has three variables in place of each matrix.
        order: by the matrix's name, what these are among its values, columns and rows: 0, 1 or 2.
    """

    graph: Graph
    order: dict[str, list[int]]


def with_stored_values(graph: Graph, shapes: Mapping[str, tuple[int, ...]]) -> StoredValues:
    """The graph with variables for the values of csr matrices, and the column and the row of each.

    Args:
        graph: the graph of a symbol.
        shapes: shapes of the matrices by name, all of ``read_by_values``.
    """
    matrices = csr_matrices(graph, shapes)
    parts = {
        variable: [Node(None, name=f"{variable.name}_{part}") for part in _PARTS]
        for variable in matrices.values()
    }

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        variable = matrices.get(node.inputs[0]) if node.inputs else None
        if variable is None or Entry(node) in matrices:
            return node.with_inputs(inputs)
        columns, rows = (Entry(part) for part in parts[variable][1:])
        transposed = find("dot").keywords(node.statics)["transpose_a"]
        if transposed:
            columns, rows = rows, columns
        product = find("_csr_dot")
        statics, scalars = product.bind({"extent": shapes[variable.name][int(transposed)]})
        arrays = (inputs[0], columns, rows, inputs[1])
        return Node(product, statics, scalars, arrays, node.name, node.attrs).made_from(node)

    changed = graph.rebuild(change, {variable: each[0] for variable, each in parts.items()})
    places = {node: place for place, node in enumerate(changed.arguments)}
    order = {
        variable.name: sorted(range(len(_PARTS)), key=lambda i: places[each[i]])
        for variable, each in parts.items()
    }
    return StoredValues(changed, order)


_PARTS = ("values", "columns", "rows")


def csr_matrices(graph: Graph, names: Collection[str]) -> dict[Entry, Node]:
    """The csr matrices of the graph, each with the variable whose positions it has."""
    return computed_alone(graph, names, _keeps_zeros)


def computed_alone(
    graph: Graph, names: Collection[str], keeps: Callable[[Node], bool]
) -> dict[Entry, Node]:
    """Variables and what is computed from one of them alone, each with that variable.

    Args:
        graph: the graph of a symbol.
        names: of the variables.
        keeps: whether the result of a node stores what its only input stores.
    """
    variables = {}
    for node in graph.nodes:
        if node.is_variable:
            if node.name in names:
                variables[Entry(node)] = node
        elif len(node.inputs) == 1 and node.inputs[0] in variables and keeps(node):
            variables[Entry(node)] = variables[node.inputs[0]]
    return variables


def _keeps_zeros(node: Node) -> bool:
    op = node.op
    if not isinstance(op, Op) or op.storage is None or not op.storage.on_stored:
        return False
    return op.storage.output(["csr"], op.keywords(node.statics, node.scalars)) == "csr"


def is_product(node: Node) -> bool:
    """Whether a node multiplies matrices, the right one as it is."""
    product = find("dot")
    return node.op is product and not product.keywords(node.statics)["transpose_b"]
