"""Reading and writing parts of arrays; indexing records these. Positions are inputs of the program."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.ops.op import Step
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Scalar, Scalars, Shape
from mixnet.ops.schema.dtypes import number_of_dtype, to_dtype


def _position(number: Any) -> Any:
    return jnp.asarray(number).astype(jnp.int64)


@op("_view", in_amp_lists=False)
def view(data, *, offset: Scalar, shape: Shape):
    """The ``shape`` that starts at element ``offset`` of the flattened ``data``."""
    size = 1
    for extent in shape:
        size *= extent
    return jax.lax.dynamic_slice(data.reshape(-1), (_position(offset),), (size,)).reshape(shape)


@view.infer_outputs
def _(data, *, offset, shape):
    return [(shape, data[1])]


def _reshaped(shape: tuple[int, ...]) -> Step:
    # Extents of 0 and shapes without axes mean something else to ``Reshape``.
    if 0 in shape or not shape:
        return Step("_np_reshape", {"newshape": shape})
    return Step("Reshape", {"shape": shape})


@view.set_file_form
def _(*, offset, shape):
    begin = int(offset)
    return [
        _reshaped((-1,)),
        Step("slice", {"begin": (begin,), "end": (begin + math.prod(shape),)}),
        _reshaped(shape),
    ]


@op("_view_write", in_amp_lists=False)
def view_write(data, value, *, offset: Scalar):
    """``data`` with ``value`` written from element ``offset`` of its flattened form on."""
    flat = jax.lax.dynamic_update_slice(
        data.reshape(-1), to_dtype(value.reshape(-1), data.dtype), (_position(offset),)
    )
    return flat.reshape(data.shape)


@op("_full_like_value", in_amp_lists=False)
def full_like_value(data, *, value: Scalar):
    """An array like ``data`` filled with ``value``."""
    return jnp.broadcast_to(number_of_dtype(value, data.dtype), data.shape)


@op("_broadcast_cast", in_amp_lists=False)
def broadcast_cast(value, *, shape: Shape, dtype: str):
    """``value`` in the shape and dtype of what it is assigned to."""
    extra = value.ndim - len(shape)
    if extra > 0 and all(extent == 1 for extent in value.shape[:extra]):
        value = value.reshape(value.shape[extra:])
    return jnp.broadcast_to(to_dtype(value, dtype), shape)


@op("_block", in_amp_lists=False)
def block(data, *, begin: Scalars, size: Shape, shape: Shape):
    """The block of ``size`` at ``begin``, as ``shape``: basic indexing with steps of one."""
    return jax.lax.dynamic_slice(data, [_position(b) for b in begin], size).reshape(shape)


@block.set_file_form
def _(*, begin, size, shape):
    first = tuple(map(int, begin))
    end = tuple(b + extent for b, extent in zip(first, size, strict=True))
    return [Step("slice", {"begin": first, "end": end}), _reshaped(shape)]


@op("_block_write", in_amp_lists=False)
def block_write(data, value, *, begin: Scalars, size: Shape):
    """``data`` with ``value``, of as many elements as ``size``, written at ``begin``."""
    update = to_dtype(value.reshape(size), data.dtype)
    return jax.lax.dynamic_update_slice(data, update, [_position(b) for b in begin])


def _key(pattern: tuple[Any, ...], indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """NumPy's index from its structure: arrays by number, slices as triples, None, Ellipsis."""
    parts: list[Any] = []
    for each in pattern:
        if isinstance(each, tuple):
            parts.append(slice(*each))
        elif isinstance(each, int):
            array = indices[each]
            is_float = jnp.issubdtype(array.dtype, jnp.floating)  # from a file, bound to floats
            parts.append(array.astype(jnp.int64) if is_float else array)
        else:
            parts.append(Ellipsis if each == "..." else None)
    return tuple(parts)


@op("_index", in_amp_lists=False)
def index(data, *indices, pattern: tuple):
    """NumPy's indexing; ``pattern`` has triples for slices and numbers of ``indices``."""
    return data[_key(pattern, indices)]


@index.set_file_form
def _(*, pattern):
    arrays = [axis for axis, each in enumerate(pattern) if isinstance(each, int)]
    if any(isinstance(each, str) for each in pattern) or len(arrays) > 1:
        return None
    slices = [(None, None, None) if isinstance(each, int) else each for each in pattern]
    steps = []
    if any(each != (None, None, None) for each in slices):
        begin, end, step = zip(*slices, strict=True)
        steps.append(Step("slice", {"begin": begin, "end": end, "step": step}))
    if arrays:  # numbers from the end of the axis wrap
        steps.append(Step("take", {"axis": arrays[0], "mode": "wrap"}, (1,)))
    return steps or None


@op("_index_write", in_amp_lists=False)
def index_write(data, value, *indices, pattern: tuple):
    """``data`` with ``value`` written at NumPy's index."""
    return data.at[_key(pattern, indices)].set(to_dtype(value, data.dtype))
