"""MXNet's symbol files: JSON text of a graph, read and written."""

from __future__ import annotations

import json
from typing import Any

from mixnet.base import FileFormatError, MXNetError
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.graph.subgraph import SubGraph
from mixnet.ops.registry import find
from mixnet.util import is_np_shape

VERSION = 10901  # what the real library of the file format calls itself


def to_json(graph: Graph) -> str:
    """The text of a symbol file."""
    facts = {"is_np_shape": ["int", 1]} if is_np_shape() else {}
    whole = {**_rows(graph), "attrs": {**facts, "mxnet_version": ["int", VERSION]}}
    return _text(whole)


_LONGEST_LINE = 10  # items of a list that stand on one line


def _text(value: Any, depth: int = 0) -> str:
    """JSON with the line breaks of MXNet's writer, so that files compare equal as text."""
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_text(each, depth + 1)}" for key, each in value.items()]
        broken, (begin, end) = len(items) > 1, "{}"
    elif isinstance(value, list):
        items = [_text(each, depth + 1) for each in value]
        holds_objects = any(isinstance(each, dict) for each in value)
        broken, (begin, end) = holds_objects or len(items) > _LONGEST_LINE, "[]"
    else:
        return json.dumps(value)
    if not broken:
        return begin + ", ".join(items) + end
    inner = "  " * (depth + 1)
    lines = ", \n".join(inner + each for each in items)
    return f"{begin}\n{lines}\n{'  ' * depth}{end}"


def _rows(graph: Graph) -> dict[str, Any]:
    number = {node: i for i, node in enumerate(graph.nodes)}
    nodes, pointers = [], [0]
    for node in graph.nodes:
        row: dict[str, Any] = {
            "op": "null" if node.op is None else node.op.name,
            "name": node.name,
        }
        if node.attrs:
            row["attrs"] = {key: node.attrs[key] for key in sorted(node.attrs)}
        row["inputs"] = [
            [number[e.node], e.index, version]
            for e, version in zip(node.inputs, versions(node), strict=True)
        ]
        bodies = _subgraphs(node)
        if bodies:
            row["subgraphs"] = [_rows(body.graph) for body in bodies]
        nodes.append(row)
        outputs = 1 if node.op is None else node.op.num_outputs(node.statics, len(node.inputs))
        pointers.append(pointers[-1] + outputs)
    return {
        "nodes": nodes,
        "arg_nodes": [number[node] for node in graph.nodes if node.is_variable],
        "node_row_ptr": pointers,
        "heads": [[number[e.node], e.index, 0] for e in graph.heads],
    }


def _subgraphs(node: Node) -> tuple[SubGraph, ...]:
    if node.op is None or "subgraphs" not in getattr(node.op, "attributes", {}):
        return ()
    return node.op.keywords(node.statics)["subgraphs"]


def versions(node: Node) -> list[int]:
    """MXNet writes 1 behind an input that the operator writes, else 0."""
    if node.op is None or not node.op.states:
        return [0] * len(node.inputs)
    written = node.op.written(node.statics, len(node.inputs))
    return [int(place in written) for place in range(len(node.inputs))]


def from_json(text: str, name: str = "the text") -> Graph:
    """The graph of a symbol file, of this version or an older one.

    Raises:
        FileFormatError: it is truncated, corrupted, or no symbol file.
        MXNetError: an operator or an attribute is unknown; names the node.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{name} is no whole symbol file: {error.msg} at line {error.lineno}, column "
            f"{error.colno}. Save the symbol again with Symbol.save."
        ) from None
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise FileFormatError(f"{name} is JSON, but no symbol file: it has no list 'nodes'.")
    nodes: list[Node] = []
    try:
        return _graph(data, nodes)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise FileFormatError(
            f"{name} is corrupted: node {len(nodes)} or the heads are incomplete "
            f"({type(error).__name__}: {error}). Save the symbol again with Symbol.save."
        ) from None


def _graph(data: dict[str, Any], nodes: list[Node]) -> Graph:
    for row in data["nodes"]:
        nodes.append(_node(row, nodes))
    return Graph(tuple(Entry(nodes[head[0]], head[1]) for head in data["heads"]))


def _body(data: dict[str, Any]) -> SubGraph:
    nodes: list[Node] = []
    graph = _graph(data, nodes)
    # The places that the loop speaks of are those of the file.
    return SubGraph(Graph(graph.heads, tuple(nodes[i] for i in data["arg_nodes"])))


def _node(row: dict[str, Any], nodes: list[Node]) -> Node:
    # Older files keep the operator's attributes in "param" and the user's in "attr".
    attrs = {**row.get("param", {}), **row.get("attr", {}), **row.get("attrs", {})}
    inputs = tuple(Entry(nodes[i[0]], i[1]) for i in row["inputs"])
    if row["op"] == "null":
        return Node(None, name=row["name"], attrs=attrs)
    bodies = tuple(_body(each) for each in row.get("subgraphs", ()))
    return make_node(row["op"], row["name"], inputs, attrs, bodies)


def make_node(
    op: str,
    name: str,
    inputs: tuple[Entry, ...],
    attrs: dict[str, Any],
    bodies: tuple[SubGraph, ...] = (),
) -> Node:
    """A node from attributes as text; those the operator does not have are the user's.

    States that an old file leaves out become variables.
    """
    operator = find(op)
    own = {k: v for k, v in attrs.items() if k in operator.attributes}
    if bodies:
        own["subgraphs"] = bodies
    if op == "Custom":  # all that it does not name is for the user's operator
        more = {k: v for k, v in attrs.items() if k not in own and not k.startswith("__")}
        own["parameters"] = tuple(sorted(more.items()))
    try:
        statics, scalars = operator.bind(own)
    except MXNetError as error:
        raise type(error)(f"Node {name!r}: {error}") from None
    if operator.states and not operator.variadic:
        names = operator.argument_names(statics)
        for each in names[len(inputs) :]:
            if each in operator.states:
                inputs = (*inputs, Entry(Node(None, name=f"{name}_{each}")))
    return Node(operator, statics, scalars, inputs, name, attrs)
