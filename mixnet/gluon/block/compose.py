"""Composing a block on symbols: its graph with the names that MXNet assigns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.base import MXNetError
from mixnet.context import Context
from mixnet.dtype import as_dtype
from mixnet.gluon.block.nested import _flatten
from mixnet.gluon.trace import Program, describe, unflatten
from mixnet.graph.draws import calls_watched
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.ndarray import ndarray as np_ndarray
from mixnet.passes.assign_keys import assign_keys
from mixnet.passes.complete_shapes import complete_shapes
from mixnet.passes.infer_shape import Inference, infer
from mixnet.passes.place_devices import is_cut
from mixnet.passes.set_training import set_training
from mixnet.runtime.trace.trace_key import TraceKey
from mixnet.runtime.value.state import untraced
from mixnet.runtime.value.value import Spec
from mixnet.symbol import Group
from mixnet.symbol.executable import unplaced_graph
from mixnet.symbol.numpy.symbol import _Symbol as NumpySymbol
from mixnet.symbol.symbol import Symbol, Variable


def usual_names(count: int) -> list[str]:
    """The default names of variables for the arrays of a call."""
    return ["data"] if count == 1 else [f"data{i}" for i in range(count)]


class Composition:
    """A block called once with variables for its arrays.

    Args:
        forward: the function to call.
        structure: the arguments without their arrays, see ``gluon.trace.flatten``.
        count: number of arrays.
        names: the names of the variables; by default the usual ones.

    ``inputs`` are the variables, ``output`` is the result of forward, ``symbol`` the same as one symbol, and
    ``drawing`` the random operators in the order in which forward called them. Forward sees the recording and
    training modes of that call, as in MXNet.
    """

    def __init__(self, forward: Any, structure: object, count: int, names: list[str] | None = None):
        names = usual_names(count) if names is None else names
        kinds = iter(_leaf_types(structure))
        self.inputs: list[Symbol] = []
        for name in names:
            variable = Variable(name)
            is_numpy = issubclass(next(kinds), np_ndarray)
            self.inputs.append(variable.as_np_ndarray() if is_numpy else variable)
        arguments = unflatten(iter(self.inputs), structure)
        with untraced(), calls_watched() as self.drawing:
            self.output = forward(*arguments)
        leaves, self.outputs = _flattened(self.output)
        self.symbol = leaves[0] if len(leaves) == 1 else Group(leaves, type(leaves[0]))
        self.formats = (_format(list(arguments), "input"), _format(self.output, "output"))
        self.names = names
        self.structure = structure

    def infer(self, specs: Sequence[Spec], parameters: Any) -> Inference:
        """Infer all shapes and dtypes from those of the arrays and the parameters."""
        shapes, dtypes = self._known(specs, parameters)
        return infer(self.symbol.graph, shapes, dtypes)

    def infer_shapes(self, specs: Sequence[Spec], parameters: Any) -> Inference:
        """Infer all shapes; dtypes that an operator refuses are left to the operator to report."""
        shapes, dtypes = self._known(specs, parameters)
        try:
            return infer(self.symbol.graph, shapes, dtypes)
        except MXNetError:
            return infer(self.symbol.graph, shapes, dict.fromkeys(dtypes, as_dtype("float32")))

    def _known(
        self, specs: Sequence[Spec], parameters: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        shapes: dict[str, Any] = {}
        dtypes: dict[str, Any] = {}
        for name, spec in zip(self.names, specs, strict=True):
            shapes[name], dtypes[name] = spec.shape, spec.dtype
        for name, each in parameters.items():
            dtypes.setdefault(name, as_dtype(each.dtype))
            if each._shape is not None and name not in shapes:
                shapes[name] = each._shape
        return shapes, dtypes


class Composed(Program):
    """The program of a hybridized block, from the symbol that it composes.

    Args:
        composition: the composed symbol.
        parameters: the block's parameters by name, all of known shape.
        specs: specs of the arrays among the arguments.
        training: whether operators train.
        context: where it runs.
    """

    def __init__(
        self,
        composition: Composition,
        parameters: Any,
        specs: Sequence[Spec],
        training: bool,
        context: Context,
    ):
        shapes = {name: each._shape for name, each in parameters.items()}
        shapes.update({n: s.shape for n, s in zip(composition.names, specs, strict=True)})
        # In the mode in which it will run.
        in_mode = set_training(composition.symbol.graph, training)
        complete = Symbol(complete_shapes(in_mode, shapes).heads)
        unplaced = unplaced_graph(complete, training)
        data: dict[str, Node] = {name: Node(None, name=name) for name in composition.names}
        by_name = {node.name: node for node in unplaced.inputs}
        data.update({name: by_name[name] for name in data if name in by_name})
        learned = [node for node in unplaced.inputs if node.name not in data]
        inputs = (*data.values(), *learned)
        places = {node: i for i, node in enumerate(inputs)}
        states = tuple(places[unplaced.inputs[i]] for i in unplaced.states)
        self.parameters = [parameters[node.name] for node in learned]
        graph = Graph(unplaced.heads, inputs, unplaced.num_outputs, states)
        self.is_cut = is_cut(graph, context)
        # parts have keys of their own
        self.graph = graph if self.is_cut else assign_keys(graph, composition.drawing, training)
        self.captured = []
        self.outputs = composition.outputs
        self.context = context
        self.key = TraceKey(
            tuple(specs),
            training,
            tuple(composition.names),
            describe(composition.structure),
            {each.name: each._on(context)._spec for each in self.parameters},
        )

    def parameter_handles(self, context: Context) -> list[NDArray]:
        """The parameters' ``data`` on a context, in the order of the graph's inputs."""
        return [each._input(context) for each in self.parameters]


def _leaf_types(structure: Any) -> list[type]:
    """Classes of the arrays of a structure in order."""
    if isinstance(structure, type):
        return [structure]
    if structure[0] == "constant":
        return []
    if structure[0] is dict:
        return _leaf_types(structure[2])
    return [leaf for part in structure[1] for leaf in _leaf_types(part)]


def _flattened(output: object) -> tuple[list[Symbol], Any]:
    """Symbols of nested lists, and the structure of the corresponding arrays."""
    if isinstance(output, Symbol):
        kind = np_ndarray if isinstance(output, NumpySymbol) else NDArray
        count = output.num_outputs
        return [output], kind if count == 1 else (list, (kind,) * count)
    if isinstance(output, (list, tuple)):
        parts = [_flattened(each) for each in output]
        leaves = [leaf for part, _ in parts for leaf in part]
        # a tuple becomes a list, as MXNet's hybridized blocks return one
        return leaves, (list, tuple(structure for _, structure in parts))
    if isinstance(output, dict):
        leaves, structure = _flattened(list(output.values()))
        return leaves, (dict, tuple(output), structure)
    return [], ("constant", output)


def _format(nested: object, role: str) -> Any:
    try:
        return _flatten(nested, role)[1]
    except ValueError:
        return None


def entries_by_name(symbol: Symbol) -> dict[str, Entry]:
    """The entries of a symbol's variables."""
    return {node.name: Entry(node) for node in symbol.graph.nodes if node.is_variable}
