"""Find the row_sparse weights of which a graph reads only the rows that csr matrices multiply."""

from __future__ import annotations

from collections.abc import Collection

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.op import Op
from mixnet.passes.stored_values import computed_alone, csr_matrices, is_product


def weights_by_matrix(
    graph: Graph, matrices: Collection[str], weights: Collection[str]
) -> dict[str, list[str]]:
    """For csr matrices the weights that they multiply, if a product of the rows alone gives the same.

    A program may then read the rows that a matrix has as columns in place of its weights, and the places of
    the columns among these in place of the columns. Each weight goes with one matrix, and is on the right
    of its products, as it is or after operators that compute each row from a row.

    Args:
        graph: the graph of a symbol.
        matrices: names of its csr matrices, all of ``read_by_values``.
        weights: names of its row_sparse variables.
    """
    left = csr_matrices(graph, matrices)
    rows = computed_alone(graph, weights, _is_by_row)
    pairs: set[tuple[Node, Node]] = set()
    refused: set[Node] = {rows[head] for head in graph.heads if head in rows}
    for node in graph.nodes:
        matrix = left.get(node.inputs[0]) if is_product(node) else None
        if matrix is not None:
            weight = rows.get(node.inputs[1])
            if weight is None or node.op.keywords(node.statics)["transpose_a"]:
                refused.add(matrix)
            else:
                pairs.add((matrix, weight))
        elif Entry(node) not in rows:
            refused |= {rows[entry] for entry in node.inputs if entry in rows}
    for weight in set(rows.values()):
        if sum(other is weight for _, other in pairs) > 1:
            refused.add(weight)
    while more := {each for pair in pairs if refused & set(pair) for each in pair} - refused:
        refused |= more
    by_matrix: dict[str, list[str]] = {}
    for matrix, weight in pairs:
        if matrix not in refused:
            by_matrix.setdefault(matrix.name, []).append(weight.name)
    return {name: sorted(each) for name, each in by_matrix.items()}


def _is_by_row(node: Node) -> bool:
    op = node.op
    if not isinstance(op, Op) or op.storage is None or not op.differentiable or op.is_loss:
        return False
    storage = op.storage
    if not (storage.on_stored or storage.rows_alone):
        return False
    return storage.output(["row_sparse"], op.keywords(node.statics, node.scalars)) == "row_sparse"
