"""Loops and branches over subgraphs: one XLA loop or conditional each, with gradients.

A subgraph is anything with ``run(arrays, stream, training)`` that returns a list of arrays, and
``draws(arrays, training)``, how many random numbers that takes;
:class:`mixnet.graph.subgraph.SubGraph` is one. What comes in by ``*_locs`` is MXNet's order of the
subgraph's inputs, as a symbol file states it.

Each turn of a loop draws what it would draw as a turn of a loop in Python: its numbers follow those of the turn
before. How many turns a ``while_loop`` makes, and which branch of a ``cond`` runs, is not known before, so a call takes the
numbers of the most turns, and of the branch that draws more.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.attributes import Shape
from mixnet.ops.registry import Place, op
from mixnet.ops.stream import advanced


def _place(arrays: Any, positions: tuple[int, ...]) -> list[Any]:
    """Arrays at their places; one whose place is -1 is not read."""
    if len(arrays) != len(positions):
        raise ShapeError(
            f"A loop that names places for {len(positions)} arrays was given {len(arrays)}. Give one array a place."
        )
    placed: list[Any] = [None] * (1 + max(positions, default=-1))
    for array, position in zip(arrays, positions, strict=True):
        if position >= 0:
            placed[position] = array
    return placed


def _count(num_outputs: int) -> int:
    return num_outputs


def _as_declared(found: list[Any], states: list[Any]) -> list[Any]:
    """New states in the dtypes of the old ones, as a loop must carry them."""
    for i, (new, old) in enumerate(zip(found, states, strict=True)):
        if new.shape != old.shape:
            raise ShapeError(
                f"a loop must keep the shapes of its states: state {i} has shape {old.shape}, the "
                f"body returned {new.shape}."
            )
    return [new.astype(old.dtype) for new, old in zip(found, states, strict=True)]


_OPEN = 1 << 20
"""Numbers that a loop takes whose number of turns is not known when its graph is made."""


def _structs(inputs: Any) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in inputs]


def _draws_of_foreach(
    subgraphs: Any,
    in_data_locs: Any,
    in_state_locs: Any,
    remain_locs: Any,
    training: bool,
    inputs: Any,
) -> int:
    if inputs is None or not isinstance(
        subgraphs, tuple
    ):  # the latter: the call itself says what is wrong
        return _OPEN
    arrays = _structs(inputs)
    length = arrays[0].shape[0]
    for i in range(len(in_data_locs)):
        arrays[i] = jax.ShapeDtypeStruct(arrays[i].shape[1:], arrays[i].dtype)
    placed = _place(arrays, (*in_data_locs, *in_state_locs, *remain_locs))
    return length * int(subgraphs[0].draws(placed, training))


@op("_foreach", num_args="num_args", outputs=_count, draws=_draws_of_foreach)
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
        data: the arrays to slice, then the states, then what the body reads besides.
        subgraphs: the body.
        num_outputs: outputs of the loop: stacked ones, then the last states.
        num_out_data: how many are stacked.
        in_data_locs: places of the slices among the body's inputs.
        in_state_locs: places of the states.
        remain_locs: places of what is read besides.

    Source: MXNet operator ``_foreach``.
    """
    (body,) = subgraphs
    sliced = data[: len(in_data_locs)]
    states = list(data[len(in_data_locs) : len(in_data_locs) + len(in_state_locs)])
    rest = data[len(in_data_locs) + len(in_state_locs) :]

    def place(slices: Any, carried: Any) -> list[Any]:
        return _place([*slices, *carried, *rest], (*in_data_locs, *in_state_locs, *remain_locs))

    one = [jax.ShapeDtypeStruct(each.shape[1:], each.dtype) for each in sliced]
    draws = body.draws(place(one, states), training)

    def step(carried: Any, item: Any) -> Any:
        number, slices = item
        found = body.run(place(slices, carried), advanced(stream, draws * number), training)
        return _as_declared(found[num_out_data:], carried), found[:num_out_data]

    length = sliced[0].shape[0]
    last, stacked = jax.lax.scan(step, states, (jnp.arange(length), list(sliced)))
    return (*stacked, *last)


@foreach.set_bodies
def _(subgraphs, in_data_locs, in_state_locs, remain_locs, **_):
    order = sorted(
        (place, Place(number, number < len(in_data_locs)))
        for number, place in enumerate((*in_data_locs, *in_state_locs, *remain_locs))
        if place >= 0
    )
    return [(subgraphs[0], [place for _, place in order])]


def _draws_of_turn(
    subgraphs: Any, cond_input_locs: Any, func_input_locs: Any, training: bool, arrays: Any
) -> tuple[int, int]:
    condition, body = subgraphs
    tests = condition.draws([arrays[i] for i in cond_input_locs], training)
    return tests, body.draws([arrays[i] for i in func_input_locs], training)


def _draws_of_while(
    subgraphs: Any,
    max_iterations: int,
    cond_input_locs: Any,
    func_input_locs: Any,
    training: bool,
    inputs: Any,
) -> int:
    if inputs is None or not isinstance(
        subgraphs, tuple
    ):  # the latter: the call itself says what is wrong
        return _OPEN
    arrays = _structs(inputs)
    turn = _draws_of_turn(subgraphs, cond_input_locs, func_input_locs, training, arrays)
    return max_iterations * sum(turn)


@op("_while_loop", num_args="num_args", outputs=_count, draws=_draws_of_while)
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
    """A body run while a condition holds, ``max_iterations`` times at most.

    It has a gradient, so it is a loop of ``max_iterations`` steps of which those after the end
    only pass the variables on.

    Args:
        data: the loop variables, then what condition and body read besides.
        subgraphs: condition and body.
        num_outputs: outputs: stacked ones of ``max_iterations`` rows, 0 behind the last step, then
            the loop variables.
        num_out_data: how many are stacked.
        max_iterations: the most steps.
        cond_input_locs: which of ``data`` the condition reads.
        func_input_locs: which of ``data`` the body reads.
        func_var_locs: places of the loop variables among the body's inputs.

    Source: MXNet operator ``_while_loop``.
    """
    condition, body = subgraphs
    which = range(len(func_var_locs))  # the loop variables are the first of the data
    tests, steps = _draws_of_turn(subgraphs, cond_input_locs, func_input_locs, training, data)

    def holds(values: list[Any], number: Any) -> Any:
        place = advanced(stream, (tests + steps) * number)
        found = condition.run([values[i] for i in cond_input_locs], place, training)
        return found[0].reshape(()) != 0

    def run(values: list[Any], number: Any) -> tuple[list[Any], list[Any]]:
        placed = [values[i] for i in func_input_locs]
        place = advanced(stream, (tests + steps) * number + tests)
        found = body.run(placed, place, training)
        after = list(values)
        old = [values[i] for i in which]
        for i, new in zip(which, _as_declared(found[num_out_data:], old), strict=True):
            after[i] = new
        return after, found[:num_out_data]

    rows = jax.eval_shape(lambda: run(list(data), 0)[1])

    def step(carried: Any, number: Any) -> Any:
        going, values = carried
        going = going & holds(values, number)
        after, out = jax.lax.cond(
            going,
            lambda values: run(values, number),
            lambda values: (values, [jnp.zeros(r.shape, r.dtype) for r in rows]),
            values,
        )
        return (going, after), out

    (_, last), stacked = jax.lax.scan(
        step, (jnp.asarray(True), list(data)), jnp.arange(max_iterations)
    )
    return (*stacked, *[last[i] for i in which])


@while_loop.set_bodies
def _(subgraphs, cond_input_locs, func_input_locs, **_):
    both = (cond_input_locs, func_input_locs)
    return [(s, [Place(i) for i in at]) for s, at in zip(subgraphs, both, strict=True)]


def _draws_of_branches(
    subgraphs: Any,
    cond_input_locs: Any,
    then_input_locs: Any,
    else_input_locs: Any,
    training: bool,
    inputs: Any,
) -> int:
    if inputs is None or not isinstance(
        subgraphs, tuple
    ):  # the latter: the call itself says what is wrong
        return _OPEN
    arrays = _structs(inputs)
    places = (cond_input_locs, then_input_locs, else_input_locs)
    test, one, other = [
        body.draws([arrays[i] for i in at], training)
        for body, at in zip(subgraphs, places, strict=True)
    ]
    return test + max(one, other)


@op("_cond", num_args="num_args", outputs=_count, draws=_draws_of_branches)
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
    (holds,) = condition.run(tested, stream, training)
    after = advanced(stream, condition.draws(tested, training))

    def branch(body: Any, places: tuple[int, ...]) -> Any:
        return lambda values: body.run([values[i] for i in places], after, training)

    one, other = branch(yes, then_input_locs), branch(no, else_input_locs)
    for a, b in zip(jax.eval_shape(one, data), jax.eval_shape(other, data), strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise ShapeError(
                f"cond: the branches return different arrays: {a.dtype.name}{list(a.shape)} and "
                f"{b.dtype.name}{list(b.shape)}."
            )
    return tuple(jax.lax.cond(holds.reshape(()) != 0, one, other, data))


@cond.set_bodies
def _(subgraphs, cond_input_locs, then_input_locs, else_input_locs, **_):
    all_three = (cond_input_locs, then_input_locs, else_input_locs)
    return [(s, [Place(i) for i in at]) for s, at in zip(subgraphs, all_three, strict=True)]
