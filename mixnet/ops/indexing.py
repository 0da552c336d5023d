"""Picking elements by index arrays."""

from __future__ import annotations

from typing import Any, Literal

import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.attributes import DType, Shape
from mixnet.ops.registry import op


def bounded(indices: Any, extent: int, mode: str) -> Any:
    """Whole numbers within [0, extent): clipped to its ends, or wrapped around."""
    whole = indices.astype(jnp.int64)
    return whole % extent if mode == "wrap" else jnp.clip(whole, 0, extent - 1)


@op("take", method=True)
def take(a, indices, *, axis: int = 0, mode: Literal["clip", "raise", "wrap"] = "clip"):
    """Slices of ``a`` along ``axis`` at ``indices``, which are clipped or wrapped into range.

    Returns:
        ``a.shape[:axis] + indices.shape + a.shape[axis + 1:]``.

    Source: MXNet operator ``take``.
    """
    axis = axis % a.ndim
    return jnp.take(a, bounded(indices, a.shape[axis], mode), axis)


@op("batch_take")
def batch_take(a, indices):
    """One element of every row: ``out[i] = a[i, indices[i]]``.

    Source: MXNet operator ``batch_take``.
    """
    chosen = bounded(indices, a.shape[1], "clip").reshape(-1, 1)
    return jnp.take_along_axis(a, chosen, 1).reshape(indices.shape)


@op("pick", aliases=["choose_element_0index"], method=True)
def pick(
    data,
    index,
    *,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
):
    """One element along ``axis`` for each position of the other axes.

    Source: MXNet operator ``pick``.
    """
    if axis is None:
        out = data.reshape(-1)[bounded(index.reshape(-1), data.size, mode)]
        return out.reshape(index.shape)
    axis = axis % data.ndim
    rest = data.shape[:axis] + data.shape[axis + 1 :]
    if index.size != jnp.zeros(rest, bool).size:
        raise ShapeError(
            f"pick: index has shape {index.shape}; data {data.shape} without axis {axis} is {rest}."
        )
    chosen = jnp.expand_dims(bounded(index.reshape(rest), data.shape[axis], mode), axis)
    out = jnp.take_along_axis(data, chosen, axis)
    out = out if keepdims else jnp.squeeze(out, axis)
    return out.reshape((1,)) if out.ndim == 0 else out


@op("one_hot", aliases=["npx.one_hot"], method=True, differentiable=False)
def one_hot(
    indices, *, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DType = "float32"
):
    """``on_value`` at each index of a new last axis of ``depth``, ``off_value`` elsewhere.

    Source: MXNet operator ``one_hot``.
    """
    hot = indices.astype(jnp.int64)[..., None] == jnp.arange(depth)
    return jnp.where(hot, on_value, off_value).astype(dtype)


@op("gather_nd")
def gather_nd(data, indices):
    """``data[indices[0], indices[1], ...]``: the first axis of ``indices`` runs over axes of data.

    Source: MXNet operator ``gather_nd``.
    """
    return data[_places(indices, data.shape)]


@op("scatter_nd")
def scatter_nd(data, indices, *, shape: Shape):
    """Zeros of ``shape`` with ``data`` at ``indices``, as ``gather_nd`` reads them.

    Source: MXNet operator ``scatter_nd``.
    """
    return jnp.zeros(shape, data.dtype).at[_places(indices, shape)].set(data)


def _places(indices: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    whole = indices.astype(jnp.int64)
    rows = [whole[i] for i in range(indices.shape[0])]
    return tuple(jnp.where(r < 0, r + n, r) for r, n in zip(rows, shape, strict=False))


@op("Embedding", aliases=["npx.embedding"])
def embedding(
    data,
    weight,
    *,
    input_dim: int,
    output_dim: int,
    dtype: DType = "float32",
    sparse_grad: bool = False,
):
    """Rows of ``weight`` at ``data``; indices outside are clipped.

    Args:
        data: indices, any shape.
        weight: ``(input_dim, output_dim)``.

    Returns:
        ``data.shape + (output_dim,)``.

    Source: MXNet operator ``Embedding``.
    """
    if weight.shape != (input_dim, output_dim):
        raise ShapeError(
            f"Embedding: weight is {weight.shape}, but input_dim and output_dim say "
            f"{(input_dim, output_dim)}."
        )
    return jnp.take(weight, bounded(data, input_dim, "clip"), 0)


@embedding.infer_inputs
def _(data, *, input_dim, output_dim):
    return {"weight": (input_dim, output_dim)}


def _length_arguments(use_sequence_length: bool) -> tuple[str, ...]:
    return ("data", "sequence_length") if use_sequence_length else ("data",)


@op("SequenceMask", aliases=["npx.sequence_mask"], arguments=_length_arguments)
def sequence_mask(
    data,
    sequence_length=None,
    *,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
):
    """Steps after each sequence's length set to ``value``.

    Args:
        data: ``(time, batch, ...)``, or ``(batch, time, ...)`` with ``axis=1``.
        sequence_length: ``(batch,)``.

    Source: MXNet operator ``SequenceMask``.
    """
    if not use_sequence_length:
        return data
    steps = jnp.arange(data.shape[axis])
    lengths = sequence_length.astype(jnp.int64)
    inside = steps[:, None] < lengths[None, :] if axis == 0 else steps[None, :] < lengths[:, None]
    inside = inside.reshape(inside.shape + (1,) * (data.ndim - 2))
    return jnp.where(inside, data, jnp.asarray(value, data.dtype))


@sequence_mask.infer_inputs
def _(data, *, axis):
    return {"sequence_length": (data[1 - axis],)}
