"""HybridBlock: a block whose forward can be traced once and run as one compiled graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from mixnet import ndarray as nd
from mixnet import symbol as sym
from mixnet.autograd.scope import RecordingScope
from mixnet.base import MXNetError
from mixnet.context import current_context
from mixnet.dtype import as_dtype
from mixnet.gluon.block import Block
from mixnet.gluon.parameter import (
    DeferredInitializationError,
    Parameter,
    ParameterDict,
    fill,
)
from mixnet.gluon.trace import Traced, flatten, unflatten, untraced
from mixnet.graph.node import Entry
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load, save
from mixnet.numpy.ndarray import ndarray as np_ndarray
from mixnet.numpy.ndarray import share
from mixnet.passes import pipeline
from mixnet.passes.assign_keys import KEY_SPEC
from mixnet.passes.facts import Facts
from mixnet.passes.infer_shape import infer
from mixnet.passes.plan_memory import MemoryPlan
from mixnet.passes.recompute import check_mode
from mixnet.runtime.graph_op import GraphOp, call_graph
from mixnet.runtime.lower import lower
from mixnet.runtime.state import state
from mixnet.runtime.trace_key import TraceKey
from mixnet.runtime.value import Spec
from mixnet.symbol.memory import plan_of
from mixnet.symbol.numpy.symbol import _Symbol as NumpySymbol
from mixnet.symbol.spell import spelled_out
from mixnet.symbol.symbol import Symbol, Variable


class HybridBlock(Block):
    """A block that can be hybridized: override ``hybrid_forward(F, x, weight, ...)`` or ``forward``.

    Not hybridized, it runs as any imperative code. After ``hybridize()`` the first call with new
    shapes runs forward on placeholders and compiles the graph; later calls run that.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None):
        super().__init__(prefix, params)
        self._active = False
        self._flags: dict[str, Any] = {}
        self._cache: dict[Any, tuple[Traced, GraphOp]] = {}
        self._last_key: TraceKey | None = None  # of the last trace, to tell why there is another

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, (Block, Parameter)) and self.__dict__.get("_cache"):
            self._clear_cache()

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block a child, under ``name`` or its number.

        Raises:
            MXNetError: it cannot be hybridized.
        """
        if not isinstance(block, HybridBlock):
            raise MXNetError(
                f"Children of a HybridBlock must be HybridBlocks; {block.name} is a "
                f"{type(block).__name__}. Derive it from HybridBlock, or this one from Block."
            )
        super().register_child(block, name)
        self._clear_cache()

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Run as a compiled graph from now on, or no longer.

        Args:
            active: whether to.
            kwargs: ``recompute="mirror"`` or ``"sublinear"``: backward computes most activations again,
                which takes time and saves memory; see :func:`mixnet.passes.recompute.kept_nodes`.
                ``static_alloc``, ``static_shape``, ``inline_limit`` and the like are taken as MXNet
                takes them; a compiled graph has static memory and shapes in any case.

        Raises:
            AttributeValueError: there is no such way to recompute.
        """
        check_mode(kwargs.get("recompute"))
        self._active = active
        self._flags = kwargs
        self._clear_cache()
        super().hybridize(active, **kwargs)

    def _clear_cache(self) -> None:
        self.__dict__.setdefault("_cache", {}).clear()

    def cast(self, dtype: Any) -> None:
        """Change the dtype of all parameters."""
        self._clear_cache()
        super().cast(dtype)

    # ---- calling ------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward: as a compiled graph if hybridized, and not within another trace."""
        if not self._active or state.trace is not None or kwargs:
            return super().__call__(*args, **kwargs)
        leaves, structure = flatten(args)
        if not leaves or any(isinstance(each, Symbol) for each in args):
            return super().__call__(*args)
        for hook in self._forward_pre_hooks:
            hook(self, args)
        output = self._call_graph(leaves, structure)
        for hook in self._forward_hooks:
            hook(self, args, output)
        return output

    def _call_graph(self, leaves: Sequence[NDArray], structure: Any) -> Any:
        values = [leaf._read() for leaf in leaves]
        key = (tuple([value.spec for value in values]), _hashable(structure), state.training)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._compile(leaves, structure)
        traced, op = found
        context = values[0].spec.context
        handles = traced.parameter_handles(context)
        inputs = [*values, *[handle._read() for handle in handles], *traced.captured]
        outputs, states = call_graph(op, inputs, context)
        for i, value in zip(op.states, states, strict=True):
            value.node = None
            with RecordingScope(False, None):
                handles[i - len(values)]._write(value)
        return unflatten(iter(outputs), traced.outputs, wrap=True)

    def is_traced(self, specs: Sequence[Spec], structure: Any, training: bool) -> bool:
        """Whether a call with such inputs finds a compiled graph.

        Args:
            specs: of the arrays among the arguments.
            structure: the arguments without their arrays, see ``gluon.trace.flatten``.
            training: whether operators train.
        """
        return self._active and (tuple(specs), _hashable(structure), training) in self._cache

    def _compile(self, leaves: Sequence[NDArray], structure: Any) -> tuple[Traced, GraphOp]:
        traced = self._trace([leaf._spec for leaf in leaves], structure, state.training)
        context = leaves[0].context
        specs = [leaf._spec for leaf in leaves]
        specs += [handle._spec for handle in traced.parameter_handles(context)]
        specs += [value.spec for value in traced.captured]
        known = [(spec.shape, spec.dtype) for spec in specs]
        if len(known) < len(traced.graph.inputs):  # the key of a graph that draws
            known.append(KEY_SPEC)
        facts = Facts(context.device.platform, known)
        graph = pipeline.run(traced.graph, "graph", facts)
        self._last_key = traced.key
        return traced, GraphOp(graph, self.name, recompute=self._flags.get("recompute"))

    def _trace(self, specs: Sequence[Spec], structure: Any, training: bool) -> Traced:
        return Traced(self.forward, specs, structure, training, specs[0].context)

    def forward(self, x: Any, *args: Any) -> Any:
        """Call ``hybrid_forward`` with ``mx.nd`` or ``mx.sym`` and the block's parameters."""
        if isinstance(x, Symbol):
            params: dict[str, Any] = {n: each.var() for n, each in self._reg_params.items()}
            if isinstance(x, NumpySymbol):
                params = {name: each.as_np_ndarray() for name, each in params.items()}
            with self.name_scope():
                return self.hybrid_forward(sym, x, *args, **params)
        context = x.context if isinstance(x, NDArray) else None
        try:
            params = {name: each.data(context) for name, each in self._reg_params.items()}
        except DeferredInitializationError:
            self.infer_shape(x, *args)
            for each in self._reg_params.values():
                each._finish()
            params = {name: each.data(context) for name, each in self._reg_params.items()}
        return self.hybrid_forward(nd, x, *args, **params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Outputs from inputs, with operators from ``F``; parameters come by name."""
        raise NotImplementedError(
            f"{type(self).__name__} defines neither forward(self, x) nor "
            f"hybrid_forward(self, F, x, ...)."
        )

    # ---- shapes and graphs --------------------------------------------------------------------

    def infer_shape(self, *args: Any) -> None:
        """Complete the shapes of parameters from these inputs."""
        self._infer(args, "shapes")

    def infer_type(self, *args: Any) -> None:
        """Set the dtypes of parameters from these inputs."""
        self._infer(args, "dtypes")

    def _as_symbol(self, leaves: Sequence[NDArray], structure: Any) -> Symbol:
        """The graph below variables ``data0``, ``data1`` and so on, and the parameters' variables."""
        symbols: list[Any] = [Variable(f"data{i}") for i in range(len(leaves))]
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, np_ndarray):
                symbols[i] = symbols[i].as_np_ndarray()
        with untraced():
            output = self.forward(*_replace(structure, iter(symbols)))
        return sym.Group(_flat_symbols(output))

    def memory_plan(
        self,
        *inputs: Any,
        grad_req: str = "null",
        inplace: bool = True,
        co_share: bool = True,
        recompute: bool | str = False,
    ) -> MemoryPlan:
        """What memory a call takes and where in it each array lies; nothing is run or allocated.

        Args:
            inputs: arrays of the shapes and dtypes of a call; their values are not read.
            grad_req: ``null``: prediction. ``write`` or ``add``: training, forward and gradients of all
                parameters that want one.
            inplace: outputs may take over the memory of inputs that die there.
            co_share: arrays may lie where others were that are dead.
            recompute: gradients compute results of forward again rather than keep them.

        Returns:
            The plan, as of ``Symbol.memory_plan``.
        """
        leaves, structure = flatten(inputs)
        symbol = self._as_symbol(leaves, structure)
        shapes = {f"data{i}": leaf.shape for i, leaf in enumerate(leaves)}
        dtypes = {f"data{i}": leaf._spec.dtype for i, leaf in enumerate(leaves)}
        for name, each in self.collect_params().items():
            dtypes[name] = as_dtype(each.dtype)
        wanted = {n: grad_req for n, p in self.collect_params().items() if p.grad_req != "null"}
        names = set(symbol.list_arguments())
        requests = {name: each for name, each in wanted.items() if name in names}
        return plan_of(symbol, requests, shapes, dtypes, inplace, co_share, recompute)

    def _infer(self, args: Sequence[Any], what: str) -> None:
        leaves, structure = flatten(args)
        group = self._as_symbol(leaves, structure)
        found = infer(
            group.graph,
            {f"data{i}": leaf.shape for i, leaf in enumerate(leaves)},
            {f"data{i}": leaf._spec.dtype for i, leaf in enumerate(leaves)},
        )
        known = {n.name: Entry(n) for n in group.graph.nodes if n.is_variable}
        for each in self.collect_params().values():
            entry = known.get(each.name)
            if entry is not None and what == "shapes" and found.shapes.get(entry):
                each.shape = found.shapes[entry]
            elif entry is not None and what == "dtypes" and entry in found.dtypes:
                each.cast(found.dtypes[entry])

    def to_symbol(self, *inputs: Any) -> Symbol:
        """The graph as a symbol whose variables are the inputs and the parameters.

        Args:
            inputs: example arrays; needed where ``forward`` is written out.
        """
        traced = self._last_trace(inputs)
        return Symbol(spelled_out(traced.graph).heads[: traced.graph.num_outputs])

    def _last_trace(self, inputs: Sequence[Any]) -> Traced:
        if inputs:
            leaves, structure = flatten(tuple(inputs))
            with RecordingScope(False, False):
                super().__call__(*inputs)  # completes shapes that wait for data
            return self._trace([leaf._spec for leaf in leaves], structure, False)
        if not self._cache:
            raise MXNetError(
                "The network has not been traced yet: call hybridize(), then the network once "
                "with data."
            )
        specs, structure, _ = next(iter(self._cache))
        return self._trace(list(specs), structure, False)

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Write ``path-symbol.json`` and ``path-0000.params`` for deployment.

        Args:
            path: start of both paths.
            epoch: number in the parameters' file name.

        Returns:
            Both paths.

        Raises:
            MXNetError: the network was not hybridized and called.
        """
        if not self._active:
            raise MXNetError("export: hybridize the network and call it with data first.")
        symbol = self.to_symbol()
        states = set(symbol.list_auxiliary_states())
        by_name = {each.name: each for each in self.collect_params().values()}
        names = [name for name in symbol.list_inputs() if name in by_name]
        symbol_file, params_file = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
        symbol.save(symbol_file)
        save(
            params_file,
            {
                f"{'aux' if name in states else 'arg'}:{name}": by_name[name].list_data()[0]
                for name in names
            },
        )
        return symbol_file, params_file

    def functionalize(self, *inputs: Any) -> tuple[Any, dict[str, jax.Array]]:
        """A pure JAX function of the network, and its parameters as a pytree.

        ``function(params, *arrays, training=False, key=None, states=False)`` computes what the
        network does, for ``jax.jit``, ``jax.grad``, ``jax.vmap``, optax and the like. With
        ``states`` it returns the outputs and the parameters with new moving statistics.

        Args:
            inputs: example arrays, needed if shapes still wait for data.

        Returns:
            The function, and a dict from names to JAX arrays, which share no buffer that the
            network would reuse.
        """
        if inputs:
            with RecordingScope(False, False):
                super().__call__(*inputs)
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
                traced = self._trace(specs, structure, training)
                names = [each.name for each in traced.parameters]
                given = [*arrays, *[params[name] for name in names]]
                given += [value.array for value in traced.captured]
                if len(given) < len(traced.graph.inputs):  # the graph draws
                    if key is None and not training:  # dropout draws nothing when predicting
                        key = jax.numpy.zeros(2, jax.numpy.uint32)
                    if key is None:
                        raise MXNetError(
                            "The network draws random numbers: pass key=jax.random.key(0)."
                        )
                    typed = jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)
                    given.append(jax.random.key_data(key) if typed else key)
                results = lower(traced.graph)(given, ())
            count = traced.graph.num_outputs
            output = unflatten(iter(results[:count]), traced.outputs)
            if not states:
                return output
            new = dict(params)
            for i, value in zip(traced.graph.states, results[count:], strict=True):
                new[names[i - len(arrays)]] = value
            return output, new

        return function, params


def _hashable(structure: Any) -> Any:
    try:
        hash(structure)
        return structure
    except TypeError:
        return repr(structure)


def _replace(structure: Any, symbols: Any) -> Any:
    return unflatten(symbols, structure)


def _flat_symbols(output: Any) -> list[Symbol]:
    if isinstance(output, Symbol):
        return [output]
    return [each for part in output for each in _flat_symbols(part)]


class SymbolBlock(HybridBlock):
    """A block around a symbol.

    Args:
        outputs: a symbol, or a list.
        inputs: the variables that are inputs; all others become parameters.
        params: parameters to share.
    """

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None):
        super().__init__(prefix="", params=params)
        self._symbol = sym.Group(_flat_symbols(outputs))
        self._single = isinstance(outputs, Symbol) and len(outputs) == 1
        self._inputs = [str(each.name) for each in _flat_symbols(inputs)]
        states = set(self._symbol.list_auxiliary_states())
        for name in self._symbol.list_inputs():
            if name not in self._inputs:
                request = "null" if name in states else "write"
                each = self.params.get(name, grad_req=request, allow_deferred_init=True)
                self._reg_params[name] = each

    @staticmethod
    def imports(
        symbol_file: str,
        input_names: Any,
        param_file: str | None = None,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """The network that ``export`` wrote.

        Args:
            symbol_file: path of the symbol.
            input_names: names of its inputs.
            param_file: path of the parameters.
            ctx: where the parameters go.

        Raises:
            FileFormatError: a file is truncated or corrupted.
            MXNetError: names do not fit.
        """
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        symbol = sym.load(symbol_file)
        known = symbol.list_inputs()
        for name in names:
            if name not in known:
                raise MXNetError(
                    f"{symbol_file} has no input {name!r}; it has {', '.join(known[:8])}."
                )
        block = SymbolBlock(symbol, [Variable(name) for name in names])
        if param_file is not None:
            loaded = {
                name.removeprefix("arg:").removeprefix("aux:"): value
                for name, value in load(param_file).items()
            }
            from_file = block.collect_params()
            for name, each in from_file.items():
                if name in loaded:
                    each.dtype = loaded[name].dtype
            fill(
                dict(from_file.items()), loaded, ctx, allow_missing, ignore_extra, False, param_file
            )
        return block

    def _structured(self, prefix: str = "") -> dict[str, Parameter]:
        return dict(self._reg_params)

    def forward(self, x: Any, *args: Any) -> Any:
        """Outputs of the symbol for its inputs in order."""
        given: dict[str, Any] = dict(zip(self._inputs, (x, *args), strict=True))
        if isinstance(x, Symbol):
            composed = self._symbol(**given)
            return composed if self._single else list(composed)
        if any(not each._data for each in self._reg_params.values()):
            shapes = {name: array.shape for name, array in given.items()}
            found = infer(self._symbol.graph, shapes).shapes
            for node in self._symbol.graph.nodes:
                if node.name in self._reg_params and Entry(node) in found:
                    self._reg_params[node.name].shape = found[Entry(node)]
                    self._reg_params[node.name]._finish()
        handles = {name: each.data(x.context) for name, each in self._reg_params.items()}
        outputs = _run_symbol(self._symbol, given | handles, type(x))
        return outputs[0] if self._single else outputs


def _run_symbol(symbol: Symbol, handles: dict[str, NDArray], cls: Any) -> list[NDArray]:
    """Record the operations of a symbol one by one on arrays; ``cls`` is the results' class."""
    made: dict[Entry, NDArray] = {}
    for node in symbol.graph.nodes:
        if node.is_variable:
            handle = handles[node.name]
            made[Entry(node)] = handle if type(handle) is cls else share(handle, cls)
            continue
        attributes = {k: v for k, v in node.attrs.items() if k in node.op.attributes}
        if "subgraphs" in node.op.attributes:  # a loop or a branch
            attributes["subgraphs"] = node.op.keywords(node.statics)["subgraphs"]
        outputs = invoke(node.op, [made[entry] for entry in node.inputs], attributes, cls=cls)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        made.update({Entry(node, i): output for i, output in enumerate(outputs)})
    return [made[entry] for entry in symbol._heads]
