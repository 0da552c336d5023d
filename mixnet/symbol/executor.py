"""Executor: a symbol bound to arrays, ready to run forward and backward."""

from __future__ import annotations

import copy
import functools
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mixnet import config
from mixnet.autograd.scope import RecordingScope
from mixnet.autograd.tape import Mark
from mixnet.autograd.tape import backward as run_backward
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    MXNetError,
    ShapeError,
    SizeError,
    UnknownNameError,
)
from mixnet.context import Context
from mixnet.graph.node import Node, topological
from mixnet.ndarray import sparse
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.op import Op
from mixnet.passes.complete_shapes import complete_shapes
from mixnet.passes.eliminate_common import merge_common
from mixnet.passes.facts import Facts
from mixnet.passes.infer_storage import infer_storage
from mixnet.passes.place_devices import assign_devices, is_cut, place_devices
from mixnet.passes.recompute import default_mode
from mixnet.process.collector import collector_paused
from mixnet.process.locks import cached_property
from mixnet.runtime.trace.graph_op import GraphOp, call_graph, draw_for, graph_op, move_states
from mixnet.runtime.trace.placed import PlacedGraph
from mixnet.runtime.value.state import with_variables
from mixnet.runtime.value.undo import all_or_nothing
from mixnet.runtime.value.value import Value
from mixnet.symbol.custom import OwnOperators, calls_own_operators
from mixnet.symbol.executable import executable_graph, unplaced_graph
from mixnet.symbol.monitored import Monitor
from mixnet.symbol.stored_inputs import RowsRead, StoredInputs
from mixnet.symbol.symbol import Symbol


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
        requested: ``grad_req`` in the form that it was given in; programs read it as ``_grad_req``.
    """

    def __init__(
        self,
        handle: Bound,
        symbol: Symbol,
        ctx: Context,
        grad_req: Mapping[str, str],
        group2ctx: Mapping[str, Context] | None,
        requested: str | Sequence[str] | Mapping[str, str] = "write",
    ):
        self.handle = handle
        self._grad_req = copy.deepcopy(requested)
        self._symbol = symbol
        self._groups = dict(group2ctx or {})
        self._placed: dict[bool, PlacedGraph] = {}
        self._ctx = ctx
        self._arg_dict = dict(handle.arguments)
        self._grad_dict = {name: (handle.gradients or {}).get(name) for name in handle.arguments}
        self._aux_dict = dict(handle.states)
        # A program may replace what these hold, as in MXNet: the executor keeps its own arrays.
        self._shown = dict(self._arg_dict), dict(self._grad_dict), dict(self._aux_dict)
        self._requests = dict(grad_req)
        self._recompute = default_mode()
        self._own_operators = OwnOperators()
        self._ops: dict[Any, GraphOp] = {}
        self._recorded: list[NDArray] = []
        self._values_read: list[weakref.ref[Value]] = []
        self._outputs: list[NDArray] = []
        self._monitor: Monitor | None = None
        self._draw: tuple[Value, float] | None = None
        self._output_dict: dict[str, NDArray] = {}
        self._merges: bool = config.get("MXNET_ELIMINATE_COMMON_EXPR")
        arrays = {**self._arg_dict, **self._aux_dict}
        stypes = infer_storage(symbol.graph, {name: array.stype for name, array in arrays.items()})
        self._storage = [stypes.get(head, "default") for head in symbol.graph.heads]
        self._is_cut = bool(self._groups) or is_cut(symbol.graph, ctx)
        self._stored = StoredInputs(
            symbol.graph, self._arg_dict, self._grad_dict, self._requests, whole=self._is_cut
        )
        self._rows_read: list[RowsRead] = []
        if self._groups:
            self.placed_graph(False)  # a group without a device is an error here
        if calls_own_operators(symbol.graph):
            specs = {name: array._spec for name, array in arrays.items()}
            self._own_operators.create(self._complete().graph, specs)

    # ---- arrays -------------------------------------------------------------------------------

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name. Write into an array (``[:] =``): a replaced one is not read."""
        return self._shown[0]

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradients by name of the argument, None where there is none."""
        return self._shown[1]

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """Auxiliary states by name."""
        return self._shown[2]

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
            if shapes is None and self._is_cut:
                raise ShapeError(
                    "The shapes of the outputs depend on values: they are known after forward()."
                )
            arguments = {name: array.dtype for name, array in self._arg_dict.items()}
            _, dtypes, _ = self._symbol._types(**arguments)
            places = self._output_places()
            self._outputs = [
                sparse.zeros(stype, shape, place, dtype)
                for stype, shape, place, dtype in zip(
                    self._storage, shapes or (), places, dtypes or (), strict=True
                )
            ]
        return self._outputs

    def _get_outputs(self) -> list[NDArray]:
        # MXNet's name of what the property reads; programs call it.
        return self.outputs

    def _output_places(self) -> list[Context]:
        if not self._groups:
            return [self._ctx] * self._symbol.num_outputs
        graph = unplaced_graph(self._symbol, False)
        contexts = [array.context for array in (*self.arg_arrays, *self.aux_arrays)]
        places = assign_devices(graph, self._groups, self._ctx, contexts)
        return [places[head.node] for head in graph.heads[: self._symbol.num_outputs]]

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
        inputs, _ = self._stored.read()
        return self._graph_op(training, [*inputs, *self._aux_dict.values()])

    def _graph_op(self, training: bool, inputs: Sequence[NDArray]) -> GraphOp:
        key = training, *[inputs[i].shape for i in self._stored.varying]
        if key not in self._ops:
            known = [(array.shape, array._spec.dtype) for array in inputs]
            facts = Facts(self._ctx.device.platform, known)
            with collector_paused():
                graph = executable_graph(self._complete(), training, facts)
                name = self._symbol.name or "group"
                self._ops[key] = graph_op(graph, name, self._recompute)
        return self._ops[key]

    def _complete(self) -> Symbol:
        """The symbol with constants of open shapes as the arrays' shapes make them.

        With a monitor, the outputs that it watches are outputs too.
        """
        shapes = {n: a.shape for n, a in (*self._arg_dict.items(), *self._aux_dict.items())}
        watched = () if self._monitor is None else self._monitor.entries
        symbol = Symbol((*self._symbol._heads, *watched))
        graph = self._own_operators.in_graph(complete_shapes(symbol.graph, shapes))
        return Symbol(self._stored.in_graph(graph).heads)

    def placed_graph(self, training: bool) -> PlacedGraph:
        """The graph in parts, which runs instead if ``group2ctx`` was given or shapes depend on values."""
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

    def _run(
        self, training: bool, handles: Sequence[NDArray], values: Sequence[Value]
    ) -> list[Value]:
        """Outputs; states are moved, or will be with backward."""
        if self._is_cut:
            placed = self.placed_graph(training)
            outputs, states = placed.run(values)
            before = [values[i] for i in placed.states]
            placed.move_states([handles[i] for i in placed.states], before, states)
            return outputs
        op = self._graph_op(training, handles)
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
        recorded, plain = [], []
        for value in outputs:
            if is_train:
                recorded.append(NDArray._wrap(value))
            plain.append(value.alias())
        self._recorded = recorded
        if self._outputs and not self._has_new_shapes(plain):
            for handle, value in zip(self._outputs, plain, strict=True):
                handle._write(value)
        else:
            arrays = [NDArray._wrap(value) for value in plain]
            self._outputs = [
                array if stype == "default" else array.tostype(stype)
                for array, stype in zip(arrays, self._storage, strict=True)
            ]
        if self._monitor is not None:
            self._monitor.show(watched)
        return self._outputs

    def _has_new_shapes(self, values: Sequence[Value]) -> bool:
        """Whether outputs have other shapes than before, as those that depend on values may."""
        return self._is_cut and any(
            handle.shape != value.spec.shape
            for handle, value in zip(self._outputs, values, strict=True)
        )

    def _computed(self, record: bool, training: bool) -> tuple[list[Value], list[Value]]:
        """Outputs, on the tape with ``record``, and what a monitor watches besides."""
        inputs, rows_read = self._stored.read()
        handles = [*inputs, *self._aux_dict.values()]
        values = []
        for handle in handles:
            values.append(handle._value if handle._link is None else handle._read())
        variables = self._variables(values, rows_read) if record else {}
        if record:
            self._values_read = self._references(values)
            self._rows_read = list(rows_read.values())
        with RecordingScope(record, training):
            outputs = with_variables(
                variables, functools.partial(self._run, training, handles, values)
            )
        for place, output in enumerate(outputs):
            if output in variables:
                outputs[place] = _own(output, variables[output])
        number = self._symbol.num_outputs
        return outputs[:number], outputs[number:]

    def _variables(
        self, values: list[Value], rows_read: Mapping[int, RowsRead]
    ) -> dict[Value, Node]:
        """The variables of the tape, arguments with gradients, each with its node.

        These are the values themselves: an alias would hold their buffers, which the update of parameters
        takes over.
        """
        variables: dict[Value, Node] = {}
        for position, mark in self._marks:
            if position in rows_read:
                mark = rows_read[position].mark or mark
            if values[position] in variables:  # two arguments with one content
                values[position] = values[position].alias()
            variables[values[position]] = Node(None, mark, (), (), "variable")
        return variables

    @cached_property
    def _marks(self) -> list[tuple[int, Mark]]:
        """The marks of the arguments with gradients, with their positions."""
        marks = []
        for name, position in self._stored.places.items():
            gradient, request = self._grad_dict[name], self._requests.get(name, "null")
            if gradient is not None and request != "null":
                marks.append((position, Mark(gradient, request)))
        return marks

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
                f"forward: {name} has shape {array.shape}, but was bound with {target.shape}. Use "
                f"executor.reshape({name}={array.shape}) for another shape."
            )
        target._write_all(array)

    def backward(
        self,
        out_grads: object = None,
        is_train: bool = True,
    ) -> None:
        """Gradients of the arguments, written or added to ``grad_dict`` as requested.

        Args:
            out_grads: gradients of the outputs, in order or, for all of them, by name. Losses, such as
                ``SoftmaxOutput`` and ``make_loss``, need none: there may be None, or nothing at the end of
                the list. Those beyond the outputs are not read.
            is_train: False for the gradients of prediction, as ``train_mode=False`` of
                ``autograd.backward``.

        Without ``forward(is_train=True)`` before it the outputs are computed once more, as for
        inference, from the arrays of now.

        Raises:
            MXNetError: an output that is not a loss has no gradient in ``out_grads``.
            KeyError: ``out_grads`` by name lacks an output.
        """
        if not self._recorded:
            outputs, _ = self._computed(True, False)
            self._recorded = [NDArray._wrap(value) for value in outputs]
        else:
            self._read_what_was_written()
        heads = self._recorded
        gradients = self._in_order(out_grads)
        pairs = []
        for i, (head, gradient) in enumerate(zip(heads, gradients, strict=True)):
            if head._read().node is None:
                continue
            if gradient is None:
                self._check_is_loss(i)
            if gradient is not None:
                gradient = gradient.as_in_context(head.context).astype(head.dtype, copy=False)
            pairs.append((head, gradient))
        if pairs:
            run = functools.partial(
                run_backward,
                [h for h, _ in pairs],
                [g for _, g in pairs],
                retain_graph=True,
                train_mode=bool(is_train),
            )
            if self._rows_read:
                all_or_nothing(functools.partial(self._run_and_write_rows, run))
            else:
                run()
            if self._monitor is not None and not self._is_cut:
                self._watch_backward(gradients)

    def _run_and_write_rows(self, run: Callable[[], None]) -> None:
        run()
        for each in self._rows_read:
            each.write_gradient()

    @cached_property
    def _dense(self) -> list[tuple[int, NDArray]]:
        """The dense arguments, with their positions: these may be written between forward and backward."""
        places = self._stored.places
        return [(places[n], array) for n, array in self._arg_dict.items() if not array._is_sparse]

    def _references(self, values: Sequence[Value]) -> list[weakref.ref[Value]]:
        """Weak: the memory may be taken over by the update of parameters."""
        references = []
        for position, _ in self._dense:
            references.append(weakref.ref(values[position]))
        return references

    def _read_what_was_written(self) -> None:
        """Make the tape hold the arguments as they are now.

        As in MXNet, a label that was computed from the outputs can be written after ``forward``: backward
        reads it, and the results that ``forward`` left.
        """
        now = []
        written = {}
        for (_, array), reference in zip(self._dense, self._values_read, strict=True):
            new = array._value if array._link is None else array._read()
            now.append(new)
            value = reference()
            if value is not None and value is not new:
                written[id(value)] = new
        if not written:
            return
        for node in topological(output._read().node for output in self._recorded):
            if node.op is not None:
                node.values = tuple([written.get(id(value), value) for value in node.values])
        self._values_read = [weakref.ref(value) for value in now]

    def _in_order(self, out_grads: Any) -> list[NDArray | None]:
        """One gradient, or None, for each output."""
        if out_grads is None:
            return [None] * self._symbol.num_outputs
        names = self._symbol.list_outputs()
        if isinstance(out_grads, Mapping):
            missing = [name for name in names if name not in out_grads]
            if missing:
                raise UnknownNameError(
                    f"backward: out_grads has no gradient of {', '.join(missing)}, but of "
                    f"{', '.join(map(str, out_grads)) or 'nothing'}; None is one for a loss."
                )
            return [out_grads[name] for name in names]
        if not isinstance(out_grads, NDArray | Sequence | None):
            raise AttributeTypeError(
                f"backward: out_grads must be arrays, not {type(out_grads).__name__}."
            )
        gradients = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads or ())
        for each in gradients:
            if each is not None and not isinstance(each, NDArray):
                raise AttributeTypeError(
                    f"backward: out_grads must be arrays, not {type(each).__name__}."
                )
        return [*gradients, *[None] * (len(names) - len(gradients))][: len(names)]

    def _check_is_loss(self, place: int) -> None:
        head = self._symbol._heads[place].node
        if place in self._not_losses:
            raise MXNetError(
                f"backward: output {place}, of {head.name!r} ({head.op.name}), is not a loss and needs a "
                f"gradient: call backward(out_grads=[...]), or bind mx.sym.make_loss(output)."
            )

    @cached_property
    def _not_losses(self) -> set[int]:
        """Outputs from which a gradient reaches an argument; a loss lets none pass."""
        with_gradient = {name for name, array in self._grad_dict.items() if array is not None}
        places = set()
        for place, entry in enumerate(self._symbol._heads):
            nodes, visited = _sources_of_gradients(entry.node), set()
            while nodes:
                node = nodes.pop()
                if node.is_variable and node.name in with_gradient:
                    places.add(place)
                    break
                if node not in visited:
                    visited.add(node)
                    nodes += _sources_of_gradients(node)
        return places

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
        self._monitor = Monitor(callback, self._symbol.graph, monitor_all)
        # A monitor shows what operators read, matrices as a whole.
        self._stored.read_whole()
        for positions in ("_dense", "_marks"):
            self.__dict__.pop(positions, None)
        self._ops.clear()
        self._placed.clear()

    def _watch_backward(self, out_grads: Sequence[NDArray | None]) -> None:
        """Show what the operators' backward nodes compute, from the arrays of now."""
        assert self._monitor is not None
        gradients = [
            output.ones_like() if gradient is None else gradient
            for output, gradient in zip(self._outputs, out_grads, strict=True)
        ]
        handles = [*self._arg_dict.values(), *self._aux_dict.values(), *gradients]
        self._monitor.show_gradients(
            self._complete,
            self._symbol.list_outputs(),
            len(self._arg_dict),
            [handle._read() for handle in handles],
            self._ctx,
            self._draw,
        )

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy parameters into the arrays of the executor.

        Args:
            arg_params: arrays of arguments by name.
            aux_params: arrays of auxiliary states by name.

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
            raise ShapeError(
                f"reshape: the shapes of all arguments cannot be inferred from {kwargs}; give more."
            )
        arguments: dict[str, NDArray] = {}
        gradients: dict[str, NDArray] = {}
        for (name, array), shape in zip(self._arg_dict.items(), shapes, strict=True):
            same = array.shape == shape
            gradient = self._grad_dict[name]
            if not same and name not in kwargs and not partial_shaping:
                named = ", ".join(f"{each}={tuple(s)}" for each, s in kwargs.items())
                raise ShapeError(
                    f"reshape: {named} changes {name} from {array.shape} to {shape}, for which no new shape "
                    f"was given. Give data of the extents that it was bound with, or pass "
                    f"partial_shaping=True to create a new array for {name}."
                )
            arguments[name] = _refitted(name, array, shape, allow_up_sizing)
            if gradient is not None:
                gradients[name] = _refitted(name, gradient, shape, allow_up_sizing)
        aux = {
            name: _refitted(name, array, shape, allow_up_sizing)
            for (name, array), shape in zip(self._aux_dict.items(), states, strict=True)
        }
        bound = Bound(arguments, gradients, aux)
        return Executor(
            bound, self._symbol, self._ctx, self._requests, self._groups, self._grad_req
        )


def _own(value: Value, variable: Node) -> Value:
    """An alias that is a variable of the tape: for an argument that is an output as it stands."""
    alias = value.alias()
    alias.node, alias.index = variable, 0
    return alias


def same_memory(array: NDArray) -> NDArray:
    """Another object for the memory of a dense array; a sparse one as it is."""
    return array if array._is_sparse else array._view(0, array.shape)


def _refitted(name: str, array: NDArray, shape: tuple[int, ...], may_grow: bool) -> NDArray:
    """An array of another shape in the memory of ``array``, where that is large enough."""
    if array.shape == shape:
        return same_memory(array)
    count, there = math.prod(shape), math.prod(array.shape)
    if count > there and not may_grow:
        raise ShapeError(
            f"reshape: {name} would grow from {array.shape} to {shape}. Bind the largest shapes first "
            f"and reshape to smaller ones, which share its memory; or pass allow_up_sizing=True."
        )
    if count > there or array._is_sparse:
        larger: NDArray = sparse.zeros(array.stype, shape, array.context, array.dtype)
        return larger
    part: NDArray = array.reshape((-1,))[:count].reshape(shape)
    return part


def _sources_of_gradients(node: Node) -> list[Node]:
    """The nodes that a gradient of this one goes on to, whatever its value."""
    op = node.op
    passes = isinstance(op, Op) and op.differentiable and not op.is_loss and not op.calls_python
    return [entry.node for entry in node.inputs] if passes else []
