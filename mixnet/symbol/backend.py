"""Backends: compute parts of a symbol's graph instead of XLA."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from mixnet.base import AttributeTypeError, MXNetError, did_you_mean
from mixnet.context import Context
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find
from mixnet.passes.facts import Facts
from mixnet.passes.partition import Part, partition
from mixnet.passes.set_training import set_training

if TYPE_CHECKING:
    from mixnet.symbol.symbol import Symbol

_PART = "_backend_part"


class Backend:
    """Computes parts of graphs, to predict. Derive from it, and register it with :func:`register_backend`.

    Example::

        class OnNumPy(mx.library.Backend):
            def takes(self, node):
                return node.op.name == "relu"

            def compile(self, symbol, arrays, options):
                return lambda x: [np.maximum(x, 0)]

        mx.library.register_backend("OnNumPy", OnNumPy())
        net.optimize_for(x, backend="OnNumPy")
    """

    is_thread_safe = False
    """Whether several threads may call what :meth:`compile` returns; else they take turns."""

    gives_new_arrays = False
    """Whether what :meth:`compile` returns gives arrays that nothing writes to afterwards; else they are
    copied.
    """

    def takes(self, node: Node) -> bool:
        """Whether it computes a node. Nodes that it takes and that touch become one part."""
        return True

    def optimize(
        self, symbol: Symbol, arrays: Mapping[str, Any], options: dict[str, Any]
    ) -> Symbol:
        """The symbol with this backend's parts; by default cut with :meth:`takes` and :meth:`compile`.

        Args:
            symbol: in prediction mode.
            arrays: parameters and states by name, empty where none were given.
            options: what the user gave.
        """

        def make(part: Part) -> Node:
            return _node_of(self, symbol, part, arrays, options)

        return type(symbol)(partition(symbol.graph, self.takes, make).heads)

    def compile(
        self, symbol: Symbol, arrays: Mapping[str, np.ndarray], options: dict[str, Any]
    ) -> Any:
        """A function that computes a part: ``(*arrays) -> list of arrays``, all NumPy's, in the order of
        ``symbol.list_inputs()`` without ``arrays``.

        Args:
            symbol: the part.
            arrays: parameters that it reads, by name; they are not arguments of a call.
            options: what the user gave.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not define compile(symbol, arrays, options)."
        )


class _Runner:
    """Computes a part; compiled at the first call."""

    def __init__(self, backend: Backend, symbol: Symbol, graph: Graph, arrays: Any, options: Any):
        self.backend, self.symbol, self.graph = backend, symbol, graph
        self.arrays, self.options = arrays, options
        self.count = len(graph.heads)
        self._call: Any = None
        self._structs: dict[Any, list[jax.ShapeDtypeStruct]] = {}

    def spelled_out(self, name: str, inputs: Sequence[Entry]) -> tuple[Graph, dict[str, Any]]:
        """The part's own nodes, in a scope of its name, and the parameters that it holds by
        their names there.

        Args:
            name: of the part's node.
            inputs: of that node.
        """
        rest = iter(inputs)
        stored = {
            n: Node(None, name=f"{name}/{n.name}")
            for n in self.graph.inputs
            if n.name in self.arrays
        }
        variables = {n: stored[n] if n in stored else (next(rest),) for n in self.graph.inputs}

        def change(node: Node, entries: tuple[Entry, ...]) -> Node:
            scoped = f"{name}/{node.name}"
            spelled = Node(node.op, node.statics, node.scalars, entries, scoped, node.attrs)
            return spelled.made_from(node)

        arrays = {each.name: self.arrays[node.name] for node, each in stored.items()}
        return self.graph.rebuild(change, variables), arrays

    def structs(self, inputs: Sequence[Any]) -> list[jax.ShapeDtypeStruct]:
        key = tuple([(tuple(each.shape), np.dtype(each.dtype)) for each in inputs])
        inferred = self._structs.get(key)
        if inferred is None:
            remaining = iter(key)
            stored = self.arrays
            known = [
                (stored[n.name].shape, stored[n.name].dtype)
                if n.name in stored
                else next(remaining)
                for n in self.graph.inputs
            ]
            specs = Facts(inputs=known).specs(self.graph, drawing=False)
            inferred = [jax.ShapeDtypeStruct(*specs[head]) for head in self.graph.heads]
            self._structs[key] = inferred
        return inferred

    def call(self, arrays: Sequence[np.ndarray]) -> Sequence[Any]:
        """The results of the backend, one for each output."""
        if self._call is None:
            self._call = self.backend.compile(self.symbol, self.arrays, self.options)
        results: Sequence[Any] = self._call(*arrays)
        if len(results) != self.count:
            raise MXNetError(
                f"{type(self.backend).__name__}: a part has {self.count} outputs, but the function "
                f"that compile() returned gave {len(results)}."
            )
        return results

    def run(self, *arrays: object) -> list[Any]:
        expected = self.structs(arrays)
        results = self.call([np.asarray(each) for each in arrays])
        return [np.asarray(each, s.dtype) for each, s in zip(results, expected, strict=True)]


def _node_of(backend: Backend, whole: Symbol, part: Part, arrays: Any, options: Any) -> Node:
    variables = zip(part.graph.inputs, part.inputs, strict=True)
    own_names = {v.name for v, e in variables if e.node.is_variable and v.name in arrays}
    stored = {name: arrays[name].asnumpy() for name in own_names}
    symbol = type(whole)(part.graph.heads)
    names = symbol.list_inputs()
    by_name = {v.name: v for v in part.graph.inputs}
    graph = Graph(part.graph.heads, tuple(by_name[name] for name in names))
    entries = dict(zip((v.name for v in part.graph.inputs), part.inputs, strict=True))
    runner = _Runner(backend, symbol, graph, stored, options)
    op = find(_PART)
    statics, scalars = op.bind({"part": runner})
    inputs = tuple(entries[name] for name in names if name not in stored)
    return Node(op, statics, scalars, inputs, f"{type(backend).__name__.lower()}{part.number}")


def spelled_out(symbol: Symbol) -> tuple[Symbol, dict[str, Any]]:
    """A symbol with the nodes of its parts in their place, each in a scope of its part, and what
    the parts hold by name.

    It is for the eye: computed, it would be XLA's again.
    """
    stored: dict[str, Any] = {}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node | tuple[Entry, ...]:
        if node.op.name != _PART:
            return node.replaced(inputs)
        graph, arrays = node.op.keywords(node.statics)["part"].spelled_out(node.name, inputs)
        stored.update(arrays)
        heads: tuple[Entry, ...] = graph.heads
        return heads

    if not any(node.op is not None and node.op.name == _PART for node in symbol.graph.nodes):
        return symbol, {}
    return type(symbol)(symbol.graph.rebuild(change).heads), stored


def parts_of(symbol: Symbol) -> dict[str, str]:
    """By name of each node that a backend computes the name of its part, as :func:`spelled_out`
    has it before a slash.
    """
    parts = {}
    for node in symbol.graph.nodes:
        if node.op is not None and node.op.name == _PART:
            inner = node.op.keywords(node.statics)["part"].graph
            parts.update({each.name: node.name for each in inner.nodes if not each.is_variable})
    return parts


def whole_part(symbol: Symbol) -> tuple[Any, list[str]]:
    """The part that is all of a symbol, with the names of its inputs; None if there is more."""
    nodes = [node for node in symbol.graph.nodes if not node.is_variable]
    heads = [(head.node, head.index) for head in symbol.graph.heads]
    if len(nodes) != 1 or nodes[0].op.name != _PART:
        return None, []
    (node,) = nodes
    part = node.op.keywords(node.statics)["part"]
    if heads != [(node, i) for i in range(part.count)]:
        return None, []
    if not all(each.node.is_variable for each in node.inputs):
        return None, []
    return part, [each.node.name for each in node.inputs]


class _Xla(Backend):
    """XLA, which folds normalizations and constants, fuses and chooses layouts when a program is compiled."""

    def optimize(
        self, symbol: Symbol, arrays: Mapping[str, Any], options: dict[str, Any]
    ) -> Symbol:
        return symbol


_BACKENDS: dict[str, Backend | str] = {
    "XLA": _Xla(),
    "ONNXRuntime": "mixnet.onnx.runtime:ONNXRuntime",
    "OpenVINO": "mixnet.onnx.openvino:OpenVINO",
    # MXNet's own
    "MKLDNN": _Xla(),
    "MKLDNN_QUANTIZE": "mixnet.contrib.quantization.backend:FusedLayers",
    "default": _Xla(),
    "default_v2": _Xla(),
    "TensorRT": "mixnet.onnx.runtime:TensorRT",
}


def register_backend(name: str, backend: Backend) -> None:
    """Add a backend, or replace one.

    Args:
        name: the name that ``optimize_for(backend=name)`` takes.

    Raises:
        AttributeTypeError: it is not a ``Backend``.
    """
    if not isinstance(backend, Backend):
        raise AttributeTypeError(
            f"register_backend: {backend!r:.60} is not a Backend; derive its class from mx.library.Backend."
        )
    _BACKENDS[name] = backend


def backend_of(name: str) -> Backend:
    """A registered backend.

    Raises:
        MXNetError: there is none of that name; says which there are.
    """
    backend = _BACKENDS.get(name)
    if backend is None:
        raise MXNetError(
            f"There is no backend {name!r}; there are "
            f"{', '.join(_BACKENDS)}.{did_you_mean(name, _BACKENDS)} Add one with "
            f"mx.library.register_backend."
        )
    if isinstance(backend, str):
        backend = _BACKENDS[name] = pkgutil.resolve_name(backend)()
    assert isinstance(backend, Backend)
    return backend


def optimized(
    symbol: Symbol,
    backend: str,
    args: Any,
    aux: Any,
    ctx: Context | None,
    options: dict[str, Any],
) -> Symbol:
    """The symbol with a backend's parts.

    Args:
        symbol: of a float or quantized network.
        backend: its name.
        args: parameters by name, or None.
        aux: states by name, or None.
        ctx: device; not read.
        options: of the backend.
    """
    properties = backend_of(backend)
    if isinstance(properties, _Xla):
        return symbol
    arrays = {**dict(args or {}), **dict(aux or {})}
    for name, each in arrays.items():
        if not isinstance(each, NDArray):
            raise AttributeTypeError(
                f"optimize_for: args and aux are arrays by name; {name!r} is {type(each).__name__}."
            )
    predicting = type(symbol)(set_training(symbol.graph, False).heads)
    return properties.optimize(predicting, arrays, options)
