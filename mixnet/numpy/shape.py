"""Reshaping, joining, splitting and transposing ``mx.np`` arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.array_like import has_shape, shape_of
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    AxisError,
    NotDefinedError,
    OptionError,
    ZeroError,
    checked_shape,
)
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.call import (
    NUMBERS,
    as_array,
    as_axes,
    as_operator,
    call,
    check_array,
    check_operand,
    is_array,
    numbers_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.numpy.call import Array, Operable, Operand


@as_operator("_np_reshape")
def reshape(
    a: Operand, newshape: int | Sequence[int], order: str = "C", out: Operable | None = None
) -> Any:
    """The elements in another shape; one -1 takes what remains.

    Args:
        a: any shape.
        newshape: a number or a sequence; one -1 stands for what remains.
        order: 'C'; nothing else is supported.
        out: an array for the result.
    """
    shape = (newshape,) if isinstance(newshape, (int, onp.integer)) else tuple(newshape)
    return call("_np_reshape", a, out=out, newshape=shape, order=order)


def ravel(x: Operand, order: str = "C") -> Any:
    """All elements in one axis.

    Args:
        x: any shape.
        order: 'C'; nothing else is supported.
    """
    if order != "C":
        raise OptionError(f"ravel: order={order!r} is not supported; only 'C' is.")
    if isinstance(x, NUMBERS):
        return onp.ravel(x)
    return reshape(x, (-1,), order)


def shape(a: Array | ArrayLike) -> tuple[int, ...]:
    """The extents of the axes.

    Args:
        a: an array, or nested lists.
    """
    return tuple(a.shape) if is_array(a) else onp.shape(a)


@as_operator("_np_transpose")
def transpose(a: Operand, axes: Sequence[int] | None = None, out: Operable | None = None) -> Any:
    """Axes in another order, reversed by default.

    Args:
        a: any shape.
        axes: a permutation of the axes; None reverses them.
        out: an array for the result.
    """
    if axes is not None and not len(axes) and isinstance(a, NDArray) and a.ndim:
        raise AttributeValueError(
            f"transpose: axes={axes!r} names no axes, but the array has {a.ndim}; name all of them, or "
            f"leave axes out to reverse them."
        )
    return call("_np_transpose", a, out=out, axes=None if axes is None else tuple(axes))


def swapaxes(a: Operand, axis1: int, axis2: int) -> Any:
    """Two axes exchanged.

    Args:
        a: any shape.
        axis1: one axis.
        axis2: the other.
    """
    return call("_npi_swapaxes", a, dim1=axis1, dim2=axis2)


@as_operator("_np_moveaxis")
def moveaxis(
    a: Operand,
    source: int | Sequence[int],
    destination: int | Sequence[int],
    out: Operable | None = None,
) -> Any:
    """Axes moved from ``source`` to ``destination``.

    Args:
        a: any shape.
        source: one axis or several.
        destination: as many: where they are in the result.
        out: an array for the result.
    """
    ends = {"source": as_axes(source), "destination": as_axes(destination)}
    return call("_np_moveaxis", a, out=out, **ends)


def rollaxis(a: Array, axis: int, start: int = 0) -> Any:
    """Axis ``axis`` moved before axis ``start``.

    Args:
        a: any shape.
        axis: the axis to move.
        start: the axis before which it is put.
    """
    check_array("rollaxis", a)
    if not -a.ndim <= axis < a.ndim or not -a.ndim <= start <= a.ndim:
        raise AttributeValueError(
            f"rollaxis: axis={axis}, start={start} is out of range for an array of {a.ndim} axes; give "
            f"axes from {-a.ndim} to {a.ndim - 1}; start may be {a.ndim}."
        )
    order = list(range(a.ndim))
    moved = order.pop(axis)
    start = start + a.ndim if start < 0 else start
    order.insert(start - (start > axis % a.ndim), moved)
    return transpose(a, order)


def expand_dims(a: Operand, axis: int) -> Any:
    """The array with a new axis of extent one at ``axis``."""
    return call("expand_dims", a, axis=axis)


@as_operator("_np_squeeze")
def squeeze(
    a: Operand, axis: int | Sequence[int] | None = None, out: Operable | None = None
) -> Any:
    """The array without axes of extent one: all of them, or ``axis``.

    Args:
        a: any shape.
        axis: one axis or several, of extent one; None takes all of them.
        out: an array for the result.
    """
    return call("_np_squeeze", a, out=out, axis=as_axes(axis))


def _as_shape(name: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, onp.integer)) else checked_shape(name, shape)


def broadcast_to(array: Operand, shape: int | Sequence[int]) -> Any:
    """The array repeated along axes of extent one, and new first ones, to ``shape``.

    Args:
        array: any shape.
        shape: of the result.
    """
    target = _as_shape("broadcast_to", shape)
    source = as_array(array)
    if isinstance(array, (bool, onp.bool_)):
        source = source.astype("bool")
    return call("_npi_broadcast_to", source, shape=target)


def broadcast_arrays(*args: Any) -> list[Any]:
    """The arrays, repeated to the shape that they have together.

    Args:
        args: arrays whose shapes can be broadcast.
    """
    if not all(isinstance(each, NUMBERS) or has_shape(each) for each in args):
        raise NotDefinedError("broadcast_arrays takes arrays and numbers.")
    arrays = [as_array(each) for each in args]
    shape = onp.broadcast_shapes(*[each.shape for each in arrays])
    return [broadcast_to(each, shape) for each in arrays]


def _each_array(name: str, arrays: Sequence[Operand]) -> Sequence[Operand]:
    """The arrays that are to be joined: None among them is not left out."""
    for each in arrays:
        check_array(name, each)
    return arrays


def concatenate(
    seq: Sequence[Operand], axis: int | Sequence[int] | None = 0, out: Operable | None = None
) -> Any:
    """Arrays joined along ``axis``; flattened first where it is None.

    Args:
        seq: arrays whose extents agree in all other axes.
        axis: along which; None flattens first.
        out: an array for the result.
    """
    return call("_npi_concatenate", *_each_array("concatenate", seq), out=out, axis=axis)


def append(arr: Operand, values: Operand, axis: int | None = None) -> Any:
    """``values`` appended to ``arr`` along ``axis``; both flattened where it is None."""
    return concatenate((arr, values), axis)


def stack(arrays: Sequence[Operand], axis: int = 0, out: Operable | None = None) -> Any:
    """Arrays of one shape joined along a new axis.

    Args:
        arrays: arrays of one shape.
        axis: where the new axis is in the result.
        out: an array for the result.
    """
    return call("_npi_stack", *_each_array("stack", arrays), out=out, axis=axis)


def vstack(arrays: Sequence[Operand], out: Operable | None = None) -> Any:
    """Arrays joined as rows.

    Args:
        arrays: arrays whose shapes agree but for the first axis; one with one axis is a row.
        out: an array for the result.
    """
    return call("_npi_vstack", *_each_array("vstack", arrays), out=out)


def row_stack(arrays: Sequence[Operand]) -> Any:
    """Arrays joined as rows.

    Args:
        arrays: arrays whose shapes agree but for the first axis; one with one axis is a row.
    """
    return vstack(arrays)


def hstack(arrays: Sequence[Operand]) -> Any:
    """Arrays joined along the second axis, the first for 1-D.

    Args:
        arrays: arrays whose shapes agree but for the axis that is joined.
    """
    return call("_npi_hstack", *_each_array("hstack", arrays))


def dstack(arrays: Sequence[Operand]) -> Any:
    """Arrays joined along the third axis.

    Args:
        arrays: arrays whose shapes agree but for the third axis; missing axes are added.
    """
    return call("_npi_dstack", *_each_array("dstack", arrays))


def column_stack(tup: Sequence[Operand]) -> Any:
    """1-D arrays as columns, and matrices, joined side by side.

    Args:
        tup: arrays of one or two axes, with the same number of rows.
    """
    return call("_npi_column_stack", *_each_array("column_stack", tup))


def _check_axis(name: str, ary: Any, axis: int) -> None:
    if has_shape(ary) and not -len(ary.shape) <= axis < len(ary.shape):
        raise AxisError(
            f"{name}: axis={axis} is out of range: the array has {len(ary.shape)} axes."
        )


def _cut(ary: Any, parts: Any, axis: int) -> list[Any]:
    check_array("split", ary)
    _check_axis("split", ary, axis)
    by_count = isinstance(parts, (int, onp.integer))
    if (
        not by_count
        and not isinstance(parts, (tuple, list, set, range, onp.ndarray))
        and not is_array(parts)
    ):
        raise AttributeValueError(
            f"split: indices_or_sections={parts!r} is neither the number of parts nor a sequence of "
            f"indices to cut before."
        )
    if by_count and isinstance(ary, NDArray) and not ary.shape[axis]:
        return [ary[:] for _ in range(int(parts))]  # of no elements any part has none
    if by_count:
        pieces = call("_npi_split", ary, indices=(), axis=axis, sections=int(parts))
    elif not has_shape(ary):  # a symbol: its extent is not known yet
        pieces = call("_npi_split", ary, indices=(0, *map(int, parts)), axis=axis)
    else:
        # Indices beyond the end leave empty parts, as NumPy has it.
        extent = ary.shape[axis]
        starts = [0, *(min(max(int(i) + (extent if i < 0 else 0), 0), extent) for i in parts)]
        if sorted(starts) != starts:
            return [_slice(ary, a, b, axis) for a, b in itertools.pairwise([*starts, extent])]
        pieces = call("_npi_split", ary, indices=tuple(starts), axis=axis)
    return list(pieces) if isinstance(pieces, (list, tuple)) or not has_shape(pieces) else [pieces]


def _slice(ary: Any, begin: int, end: int, axis: int) -> Any:
    return ary[(slice(None),) * (axis % ary.ndim) + (slice(begin, end),)]


def split(ary: Operand, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Cut along ``axis`` into equal parts, or before each of several indices.

    Args:
        ary: any shape.
        indices_or_sections: the number of parts, or a sequence of indices to cut before.
        axis: along which.

    Raises:
        ValueError: the extent does not divide into that many parts.
    """
    if isinstance(indices_or_sections, (int, onp.integer)) and has_shape(ary):
        _check_axis("split", ary, axis)
        parts, extent = indices_or_sections, ary.shape[axis]
        if parts <= 0 or extent % parts:
            raise (AttributeValueError if parts else ZeroError)(
                f"split: axis {axis} of extent {extent} does not divide into "
                f"{parts} equal parts; array_split makes parts of unequal extents."
            )
    return _cut(ary, indices_or_sections, axis)


def array_split(ary: Operand, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Cut along ``axis`` into parts that differ by one at most, or before indices.

    Args:
        ary: any shape.
        indices_or_sections: the number of parts, or a sequence of indices to cut before.
        axis: along which.
    """
    if isinstance(indices_or_sections, (int, onp.integer)):
        sections = int(indices_or_sections)
        if sections <= 0:
            raise AttributeValueError(f"array_split: {sections} parts; give at least one.")
    return _cut(ary, indices_or_sections, axis)


def _check_axes(name: str, ary: Array, least: int) -> None:
    if len(ary.shape) < least:
        raise AttributeValueError(f"{name} takes arrays of {least} or more axes, not {ary.shape}.")


def hsplit(ary: Array, indices_or_sections: int | Sequence[int]) -> list[Any]:
    """Cut along the second axis, of 1-D along the first.

    As in MXNet, and unlike ``vsplit`` and ``dsplit``, the first parts are longer by one where the extent does
    not divide.

    Args:
        ary: at least one axis.
        indices_or_sections: the number of parts, or a sequence of indices to cut before.
    """
    _check_axes("hsplit", ary, 1)
    return array_split(ary, indices_or_sections, 0 if len(ary.shape) == 1 else 1)


def vsplit(ary: Array, indices_or_sections: int | Sequence[int]) -> list[Any]:
    """Cut along the first axis.

    Args:
        ary: at least two axes.
        indices_or_sections: the number of parts, or a sequence of indices to cut before.
    """
    _check_axes("vsplit", ary, 2)
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Array, indices_or_sections: int | Sequence[int]) -> list[Any]:
    """Cut along the third axis.

    Args:
        ary: at least three axes.
        indices_or_sections: the number of parts, or a sequence of indices to cut before.
    """
    _check_axes("dsplit", ary, 3)
    return split(ary, indices_or_sections, 2)


@as_operator("repeat")
def repeat(
    a: Array,
    repeats: int | Sequence[int],
    axis: int | None = None,
    out: Operable | None = None,
) -> Any:
    """Every element ``repeats`` times along ``axis``, of the flattened array by default.

    Args:
        a: any shape.
        repeats: a number, or one for each position along ``axis``.
        axis: along which; None flattens first.
        out: an array for the result.
    """
    if isinstance(repeats, (int, onp.integer)):
        return call("repeat", a, out=out, repeats=int(repeats), axis=axis)
    counts = onp.asarray(repeats.asnumpy() if isinstance(repeats, NDArray) else repeats)
    flat = a if axis is not None else ravel(a)
    where = onp.repeat(onp.arange(flat.shape[axis or 0]), counts)
    return call("take", flat, as_array(where, a), out=out, axis=axis or 0)


def tile(A: Operand, reps: int | Sequence[int]) -> Any:
    """The array repeated ``reps`` times along its axes.

    Args:
        A: any shape.
        reps: a number, or one for each axis; missing axes are added in front.
    """
    reps = numbers_of(reps)
    if is_array(A) and 0 not in reps and reps and shape_of(A) != ():
        return call("tile", A, reps=reps)
    if isinstance(A, NUMBERS):
        return onp.tile(A, reps)
    array = as_array(A)
    if 0 in reps:
        wide = (1,) * (len(reps) - array.ndim) + array.shape
        full = (1,) * (len(wide) - len(reps)) + reps
        empty = tuple(n * r for n, r in zip(wide, full, strict=True))
        return call("_npi_zeros", shape=empty, dtype=array.dtype.name, ctx=array.ctx)
    return call("_npi_broadcast_to", array, shape=reps) if not array.shape else array


def flip(m: Array, axis: int | Sequence[int] | None = None, out: Operable | None = None) -> Any:
    """Elements in reverse order along axes, all by default.

    Args:
        m: any shape.
        axis: one axis or several; None takes all.
        out: an array for the result.
    """
    check_operand("flip", m)
    if isinstance(m, NUMBERS):
        if axis not in (None, ()):
            raise AttributeValueError(f"flip: axis={axis!r} is out of range: a number has no axes.")
        return onp.flip(m)
    axes = tuple(range(m.ndim)) if axis is None else as_axes(axis)
    return call("_npi_flip", m, out=out, axis=axes)


def flipud(m: Array) -> Any:
    """Rows in reverse order.

    Args:
        m: at least one axis.
    """
    return flip(m, 0)


def fliplr(m: Array) -> Any:
    """Columns in reverse order.

    Args:
        m: at least two axes.
    """
    return flip(m, 1)


@as_operator("_np_roll")
def roll(
    a: Operand,
    shift: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
    out: Operable | None = None,
) -> Any:
    """Elements shifted along axes, from the end back to the beginning; the flattened array by default.

    Args:
        a: any shape.
        shift: by how many positions; one number for each axis if there are several.
        axis: one axis or several; None flattens first, and restores the shape.
        out: an array for the result.
    """
    return call("_np_roll", a, out=out, shift=as_axes(shift), axis=as_axes(axis))


def rot90(m: Operand, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Rotated by 90 degrees ``k`` times in the plane of two axes.

    Args:
        m: at least two axes.
        k: how many times; below 0 in the other direction.
        axes: two axes, from the first towards the second.
    """
    return call("_npi_rot90", m, k=k, axes=as_axes(axes))


def _atleast(ndim: int) -> Any:
    operator = f"_np_atleast_{ndim}d"

    def atleast(*arys: Operand, out: Operable | None = None) -> Any:
        return call(operator, *[as_array(each) for each in arys], out=out)

    atleast.__name__ = atleast.__qualname__ = f"atleast_{ndim}d"
    atleast.__doc__ = (
        f"Arrays with at least {ndim} axes.\n\nArgs:\n    arys: arrays; the result is one array for "
        f"one, a list for several.\n    out: an array for the result, a list for several.\n"
    )
    return as_operator(operator)(atleast)


atleast_1d = _atleast(1)
atleast_2d = _atleast(2)
atleast_3d = _atleast(3)


def pad(
    x: Array, pad_width: int | Sequence[Any] | None = None, mode: str = "constant", **kwargs: Any
) -> Any:
    """The array with elements added before and after along every axis.

    Args:
        x: any shape.
        pad_width: one number, ``(before, after)``, or such a pair for each axis.
        mode: 'constant', 'edge', 'reflect', 'symmetric', 'maximum' or 'minimum'.
        kwargs: ``constant_values`` or ``reflect_type`` of that mode.

    Raises:
        TypeError: ``pad_width`` holds no whole numbers.
        ValueError: an unknown mode or keyword.
    """
    modes = ("constant", "edge", "reflect", "symmetric", "maximum", "minimum")
    if mode not in modes:
        raise AttributeValueError(f"pad: mode={mode!r} is not one of {', '.join(modes)}.")
    widths = onp.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise AttributeTypeError("pad: pad_width must hold whole numbers.")
    check_array("pad", x)
    try:
        each_axis = onp.broadcast_to(widths, (len(x.shape), 2))
    except ValueError:
        raise AttributeValueError(
            f"pad: pad_width={pad_width!r} does not fit an array of {len(x.shape)} axes; give one number, "
            f"(before, after), or such a pair for each axis."
        ) from None
    pairs = tuple((int(a), int(b)) for a, b in each_axis)
    value = kwargs.pop("constant_values", 0)
    reflect = kwargs.pop("reflect_type", "even")
    if kwargs:
        raise AttributeValueError(f"pad: mode {mode!r} has no keyword {next(iter(kwargs))!r}.")
    attributes = {"pad_width": pairs, "mode": mode, "reflect_type": reflect}
    return call("_npi_pad", x, constant_value=float(value), **attributes)


def resize(a: Array, new_shape: int | Sequence[int]) -> Any:
    """The elements, repeated until ``new_shape`` is full.

    Args:
        a: any shape.
        new_shape: of the result; zeros if ``a`` has no elements.
    """
    check_array("resize", a)
    target = (new_shape,) if isinstance(new_shape, (int, onp.integer)) else tuple(new_shape)
    size = int(onp.prod(target, dtype=onp.int64))
    if not a.size:
        return call("_npi_zeros", shape=target, dtype=a.dtype.name, ctx=a.ctx)
    flat = ravel(a)
    if size > flat.size:
        flat = tile(flat, -(-size // flat.size))
    return reshape(flat[:size], target)


def unravel_index(
    indices: Array | onp.ndarray | Sequence[Any] | int,
    shape: int | Sequence[int],
    order: str = "C",
) -> tuple[Any, ...]:
    """The index of each axis from positions in the flattened array.

    Args:
        indices: whole numbers, of any shape.
        shape: of the array that the positions belong to.
        order: 'C'; nothing else is supported.
    """
    if order != "C":
        raise NotDefinedError("unravel_index: only order='C' is supported.")
    shape = _as_shape("unravel_index", shape)
    if not is_array(indices):
        return onp.unravel_index(indices, shape)
    indices_of_axes = call("_unravel_index", indices, shape=shape)
    return tuple(indices_of_axes[i] for i in range(len(shape)))


def diag_indices_from(arr: Array) -> tuple[Any, ...]:
    """The indices of the main diagonal, an array for each axis.

    Args:
        arr: at least two axes of the same extent.
    """
    indices = call("_npi_diag_indices_from", arr)
    return tuple(indices[i] for i in range(arr.ndim))


def may_share_memory(a: Operand, b: Operand, max_work: int | None = None) -> bool:
    """Whether two arrays have elements in common: one is a view of the other, or both of a third.

    Args:
        a: an array.
        b: an array.
        max_work: ignored.
    """
    check_array("may_share_memory", a)
    check_array("may_share_memory", b)
    (base, start, size), (other, begin, count) = _storage(a), _storage(b)
    return base is other and max(start, begin) < min(start + size, begin + count)


def shares_memory(a: Operand, b: Operand, max_work: int | None = None) -> bool:
    """Whether two arrays have elements in common.

    Args:
        a: an array.
        b: an array.
        max_work: ignored.
    """
    return may_share_memory(a, b)


def _storage(array: Any) -> tuple[Any, int, int]:
    """The array that has the storage, and where in it the elements are."""
    link, size = array._link, math.prod(array.shape)
    if link is None or link.base is None:
        return array, 0, size
    return link.base, link.offset, size
