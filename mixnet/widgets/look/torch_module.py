"""A torch module as a graph: aten operators from ``torch.export``, each with its module and line."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from mixnet.base import AttributeTypeError, MXNetError
from mixnet.dtype import bfloat16
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.operator import Operator
from mixnet.passes.facts import Known
from mixnet.process.source import Source, code_of, is_users
from mixnet.stages.graph_data import specs_of
from mixnet.widgets.graph.rows import Pictured, rows_of

if TYPE_CHECKING:
    from mixnet.ops.operator import Statics

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_MOVES = frozenset(
    {
        "cat",
        "stack",
        "clone",
        "contiguous",
        "embedding",
        "index_select",
        "gather",
        "index",
        "pad",
        "constant_pad_nd",
        "zeros",
        "ones",
        "full",
        "arange",
        "copy",
        "repeat",
        "flip",
        "roll",
        "tril",
        "triu",
        "_to_copy",
        "to",
    }
)
"""Operators that move or create elements without computing any; views are known from their schema."""


def is_module(target: object) -> bool:
    """Whether it is a torch module; this does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(target, torch.nn.Module)


def forward_of(module: Any) -> Any:
    """The user's forward function; None for one of torch's own modules."""
    function = type(module).forward
    code = code_of(function)
    return function if code is not None and _is_programs(code.co_filename) else None


class Aten(Operator):
    """One call of an aten operator; arguments that are not tensors are part of it.

    Args:
        call: the node of torch's graph.
        tensors: the nodes whose results it reads, in the order of its inputs.
        specs: shape and dtype of each tensor that it makes.
    """

    def __init__(self, call: Any, tensors: Sequence[Any], specs: Sequence[Known]):
        super().__init__()
        self.name = str(call.target._schema.name).partition("::")[2]
        self.call, self._tensors, self._specs = call, list(tensors), list(specs)
        self.is_view = _is_view(call.target)
        self.is_pointwise = _has_tag(call.target, "pointwise")

    def output_specs(self, statics: Statics, inputs: object) -> list[Known]:
        """Shape and dtype of every result, as inferred by torch."""
        return list(self._specs)

    def num_outputs(self, statics: Statics, num_inputs: int = 0) -> int:
        """The number of results."""
        return len(self._specs)

    def dataflow(self, statics: Statics, arrays: Any, scalars: Any = ()) -> tuple[Any, ...]:
        """How results depend on inputs: a view has the elements of its input; a pointwise
        operator reads one of each input.
        """
        (shape, dtype), *more = self._specs
        if self.is_view and math.prod(arrays[0].shape) == math.prod(shape) and not more:
            return (jnp.reshape(arrays[0], shape),)
        if self.is_pointwise and not more:
            shaped = [jnp.broadcast_to(each, shape).astype(dtype) for each in arrays]
            return (sum(shaped[1:], shaped[0] + 1) if shaped else jnp.zeros(shape, dtype),)
        total = sum((jnp.sum(each.astype("float32")) for each in arrays), jnp.float32(0))
        return tuple(jnp.broadcast_to(total, each).astype(kind) for each, kind in self._specs)

    def run_on_host(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Compute with torch on the CPU, from NumPy arrays; the program's random state is unchanged."""
        torch = sys.modules["torch"]
        tensors = {node: _tensor(each) for node, each in zip(self._tensors, arrays, strict=True)}
        seeded = _has_tag(self.call.target, "nondeterministic_seeded")
        with torch.no_grad(), torch.random.fork_rng([]) if seeded else contextlib.nullcontext():
            results = _called(self.call, tensors)
        return [_array(each) for each in _tensors_in(results)]

    def attributes_as_text(self) -> dict[str, str]:
        """Arguments that are not tensors."""
        names = [each.name for each in self.call.target._schema.arguments]
        arguments = {**dict(zip(names, self.call.args, strict=False)), **self.call.kwargs}
        tensors = set(self._tensors)
        return {
            name: str(value)[:80]
            for name, value in arguments.items()
            if value is not None and not tensors.intersection(_nodes_in(value))
        }

    def flops(self) -> int:  # type: ignore[override]
        """Floating-point operations: matrix products as torch counts them, with a multiply-add as two."""
        if self.is_view or self.name in _MOVES:
            return 0
        from torch.utils.flop_counter import FlopCounterMode

        values = {node: node.meta["val"] for node in self._tensors}
        counter = FlopCounterMode(display=False)
        from torch.nn.attention import SDPBackend, sdpa_kernel

        # Without oneDNN's layers and fused attention they are the products that they consist of,
        # which the counter knows.
        plain = sys.modules["torch"].backends.mkldnn.flags(enabled=False, allow_tf32=None)
        with warnings.catch_warnings(), _fake_mode(self.call):
            warnings.simplefilter("ignore")
            with plain, sdpa_kernel(SDPBackend.MATH), counter:
                _called(self.call, values)
        if counter.get_total_flops():
            return int(counter.get_total_flops())
        out = sum(math.prod(shape) for shape, _ in self._specs)
        read = max((math.prod(each.shape) for each in values.values()), default=0)
        return out if self.is_pointwise else max(out, read)


def pictured(
    module: object, inputs: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Pictured, dict[str, np.ndarray]]:
    """The rows of a torch module called with these tensors, and its arrays by name.

    The module is not changed: ``torch.export`` traces it on tensors without content, in its own
    mode (``eval()`` or ``train()``). Only forward is traced: torch derives gradients while it
    runs.

    Raises:
        AttributeTypeError: torch is too old, or cannot export the module with these inputs.
    """
    program = _exported(module, inputs, named)
    title = type(module).__name__
    reading = _Reading(program)
    graph = reading.graph()
    known: list[Known] = [_spec(node.meta["val"]) for node in reading.placeholders]
    rows = rows_of(graph, specs_of(graph, known), title, "block")
    rows.graph, rows.inputs = graph, known
    rows.blocks = {(): (title, ""), **reading.blocks}
    rows.data = frozenset(reading.data)
    rows.weights = frozenset(node.name for node in graph.inputs) - rows.data
    by_name = {graph.names[node]: node for node in graph.nodes}
    for row in rows.rows:
        op = by_name[row["name"]].op
        if isinstance(op, Aten):
            row["attributes"], row["flops"] = op.attributes_as_text(), op.flops()
    values = {
        node.name: _array(tensor)
        for node, tensor in zip(graph.inputs, reading.tensors(inputs, named), strict=True)
    }
    return rows, values


def _exported(module: object, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The exported program, in functional aten operators."""
    torch = sys.modules["torch"]
    name = type(module).__name__
    try:
        from torch.export import export
    except ImportError as error:
        raise AttributeTypeError(
            f"look: a torch module needs torch.export, which torch {torch.__version__} does not have: "
            f"pip install 'torch>=2.6'."
        ) from error
    try:
        with warnings.catch_warnings(), torch.no_grad(), torch.random.fork_rng([]):
            warnings.simplefilter("ignore")
            tensors = tuple(_as_tensor(each) for each in inputs)
            exported = export(module, tensors, {k: _as_tensor(v) for k, v in named.items()})
            return exported.run_decompositions({})
    except MXNetError:
        raise
    except Exception as error:  # whatever the module's code or torch's tracer raises
        lines = [each.strip() for each in str(error).splitlines() if each.strip()]
        reason = (lines[0] if lines else "no reason given")[:300].rstrip(".")
        advice = (
            "write `if` and loops that depend on tensor values with torch.where or torch.cond, "
            "or look at the "
            "inner modules one by one"
            if "DataDependent" in type(error).__name__
            else "pass the tensors that it is called with"
        )
        raise AttributeTypeError(
            f"look: torch.export cannot take {name} with these inputs: {type(error).__name__}: "
            f"{reason}. {advice[0].upper()}{advice[1:]}."
        ) from error


class _Reading:
    """Read torch's graph node by node."""

    def __init__(self, program: Any):
        self._program = program
        self._count: Counter[str] = Counter()
        self.blocks: dict[tuple[str, ...], tuple[str, str]] = {}
        self.data: list[str] = []
        self.placeholders: list[Any] = []
        self._kinds: list[Any] = []
        self._paths: dict[str, tuple[str, ...]] = {}  # of modules, by their names in torch
        self._calls: Counter[tuple[str, ...]] = Counter()  # how many each module makes itself

    def graph(self) -> Graph:
        """The graph: the user's outputs, then new values of buffers.

        Raises:
            AttributeTypeError: it calls something that is no operator on tensors.
        """
        entries: dict[Any, list[Entry | None]] = {}
        inputs: list[Node] = []
        specs = iter(self._program.graph_signature.input_specs)
        paths = [self._path(each) for each in self._program.graph.nodes if _computes(each)]
        self._paths = {
            ".".join(path[: i + 1]): path[: i + 1] for path in paths for i in range(len(path))
        }
        self._calls = Counter(paths)
        for call in self._program.graph.nodes:
            if call.op == "placeholder":
                spec = next(specs)
                if _is_tensor(call.meta.get("val")):
                    inputs.append(self._variable(call, spec))
                    entries[call] = [Entry(inputs[-1])]
            elif call.op == "call_function":
                entries[call] = self._entries(call, entries)
        outputs = [
            (spec, entries[node][0])
            for spec, node in zip(self._program.graph_signature.output_specs, self._results(), strict=True)
            if node in entries
        ]  # fmt: skip
        changed = [
            (spec.target, entry) for spec, entry in outputs if spec.kind.name == "BUFFER_MUTATION"
        ]
        number = {spec.target: i for i, spec in enumerate(self._kinds)}
        heads = [e for spec, e in outputs if spec.kind.name != "BUFFER_MUTATION" and e is not None]
        states = tuple(number[target] for target, _ in changed)
        every = [*heads, *(entry for _, entry in changed if entry is not None)]
        return Graph(tuple(every), tuple(inputs), len(heads), states)

    def _results(self) -> list[Any]:
        (output,) = [each for each in self._program.graph.nodes if each.op == "output"]
        return list(output.args[0])

    def _variable(self, call: Any, spec: Any) -> Node:
        self.placeholders.append(call)
        self._kinds.append(spec)
        if spec.target is None:  # what the user passes
            self.data.append(str(call.name))
            return Node(None, name=self._fresh(str(call.name)))
        path, _, name = str(spec.target).rpartition(".")
        inside = self._paths.get(path, (path,) if path else ())
        return Node(None, name=self._fresh("/".join((*inside, name))))

    def _entries(self, call: Any, entries: Mapping[Any, list[Entry | None]]) -> list[Entry | None]:
        if getattr(call.target, "__name__", "") == "getitem" and not _is_aten(call):
            source, place = call.args
            return [entries[source][place]]
        outputs = _listed(call.meta.get("val"))
        specs = [_spec(each) for each in outputs if _is_tensor(each)]
        if not specs:  # a check, or a number: nothing to show
            return []
        if not _is_aten(call):
            raise AttributeTypeError(
                f"look: {call.target} in {type(self._program).__name__} is control flow or a "
                "call of another program, not an "
                f"operator on tensors; look at its inner modules one by one."
            )
        tensors = list(
            dict.fromkeys(n for n in _nodes_in((call.args, call.kwargs)) if entries.get(n))
        )
        path = self._path(call)
        inside = "/".join(path) + "/" if path else ""
        inputs = tuple(entry for n in tensors for entry in entries[n][:1] if entry is not None)
        op = Aten(call, tensors, specs)
        # The only operation of a module has the name of the module, see ``widgets.graph.blocks.labels_of``.
        label = "fwd" if path and self._calls[path] == 1 else op.name.strip("_")
        node = Node(op, (), (), inputs, self._fresh(inside + label))
        place = _line(call.meta.get("stack_trace") or "")
        if place is not None:
            node.source = place
        at = iter(range(len(specs)))
        return [Entry(node, next(at)) if _is_tensor(each) else None for each in outputs]

    def _path(self, call: Any) -> tuple[str, ...]:
        """The modules that contain the call, outermost first, by attribute name."""
        path: list[str] = []
        before = ""
        for name, kind in (call.meta.get("nn_module_stack") or {}).values():
            name = re.sub(r"@\d+$", "", name)  # a module that is called again
            if name == before or not name:
                continue
            path.append(name.removeprefix(f"{before}.") if before else name)
            before = name
            kind = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
            self.blocks[tuple(path)] = (kind.rpartition(".")[2], "/".join(path) + "/")
        return tuple(path)

    def _fresh(self, name: str) -> str:
        self._count[name] += 1
        return name if self._count[name] == 1 else f"{name}_{self._count[name] - 1}"

    def tensors(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """A tensor for each variable of the graph."""
        from torch.utils._pytree import tree_leaves

        by_name = {
            spec.arg.name: leaf
            for spec, leaf in zip(
                [s for s in self._program.graph_signature.input_specs if s.kind.name == "USER_INPUT"],
                tree_leaves((tuple(inputs), dict(named))), strict=False,
            )
        }  # fmt: skip
        state = {**self._program.state_dict, **self._program.constants}
        return [
            _as_tensor(by_name[call.name]) if spec.target is None else state[spec.target]
            for call, spec in zip(self.placeholders, self._kinds, strict=True)
        ]


def _called(call: Any, tensors: Mapping[Any, Any]) -> Any:
    """The result of a call with these tensors in place of nodes."""
    from torch.fx.node import map_arg

    # Inputs that are not tensors are numbers or checks, whose values torch stores with the nodes.
    def of(node: Any) -> Any:
        return tensors[node] if node in tensors else node.meta.get("val")

    kwargs = dict(map_arg(call.kwargs, of))
    if "device" in kwargs and not isinstance(next(iter(tensors.values()), None), _fake_class()):
        kwargs["device"] = "cpu"
    return call.target(*map_arg(call.args, of), **kwargs)


def _fake_class() -> Any:
    from torch._subclasses.fake_tensor import FakeTensor

    return FakeTensor


def _fake_mode(call: Any) -> Any:
    """The mode in which this program's tensors without content were created."""
    return next(_tensors_in(call.meta["val"]).__iter__()).fake_mode


def _is_aten(call: Any) -> bool:
    """Whether a node calls an operator of aten."""
    return hasattr(call.target, "_schema")


def _computes(call: Any) -> bool:
    """Whether a node is an operator that returns tensors."""
    return _is_aten(call) and bool(_tensors_in(call.meta.get("val")))


def _nodes_in(value: object) -> list[Any]:
    from torch.fx.node import map_arg

    nodes: list[Any] = []
    map_arg(value, nodes.append)
    return nodes


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _tensors_in(value: object) -> list[Any]:
    return [each for each in _listed(value) if _is_tensor(each)]


def _is_tensor(value: object) -> bool:
    return isinstance(value, sys.modules["torch"].Tensor)


def _is_view(op: Any) -> bool:
    """Whether the operator's schema says that the result shares memory with an input."""
    name = op._schema.name.partition("::")[2]
    returns = [each.alias_info for each in op._schema.returns]
    return name in ("reshape", "_unsafe_view", "flatten") or any(
        each is not None and not each.is_write for each in returns
    )


def _has_tag(op: Any, name: str) -> bool:
    return any(each.name == name for each in op.tags)


def _line(trace: str) -> Source | None:
    """The user's line that made a call: the innermost one outside torch."""
    for file, line, function in reversed(_FRAME.findall(trace)):
        if _is_programs(file):
            return Source(file, int(line), function)
    return None


def _is_programs(file: str) -> bool:
    """Whether a file is the user's, not torch's."""
    folder = os.path.dirname(str(sys.modules["torch"].__file__)) + os.sep
    return is_users(file) and not file.startswith((folder, "<"))


def _spec(value: Any) -> Known:
    """Shape and dtype of a tensor, in NumPy's terms."""
    torch = sys.modules["torch"]
    if value.dtype is torch.bfloat16:
        return tuple(map(int, value.shape)), np.dtype(bfloat16)
    return tuple(map(int, value.shape)), np.dtype(str(value.dtype).removeprefix("torch."))


def _as_tensor(value: object) -> Any:
    """A tensor from a mixnet or NumPy array; anything else unchanged."""
    if isinstance(value, NDArray):
        value = value.asnumpy()
    return _tensor(value) if isinstance(value, np.ndarray) else value


def _tensor(array: np.ndarray) -> Any:
    torch = sys.modules["torch"]
    array = np.require(array, requirements=("C", "W"))
    if array.dtype == np.dtype(bfloat16):
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


def _array(tensor: Any) -> np.ndarray:
    torch = sys.modules["torch"]
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype is torch.bfloat16:
        return np.asarray(tensor.view(torch.int16).numpy().view(bfloat16))
    return np.asarray(tensor.numpy())
