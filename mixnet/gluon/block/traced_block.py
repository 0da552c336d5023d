"""A block whose forward becomes a graph: composed of symbols, or traced with arrays without values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.base import AttributeValueError, ShapeError
from mixnet.gluon.block.block import Block
from mixnet.gluon.block.compose import Composed, Composition, entries_by_name, usual_names
from mixnet.gluon.block.needs_arrays import needs_arrays
from mixnet.gluon.parameter import Parameter, ParameterDict
from mixnet.gluon.parameter.arrays import is_initialized
from mixnet.gluon.trace import Program, Traced, flatten
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes import pipeline
from mixnet.passes.assign_keys import KEY_SPEC
from mixnet.passes.facts import Facts
from mixnet.passes.infer_shape import is_known
from mixnet.passes.place_devices import place_devices
from mixnet.process.collector import collector_paused
from mixnet.process.source import warn_user
from mixnet.runtime.trace.graph_op import GraphOp, graph_op
from mixnet.runtime.trace.placed import PlacedGraph
from mixnet.runtime.trace.trace_key import TraceKey
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec
from mixnet.symbol.cached_op import CachedOp
from mixnet.symbol.inference_arguments import arguments_printed
from mixnet.symbol.symbol import Symbol

Runnable = GraphOp | PlacedGraph


class TracedBlock(Block):
    """A block that has a graph for each structure, shape and dtype of inputs, predicting or training."""

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None, **unknown: object
    ):
        super().__init__(prefix, params, **unknown)
        self._flags: dict[str, Any] = {}
        self._mx_cache: dict[Any, tuple[Program, Runnable]] = {}
        self._mx_compositions: dict[Any, Composition | None] = {}
        self._cached_op: CachedOp | None = None
        # of the last trace, for the reasons of the next one
        self._mx_last_key: TraceKey | None = None

    def _clear_cached_op(self) -> None:
        self.__dict__.update(self._mx_no_graphs())

    def _mx_no_graphs(self) -> dict[str, Any]:
        """The attributes that hold graphs, with their values before the first call."""
        return {
            "_mx_cache": {},
            "_mx_compositions": {},
            "_cached_graph": (),
            "_cached_op": None,
        }

    def __getstate__(self) -> dict[str, Any]:
        # a copy creates its own graphs: compiled ones belong to the parameters of this block
        return {**self.__dict__, **self._mx_no_graphs()}

    def _mx_program(self, leaves: Sequence[NDArray], structure: object) -> tuple[Program, Runnable]:
        key = self._mx_key(leaves, structure)
        program = self._mx_cache.get(key)
        if program is None:
            with collector_paused():
                program = self._mx_cache[key] = self._mx_compile(leaves, structure)
            if self._cached_op is None and self._cached_graph:
                self._cached_op = CachedOp(self._cached_graph[1], self._flags.items())
        return program

    def _build_cache(self, *args: object) -> None:
        """Create the graph for a call with these inputs; nothing runs."""
        self._mx_program(*flatten(args))

    @staticmethod
    def _mx_key(leaves: Sequence[NDArray], structure: object) -> Any:
        specs = []
        for leaf in leaves:
            specs.append(leaf._spec)
        return tuple(specs), hashable(structure), bool(state.training)

    def is_traced(self, specs: Sequence[Spec], structure: object, training: bool) -> bool:
        """Whether a compiled graph exists for a call with such inputs.

        Args:
            specs: specs of the arrays among the arguments.
            structure: the arguments without their arrays, see ``gluon.trace.flatten``.
            training: whether operators train.
        """
        return self._active and (tuple(specs), hashable(structure), training) in self._mx_cache

    def trace_keys(self) -> list[TraceKey]:
        """The inputs that each compiled graph was created for, oldest first; empty before the first call."""
        return [program.key for program, _ in self._mx_cache.values()]

    def _mx_compile(self, leaves: Sequence[NDArray], structure: object) -> tuple[Program, Runnable]:
        specs = [leaf._spec for leaf in leaves]
        program = self._mx_trace(specs, structure, bool(state.training))
        context = leaves[0].context
        specs += [handle._spec for handle in program.parameter_handles(context)]
        specs += [value.spec for value in program.captured]
        if program.is_cut:
            self._mx_last_key = program.key
            contexts = [context] * len(program.graph.inputs)
            placement = place_devices(program.graph, {}, context, contexts)
            return program, PlacedGraph(placement, self.name, self._flags.get("recompute"))
        known = [(spec.shape, spec.dtype) for spec in specs]
        if len(known) < len(program.graph.inputs):  # the key of a graph that draws
            known.append(KEY_SPEC)
        facts = Facts(context.device.platform, known)
        graph = pipeline.run(program.graph, "graph", facts)
        self._mx_last_key = program.key
        return program, graph_op(graph, self.name, self._flags.get("recompute"))

    def _mx_trace(self, specs: Sequence[Spec], structure: object, training: bool) -> Program:
        """The graph for such inputs: composed of symbols, or traced if that is not possible."""
        context = specs[0].context
        composition = self._mx_composition(structure, len(specs))
        if composition is not None:
            if not self._mx_cache:
                self._mx_warn_of_unused(composition)
            try:
                parameters = self._mx_completed(composition, specs)
                return Composed(composition, parameters, specs, training, context)
            except ShapeError:
                # The trace usually fails too, at the user's line. It succeeds where arrays
                # broadcast and symbols do not (`+`), but then a graph that was saved and loaded
                # would fail.
                Traced(self.forward, specs, structure, training, context)
                raise
        return Traced(self.forward, specs, structure, training, context)

    def _mx_warn_of_unused(self, composition: Composition) -> None:
        """Warn of parameters and inputs that the graph does not read, as MXNet does."""
        read = set(composition.symbol.list_inputs())
        unused = [each.name for each in self.collect_params().values() if each.name not in read]
        if unused:
            warn_user(
                f"Parameter {', '.join(unused)} is not used by any computation of {self.name}: it will not "
                f"be trained."
            )
        inputs = [f"{i}-th" for i, name in enumerate(composition.names) if name not in read]
        if inputs:
            warn_user(
                f"The {', '.join(inputs)} input to HybridBlock {self.name} is not used by any computation."
            )

    def _mx_composition(self, structure: object, count: int) -> Composition | None:
        """The block on symbols, created at the first call; None if a part accepts only arrays.

        Raises:
            Exception: raised by the block's code.
        """
        key = hashable(structure)
        # Another thread may hybridize again, which replaces it.
        compositions = self._mx_compositions
        if key not in compositions:
            composition = None
            if all(takes_symbols(each) for each in self._mx_walk()):
                try:
                    composition = Composition(
                        self.forward, structure, count, self._mx_input_names(count)
                    )
                except Exception as error:
                    if not needs_arrays(error):
                        raise
                else:
                    self._cached_graph = (composition.inputs, composition.symbol)
                    self._mx_formats = composition.formats
            compositions[key] = composition
        return compositions[key]

    def _mx_input_names(self, count: int) -> list[str]:
        """Names of the arrays of a call in the block's symbol."""
        return usual_names(count)

    def _mx_composed(self, structure: object, count: int) -> Composition:
        """The block on symbols; errors of its code are raised."""
        composition = self._mx_composition(structure, count)
        if composition is None:
            composition = Composition(self.forward, structure, count, self._mx_input_names(count))
        elif not self._cached_graph:
            self._cached_graph = (composition.inputs, composition.symbol)
        return composition

    def _mx_completed(self, composition: Composition, specs: Sequence[Spec]) -> Any:
        """The parameters by name; deferred ones are initialized."""
        parameters = self._mx_parameters_of(composition)
        if not all(map(is_initialized, parameters.values())):
            self._mx_take_shapes(composition, specs, parameters)
            for each in parameters.values():
                if each._deferred_init and not is_known(each._shape):
                    raise AttributeValueError(
                        f"The shape {each._shape} of parameter {each.name!r} cannot be inferred from the "
                        f"shapes of the inputs, so its deferred initialization fails. Give the layer "
                        f"its input size (in_units, in_channels)."
                    )
                each._finish_deferred_init()
        return parameters

    def _mx_parameters_of(self, composition: Composition) -> dict[str, Parameter]:
        parameters = self._mx_all_parameters()
        names = composition.symbol.list_inputs()
        return {name: parameters[name] for name in names if name in parameters}

    @staticmethod
    def _mx_take_shapes(
        composition: Composition, specs: Sequence[Spec], parameters: dict[str, Parameter]
    ) -> None:
        shapes = composition.infer_shapes(specs, parameters).shapes
        entries = entries_by_name(composition.symbol)
        for name, each in parameters.items():
            each._complete_shape(shapes.get(entries[name]))

    def _mx_composed_with(
        self, args: tuple[object, ...]
    ) -> tuple[Composition, list[Any], list[Spec]]:
        """The composition for these arguments, their arrays, and shape, dtype and device of each."""
        leaves, structure = flatten(args)
        composition = self._mx_composed(structure, len(leaves))
        return composition, leaves, [leaf._spec for leaf in leaves]

    def infer_shape(self, *args: object) -> None:
        """Complete the shapes of parameters from these inputs.

        Raises:
            ShapeError: shapes contradict each other.
        """
        composition, leaves, specs = self._mx_composed_with(args)
        names = [str(each.name) for each in composition.inputs]
        shapes = {name: leaf.shape for name, leaf in zip(names, leaves, strict=False)}
        with arguments_printed("infer_shape", (), shapes):
            self._mx_take_shapes(composition, specs, self._mx_parameters_of(composition))

    def infer_type(self, *args: object) -> None:
        """Set the dtypes of parameters from these inputs."""
        composition, _, specs = self._mx_composed_with(args)
        dtypes = composition.infer(specs, {}).dtypes
        entries = entries_by_name(composition.symbol)
        for name, each in self._mx_parameters_of(composition).items():
            if entries[name] in dtypes:
                each.cast(dtypes[entries[name]].type)

    def _get_graph(self, *args: object) -> tuple[list[Symbol], Symbol]:
        """Variables of the inputs and the composed symbol."""
        leaves, structure = flatten(args)
        composition = self._mx_composed(structure, len(leaves))
        return composition.inputs, composition.symbol


def takes_symbols(block: Block) -> bool:
    """Whether a block's forward accepts symbols: those of the library do, even if they override it."""
    return type(block).forward.__module__.partition(".")[0] == "mixnet"


def hashable(structure: object) -> Any:
    """The structure of arguments as a key: its text, if it contains unhashable constants."""
    try:
        hash(structure)
        return structure
    except TypeError:
        return repr(structure)
