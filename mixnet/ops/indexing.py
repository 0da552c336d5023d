"""Picking elements by index arrays."""

from __future__ import annotations

from typing import Any, Literal

import jax
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


@op("one_hot", method=True, differentiable=False)
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


@op("_scatter_set_nd")
def scatter_set_nd(lhs, rhs, indices, *, shape: Shape):
    """``lhs`` with ``rhs`` at ``indices``, as ``gather_nd`` reads them.

    Args:
        lhs: an array of ``shape``.
        rhs: the new elements, in the dtype of ``lhs``.
        indices: ``(axes, ...)``; its first axis runs over the first axes of ``lhs``.
        shape: the shape of ``lhs``.

    Raises:
        ShapeError: ``lhs`` has not that shape.

    Source: MXNet operator ``_scatter_set_nd``.
    """
    if lhs.shape != shape:
        raise ShapeError(f"_scatter_set_nd: lhs is {lhs.shape}, shape={shape}; make them equal.")
    return lhs.at[_places(indices, shape)].set(rhs)


@op("_ravel_multi_index", aliases=["ravel_multi_index"], differentiable=False)
def ravel_multi_index(data, *, shape: Shape = ()):
    """Positions in the flattened array of elements given by one index for each axis.

    Args:
        data: ``(axes, ...)``, row ``i`` with the indices of axis ``i``; they are not checked.
        shape: the array's extents; the first one is not needed and may be -1.

    Returns:
        ``data.shape[1:]`` in the dtype of ``data``.

    Raises:
        ShapeError: not one row for each axis of ``shape``.

    Source: MXNet operator ``_ravel_multi_index``.
    """
    if not data.ndim or data.shape[0] != len(shape):
        raise ShapeError(
            f"ravel_multi_index: data is {data.shape}; shape={shape} needs a first axis of "
            f"{len(shape)}, one row of indices for each axis."
        )
    rows = data.astype(jnp.int64)
    position = jnp.zeros(data.shape[1:], jnp.int64)
    for i, extent in enumerate(shape):
        position = position * extent + rows[i] if i else rows[i]
    return position.astype(data.dtype)


@op("_unravel_index", aliases=["unravel_index"], differentiable=False)
def unravel_index(data, *, shape: Shape = ()):
    """One index for each axis from positions in the flattened array.

    Args:
        data: positions, any shape; they are not checked.
        shape: the array's extents; the first one is not needed and may be -1.

    Returns:
        ``(len(shape), *data.shape)`` in the dtype of ``data``.

    Raises:
        ShapeError: ``shape`` is empty.

    Source: MXNet operator ``_unravel_index``.
    """
    if not shape:
        raise ShapeError("unravel_index: shape=() has no axes; give the shape of the array.")
    rest, rows = data.astype(jnp.int64), []
    for extent in reversed(shape[1:]):
        # Towards zero, so that a position below 0 keeps its sign as in MXNet.
        rows.append(jax.lax.rem(rest, jnp.full_like(rest, extent)))
        rest = jax.lax.div(rest, jnp.full_like(rest, extent))
    return jnp.stack([rest, *reversed(rows)]).astype(data.dtype)


def _places(indices: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    whole = indices.astype(jnp.int64)
    rows = [whole[i] for i in range(indices.shape[0])]
    return tuple(jnp.where(r < 0, r + n, r) for r, n in zip(rows, shape, strict=False))


@op("Embedding")
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


@embedding.set_row_gradient("weight")
def _(head, data, weight):
    return data, head.reshape(-1, *weight.shape[1:])


@embedding.infer_inputs
def _(data, *, input_dim, output_dim):
    return {"weight": (input_dim, output_dim)}
