"""Readers of loops and branches, whose bodies become subgraphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet import symbol as sym
from mixnet.base import NotDefinedError
from mixnet.onnx.load.extents import OpenArray
from mixnet.onnx.load.table import Call, reads
from mixnet.onnx.package import onnx_package
from mixnet.ops.control.control_flow import UNLIMITED

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading


@reads("If")
def _(g: Reading, call: Call) -> Any:
    yes, no = call.get("then_branch"), call.get("else_branch")
    if isinstance(call.x, np.ndarray):
        return g.inside(yes if call.x.reshape(-1)[0] else no, [])[1]
    scalars: list[list[bool]] = []

    def branch(body: object) -> Any:
        def compose() -> list[Any]:
            inner, results = g.inside(body, [])
            scalars.append([inner.is_scalar(each) for each in results])
            return [inner.symbol(each) for each in results]

        return compose

    condition = g.op("Cast", call.x, dtype="int32")
    results = sym.contrib.cond(condition, branch(yes), branch(no), name=g.scope)
    outputs = list(results) if isinstance(results, (list, tuple)) else [results]
    for each, scalar in zip(outputs, scalars[0], strict=True):
        g.mark_scalar(each, scalar)
    return outputs


@reads("Loop")
def _(g: Reading, call: Call) -> Any:
    body, limit, condition = call.get("body"), call.input(0), call.input(1)
    carried = call.inputs[2:]
    stacked = len(body.output) - 1 - len(carried)
    always = condition is None or (
        isinstance(condition, np.ndarray) and bool(condition.reshape(-1)[0])
    )
    if isinstance(limit, (np.ndarray, OpenArray)) and always and _goes_on(body):
        return _counted(g, body, g.ints(limit, "the number of iterations")[0], carried)
    if stacked:
        raise NotDefinedError(
            "the number of iterations depends on the model's inputs, and so do the rows of an output; "
            "use a constant number of iterations, or carry the rows along as a state of the loop"
        )
    return _while(g, body, limit, condition, carried)


@reads("Scan")
def _(g: Reading, call: Call) -> Any:
    """A loop over slices of arrays."""
    if g.opset < 9:
        raise NotDefinedError(
            "before operator set 9 it has a batch axis; export the file with a newer set"
        )
    body, count = call.get("body"), call.get("num_scan_inputs")
    starts, scanned = call.inputs[:-count], call.inputs[-count:]
    rows = len(body.output) - len(starts)
    axes, backwards = (call.get(f"scan_input_{n}") or [0] * count for n in ("axes", "directions"))
    out_axes, out_backwards = (
        call.get(f"scan_output_{name}") or [0] * rows for name in ("axes", "directions")
    )
    arrays = [_first_axis(g, *each) for each in zip(scanned, axes, backwards, strict=True)]
    flat = [len(g.shape(each)) == 1 for each in scanned]
    scalars: list[bool] = []

    def step(slices: Any, states: Any) -> Any:
        variables = _variables(g, states, starts)
        for each, array, scalar in zip(slices, arrays, flat, strict=True):
            variables.append(g.variable(each, g.shape(array)[1:], g.dtype(array), scalar))
        inner, results = g.inside(body, variables)
        new = _all_read(inner, results[: len(starts)], states)
        scalars[:] = [inner.is_scalar(each) for each in results[len(starts) :]]
        # The slices are outputs as well: a body may not read them, and a loop reads what it runs over.
        return [*slices, *(inner.symbol(each) for each in results[len(starts) :])], new

    outputs, states = sym.contrib.foreach(step, arrays, _starts(g, starts), name=g.scope)
    stacked = [
        _last_place(g, g.op("Reshape", each, shape=(-1,)) if scalar else each, axis, reverse)
        for each, scalar, axis, reverse in zip(
            outputs[count:], scalars, out_axes, out_backwards, strict=True
        )
    ]
    return [*_marked(g, states, starts), *stacked]


def _first_axis(g: Reading, x: object, axis: int, backwards: int) -> Any:
    """An array whose slices along an axis are in order, along the first axis."""
    if len(g.shape(x)) == 1:
        x = g.op("Reshape", x, shape=(-1, 1))
    elif axis:
        x = g.op("_np_moveaxis", x, source=axis, destination=0)
    return g.op("reverse", x, axis=0) if backwards else g.op("_copy", x)


def _last_place(g: Reading, x: object, axis: int, backwards: int) -> Any:
    """Stacked rows in the order and along the axis that the file asks for."""
    x = g.op("reverse", x, axis=0) if backwards else x
    return g.op("_np_moveaxis", x, source=0, destination=axis) if axis else x


def _goes_on(body: Any) -> bool:
    """Whether a body returns the condition that it is given, or a constant that is true."""
    producers = {name: node for node in body.node for name in node.output}
    name = body.output[0].name
    while name in producers and producers[name].op_type == "Identity":
        name = producers[name].input[0]
    return bool(name == body.input[1].name)


def _counted(g: Reading, body: Any, turns: Any, carried: list[Any]) -> Any:
    """A loop whose number of turns is known when the file is read, or follows from open extents."""
    if turns < 1:
        return [*carried, *_empty(body, len(carried))]
    scalars: list[bool] = []

    def step(turn: Any, states: Any) -> Any:
        variables = [g.variable(turn, (1,), np.dtype("int64"), True), np.asarray(True)]
        variables += _variables(g, states, carried)
        inner, results = g.inside(body, variables)
        new = _all_read(inner, results[1 : 1 + len(carried)], states)
        rows = results[1 + len(carried) :]
        scalars[:] = [inner.is_scalar(each) for each in rows]
        # The number of the turn is an output as well: a body may not read it, and a loop reads what
        # it runs over.
        return [turn, *(inner.symbol(each) for each in rows)], new

    numbers = g.symbol(g.places((turns, 1), 0))
    outputs, states = sym.contrib.foreach(step, numbers, _starts(g, carried), name=g.scope)
    rows = [
        g.op("Reshape", each, shape=(-1,)) if scalar else each
        for each, scalar in zip(outputs[1:], scalars, strict=True)
    ]
    return [*_marked(g, states, carried), *rows]


def _empty(body: Any, count: int) -> list[np.ndarray]:
    """Stacked outputs of a loop without a turn: no rows, of the shape that the body declares."""
    empty = []
    for each in body.output[1 + count :]:
        kind = each.type.tensor_type
        dims = [d.dim_value for d in kind.shape.dim]
        if not kind.HasField("shape") or not all(dims):
            raise NotDefinedError(
                f"a loop without iterations, whose rows {each.name!r} have no shape"
            )
        dtype = onnx_package().helper.tensor_dtype_to_np_dtype(kind.elem_type)
        empty.append(np.zeros((0, *dims), dtype))
    return empty


def _while(g: Reading, body: Any, limit: Any, condition: Any, carried: list[Any]) -> Any:
    """A loop that goes on as long as a condition holds."""
    most = UNLIMITED
    if isinstance(limit, np.ndarray):
        most = min(int(limit.reshape(-1)[0]), most)
    running = np.ones(1, np.int32) if condition is None else g.op("Cast", condition, dtype="int32")
    bounded = limit is not None and not isinstance(limit, np.ndarray)

    def test(turn: object, going: object, *states: object) -> Any:
        if not bounded:
            return g.op("_copy", going)
        below = g.op("Cast", g.op("_npi_less", turn, limit), dtype="int32")
        return g.op("broadcast_logical_and", going, below)

    def step(turn: Any, going: Any, *states: Any) -> Any:
        variables = [
            g.variable(turn, (1,), np.dtype("int64"), True),
            g.variable(going, (1,), np.dtype("int32"), True),
            *_variables(g, states, carried),
        ]
        inner, results = g.inside(body, variables)
        continues = inner.op("Cast", inner.symbol(results[0]), dtype="int32")
        new = _all_read(inner, [continues, *results[1:]], [going, *states])
        return [], [g.op("_plus_scalar", turn, scalar=1), *new]

    first = [g.symbol(np.zeros(1, np.int64)), g.symbol(running)]
    _, after = sym.contrib.while_loop(
        test, step, [*first, *_starts(g, carried)], max_iterations=most, name=g.scope
    )
    return _marked(g, after[2:], carried)


def _starts(g: Reading, carried: list[Any]) -> list[Any]:
    return [g.symbol(each) for each in carried]


def _variables(g: Reading, states: Any, carried: list[Any]) -> list[Any]:
    """A body's variables, with the shapes and dtypes of what the loop begins with."""
    return [
        g.variable(each, g.shape(first) or (1,), g.dtype(first), g.is_scalar(first))
        for each, first in zip(states, carried, strict=True)
    ]


def _all_read(g: Reading, new: list[Any], states: Any) -> list[Any]:
    """New states, each of which reads the one before, at least its shape: loops carry nothing
    that is not read.
    """
    return [g.op("broadcast_like", each, state) for each, state in zip(new, states, strict=True)]


def _marked(g: Reading, states: Any, carried: list[Any]) -> list[Any]:
    for each, first in zip(states, carried, strict=True):
        g.mark_scalar(each, g.is_scalar(first))
    return list(states)
