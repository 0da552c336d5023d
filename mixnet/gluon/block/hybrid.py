"""HybridBlock: a block whose forward is composed or traced once and then runs as one compiled graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax

from mixnet import ndarray as nd
from mixnet import symbol as sym
from mixnet.autograd.scope import RecordingScope
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    MXNetError,
    NotDefinedError,
    ShapeError,
    StateError,
    checked_number,
)
from mixnet.context import current_context
from mixnet.dtype import as_dtype
from mixnet.gluon.block.arguments import not_arrays, refused
from mixnet.gluon.block.block import Block
from mixnet.gluon.block.compose import Composed, Composition, entries_by_name
from mixnet.gluon.block.export_formats import export_as
from mixnet.gluon.block.needs_arrays import needs_arrays
from mixnet.gluon.block.run_symbol import run_symbol
from mixnet.gluon.block.shortcut import Shortcut
from mixnet.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from mixnet.gluon.trace import Program, Traced, flatten, unflatten
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import save
from mixnet.passes import pipeline
from mixnet.passes.assign_keys import KEY_SPEC
from mixnet.passes.facts import Facts
from mixnet.passes.infer_shape import is_known
from mixnet.passes.place_devices import place_devices
from mixnet.passes.plan_memory import MemoryPlan
from mixnet.passes.recompute import check_mode
from mixnet.process.collector import collector_paused
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.record.measure import UnknownSizeError
from mixnet.runtime.trace.graph_op import GraphOp, call_graph, graph_op, move_states
from mixnet.runtime.trace.placed import PlacedGraph
from mixnet.runtime.trace.trace_key import TraceKey
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec
from mixnet.symbol.at_once import AtOnce
from mixnet.symbol.cached_op import CachedOp
from mixnet.symbol.memory import plan_of
from mixnet.symbol.numpy.symbol import _Symbol as NumpySymbol
from mixnet.symbol.spell import spelled_out
from mixnet.symbol.symbol import Symbol, arguments_printed
from mixnet.util import set_module

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.dtype import DTypeLike
    from mixnet.gluon.block.tensor import Tensor

_OWN_FLAGS = frozenset(
    [
        "static_alloc",
        "static_shape",
        "inline_limit",
        "forward_bulk_size",
        "backward_bulk_size",
        "backend",
        "recompute",
    ]
)
"""Arguments of ``hybridize`` that are no options of a backend."""
Runnable = GraphOp | PlacedGraph


@set_module("mixnet.gluon.block")
class HybridBlock(Block):
    """A block that can be hybridized: override ``hybrid_forward(F, x, weight, ...)`` or ``forward``.

    By default, it runs like any imperative code. After ``hybridize()``, its graph is created at the
    first call and compiled for each shape; later calls run that. The graph is composed of symbols,
    as MXNet does (``F`` is ``mx.sym``), where every part defines ``hybrid_forward``; else, or where
    the code needs what symbols do not have, forward runs once on arrays without values.
    """

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None, **unknown: object
    ):
        super().__init__(prefix, params, **unknown)
        self._active = False
        self._flags: dict[str, Any] = {}
        self._cache: dict[Any, tuple[Program, Runnable]] = {}
        self._compositions: dict[Any, Composition | None] = {}
        self._without_graph: set[Any] = set()  # calls that run operator by operator
        self._shortcut: Shortcut | None = None
        self._cached_graph: Any = ()
        self._formats: tuple[Any, Any] = (None, None)
        self._op_hook: tuple[Callable[..., Any], bool] | None = None
        self._last_key: TraceKey | None = None  # of the last trace, to tell why there is another

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; blocks and parameters become children, and cached graphs are discarded."""
        super().__setattr__(name, value)
        if isinstance(value, (Block, Parameter)) and "_cache" in self.__dict__:
            self._clear_cached_op()

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Add a child block, under ``name`` or its index.

        Raises:
            ValueError: it cannot be hybridized.
        """
        if isinstance(block, Block) and not isinstance(block, HybridBlock):
            raise AttributeValueError(
                f"Children of a HybridBlock are HybridBlocks too; {block!r} is a "
                f"{type(block).__name__}. Derive it from HybridBlock, or this one from Block (put "
                f"it into nn.Sequential rather than nn.HybridSequential)."
            )
        super().register_child(block, name)
        self._clear_cached_op()

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Turn running as a compiled graph on or off, for the children too.

        A compiled graph has static memory and shapes in any case: the arguments below are MXNet's,
        accepted for compatibility.

        Args:
            active: whether to.
            backend: computes predictions, see ``Symbol.optimize_for``.
            clear: discard cached graphs.
            static_alloc: memory is planned ahead.
            static_shape: shapes do not change.
            inline_limit: graphs of so few operators are inlined.
            forward_bulk_size: operators that run as one in forward.
            backward_bulk_size: operators that run as one in backward.
            kwargs: ``recompute="mirror"`` or ``"sublinear"``: backward recomputes most activations,
                which takes time and saves memory; see :func:`mixnet.passes.recompute.kept_nodes`.
                Others, such as ``partial_shape``, are options of a backend.

        Raises:
            AttributeValueError: there is no such way to recompute.
        """
        check_mode(kwargs.get("recompute"))
        self._active, self._shortcut = active, None
        self._flags = {
            "backend": backend,
            "static_alloc": static_alloc,
            "static_shape": static_shape,
            "inline_limit": inline_limit,
            "forward_bulk_size": forward_bulk_size,
            "backward_bulk_size": backward_bulk_size,
            **kwargs,
        }
        if clear:
            self._clear_cached_op()
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warnings.warn(
                f'"{self}" has hooks while it is hybridized: as a child of a hybridized block, it and '
                f"its hooks run only once, when the graph is created.",
                stacklevel=2,
            )
        super().hybridize(
            active,
            static_alloc=static_alloc,
            static_shape=static_shape,
            inline_limit=inline_limit,
            forward_bulk_size=forward_bulk_size,
            backward_bulk_size=backward_bulk_size,
            **kwargs,
        )

    def optimize_for(
        self,
        x: Tensor,
        *args: Any,
        backend: str | None = None,
        clear: bool = False,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: object,
    ) -> None:
        """Hybridize, and create the graph for these inputs without running it.

        Args:
            x: first input.
            args: further inputs.
            backend: see ``Symbol.optimize_for``. It computes predictions; training uses XLA.
            clear: see :meth:`hybridize`, also for the arguments below.

        Raises:
            ValueError: no backend is named.
        """
        if not backend:
            raise AttributeValueError(
                'optimize_for takes backend="NAME"; without a backend, call hybridize().'
            )
        self.hybridize(
            True,
            backend,
            clear,
            static_alloc,
            static_shape,
            inline_limit,
            forward_bulk_size,
            backward_bulk_size,
            **kwargs,
        )
        leaves, structure = flatten((x, *args))
        if not self._has_backend():
            self._program(leaves, structure)
        else:
            self._call_backend(leaves, structure)

    def _clear_cached_op(self) -> None:
        self.__dict__.setdefault("_cache", {}).clear()
        self.__dict__.setdefault("_compositions", {}).clear()
        self.__dict__.setdefault("_backend_calls", {}).clear()
        self.__dict__.setdefault("_without_graph", set()).clear()
        self.__dict__["_cached_graph"] = ()
        self.__dict__["_shortcut"] = None

    def __getstate__(self) -> dict[str, Any]:
        # a copy makes its graphs anew: compiled ones belong to the parameters of this block
        return {
            **self.__dict__,
            "_cache": {},
            "_compositions": {},
            "_backend_calls": {},
            "_without_graph": set(),
            "_cached_graph": (),
            "_shortcut": None,
        }

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all parameters."""
        self._clear_cached_op()
        super().cast(dtype)

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Call ``callback(name, operator, array)`` for every result, once hybridized.

        While there is a hook, the operators run one by one.

        Args:
            callback: gets the name of the result (``dense0_fwd_output``), the operator's name
                (``FullyConnected``), and the array.
            monitor_all: also for the operators' inputs.
        """
        super().register_op_hook(callback, monitor_all)
        self._op_hook = (callback, monitor_all)

    # ---- calling ------------------------------------------------------------------------------

    def _run(self, *args: Any) -> Any:
        """Run forward: as a compiled graph if hybridized, and not within another trace."""
        if not self._active or state.trace is not None:
            return self.forward(*args)
        outputs = None if self._shortcut is None else self._shortcut(args)
        if outputs is not None:
            return outputs
        leaves, structure = flatten(args)
        if not leaves or any(isinstance(each, Symbol) for each in args):
            return self.forward(*args)
        key = self._key(leaves, structure)
        if key not in self._without_graph:
            try:
                return self._call_graph(leaves, structure)
            except UnknownSizeError:  # a trace cannot be cut: only what is composed of symbols
                self._without_graph.add(key)
        return self.forward(*args)

    def _call_cached_op(self, *args: Any) -> Any:
        """Run the block as a compiled graph; a user-defined ``forward`` calls this if ``_active`` is true.

        Within a trace, the block is not nested as a graph: its operations are traced.
        """
        if state.trace is not None:
            return HybridBlock.forward(self, *args)
        leaves, structure = flatten(args)
        return self._call_graph(leaves, structure)

    def _call_graph(self, leaves: Sequence[NDArray], structure: object) -> Any:
        if len(leaves) > 1 and len({leaf.context for leaf in leaves}) > 1:
            raise AttributeValueError(
                f"{self.name}: all inputs of a hybridized block must be on one context; these "
                f"are on "
                f"{sorted({str(leaf.context) for leaf in leaves})}. Move them: "
                f"x.as_in_context(ctx)."
            )
        if self._has_backend() and not state.training and not state.recording:
            return self._call_backend(leaves, structure)
        program, op = self._program(leaves, structure)
        # Operators of sparse arrays have rules of their own, and results of other storage types.
        if self._op_hook is not None or any(leaf._is_sparse for leaf in leaves):
            composition = self._composition(structure, len(leaves))
            if composition is not None:
                return self._call_by_operator(composition, program, leaves)
        values = [leaf._read() for leaf in leaves]
        context = values[0].spec.context
        handles = program.parameter_handles(context)
        inputs = [*values, *[handle._read() for handle in handles], *program.captured]
        places = op.states if isinstance(op, PlacedGraph) else op.graph.states
        written = [handles[i - len(values)] for i in places]
        before = [inputs[i] for i in places]
        if isinstance(op, PlacedGraph):
            outputs, states = op.run(inputs)
            op.move_states(written, before, states)
        else:
            outputs, states = call_graph(op, inputs, context)
            move_states(op, written, before, states)
        return unflatten(iter(outputs), program.outputs, wrap=True)

    def _has_backend(self) -> bool:
        """Whether a backend other than XLA computes predictions."""
        return self._flags.get("backend") not in (None, "", "XLA")

    def _backend(self) -> tuple[Any, dict[str, Any]]:
        """The name of what computes predictions, None for XLA, and its options."""
        name = self._flags["backend"] if self._has_backend() else None
        return name, {n: each for n, each in self._flags.items() if n not in _OWN_FLAGS}

    def _call_backend(self, leaves: Sequence[NDArray], structure: object) -> Any:
        """The outputs of the block's backend, which holds the parameters as of its first call."""
        calls = self.__dict__.setdefault("_backend_calls", {})
        backend, options = self._backend()
        key = _hashable((backend, tuple(options.items()), structure))
        if key not in calls:
            composition = self._composed(structure, len(leaves))
            specs = [leaf._spec for leaf in leaves]
            parameters = self._completed(composition, specs)
            arrays = {name: each.data(leaves[0].context) for name, each in parameters.items()}
            symbol = composition.symbol.optimize_for(backend, arrays, **options)
            at_once = AtOnce.of(symbol, composition.names)
            calls[key] = (at_once, CachedOp(symbol), symbol.list_inputs(), composition, arrays)
        at_once, call, names, composition, arrays = calls[key]
        if at_once is not None:
            outputs = at_once(leaves)
            if outputs is not None:
                if structure == (tuple, tuple(map(type, leaves))):
                    self._shortcut = Shortcut(at_once, leaves, composition.outputs)
                return unflatten(iter(outputs), composition.outputs)
        by_name = {**arrays, **dict(zip(composition.names, leaves, strict=True))}
        results = call(*[by_name[name] for name in names])
        outputs = results if isinstance(results, list) else [results]
        return unflatten(iter(outputs), composition.outputs)

    def _call_by_operator(
        self, composition: Composition, program: Program, leaves: Sequence[NDArray]
    ) -> Any:
        by_name = dict(zip(composition.names, leaves, strict=True))
        handles = program.parameter_handles(leaves[0].context)
        by_name.update({p.name: h for p, h in zip(program.parameters, handles, strict=True)})
        cls = NDArray if leaves[0]._is_sparse else type(leaves[0])
        outputs = run_symbol(composition.symbol, by_name, cls, self._op_hook)
        return unflatten(iter(outputs), composition.outputs)

    def _program(self, leaves: Sequence[NDArray], structure: object) -> tuple[Program, Runnable]:
        key = self._key(leaves, structure)
        program = self._cache.get(key)
        if program is None:
            with collector_paused():
                program = self._cache[key] = self._compile(leaves, structure)
        return program

    @staticmethod
    def _key(leaves: Sequence[NDArray], structure: object) -> Any:
        return tuple([leaf._spec for leaf in leaves]), _hashable(structure), bool(state.training)

    def is_traced(self, specs: Sequence[Spec], structure: object, training: bool) -> bool:
        """Whether a call with such inputs finds a compiled graph.

        Args:
            specs: of the arrays among the arguments.
            structure: the arguments without their arrays, see ``gluon.trace.flatten``.
            training: whether operators train.
        """
        return self._active and (tuple(specs), _hashable(structure), training) in self._cache

    def trace_keys(self) -> list[TraceKey]:
        """The inputs that each compiled graph was created for, oldest first; empty before the first call."""
        return [program.key for program, _ in self._cache.values()]

    def _compile(self, leaves: Sequence[NDArray], structure: object) -> tuple[Program, Runnable]:
        specs = [leaf._spec for leaf in leaves]
        program = self._trace(specs, structure, bool(state.training))
        context = leaves[0].context
        specs += [handle._spec for handle in program.parameter_handles(context)]
        specs += [value.spec for value in program.captured]
        if program.is_cut:
            self._last_key = program.key
            contexts = [context] * len(program.graph.inputs)
            placement = place_devices(program.graph, {}, context, contexts)
            return program, PlacedGraph(placement, self.name, self._flags.get("recompute"))
        known = [(spec.shape, spec.dtype) for spec in specs]
        if len(known) < len(program.graph.inputs):  # the key of a graph that draws
            known.append(KEY_SPEC)
        facts = Facts(context.device.platform, known)
        graph = pipeline.run(program.graph, "graph", facts)
        self._last_key = program.key
        return program, graph_op(graph, self.name, self._flags.get("recompute"))

    def _trace(self, specs: Sequence[Spec], structure: object, training: bool) -> Program:
        """The graph for such inputs: composed of symbols, or traced if that is not possible."""
        context = specs[0].context
        composition = self._composition(structure, len(specs))
        if composition is not None:
            try:
                parameters = self._completed(composition, specs)
                return Composed(composition, parameters, specs, training, context)
            except ShapeError:
                pass  # the trace fails too, at the user's line
        return Traced(self.forward, specs, structure, training, context)

    def _composition(self, structure: object, count: int) -> Composition | None:
        """The block on symbols, created at the first call; None if a part accepts only arrays.

        Raises:
            Exception: raised by the block's code.
        """
        key = _hashable(structure)
        if key not in self._compositions:
            composition = None
            if all(_takes_symbols(each) for each in self._walk()):
                try:
                    composition = Composition(self.forward, structure, count)
                except Exception as error:
                    if not needs_arrays(error):
                        raise
                else:
                    self._cached_graph = (composition.inputs, composition.symbol)
                    self._formats = composition.formats
            self._compositions[key] = composition
        return self._compositions[key]

    def _completed(self, composition: Composition, specs: Sequence[Spec]) -> Any:
        """The parameters by name; deferred ones are initialized."""
        parameters = self._parameters_of(composition)
        if any(not each._arrays for each in parameters.values()):
            self._take_shapes(composition, specs, parameters)
            for each in parameters.values():
                if each._deferred_init and not is_known(each._shape):
                    raise AttributeValueError(
                        f"The shape {each._shape} of parameter {each.name!r} cannot be inferred from the "
                        f"shapes of the inputs, so its deferred initialization fails. Give the layer "
                        f"its input size (in_units, in_channels)."
                    )
                each._finish_deferred_init()
        return parameters

    def _parameters_of(self, composition: Composition) -> dict[str, Parameter]:
        parameters = {each.name: each for each in self.collect_params().values()}
        for block in self._walk():
            parameters.update({each.name: each for each in block._reg_params.values()})
        names = composition.symbol.list_inputs()
        return {name: parameters[name] for name in names if name in parameters}

    @staticmethod
    def _take_shapes(
        composition: Composition, specs: Sequence[Spec], parameters: dict[str, Parameter]
    ) -> None:
        shapes = composition.infer(specs, parameters).shapes
        entries = entries_by_name(composition.symbol)
        for name, each in parameters.items():
            shape = shapes.get(entries[name])
            if shape is not None and is_known(shape) and not is_known(each._shape):
                each.shape = shape

    def forward(self, x: Tensor, *args: Any) -> Any:
        """Call ``hybrid_forward`` with ``mx.nd`` or ``mx.sym`` and the block's parameters.

        Raises:
            ValueError: there is neither an array nor a symbol among the inputs, or both.
        """
        first = x if not args and isinstance(x, (NDArray, Symbol)) else _first(self, (x, *args))
        if isinstance(first, Symbol):
            params: dict[str, Any] = {n: each.var() for n, each in self._reg_params.items()}
            if isinstance(first, NumpySymbol):
                params = {name: each.as_np_ndarray() for name, each in params.items()}
            with self.name_scope():
                return self._hybrid(sym, x, args, params)
        context, waits = first.context, False
        try:
            params = {name: each.data(context) for name, each in self._reg_params.items()}
        except DeferredInitializationError:
            waits = True  # what fails from here on did not fail for waiting
        if waits:
            self._deferred_infer_shape(x, *args)
            for each in self._reg_params.values():
                each._finish_deferred_init()
            params = {name: each.data(context) for name, each in self._reg_params.items()}
        return self._hybrid(nd, x, args, params)

    def _deferred_infer_shape(self, *args: Any) -> None:
        """Infer the shapes of deferred parameters; a failure is a ``ValueError``."""
        try:
            self.infer_shape(*args)
        except MXNetError as error:
            if isinstance(error, ValueError):
                raise
            raise AttributeValueError(
                f"Deferred initialization failed because shape cannot be inferred. {error}"
            ) from error

    def _hybrid(
        self, F: ModuleType, x: Tensor, args: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        try:
            return self.hybrid_forward(F, x, *args, **params)
        except TypeError as error:
            if isinstance(error, MXNetError):
                raise
            function = partial(self.hybrid_forward, F)
            problem = refused(self, function, (x, *args), params)
            if problem is None:
                raise
            raise problem from None

    def hybrid_forward(self, F: ModuleType, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Outputs from inputs, with operators from ``F``; parameters come by name."""
        raise NotDefinedError(
            f"{type(self).__name__} defines neither forward(self, x) nor "
            f"hybrid_forward(self, F, x, ...)."
        )

    # ---- shapes and graphs --------------------------------------------------------------------

    def infer_shape(self, *args: Any) -> None:
        """Complete the shapes of parameters from these inputs.

        Raises:
            ShapeError: shapes contradict each other.
        """
        leaves, structure = flatten(args)
        composition = self._composed(structure, len(leaves))
        specs = [leaf._spec for leaf in leaves]
        names = [str(each.name) for each in composition.inputs]
        shapes = {name: leaf.shape for name, leaf in zip(names, leaves, strict=False)}
        with arguments_printed("infer_shape", (), shapes):
            self._take_shapes(composition, specs, self._parameters_of(composition))

    def infer_type(self, *args: Any) -> None:
        """Set the dtypes of parameters from these inputs."""
        leaves, structure = flatten(args)
        composition = self._composed(structure, len(leaves))
        specs = [leaf._spec for leaf in leaves]
        dtypes = composition.infer(specs, {}).dtypes
        entries = entries_by_name(composition.symbol)
        for name, each in self._parameters_of(composition).items():
            if entries[name] in dtypes:
                each.cast(dtypes[entries[name]].type)

    def _composed(self, structure: object, count: int) -> Composition:
        """The block on symbols; errors of its code are raised."""
        composition = self._composition(structure, count)
        if composition is None:
            composition = Composition(self.forward, structure, count)
        elif not self._cached_graph:
            self._cached_graph = (composition.inputs, composition.symbol)
        return composition

    def memory_plan(
        self,
        *inputs: Any,
        grad_req: str = "null",
        inplace: bool = True,
        co_share: bool = True,
        recompute: bool | str = False,
    ) -> MemoryPlan:
        """How much memory a call takes and where each array is placed; nothing is run or allocated.

        Args:
            inputs: arrays of the shapes and dtypes of a call; their values are not read.
            grad_req: ``null``: prediction. ``write`` or ``add``: training, forward and gradients of all
                parameters that have one.
            inplace: outputs may reuse the memory of inputs that die there.
            co_share: arrays may reuse the memory of dead ones.
            recompute: backward recomputes results of forward instead of storing them.

        Returns:
            The plan, as for ``Symbol.memory_plan``.
        """
        leaves, structure = flatten(inputs)
        composition = self._composed(structure, len(leaves))
        names = composition.names
        shapes = {name: leaf.shape for name, leaf in zip(names, leaves, strict=False)}
        dtypes = {name: leaf._spec.dtype for name, leaf in zip(names, leaves, strict=False)}
        for name, each in self.collect_params().items():
            dtypes[name] = as_dtype(each.dtype)
        all_requests = {
            n: grad_req for n, p in self.collect_params().items() if p.grad_req != "null"
        }
        arguments = set(composition.symbol.list_arguments())
        requests = {name: each for name, each in all_requests.items() if name in arguments}
        return plan_of(composition.symbol, requests, shapes, dtypes, inplace, co_share, recompute)

    def to_symbol(self, *inputs: Any) -> Symbol:
        """The graph as a symbol whose variables are the inputs and the parameters.

        Args:
            inputs: example arrays; needed if the network has not been called yet.

        Raises:
            StateError: the network has not been called and there are no inputs.
        """
        if inputs:
            leaves, structure = flatten(tuple(inputs))
            with RecordingScope(False, False):
                Block.__call__(self, *inputs)  # completes shapes that wait for data
            composition = self._composition(structure, len(leaves))
            if composition is not None:
                return composition.symbol
            traced = self._trace([leaf._spec for leaf in leaves], structure, False)
        elif self._cached_graph:
            return self._cached_graph[1]
        elif not self._cache:
            raise StateError(
                "The network has not been traced yet: call hybridize(), then call the network "
                "once with data."
            )
        else:
            specs, structure, _ = next(iter(self._cache))
            traced = self._trace(list(specs), structure, False)
        return Symbol(spelled_out(traced.graph).heads[: traced.graph.num_outputs])

    def _get_graph(self, *args: Any) -> tuple[list[Symbol], Symbol]:
        """Variables of the inputs and the composed symbol."""
        leaves, structure = flatten(args)
        composition = self._composed(structure, len(leaves))
        return composition.inputs, composition.symbol

    def export(
        self,
        path: str,
        epoch: int = 0,
        remove_amp_cast: bool = True,
        format: str = "mxnet",
        **options: Any,
    ) -> tuple[str, ...]:
        """Write ``path-symbol.json`` and ``path-0000.params`` for deployment, or another format.

        Args:
            path: start of both paths.
            epoch: number in the parameters' file name.
            remove_amp_cast: omit the casts of automatic mixed precision.
            format: ``mxnet``; or for prediction, with the shapes of the network's first call,
                ``onnx``: one file, ``path.onnx``; or ``stablehlo``: ``path.stablehlo``, which
                runs with JAX alone.
            options: of the format. Both: ``dynamic`` and ``dynamic_input_shapes``. ``onnx``:
                ``opset_version`` and others of ``mx.onnx.export_model``; ``stablehlo``:
                ``platforms``, ``parameters`` and ``gradients``, as for
                ``mx.export.export_stablehlo``.

        Returns:
            The paths of the written files.

        Raises:
            StateError: the network was not hybridized and called.
            AttributeValueError: there is no such format.
        """
        symbol, arrays = self._symbol_and_arrays()
        epoch = int(checked_number("epoch", epoch))
        if format != "mxnet":
            return export_as(format, self, path, arrays, self._example_specs(), options)
        if options:
            raise AttributeTypeError(
                f"export has no argument {next(iter(options))!r} in format 'mxnet'."
            )
        symbol_file, params_file = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
        symbol.save(symbol_file, remove_amp_cast)
        save(params_file, arrays)
        return symbol_file, params_file

    def export_page(self, path: str, **options: Any) -> str:
        """Write one HTML file that runs the network in a browser, without a server or a network connection.

        Users draw or drop a picture and see the prediction, the graph and the output of each layer.

        Args:
            path: of the page.
            options: ``draw``, ``labels``, ``title``, ``mean`` and ``std``, as for ``mx.export.export_page``.

        Returns:
            ``path``.

        Raises:
            StateError: the network was not hybridized and called; or the page lacks one of its operators,
                which is named.
            ShapeError: its input is not a picture.
        """
        from mixnet.export.page.export_page import export_page  # only then

        symbol, arrays = self._symbol_and_arrays()
        return export_page(
            symbol, arrays, [spec.shape for spec in self._example_specs()], path, **options
        )

    def _symbol_and_arrays(self) -> tuple[Any, dict[str, NDArray]]:
        """The graph, and its parameters by name with the prefix ``arg:`` or ``aux:``.

        Raises:
            StateError: the network was not hybridized and called.
        """
        if not self._cached_graph and not self._cache:
            raise StateError(
                "export: hybridize the network and call it with data first, so that its graph is "
                "known."
            )
        symbol = self.to_symbol()
        states = set(symbol.list_auxiliary_states())
        by_name = {each.name: each for each in self.collect_params().values()}
        return symbol, {
            f"{'aux' if name in states else 'arg'}:{name}": by_name[name]._reduce()
            for name in symbol.list_inputs()
            if name in by_name
        }

    def _example_specs(self) -> list[Spec]:
        """Shapes and dtypes of the arrays of the first call.

        Raises:
            StateError: there was none.
        """
        if not self._cache:
            raise StateError(
                "export: call the hybridized network with data first, so that the shapes of "
                "its inputs are known."
            )
        specs, _, _ = next(iter(self._cache))
        return list(specs)

    def functionalize(self, *inputs: Any) -> tuple[Any, dict[str, jax.Array]]:
        """A pure JAX function of the network, and its parameters as a pytree.

        ``function(params, *arrays, training=False, key=None, states=False)`` computes the same as the
        network, for ``jax.jit``, ``jax.grad``, ``jax.vmap``, optax and so on. With
        ``states`` it returns the outputs and the parameters with new moving statistics.

        Args:
            inputs: example arrays, needed if shapes are still unknown.

        Returns:
            The function, and a dict from names to JAX arrays, which share no buffer that the
            network would reuse.
        """
        if inputs:
            with RecordingScope(False, False):
                Block.__call__(self, *inputs)
        by_name = {each.name: each for each in self.collect_params().values()}
        params = {
            name: jax.numpy.array(each.data().__jax_array__()) for name, each in by_name.items()
        }

        def function(
            params: dict[str, jax.Array],
            *arrays: Any,
            training: bool = False,
            key: Any = None,
            states: bool = False,
        ) -> Any:
            context = current_context()
            with jax.enable_x64(True):
                arrays = tuple(jax.numpy.asarray(each) for each in arrays)
                specs = [Spec.of(tuple(a.shape), a.dtype, context) for a in arrays]
                structure = (tuple, (NDArray,) * len(arrays))
                program = self._trace(specs, structure, training)
                names = [each.name for each in program.parameters]
                values = [*arrays, *[params[name] for name in names]]
                values += [value.array for value in program.captured]
                if len(values) < len(program.graph.inputs):  # the graph draws
                    if key is None and not training:  # dropout draws nothing when predicting
                        key = jax.numpy.zeros(2, jax.numpy.uint32)
                    if key is None:
                        raise MXNetError(
                            "The network draws random numbers: pass key=jax.random.key(0)."
                        )
                    typed = jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)
                    words = jax.random.key_data(key) if typed else key
                    values.append(jax.numpy.append(words, jax.numpy.uint32(0)))
                results = lower(program.graph)(values, ())
            count = program.graph.num_outputs
            output = unflatten(iter(results[:count]), program.outputs)
            if not states:
                return output
            new = dict(params)
            for i, value in zip(program.graph.states, results[count:], strict=True):
                new[names[i - len(arrays)]] = value
            return output, new

        return function, params


def _takes_symbols(block: Block) -> bool:
    """Whether a block's forward accepts symbols: those of the library do, even if they override it."""
    forward = type(block).forward
    return forward is HybridBlock.forward or forward.__module__.partition(".")[0] == "mixnet"


def _first(block: Block, args: Any) -> Any:
    """The first array or symbol of nested inputs."""

    def arrays_in(value: object) -> list[Any]:
        if isinstance(value, (list, tuple)):
            return [leaf for each in value for leaf in arrays_in(each)]
        if isinstance(value, dict):
            return arrays_in(list(value.values()))
        return [value] if isinstance(value, (NDArray, Symbol)) else []

    leaves = arrays_in(args)
    if not leaves:
        raise AttributeValueError(not_arrays(block, args))
    if len({isinstance(leaf, Symbol) for leaf in leaves}) > 1:
        raise AttributeValueError(
            "A HybridBlock takes NDArrays or Symbols, not both at once. Make variables of the "
            "arrays with mx.sym.var, or bind the symbols first."
        )
    return leaves[0]


def _hashable(structure: object) -> Any:
    try:
        hash(structure)
        return structure
    except TypeError:
        return repr(structure)
