"""Connectionist temporal classification: sequences whose labels are not aligned in time."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
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
    # A label may follow another directly, except its own repetition.
    skips = jnp.zeros(states.shape, bool).at[:, 3::2].set(~repeats)
    logs = jax.nn.log_softmax(data.astype(jnp.promote_types(data.dtype, jnp.float32)), -1)
    chosen = jnp.clip(states, 0, classes - 1)[None]
    emitted = jnp.take_along_axis(logs, jnp.broadcast_to(chosen, (time, *states.shape)), 2)

    def one(reached: Any, inputs: jax.Array) -> tuple[Any, None]:
        step, emitted = inputs
        never = jnp.full((batch, 2), _NEVER, reached.dtype)
        previous = jnp.concatenate([never[:, :1], reached[:, :-1]], 1)
        skipped = jnp.concatenate([never, reached[:, :-2]], 1)[:, : reached.shape[1]]
        paths = jnp.stack([reached, previous, jnp.where(skips, skipped, _NEVER)])
        after = jax.nn.logsumexp(paths, 0) + emitted
        return jnp.where((step < steps)[:, None], after, reached), None

    start = jnp.where(jnp.arange(states.shape[1]) < 2, emitted[0], _NEVER)
    reached, _ = loops.scan(one, start, (jnp.arange(1, time), emitted[1:]))
    rows = jnp.arange(batch)
    with_blank = reached[rows, 2 * counts]
    without = jnp.where(counts > 0, reached[rows, jnp.maximum(2 * counts - 1, 0)], _NEVER)
    inside = jnp.arange(1, length) < counts[:, None]
    needed = jnp.maximum(counts + (repeats & inside).sum(1), 1)
    loss = -jnp.logaddexp(with_blank, without)
    return jnp.where(needed <= steps, loss, 0).astype(data.dtype)


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
