"""Connectionist temporal classification: sequences whose labels are not aligned in time."""

from __future__ import annotations

import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import IndexingError, ShapeError
from mixnet.ops.control import loops
from mixnet.ops.registry import op
from mixnet.ops.schema.dtypes import Dtypes

# Logarithm of a probability that counts as 0; finite, so that differences have a derivative.
_NEVER = -1e30


def _ctc_arguments(use_data_lengths: bool, use_label_lengths: bool) -> tuple[str, ...]:
    names = ["data", "label"]
    if use_data_lengths:
        names.append("data_lengths")
    if use_label_lengths:
        names.append("label_lengths")
    return tuple(names)


@op(
    "CTCLoss",
    floats=True,
    aliases=["ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"],
    arguments=_ctc_arguments,
    output_names=("output0",),
    dtypes=Dtypes(own=dict.fromkeys(("label", "data_lengths", "label_lengths"))),
    precision="full",
)
def ctc_loss(
    data,
    label,
    data_lengths=None,
    label_lengths=None,
    *,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
):
    """Minus the log probability of each label sequence, over all ways to place it in time.

    Args:
        data: ``(time, batch, classes)``; softmax over the classes is taken here. The blank is class
            0, or the last one with ``blank_label="last"``.
        label: ``(batch, length)`` class numbers, ``length`` at most ``time``. Without
            ``label_lengths`` a sequence ends before its first padding: 0, or -1 with
            ``blank_label="last"``.
        data_lengths: ``(batch,)``; by default every sequence has all steps.
        label_lengths: ``(batch,)``.

    Returns:
        ``(batch,)``; 0, without gradient, where the steps are too few for the labels.

    Raises:
        ShapeError: shapes do not fit each other.

    Source: MXNet operator ``CTCLoss``.
    """
    _check(data, label, data_lengths, label_lengths)
    time, batch, classes = data.shape
    blank, padding = (0, 0) if blank_label == "first" else (classes - 1, -1)
    label = label.astype(jnp.int32)
    if label_lengths is None:
        padded = jax.lax.pad(jax.lax.eq(label, jnp.int32(padding)), True, ((0, 0, 0), (0, 1, 0)))
        counts = jax.lax.argmax(padded, 1, jnp.int32)
    else:
        counts = label_lengths.astype(jnp.int32)
    steps = jnp.full((batch,), time, jnp.int32)
    if data_lengths is not None:
        steps = data_lengths.astype(jnp.int32)

    # The states of a sequence: its labels with a blank before, between and after them.
    states = jax.lax.pad(label, jnp.int32(blank), ((0, 0, 0), (1, 1, 1)))
    first, second = _before_and_after(label, 1)
    inside = _numbers(first.shape, 1) + 1 < counts[:, None]
    repeats = jax.lax.convert_element_type((first == second) & inside, jnp.int32)
    needed = jax.lax.max(counts + jax.lax.reduce_sum(repeats, (1,)), jnp.int32(1))
    emitted = _emitted(data, jax.lax.clamp(jnp.int32(0), states, jnp.int32(classes - 1)))
    loss = _loss(emitted, states, steps, counts)
    loss = jax.lax.select(_is_impossible(loss), jax.lax.full_like(loss, np.inf), loss)
    loss = jax.lax.select(needed <= steps, loss, jax.lax.full_like(loss, 0))
    return loss.astype(data.dtype)


# Below, of jax.lax: an index or a sum of jax.numpy takes ten times as long to trace.


def _emitted(data: Any, states: Any) -> Any:
    """Log probability of each state at each step, ``(time, batch, states)``."""
    data = data.astype(jnp.promote_types(data.dtype, jnp.float32))
    largest = jax.lax.reduce_max(jax.lax.stop_gradient(data), (2,))
    shifted = data - jax.lax.expand_dims(largest, (2,))
    sums = jax.lax.reduce_sum(jax.lax.exp(shifted), (2,))
    logs = shifted - jax.lax.expand_dims(jax.lax.log(sums), (2,))
    index = jax.lax.broadcast_in_dim(states, (data.shape[0], *states.shape, 1), (1, 2))
    numbers = jax.lax.GatherDimensionNumbers((), (2,), (2,), (0, 1), (0, 1))
    logs = jax.lax.gather(logs, index, numbers, (1, 1, 1), mode="promise_in_bounds")
    # A class that cannot be emitted has no gradient: its logarithm, -inf, has no differences.
    return jax.lax.max(logs, jax.lax.full_like(logs, _NEVER))


def _is_impossible(loss: Any) -> Any:
    """Whether no way leads to a label."""
    return loss > -_NEVER / 2


def _numbers(shape: tuple[int, ...], axis: int) -> Any:
    """The number of each element along an axis."""
    return jax.lax.broadcasted_iota(jnp.int32, shape, axis)


def _before_and_after(rows: Any, distance: int) -> tuple[Any, Any]:
    """Rows without their last elements, and without their first."""
    end = max(rows.shape[1] - distance, 0)
    return (
        jax.lax.slice_in_dim(rows, 0, end, axis=1),
        jax.lax.slice_in_dim(rows, min(distance, rows.shape[1]), None, axis=1),
    )


def _at(array: Any, *places: Any) -> Any:
    """The elements at places, of which there is an array for each axis; extents of 1 are repeated."""
    shape = jax.lax.broadcast_shapes(*[each.shape for each in places])
    axes = tuple(range(len(shape)))
    parts = [jax.lax.broadcast_in_dim(each, (*shape, 1), axes) for each in places]
    axes = tuple(range(array.ndim))
    numbers = jax.lax.GatherDimensionNumbers((), axes, axes)
    index = jax.lax.concatenate(parts, len(shape))
    return jax.lax.gather(array, index, numbers, (1,) * array.ndim, mode="promise_in_bounds")


@jax.custom_vjp
def _loss(emitted: Any, states: Any, steps: Any, counts: Any) -> Any:
    """Minus the log probability of each sequence.

    Args:
        emitted: log probability of each state at each step, ``(time, batch, states)``.
        states: the class of each state, ``(batch, states)``.
        steps: of each sequence.
        counts: labels of each sequence.
    """
    return _ended(_reached(emitted, states, steps)[0], counts)


def _loss_and_visits(emitted: Any, states: Any, steps: Any, counts: Any) -> tuple[Any, Any]:
    # What remains of a sequence after a step is a sequence too, read backwards: one loop computes both.
    time, batch, number = emitted.shape
    zero = jnp.int32(0)
    at = _numbers((time, 1, 1), 0)
    back = jax.lax.max(steps[None, :, None] - 1 - at, zero)
    mirror = jax.lax.max(2 * counts[:, None] - _numbers((1, number), 1), zero)
    rows = _numbers((batch, 1), 0)
    places = (back, rows[None], mirror[None])
    ended, reached = _reached(
        jax.lax.concatenate([emitted, _at(emitted, *places)], 1),
        jax.lax.concatenate([states, _at(states, rows, mirror)], 0),
        jax.lax.concatenate([steps, steps], 0),
    )
    reached, remaining = jax.lax.split(reached, (batch, batch), 1)
    loss = _ended(ended, counts)
    visits = jax.lax.exp(reached + _at(remaining, *places) - emitted + loss[None, :, None])
    inside = (at < steps[None, :, None]) & (
        _numbers((1, 1, number), 2) <= 2 * counts[None, :, None]
    )
    inside = inside & ~_is_impossible(loss)[None, :, None]
    return loss, jax.lax.select(inside, visits, jax.lax.full_like(visits, 0))


def _by_visits(visits: Any, head: Any) -> tuple[Any, None, None, None]:
    return -visits * head[:, None], None, None, None


_loss.defvjp(_loss_and_visits, _by_visits)


def _reached(emitted: Any, states: Any, steps: Any) -> tuple[Any, Any]:
    """Log probability of the first steps, over all ways that end in a state: of all, and of each number."""
    batch, number = states.shape
    # A label may follow another directly, except its own repetition; blanks are alike.
    before, after = _before_and_after(states, 2)
    skips = jax.lax.pad(before != after, False, ((0, 0, 0), (min(2, number), 0, 0)))
    never = jnp.asarray(_NEVER, emitted.dtype)

    def shifted(reached: Any, distance: int) -> Any:
        before, _ = _before_and_after(reached, distance)
        return jax.lax.pad(before, never, ((0, 0, 0), (min(distance, number), 0, 0)))

    def one(reached: Any, inputs: Any) -> tuple[Any, Any]:
        step, emitted = inputs
        skipped = jax.lax.select(skips, shifted(reached, 2), jax.lax.full_like(reached, _NEVER))
        after = _sum_of_logs(reached, shifted(reached, 1), skipped) + emitted
        runs = jax.lax.broadcast_in_dim(step < steps, after.shape, (0,))
        after = jax.lax.select(runs, after, reached)
        return after, after

    # Before the first step, a sequence is at its first blank.
    start = jax.lax.pad(
        jax.lax.full((batch, 1), 0, emitted.dtype), never, ((0, 0, 0), (0, number - 1, 0))
    )
    times = _numbers((emitted.shape[0],), 0)
    ended, reached = loops.scan(one, start, (times, emitted))
    return ended, reached


def _sum_of_logs(*logs: Any) -> Any:
    """The logarithm of a sum, from the logarithms of its terms."""
    largest = functools.reduce(jax.lax.max, map(jax.lax.stop_gradient, logs))
    zero = jax.lax.full_like(largest, 0)
    largest = jax.lax.select(jax.lax.is_finite(largest), largest, zero)
    terms = [jax.lax.exp(each - largest) for each in logs]
    return jax.lax.log(functools.reduce(jax.lax.add, terms)) + largest


def _ended(reached: Any, counts: Any) -> Any:
    rows = _numbers(counts.shape, 0)
    last = 2 * counts
    zero = jnp.int32(0)
    with_blank = _at(reached, rows, last)
    without = _at(reached, rows, jax.lax.max(last - 1, zero))
    without = jax.lax.select(counts > 0, without, jax.lax.full_like(without, _NEVER))
    return -_sum_of_logs(with_blank, without)


@ctc_loss.set_check_known("label")
def _(values, shape, *, use_data_lengths, use_label_lengths, blank_label):
    # With lengths, labels behind the end may be anything.
    if use_label_lengths or values.ndim != 2 or len(shape) != 3:
        return
    padding, classes = (0 if blank_label == "first" else -1), shape[2]
    counts = np.cumprod(values != padding, 1) != 0
    wrong = values[counts & ((values < 0) | (values >= classes))]
    if wrong.size:
        raise IndexingError(
            f"CTCLoss: a label is {int(wrong[0])}, but data have classes 0 to {classes - 1}. A sequence "
            f"that is shorter ends with {padding}, the padding for blank_label={blank_label!r}."
        )


def _check(
    data: jax.Array, label: jax.Array, data_lengths: jax.Array, label_lengths: jax.Array
) -> None:
    if data.ndim != 3 or label.ndim != 2:
        raise ShapeError(
            f"CTCLoss: data is {data.shape} and label {label.shape}; give (time, batch, classes) "
            f"and (batch, length)."
        )
    if label.shape[0] != data.shape[1] or label.shape[1] > data.shape[0]:
        raise ShapeError(
            f"CTCLoss: label {label.shape} does not fit data {data.shape} (time, batch, classes): "
            f"it needs {data.shape[1]} rows and at most {data.shape[0]} columns."
        )
    for name, lengths in (("data_lengths", data_lengths), ("label_lengths", label_lengths)):
        if lengths is not None and lengths.shape != (data.shape[1],):
            raise ShapeError(
                f"CTCLoss: {name} is {lengths.shape}; give one length per sequence, "
                f"{(data.shape[1],)}."
            )
