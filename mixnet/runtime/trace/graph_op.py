"""A whole graph as one operator: what a hybridized block or an executor records."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from mixnet.base import GradientError
from mixnet.context import Context
from mixnet.engine.bulk import bulk
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, topological
from mixnet.ops.generators.source import Demands
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.registry import find
from mixnet.ops.schema.stream import advanced
from mixnet.ops.tracing.traced import Known
from mixnet.passes.assign_keys import KEY_NAME, draws_of
from mixnet.passes.demands import demands_of
from mixnet.passes.differentiate import Rows, differentiate, read_by_rows
from mixnet.passes.facts import Facts
from mixnet.passes.inline import ADVANCE
from mixnet.passes.recompute import check_mode, recompute
from mixnet.process.collector import collector_paused
from mixnet.process.locks import cached_property
from mixnet.process.source import are_lines_kept
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.devices.meeting import is_over_others
from mixnet.runtime.record.keys import next_draw
from mixnet.runtime.record.moving import move
from mixnet.runtime.record.record import record
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Value

_MOST_DEMANDS = 64  # sets of input shapes whose demands a graph remembers


class GraphOp(Operator):
    """An operator that computes a graph.

    Its outputs are the graph's: outputs, new values of states, then ``residuals``, which only the backward
    graph reads. So backward never recomputes the forward graph, even if the two run as separate programs.

    Args:
        graph: its inputs are the operator's. An input named as ``KEY_NAME`` gets the stream of
            random numbers; the input's value says how many a call takes.
        name: shown in graphs and timelines.
        residuals: number of residuals, which are the last heads.
        recompute: ``mirror`` or ``sublinear``: backward computes most of forward's results again, so
            that there are fewer residuals; see :mod:`mixnet.passes.recompute`.
    """

    differentiable = True

    def __init__(self, graph: Graph, name: str, residuals: int = 0, recompute: str | None = None):
        super().__init__()
        check_mode(recompute)
        self.recompute = recompute
        self.graph: Graph = graph
        self.name = name
        self.residuals = residuals
        operations = [node for node in graph.nodes if not node.is_variable]
        self.calls_python = any(node.op.calls_python for node in operations)
        self.runs_in_caller = all(node.op.runs_in_caller for node in operations)
        self.starts_gradients = any(node.op.starts_gradients for node in operations)
        keys = [node.op.shared(node.statics) for node in operations]
        self._shared_objects = tuple(dict.fromkeys(chain.from_iterable(keys)))
        self.most_devices = max((_devices(node) for node in operations), default=0)
        names = [node.name for node in graph.inputs]
        self.states = tuple(names[number] for number in graph.states)
        self.key = names.index(KEY_NAME) if KEY_NAME in names else None
        self.takes_key = self.key is not None
        self.arrays = tuple(names)
        self._fractions: tuple[float | None, ...] | None = None
        self.passed: frozenset[Node] = frozenset()  # nodes whose gradients backward computes
        self._forward: GraphOp = self
        self._wrt: tuple[int, ...] = ()
        self._residual_index: dict[Entry, int] = {}
        self._for_backward: dict[tuple[int, ...], GraphOp] = {}
        self._backward: dict[Any, tuple[GraphOp, list[int], list[Entry]]] = {}
        self._by_rows: set[Entry] | None = None  # inputs whose gradients can be row-sparse
        self._demands: dict[Any, Demands] = {}
        self._pairs: dict[Any, list[int]] = {}
        # Gradients that determined the residuals, until backward needs the same ones.
        self._derived: dict[Any, tuple[list[Entry], list[Node], list[Entry]]] = {}

    @property
    def is_over_devices(self) -> bool:
        """Whether operations exchange data over devices; they run one by one, not in one program."""
        return self.most_devices > 0 and is_over_others(self.most_devices)

    def num_outputs(self, statics: Statics = (), num_inputs: int = 0) -> int:
        """Outputs without states and residuals."""
        return self.graph.num_outputs

    def has_gradient(self, output: int) -> bool:
        """Whether the operation that gives the output has a gradient."""
        head = self.graph.heads[output]
        return head.node.is_variable or bool(head.node.op.has_gradient(head.index))

    def num_residuals(self, statics: Statics = (), num_inputs: int = 0) -> int:
        """The last heads, which only the backward graph reads."""
        return self.residuals

    def draws(self, statics: Statics = ()) -> int:
        """The total number of draws of the graph's operators."""
        return 0 if self.key is None else draws_of(self.graph.inputs[self.key])

    def demands(
        self, statics: Statics, known: tuple[Known, ...], scalars: Sequence[float]
    ) -> Demands:
        """The random numbers that the host draws for a run."""
        assert self.key is not None
        if known not in self._demands:
            if len(self._demands) >= _MOST_DEMANDS:
                self._demands.clear()
            self._demands[known] = demands_of(self.graph, known, self.key)
        return self._demands[known]

    def apply(
        self, statics: Statics, arrays: Sequence[Any], scalars: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """Heads of the graph; the last scalar is the number of its first draw if it takes a key."""
        if self.key is not None:
            arrays = list(arrays)
            arrays[self.key] = advanced(arrays[self.key], scalars[-1])
        return tuple(self._run(arrays, scalars))

    @cached_property
    def _run(self) -> Callable[[Sequence[Any], Any], list[Any]]:
        """The function of the graph, created on demand: most graphs are inlined in others, or interpreted."""
        return lower(self.graph)

    def output_specs(self, statics: Statics, inputs: Sequence[Known]) -> list[Known]:
        """Shape and dtype of every head, from operator to operator."""
        specs = Facts(inputs=inputs).specs(self.graph)
        return [specs[head] for head in self.graph.heads]

    def shared(self, statics: Statics = ()) -> tuple[Any, ...]:
        """Keys of the objects that operators of the graph share with other calls."""
        return self._shared_objects

    # ---- states -------------------------------------------------------------------------------

    def fraction_of_state(self, number: int) -> float | None:
        """Fraction of a state that remains when backward updates it; None if it is written immediately."""
        if self._fractions is None:
            heads = self.graph.heads[self.graph.num_outputs :]
            self._fractions = tuple(_remaining(head) for head in heads[: len(self.states)])
        return self._fractions[number]

    def is_passed(self, number: int) -> bool:
        """Whether backward passes the operation that updates a state."""
        return self.graph.heads[self.graph.num_outputs + number].node in self.passed

    # ---- backward -----------------------------------------------------------------------------

    def differentiated_in_prediction(self, statics: Statics) -> tuple[Operator, Statics]:
        """The operator of the graph in which every operation is what it is for a single call."""
        return self._in_prediction, statics

    @cached_property
    def _in_prediction(self) -> GraphOp:
        graph = self._forward.graph
        instead = {node: node.differentiated_in_prediction() for node in graph.nodes if node.op}
        if all(node is other for node, other in instead.items()):
            return self
        changed = graph.rebuild(lambda node, inputs: instead[node].with_inputs(inputs))
        return GraphOp(changed, self.name)

    def for_backward(self, wrt: tuple[int, ...]) -> GraphOp:
        """The same operator with the residuals that gradients of the inputs ``wrt`` need."""
        extended = self._for_backward.get(wrt)
        if extended is None:
            with collector_paused():
                extended = self._for_backward[wrt] = self._extended(wrt)
        return extended

    def _extended(self, wrt: tuple[int, ...]) -> GraphOp:
        count = self.graph.num_outputs
        passed: list[Node] = []
        headed = tuple(range(count))
        entries, starts = self._gradients(headed, wrt, passed)
        residuals = self._forward_entries(entries)
        heads = (*self.graph.heads, *residuals)
        # Residuals are results of these nodes, so that a walk from them would find no others.
        graph = Graph.of_nodes(self.graph.nodes, heads, self.graph.inputs, count, self.graph.states)
        extended = GraphOp(graph, self.name, len(residuals))
        extended._forward, extended._wrt = self, wrt
        extended._derived[headed, wrt] = entries, starts, residuals
        extended.passed = frozenset(passed)
        # Residuals come last, so outputs and states keep their numbers.
        first = count + len(self.graph.states)
        extended._residual_index = {entry: first + i for i, entry in enumerate(residuals)}
        return extended

    def _gradients(
        self, headed: tuple[int, ...], wrt: Sequence[int], passed: list[Node] | None = None
    ) -> tuple[list[Entry], list[Node]]:
        starts, variables, gradients = self._differentiated(headed, wrt, False, passed)
        # Backward has an output for each requested input, even if nothing depends on it.
        zeros = find("zeros_like")
        entries = [
            entry or Entry(Node(zeros, (), (), (variable,), "no_gradient"))
            for entry, variable in zip(gradients, variables, strict=True)
        ]
        return entries, starts

    def _differentiated(
        self,
        headed: tuple[int, ...],
        wrt: Sequence[int],
        by_rows: bool,
        passed: list[Node] | None = None,
    ) -> tuple[list[Node], list[Entry], list[Any]]:
        """Variables for gradients of outputs; the inputs, and their gradients, by rows where possible."""
        starts = [Node(None, name=f"gradient of output {i}") for i in headed]
        variables = [Entry(self.graph.inputs[i]) for i in wrt]
        recomputation = recompute(self.graph, self.recompute)
        sparse = variables if by_rows else ()
        gradients = differentiate(
            *self._outputs(headed, starts), variables, sparse, recomputation, passed
        )
        return starts, variables, gradients

    def _outputs(
        self, headed: tuple[int, ...], starts: Sequence[Node]
    ) -> tuple[Sequence[Entry], list[Entry | None]]:
        """All outputs, and their gradients. Below outputs without a gradient there may be losses."""
        gradients: list[Entry | None] = [None] * self.graph.num_outputs
        for i, start in zip(headed, starts, strict=True):
            gradients[i] = Entry(start)
        return self.graph.heads[: self.graph.num_outputs], gradients

    def _row_gradients(
        self, headed: tuple[int, ...], wrt: Sequence[int]
    ) -> tuple[list[Entry], list[Node], list[int]]:
        starts, _, gradients = self._differentiated(headed, wrt, True)
        parts = [each.parts if isinstance(each, Rows) else () for each in gradients]
        entries = [entry for each in parts for pair in each for entry in pair]
        return entries, starts, [len(each) for each in parts]

    def _forward_entries(self, entries: Sequence[Entry]) -> list[Entry]:
        """Results of forward operations that the backward nodes below ``entries`` read.

        They include the key of the run: a gradient with the same key is recognized as that of the same
        operation, and its masks are not drawn again.
        """
        forward = {node for node in self.graph.nodes if not node.is_variable}
        if self.key is not None:
            forward.add(self.graph.inputs[self.key])
        entries_read: dict[Entry, None] = {}
        for node in topological((entry.node for entry in entries), forward):
            entries_read.update((e, None) for e in node.inputs if e.node in forward)
        return list(entries_read)

    def names_rows(self, position: int) -> bool:
        """Whether the gradient of an input can be row-sparse: only suitable operators read it."""
        if position not in self._wrt:
            return False
        if self._by_rows is None:
            # An input that is also an output has a dense part in its gradient.
            entries = {Entry(self.graph.inputs[i]) for i in self._wrt} - set(self.graph.heads)
            self._by_rows = read_by_rows(self.graph.nodes, entries)
        return Entry(self.graph.inputs[position]) in self._by_rows

    def rows_node(
        self, node: Node, heads: Sequence[Entry | None], rows: Sequence[int]
    ) -> tuple[Node, list[int]]:
        """The node of the row gradients of inputs: pairs of outputs, and how many pairs for each.

        Raises:
            GradientError: it is needed for a gradient of a gradient.
        """
        headed = tuple(i for i, head in enumerate(heads) if head is not None)
        if any(i >= self.graph.num_outputs for i in headed):
            raise GradientError(
                f"{self.name}: a gradient of a gradient cannot be row-sparse; attach_grad() "
                f"without stype makes it dense."
            )
        op, inputs, residuals = self._backward_op(headed, tuple(rows), by_rows=True)
        return self._reading(op, inputs, residuals, node, heads), self._pairs[headed, tuple(rows)]

    def backward_node(
        self, node: Node, heads: Sequence[Entry | None], wrt: Sequence[int]
    ) -> Node | None:
        """The node of this graph's backward graph, reading residuals of ``node``."""
        if not set(wrt) <= set(self._wrt):
            return None  # recorded without residuals: differentiated as a function instead
        headed = tuple(i for i, head in enumerate(heads) if head is not None)
        if any(i >= self.graph.num_outputs for i in headed):
            return None  # second derivatives reach residuals
        op, inputs, residuals = self._backward_op(headed, tuple(wrt))
        return self._reading(op, inputs, residuals, node, heads)

    def _reading(
        self,
        op: GraphOp,
        inputs: Sequence[int],
        residuals: Sequence[Entry],
        node: Node,
        heads: Sequence[Entry | None],
    ) -> Node:
        """The node of a backward graph; it reads heads, the residuals of ``node``, and the node's inputs."""
        entries = [head for head in heads if head is not None]
        entries += [Entry(node, self._residual_index[entry]) for entry in residuals]
        entries += [node.inputs[i] for i in inputs]
        scalars = node.scalars if op.takes_key else ()
        return Node(op, (), scalars, tuple(entries), op.name)

    def _backward_op(
        self, headed: tuple[int, ...], wrt: tuple[int, ...], by_rows: bool = False
    ) -> tuple[GraphOp, list[int], list[Entry]]:
        key = (headed, wrt, by_rows)
        if key not in self._backward:
            derived = None if by_rows else self._derived.pop((headed, wrt), None)
            if by_rows:
                entries, starts, counts = self._forward._row_gradients(headed, wrt)
                self._pairs[headed, wrt] = counts
            elif derived is None:
                entries, starts = self._forward._gradients(headed, wrt)
            else:
                entries, starts, _ = derived
            residuals = self._forward._forward_entries(entries) if derived is None else derived[2]
            stand_ins = {
                entry: Node(None, name=f"residual {i}") for i, entry in enumerate(residuals)
            }
            heads = _cut(entries, stand_ins)
            nodes = topological(entry.node for entry in heads)
            reached = set(nodes)
            # Only inputs that backward itself reads: the others may be freed, or donated, earlier.
            used = [i for i, node in enumerate(self.graph.inputs) if node in reached]
            inputs = (*starts, *stand_ins.values(), *[self.graph.inputs[i] for i in used])
            graph = Graph.of_nodes(nodes, heads, inputs)
            self._backward[key] = GraphOp(graph, f"{self.name}_backward"), used, residuals
        return self._backward[key]

    def __repr__(self) -> str:
        return f"<graph {self.name!r} of {len(self.graph.nodes)} nodes>"


def _cut(entries: Sequence[Entry], stand_ins: dict[Entry, Node]) -> list[Entry]:
    """``entries`` over the graph in which variables replace some of its entries."""
    replaced: dict[Node, Node] = {}

    def moved(entry: Entry) -> Entry:
        if entry in stand_ins:
            return Entry(stand_ins[entry])
        return Entry(replaced.get(entry.node, entry.node), entry.index)

    forward = {entry.node for entry in stand_ins}
    for node in topological((entry.node for entry in entries), forward):
        if not node.is_variable:
            replaced[node] = node.replaced(tuple(moved(entry) for entry in node.inputs))
    return [moved(entry) for entry in entries]


def _remaining(entry: Entry) -> float | None:
    """Fraction of a state in its new value, over all operations that update it in sequence."""
    share = 1.0
    while not entry.node.is_variable:
        node = entry.node
        factor = node.op.fraction_kept(node.statics)
        if factor is None:
            return None
        # Operations in sequence: what remains of the first is reduced by the second.
        share *= factor
        written = node.op.changed(node.statics, len(node.inputs))
        place = next((p for p, index in written.items() if index == entry.index), None)
        if place is None:
            return None
        entry = node.inputs[place]
    return share


def _devices(node: Node) -> int:
    """The number of devices of an operation over devices; 0: it is not one."""
    if isinstance(node.op, GraphOp):
        return node.op.most_devices
    parties = node.op.parties(node.statics)
    return 0 if parties is None else int(parties[1])


class ByOperator:
    """Whether graphs run operator by operator, which shows each operator's own time."""

    on = False


by_operator = ByOperator()


def call_graph(
    op: GraphOp,
    values: Sequence[Value],
    context: Context,
    draw: tuple[Value, float] | None = None,
) -> tuple[list[Value], list[Value]]:
    """Record a graph as one operation; returns its outputs and the new values of its states.

    Args:
        op: the graph.
        values: one for each input except the key.
        context: to run on.
        draw: the stream and the index of the first draw, to repeat the draws of another call; by default
            the next.
    """
    inputs = tuple(values)
    scalars: tuple[float, ...] = ()
    if op.key is not None:
        key, first = draw or draw_for(op, values, context)
        inputs = (*inputs[: op.key], key, *inputs[op.key :])
        scalars = (first,)
    count = op.graph.num_outputs
    if by_operator.on and state.trace is None:
        with bulk(1):
            outputs = _record_operators(op, inputs, scalars, context)
        return outputs[:count], outputs[count:]
    if op.is_over_devices and state.trace is None and state.isolation is None:
        outputs = _record_operators(op, inputs, scalars, context)
        return outputs[:count], outputs[count:]
    if state.recording and state.trace is None:
        wrt = []
        variables = state.variables or ()
        for i, value in enumerate(inputs):
            if value.node is not None or value in variables:
                wrt.append(i)
        if wrt:
            op = op.for_backward(tuple(wrt))
    if len(op.graph.nodes) >= LARGE:
        _push_makers(inputs)
    outputs = record(op, (), scalars, inputs, None if inputs else context)
    return outputs[:count], outputs[count : count + len(op.states)]


LARGE = 100
"""The number of nodes from which a graph takes long to compile."""
MAKERS = 8
"""The most pending operations that may have made the inputs of a graph."""


def _push_makers(inputs: Sequence[Value]) -> None:
    """Push the few pending operations that made an input, as by drawing it.

    Otherwise they would be compiled as part of the graph's program, and the next call, with inputs made in
    another way, would compile it again.
    """
    for value in inputs:
        segment = value.segment
        if segment is None or value.node is not None or segment.finished:
            continue
        entries = segment.entries
        if len(entries) <= MAKERS and all(entry[0][0].op.graph is None for entry in entries):
            segment.finish("before a large graph", wait=False)
        return


def draw_for(op: GraphOp, values: Sequence[Value], context: Context) -> tuple[Value, float]:
    """The stream and the index of the first draw of a call.

    Args:
        op: the graph.
        values: one for each input except the key.
        context: to run on.
    """
    known = tuple((each.spec.shape, each.spec.dtype) for each in values)
    return next_draw(context, op.draws(), lambda: op.demands((), known, ()))


def _record_operators(
    op: GraphOp, inputs: Sequence[Value], scalars: tuple[float, ...], context: Context
) -> list[Value]:
    """Record the operations of a graph as if they were called one after another."""
    graph = op.graph
    results: dict[Node, Sequence[Value]] = {
        node: (value,) for node, value in zip(graph.inputs, inputs, strict=True)
    }
    if op.key is not None:
        results[graph.inputs[op.key]] = record(ADVANCE, (), scalars[-1:], (inputs[op.key],))
    for node in graph.nodes:
        if node.is_variable:
            continue
        values = tuple([results[entry.node][entry.index] for entry in node.inputs])
        if isinstance(node.op, GraphOp):
            results[node] = _record_operators(node.op, values, node.scalars, context)
        else:
            where = None if values else context
            results[node] = record(node.op, node.statics, node.scalars, values, where)
    # Every output is a separate value, as in a program.
    identities = {id(value) for value in inputs}
    outputs = []
    for entry in graph.heads:
        value = results[entry.node][entry.index]
        if id(value) in identities:
            (value,) = record(find("_copy"), (), (), (value,))
        identities.add(id(value))
        outputs.append(value)
    return outputs


def move_states(
    op: GraphOp, handles: Sequence[Any], before: Sequence[Value], after: Sequence[Value]
) -> None:
    """Update the states after a call of a graph, now or in backward.

    Args:
        op: the graph.
        handles: the arrays that are its states, in order.
        before: their values at the call.
        after: the results of ``call_graph``.
    """
    for number, (handle, old, new) in enumerate(zip(handles, before, after, strict=True)):
        share = op.fraction_of_state(number)
        taped = None if new.node is None else new.node.op
        if share is not None and isinstance(taped, GraphOp) and not taped.is_passed(number):
            new.node = None  # nothing before it is trained, so its state is updated at once, without backward
        move(handle, old, new, share)


_shared: weakref.WeakValueDictionary[Any, GraphOp] = weakref.WeakValueDictionary()


def graph_op(graph: Graph, name: str, recompute: str | None = None) -> GraphOp:
    """The operator of a graph: shared by all equivalent graphs, so that they are one program.

    Binding a symbol in a loop, or hybridizing again, would otherwise recompile. Graphs are equivalent with
    equal operators, attributes, numbers, names and connections. Graphs that call Python are never shared,
    as their objects may have state; while source lines are recorded, none are shared.
    """
    key = None if are_lines_kept() else _key(graph, name, recompute)
    shared = None if key is None else _shared.get(key)
    if shared is None:
        shared = GraphOp(graph, name, recompute=recompute)
        if key is not None and not shared.calls_python:
            shared = _shared.setdefault(key, shared)
    return shared


def _key(graph: Graph, name: str, recompute: str | None) -> Any:
    """A key for the graph's content; None if its attributes cannot be compared."""
    number = {
        node: i
        for i, node in enumerate((*graph.inputs, *(n for n in graph.nodes if not n.is_variable)))
    }
    rows = []
    try:
        for node in number:
            inputs = tuple((number[entry.node], entry.index) for entry in node.inputs)
            # As text too, because 1, 1.0 and True are equal, and so are 0.0 and -0.0.
            description = repr((node.statics, node.scalars))
            row = (
                node.op,
                node.statics,
                description,
                inputs,
                node.name,
                tuple(sorted(node.attrs.items())),
            )
            hash(row)
            rows.append(row)
    except (TypeError, KeyError):
        return None
    heads = tuple((number[entry.node], entry.index) for entry in graph.heads)
    return tuple(rows), heads, graph.num_outputs, graph.states, name, recompute
