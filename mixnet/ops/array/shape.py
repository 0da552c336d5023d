"""Reshape with MXNet's codes, new and dropped axes, and shapes as arrays."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import AxisError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import (
    Axes,
    NewAxis,
    Shape,
)
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.integer_layers import Quantization
from mixnet.ops.schema.rewrites import Rewrites, free_of_codes
from mixnet.ops.schema.shape_constraints import all_same, one_number, same_number


def shape_of_codes(
    shape: tuple[int, ...], codes: tuple[int, ...], reverse: bool
) -> tuple[int, ...]:
    """The shape that MXNet's reshape codes mean for an array of shape ``shape``.

    0 keeps the axis; -1 takes what remains; -2 keeps all remaining axes; -3 joins two axes; -4 splits one
    into the two numbers after it. ``reverse`` reads from the last axis on.

    Raises:
        ShapeError: the codes do not fit.
    """
    source, target = list(shape), list(codes)
    if reverse:
        source.reverse()
        target = _reversed_codes(target)
    out: list[int] = []
    at, i, unknown = 0, 0, -1
    try:
        while i < len(target):
            code = target[i]
            if not isinstance(code, (int, np.integer)) or code > 0:  # a symbol is an extent
                out.append(code)
                at += 1
            elif code == 0:
                out.append(source[at])
                at += 1
            elif code == -1:
                if unknown >= 0:
                    raise IndexError  # two of them are not known
                unknown = len(out)
                out.append(1)
                at += 1
            elif code == -2:
                out += source[at:]
                at = len(source)
            elif code == -3:
                out.append(source[at] * source[at + 1])
                at += 2
            elif code == -4:
                left, right = target[i + 1], target[i + 2]
                left = source[at] // right if left == -1 else left
                right = source[at] // left if right == -1 else right
                if left * right != source[at]:
                    raise IndexError
                out += [left, right]
                at += 1
                i += 2
            else:
                raise IndexError
            i += 1
        if unknown >= 0:
            out[unknown] = math.prod(source) // math.prod(out)
    except (IndexError, ZeroDivisionError):
        out = [-1]
    if math.prod(out) != math.prod(source):
        raise ShapeError(
            f"Reshape: an array of shape {shape} ({math.prod(shape)} elements) cannot become "
            f"{codes}{' read from the last axis' if reverse else ''}."
        )
    return tuple(reversed(out)) if reverse else tuple(out)


def _reversed_codes(codes: list[int]) -> list[int]:
    """Codes from last to first, the two numbers of a split still behind their -4."""
    groups: list[list[int]] = []
    i = 0
    while i < len(codes):
        width = 3 if codes[i] == -4 else 1
        group = codes[i : i + width]
        groups.append([group[0], *reversed(group[1:])])
        i += width
    return [code for group in reversed(groups) for code in group]


def _reshaped(
    data: jax.Array,
    *,
    shape: tuple[int, ...],
    reverse: bool,
    target_shape: tuple[int, ...] | None,
    keep_highest: bool,
) -> Any:
    if target_shape and not shape:
        return data.reshape(_former_target(data.shape, target_shape, keep_highest))
    return data.reshape(shape_of_codes(data.shape, shape, reverse))


@op(
    "Reshape",
    aliases=["reshape"],
    flops=0,
    rewrites=Rewrites(
        keeps_order=True,
        sets_shape=lambda *, shape: free_of_codes(shape),
        keeps_dtype=True,
        constant=_reshaped,
    ),
    shaped_by="shape",
    shape_constraint=same_number,
    family="reshaping",
)
def reshape(
    data,
    *,
    shape: Shape = (),
    reverse: bool = False,
    target_shape: Shape | None = (),
    keep_highest: bool = False,
):
    """The elements in another shape; codes 0, -1, -2, -3 and -4 as MXNet has them.

    0 keeps the axis; -1 takes what remains; -2 keeps all remaining axes; -3 joins two axes; -4 splits one
    into the two numbers after it. ``reverse`` reads from the last axis on. ``target_shape`` is
    the form in old files: a 0 takes what remains, and ``keep_highest`` keeps the first axis.

    Source: MXNet operator ``Reshape``.
    """
    return _reshaped(
        data, shape=shape, reverse=reverse, target_shape=target_shape, keep_highest=keep_highest
    )


def _former_target(
    shape: tuple[int, ...], target: tuple[int, ...], keep_highest: bool
) -> tuple[int, ...]:
    """The shape that ``target_shape`` means, which preceded the codes: one 0 is what is left.

    Raises:
        ShapeError: it has another number of elements, or several extents are not known.
    """
    out = [*shape[:1], *target[1:]] if keep_highest else list(target)
    if out.count(0) == 1:
        rest = math.prod(extent for extent in out if extent)
        out[out.index(0)] = math.prod(shape) // rest
    if math.prod(out) != math.prod(shape):
        raise ShapeError(
            f"Reshape: an array of shape {shape} ({math.prod(shape)} elements) cannot become "
            f"target_shape={target}{', keep_highest=True' if keep_highest else ''}. Give shape=, "
            f"whose codes can copy extents."
        )
    return tuple(out)


@op(
    "reshape_like",
    method=True,
    flops=0,
    dtypes=Dtypes(own={"rhs": None}),
    aliases=["_npx_reshape_like"],
)
def reshape_like(
    lhs,
    rhs,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
):
    """``lhs`` in the shape of ``rhs``; with limits, only its axes ``lhs_begin:lhs_end`` get those of ``rhs``.

    The axes of ``rhs`` are then ``rhs_begin:rhs_end``.

    Source: MXNet operator ``reshape_like``.
    """
    left, right = list(lhs.shape), list(rhs.shape)
    left[_span("lhs", lhs_begin, lhs_end, left)] = right[_span("rhs", rhs_begin, rhs_end, right)]
    if math.prod(left) != lhs.size:
        raise ShapeError(
            f"reshape_like: lhs {lhs.shape} has {lhs.size} elements and cannot become {tuple(left)}, "
            f"as rhs {rhs.shape} is. Give arrays with the same number of elements."
        )
    return lhs.reshape(left)


def _span(name: str, begin: int | None, end: int | None, shape: list[int]) -> slice:
    """The axes from ``begin`` to ``end`` of the shape of array ``name``.

    Raises:
        AxisError: it has not as many axes.
    """
    count = len(shape)
    for word, axis in (("begin", begin), ("end", end)):
        if axis is not None and not -count <= axis <= count:
            raise AxisError(
                f"reshape_like: {name}_{word}={axis} is out of range: {name} has {count} axes; give "
                f"one from {-count} to {count}."
            )
    return slice(begin, end)


def _flattened(data: jax.Array) -> Any:
    return data.reshape(data.shape[0], math.prod(data.shape[1:]))  # -1 fails without elements


@op(
    "Flatten",
    aliases=["flatten", "_npx_batch_flatten"],
    flops=0,
    rewrites=Rewrites(keeps_order=True, keeps_dtype=True, constant=_flattened),
    quantization=Quantization("_contrib_quantized_flatten"),
    family="reshaping",
)
def flatten(data):
    """All axes but the first joined into one: ``(batch, rest)``.

    Source: MXNet operator ``Flatten``.
    """
    return _flattened(data)


@op(
    "expand_dims",
    method=True,
    flops=0,
    rewrites=Rewrites(
        keeps_order=True,
        keeps_dtype=True,
        constant=lambda data, *, axis: np.expand_dims(data, axis),
    ),
    aliases=["_npi_expand_dims"],
)
def expand_dims(data, *, axis: NewAxis):
    """The array with a new axis of extent one at position ``axis``.

    Source: MXNet operator ``expand_dims``.
    """
    return jnp.expand_dims(data, axis)


@op("squeeze", method=True, flops=0, rewrites=Rewrites(keeps_order=True, keeps_dtype=True))
def squeeze(data, *, axis: Axes | None = None):
    """The array without its axes of extent one: all of them, or those in ``axis``.

    Source: MXNet operator ``squeeze``.
    """
    if any(data.shape[each] != 1 for each in axis or ()):
        raise ShapeError(f"squeeze: axes {axis} of data {data.shape} are not all of extent 1.")
    out = jnp.squeeze(data, axis and tuple({each % data.ndim for each in axis}))
    return out.reshape((1,)) if out.ndim == 0 else out


@op(
    "_identity_with_attr_like_rhs",
    one_dtype=True,
    storage=storage_rules.LIKE_RIGHT,
    shape_constraint=all_same,
)
def identity_with_attr_like_rhs(lhs, rhs):
    """``lhs``; its shape and dtype are those of ``rhs`` where they are not known.

    Source: MXNet operator ``_identity_with_attr_like_rhs``.
    """
    if lhs.shape != rhs.shape:
        raise ShapeError(
            f"_identity_with_attr_like_rhs: lhs is {lhs.shape}, rhs {rhs.shape}; give equal shapes."
        )
    return lhs


@op(
    "shape_array",
    method=True,
    differentiable=False,
    flops=0,
    dtypes=Dtypes(result="int64"),
    rewrites=Rewrites(described=lambda shape, dtype: np.array(shape, np.int64)),
    aliases=["_npx_shape_array"],
)
def shape_array(data):
    """The shape of the array, int64 ``(number of axes,)``.

    Source: MXNet operator ``shape_array``.
    """
    return jnp.asarray(data.shape, jnp.int64)


@op(
    "size_array",
    shape_constraint=one_number,
    method=True,
    differentiable=False,
    flops=0,
    dtypes=Dtypes(result="int64"),
    rewrites=Rewrites(described=lambda shape, dtype: np.array([math.prod(shape)], np.int64)),
)
def size_array(data):
    """The number of elements of the array, int64 ``(1,)``.

    Source: MXNet operator ``size_array``.
    """
    return jnp.asarray([data.size], jnp.int64)
