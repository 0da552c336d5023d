"""Memory plans of symbols and executors, computed from shapes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import AttributeValueError, ShapeError
from mixnet.dtype import as_dtype
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry
from mixnet.ops.tracing.dataflow import Known
from mixnet.passes.assign_keys import KEY_NAME, KEY_SPEC
from mixnet.passes.complete_shapes import complete_shapes
from mixnet.passes.facts import Facts
from mixnet.passes.infer_shape import infer, is_known
from mixnet.passes.plan_memory import MemoryPlan, plan_memory
from mixnet.passes.set_training import set_training
from mixnet.passes.training_graph import training_graph
from mixnet.symbol.binding import requests_by_name
from mixnet.symbol.executable import executable_graph
from mixnet.symbol.executor import Executor
from mixnet.symbol.symbol import Symbol


def memory_plan(
    self: Symbol,
    grad_req: str | Sequence[str] | Mapping[str, str] = "null",
    inplace: bool = True,
    co_share: bool = True,
    recompute: bool | str = False,
    type_dict: Mapping[str, Any] | None = None,
    **shapes: object,
) -> MemoryPlan:
    """How much memory the symbol takes and where each array is placed; nothing is run or allocated.

    Args:
        grad_req: ``null``: prediction. ``write`` or ``add``, for all, a list in order, or a dict by
            name: training, forward and gradients.
        inplace: outputs may take over the memory of inputs that die there.
        co_share: arrays may reuse memory of arrays that are no longer needed.
        recompute: gradients compute results of forward again instead of storing them.
        type_dict: dtypes by name; float32 by default.
        shapes: shapes by name.

    Returns:
        The plan: ``total_bytes``, ``lower_bound_bytes``, ``storages``, ``arrays``, ``to_dict()``.

    Raises:
        ShapeError: the shapes given do not determine all others, or do not fit.
    """
    requests = requests_by_name(self.list_arguments(), grad_req)
    # A name that the symbol does not have is an error.
    self._known_by_name("infer_shape", "shapes", (), shapes)
    dtypes = {name: as_dtype(dtype) for name, dtype in (type_dict or {}).items()}
    return plan_of(self, requests, shapes, dtypes, inplace, co_share, recompute)


def plan_of(
    symbol: Symbol,
    requests: Mapping[str, str],
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, Any],
    inplace: bool,
    co_share: bool,
    recompute: bool | str,
    training: bool | None = None,
) -> MemoryPlan:
    """The plan of a symbol; ``training`` is the mode if no gradient is requested."""
    graph, inputs = graph_to_plan(symbol, requests, shapes, dtypes, recompute, training)
    return plan_memory(graph, inputs, inplace, co_share, recompute_mode(recompute))


def graph_to_plan(
    symbol: Symbol,
    requests: Mapping[str, str],
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, Any],
    recompute: bool | str,
    training: bool | None = None,
) -> tuple[Graph, list[Known]]:
    """The input of a plan: the graph, with its gradients, and its inputs' shapes and dtypes."""
    gradient_requests = {name: each for name, each in requests.items() if each != "null"}
    if training is None:
        training = bool(gradient_requests)
    if recompute and not gradient_requests:
        raise AttributeValueError(
            "memory_plan: recompute applies to gradients, but none are requested; pass "
            "grad_req='write' too."
        )
    by_name = _inputs_by_name(symbol, shapes, dtypes, training)
    known_shapes = {name: shape for name, (shape, _) in by_name.items()}
    symbol = Symbol(complete_shapes(symbol.graph, known_shapes).heads)
    graph = executable_graph(symbol, training)
    if gradient_requests:
        inputs = [by_name[node.name] for node in graph.inputs]
        outputs = Facts(inputs=inputs).specs(graph)
        complete = training_graph(graph, gradient_requests, recompute_mode(recompute))
        for start, head in zip(complete.heads, graph.heads, strict=False):
            by_name[start.name] = outputs[head]
        for name, before in zip(complete.added_to, complete.sums, strict=True):
            by_name[before.name] = by_name[name]
        graph = complete.graph
    return graph, [by_name[node.name] for node in graph.inputs]


def _inputs_by_name(
    symbol: Symbol, shapes: Mapping[str, Any], dtypes: Mapping[str, Any], training: bool
) -> dict[str, Known]:
    """Shape and dtype of every variable."""
    inferred = infer(set_training(symbol.graph, training), shapes, dtypes, np.dtype("float32"))
    by_name: dict[str, Known] = {KEY_NAME: KEY_SPEC}
    unknown = []
    for node in symbol.graph.nodes:
        if node.is_variable:
            shape = inferred.shapes.get(Entry(node))
            if shape is None or not is_known(shape):
                unknown.append(node.name)
            else:
                dtype = inferred.dtypes.get(Entry(node)) or np.dtype("float32")
                by_name[node.name] = (shape, dtype)
    if unknown:
        raise ShapeError(
            f"memory_plan: the shapes of {', '.join(unknown)} cannot be inferred from "
            f"{', '.join(shapes) or 'nothing'}; give them by name."
        )
    return by_name


def recompute_mode(recompute: bool | str) -> str | None:
    """``sublinear`` for True, None for False."""
    if isinstance(recompute, str):
        return recompute
    return "sublinear" if recompute else None


def executor_memory_plan(
    self: Executor, inplace: bool = True, co_share: bool = True, recompute: bool | str = False
) -> MemoryPlan:
    """The plan for the arrays that the executor is bound to; see ``Symbol.memory_plan``.

    Args:
        inplace: let operators write into the memory of their inputs.
        co_share: let arrays that are not needed at the same time share memory.
        recompute: ``'mirror'``, ``'sublinear'`` or None.
    """
    arrays = {**self.arg_dict, **self.aux_dict}
    shapes = {name: array.shape for name, array in arrays.items()}
    dtypes = {name: array._spec.dtype for name, array in arrays.items()}
    requests = {
        name: self._requests.get(name, "null")
        for name, gradient in self.grad_dict.items()
        if gradient is not None
    }
    return plan_of(self._symbol, requests, shapes, dtypes, inplace, co_share, recompute)


def debug_str(self: Executor) -> str:
    """The graph as text, and the megabytes that its internal arrays take by the plan.

    Programs find these in the last line but one, as MXNet writes it. The compiler allocates what an operator
    needs while it runs, so there is nothing that operators request.
    """
    megabytes = executor_memory_plan(self).total_bytes >> 20
    totals = f"Total {megabytes} MB allocated\nTotal 0 TempSpace resource requested\n"
    return self._symbol.debug_str() + totals


def install(symbol: Any, executor: Any) -> None:
    """Give symbols and executors their plans."""
    symbol.memory_plan = memory_plan
    executor.memory_plan = executor_memory_plan
    executor.debug_str = debug_str
