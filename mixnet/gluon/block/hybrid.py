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
    StateError,
    checked_number,
)
from mixnet.dtype import as_dtype
from mixnet.gluon.block.arguments import not_arrays, refused
from mixnet.gluon.block.block import Block
from mixnet.gluon.block.compose import Composition
from mixnet.gluon.block.export_formats import example_specs, export_as, symbol_and_arrays
from mixnet.gluon.block.functionalize import functionalize
from mixnet.gluon.block.run_symbol import run_symbol
from mixnet.gluon.block.shortcut import Shortcut
from mixnet.gluon.block.traced_block import TracedBlock, hashable
from mixnet.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from mixnet.gluon.parameter.arrays import arrays_on
from mixnet.gluon.trace import Program, flatten, unflatten
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import save
from mixnet.passes.plan_memory import MemoryPlan
from mixnet.passes.recompute import check_mode
from mixnet.runtime.record.measure import UnknownSizeError
from mixnet.runtime.trace.graph_op import call_graph, move_states
from mixnet.runtime.trace.placed import PlacedGraph
from mixnet.runtime.value.state import state
from mixnet.symbol.at_once import AtOnce
from mixnet.symbol.cached_op import CachedOp
from mixnet.symbol.memory import plan_of
from mixnet.symbol.numpy.symbol import _Symbol as NumpySymbol
from mixnet.symbol.spell import spelled_out
from mixnet.symbol.symbol import Symbol
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
"""Arguments of ``hybridize`` that are not options of a backend."""


@set_module("mixnet.gluon.block")
class HybridBlock(TracedBlock):
    """A block that can be hybridized: override ``hybrid_forward(F, x, weight, ...)`` or ``forward``.

    By default, it runs like any imperative code. After ``hybridize()``, its graph is created at the
    first call and compiled for each shape; later calls run that. As in MXNet, the graph is composed of
    symbols (``F`` is ``mx.sym``) if every part defines ``hybrid_forward``. Otherwise, or if the code
    needs something that symbols do not have, forward runs once on arrays without values.

    Args:
        prefix, params, unknown: see :class:`Block`.
    """

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None, **unknown: object
    ):
        super().__init__(prefix, params, **unknown)
        self._mx_without_graph: set[Any] = set()  # calls that run operator by operator
        self._mx_backend_calls: dict[Any, Any] = {}
        self._mx_shortcut: Shortcut | None = None
        self._mx_op_hook: tuple[Callable[..., Any], bool] | None = None

    def _mx_no_graphs(self) -> dict[str, Any]:
        attributes: dict[str, Any] = {
            "_mx_without_graph": set(),
            "_mx_backend_calls": {},
            "_mx_shortcut": None,
        }
        return {**super()._mx_no_graphs(), **attributes}

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; blocks and parameters become children, and cached graphs are discarded."""
        super().__setattr__(name, value)
        if isinstance(value, (Block, Parameter)) and "_mx_cache" in self.__dict__:
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
        """Turn compiled graphs on or off, for the children too.

        A compiled graph has static memory and shapes in any case: the arguments below are MXNet's,
        accepted for compatibility.

        Args:
            active: False to run as imperative code again.
            backend: computes predictions, see ``Symbol.optimize_for``.
            clear: discard cached graphs.
            static_alloc: memory is planned ahead.
            static_shape: shapes do not change.
            inline_limit: graphs with up to this number of operators are inlined.
            forward_bulk_size: operators that run as one in forward.
            backward_bulk_size: operators that run as one in backward.
            kwargs: ``recompute="mirror"`` or ``"sublinear"``: backward recomputes most activations,
                which takes time and saves memory; see :func:`mixnet.passes.recompute.kept_nodes`.
                Others, such as ``partial_shape``, are options of a backend.

        Raises:
            AttributeValueError: there is no such way to recompute.
        """
        check_mode(kwargs.get("recompute"))
        self._active, self._mx_shortcut = active, None
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
        *args: object,
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
        if not self._mx_has_backend():
            self._mx_program(leaves, structure)
        else:
            self._mx_call_backend(leaves, structure)

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
        self._mx_op_hook = (callback, monitor_all)

    # ---- calling ------------------------------------------------------------------------------

    def _mx_run(self, *args: Any) -> Any:
        """Run forward: as a compiled graph if hybridized, and not within another trace."""
        if not self._active or state.trace is not None:
            return self.forward(*args)
        outputs = None if self._mx_shortcut is None else self._mx_shortcut(args)
        if outputs is not None:
            return outputs
        leaves, structure = flatten(args)
        if not leaves:
            return self.forward(*args)
        for each in args:
            if isinstance(each, Symbol):
                return self.forward(*args)
        without_graph = self._mx_without_graph
        if not without_graph or self._mx_key(leaves, structure) not in without_graph:
            try:
                return self._mx_call_graph(leaves, structure)
            except UnknownSizeError:  # only a composed graph can be split, not a trace
                without_graph.add(self._mx_key(leaves, structure))
        return self.forward(*args)

    def _call_cached_op(self, *args: Any) -> Any:
        """Run the block as a compiled graph; a user-defined ``forward`` calls this if ``_active`` is true.

        Within a trace, the block is not nested as a graph: its operations are traced.
        """
        if state.trace is not None:
            return HybridBlock.forward(self, *args)
        leaves, structure = flatten(args)
        return self._mx_call_graph(leaves, structure)

    def _mx_call_graph(self, leaves: Sequence[NDArray], structure: object) -> Any:
        if len(leaves) > 1 and len({leaf.context for leaf in leaves}) > 1:
            raise AttributeValueError(
                f"{self.name}: all inputs of a hybridized block must be on one context; these "
                f"are on "
                f"{sorted({str(leaf.context) for leaf in leaves})}. Move them: "
                f"x.as_in_context(ctx)."
            )
        if self._mx_has_backend() and not state.training and not state.recording:
            return self._mx_call_backend(leaves, structure)
        program, op = self._mx_program(leaves, structure)
        has_sparse = False
        for leaf in leaves:
            if leaf._is_sparse:
                has_sparse = True
        # Operators of sparse arrays have rules of their own, and results of other storage types.
        if self._mx_op_hook is not None or has_sparse:
            composition = self._mx_composition(structure, len(leaves))
            if composition is not None:
                return self._mx_call_by_operator(composition, program, leaves)
        inputs = []
        for leaf in leaves:
            inputs.append(leaf._read())
        context = inputs[0].spec.context
        handles = program.parameter_handles(context)
        for handle in handles:
            inputs.append(handle._read())
        inputs += program.captured
        places = op.states if isinstance(op, PlacedGraph) else op.graph.states
        written, before = [], []
        if places:
            holders = [*leaves, *handles]  # a state is a parameter, or an argument of the call
            written = [holders[i] for i in places]
            before = [inputs[i] for i in places]
        if isinstance(op, PlacedGraph):
            outputs, states = op.run(inputs)
            op.move_states(written, before, states)
        else:
            outputs, states = call_graph(op, inputs, context)
            move_states(op, written, before, states)
        return unflatten(iter(outputs), program.outputs, wrap=True)

    def _mx_has_backend(self) -> bool:
        """Whether a backend other than XLA computes predictions."""
        return self._flags.get("backend") not in (None, "", "XLA")

    def _backend(self) -> tuple[Any, dict[str, Any]]:
        """The name of the backend that computes predictions, None for XLA, and its options."""
        name = self._flags["backend"] if self._mx_has_backend() else None
        return name, {n: each for n, each in self._flags.items() if n not in _OWN_FLAGS}

    def _mx_call_backend(self, leaves: Sequence[NDArray], structure: object) -> Any:
        """The outputs of the block's backend, which holds the parameters as of its first call."""
        calls = self._mx_backend_calls
        backend, options = self._backend()
        key = hashable((backend, tuple(options.items()), structure))
        if key not in calls:
            composition = self._mx_composed(structure, len(leaves))
            specs = [leaf._spec for leaf in leaves]
            parameters = self._mx_completed(composition, specs)
            arrays = {name: each.data(leaves[0].context) for name, each in parameters.items()}
            symbol = composition.symbol.optimize_for(backend, arrays, **options)
            at_once = AtOnce.of(symbol, composition.names)
            calls[key] = (at_once, CachedOp(symbol), symbol.list_inputs(), composition, arrays)
        at_once, call, names, composition, arrays = calls[key]
        if at_once is not None:
            outputs = at_once(leaves)
            if outputs is not None:
                if structure == (tuple, tuple(map(type, leaves))):
                    self._mx_shortcut = Shortcut(at_once, leaves, composition.outputs)
                return unflatten(iter(outputs), composition.outputs)
        by_name = {**arrays, **dict(zip(composition.names, leaves, strict=True))}
        results = call(*[by_name[name] for name in names])
        outputs = results if isinstance(results, list) else [results]
        return unflatten(iter(outputs), composition.outputs)

    def _mx_call_by_operator(
        self, composition: Composition, program: Program, leaves: Sequence[NDArray]
    ) -> Any:
        by_name = dict(zip(composition.names, leaves, strict=True))
        handles = program.parameter_handles(leaves[0].context)
        by_name.update({p.name: h for p, h in zip(program.parameters, handles, strict=True)})
        cls = NDArray if leaves[0]._is_sparse else type(leaves[0])
        outputs = run_symbol(composition.symbol, by_name, cls, self._mx_op_hook)
        return unflatten(iter(outputs), composition.outputs)

    if TYPE_CHECKING:  # overridden with the inputs that a program has
        forward: Callable[..., Any]
    else:

        def forward(self, x: Tensor, *args: Any) -> Any:
            """Call ``hybrid_forward`` with ``mx.nd`` or ``mx.sym`` and the block's parameters.

            Args:
                x: first input, an array or a symbol.
                args: further inputs.

            Raises:
                ValueError: there is neither an array nor a symbol among the inputs, or both.
            """
            first = x
            params: dict[str, Any]
            for each in (x, *args):
                if not isinstance(each, NDArray):
                    first = first_input(self, (x, *args))
                    break
            if isinstance(first, Symbol):
                params = {n: each.var() for n, each in self._reg_params.items()}
                if isinstance(first, NumpySymbol):
                    params = {name: each.as_np_ndarray() for name, each in params.items()}
                with self.name_scope():
                    try:
                        return self.hybrid_forward(sym, x, *args, **params)
                    except TypeError as error:
                        self._mx_explain(error, sym, x, args, params)
                        raise
            params = self._mx_own_arrays(first, x, args) if self._reg_params else {}
            try:
                return self.hybrid_forward(nd, x, *args, **params)
            except TypeError as error:
                self._mx_explain(error, nd, x, args, params)
                raise

    def _mx_own_arrays(
        self, first: NDArray, x: Tensor, args: tuple[object, ...]
    ) -> dict[str, NDArray]:
        """The arrays of the block's own parameters where its first input is; completes deferred ones."""
        context, waits = first.context, False
        try:
            params = arrays_on(self._reg_params, context)
        except DeferredInitializationError:
            waits = True  # later errors are not about deferred initialization
        if waits:
            self._deferred_infer_shape(x, *args)
            for each in self._reg_params.values():
                each._finish_deferred_init()
            params = arrays_on(self._reg_params, context)
        return params

    def _deferred_infer_shape(self, *args: object) -> None:
        """Infer the shapes of deferred parameters; a failure is a ``ValueError``.

        A hybridized block has already run its code on symbols, so an error of that code stays
        what it is.
        """
        try:
            self.infer_shape(*args)
        except Exception as error:
            stays = isinstance(error, ValueError) if isinstance(error, MXNetError) else self._active
            if stays:
                raise
            raise AttributeValueError(
                f"Deferred initialization failed because shape cannot be inferred. {error}"
            ) from error

    def _mx_explain(
        self,
        error: TypeError,
        F: ModuleType,
        x: Tensor,
        args: tuple[Any, ...],
        params: dict[str, Any],
    ) -> None:
        """Raise what is wrong with the arguments of ``hybrid_forward``, if they caused its error."""
        if not isinstance(error, MXNetError):
            function = partial(self.hybrid_forward, F)
            problem = refused(self, function, (x, *args), params)
            if problem is not None:
                raise problem from None

    def hybrid_forward(self, F: ModuleType, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Outputs from inputs, with operators from ``F``; parameters are passed by name.

        Args:
            F: ``mx.nd`` or ``mx.sym``.
            x: first input, an array or a symbol.
            args: further inputs.
            kwargs: the block's own parameters, by the names of its attributes.
        """
        raise NotDefinedError(
            f"{type(self).__name__} defines neither forward(self, x) nor "
            f"hybrid_forward(self, F, x, ...)."
        )

    # ---- shapes and graphs --------------------------------------------------------------------

    def memory_plan(
        self,
        *inputs: object,
        grad_req: str = "null",
        inplace: bool = True,
        co_share: bool = True,
        recompute: bool | str = False,
    ) -> MemoryPlan:
        """Plan the memory of a call: its size and the position of each array; nothing is run or allocated.

        Args:
            inputs: arrays of the shapes and dtypes of a call; their values are not read.
            grad_req: ``null``: prediction. ``write`` or ``add``: training, forward and gradients of all
                parameters that have one.
            inplace: outputs may reuse the memory of inputs that are not read later.
            co_share: arrays may reuse the memory of arrays that are no longer needed.
            recompute: backward recomputes results of forward instead of storing them.

        Returns:
            The plan, as for ``Symbol.memory_plan``.
        """
        leaves, structure = flatten(inputs)
        composition = self._mx_composed(structure, len(leaves))
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

    def to_symbol(self, *inputs: object) -> Symbol:
        """The graph as a symbol whose variables are the inputs and the parameters.

        Args:
            inputs: example arrays; needed if the network has not been called yet.

        Raises:
            StateError: the network has not been called and there are no inputs.
        """
        if inputs:
            leaves, structure = flatten(tuple(inputs))
            with RecordingScope(False, False):
                Block.__call__(self, *inputs)  # completes deferred shapes
            composition = self._mx_composition(structure, len(leaves))
            if composition is not None:
                return composition.symbol
            traced = self._mx_trace([leaf._spec for leaf in leaves], structure, False)
        elif self._cached_graph:
            symbol: Symbol = self._cached_graph[1]
            return symbol
        elif not self._mx_cache:
            raise StateError(
                "The network has not been traced yet: call hybridize(), then call the network "
                "once with data."
            )
        else:
            specs, structure, _ = next(iter(self._mx_cache))
            traced = self._mx_trace(list(specs), structure, False)
        return Symbol(spelled_out(traced.graph).heads[: traced.graph.num_outputs])

    def export(
        self,
        path: str,
        epoch: int = 0,
        remove_amp_cast: bool = True,
        format: str = "mxnet",
        **options: object,
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
        symbol, arrays = symbol_and_arrays(self)
        epoch = int(checked_number("epoch", epoch))
        if format != "mxnet":
            return export_as(format, self, path, arrays, example_specs(self), options)
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
        from mixnet.export.page.export_page import export_page  # slow to import

        symbol, arrays = symbol_and_arrays(self)
        return export_page(
            symbol, arrays, [spec.shape for spec in example_specs(self)], path, **options
        )

    def functionalize(self, *inputs: object) -> tuple[Any, dict[str, jax.Array]]:
        """A pure JAX function of the network, and its parameters as a pytree.

        ``function(params, *arrays, training=False, key=None, states=False)`` computes the same as the
        network, for ``jax.jit``, ``jax.grad``, ``jax.vmap``, optax and so on. With
        ``states`` it returns the outputs and the parameters with new moving statistics.

        Args:
            inputs: example arrays, needed if shapes are still unknown.

        Returns:
            The function, and a dict from names to JAX arrays, whose buffers the network does not reuse.
        """
        return functionalize(self, inputs)


def first_input(block: Block, args: object) -> Any:
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
