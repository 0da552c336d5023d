"""Loops and branches over subgraphs: one XLA loop or conditional each, with gradients.

A subgraph is anything with ``run(arrays, stream, training)`` that returns a list of arrays,
``draws(training)``, how many random numbers that takes, and ``has_scalars``, whether it is written
for arrays without axes;
:class:`mixnet.graph.subgraph.SubGraph` is one. What comes in by ``*_locs`` is MXNet's order of the
subgraph's inputs, as a symbol file states it.

A call takes one number and draws from the stream that begins there, see
:mod:`mixnet.ops.schema.stream`. Each turn of a loop draws what it would draw as a turn of a loop
in Python: its numbers follow those of the turn before.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.control import loops
from mixnet.ops.op import Place
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Shape
from mixnet.ops.schema.stream import advanced, loop_stream


def _place(arrays: Any, positions: tuple[int, ...]) -> list[Any]:
    """Arrays at their places; one whose place is -1 is not read."""
    if len(arrays) != len(positions):
        raise ShapeError(
            f"A loop with places for {len(positions)} arrays was given {len(arrays)}. "
            "Give one array per place."
        )
    placed: list[Any] = [None] * (1 + max(positions, default=-1))
    for array, position in zip(arrays, positions, strict=True):
        if position >= 0:
            placed[position] = array
    return placed


def _count(num_outputs: int) -> int:
    return num_outputs


def _as_declared(results: list[Any], states: list[Any]) -> list[Any]:
    """New states in the dtypes of the old ones, as a loop must carry them."""
    for i, (new, old) in enumerate(zip(results, states, strict=True)):
        if new.shape != old.shape:
            raise ShapeError(
                f"a loop must keep the shapes of its states: state {i} has shape {old.shape}, the "
                f"body returned {new.shape}."
            )
    return [new.astype(old.dtype) for new, old in zip(results, states, strict=True)]


@op("_foreach", num_args="num_args", outputs=_count)
def foreach(
    *data,
    subgraphs: Any,
    num_outputs: int,
    num_out_data: int,
    in_data_locs: Shape,
    in_state_locs: Shape,
    remain_locs: Shape,
    stream,
    training,
):
    """A body run on every slice along the first axis of some arrays, carrying states.

    Args:
        data: the arrays to slice, then the states, then what else the body reads.
        subgraphs: the body.
        num_outputs: outputs of the loop: stacked ones, then the last states.
        num_out_data: how many are stacked.
        in_data_locs: positions of the slices among the body's inputs.
        in_state_locs: positions of the states.
        remain_locs: positions of what else it reads.

    Source: MXNet operator ``_foreach``.
    """
    (body,) = subgraphs
    sliced = data[: len(in_data_locs)]
    states = list(data[len(in_data_locs) : len(in_data_locs) + len(in_state_locs)])
    rest = data[len(in_data_locs) + len(in_state_locs) :]

    def place(slices: Any, carried: Any) -> list[Any]:
        return _place([*slices, *carried, *rest], (*in_data_locs, *in_state_locs, *remain_locs))

    own, draws = loop_stream(stream), body.draws(training)

    def step(carried: Any, item: Any) -> Any:
        number, slices = item
        if not body.has_scalars:
            slices = [jnp.atleast_1d(each) for each in slices]
        results = body.run(place(slices, carried), advanced(own, draws * number), training)
        return _as_declared(results[num_out_data:], carried), results[:num_out_data]

    length = sliced[0].shape[0]
    last, stacked = loops.scan(step, states, (jnp.arange(length), list(sliced)))
    return (*stacked, *last)


@foreach.set_bodies
def _(subgraphs, in_data_locs, in_state_locs, remain_locs, **_):
    order = sorted(
        (place, Place(number, number < len(in_data_locs)))
        for number, place in enumerate((*in_data_locs, *in_state_locs, *remain_locs))
        if place >= 0
    )
    return [(subgraphs[0], [place for _, place in order])]


UNLIMITED = (1 << 31) - 1
"""``max_iterations`` of a loop that runs for as long as its condition holds."""


@op("_while_loop", num_args="num_args", outputs=_count)
def while_loop(
    *data,
    subgraphs: Any,
    num_outputs: int,
    num_out_data: int,
    max_iterations: int,
    cond_input_locs: Shape,
    func_input_locs: Shape,
    func_var_locs: Shape,
    stream,
    training,
):
    """A body run while a condition holds, at most ``max_iterations`` times.

    It has a gradient, so it is a loop of ``max_iterations`` steps of which those after the end
    only pass the variables on. With 2**31 - 1 and nothing stacked it ends with the last step, and
    has no gradient.

    Args:
        data: the loop variables, and what else condition and body read, in any order.
        subgraphs: condition and body.
        num_outputs: outputs: stacked ones of ``max_iterations`` rows, 0 after the last step, then
            the loop variables.
        num_out_data: how many are stacked.
        max_iterations: the most steps.
        cond_input_locs: which of ``data`` the condition reads.
        func_input_locs: which of ``data`` the body reads.
        func_var_locs: positions of the loop variables among the body's inputs.

    Source: MXNet operator ``_while_loop``.
    """
    condition, body = subgraphs
    # Which of the data the loop variables are; those that the body does not read are the first ones.
    which = [func_input_locs[place] if place >= 0 else i for i, place in enumerate(func_var_locs)]
    own, tests, steps = loop_stream(stream), condition.draws(training), body.draws(training)

    def holds(values: list[Any], number: jax.Array) -> Any:
        place = advanced(own, (tests + steps) * number)
        truth = condition.run([values[i] for i in cond_input_locs], place, training)
        return truth[0].reshape(()) != 0

    def run(values: list[Any], number: Any) -> tuple[list[Any], list[Any]]:
        placed = [values[i] for i in func_input_locs]
        place = advanced(own, (tests + steps) * number + tests)
        results = body.run(placed, place, training)
        after = list(values)
        old = [values[i] for i in which]
        for i, new in zip(which, _as_declared(results[num_out_data:], old), strict=True):
            after[i] = new
        return after, results[:num_out_data]

    if max_iterations >= UNLIMITED and not num_out_data:
        _, last = loops.while_loop(
            lambda at: holds(at[1], at[0]),
            lambda at: (at[0] + 1, run(at[1], at[0])[0]),
            (jnp.asarray(0), list(data)),
        )
        return tuple(last[i] for i in which)
    rows = jax.eval_shape(lambda: run(list(data), 0)[1])

    def step(carried: Any, number: jax.Array) -> Any:
        running, values = carried
        running = running & holds(values, number)
        after, out = loops.cond(
            running,
            lambda values: run(values, number),
            lambda values: (values, [jnp.zeros(r.shape, r.dtype) for r in rows]),
            values,
        )
        return (running, after), out

    (_, last), stacked = loops.scan(
        step, (jnp.asarray(True), list(data)), jnp.arange(max_iterations)
    )
    return (*stacked, *[last[i] for i in which])


@while_loop.set_bodies
def _(subgraphs, cond_input_locs, func_input_locs, **_):
    both = (cond_input_locs, func_input_locs)
    return [(s, [Place(i) for i in at]) for s, at in zip(subgraphs, both, strict=True)]


@op("_cond", num_args="num_args", outputs=_count)
def cond(
    *data,
    subgraphs: Any,
    num_outputs: int,
    cond_input_locs: Shape,
    then_input_locs: Shape,
    else_input_locs: Shape,
    stream,
    training,
):
    """One of two subgraphs, by a condition; only that one runs.

    Args:
        data: what the three subgraphs read.
        subgraphs: condition, then-branch, else-branch.
        num_outputs: outputs of either branch.
        cond_input_locs: which of ``data`` the condition reads.
        then_input_locs: which of ``data`` the then-branch reads.
        else_input_locs: which of ``data`` the else-branch reads.

    Source: MXNet operator ``_cond``.
    """
    condition, yes, no = subgraphs
    tested = [data[i] for i in cond_input_locs]
    own = loop_stream(stream)
    (holds,) = condition.run(tested, own, training)
    after = advanced(own, condition.draws(training))

    def branch(body: Any, places: tuple[int, ...]) -> Any:
        return lambda values: body.run([values[i] for i in places], after, training)

    one, other = branch(yes, then_input_locs), branch(no, else_input_locs)
    for a, b in zip(jax.eval_shape(one, data), jax.eval_shape(other, data), strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise ShapeError(
                f"cond: the branches return different arrays: {a.dtype.name}{list(a.shape)} and "
                f"{b.dtype.name}{list(b.shape)}."
            )
    return tuple(loops.cond(holds.reshape(()) != 0, one, other, data))


@cond.set_bodies
def _(subgraphs, cond_input_locs, then_input_locs, else_input_locs, **_):
    all_three = (cond_input_locs, then_input_locs, else_input_locs)
    return [(s, [Place(i) for i in at]) for s, at in zip(subgraphs, all_three, strict=True)]
