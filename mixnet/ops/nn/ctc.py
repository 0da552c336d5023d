"""Connectionist temporal classification: sequences whose labels are not aligned in time."""

from __future__ import annotations

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
    length = label.shape[1]
    blank, padding = (0, 0) if blank_label == "first" else (classes - 1, -1)
    label = label.astype(jnp.int32)
    if label_lengths is None:
        padded = jnp.concatenate([label == padding, jnp.ones((batch, 1), bool)], 1)
        counts = jnp.argmax(padded, 1).astype(jnp.int32)
    else:
        counts = label_lengths.astype(jnp.int32)
    steps = jnp.full((batch,), time) if data_lengths is None else data_lengths.astype(jnp.int32)

    # The states of a sequence: its labels with a blank before, between and after them.
    states = jnp.full((batch, 2 * length + 1), blank, jnp.int32).at[:, 1::2].set(label)
    repeats = label[:, 1:] == label[:, :-1]
    logs = jax.nn.log_softmax(data.astype(jnp.promote_types(data.dtype, jnp.float32)), -1)
    chosen = jnp.clip(states, 0, classes - 1)[None]
    emitted = jnp.take_along_axis(logs, jnp.broadcast_to(chosen, (time, *states.shape)), 2)
    inside = jnp.arange(1, length) < counts[:, None]
    needed = jnp.maximum(counts + (repeats & inside).sum(1), 1)
    loss = _loss(emitted, states, steps, counts)
    return jnp.where(needed <= steps, loss, 0).astype(data.dtype)


@jax.custom_vjp
def _loss(emitted: Any, states: Any, steps: Any, counts: Any) -> Any:
    """Minus the log probability of each sequence.

    Args:
        emitted: log probability of each state at each step, ``(time, batch, states)``.
        states: the class of each state, ``(batch, states)``.
        steps: of each sequence.
        counts: labels of each sequence.
    """
    return _ended(_reached(emitted, states, steps)[-1], counts)


def _loss_and_visits(emitted: Any, states: Any, steps: Any, counts: Any) -> tuple[Any, Any]:
    # What remains of a sequence after a step is a sequence too, read backwards: one loop computes both.
    time, batch, number = emitted.shape
    at = jnp.arange(time)[:, None, None]
    back = jnp.clip(steps[:, None] - 1 - at, 0)
    mirror = jnp.clip(2 * counts[:, None] - jnp.arange(number), 0)
    rows = jnp.arange(batch)[:, None]
    both = _reached(
        jnp.concatenate([emitted, emitted[back, rows, mirror]], 1),
        jnp.concatenate([states, states[rows, mirror]]),
        jnp.concatenate([steps, steps]),
    )
    reached, remaining = both[:, :batch], both[:, batch:]
    loss = _ended(reached[-1], counts)
    visits = jnp.exp(reached + remaining[back, rows, mirror] - emitted + loss[:, None])
    inside = (at < steps[:, None]) & (jnp.arange(number) <= 2 * counts[:, None])
    return loss, jnp.where(inside, visits, 0)


def _by_visits(visits: Any, head: Any) -> tuple[Any, None, None, None]:
    return -visits * head[:, None], None, None, None


_loss.defvjp(_loss_and_visits, _by_visits)


def _reached(emitted: Any, states: Any, steps: Any) -> Any:
    """Log probability of the first steps, over all ways that end in a state; the last remain."""
    batch, number = states.shape
    # A label may follow another directly, except its own repetition; blanks are alike.
    skips = jnp.zeros(states.shape, bool).at[:, 2:].set(states[:, 2:] != states[:, :-2])

    def one(reached: Any, inputs: Any) -> tuple[Any, Any]:
        step, emitted = inputs
        never = jnp.full((batch, 2), _NEVER, reached.dtype)
        previous = jnp.concatenate([never[:, :1], reached[:, :-1]], 1)
        skipped = jnp.concatenate([never, reached[:, :-2]], 1)[:, :number]
        paths = jnp.stack([reached, previous, jnp.where(skips, skipped, _NEVER)])
        after = jax.nn.logsumexp(paths, 0) + emitted
        after = jnp.where((step < steps)[:, None], after, reached)
        return after, after

    start = jnp.where(jnp.arange(number) < 2, emitted[0], _NEVER)
    _, later = loops.scan(one, start, (jnp.arange(1, emitted.shape[0]), emitted[1:]))
    return jnp.concatenate([start[None], later])


def _ended(reached: Any, counts: Any) -> Any:
    rows = jnp.arange(counts.shape[0])
    with_blank = reached[rows, 2 * counts]
    without = jnp.where(counts > 0, reached[rows, jnp.maximum(2 * counts - 1, 0)], _NEVER)
    return -jnp.logaddexp(with_blank, without)


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
