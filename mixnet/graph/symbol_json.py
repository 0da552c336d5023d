"""MXNet's symbol files: reads and writes graphs as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mixnet.attribute import HIDDEN, hidden
from mixnet.base import FileFormatError, MXNetError
from mixnet.graph.draws import drawing, note_copies
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.graph.subgraph import SubGraph
from mixnet.ops.operator import Operator
from mixnet.ops.registry import find
from mixnet.util import is_np_shape

_DRAWS = "mixnet_draws"  # nodes in the order in which they draw
_SCALARS = "mixnet_scalars"  # a body of a loop for elements without axes
VERSION = 10901  # MXNet 1.9.1, whose file format this is
_INPUTS_STATED = 900  # older files may leave out inputs that are variables
_WHOLE_BY_DEFAULT = 904  # up to this version, axis=-1 of argmax meant all axes

# Operators of MXNet with hidden outputs, masks or workspaces, which files count.
# fmt: off
_MOST_OUTPUTS = {
    "BilinearSampler": 2, "CTCLoss": 2, "Dropout": 2, "GridGenerator": 2, "L2Normalization": 2,
    "LRN": 2, "LeakyReLU": 2, "Pooling": 2, "ROIPooling": 2, "_contrib_MultiProposal": 2,
    "_contrib_Proposal": 2, "_contrib_box_nms": 2, "_npi_exponential": 2, "_npi_gumbel": 2,
    "_npi_logistic": 2, "_npi_normal": 2, "_npi_normal_n": 2, "_npi_pareto": 2,
    "_npi_rayleigh": 2, "_npi_std": 2, "_npi_var": 2, "_npi_weibull": 2, "sort": 2, "topk": 2,
    "Correlation": 3, "InstanceNorm": 3, "SpatialTransformer": 3, "_linalg_det": 3,
    "_contrib_BatchNormWithReLU": 4, "_linalg_slogdet": 4, "_npi_norm": 4,
}
# fmt: on
# MXNet has one operator for both faces; a single determinant has shape () under NumPy shapes, else (1,).
_UNDER_NUMPY_SHAPES = {"_linalg_det": "_npi_det", "_linalg_slogdet": "_npi_slogdet"}
_NAMES_IN_FILES = {name: in_file for in_file, name in _UNDER_NUMPY_SHAPES.items()}
_CHANNELS_FIRST = (None, "NCW", "NCHW", "NCDHW")
_WHERE_MORE: dict[str, Callable[[dict[str, Any]], bool]] = {
    "LeakyReLU": lambda attributes: attributes["act_type"] == "rrelu",
    "Pooling": lambda attributes: (
        attributes["pool_type"] == "max" and attributes["layout"] in _CHANNELS_FIRST
    ),
    "topk": lambda attributes: attributes["ret_typ"] == "value",
}


def to_json(graph: Graph) -> str:
    """The text of a symbol file."""
    facts = {"is_np_shape": ["int", 1]} if is_np_shape() else {}
    facts.update(_order_of_draws(graph))
    content = {**_rows(graph), "attrs": {**facts, "mxnet_version": ["int", VERSION]}}
    return _text(content)


_LONGEST_LINE = 10  # the most items of a list on one line


def _text(value: object, depth: int = 0) -> str:
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
            "op": "null" if node.op is None else _name_in_file(node.op),
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
            row["subgraphs"] = [_body_rows(body) for body in bodies]
        nodes.append(row)
        pointers.append(pointers[-1] + _outputs(node))
    return {
        "nodes": nodes,
        "arg_nodes": [number[node] for node in graph.nodes if node.is_variable],
        "node_row_ptr": pointers,
        "heads": [[number[e.node], e.index, 0] for e in graph.heads],
    }


def _body_rows(body: SubGraph) -> dict[str, Any]:
    rows = _rows(body.graph)
    return {**rows, "attrs": {_SCALARS: ["int", 1]}} if body.has_scalars else rows


def _name_in_file(op: Operator) -> str:
    return _NAMES_IN_FILES.get(op.name, op.name)


def _outputs(node: Node) -> int:
    """The number of outputs of a node, as MXNet counts them."""
    if node.op is None:
        return 1
    if node.op.calls_python:
        return node.op.num_visible(node.statics, len(node.inputs))
    count = node.op.num_outputs(node.statics, len(node.inputs))
    most = _MOST_OUTPUTS.get(_name_in_file(node.op), count)
    where = _WHERE_MORE.get(node.op.name)
    if where is not None and not where(node.op.keywords(node.statics)):
        return count
    return max(count, most)


def _order_of_draws(graph: Graph) -> dict[str, Any]:
    """The order in which operators draw, if it is not the order of the nodes."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    called = [number[node] for node in drawing(graph.nodes)]
    return {} if called == sorted(called) else {_DRAWS: ["list_int", called]}


def _subgraphs(node: Node) -> tuple[SubGraph, ...]:
    if node.op is None or "subgraphs" not in node.op.attributes:
        return ()
    subgraphs: tuple[SubGraph, ...] = node.op.keywords(node.statics)["subgraphs"]
    return subgraphs


def versions(node: Node) -> list[int]:
    """The version of each input in the file: 1 for an input that the operator writes, otherwise 0."""
    if node.op is None or not node.op.states:
        return [0] * len(node.inputs)
    written = node.op.written(node.statics, len(node.inputs))
    return [int(place in written) for place in range(len(node.inputs))]


def parse(text: str, name: str, kind: str) -> Any:
    """Parse JSON text.

    Args:
        text: the text.
        name: the name of the file, for messages.
        kind: the expected kind of file, for messages.

    Raises:
        FileFormatError: it is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{name} is not a complete {kind[2:]}: {error.msg} at line {error.lineno}, column "
            f"{error.colno}. Save it again."
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:  # numbers of thousands of digits
        raise FileFormatError(f"{name} is not {kind}: {error}.") from None


def from_json(text: str, name: str = "the text") -> Graph:
    """The graph of a symbol file, of this version or an older one.

    Raises:
        FileFormatError: it is truncated, corrupted, or not a symbol file; names the node.
        MXNetError: an operator or one of its attributes is unknown; names the node.
    """
    data = parse(text, name, "a symbol file")
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise FileFormatError(f"{name} is JSON, but not a symbol file: it has no list 'nodes'.")
    try:
        return _Reader(name).graph(data)
    except RecursionError:
        raise FileFormatError(
            f"{name} is corrupted: bodies of loops are nested too deep."
        ) from None


class _Reader:
    """Reads a graph and its subgraphs; errors name the position in the text.

    Args:
        name: of the file.
    """

    def __init__(self, name: str):
        self.name = name
        self.place = ""
        self.is_older = False
        self.written_by = VERSION

    def wrong(self, problem: str) -> FileFormatError:
        """The error for invalid content."""
        return FileFormatError(
            f"{self.name} is corrupted: {self.place}: {problem}. Save the symbol again with Symbol.save."
        )

    def field(
        self, row: object, key: str, kind: type, kind_name: str, default: object = None
    ) -> Any:
        """An item of a JSON object, checked to be of a kind."""
        if not isinstance(row, dict):
            raise self.wrong(f"{row!r:.60} is not a JSON object")
        value = row.get(key, default)
        if not isinstance(value, kind):
            raise self.wrong(f"{key!r} is not {kind_name}, but {value!r:.60}")
        return value

    def graph(self, data: object) -> Graph:
        """The graph of a JSON object with nodes and heads."""
        self.written_by = self.version(data)
        self.is_older = self.written_by < VERSION
        return self._graph_and_nodes(data)[0]

    def _graph_and_nodes(self, data: object) -> tuple[Graph, list[Node]]:
        before = self.place
        nodes: list[Node] = []
        for row in self.field(data, "nodes", list, "a list"):
            self.place = f"{before}node {len(nodes)}"
            nodes.append(self.node(row, nodes))
        self.place = f"{before}the heads"
        heads = tuple(self.entry(each, nodes) for each in self.field(data, "heads", list, "a list"))
        if not heads:
            raise self.wrong("there are none")
        self.place = f"{before}the order of draws"
        for place, number in enumerate(self.draws(data)):
            nodes[self.number(number, len(nodes))].order = place
        note_copies(nodes)
        self.place = before
        return Graph(heads), nodes

    def version(self, data: object) -> int:
        """The version of MXNet that wrote the file; 0 where the file does not state it."""
        attrs = self.field(data, "attrs", dict, "a JSON object", {})
        match attrs.get("mxnet_version"):
            case [_, int() as version]:
                return version
        return 0

    def draws(self, data: object) -> list[Any]:
        """The numbers of nodes in the order in which they draw; empty if that is the order of the nodes."""
        attrs = self.field(data, "attrs", dict, "a JSON object", {})
        stated = self.field(attrs, _DRAWS, list, "a list", [None, []])
        if len(stated) != 2 or not isinstance(stated[1], list):
            raise self.wrong(f"it is ['list_int', [numbers of nodes]], not {stated!r:.60}")
        return stated[1]

    def body(self, data: object) -> SubGraph:
        """The body of a loop."""
        before = self.place
        self.place = f"{before}, "
        graph, nodes = self._graph_and_nodes(data)
        self.place = f"{before}, 'arg_nodes'"
        # Loop attributes refer to the positions of inputs in the file.
        places = self.field(data, "arg_nodes", list, "a list")
        inputs = tuple(nodes[self.number(each, len(nodes))] for each in places)
        if any(not node.is_variable for node in inputs) or len(set(inputs)) < len(inputs):
            raise self.wrong("they are not distinct variables")
        if not set(graph.inputs) <= set(inputs):
            raise self.wrong("variables are missing")
        self.place = before
        attrs = self.field(data, "attrs", dict, "a JSON object", {})
        return SubGraph(Graph(graph.heads, inputs), has_scalars=_SCALARS in attrs)

    def number(self, value: object, end: int) -> int:
        """An integer from 0 to ``end`` - 1."""
        if type(value) is not int or not 0 <= value < end:
            raise self.wrong(f"{value!r:.60} is not a number from 0 to {end - 1}")
        return value

    def entry(self, value: object, nodes: list[Node]) -> Entry:
        """One output of a node that was read before."""
        if not isinstance(value, list) or not 2 <= len(value) <= 3:
            raise self.wrong(f"an entry is [node, output, version], not {value!r:.60}")
        node = nodes[self.number(value[0], len(nodes))]
        outputs = 1
        if node.op is not None:
            inputs = len(node.inputs)
            outputs = node.op.num_outputs(node.statics, inputs)
            outputs += len(node.op.written(node.statics, inputs)) if node.op.states else 0
        return Entry(node, self.number(value[1], outputs))

    def node(self, row: object, nodes: list[Node]) -> Node:
        """A variable or an operation."""
        op, name = (self.field(row, key, str, "text") for key in ("op", "name"))
        self.place += f" ({op} {name!r})" if len(name) < 200 else f" ({op})"
        attrs: dict[str, str] = {}
        # Older files have the operator's attributes in "param" and the user's in "attr".
        for key in ("param", "attr", "attrs"):
            attrs.update(self.field(row, key, dict, "a JSON object", {}))
        for key, value in attrs.items():
            if not isinstance(value, str):
                raise self.wrong(f"attribute {key!r} is not text, but {value!r:.60}")
        rows = self.field(row, "inputs", list, "a list")
        inputs = tuple(self.entry(each, nodes) for each in rows)
        if self.is_older:
            attrs = {hidden(key): value for key, value in attrs.items()}
        whole_by_default = self.written_by <= _WHOLE_BY_DEFAULT and op in ("argmax", "argmin")
        if whole_by_default and attrs.get("axis") == "-1":
            del attrs["axis"]
        if op == "null":
            if inputs:
                raise self.wrong("a variable has no inputs")
            return Node(None, name=name, attrs=attrs)
        bodies = self.field(row, "subgraphs", list, "a list", [])
        try:
            parts = tuple(self.body(each) for each in bodies)
            result = make_node(op, name, inputs, attrs, parts, self.written_by < _INPUTS_STATED)
            check_inputs(result)
            if self.is_older:
                _move_to_inputs(result)
            check_attributes(result)
            return result
        except MXNetError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # Each value is valid for its attribute, but the combination is not.
            raise self.wrong(f"{op} cannot have these attributes ({error})") from None


def _move_to_inputs(node: Node) -> None:
    """Give ``weight_lr_mult`` of an operation to the variable of its weight, as ``__lr_mult__``.

    Files from before version 1.0 store the attributes of parameters with the operation.
    """
    attrs = node.attrs
    names = node.op.argument_names(node.statics)
    for name, entry in zip(names, node.inputs, strict=False):
        for key in HIDDEN:
            if entry.node.is_variable and f"{name}_{key}" in attrs:
                entry.node.attrs[hidden(key)] = attrs.pop(f"{name}_{key}")


def check_attributes(node: Node) -> None:
    """Raise an error if an operation has attributes that are neither its operator's nor the user's.

    The user's begin and end with ``__``.

    Raises:
        MXNetError: it has other attributes; names the most similar valid one.
    """
    if node.op.name == "Custom":
        return
    known = {*node.op.attributes, *([node.op.num_args] if node.op.num_args else ["num_args"])}
    unknown = {
        key: value
        for key, value in node.attrs.items()
        if key not in known and not (key.startswith("__") and key.endswith("__"))
    }
    if unknown:
        try:
            node.op.bind(unknown)
        except MXNetError as error:
            raise type(error)(f"Node {node.name!r}: {error}") from None


def check_inputs(node: Node) -> None:
    """Raise an error unless an operation has as many inputs as its operator takes.

    Raises:
        FileFormatError: it has more or fewer.
    """
    op, count = node.op, len(node.inputs)
    if op.variadic:
        named = node.attrs.get(op.num_args or "")
        both = count + len(_subgraphs(node))  # as MXNet counts them
        if named is None or named.strip() == str(both):
            return
        # Some operators have a weight after the counted inputs.
        if count == len(op.argument_names(node.statics)):
            return
        expected = f"{named} inputs"
    else:
        names = op.argument_names(node.statics)
        least = sum(name not in op.optional_arrays for name in names)
        if min(least, len(op.arrays)) <= count <= max(len(names), len(op.arrays)):
            return
        expected = ", ".join(names) or "no inputs"
    raise FileFormatError(
        f"Node {node.name!r}: {op.name} takes {expected}; the file gives it {count} input(s)."
    )


def make_node(
    op: str,
    name: str,
    inputs: tuple[Entry, ...],
    attrs: dict[str, Any],
    bodies: tuple[SubGraph, ...] = (),
    completed: bool = False,
) -> Node:
    """A node from attributes as text; attributes that the operator does not have are the user's.

    States that an old file omits become variables; with ``completed``, so do all other missing inputs.
    """
    operator = find(_UNDER_NUMPY_SHAPES.get(op, op) if is_np_shape() else op)
    declared = {k: v for k, v in attrs.items() if k in operator.attributes}
    if bodies:
        declared["subgraphs"] = bodies
    if op == "Custom":  # other attributes are parameters of the user's operator
        more = {k: v for k, v in attrs.items() if k not in declared and not k.startswith("__")}
        declared["parameters"] = tuple(sorted(more.items()))
    try:
        statics, scalars = operator.bind(declared)
    except MXNetError as error:
        raise type(error)(f"Node {name!r}: {error}") from None
    if (operator.states or completed) and not operator.variadic:
        names = operator.argument_names(statics)
        for each in names[len(inputs) :]:
            if completed or each in operator.states:
                initial = operator.initializers.get(each)
                attributes = {**attrs, "__init__": initial} if initial else None
                inputs = (*inputs, Entry(Node(None, name=f"{name}_{each}", attrs=attributes)))
    return Node(operator, statics, scalars, inputs, name, attrs)
