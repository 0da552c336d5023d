"""Executor: a symbol bound to arrays, ready to run forward and backward."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mixnet import config
from mixnet.autograd.scope import RecordingScope
from mixnet.autograd.tape import Mark
from mixnet.autograd.tape import backward as run_backward
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    BindingError,
    ShapeError,
    SizeError,
    did_you_mean,
)
from mixnet.context import Context, as_context
from mixnet.dtype import as_dtype
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, topological
from mixnet.ndarray.create import zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import STORAGE
from mixnet.ndarray.sparse_array import zeros_of
from mixnet.ops.op import Op
from mixnet.passes import pipeline
from mixnet.passes.assign_keys import assign_keys
from mixnet.passes.complete_shapes import complete_shapes
from mixnet.passes.differentiate import differentiate
from mixnet.passes.eliminate_common import merge_common
from mixnet.passes.facts import Facts
from mixnet.passes.infer_shape import infer
from mixnet.passes.infer_storage import infer_gradient_storage, infer_storage
from mixnet.passes.place_devices import group_of, is_cut, place_devices
from mixnet.passes.recompute import default_mode
from mixnet.passes.set_training import in_mode, set_training
from mixnet.process.collector import collector_paused
from mixnet.runtime.trace.graph_op import GraphOp, call_graph, draw_for, graph_op, move_states
from mixnet.runtime.trace.placed import PlacedGraph
from mixnet.runtime.value.value import Value
from mixnet.symbol.custom import OwnOperators, calls_own_operators
from mixnet.symbol.symbol import Symbol, output_name

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


def executable_graph(
    symbol: Symbol,
    training: bool,
    facts: Facts | None = None,
    watch: pipeline.Watch | None = None,
) -> Graph:
    """The symbol's graph as it runs: modes set, keys assigned, states as further heads.

    Args:
        symbol: its arguments, then its auxiliary states become the inputs.
        training: mode of operators that behave otherwise in training.
        facts: what is known of those inputs.
        watch: called with the name of each change, the graph after it, and its seconds.
    """
    if watch is None:
        graph = pipeline.run(unplaced_graph(symbol, training), "graph", facts)
        return assign_keys(graph)
    watch("recorded", state_graph(symbol), 0.0)
    start = time.perf_counter()
    graph = unplaced_graph(symbol, training)
    watch("set_training", graph, time.perf_counter() - start)
    graph = pipeline.run(graph, "graph", facts, watch=watch)
    start = time.perf_counter()
    graph = assign_keys(graph)
    watch("assign_keys", graph, time.perf_counter() - start)
    return graph


def unplaced_graph(symbol: Symbol, training: bool) -> Graph:
    """The symbol's graph before any pass but its mode, with states as further heads."""
    return set_training(state_graph(symbol, training), training)


def state_graph(symbol: Symbol, training: bool | None = None) -> Graph:
    """The symbol's graph as composed, with the new values of states as further heads.

    Operators that write the same state do so one after the other.

    Args:
        symbol: what is composed.
        training: leave out states that stay as they are in this mode.
    """
    inputs = (*symbol._arguments(), *symbol._state_variables())
    latest: dict[Node, Entry] = {}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        if not node.op.states:
            return node if inputs == node.inputs else node.replaced(inputs)
        if training is None:
            written = node.op.written(node.statics, len(inputs))
        else:
            written = node.op.changed(in_mode(node, training), len(inputs))
        states = {place: node.inputs[place].node for place in written}
        now = [
            latest.get(states[place], entry) if place in states else entry
            for place, entry in enumerate(inputs)
        ]
        rebuilt = node if tuple(now) == node.inputs else node.replaced(tuple(now))
        for place, index in written.items():
            if states[place].is_variable:
                latest[states[place]] = Entry(rebuilt, index)
        return rebuilt

    graph = Graph(symbol._heads, inputs).rebuild(change)
    heads = (*graph.heads, *latest.values())
    replaced = tuple(inputs.index(variable) for variable in latest)
    return Graph(heads, inputs, len(symbol._heads), replaced)


class Bound(NamedTuple):
    """The arrays of an executor by name: arguments, gradients of some if any were given, auxiliary states."""

    arguments: Mapping[str, NDArray]
    gradients: Mapping[str, NDArray] | None
    states: Mapping[str, NDArray]


class Executor:
    """A bound symbol; create one with ``symbol.bind`` or ``symbol.simple_bind``.

    ``arg_dict``, ``grad_dict`` and ``aux_dict`` hold its arrays by name; ``outputs`` those of the
    last ``forward``.

    Args:
        handle: its arrays.
        symbol: what it computes.
        ctx: device.
        grad_req: ``write``, ``add`` or ``null`` by argument.
        group2ctx: device of each group of nodes, see ``bind``.
    """

    def __init__(
        self,
        handle: Bound,
        symbol: Symbol,
        ctx: Context,
        grad_req: Mapping[str, str],
        group2ctx: Mapping[str, Context] | None,
    ):
        self.handle = handle
        self._symbol = symbol
        self._groups = dict(group2ctx or {})
        self._placed: dict[bool, PlacedGraph] = {}
        self._ctx = ctx
        self._arg_dict = dict(handle.arguments)
        self._grad_dict = {name: (handle.gradients or {}).get(name) for name in handle.arguments}
        self._aux_dict = dict(handle.states)
        self._requests = dict(grad_req)
        self._recompute = default_mode()
        self._own_operators = OwnOperators()
        self._ops: dict[bool, GraphOp] = {}
        self._recorded: list[NDArray] = []
        self._outputs: list[NDArray] = []
        self._monitor: tuple[Callable[[str, NDArray], Any], bool] | None = None
        self._watched: list[Entry] = []
        self._shown: list[tuple[str, Entry]] = []
        self._gradient_op: tuple[GraphOp, list[Entry]] | None = None
        self._draw: tuple[Value, float] | None = None
        self._output_dict: dict[str, NDArray] = {}
        self._merges: bool = config.get("MXNET_ELIMINATE_COMMON_EXPR")
        arrays = {**self._arg_dict, **self._aux_dict}
        stypes = infer_storage(symbol.graph, {name: array.stype for name, array in arrays.items()})
        self._storage = [stypes.get(head, "default") for head in symbol.graph.heads]
        self._is_cut = bool(self._groups) or is_cut(symbol.graph)
        if self._groups:
            self.placed_graph(False)  # a group without a device is an error here
        if calls_own_operators(symbol.graph):
            specs = {name: array._spec for name, array in arrays.items()}
            self._own_operators.create(self._complete().graph, specs)

    # ---- arrays -------------------------------------------------------------------------------

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name."""
        return self._arg_dict

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradients by name of the argument, None where there is none."""
        return self._grad_dict

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """Auxiliary states by name."""
        return self._aux_dict

    @property
    def arg_arrays(self) -> list[NDArray]:
        """Arguments in the order of ``list_arguments()``."""
        return list(self._arg_dict.values())

    @property
    def grad_arrays(self) -> list[NDArray | None] | None:
        """Gradients in the same order, None where there is none; None if ``bind`` got no ``args_grad``."""
        if self.handle.gradients is None:
            return None
        return list(self._grad_dict.values())

    @property
    def aux_arrays(self) -> list[NDArray]:
        """Auxiliary states in the order of ``list_auxiliary_states()``."""
        return list(self._aux_dict.values())

    @property
    def outputs(self) -> list[NDArray]:
        """Outputs of the last ``forward``; zeros before the first."""
        if not self._outputs:
            known = {**self._arg_dict, **self._aux_dict}
            _, shapes, _ = self._symbol._shapes(**{n: a.shape for n, a in known.items()})
            if shapes is None and is_cut(self._symbol.graph):
                raise ShapeError(
                    "The shapes of the outputs depend on values: they are known after forward()."
                )
            arguments = {name: array.dtype for name, array in self._arg_dict.items()}
            _, dtypes, _ = self._symbol._types(**arguments)
            places = [
                self._groups.get(group_of(head.node) or "", self._ctx)
                for head in self._symbol._heads
            ]
            self._outputs = [
                _zeros(stype, shape, place, dtype)
                for stype, shape, place, dtype in zip(
                    self._storage, shapes or (), places, dtypes or (), strict=True
                )
            ]
        return self._outputs

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name."""
        return dict(zip(self._symbol.list_outputs(), self.outputs, strict=True))

    def get_optimized_symbol(self) -> Symbol:
        """The bound symbol, with equal expressions merged if the setting was on when it was bound.

        What further passes and XLA make of it is below symbols, in its stages.
        """
        if not self._merges:
            return self._symbol
        return Symbol(merge_common(self._symbol.graph).heads)

    # ---- running ------------------------------------------------------------------------------

    def graph_op(self, training: bool) -> GraphOp:
        """The operator that runs the whole graph."""
        if training not in self._ops:
            arrays = [*self._arg_dict.values(), *self._aux_dict.values()]
            known = [(array.shape, array._spec.dtype) for array in arrays]
            facts = Facts(self._ctx.device.platform, known)
            with collector_paused():
                graph = executable_graph(self._complete(), training, facts)
                name = self._symbol.name or "group"
                self._ops[training] = graph_op(graph, name, self._recompute)
        return self._ops[training]

    def _complete(self) -> Symbol:
        """The symbol with constants of open shapes as the arrays' shapes make them.

        With a monitor, the outputs that it watches are outputs too.
        """
        shapes = {n: a.shape for n, a in (*self.arg_dict.items(), *self.aux_dict.items())}
        symbol = Symbol((*self._symbol._heads, *self._watched))
        return Symbol(self._own_operators.in_graph(complete_shapes(symbol.graph, shapes)).heads)

    def placed_graph(self, training: bool) -> PlacedGraph:
        """What runs instead where ``group2ctx`` was given, or shapes depend on values: the graph in parts."""
        if training not in self._placed:
            arrays = [*self._arg_dict.values(), *self._aux_dict.values()]
            placement = place_devices(
                unplaced_graph(self._complete(), training),
                self._groups,
                self._ctx,
                [array.context for array in arrays],
            )
            name = self._symbol.name or "group"
            self._placed[training] = PlacedGraph(placement, name, self._recompute)
        return self._placed[training]

    def _run(self, training: bool, values: Sequence[Value]) -> list[Value]:
        """Outputs; states are moved, or will be with backward."""
        handles = [*self._arg_dict.values(), *self._aux_dict.values()]
        if self._is_cut:
            placed = self.placed_graph(training)
            outputs, states = placed.run(values)
            before = [values[i] for i in placed.states]
            placed.move_states([handles[i] for i in placed.states], before, states)
            return outputs
        op = self.graph_op(training)
        # What a monitor shows of backward is computed once more, from the same random numbers.
        draws = op.key is not None and self._monitor is not None
        self._draw = draw_for(op, values, self._ctx) if draws else None
        outputs, states = call_graph(op, values, self._ctx, self._draw)
        move_states(
            op, [handles[i] for i in op.graph.states], [values[i] for i in op.graph.states], states
        )
        return outputs

    def forward(self, is_train: bool = False, **kwargs: object) -> list[NDArray]:
        """Compute the outputs.

        Args:
            is_train: operators behave as in training, and ``backward`` may follow.
            kwargs: new content of arguments by name.

        Raises:
            ShapeError: an array has another shape than the argument.
        """
        for name, array in kwargs.items():
            self._feed(name, array)
        outputs, watched = self._computed(bool(is_train), bool(is_train))
        self._recorded = [NDArray._wrap(value) for value in outputs] if is_train else []
        plain = [value.alias() for value in outputs]
        if self._outputs and not self._has_new_shapes(plain):
            for handle, value in zip(self._outputs, plain, strict=True):
                handle._write(value)
        else:
            self._outputs = [
                NDArray._wrap(value).tostype(stype)
                for value, stype in zip(plain, self._storage, strict=True)
            ]
        if self._monitor is not None:
            self._watch(watched)
        return self._outputs

    def _has_new_shapes(self, values: Sequence[Value]) -> bool:
        """Whether outputs have other shapes than before, as those that depend on values may."""
        return self._is_cut and any(
            handle.shape != value.spec.shape
            for handle, value in zip(self._outputs, values, strict=True)
        )

    def _computed(self, record: bool, training: bool) -> tuple[list[Value], list[Value]]:
        """Outputs, on the tape with ``record``, and what a monitor watches besides."""
        handles = [*self._arg_dict.values(), *self._aux_dict.values()]
        values = [handle._read() for handle in handles]
        before = self._mark(values) if record else []
        with RecordingScope(record, training):
            outputs = self._run(training, values)
        marked = {id(value) for value, _ in before}
        outputs = [_own(value) if id(value) in marked else value for value in outputs]
        for value, node in before:
            value.node = node
        return outputs[: len(self._symbol)], outputs[len(self._symbol) :]

    def _mark(self, values: list[Value]) -> list[tuple[Value, Any]]:
        """Make the arguments with gradients variables of the tape; returns what they were.

        The values are marked themselves: an alias would hold their buffers, which the update of
        parameters takes over.
        """
        before: dict[int, tuple[Value, Any]] = {}
        for i, name in enumerate(self._arg_dict):
            gradient, request = self._grad_dict[name], self._requests.get(name, "null")
            if gradient is None or request == "null":
                continue
            if id(values[i]) in before:  # two arguments with one content
                values[i] = values[i].alias()
            before[id(values[i])] = values[i], values[i].node
            Mark(gradient, request).on(values[i])
        return list(before.values())

    def release(self) -> None:
        """Free the values that ``backward`` needs now, not only at the next ``forward``."""
        self._recorded = []

    def _feed(self, name: str, array: object) -> None:
        if name not in self._arg_dict:
            raise AttributeTypeError(
                f"forward: there is no argument {name!r}; there are {', '.join(self._arg_dict)}."
            )
        target = self._arg_dict[name]
        if not isinstance(array, (NDArray, np.ndarray)):
            raise AttributeValueError(
                f"forward: {name} must be an NDArray or a NumPy array, not {type(array).__name__}."
            )
        if array.shape != target.shape:
            raise SizeError(
                f"forward: {name} has shape {array.shape}, it was bound with {target.shape}. Use "
                f"executor.reshape({name}={array.shape}) for another shape."
            )
        target._write_all(array)

    def backward(
        self,
        out_grads: Any = None,
        is_train: bool = True,
    ) -> None:
        """Gradients of the arguments, written or added to ``grad_dict`` as requested.

        Args:
            out_grads: gradients of the outputs, in order; ones by default, as loss heads want. Those
                beyond the outputs are not read.
            is_train: accepted for compatibility.

        Without ``forward(is_train=True)`` before it the outputs are computed once more, as for
        inference, from the arrays of now.
        """
        if not self._recorded:
            outputs, _ = self._computed(True, False)
            self._recorded = [NDArray._wrap(value) for value in outputs]
        heads = self._recorded
        if isinstance(out_grads, NDArray):
            out_grads = [out_grads]
        if out_grads is not None and len(out_grads) < len(heads):
            raise ShapeError(f"backward: {len(heads)} outputs, but {len(out_grads)} gradients.")
        pairs = [
            (head, None if out_grads is None else out_grads[i].as_in_context(head.context))
            for i, head in enumerate(heads)
            if head._read().node is not None
        ]
        if pairs:
            run_backward([h for h, _ in pairs], [g for _, g in pairs], retain_graph=True)
            if self._monitor is not None and not self._is_cut:
                self._watch_backward(out_grads)

    # ---- looking and changing -----------------------------------------------------------------

    def set_monitor_callback(
        self, callback: Callable[[str, NDArray], Any], monitor_all: bool = False
    ) -> None:
        """Call ``callback(name, array)`` for every output of every operator after ``forward``.

        Args:
            callback: gets the output's name and its array.
            monitor_all: the inputs too, as ``fc1_weight``, ``exp0_input0``; variables also by their names.
        """
        if not callable(callback):
            raise AttributeTypeError(
                f"set_monitor_callback takes a function of a name and an array, not {callback!r:.60}."
            )
        self._monitor = (callback, monitor_all)
        self._shown = [
            pair
            for node in self._symbol.graph.nodes
            if not node.is_variable
            for pair in (*(_inputs_shown(node) if monitor_all else ()), *_outputs_shown(node))
        ]
        self._watched = list(dict.fromkeys(entry for _, entry in self._shown))
        self._ops.clear()
        self._placed.clear()

    def _watch(self, values: Sequence[Value]) -> None:
        assert self._monitor is not None
        values_of = dict(zip(self._watched, values, strict=True))
        for name, entry in self._shown:
            self._monitor[0](name, NDArray._wrap(values_of[entry].alias()))

    def _watch_backward(self, out_grads: Sequence[NDArray] | None) -> None:
        """Show what the operators' backward nodes compute, from the arrays of now."""
        assert self._monitor is not None
        if self._gradient_op is None:
            self._gradient_op = self._watched_gradients()
        op, entries = self._gradient_op
        gradients = out_grads or [each.ones_like() for each in self._outputs]
        handles = [*self._arg_dict.values(), *self._aux_dict.values(), *gradients]
        with RecordingScope(False, True):
            values, _ = call_graph(
                op, [handle._read() for handle in handles], self._ctx, self._draw
            )
        for entry, value in zip(entries, values, strict=True):
            self._monitor[0](output_name(entry), NDArray._wrap(value))

    def _watched_gradients(self) -> tuple[GraphOp, list[Entry]]:
        graph = assign_keys(unplaced_graph(self._complete(), True))
        starts = [Node(None, name=f"{name}_grad") for name in self._symbol.list_outputs()]
        differentiated = differentiate(
            graph.heads[: len(starts)],
            [Entry(node) for node in starts],
            [Entry(node) for node in graph.inputs[: len(self._arg_dict)]],
        )
        known = {*graph.nodes, *starts}
        reached = topological(entry.node for entry in differentiated if entry is not None)
        entries = [
            Entry(node, i)
            for node in reached
            if node not in known
            for i in range(node.op.num_outputs(node.statics, len(node.inputs)))
        ]
        gradients = Graph(tuple(entries), (*graph.inputs, *starts), len(entries))
        return GraphOp(gradients, "watched_gradients"), entries

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy parameters into the arrays of the executor.

        Raises:
            MXNetError: a name is none of the executor's, unless ``allow_extra_params``.
        """
        for source, own, kind in (
            (arg_params, self._arg_dict, "argument"),
            (aux_params or {}, self._aux_dict, "auxiliary state"),
        ):
            for name, array in source.items():
                if name in own:
                    array.copyto(own[name])
                elif not allow_extra_params:
                    raise AttributeValueError(
                        f"copy_params_from: there is no {kind} {name!r}; there are "
                        f"{', '.join(own)}. Pass allow_extra_params=True to leave it out."
                    )

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any
    ) -> Executor:
        """An executor for other input shapes, in the memory of this one.

        Arrays whose shapes do not change are shared; those that shrink share their first
        elements; those that grow are new.

        Args:
            partial_shaping: let arrays that are not named change their shapes.
            allow_up_sizing: let arrays grow.
            kwargs: new shapes by name.

        Raises:
            ShapeError: an array changes its shape, or grows, that may not.
        """
        shapes, _, states = self._symbol._shapes(**kwargs)
        if shapes is None:
            raise ShapeError("reshape: the shapes given do not determine all arguments.")
        arguments: dict[str, NDArray] = {}
        gradients: dict[str, NDArray] = {}
        for (name, array), shape in zip(self._arg_dict.items(), shapes, strict=True):
            same = array.shape == shape
            gradient = self._grad_dict[name]
            if not same and name not in kwargs and not partial_shaping:
                named = ", ".join(f"{each}={tuple(s)}" for each, s in kwargs.items())
                raise ShapeError(
                    f"reshape: {name} would change from {array.shape} to {shape} though it was not "
                    f"named: {named} was. Give data of the extents that it was bound with, or pass "
                    f"partial_shaping=True to make {name} anew."
                )
            arguments[name] = _refitted(name, array, shape, allow_up_sizing)
            if gradient is not None:
                gradients[name] = _refitted(name, gradient, shape, allow_up_sizing)
        aux = {
            name: _refitted(name, array, shape, allow_up_sizing)
            for (name, array), shape in zip(self._aux_dict.items(), states, strict=True)
        }
        bound = Bound(arguments, gradients, aux)
        return Executor(bound, self._symbol, self._ctx, self._requests, self._groups)


def _inputs_shown(node: Node) -> Iterator[tuple[str, Entry]]:
    """What a monitor of all arrays shows before an operator runs: variables by their own names, too."""
    from mixnet.symbol.input_names import input_name  # only monitors need that table

    for place, entry in enumerate(node.inputs):
        if entry.node.is_variable:
            yield entry.node.name, entry
        yield input_name(node, place), entry


def _outputs_shown(node: Node) -> list[tuple[str, Entry]]:
    """The outputs of a node that monitors see: those that have names, hidden ones too."""
    assert node.op is not None
    count = node.op.num_outputs(node.statics, len(node.inputs))
    if len(_names(node)) != count:
        count = node.op.num_visible(node.statics, len(node.inputs))
    entries = [Entry(node, i) for i in range(count)]
    return [(_watched_name(entry), entry) for entry in entries]


def _names(node: Node) -> tuple[str, ...]:
    return node.op.output_names(node.statics) if isinstance(node.op, Op) else ()


def _own(value: Value) -> Value:
    """An alias in the same place on the tape: for an argument that is an output as it stands."""
    alias = value.alias()
    alias.node, alias.index = value.node, value.index
    return alias


def _watched_name(entry: Entry) -> str:
    names = _names(entry.node)
    if len(names) > 1 and entry.index < len(names):
        return f"{entry.node.name}_{names[entry.index]}"
    return output_name(entry)


def bind(
    self: Symbol,
    ctx: Context | None = None,
    args: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    args_grad: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    aux_states: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """Create an executor over the given arrays.

    Args:
        ctx: device.
        args: arrays of the arguments, a list in order or a dict by name.
        args_grad: arrays for gradients, a list or a dict; those left out get no gradient.
        grad_req: ``write``, ``add`` or ``null``; for all, a list in order, or a dict by name.
        aux_states: arrays of the auxiliary states, a list or a dict.
        group2ctx: device of each group of nodes (``mx.AttrScope(ctx_group=...)``): the graph is cut
            into parts that run there, with copies in between.

    Raises:
        MXNetError: an array is missing, or a group has no device.
        ShapeError: shapes do not fit; names the node.
    """
    context = as_context(ctx)
    names, aux_names = _names_of("bind", self)
    arguments = _named(names, args or {}, "args", True)
    gradients = None if args_grad is None else _named(names, args_grad, "args_grad", False)
    states = _named(aux_names, aux_states or {}, "aux_states", True)
    everything = {**arguments, **states}
    for name, array in everything.items():
        if not isinstance(array, NDArray):
            raise AttributeTypeError(
                f"bind: {name} must be an NDArray, not {type(array).__name__}. Make one with "
                f"mx.nd.array(...)."
            )
    infer(
        self.graph,
        {name: array.shape for name, array in everything.items()},
        {name: array._spec.dtype for name, array in everything.items()},
    )
    requests = requests_by_name(names, grad_req)
    groups = _groups("bind", group2ctx)
    return Executor(Bound(arguments, gradients, states), self, context, requests, groups)


def _names_of(called: str, symbol: Symbol) -> tuple[list[str], list[str]]:
    """Names of the arguments and of the auxiliary states."""
    names, aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
    twice = [name for name, count in Counter([*names, *aux_names]).items() if count > 1]
    if twice:
        raise AttributeValueError(
            f"{called}: several variables are named {', '.join(map(repr, twice))}, and an executor "
            f"finds its arrays by name. Make the variable once and use it wherever its array is "
            f"meant, or give the others names of their own."
        )
    return names, aux_names


def _named(names: Sequence[str], arrays: Any, role: str, complete: bool) -> dict[str, NDArray]:
    if isinstance(arrays, (list, tuple)):
        if len(arrays) != len(names):
            raise AttributeValueError(
                f"bind: {role} has {len(arrays)} arrays, the symbol {len(names)}."
            )
        arrays = {
            name: array for name, array in zip(names, arrays, strict=True) if array is not None
        }
    missing = [name for name in names if name not in arrays]
    if complete and missing:
        raise AttributeValueError(f"bind: {role} has no array for {', '.join(missing)}.")
    return {name: arrays[name] for name in names if name in arrays}


def _groups(called: str, group2ctx: object) -> dict[str, Context]:
    if group2ctx is None:
        return {}
    if not isinstance(group2ctx, Mapping) or not all(
        isinstance(c, Context) for c in group2ctx.values()
    ):
        raise AttributeTypeError(
            f"{called}: group2ctx={group2ctx!r} must be a dict from names of groups to contexts, as in "
            f"{{'stage1': mx.cpu(1)}}."
        )
    return dict(group2ctx)


_REQUESTS = ("write", "add", "null")


def requests_by_name(names: Sequence[str], grad_req: Any) -> dict[str, str]:
    """``write``, ``add`` or ``null`` of every argument, from one for all, a list or a dict.

    Raises:
        AttributeValueError: a request is not 'write', 'add' or 'null'.
    """
    requests = [grad_req] if isinstance(grad_req, str) else grad_req
    for each in requests.values() if isinstance(requests, Mapping) else requests:
        if each not in _REQUESTS:
            raise AttributeValueError(
                f"grad_req={each!r} is not one of {', '.join(map(repr, _REQUESTS))}."
            )
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, (list, tuple)):
        if len(grad_req) != len(names):
            raise AttributeValueError(
                f"grad_req has {len(grad_req)} entries for the {len(names)} arguments "
                f"{', '.join(names)}; give one for each in this order, or a dict by name."
            )
        return dict(zip(names, grad_req, strict=True))
    return {name: grad_req.get(name, "null") for name in names}


def simple_bind(
    self: Symbol,
    ctx: Context | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Any = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_arg_names: Any = None,
    shared_exec: Any = None,
    shared_buffer: Any = None,
    **kwargs: object,
) -> Executor:
    """Create an executor over zero arrays, with shapes inferred from ``kwargs``.

    Args:
        ctx: device.
        grad_req: as for ``bind``.
        type_dict: dtypes by name.
        stype_dict: storage types by name, over those that variables were made with.
        group2ctx: as for ``bind``; the arrays of variables made in a group are on its device.
        shared_arg_names: arguments whose arrays and gradients are those of ``shared_exec``, where
            shape and dtype are the same.
        shared_exec: an executor to share these with, and auxiliary states.
        shared_buffer: a dict from names to arrays: arguments that are not in ``shared_arg_names``,
            and their gradients as ``grad of NAME``, are taken from it where shape and dtype fit,
            and put into it where they do not.
        kwargs: shapes by name; names that the symbol does not have are not read.

    Raises:
        ShapeError: the shapes given do not determine all arguments, or do not fit.
    """
    context = as_context(ctx)
    names, aux_names = _names_of("simple_bind", self)
    # Programs give the label's shape to symbols that end before the loss.
    unread = {n: shape for n, shape in kwargs.items() if n not in {*names, *aux_names}}
    kwargs = {name: shape for name, shape in kwargs.items() if name not in unread}
    shapes, aux_shapes = _shapes_to_bind(self, kwargs)
    if shapes is None:
        raise _unknown_shapes(self, names, kwargs, unread)
    dtypes = {name: as_dtype(dtype) for name, dtype in (type_dict or {}).items()}
    inferred = infer(self.graph, kwargs, dtypes)
    by_node = {node.name: inferred.dtypes.get(Entry(node)) for node in self.graph.nodes}
    requests = requests_by_name(names, grad_req)
    groups = _groups("simple_bind", group2ctx)
    group = {node.name: group_of(node) for node in self.graph.nodes if node.is_variable}

    storage = _storage_types(self, stype_dict)
    of_gradients = infer_gradient_storage(self.graph, infer_storage(self.graph, storage))

    def array_for(
        name: str, shape: tuple[int, ...], known: Mapping[str, Any], storage: Mapping[str, str]
    ) -> NDArray:
        where = groups.get(group[name] or "", context)
        dtype = as_dtype(by_node.get(name) or "float32")
        array = known.get(name)
        if array is not None and array.shape == shape and array._spec.dtype == dtype:
            if array.context is where and array.stype == storage.get(name, "default"):
                return array
        return _zeros(storage.get(name, "default"), shape, where, dtype)

    buffer = {} if shared_buffer is None else shared_buffer
    arguments, gradients = {}, {}
    for name, shape in zip(names, shapes, strict=True):
        is_shared = name in (shared_arg_names or ())
        known, of_known = _arrays_to_share(name, is_shared, shared_exec, buffer)
        arguments[name] = array_for(name, shape, known, storage)
        if requests[name] != "null":
            gradients[name] = array_for(name, shape, of_known, of_gradients)
        if not is_shared:
            buffer[name] = arguments[name]
            buffer.update({f"grad of {name}": gradients[name]} if name in gradients else {})
    others = {} if shared_exec is None else shared_exec.aux_dict
    states = {
        name: array_for(name, shape, others, storage)
        for name, shape in zip(aux_names, aux_shapes, strict=True)
    }
    return Executor(Bound(arguments, gradients, states), self, context, requests, groups)


def _unknown_shapes(
    symbol: Symbol, names: Sequence[str], known: Mapping[str, Any], unread: Mapping[str, Any]
) -> BindingError:
    partial, _, _ = symbol.infer_shape_partial(**known)
    unknown = [n for n, s in zip(names, partial, strict=True) if not s or 0 in s]
    return BindingError(
        f"simple_bind: the shapes of {', '.join(unknown) or 'some outputs'} cannot be inferred from "
        f"{', '.join(known) or 'nothing'}; give them by name."
        + "".join(
            f" {name}={shape!r} was not read: the symbol has no such variable."
            + did_you_mean(name, unknown)
            for name, shape in unread.items()
        )
    )


def _arrays_to_share(
    name: str, is_shared: bool, executor: Executor | None, buffer: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Arrays by name among which an argument and its gradient may be: an executor's, or the buffer's."""
    if not is_shared:
        return buffer, {name: buffer.get(f"grad of {name}")}
    if executor is None:
        return {}, {}
    return executor.arg_dict, executor.grad_dict


def _shapes_to_bind(symbol: Symbol, known: Mapping[str, Any]) -> tuple[Any, Any]:
    """Shapes of arguments and of auxiliary states, None where something stays unknown.

    Raises:
        BindingError: shapes contradict each other; names the node.
    """
    try:
        shapes, _, aux_shapes = symbol._shapes(**known)
    except ShapeError as error:
        raise BindingError(str(error)) from None
    return shapes, aux_shapes


def _refitted(name: str, array: NDArray, shape: tuple[int, ...], may_grow: bool) -> NDArray:
    """An array of another shape in the memory of ``array``, where that is large enough."""
    if array.shape == shape:
        return array
    count, there = math.prod(shape), math.prod(array.shape)
    if count > there and not may_grow:
        raise ShapeError(
            f"reshape: {name} would grow from {array.shape} to {shape}. Bind the largest shapes first "
            f"and reshape to smaller ones, which share its memory; or pass allow_up_sizing=True."
        )
    if count > there or array._is_sparse:
        return _zeros(array.stype, shape, array.context, array.dtype)
    return array.reshape((-1,))[:count].reshape(shape)


def _zeros(stype: str, shape: tuple[int, ...], context: Context, dtype: DTypeLike) -> NDArray:
    if stype == "default":
        return zeros(shape, context, dtype)
    return zeros_of(stype, shape, context, dtype)


def _storage_types(symbol: Symbol, stype_dict: Mapping[str, str] | None) -> dict[str, str]:
    """Storage types of variables that are not dense: as given, or as the variables say."""
    codes = {str(code): stype for stype, code in STORAGE.items()}
    declared = {
        node.name: codes[node.attrs["__storage_type__"]]
        for node in symbol.graph.nodes
        if node.is_variable and node.attrs.get("__storage_type__") in codes
    }
    return {**declared, **(stype_dict or {})}


def evaluate(self: Symbol, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
    """Outputs for arrays given by name."""
    return bind(self, ctx, kwargs, grad_req="null").forward()


def install(cls: Any) -> None:
    """Give symbols the methods that make executors."""
    cls.bind = bind
    cls.simple_bind = simple_bind
    cls.eval = evaluate
