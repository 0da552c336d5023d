"""The programs that the runtime would compile for a block, a symbol or a function, without running it."""

from __future__ import annotations

import inspect
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from mixnet.autograd.scope import RecordingScope
from mixnet.autograd.tape import Mark
from mixnet.autograd.tape import backward as run_backward
from mixnet.base import AttributeTypeError, MXNetError, ShapeError
from mixnet.context import Context
from mixnet.gluon.block import Block, HybridBlock, SymbolBlock
from mixnet.gluon.block.compose import Composed, Composition
from mixnet.gluon.block.needs_arrays import needs_arrays
from mixnet.gluon.block.traced_block import takes_symbols
from mixnet.gluon.parameter import DeferredInitializationError
from mixnet.gluon.trace import Traced, flatten
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry
from mixnet.graph.signature import structure_hash
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse import zeros as sparse_zeros
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.passes import pipeline
from mixnet.passes.facts import Facts
from mixnet.passes.infer_shape import infer, is_known
from mixnet.process.source import source_lines
from mixnet.runtime.trace.graph_op import GraphOp, call_graph
from mixnet.runtime.trace.trace_key import TraceKey
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value, from_host
from mixnet.stages.isolate import Recorded, isolated
from mixnet.symbol.executable import executable_graph
from mixnet.symbol.symbol import Symbol
from mixnet.units import how_many


@dataclass
class Step:
    """A graph after a pass.

    Args:
        purpose: the list of passes that it belongs to: ``graph`` or ``segment``.
        name: the pass; ``recorded`` for the graph that a list starts from.
        graph: the graph.
        seconds: what the pass took.
    """

    purpose: str
    name: str
    graph: Graph
    seconds: float


@dataclass
class Recording:
    """One program to be.

    Args:
        name: shown.
        steps: the graphs, from what was recorded to what is lowered.
        inputs: specs of the inputs of the first list's graphs, if they are others.
        recorded: the segment.
        names: names of leaves by the id of their values.
        seconds: what recording took.
        forward: the graph of the forward pass alone, None where it cannot be separated.
        backward: the graph of the gradients alone.
    """

    name: str
    steps: list[Step]
    inputs: list[Spec] | None
    recorded: Recorded
    names: dict[int, str]
    seconds: float
    forward: GraphOp | None = None
    backward: GraphOp | None = None


@dataclass
class Target:
    """The recording of a target: programs, the key of its trace, whether it is new."""

    kind: str
    name: str
    training: bool
    context: Context
    programs: list[Recording]
    key: TraceKey
    known: bool
    last: TraceKey | None
    notes: list[str] = field(default_factory=list)


# ---- a graph as one operator ---------------------------------------------------------------------


def _record(
    op: GraphOp,
    values: Sequence[Value],
    marks: Sequence[Mark | None],
    context: Context,
    training: bool,
) -> tuple[Recorded, dict[int, str]]:
    """The segment of one call of a graph, and of its gradients where there are marks.

    Returns:
        The segment, and the names of its leaves by their ids.
    """
    inputs = [node.name for i, node in enumerate(op.graph.inputs) if i != op.key]
    with isolated() as isolation:
        leaves = []
        for value, mark in zip(values, marks, strict=True):
            if mark is None or mark.request == "null":
                value = value.alias() if value.node is not None else value
            else:
                value = value.alias()
                Mark(_private(mark.gradient), mark.request).on(value)
            leaves.append(value)
        names = {id(value): name for value, name in zip(leaves, inputs, strict=True)}
        taped = any(mark is not None for mark in marks)
        with RecordingScope(taped, training):
            outputs, states = call_graph(op, leaves, context)
        heads = [NDArray._wrap(value) for value in outputs]
        gradients = [value.node.statics.gradient for value in leaves if value.node is not None]
        if taped:
            reached = [head for head in heads if head._read().node is not None]
            if reached:
                run_backward(reached)
        programs = isolation.programs()
        del heads, gradients, states
    if len(programs) > 1:
        cuts = {each.reason for each in programs} - {"another segment", "end"}
        cause = f"{' and '.join(sorted(cuts))} in between needs their values"
        if any(mark is not None and mark.gradient.stype != "default" for mark in marks):
            cause = "row-sparse gradients read their rows"
        raise MXNetError(
            f"{op.name} and its gradients are {len(programs)} programs, because {cause}. "
            "Pass a function that does the same, such as a training step."
        )
    (recorded,) = programs
    for leaf in recorded.leaves:
        names.setdefault(id(leaf), "random key" if leaf.spec.dtype == np.uint32 else "constant")
    return recorded, names


def _private(gradient: Any) -> Any:
    """An array in place of a gradient, with its content and its storage type."""
    if gradient.stype != "default":
        return sparse_zeros(gradient.stype, gradient.shape, gradient.context, gradient.dtype)
    return NDArray._wrap(gradient._read().alias())


def _segment_steps(recorded: Recorded, steps: list[Step], names: Mapping[int, str]) -> None:
    """Append the graphs of the passes over a segment; its leaves get names."""
    graph = recorded.graph
    for node, value in zip(graph.inputs, recorded.leaves, strict=True):
        node.name = names.get(id(value), node.name)
    _plain_names(graph)
    _parameter_names(graph)
    steps.append(Step("segment", "recorded", graph, 0.0))
    facts = Facts(
        recorded.context.device.platform,
        [(value.spec.shape, value.spec.dtype) for value in recorded.leaves],
    )

    def watch(name: str, after: Graph, seconds: float) -> None:
        steps.append(Step("segment", name, after, seconds))

    pipeline.run(graph, "segment", facts, watch=watch)


def _plain_names(graph: Graph) -> None:
    """Name operations as they are called, with a number only where there are several."""
    plain = {node: re.sub(r"(?<=\D)\d+$", "", node.name) for node in graph.nodes if node.op}
    for node in plain:
        if isinstance(node.op, GraphOp):
            plain[node] = node.op.name  # the block's own, which ends in a number of its own
    several = Counter(plain.values())
    counts: Counter[str] = Counter()
    for node, name in plain.items():
        node.name = f"{name}{counts[name]}" if several[name] > 1 else name
        counts[name] += 1


def _parameter_names(graph: Graph) -> None:
    """Leaves that nothing has named are called as the block calls them that reads them."""
    for node in graph.nodes:
        if isinstance(node.op, GraphOp):
            for entry, variable in zip(node.inputs, node.op.graph.inputs, strict=True):
                if entry.node.is_variable and re.fullmatch(r"leaf\d+", entry.node.name):
                    entry.node.name = variable.name


def _of_graph(
    op: GraphOp,
    steps: list[Step],
    values: Sequence[Value],
    marks: Sequence[Mark | None],
    context: Context,
    training: bool,
    seconds: float,
) -> Recording:
    recorded, names = _record(op, values, marks, context, training)
    first = [value.spec for value in values]
    if op.key is not None:
        first.insert(op.key, Spec.of(*STREAM_SPEC, context))
    recording = Recording(op.name, steps, first, recorded, names, seconds)
    for node in recorded.graph.nodes:
        if isinstance(node.op, GraphOp):
            if recording.forward is None:
                recording.forward = node.op
            else:
                recording.backward = node.op
    _segment_steps(recorded, steps, names)
    return recording


# ---- blocks --------------------------------------------------------------------------------------


def forward_with(loss: Any, block: HybridBlock) -> Callable[..., Any]:
    """The block's forward; with a loss, its value for the outputs and the last argument, the label.

    Raises:
        AttributeTypeError: the loss cannot be called.
    """
    if loss is None:
        return block.forward
    check_loss(loss)
    return lambda *arguments: loss(block.forward(*arguments[:-1]), arguments[-1])


def check_loss(loss: object) -> None:
    """Refuse what cannot be called with a network's output and a label.

    Raises:
        AttributeTypeError: it is no function or block, such as a name, or the class of a block.
    """
    if isinstance(loss, type) or not callable(loss):
        raise AttributeTypeError(
            f"loss: expected a loss such as mx.gluon.loss.L2Loss(), got {loss!r:.80}."
        )


def label_hint(loss: object, count: int) -> str:
    """Advice for a call with too many inputs, the last of which may be a label; with a leading space."""
    if loss is not None or count < 2:
        return ""
    return " A label needs its loss: loss=mx.gluon.loss.SoftmaxCrossEntropyLoss()."


def of_block(
    block: HybridBlock, arrays: Sequence[Any], training: bool, loss: Any, boundary: FrameType
) -> Target:
    """The program of a call of a block, with its gradients when it trains."""
    leaves, structure = flatten(tuple(arrays))
    _check_arrays(block, leaves, arrays)
    complete(block, arrays[:-1] if loss is not None else arrays)

    forward = forward_with(loss, block)
    context = leaves[0].context
    specs = [leaf._spec for leaf in leaves]
    start = time.perf_counter()
    with source_lines(boundary):
        traced = _traced(block, forward, specs, structure, training, context, loss)
    seconds = time.perf_counter() - start
    steps = [Step("graph", "recorded", traced.graph, 0.0)]

    def watch(name: str, graph: Graph, seconds: float) -> None:
        steps.append(Step("graph", name, graph, seconds))

    op = GraphOp(pipeline.run(traced.graph, "graph", watch=watch), block.name)
    handles = [*leaves, *traced.parameter_handles(context)]
    values = [*[handle._read() for handle in handles], *traced.captured]
    marks = [_mark(handle) if training else None for handle in handles]
    marks += [None] * len(traced.captured)
    notes = []
    if training and all(mark is None or mark.request == "null" for mark in marks):
        notes.append("There are no gradients: no parameter and no input requests one.")
    if loss is None and not block._active:
        notes.append(
            "The block is not hybridized: its operations are recorded one by one. This is what "
            "runs after hybridize()."
        )
    program = _of_graph(op, steps, values, marks, context, training, seconds)
    key = TraceKey(
        traced.key.inputs,
        training,
        traced.key.names,
        traced.key.arguments,
        traced.key.parameters,
        structure_hash(traced.graph),
    )
    known = loss is None and block.is_traced(specs, structure, training)
    last = block._mx_last_key if loss is None else None
    return Target("block", block.name, training, context, [program], key, known, last, notes)


def _traced(
    block: HybridBlock,
    forward: Callable[..., Any],
    specs: Sequence[Spec],
    structure: object,
    training: bool,
    context: Context,
    loss: object,
) -> Traced | Composed:
    """The graph of a block as its first hybridized call makes it: composed of symbols, with the
    same names, where all parts take symbols.
    """
    try:
        composed = None
        if all(takes_symbols(each) for each in block._mx_walk()):
            composed = _composed(block, forward, specs, structure, training, context)
        return composed or Traced(forward, specs, structure, training, context)
    except TypeError as error:
        if not re.search(r"positional argument| is called with \(", str(error)):
            raise
        raise AttributeTypeError(
            f"stages: {block.name} does not take {how_many(len(specs), 'input')}: {str(error).rstrip('.')}. "
            f"Pass the arrays that you would call it with.{label_hint(loss, len(specs))}"
        ) from None


def _composed(
    block: HybridBlock,
    forward: Callable[..., Any],
    specs: Sequence[Spec],
    structure: Any,
    training: bool,
    context: Context,
) -> Composed | None:
    """The graph composed of symbols; None if a part, such as the loss, takes only arrays, or if it
    runs in parts.
    """
    try:
        composition = Composition(forward, structure, len(specs), block._mx_input_names(len(specs)))
    except Exception as error:
        if not needs_arrays(error):
            raise
        return None
    read = composition.symbol.list_inputs()
    parameters = {name: each for name, each in block.collect_params().items() if name in read}
    if len(parameters) < len(set(read) - set(composition.names)):
        return None  # a loss with parameters of its own
    composed = Composed(composition, parameters, specs, training, context)
    return None if composed.is_cut else composed


def _check_arrays(block: Block, leaves: Sequence[Any], arrays: Sequence[Any]) -> None:
    if not leaves:
        kinds = ", ".join(type(each).__name__ for each in arrays) or "nothing"
        raise AttributeTypeError(
            f"stages: {block.name} was given {kinds} where it takes NDArrays. Pass the arrays that "
            f"you would call it with, such as mx.nd.array(x)."
        )
    if isinstance(block, SymbolBlock) and len(leaves) < len(block._inputs):
        raise AttributeTypeError(
            f"stages: {block.name} takes {how_many(len(block._inputs), 'input')} "
            f"({', '.join(block._inputs)}), not {len(leaves)}."
        )


def complete(block: HybridBlock, arrays: Sequence[Any]) -> None:
    """Let shapes that wait for data be completed, as the first call would."""
    try:
        for each in block.collect_params().values():
            each._check()
    except DeferredInitializationError:
        with RecordingScope(False, False):
            block.forward(*arrays)


def _mark(handle: Any) -> Mark | None:
    link = handle._link
    return None if link is None else link.mark


# ---- symbols -------------------------------------------------------------------------------------


def inputs_by_name(caller: str, inputs: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of a symbol, given as keywords or as mappings.

    Args:
        caller: name of the function, for its errors.
        inputs: mappings from names to arrays or shapes.
        named: more of them.

    Raises:
        AttributeTypeError: an input has no name.
    """
    by_name = dict(named)
    for each in inputs:
        if not isinstance(each, Mapping):
            raise AttributeTypeError(
                f"{caller}: a symbol takes its inputs by name, such as data=(32, 10) or "
                f"{{'data': array}}, not a {type(each).__name__}."
            )
        by_name.update(each)
    return by_name


def of_symbol(
    symbol: Symbol, by_name: Mapping[str, Any], training: bool, context: Context
) -> Target:
    """The program of an executor of a symbol; arguments that are not given get gradients.

    Args:
        symbol: the symbol.
        by_name: arrays or shapes by name; the rest follows from them and is zeros.
        training: forward and backward, or forward alone.
        context: where it runs.
    """
    names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    for name in by_name:
        if name not in (*names, *states):
            raise AttributeTypeError(
                f"stages: the symbol has no input {name!r}; it has {', '.join(names)}."
            )
    arrays = {name: each for name, each in by_name.items() if isinstance(each, NDArray)}
    shapes = {n: each.shape if n in arrays else tuple(each) for n, each in by_name.items()}
    dtypes = {name: each._spec.dtype for name, each in arrays.items()}
    start = time.perf_counter()
    inferred = infer(symbol.graph, shapes, dtypes, np.dtype("float32"))
    variables = {node.name: Entry(node) for node in symbol.graph.nodes if node.is_variable}
    unknown = [n for n in (*names, *states) if not is_known(inferred.shapes.get(variables[n]))]
    if unknown:
        raise ShapeError(
            f"stages: the shapes of {', '.join(unknown)} cannot be inferred from "
            f"{', '.join(by_name) or 'nothing'}; give them by name, such as data=(32, 10)."
        )
    steps: list[Step] = []

    def watch(name: str, graph: Graph, seconds: float) -> None:
        steps.append(Step("graph", name, graph, seconds))

    op = GraphOp(executable_graph(symbol, training, watch=watch), symbol.name or "group")
    seconds = time.perf_counter() - start - sum(step.seconds for step in steps)
    values, marks = [], []
    for name in (*names, *states):
        if name in arrays:
            value = arrays[name]._read()
        else:
            entry = variables[name]
            dtype = inferred.dtypes.get(entry) or np.dtype("float32")
            value = from_host(np.zeros(inferred.shapes[entry], dtype), context)
        values.append(value)
        needs_gradient = training and name not in by_name and name in names
        marks.append(Mark(NDArray._wrap(value), "write") if needs_gradient else None)
    program = _of_graph(op, steps, values, marks, context, training, seconds)
    inputs = tuple(value.spec for value in values)
    hashed = structure_hash(symbol.graph)
    key = TraceKey(inputs, training, tuple(op.arrays[: len(values)]), structure=hashed)
    return Target("symbol", op.name, training, context, [program], key, False, None)


# ---- functions -----------------------------------------------------------------------------------


def of_function(
    function: Callable[..., Any],
    name: str,
    arrays: Sequence[Any],
    keywords: Mapping[str, Any],
    training: bool | None,
    boundary: FrameType,
    known_names: Mapping[int, str],
) -> Target:
    """The programs of one call of a function on arrays, one for each segment that it records.

    The call is made for real, but what it records does not run unless it reads a value, and the
    arrays that it writes hold afterwards what they held before.

    Raises:
        AttributeTypeError: it is a class, or records nothing.
    """
    if isinstance(function, type):
        raise AttributeTypeError(
            f"{function.__name__} is a class: pass a network of it, {function.__name__}(...)."
        )
    leaves, _ = flatten((tuple(arrays), dict(keywords)))
    start = time.perf_counter()
    with isolated() as isolation, source_lines(boundary), RecordingScope(None, training):
        trains = bool(state.training)
        result = function(*arrays, **keywords)
        seconds = time.perf_counter() - start
        recorded = isolation.programs()
        del result
    if not recorded:
        raise AttributeTypeError(
            f"{name} recorded no operation on NDArrays whose result is alive at the end. "
            f"Return its result, or write it into an array."
        )
    names = {**_reachable_names(function), **known_names}
    titles = _argument_names(function, arrays, keywords, len(leaves))
    for leaf, title in zip(leaves, titles, strict=True):
        if isinstance(leaf, NDArray) and not leaf._is_sparse:
            names[id(leaf._read())] = title
    programs = []
    for i, each in enumerate(recorded):
        steps: list[Step] = []
        _segment_steps(each, steps, names)
        title = name if len(recorded) == 1 else f"{name}, segment {i} (until {each.reason})"
        programs.append(Recording(title, steps, None, each, names, seconds))
        seconds = 0.0
    first = recorded[0]
    key = TraceKey(
        tuple(value.spec for value in first.leaves),
        trains,
        tuple(node.name for node in first.graph.inputs),
        structure="+".join(structure_hash(each.graph) for each in recorded),
    )
    known = all(each.known for each in recorded)
    return Target("function", name, trains, first.context, programs, key, known, None)


def function_of(
    block: Block, inputs: Sequence[Any], training: bool | None, loss: Any
) -> Callable[..., Any]:
    """What a call of a block records, as a function of its inputs: with its gradients when it trains,
    or where there is a loss, whose label is the last input.

    Shapes that wait for data are completed, so that their initialization is not recorded.
    """
    if loss is not None:
        check_loss(loss)
    parameters = block.collect_params().values()
    if any(each._deferred_init and not each._arrays for each in parameters):
        with RecordingScope(False, False):
            block(*(inputs if loss is None else inputs[:-1]))
    if loss is None and not training:
        return block

    def step(*arrays: Any) -> Any:
        with RecordingScope(True, True):
            result = block(*arrays) if loss is None else loss(block(*arrays[:-1]), arrays[-1])
        heads = [each for each in flatten(result)[0] if each._read().node is not None]
        if heads:
            run_backward(heads)
        return result

    return step


def parameter_names(block: Block) -> dict[int, str]:
    """Names of a block's parameters by the ids of their values now."""
    names = {}
    for each in block.collect_params().values():
        for data in each._arrays.values():
            if not data._is_sparse:
                names[id(data._read())] = each.name
    return names


def _reachable_names(function: Callable[..., Any]) -> dict[int, str]:
    """Names of the arrays, and of the parameters of the blocks, that a function's text names."""
    try:
        used = inspect.getclosurevars(function)
    except TypeError:
        return {}
    names: dict[int, str] = {}
    for name, each in {**used.globals, **used.nonlocals}.items():
        if isinstance(each, Block):
            names.update(parameter_names(each))
        elif isinstance(each, NDArray) and not each._is_sparse:
            names[id(each._read())] = name
    return names


def _argument_names(
    function: Callable[..., Any], arrays: Sequence[Any], keywords: Mapping[str, Any], count: int
) -> list[str]:
    """The function's own names of its arguments, where each is one array; else numbers."""
    try:
        bound = inspect.signature(function).bind(*arrays, **keywords).arguments
    except (TypeError, ValueError):
        bound = {}
    if len(bound) == count and all(isinstance(each, NDArray) for each in bound.values()):
        return list(bound)
    return [f"input {i}" for i in range(count)]
