"""What GraphView pictures, as rows: one for each node, whatever the target was."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from mixnet.base import AttributeTypeError, ShapeError
from mixnet.context import current_context
from mixnet.gluon.block import Block, HybridBlock
from mixnet.gluon.block.compose import Composition
from mixnet.gluon.trace import Traced, flatten
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes import pipeline
from mixnet.passes.assign_keys import KEY_NAME, KEY_SPEC, assign_keys
from mixnet.passes.complete_shapes import complete_shapes
from mixnet.passes.facts import Known
from mixnet.passes.infer_shape import Inference, evaluate, is_known
from mixnet.passes.place_devices import group_of
from mixnet.passes.training_graph import training_graph
from mixnet.source import source_lines
from mixnet.stages.graph_data import graph_data
from mixnet.stages.recording import of_function, parameter_names
from mixnet.symbol.executor import unplaced_graph
from mixnet.symbol.symbol import Symbol
from mixnet.widgets.graph_calls import Calls

Path = tuple[str, ...]
_SUFFIX = re.compile(r"(_backward|_gradient_sum|_rows|_no_gradient|_gradient)(_.*)?$")


@dataclass
class Pictured:
    """A graph as rows (see :func:`mixnet.stages.graph_data.graph_data`) with what else is known of them.

    Args:
        title: what it is a graph of.
        kind: ``symbol``, ``block``, ``pending``, ``function``, ``graph`` or ``difference``.
        rows: the nodes; ``path`` is the block that each stands in, ``device`` where it runs.
        heads: pairs of node and output.
        blocks: by path the class of a block, and what the names in it begin with.
        notes: what a reader should know.
        error: ``{"node": id or None, "text": ...}`` where shapes do not fit.
        data: names of variables that are inputs, whatever reads them.
        graph: the graph itself, for what is measured later.
        inputs: shape and dtype of each of its inputs, None where they are not known.
    """

    title: str
    kind: str
    rows: list[dict[str, Any]]
    heads: list[list[int]]
    blocks: dict[Path, tuple[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    error: dict[str, Any] | None = None
    data: frozenset[str] = frozenset()
    graph: Graph | None = None
    inputs: list[Known] | None = None


def pictured(
    target: Any,
    inputs: Sequence[Any],
    train: bool,
    loss: Any,
    named: Mapping[str, Any],
    boundary: FrameType,
) -> Pictured:
    """The rows of any target; see :class:`mixnet.widgets.graph.GraphView`.

    Raises:
        AttributeTypeError: the target, or an input, is none that is taken.
    """
    if isinstance(target, Symbol):
        return _of_symbol(target, inputs, train, named)
    if isinstance(target, HybridBlock):
        if named:
            raise AttributeTypeError(
                f"GraphView: a block takes arrays by position, not {', '.join(named)} by name."
            )
        return _of_block(target, inputs, train, loss, boundary)
    if isinstance(target, NDArray):
        return _of_array(target)
    if isinstance(target, Graph):
        return _rows(target, None, _title(target), "graph")
    if isinstance(target, Mapping) and "graph" in target and "pass" in target:
        return of_step(target)
    if callable(target):
        return _of_call(target, inputs, train, named, boundary)
    raise AttributeTypeError(
        f"GraphView: {type(target).__name__} is no graph. Pass a Symbol with shapes by name, a HybridBlock "
        f"and its inputs, an NDArray that is pending, or a function of NDArrays and its inputs."
    )


def of_step(step: Mapping[str, Any]) -> Pictured:
    """The graph of one step of ``mx.stages``: an entry of ``Program.steps``."""
    data = step["graph"]
    rows = [{**row, "path": _path_in(row["name"]), "device": ""} for row in data["nodes"]]
    return Pictured(f"after {step['pass']}", "graph", rows, list(data["heads"]))


# ---- symbols -------------------------------------------------------------------------------------


def _of_symbol(
    symbol: Symbol, inputs: Sequence[Any], train: bool, named: Mapping[str, Any]
) -> Pictured:
    given: dict[str, Any] = dict(named)
    for each in inputs:
        if not isinstance(each, Mapping):
            raise AttributeTypeError(
                f"GraphView: the inputs of a symbol come by name, as data=(32, 10) or "
                f"{{'data': array}}, not as {type(each).__name__}."
            )
        given.update(each)
    known = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    for name in given:
        if name not in known:
            raise AttributeTypeError(
                f"GraphView: the symbol has no input {name!r}; it has {', '.join(known)}."
            )
    shapes = {n: tuple(getattr(each, "shape", each)) for n, each in given.items()}
    dtypes = {n: np.dtype(each.dtype) for n, each in given.items() if hasattr(each, "dtype")}
    asked = [n for n in symbol.list_arguments() if n not in given and not n.endswith("label")]
    made = _composed(symbol, shapes, dtypes, train, asked, symbol.name or "group", "symbol")
    made.data = frozenset(name for name in known if name in given or name.endswith("label"))
    return made


class _Watched(Inference):
    """Inference that knows which node it is at, so that an error has its place."""

    at: Node | None = None

    def _node(self, node: Node) -> None:
        self.at = node
        super()._node(node)


def _composed(
    symbol: Symbol,
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, np.dtype],
    train: bool,
    asked: Sequence[str],
    title: str,
    kind: str,
) -> Pictured:
    """Rows of a symbol: forward with what can be inferred, or forward and backward."""
    graph = symbol.graph
    found = _Watched(graph, shapes, dtypes, np.dtype("float32"))
    failed: ShapeError | None = None
    try:
        found.run()
    except ShapeError as error:
        failed = error
    except Exception as error:  # a rule that stumbles over such a shape
        failed = ShapeError(f"{type(error).__name__}: {error}")
    variables = {node.name: Entry(node) for node in graph.nodes if node.is_variable}
    complete = failed is None and all(is_known(found.shapes.get(e)) for e in variables.values())

    def known(name: str) -> Known:
        if name == KEY_NAME:
            return KEY_SPEC
        dtype = found.dtypes.get(variables[name]) or np.dtype("float32")
        return found.shapes[variables[name]], dtype

    if complete:
        all_shapes = {name: found.shapes[entry] for name, entry in variables.items()}
        symbol = Symbol(complete_shapes(graph, all_shapes).heads)
    if complete or (train and failed is None):
        run = assign_keys(unplaced_graph(symbol, train))
        inputs = [known(node.name) for node in run.inputs] if complete else None
    if train and failed is None:
        made = _with_gradients(run, inputs, asked, title, kind)
    elif complete:
        # Forward alone is shown as composed, without the states' new values as heads.
        specs = specs_of(symbol.graph, [known(node.name) for node in symbol.graph.inputs])
        made = _rows(symbol.graph, specs, title, kind)
        made.graph, made.inputs = run, inputs
    else:
        specs = {
            entry: (tuple(shape), found.dtypes.get(entry) or np.dtype("float32"))
            for entry, shape in found.shapes.items()
            if is_known(shape)
        }
        made = _rows(graph, specs, title, kind)
    if failed is not None:
        place = None if found.at is None else graph.names.get(found.at)
        at = next((row["id"] for row in made.rows if row["name"] == place), None)
        made.error = {"node": at, "text": str(failed).strip()}
    elif not complete and shapes:
        missing = [n for n, entry in variables.items() if not is_known(found.shapes.get(entry))]
        made.notes.append(f"Nothing says the shape of {', '.join(missing[:6])}.")
    return made


def _with_gradients(
    graph: Graph, inputs: list[Known] | None, asked: Sequence[str], title: str, kind: str
) -> Pictured:
    """Rows of a graph and of the gradients of some inputs."""
    whole = training_graph(graph, dict.fromkeys(asked, "write"))
    specs = None
    known = None
    if inputs is not None:
        forward = specs_of(graph, inputs)
        heads = [forward[head] for head in graph.heads[: graph.num_outputs]]
        known = [*inputs, *heads]
        specs = specs_of(whole.graph, known)
    made = _rows(whole.graph, specs, title, kind)
    made.graph, made.inputs = whole.graph, known
    for row in made.rows:
        if row["name"].startswith("gradient of output"):
            row["part"] = "backward"
    return made


def specs_of(graph: Graph, inputs: Sequence[Known]) -> dict[Entry, Known]:
    """Shape and dtype of every entry; of gradients by the rule that they are shaped as what they are of."""
    found: dict[Entry, Known] = dict(zip(map(Entry, graph.inputs), inputs, strict=True))
    for node in graph.nodes:
        if node.is_variable:
            continue
        given = tuple(found[entry] for entry in node.inputs)
        inner = getattr(node.op, "graph", None)
        rule = getattr(node.op, "output_specs", None)
        if inner is not None:
            known = specs_of(inner, given)
            outputs = [known[head] for head in inner.heads]
        elif rule is not None and node.op.name.startswith("_backward"):
            outputs = rule(node.statics, given)
        else:
            keyless = node.op.takes_key and given[-1:] != (KEY_SPEC,)
            given, scalars = (*given, KEY_SPEC) if keyless else given, len(node.scalars) + keyless
            outputs = evaluate(node.op, node.statics, given, scalars)
        found.update({Entry(node, i): spec for i, spec in enumerate(outputs)})
    return found


# ---- blocks --------------------------------------------------------------------------------------


def _of_block(
    block: HybridBlock, inputs: Sequence[Any], train: bool, loss: Any, boundary: FrameType
) -> Pictured:
    inputs = inputs or _last_inputs(block, loss)
    arrays = _as_structs(inputs)
    leaves, structure = flatten(arrays)
    calls = Calls(block, loss)

    def forward(*given: Any) -> Any:
        if loss is None:
            return block.forward(*given)
        return calls.outside(loss, calls.run(block, given[:-1]), given[-1])

    parameters = {each.name: each for each in block.collect_params().values()}
    for each in block._walk():
        parameters.update({one.name: one for one in each._reg_params.values()})
    asked = [name for name, each in parameters.items() if each.grad_req != "null"]
    notes = [] if not train or asked else ["There are no gradients: no parameter asks for one."]
    count = len(leaves)
    try:
        with calls, source_lines(boundary):
            composition = Composition(forward, structure, count)
            calls.note(composition.symbol)
    except Exception as reason:
        return _traced(block, inputs, train, forward, calls, boundary, reason, asked)
    names = dict(zip(composition.names, leaves, strict=True))
    shapes: dict[str, Any] = {n: tuple(leaf.shape) for n, leaf in names.items()}
    dtypes = {n: np.dtype(leaf.dtype) for n, leaf in names.items()}
    for name, each in parameters.items():
        dtypes.setdefault(name, np.dtype(each.dtype))
        if each._shape is not None:
            shapes.setdefault(name, each._shape)
    title = block.name if loss is None else f"{block.name} and loss"
    made = _composed(composition.symbol, shapes, dtypes, train, asked, title, "block")
    made.data = frozenset(composition.names)
    _place(made, calls, composition.symbol.graph, inputs)
    made.notes += notes
    return made


def _last_inputs(block: HybridBlock, loss: Any) -> Sequence[Any]:
    """The specs of a call that there was."""
    for specs, structure, _ in block._cache:
        if loss is None and structure[0] is tuple and all(isinstance(s, type) for s in structure[1]):  # fmt: skip
            return [_Struct(spec.shape, spec.dtype) for spec in specs]
    raise AttributeTypeError(
        f"GraphView: {block.name} was given no input. Pass the arrays that you would call it with, such as "
        f"mx.nd.zeros((1, 3, 224, 224)), or their shapes."
    )


class _Struct(NDArray):
    """Shape and dtype in the place of an array that need not exist."""

    def __init__(self, shape: Any, dtype: Any):
        self._struct = tuple(shape), np.dtype(dtype)

    shape = property(lambda self: self._struct[0])
    dtype = property(lambda self: self._struct[1])


def _as_structs(inputs: Sequence[Any]) -> tuple[Any, ...]:
    found = []
    for each in inputs:
        is_shape = isinstance(each, tuple) and all(isinstance(n, int) for n in each) and each
        found.append(_Struct(each, "float32") if is_shape else each)
    leaves, _ = flatten(tuple(found))
    if not leaves:
        given = ", ".join(type(each).__name__ for each in inputs) or "nothing"
        raise AttributeTypeError(
            f"GraphView: a block takes NDArrays, or shapes such as (1, 3, 224, 224), not {given}."
        )
    return tuple(found)


def _traced(
    block: HybridBlock,
    inputs: Sequence[Any],
    train: bool,
    forward: Callable[..., Any],
    calls: Calls,
    boundary: FrameType,
    reason: Exception,
    asked: Sequence[str],
) -> Pictured:
    """Rows of a block that takes arrays only: its forward runs on placeholders."""
    leaves, structure = flatten(tuple(inputs))
    if any(type(leaf) is _Struct for leaf in leaves) or not leaves:
        raise AttributeTypeError(
            f"GraphView: {block.name} needs arrays: it does not run on symbols ({reason})."
        ) from reason
    context = leaves[0].context
    specs = [leaf._spec for leaf in leaves]
    try:
        with calls, source_lines(boundary):
            traced = Traced(calls.noted(forward), specs, structure, train, context)
    except TypeError as error:
        raise AttributeTypeError(
            f"GraphView: {block.name} does not take these {len(leaves)} input(s): {error}."
        ) from error
    graph = assign_keys(traced.graph)
    known = [(spec.shape, spec.dtype) for spec in specs]
    known += [(h._spec.shape, h._spec.dtype) for h in traced.parameter_handles(context)]
    known += [(value.spec.shape, value.spec.dtype) for value in traced.captured]
    if len(known) < len(graph.inputs):
        known.append(KEY_SPEC)
    if train:
        made = _with_gradients(graph, known, asked, block.name, "block")
    else:
        made = _rows(graph, specs_of(graph, known), block.name, "block")
        made.graph, made.inputs = graph, known
    made.data = frozenset(traced.key.names)
    _place(made, calls, traced.graph, inputs)
    return made


def _place(made: Pictured, calls: Calls, graph: Graph, inputs: Sequence[Any]) -> None:
    """Give rows the blocks that were running when their nodes were made, and their device."""
    paths = {graph.names[node]: path for node, path in calls.of.items() if node in graph.names}
    lines = {graph.names[node]: getattr(node, "source", None) for node in graph.nodes}
    leaves, _ = flatten(tuple(inputs))
    device = str(leaves[0].context) if leaves and type(leaves[0]) is not _Struct else ""
    for row in made.rows:
        own = twin(row["name"])
        row["path"] = paths.get(row["name"], paths.get(own, ()))
        row["device"] = row["device"] or device
        source = lines.get(row["name"]) or lines.get(own)
        if row["source"] is None and source is not None:
            row["source"] = source.to_dict()
    made.blocks = calls.kinds


def twin(name: str) -> str:
    """The name of the forward node that a gradient belongs to."""
    return "/".join(_SUFFIX.sub("", part) for part in name.split("/"))


# ---- arrays and functions ------------------------------------------------------------------------


def _of_array(array: NDArray) -> Pictured:
    value = array._read()
    segment = value.segment
    if value.array is not None or segment is None or segment.finished:
        node = Node(None, name="array")
        spec = value.spec
        made = _rows(Graph((Entry(node),)), {Entry(node): (spec.shape, spec.dtype)}, "array", "pending")  # fmt: skip
        made.notes.append("Nothing is pending: the array is computed, or being computed.")
        made.rows[0]["device"] = str(spec.context)
        return made
    with segment.lock:
        graph = segment.graph((value.slot,))
        leaves = list(segment.leaves)
    for node, leaf in zip(graph.inputs, leaves, strict=True):
        node.name = node.name or ("constant" if leaf.array is not None else "pending elsewhere")
    known = [(leaf.spec.shape, leaf.spec.dtype) for leaf in leaves]
    made = _rows(graph, specs_of(graph, known), "what is pending", "pending")
    made.graph, made.inputs = graph, known
    for row in made.rows:
        row["device"] = str(segment.context)
    return made


def _of_call(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    train: bool,
    named: Mapping[str, Any],
    boundary: FrameType,
) -> Pictured:
    names = parameter_names(function) if isinstance(function, Block) else {}
    title = getattr(function, "__name__", None) or getattr(function, "name", type(function).__name__)  # fmt: skip
    for each in (*inputs, *named.values()):
        if isinstance(each, tuple) and each and all(isinstance(n, int) for n in each):
            raise AttributeTypeError(
                f"GraphView: a function runs on NDArrays, not on the shape {each}: pass mx.nd.zeros({each})."
            )
    found = of_function(function, title, inputs, named, train or None, boundary, names)
    parts = []
    for program in found.programs:
        graph = program.steps[0].graph
        if any(getattr(node.op, "graph", None) is not None for node in graph.nodes):
            graph = pipeline.inline(graph, pipeline.Facts())
        leaves = program.recorded.leaves
        known = [(leaf.spec.shape, leaf.spec.dtype) for leaf in leaves]
        made = _rows(graph, specs_of(graph, known), title, "function")
        made.graph, made.inputs = graph, known
        for row in made.rows:
            row["device"] = str(program.recorded.context)
        parts.append((made, program.recorded.reason))
    if len(parts) == 1:
        return parts[0][0]
    whole = Pictured(title, "function", [], [])
    for number, (made, reason) in enumerate(parts):
        first = len(whole.rows)
        for row in made.rows:
            row["id"] += first
            row["name"] = f"segment{number}/{row['name']}"
            row["inputs"] = [[i + first, k] for i, k in row["inputs"]]
            row["path"] = (f"segment {number} (until {reason})", *row["path"])
            whole.rows.append(row)
        whole.heads += [[i + first, k] for i, k in made.heads]
    whole.notes.append(
        f"A value is read in between: {len(parts)} programs run, one after the other."
    )
    return whole


# ---- rows ----------------------------------------------------------------------------------------


def _rows(graph: Graph, specs: dict[Entry, Known] | None, title: str, kind: str) -> Pictured:
    data = graph_data(graph, specs)
    nodes = graph.nodes
    paths = prefix_paths(data["nodes"]) if kind in ("symbol", "graph") else {}
    for row, node in zip(data["nodes"], nodes, strict=True):
        row["device"] = group_of(node) or ""
        row["path"] = paths.get(row["name"]) or _path_in(row["name"])
        if not row["attributes"] and node.attrs and node.op is not None and kind == "symbol":
            row["attributes"] = {k: v for k, v in node.attrs.items() if not k.startswith("__")}
    return Pictured(title, kind, data["nodes"], data["heads"])


def _path_in(name: str) -> Path:
    """The graphs that a name says a node was inlined from: ``("net",)`` of ``net/dense0``."""
    return tuple(_SUFFIX.sub("", part) for part in name.split("/")[:-1])


def prefix_paths(rows: Sequence[Mapping[str, Any]]) -> dict[str, Path]:
    """Blocks told from names: parts before an underscore that several operations share.

    ``stage1_unit1_conv1`` stands in ``unit1`` of ``stage1`` where others do. Names that the library has given,
    such as ``elemwise_add0``, say nothing.
    """
    parts: dict[str, list[str]] = {}
    count: dict[Path, int] = {}
    operations = [row for row in rows if row["op"] is not None and row["part"] == "forward"]
    for row in operations:
        plain = re.sub(r"\d+$", "", row["name"]).strip("_").lower()
        if plain == row["op"].strip("_").lower() or "/" in row["name"]:
            continue
        tokens = [t for t in row["name"].split("_")[:-1] if t]
        parts[row["name"]] = tokens
        for depth in range(1, len(tokens) + 1):
            path = tuple(tokens[:depth])
            count[path] = count.get(path, 0) + 1
    found: dict[str, Path] = {}
    for name, tokens in parts.items():
        path: list[str] = []
        waiting: list[str] = []
        above = len(operations)
        for depth in range(1, len(tokens) + 1):
            waiting.append(tokens[depth - 1])
            here = count[tuple(tokens[:depth])]
            if here < 2:
                break
            if here < above:  # a prefix that all share is no block of its own
                path.append("_".join(waiting))
                waiting, above = [], here
        found[name] = tuple(path)
    by_name = {row["id"]: row["name"] for row in rows}
    for row in rows:  # variables stand with who reads them first; gradients with their operation
        if row["op"] is None:
            continue
        own = found.get(row["name"]) or found.get(twin(row["name"])) or ()
        found.setdefault(row["name"], own)
        for place, (number, _) in enumerate(row["inputs"]):
            if place and rows[number]["op"] is None:
                found.setdefault(by_name[number], own)
    return found


def _title(graph: Graph) -> str:
    return f"graph of {sum(node.op is not None for node in graph.nodes)} operations"


def default_device() -> str:
    """Where a symbol would run."""
    return str(current_context())


def caller() -> FrameType:
    """The frame that the search for a user's line ends at."""
    return sys._getframe(1)
