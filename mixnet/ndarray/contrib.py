"""``mx.nd.contrib``: loops and branches, floating-point tests, and the contributed operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeValueError, NotAnArrayError, ShapeError
from mixnet.context import as_context
from mixnet.ndarray.create import zeros
from mixnet.ndarray.invoke import invoke, invoke_any
from mixnet.ndarray.namespace import below
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.update import adamw_update as adamw_update
from mixnet.ndarray.update import mp_adamw_update as mp_adamw_update
from mixnet.ndarray.update import multi_adamw_update as multi_adamw_update
from mixnet.ndarray.update import multi_lamb_update as multi_lamb_update
from mixnet.ndarray.update import multi_mp_adamw_update as multi_mp_adamw_update
from mixnet.ndarray.update import multi_mp_lamb_update as multi_mp_lamb_update
from mixnet.ops.registry import find
from mixnet.process.nesting import Nesting, flattened, nested
from mixnet.process.subroutine import checked_function, checked_pair, checked_while_loop
from mixnet.runtime.record.keys import drawing_in_loop
from mixnet.runtime.trace.body import BodyTrace
from mixnet.runtime.value.state import is_tracing
from mixnet.runtime.value.value import Spec, Value

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.context import Context

__getattr__, __dir__ = below("contrib").hooks(globals())


BODY = "return (outputs, new states)"
STEP = "return (step output, new loop variables)"


def _flat(arrays: object, role: str) -> tuple[list[Any], Nesting]:
    """Arrays of nested lists, and how to nest others the same way; ``role`` they are, for an error."""

    def leaf(value: object) -> tuple[list[Any], Nesting]:
        if isinstance(value, NDArray):
            return [value], None
        raise NotAnArrayError(
            f"{role} must be an array or a list of arrays, not {value!r:.60}. mx.nd.array makes arrays."
        )

    return flattened(arrays, leaf)


def _record_loop(
    name: str, inputs: Sequence[Value], cls: type[NDArray], attributes: dict[str, Any]
) -> list[Any]:
    arrays = [cls._wrap(value) for value in inputs]
    results = invoke_any(find(name), arrays, attributes)
    return results if isinstance(results, list) else [results]


def foreach(body: Callable[..., Any], data: ArrayLike, init_states: object) -> tuple[Any, Any]:
    """Run ``body(slice, states)`` on every slice of ``data`` along the first axis.

    On arrays it is a Python loop; within a hybridized block it becomes one loop of the compiled
    program, whatever the number of slices.

    Args:
        body: returns ``(outputs, new states)``, arrays or nested lists of them.
        data: an array, or nested lists of arrays with the same first extent.
        init_states: an array or nested lists of arrays.

    Returns:
        The outputs stacked along a new first axis, and the last states.
    """
    slices, data_shape = _flat(data, "foreach: data")
    states, state_shape = _flat(init_states, "foreach: init_states")
    checked_function("foreach", "body", body, "def body(slice, states)")
    if not slices:
        raise ShapeError("foreach: there is no data to run over.")
    length = slices[0].shape[0]
    if any(each.shape[0] != length for each in slices):
        raise ShapeError(
            f"foreach: first extents {[each.shape[0] for each in slices]} of the data differ."
        )
    if is_tracing():
        return _traced_foreach(body, slices, data_shape, states, state_shape)
    # Not a copy: programs collect results in a list that they give as a state.
    current = init_states
    collected: list[list[Any]] = []
    out_shape = None
    with drawing_in_loop(slices[0].context):
        for i in range(length):
            result = body(nested([each[i] for each in slices], data_shape), current)
            out, current = checked_pair("foreach", "body", result, BODY)
            leaves, out_shape = _flat(out, "foreach: an output of body")
            collected.append(leaves)
    stack = find("stack")
    stacked = [invoke(stack, list(each), {"axis": 0}) for each in zip(*collected, strict=True)]
    return nested(stacked, out_shape), current


def _traced_foreach(
    body: Any, slices: list[Any], data_shape: Any, states: list[Any], state_shape: Any
) -> tuple[Any, Any]:
    cls = type(slices[0])
    with BodyTrace() as trace:
        items = [trace.placeholder(_item_spec(each), f"item{i}") for i, each in enumerate(slices)]
        carried = [trace.placeholder(each._spec, f"state{i}") for i, each in enumerate(states)]
        returned = body(
            nested([cls._wrap(v) for v in items], data_shape),
            nested([cls._wrap(v) for v in carried], state_shape),
        )
        out, new = checked_pair("foreach", "body", returned, BODY)
        outputs, out_shape = _flat(out, "foreach: an output of body")
        after, after_shape = _flat(new, "foreach: a state that body returns")
        has_scalars = slices[0]._index_shape(()) == ()
        graph = trace.subgraph([each._read() for each in (*outputs, *after)], has_scalars)
    places, outside = trace.places(graph), trace.read(graph)
    attributes = {
        "subgraphs": (graph,),
        "num_outputs": len(outputs) + len(after),
        "num_out_data": len(outputs),
        "in_data_locs": tuple(places[: len(items)]),
        "in_state_locs": tuple(places[len(items) :]),
        "remain_locs": tuple(place for place, _ in outside),
    }
    inputs = [each._read() for each in (*slices, *states)] + [value for _, value in outside]
    results = _record_loop("_foreach", inputs, cls, attributes)
    split = len(outputs)
    return nested(results[:split], out_shape), nested(results[split:], after_shape)


def _item_spec(each: NDArray) -> Spec:
    # What indexing with a number gives, which in mx.nd has one axis at least.
    spec = each._spec
    return Spec.of(each._index_shape(spec.shape[1:]), spec.dtype, spec.context)


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """Run ``func(*loop_vars)`` while ``cond(*loop_vars)`` holds.

    Args:
        cond: returns an array of one element.
        func: returns ``(step output, new loop variables)``.
        loop_vars: an array or a list.
        max_iterations: the most steps.

    Returns:
        The step outputs stacked to ``max_iterations`` rows, those after the last step 0, and the
        last loop variables.

    Raises:
        ValueError: no ``max_iterations``, or no loop variables.
    """
    turns = checked_while_loop(cond, func, max_iterations)
    variables, shape = _flat(loop_vars, "while_loop: loop_vars")
    if not variables:
        raise AttributeValueError(
            "while_loop: loop_vars is empty; give an array or a list of arrays."
        )
    if is_tracing():
        return _traced_while(cond, func, variables, shape, turns)
    current = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]
    single = isinstance(loop_vars, NDArray)
    collected: list[list[Any]] = []
    _, out_shape = _flat([], "")
    with drawing_in_loop(variables[0].context):
        while len(collected) < turns and _is_true(cond(*current), "while_loop: what cond returns"):
            out, new = checked_pair("while_loop", "func", func(*current), STEP)
            leaves, out_shape = _flat([] if out is None else out, "while_loop: a step output")
            collected.append(leaves)
            current = list(new) if isinstance(new, (list, tuple)) else [new]
            if len(current) != (1 if single else len(loop_vars)):
                raise ShapeError(
                    f"while_loop: func returned {len(current)} loop variables, but there are "
                    f"{1 if single else len(loop_vars)}."
                )
    stacked = [_padded(list(each), turns) for each in zip(*collected, strict=True)]
    if not collected and isinstance(loop_vars, tuple):
        return nested(stacked, out_shape), loop_vars  # as they were given
    return nested(stacked, out_shape), current[0] if single else current


def _is_true(result: object, role: str) -> bool:
    if isinstance(result, NDArray) and result.size != 1:
        raise ShapeError(f"{role} has shape {result.shape}; it must be one number, 0 or not.")
    return bool(result.item() if isinstance(result, NDArray) else result)


def _padded(rows: list[Any], count: int) -> Any:
    stacked = invoke(find("stack"), rows, {"axis": 0})
    missing = count - len(rows)
    if not missing:
        return stacked
    first = rows[0]
    rest = zeros((missing, *first.shape), first.context, first.dtype)
    return invoke(find("Concat"), [stacked, type(stacked)._wrap(rest._read())], {"dim": 0})


def _traced_while(
    cond: Any, func: Any, variables: list[Any], shape: Nesting, max_iterations: int
) -> tuple[Any, Any]:
    cls, count = type(variables[0]), len(variables)
    single = shape is None

    def traced(function: Any) -> tuple[BodyTrace, Any, Any]:
        with BodyTrace() as trace:
            placeholders = [trace.placeholder(v._spec, f"var{i}") for i, v in enumerate(variables)]
            current_variables = nested([cls._wrap(v) for v in placeholders], shape)
            leaves, more = function(current_variables if not single else [current_variables])
            graph = trace.subgraph([each._read() for each in leaves])
        return trace, graph, more

    def condition(variables: Any) -> tuple[list[Any], Any]:
        return [cond(*variables)], None

    def body(variables: Any) -> tuple[list[Any], Any]:
        out, new = checked_pair("while_loop", "func", func(*variables), STEP)
        outputs, out_shape = _flat([] if out is None else out, "while_loop: a step output")
        after, after_shape = _flat(new, "while_loop: a new loop variable")
        return [*outputs, *after], (len(outputs), out_shape, after_shape)

    test_trace, test, _ = traced(condition)
    step_trace, step, (split, out_shape, after_shape) = traced(body)
    test_read = [value for _, value in test_trace.read(test)]
    step_read = [value for _, value in step_trace.read(step)]
    attributes = {
        "subgraphs": (test, step),
        "num_outputs": split + count,
        "num_out_data": split,
        "max_iterations": max_iterations,
        "cond_input_locs": tuple(test_trace.sources(test, count)),
        "func_input_locs": tuple(step_trace.sources(step, count + len(test_read))),
        "func_var_locs": tuple(step_trace.places(step)),
    }
    inputs = [each._read() for each in variables] + test_read + step_read
    results = _record_loop("_while_loop", inputs, cls, attributes)
    return nested(results[:split], out_shape), nested(results[split:], after_shape)


def cond(pred: object, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """``then_func()`` if ``pred`` is not 0, else ``else_func()``.

    On arrays ``pred`` is read; within a hybridized block both become branches of the compiled
    program, of which one runs.

    Args:
        pred: an array of one element.
        then_func: returns arrays or nested lists of them.
        else_func: returns arrays of the same shapes and dtypes.

    Raises:
        ShapeError: ``pred`` has more elements, or the branches return other numbers of arrays.
    """
    checked_function("cond", "then_func", then_func, "lambda: x + 1")
    checked_function("cond", "else_func", else_func, "lambda: x - 1")
    if not isinstance(pred, NDArray):
        return then_func() if pred else else_func()
    if not is_tracing():
        chosen = then_func if _is_true(pred, "cond: pred") else else_func
        with drawing_in_loop(pred.context):
            return chosen()

    def branch(function: Any) -> tuple[Any, list[Value], int, Any]:
        with BodyTrace() as trace:
            leaves, shape = _flat(function(), "cond: what a branch returns")
            graph = trace.subgraph([each._read() for each in leaves])
        return graph, [value for _, value in trace.read(graph)], len(leaves), shape

    with BodyTrace() as trace:
        test = trace.subgraph([trace.placeholder(pred._spec, "pred")])
    yes, yes_read, count, shape = branch(then_func)
    no, no_read, other, _ = branch(else_func)
    if count != other:
        raise ShapeError(f"cond: the branches return {count} and {other} arrays.")
    first = 1 + len(yes_read)
    attributes = {
        "subgraphs": (test, yes, no),
        "num_outputs": count,
        "cond_input_locs": (0,),
        "then_input_locs": tuple(range(1, first)),
        "else_input_locs": tuple(range(first, first + len(no_read))),
    }
    inputs = [pred._read(), *yes_read, *no_read]
    return nested(_record_loop("_cond", inputs, type(pred), attributes), shape)


def isnan(data: NDArray) -> NDArray:
    """1 where not a number, else 0.

    Args:
        data: an array of any shape; the result has its shape and dtype.
    """
    flags: NDArray = data != data
    return flags


def isinf(data: NDArray) -> NDArray:
    """1 where infinite, else 0.

    Args:
        data: an array of any shape; the result has its shape and dtype.
    """
    flags: NDArray = data.abs() == math.inf
    return flags


def isfinite(data: NDArray) -> NDArray:
    """1 where neither infinite nor NaN, else 0.

    Args:
        data: an array of any shape; the result has its shape and dtype.
    """
    flags: NDArray = (data.abs() != math.inf) * (data == data)
    return flags


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | str | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn with probability log((c + 2) / (c + 1)) / log(range_max + 1).

    Args:
        true_classes: class numbers, any shape.
        num_sampled: how many to draw.
        range_max: number of classes.
        ctx: device.

    Returns:
        The drawn classes, int64 ``(num_sampled,)``; how often each true class and each drawn one
        is expected among them, float64.
    """
    ctx = as_context(ctx)
    top = math.log(range_max + 1)
    uniform = invoke(
        find("_random_uniform"),
        (),
        {"low": 0.0, "high": top, "shape": (num_sampled,), "dtype": "float64", "ctx": ctx},
    )
    drawn = (uniform.exp() - 1).astype("int64") % range_max

    def expected(classes: NDArray) -> Any:
        at = classes.astype("float64")
        return ((at + 2.0) / (at + 1.0)).log() / top * num_sampled

    return drawn, expected(true_classes.as_in_context(ctx)), expected(drawn)
