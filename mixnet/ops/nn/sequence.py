"""Batches of sequences of different lengths: masking, last step, reversal."""

from __future__ import annotations

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import ShapeError
from mixnet.ops.array.plain import in_dtype, on_axis
from mixnet.ops.registry import op
from mixnet.ops.schema.dtypes import Dtypes, number_of_dtype
from mixnet.ops.schema.ranges import Range

TimeAxis = Annotated[int, Range(0, 1)]
"""Annotation: the axis of time, the first or the second."""


_DTYPES = Dtypes(free=["sequence_length"])


def _length_arguments(use_sequence_length: bool) -> tuple[str, ...]:
    return ("data", "sequence_length") if use_sequence_length else ("data",)


def _check(name: str, data: jax.Array, lengths: jax.Array, axis: int) -> None:
    if data.ndim < 2:
        raise ShapeError(
            f"{name}: data is {data.shape}; give it (time, batch, ...), or (batch, time, ...) with "
            f"axis=1."
        )
    if lengths is not None and lengths.shape != (data.shape[1 - axis],):
        raise ShapeError(
            f"{name}: sequence_length is {lengths.shape}; data {data.shape} with time on axis "
            f"{axis} needs one length per sequence, {(data.shape[1 - axis],)}."
        )


@op(
    "SequenceMask",
    arguments=_length_arguments,
    dtypes=_DTYPES,
    aliases=["_npx_sequence_mask"],
)
def sequence_mask(
    data,
    sequence_length=None,
    *,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: TimeAxis = 0,
):
    """Steps after each sequence's length set to ``value``.

    Args:
        data: ``(time, batch, ...)``, or ``(batch, time, ...)`` with ``axis=1``.
        sequence_length: ``(batch,)``.

    Returns:
        Shape and dtype of ``data``.

    Raises:
        ShapeError: not one length per sequence, or ``data`` has fewer than two axes.

    Source: MXNet operator ``SequenceMask``.
    """
    if not use_sequence_length:
        return data
    _check("SequenceMask", data, sequence_length, axis)
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    shape = data.shape[:2]
    steps = jax.lax.broadcasted_iota(np.int64, shape, axis)
    lengths = on_axis(in_dtype(sequence_length, np.dtype(np.int64)), shape, 1 - axis)
    inside = jax.lax.broadcast_in_dim(jax.lax.lt(steps, lengths), data.shape, (0, 1))
    outside = jax.lax.full_like(data, number_of_dtype(value, data.dtype))
    return jax.lax.select(inside, data, outside)


@op("SequenceLast", arguments=_length_arguments, dtypes=_DTYPES)
def sequence_last(
    data, sequence_length=None, *, use_sequence_length: bool = False, axis: TimeAxis = 0
):
    """The last step of every sequence.

    Args:
        data: ``(time, batch, ...)``, or ``(batch, time, ...)`` with ``axis=1``.
        sequence_length: ``(batch,)``, from 1 to time; others are clipped into that range.

    Returns:
        ``(batch, ...)`` in the dtype of ``data``.

    Raises:
        ShapeError: not one length per sequence, or ``data`` has fewer than two axes.

    Source: MXNet operator ``SequenceLast``.
    """
    _check("SequenceLast", data, sequence_length, axis)
    steps = jnp.swapaxes(data, 0, axis)
    if not use_sequence_length:
        return steps[-1]
    last = jnp.clip(sequence_length.astype(jnp.int64) - 1, 0, steps.shape[0] - 1)
    return steps[last, jnp.arange(steps.shape[1])]


@op("SequenceReverse", arguments=_length_arguments, dtypes=_DTYPES)
def sequence_reverse(
    data,
    sequence_length=None,
    *,
    use_sequence_length: bool = False,
    axis: Annotated[int, Range(0, 0)] = 0,
):
    """The steps of every sequence in reverse order; those after its length stay where they are.

    Args:
        data: ``(time, batch, ...)``.
        sequence_length: ``(batch,)``, at most time.

    Returns:
        Shape and dtype of ``data``.

    Raises:
        ShapeError: not one length per sequence, or ``data`` has fewer than two axes.

    Source: MXNet operator ``SequenceReverse``.
    """
    _check("SequenceReverse", data, sequence_length, axis)
    if not use_sequence_length:
        return jnp.flip(data, 0)
    steps = jnp.arange(data.shape[0])[:, None]
    lengths = jnp.minimum(sequence_length.astype(jnp.int64), data.shape[0])[None, :]
    source = jnp.where(steps < lengths, lengths - 1 - steps, steps)
    return data[source, jnp.arange(data.shape[1])[None, :]]


def _infer_lengths(data, *, axis):
    return {"sequence_length": (data[1 - axis],)}


for _operator in (sequence_mask, sequence_last, sequence_reverse):
    _operator.infer_inputs(_infer_lengths)
