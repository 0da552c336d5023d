"""Indexing with arrays."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import DTypeError, IndexingError, ShapeError
from mixnet.ops.array.plain import along, filled_like, in_dtype, shaped, with_axes
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import Axis, Count, DType, Extents, Positive, Shape
from mixnet.ops.schema.dtypes import PLACES, Dtypes, number_of_dtype, to_dtype
from mixnet.ops.schema.integer_layers import Quantization, last_input

_INSIDE = jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS
OUTSIDE = jax.lax.GatherScatterMode.FILL_OR_DROP
"""Places outside of an array read NaN (the least integer), and are not written."""


def bounded(indices: jax.Array, extent: int, mode: str) -> Any:
    """Whole numbers within [0, extent): clipped to its ends, or wrapped around."""
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    whole = in_dtype(indices, np.dtype(np.int64))
    if mode == "wrap":
        return whole % extent
    if not isinstance(extent, int):  # a symbol
        return jnp.clip(whole, 0, extent - 1)
    return jax.lax.min(jax.lax.max(whole, np.int64(0)), np.int64(extent - 1))


def slices_at(data: jax.Array, places: jax.Array, axis: int, mode: Any = _INSIDE) -> Any:
    """Slices of ``data`` along ``axis``, which is not negative, at places that are all inside.

    With ``jax.lax.GatherScatterMode.FILL_OR_DROP`` places outside have NaN, or the least integer.
    """
    if not data.shape[axis]:
        # jnp.take refuses places where there are none, but drops the axes of no places.
        shape = (*data.shape[:axis], *places.shape, *data.shape[axis + 1 :])
        return jnp.take(data, places, axis).reshape(shape)
    after = axis + places.ndim
    numbers = jax.lax.GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(after, after + data.ndim - axis - 1)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = [1 if i == axis else extent for i, extent in enumerate(data.shape)]
    return jax.lax.gather(data, _last_axis(places), numbers, sizes, mode=mode)


def elements_at(data: jax.Array, places: jax.Array, axis: int) -> Any:
    """One element along ``axis`` at each of the other positions of ``data``; places are all inside.

    Args:
        data: the array.
        places: the shape of ``data`` without ``axis``.
        axis: not negative.
    """
    if not data.shape[axis]:
        return jnp.take_along_axis(data, jnp.expand_dims(places, axis), axis).reshape(places.shape)
    others = tuple(i for i in range(data.ndim) if i != axis)
    numbers = jax.lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=tuple(range(places.ndim)),
    )
    return jax.lax.gather(data, _last_axis(places), numbers, [1] * data.ndim, mode=_INSIDE)


def sums_at(rows: jax.Array, places: jax.Array, extent: int) -> Any:
    """Rows with the same number added up, ``(extent, ...)``; those with places outside are dropped."""
    numbers = jax.lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, rows.ndim)),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
    )
    zeros = jax.lax.full((extent, *rows.shape[1:]), 0, rows.dtype)
    return jax.lax.scatter_add(zeros, _last_axis(places), rows, numbers, mode=OUTSIDE)


def _last_axis(places: jax.Array) -> Any:
    return jax.lax.broadcast_in_dim(places, (*places.shape, 1), range(places.ndim))


@op(
    "take",
    method=True,
    flops=0,
    dtypes=Dtypes(own={"indices": None}),
    aliases=["_npi_take"],
    storage=storage_rules.TAKE,
)
def take(a, indices, *, axis: Axis = 0, mode: Literal["clip", "raise", "wrap"] = "clip"):
    """Slices of ``a`` along ``axis`` at ``indices``.

    Args:
        a: any shape.
        indices: any shape.
        mode: what happens to indices out of range: they are clipped to the ends, wrapped around, or an error.

    Returns:
        ``a.shape[:axis] + indices.shape + a.shape[axis + 1:]``.

    Source: MXNet operator ``take``.
    """
    axis = axis % a.ndim
    return slices_at(a, bounded(indices, a.shape[axis], mode), axis)


@take.set_check_known("indices")
def _(values, shape, *, axis, mode):
    if mode == "raise" and shape:
        _check_inside(values, axis % len(shape), shape[axis], least=0)


@op(
    "batch_take",
    booleans=False,
    dtypes=Dtypes(own={"indices": "int32"}, accepts={"indices": ("int32",)}),
)
def batch_take(a, indices):
    """One element of every row: ``out[i] = a[i, indices[i]]``.

    Args:
        a: ``(n, m)``.
        indices: int32, ``(n,)``; those out of range are clipped.

    Source: MXNet operator ``batch_take``.
    """
    chosen = bounded(indices, a.shape[1], "clip").reshape(-1, 1)
    return jnp.take_along_axis(a, chosen, 1).reshape(indices.shape)


@op(
    "pick",
    booleans=False,
    aliases=["choose_element_0index", "_npx_pick"],
    method=True,
    flops=0,
    dtypes=Dtypes(own={"index": None}),
)
def pick(
    data,
    index,
    *,
    axis: Axis = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
):
    """One element along ``axis`` for each position on the other axes.

    Args:
        data: any shape.
        index: its shape without ``axis``, or with extent 1 there.
        mode: what happens to indices out of range: they are clipped to the ends, or wrapped around.

    Returns:
        The shape of ``data`` without ``axis``, or with extent 1 there if ``keepdims``.

    Source: MXNet operator ``pick``.
    """
    axis = axis % data.ndim
    rest = data.shape[:axis] + data.shape[axis + 1 :]
    if index.size != math.prod(rest):
        raise ShapeError(
            f"pick: index has shape {index.shape}; data {data.shape} without axis {axis} is {rest}."
        )
    out = elements_at(data, bounded(shaped(index, rest), data.shape[axis], mode), axis)
    if keepdims:
        return with_axes(out, data.shape, (axis,))
    return out.reshape((1,)) if out.ndim == 0 else out


@pick.infer_inputs
def _(data, index, *, axis):
    if index is not None:
        return {}
    axis = axis % len(data)
    return {"index": data[:axis] + data[axis + 1 :]}


@pick.set_gradient
def _(head, out, data, index, *, axis, keepdims, mode):
    # A comparison in place of a scatter: XLA fuses it with what reads it, and no array of zeros has
    # to be filled first. Without an axis an element may be picked several times, which a scatter adds up.
    if axis is None:
        chosen = bounded(index.reshape(-1), data.size, mode)
        flat = jnp.zeros(data.size, head.dtype).at[chosen].add(head.reshape(-1))
        return flat.reshape(data.shape), None
    axis = axis % data.ndim
    rest = data.shape[:axis] + data.shape[axis + 1 :]
    chosen = bounded(shaped(index, rest), data.shape[axis], mode)
    places = jax.lax.broadcasted_iota(chosen.dtype, data.shape, axis)
    is_chosen = jax.lax.eq(places, along(chosen, data.shape, (axis,)))
    spread = along(shaped(head, rest), data.shape, (axis,))
    return jax.lax.select(is_chosen, spread, filled_like(spread, 0)), None


@op("one_hot", method=True, differentiable=False, flops=0, aliases=["_npx_one_hot"])
def one_hot(
    indices,
    *,
    depth: Count,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DType = "float32",
):
    """One-hot vectors: ``on_value`` at each index, ``off_value`` elsewhere.

    Args:
        indices: any shape; an index out of range gives a vector of ``off_value``.
        depth: extent of the vectors.

    Returns:
        ``(*indices.shape, depth)``, of ``dtype``.

    Source: MXNet operator ``one_hot``.
    """
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    shape = (*indices.shape, depth)
    positions = to_dtype(indices, jnp.int64)  # what is no number is nowhere
    positions = jax.lax.broadcast_in_dim(positions, shape, range(indices.ndim))
    hot = jax.lax.eq(positions, jax.lax.broadcasted_iota(jnp.int64, shape, indices.ndim))
    on, off = (
        jax.lax.broadcast(number_of_dtype(each, dtype), shape) for each in (on_value, off_value)
    )
    return jax.lax.select(hot, on, off)


@op(
    "gather_nd",
    flops=0,
    dtypes=Dtypes(own={"indices": None}),
    aliases=["_npi_gather_nd", "_npx_gather_nd"],
)
def gather_nd(data, indices):
    """Elements or slices of ``data`` at positions: ``data[indices[0], indices[1], ...]``.

    Args:
        data: any shape.
        indices: ``(m, ...)``: row ``i`` has the positions on axis ``i`` of ``data``.

    Returns:
        ``(*indices.shape[1:], *data.shape[m:])``.

    Source: MXNet operator ``gather_nd``.
    """
    if indices.ndim < 2:
        raise ShapeError(
            f"gather_nd: indices of shape {indices.shape} have too few axes; give (axes, ...), a row of "
            f"numbers for each axis of data."
        )
    if indices.shape[0] > data.ndim:
        raise ShapeError(
            f"gather_nd: indices {indices.shape} name {indices.shape[0]} axes, but data {data.shape} has "
            f"{data.ndim}; give an index for each axis at most."
        )
    return data[_places(indices, data.shape)]


@gather_nd.set_check_known("indices")
def _(values, shape):
    for axis, (index, extent) in enumerate(zip(np.atleast_1d(values), shape, strict=False)):
        _check_inside(index, axis, extent)


def _check_inside(index: jax.Array, axis: int, extent: int, least: int | None = None) -> None:
    least = -extent if least is None else least
    if index.size and not (least <= index.min() and index.max() < extent):
        wrong = index.max() if index.max() >= extent else index.min()
        raise IndexingError(
            f"index {int(wrong)} is out of bounds for axis {axis}, which has {extent} element(s)"
        )


@op("scatter_nd", shaped_by="shape", dtypes=Dtypes(own={"indices": None}))
def scatter_nd(data, indices, *, shape: Extents):
    """Zeros of ``shape`` with ``data`` written at positions: the opposite of ``gather_nd``.

    Args:
        data: ``(*indices.shape[1:], *shape[m:])``.
        indices: ``(m, ...)``: row ``i`` has the positions on axis ``i`` of the result.

    Source: MXNet operator ``scatter_nd``.
    """
    if indices.ndim < 2 or data.shape != (*indices.shape[1:], *shape[indices.shape[0] :]):
        raise ShapeError(
            f"scatter_nd: data of shape {data.shape} does not fit indices {indices.shape} and shape={shape}; "
            f"data is indices.shape[1:], then shape[indices.shape[0]:]."
        )
    return jnp.zeros(shape, data.dtype).at[_places(indices, shape)].set(data)


@scatter_nd.set_gradient
def _(head, out, data, indices, *, shape):
    # As in MXNet: of elements that are written to one place, each has the gradient of that place.
    return head[_places(indices, shape)], None


@op("_scatter_set_nd", dtypes=Dtypes(own={"indices": None}), aliases=["_npi_scatter_set_nd"])
def scatter_set_nd(lhs, rhs, indices, *, shape: Shape):
    """``lhs`` with ``rhs`` at ``indices``, as ``gather_nd`` reads them.

    Args:
        lhs: an array of ``shape``.
        rhs: the new elements, in the dtype of ``lhs``.
        indices: ``(axes, ...)``; its first axis runs over the first axes of ``lhs``.
        shape: the shape of ``lhs``.

    Raises:
        ShapeError: ``lhs`` does not have that shape.

    Source: MXNet operator ``_scatter_set_nd``.
    """
    if lhs.shape != shape:
        raise ShapeError(f"_scatter_set_nd: lhs is {lhs.shape}, shape={shape}; make them equal.")
    return lhs.at[_places(indices, shape)].set(rhs)


@op("_scatter_reduce_nd", dtypes=Dtypes(own={"indices": None}), in_amp_lists=False)
def scatter_reduce_nd(
    lhs, rhs, indices, *, shape: Shape, reduction: Literal["add", "mul", "max", "min"] = "add"
):
    """``lhs`` combined with ``rhs`` at ``indices``, where an element may be named several times.

    Args:
        lhs: an array of ``shape``.
        rhs: numbers to combine with its elements, in the dtype of ``lhs``.
        indices: ``(axes, ...)``, as ``gather_nd`` reads them.
        shape: the shape of ``lhs``.
        reduction: how an element is combined with the numbers for it. The gradient of ``max`` and
            ``min`` is shared by equal elements.

    Raises:
        ShapeError: ``lhs`` does not have that shape.
    """
    if lhs.shape != shape:
        raise ShapeError(f"_scatter_reduce_nd: lhs is {lhs.shape}, shape={shape}; make them equal.")
    target = lhs.at[_places(indices, shape)]
    methods = {"add": target.add, "mul": target.multiply, "max": target.max, "min": target.min}
    return methods[reduction](rhs)


@scatter_reduce_nd.set_gradient
def _(head, out, lhs, rhs, indices, *, shape, reduction):
    places = _places(indices, shape)
    if reduction == "add":
        return head, head[places], None
    if reduction == "mul":
        return *_product_gradient(head, lhs, rhs, places), None
    own, new = (lhs == out).astype(head.dtype), (rhs == out[places]).astype(head.dtype)
    share = head / own.at[places].add(new)
    return own * share, new * share[places], None


def _product_gradient(head: Any, lhs: Any, rhs: Any, places: tuple[Any, ...]) -> Any:
    """Gradients of products: of a factor, the product of all others, also where some are 0."""
    zero = rhs == 0
    zeros = jnp.zeros(lhs.shape, jnp.int32).at[places].add(zero.astype(jnp.int32))
    rest = jnp.ones_like(lhs).at[places].multiply(jnp.where(zero, jnp.ones_like(rhs), rhs))
    others = zeros[places] - zero  # factors of 0 beside each one
    factor = (lhs * rest * head)[places] / jnp.where(zero, jnp.ones_like(rhs), rhs)
    of_rhs = jnp.where(others == 0, factor, jnp.zeros_like(rhs))
    return head * jnp.where(zeros == 0, rest, jnp.zeros_like(rest)), of_rhs


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


@op(
    "Embedding",
    booleans=False,
    flops=0,
    dtypes=Dtypes(own={"data": None}, shared="dtype"),
    quantization=Quantization("_contrib_quantized_embedding", reads=last_input),
    aliases=["_sparse_Embedding", "_npx_embedding"],
    storage=storage_rules.EMBEDDING,
)
def embedding(
    data,
    weight,
    *,
    input_dim: Positive,
    output_dim: Positive,
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
    if weight.dtype == jnp.bool_:
        raise DTypeError("Embedding: weight holds booleans; cast it with astype('float32').")
    if weight.shape != (input_dim, output_dim):
        raise ShapeError(
            f"Embedding: weight is {weight.shape}, but input_dim and output_dim say "
            f"{(input_dim, output_dim)}."
        )
    return slices_at(weight, bounded(data, input_dim, "clip"), 0)


@op(
    "_contrib_SparseEmbedding",
    booleans=False,
    dtypes=Dtypes(own={"data": None}, shared="dtype"),
    storage=storage_rules.EMBEDDING,
)
def sparse_embedding(
    data,
    weight,
    *,
    input_dim: Positive,
    output_dim: Positive,
    dtype: DType = "float32",
    deterministic: bool = False,
):
    """Rows of ``weight`` at ``data``; the older name of ``Embedding`` with a row_sparse gradient.

    ``deterministic`` exists for MXNet programs: the gradient is the same in every run.

    Source: MXNet operator ``_contrib_SparseEmbedding``.
    """
    return embedding.function(data, weight, input_dim=input_dim, output_dim=output_dim)


def _rows_read(head, data, weight):
    return data, head.reshape(-1, *weight.shape[1:])


embedding.set_row_gradient("weight")(_rows_read)
sparse_embedding.set_row_gradient("weight")(_rows_read)


def _weight_shape(data, *, input_dim, output_dim):
    return {"weight": (input_dim, output_dim)}


embedding.infer_inputs(_weight_shape)
sparse_embedding.infer_inputs(_weight_shape)


@op("_contrib_index_copy", booleans=False, dtypes=Dtypes(own={"index_vector": None}))
def index_copy(old_tensor, index_vector, new_tensor):
    """The old tensor with the slices at ``index_vector`` replaced by those of the new one.

    Args:
        old_tensor: at least one axis.
        index_vector: positions on the first axis, ``(n,)``; of equal ones the last counts, and those out of
            range are ignored.
        new_tensor: ``(n, *old_tensor.shape[1:])``.

    Raises:
        ShapeError: the shapes do not fit.

    Source: MXNet operator ``_contrib_index_copy``.
    """
    expected = (*index_vector.shape, *old_tensor.shape[1:])
    if index_vector.ndim != 1 or new_tensor.shape != expected:
        raise ShapeError(
            f"_contrib_index_copy: new_tensor is {new_tensor.shape}, but index_vector "
            f"{index_vector.shape} (one axis) and old_tensor {old_tensor.shape} need {expected}."
        )
    extent = old_tensor.shape[0]
    index = index_vector.astype(jnp.int64)
    # The last of equal places by rule, not by the order in which a device happens to write.
    places = jnp.where((index >= 0) & (index < extent), index, extent)
    order = jnp.arange(index.shape[0])
    last = jnp.full(extent + 1, -1).at[places].max(order)
    chosen = last[:extent]
    untouched = jnp.expand_dims(chosen < 0, range(1, old_tensor.ndim))
    return jnp.where(untouched, old_tensor, new_tensor[jnp.maximum(chosen, 0)])


@op("_contrib_index_array", differentiable=False, dtypes=PLACES)
def index_array(data, *, axes: Shape | None = None):
    """The index of each element, along all axes or along ``axes``.

    Returns:
        ``(*data.shape, number of axes)``, int64.

    Raises:
        ShapeError: the array has no such axis.

    Source: MXNet operator ``_contrib_index_array``.
    """
    chosen = range(data.ndim) if axes is None else axes
    for each in chosen:
        if not -data.ndim <= each < data.ndim:
            raise ShapeError(
                f"_contrib_index_array: axis {each} does not exist in an array of {data.ndim} axes."
            )
    if not len(chosen):
        raise ShapeError("_contrib_index_array: axes=() leaves no index; give one axis or more.")
    parts = [jax.lax.broadcasted_iota(jnp.int64, data.shape, each % data.ndim) for each in chosen]
    return jnp.stack(parts, -1)


@op("fill_element_0index", booleans=False, differentiable=False)
def fill_element_0index(lhs, mhs, rhs):
    """``lhs`` with one element of each row replaced: ``lhs[i, rhs[i]] = mhs[i]``.

    Args:
        lhs: ``(n, m)``.
        mhs: ``(n,)``, values.
        rhs: ``(n,)``, columns; a row whose column is out of range stays as it is.

    Raises:
        ShapeError: the arrays have other shapes.

    Source: MXNet operator ``fill_element_0index``.
    """
    if lhs.ndim != 2 or mhs.shape != lhs.shape[:1] or rhs.shape != lhs.shape[:1]:
        raise ShapeError(
            f"fill_element_0index: lhs {lhs.shape}, mhs {mhs.shape} and rhs {rhs.shape} must be "
            f"(n, m), (n,) and (n,)."
        )
    hit = jnp.arange(lhs.shape[1]) == rhs.astype(jnp.int64)[:, None]
    return jnp.where(hit, mhs[:, None].astype(lhs.dtype), lhs)
