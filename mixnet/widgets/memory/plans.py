"""The payload of MemoryView for a network: its graph once, and the offsets of each plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import jax

from mixnet.base import AttributeTypeError
from mixnet.context import current_context
from mixnet.dtype import as_dtype
from mixnet.gluon.block import HybridBlock
from mixnet.gluon.block.compose import Composition
from mixnet.gluon.trace import flatten
from mixnet.graph.graph import Graph
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes.facts import Known
from mixnet.passes.lifetimes import EXTERNAL, Array
from mixnet.passes.plan_memory import MemoryPlan, plan_memory, with_fewest_reads
from mixnet.process.source import in_project, source_lines
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.compile.scope import compiling_for
from mixnet.stages.graph_data import part_of
from mixnet.stages.recording import forward_with, label_hint
from mixnet.symbol.binding import requests_by_name
from mixnet.symbol.memory import graph_to_plan, recompute_mode
from mixnet.symbol.symbol import Symbol
from mixnet.units import how_many

PLANS: dict[str, dict[str, Any]] = {
    "none": {"inplace": False, "co_share": False},
    "inplace": {"inplace": True, "co_share": False},
    "co-share": {"inplace": False, "co_share": True},
    "both": {"inplace": True, "co_share": True},
    "recompute": {"inplace": True, "co_share": True, "recompute": True},
}
"""The plans that are compared, and what each asks of ``memory_plan``."""

SCHEMA = "mixnet.memory/1"

SMALL = 100
"""Operations of a graph that XLA compiles in a second or two."""


class PlanRequest:
    """A network, and the shapes and requests that its memory is planned for.

    Args:
        target: a ``Symbol`` or a ``HybridBlock``.
        inputs: arrays for a block; the last is the label where there is a loss.
        train: forward and gradients, or forward alone.
        loss: for a block, a loss block.
        shapes: for a symbol, shapes (or arrays) by name.
        boundary: the frame at which the search for the user's lines ends.
        caller: the view that asks, for errors.

    Raises:
        AttributeTypeError: the target is neither, or does not take these.
    """

    def __init__(
        self, target: object, inputs: Sequence[Any], train: bool, loss: object,
        shapes: Mapping[str, Any], boundary: FrameType, caller: str = "MemoryView",
    ):  # fmt: skip
        self.train, self._caller = train, caller
        self.dtypes: dict[str, Any] = {}
        self._graphs: dict[str | None, tuple[Graph, list[Known]]] = {}
        if isinstance(target, Symbol):
            if inputs or loss is not None:
                raise AttributeTypeError(
                    f"{caller}: a symbol takes shapes by name, such as data=(32, 10), and has its loss "
                    "in itself; arrays by position and loss= are for blocks."
                )
            arrays = {name: each for name, each in shapes.items() if isinstance(each, NDArray)}
            self.dtypes = {name: each._spec.dtype for name, each in arrays.items()}
            for name, each in shapes.items():
                if not isinstance(each, (NDArray, tuple, list)):
                    raise AttributeTypeError(
                        f"{caller}: {name} must be a shape or an array, not {type(each).__name__}; pass "
                        f"it as {name}=(32, 10)."
                    )
            self.shapes = {n: s.shape if n in arrays else tuple(s) for n, s in shapes.items()}
            # A name that the symbol does not have is an error.
            target._known_by_name("infer_shape", "shapes", (), self.shapes)
            self.symbol, self.name = target, target.name or "group"
            self.requests = requests_by_name(target.list_arguments(), "write" if train else "null")
        elif isinstance(target, HybridBlock):
            self._of_block(target, inputs, loss, shapes, boundary)
        else:
            title = target.__name__ if isinstance(target, type) else type(target).__name__
            raise AttributeTypeError(
                f"{caller}: {title} has no memory plan. Pass a Symbol with shapes "
                f"by name, such as data=(32, 10), or a HybridBlock with arrays; for the arrays of "
                f"other code, use MemoryView.live() after `with mx.runtime.memory():`."
            )

    def _of_block(
        self,
        block: HybridBlock,
        inputs: Sequence[Any],
        loss: Any,
        shapes: Any,
        boundary: FrameType,
    ) -> None:
        if shapes:
            raise AttributeTypeError(
                f"{self._caller}: a block takes arrays by position, not {', '.join(shapes)} by name."
            )
        leaves, structure = flatten(tuple(inputs))
        if not leaves or (loss is not None and len(inputs) < 2):
            kinds = ", ".join(type(each).__name__ for each in inputs) or "nothing"
            raise AttributeTypeError(
                f"{self._caller}: {block.name} got {kinds}. Pass the arrays that "
                f"you would call it with, such as mx.nd.zeros((32, 784)), followed by the label "
                f"if there is a loss."
            )

        forward = forward_with(loss, block)
        try:
            with source_lines(boundary):
                composed = Composition(forward, structure, len(leaves))
        except TypeError as error:
            if "positional argument" not in str(error) and "is called with" not in str(error):
                raise
            raise AttributeTypeError(
                f"{self._caller}: {block.name} does not take {how_many(len(inputs), 'input')}: "
                f"{str(error).rstrip('.')}. Pass the "
                f"arrays that its forward takes; a recurrent layer takes its states too, from "
                f"begin_state().{label_hint(loss, len(inputs))}"
            ) from error
        self.symbol, self.name = composed.symbol, block.name
        self.shapes = {n: leaf.shape for n, leaf in zip(composed.names, leaves, strict=True)}
        self.dtypes = {n: leaf._spec.dtype for n, leaf in zip(composed.names, leaves, strict=True)}
        parameters = block.collect_params()
        self.dtypes.update({name: as_dtype(each.dtype) for name, each in parameters.items()})
        arguments = set(self.symbol.list_arguments())
        self.requests = {
            name: "write" if self.train else "null"
            for name, each in parameters.items()
            if each.grad_req != "null" and name in arguments
        }

    def plan(
        self, inplace: bool = True, co_share: bool = True, recompute: bool | str = False
    ) -> MemoryPlan:
        """One of the plans."""
        mode = recompute_mode(recompute)
        if mode not in self._graphs:  # plans that differ in where arrays are placed have one graph
            graph, known = graph_to_plan(
                self.symbol, self.requests, self.shapes, self.dtypes, recompute
            )
            self._graphs[mode] = with_fewest_reads(graph, known), known
        return plan_memory(*self._graphs[mode], inplace, co_share, mode)


def payload_of(request: PlanRequest, xla: bool | None) -> dict[str, Any]:
    """The payload of all plans; see :class:`~mixnet.widgets.memory.MemoryView`.

    Args:
        request: what is planned.
        xla: compile the graph for XLA's figure; None: where it is small.
    """
    table = Table()
    graphs: list[dict[str, Any]] = []
    plans: list[dict[str, Any]] = []
    graph_of: dict[bool, int] = {}  # recomputing or not -> number of the graph
    plain: MemoryPlan | None = None
    for name, options in PLANS.items():
        recomputes = "recompute" in options
        if recomputes and not any(each != "null" for each in request.requests.values()):
            continue
        plan = request.plan(**options)
        if recomputes not in graph_of:
            graph_of[recomputes] = len(graphs)
            graphs.append(_graph(plan, recomputes, table))
        plain = plan if name == "both" else plain
        plans.append(_plan(name, plan, graph_of[recomputes]))
    assert plain is not None
    return {
        "schema": SCHEMA,
        "unit": "step",
        "name": request.name,
        "train": request.train,
        **table.to_dict(),
        "graphs": graphs,
        "plans": plans,
        "check": _by_xla(plain, xla),
    }


def in_program(memory: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """The payload of memory plans whose steps have their names from the program; ``node`` has
    those of the graph.
    """
    graphs = []
    for graph in memory["graphs"]:
        names = graph["steps"]["name"]
        called = {"name": [_called(name, labels) for name in names], "node": names}
        graphs.append({**graph, "steps": {**graph["steps"], **called}})
    return {**memory, "graphs": graphs}


def _called(name: str, labels: Mapping[str, str]) -> str:
    for ending, word in (("_mirror", "again"), ("_kept", "saved")):  # of a graph that recomputes
        base_name = name.removesuffix(ending)
        if base_name != name:
            return f"{labels.get(base_name, base_name)}, {word}"
    return labels.get(name, name)


class Table:
    """Texts and lines of programs that are named by their numbers."""

    def __init__(self) -> None:
        self._strings: dict[str, int] = {}
        self._sources: dict[Any, int] = {}

    def string(self, text: str) -> int:
        """The number of a text."""
        return self._strings.setdefault(text, len(self._strings))

    def source(self, source: Any) -> int:
        """The number of a line; -1 for None."""
        if source is None:
            return -1
        key = (in_project(source.file), source.line, source.text, source.function)
        return self._sources.setdefault(key, len(self._sources))

    def to_dict(self) -> dict[str, Any]:
        """``strings`` and ``sources``: file, line, text, function."""
        return {"strings": list(self._strings), "sources": [list(each) for each in self._sources]}


def _placed(plan: MemoryPlan) -> list[Array]:
    """The arrays of which a plan decides; the same ones in the same order in every plan of a graph."""
    return [each for each in plan.arrays if each.kind not in EXTERNAL or each.kind == "view"]


def _graph(plan: MemoryPlan, recomputes: bool, table: Table) -> dict[str, Any]:
    """Steps and placed arrays by columns, and where backward begins."""
    schedule, arrays = plan.schedule, _placed(plan)
    parts = [part_of(step.node) for step in schedule.steps]
    count = len(parts)
    turn = parts.index("backward") if "backward" in parts else count
    regions = [{"name": "forward", "begin": 0, "end": turn}]
    if turn < count:
        regions.append({"name": "backward", "begin": turn, "end": count})
    repeated = {
        number
        for number, step in enumerate(schedule.steps)
        if recomputes and number > turn and step.node.name.endswith("_mirror")
    }
    number_of = {step.name: number for number, step in enumerate(schedule.steps)}
    outputs = [len(step.writes) for step in schedule.steps]
    return {
        "length": count,
        "regions": regions,
        "steps": {
            "name": [step.name for step in schedule.steps],
            "op": [table.string(step.node.op.name) for step in schedule.steps],
            "source": [table.source(step.node.source) for step in schedule.steps],
        },
        "arrays": {
            "step": [number_of[each.node] for each in arrays],
            "index": [each.index if outputs[number_of[each.node]] > 1 else -1 for each in arrays],
            "shape": [table.string("×".join(map(str, each.shape)) or "scalar") for each in arrays],
            "dtype": [table.string(each.dtype.name) for each in arrays],
            "bytes": [each.nbytes for each in arrays],
            "begin": [each.first for each in arrays],
            "end": [each.last + 1 for each in arrays],
            "kind": [_kind(each, turn, repeated) for each in arrays],
            "readers": [list(each.readers) for each in arrays],
        },
    }


def _kind(array: Array, turn: int, repeated: set[int]) -> str:
    """A letter: Output, Recomputed, Backward, Activation that backward reads, Forward alone."""
    if array.kind == "output":
        return "O"
    if array.first >= turn:
        return "R" if array.first in repeated else "B"
    return "A" if array.last >= turn else "F"


def _plan(name: str, plan: MemoryPlan, graph: int) -> dict[str, Any]:
    live = plan.live_bytes
    peak = max(live, default=0)
    return {
        "name": name,
        "graph": graph,
        "total": plan.total_bytes,
        "bound": plan.lower_bound_bytes,
        "peak": {"at": live.index(peak) if live else 0, "bytes": peak},
        "user": {
            "arguments": plan.argument_bytes,
            "gradients": plan.gradient_bytes,
            "states": plan.state_bytes,
        },
        "workspace": plan.workspace_bytes,
        "dependencies": len(plan.dependencies),
        "storage": [-1 if each.storage is None else each.storage for each in _placed(plan)],
        "offset": [each.offset for each in plan.storages],
        "size": [each.nbytes for each in plan.storages],
    }


def _by_xla(plan: MemoryPlan, requested: bool | None) -> dict[str, Any]:
    """Temporaries and outputs of the same graph as one program of XLA's; only what it takes
    where it is asked.
    """
    if requested is None:
        requested = len(plan.schedule.steps) <= SMALL
    if not requested:
        return {"xla": None, "note": "not measured: pass xla=True to compile the network"}
    graph = plan.schedule.graph
    structs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in plan.schedule.inputs()]
    device = current_context().device
    with compiling_for(device):
        compiled = jax.jit(lower(graph)).lower(structs).compile()
    analysis = compiled.memory_analysis()
    if analysis is None:
        return {"xla": None, "note": "XLA reports no memory figures on this device"}
    outputs = sum(each.nbytes for each in plan.arrays if each.kind == "output")
    temporaries = int(analysis.temp_size_in_bytes)
    return {
        "xla": temporaries + outputs,
        "xla_temp": temporaries,
        "xla_args": int(analysis.argument_size_in_bytes),
        "outputs": outputs,
        "platform": device.platform,
        "note": "XLA's own: temporaries and outputs of the compiled program, in its order, after fusion",
    }
