"""Shapes, joins, cuts and order of axes by NumPy's rules, for ``mx.np``."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax.numpy as jnp

from mixnet.base import AttributeValueError, ShapeError
from mixnet.ops.attributes import Scalar, Shape
from mixnet.ops.broadcast import check_broadcast
from mixnet.ops.numpy_arithmetic import promoted
from mixnet.ops.registry import op
from mixnet.ops.shape import split_v2


def _check_axis(name: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{name}: axis {axis} does not exist in an array of {ndim} axes.")
    return axis % ndim


def filled_shape(name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """``wanted`` with its one -1 replaced by what is left of ``shape``."""
    size, known = math.prod(shape), math.prod(n for n in wanted if n != -1)
    if wanted.count(-1) == 1 and known and size % known == 0:
        wanted = tuple(size // known if n == -1 else n for n in wanted)
    if any(n < 0 for n in wanted) or math.prod(wanted) != size:
        raise ShapeError(f"{name}: {size} elements of shape {shape} do not fit into {wanted}.")
    return wanted


@op("_np_reshape")
def reshape(a, *, newshape: Shape, order: str = "C"):
    """The elements in another shape; one -1 stands for what is left.

    Source: MXNet operator ``_np_reshape``.
    """
    if order != "C":
        raise AttributeValueError(f"reshape: order={order!r} is not kept here; only 'C' is.")
    return a.reshape(filled_shape("reshape", a.shape, newshape))


def extended_shape(shape: tuple[int, ...], codes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that the codes of ``npx.reshape`` stand for.

    -1 is what is left, -2 keeps an axis, -3 drops one of extent one, -4 keeps all that remain, -5
    joins two, and -6 splits one into the two codes that follow.

    Raises:
        ShapeError: the codes do not fit the shape.
    """
    made: list[int] = []
    axis = 0
    waiting = iter(range(len(codes)))

    def extent(axis: int) -> int:
        if axis >= len(shape):
            raise ShapeError(f"npx.reshape: newshape {codes} needs more axes than {shape} has.")
        return shape[axis]

    for i in waiting:
        code = codes[i]
        if code == -2:
            made.append(extent(axis))
            axis += 1
        elif code == -3:
            if extent(axis) != 1:
                raise ShapeError(
                    f"npx.reshape: -3 drops an axis of extent 1, axis {axis} has {shape[axis]}."
                )
            axis += 1
        elif code == -4:
            made += shape[axis:]
            axis = len(shape)
        elif code == -5:
            made.append(extent(axis) * extent(axis + 1))
            axis += 2
        elif code == -6:
            if i + 2 >= len(codes):
                raise ShapeError(f"npx.reshape: -6 needs two extents behind it in {codes}.")
            first, second = codes[i + 1], codes[i + 2]
            made += filled_shape("npx.reshape", (extent(axis),), (first, second))
            axis += 1
            next(waiting), next(waiting)
        else:
            made.append(code)
            axis += 1
    return filled_shape("npx.reshape", shape, tuple(made))


@op("_npx_reshape", aliases=["_npi_reshape"])
def npx_reshape(a, *, newshape: Shape, reverse: bool = False, order: str = "C"):
    """The elements in another shape, by codes: see :func:`extended_shape`.

    Args:
        a: any shape.
        newshape: extents and codes from -6 to -1.
        reverse: read the codes from the last axis on.

    Source: MXNet operator ``_npx_reshape``.
    """
    if not reverse:
        return a.reshape(extended_shape(a.shape, newshape))
    codes = list(newshape)
    for i, code in enumerate(codes):
        if code == -6:  # its two extents stand behind it in either direction
            codes[i : i + 3] = [codes[i + 2], codes[i + 1], -6]
    return a.reshape(extended_shape(a.shape[::-1], tuple(codes[::-1]))[::-1])


@op("_np_transpose")
def transpose(a, *, axes: Shape | None = None):
    """Axes in another order, reversed by default.

    Source: MXNet operator ``_np_transpose``.
    """
    order = tuple(reversed(range(a.ndim))) if axes in (None, ()) else axes
    if sorted(i % a.ndim for i in order if -a.ndim <= i < a.ndim) != list(range(a.ndim)):
        raise ShapeError(f"transpose: axes={order} is no order of the {a.ndim} axes of {a.shape}.")
    return jnp.transpose(a, order)


@op("_np_squeeze")
def squeeze(a, *, axis: Shape | None = None):
    """Without axes of extent one: all of them, or ``axis``.

    Source: MXNet operator ``_np_squeeze``.
    """
    for each in axis or ():
        if a.shape[_check_axis("squeeze", each, a.ndim)] != 1:
            raise ShapeError(f"squeeze: axis {each} of {a.shape} has not extent 1.")
    return jnp.squeeze(a, axis)


@op("_np_moveaxis")
def moveaxis(a, *, source: Shape, destination: Shape):
    """Axes moved from ``source`` to ``destination``.

    Source: MXNet operator ``_np_moveaxis``.
    """
    for each in (*source, *destination):
        _check_axis("moveaxis", each, a.ndim)
    return jnp.moveaxis(a, source, destination)


@op("_npi_broadcast_to")
def broadcast_to(array, *, shape: Shape = ()):
    """Repeated along axes of extent one, and along new first axes, to ``shape``.

    Source: MXNet operator ``_npi_broadcast_to``.
    """
    kept = tuple(
        array.shape[i - len(shape)] if n in (-1, -2) and len(shape) - i <= array.ndim else n
        for i, n in enumerate(shape)
    )
    if len(kept) < array.ndim or any(
        d not in (1, n) for d, n in zip(reversed(array.shape), reversed(kept), strict=False)
    ):
        raise ShapeError(f"broadcast_to: {array.shape} does not repeat to {shape}.")
    return jnp.broadcast_to(array, kept)


def _joined(name: str, data: tuple[Any, ...]) -> list[Any]:
    """The arrays in one dtype, as MXNet joins none of different dtypes."""
    dtype = data[0].dtype
    for each in data[1:]:
        dtype = promoted(name, dtype, each.dtype, True)
    return [each.astype(dtype) for each in data]


@op("_npi_concatenate", num_args="num_args", output_names=("out",))
def concatenate(*data, axis: int | None = 0, dim: int | None = None):
    """Arrays joined along an axis; flattened first where it is None.

    Source: MXNet operator ``_npi_concatenate``.
    """
    axis = axis if dim is None else dim
    parts = _joined("concatenate", data)
    if axis is None:
        return jnp.concatenate([each.reshape(-1) for each in parts])
    where = _check_axis("concatenate", axis, parts[0].ndim)
    rest = {each.shape[:where] + each.shape[where + 1 :] for each in parts}
    if len(rest) > 1:
        raise ShapeError(
            f"concatenate: shapes {[each.shape for each in data]} differ in other axes than {axis}."
        )
    return jnp.concatenate(parts, where)


@op("_npi_stack", num_args="num_args")
def stack(*data, axis: int = 0):
    """Arrays of one shape joined along a new axis.

    Source: MXNet operator ``_npi_stack``.
    """
    if len({each.shape for each in data}) > 1:
        raise ShapeError(f"stack: shapes {[each.shape for each in data]} differ.")
    _check_axis("stack", axis, data[0].ndim + 1)
    return jnp.stack(_joined("stack", data), axis)


def _declare_join(name: str, function: Any, text: str) -> None:
    def joined(*data):
        try:
            return function(_joined(name, data))
        except (ValueError, TypeError) as error:
            shapes = [each.shape for each in data]
            raise ShapeError(f"{name}: arrays of shapes {shapes} do not join: {error}") from None

    def with_dim(*data, dim: int = 1):  # MXNet's attribute, which says nothing here
        return joined(*data)

    join = with_dim if name in ("dstack", "hstack") else joined
    join.__doc__ = f"{text}\n\nSource: MXNet operator ``_npi_{name}``."
    out = ("out",) if name in ("dstack", "hstack") else ("output",)
    op(f"_npi_{name}", num_args="num_args", output_names=out)(join)


_declare_join("vstack", jnp.vstack, "Arrays joined as rows.")
_declare_join("hstack", jnp.hstack, "Arrays joined along the second axis, the first for 1-D.")
_declare_join("dstack", jnp.dstack, "Arrays joined along the third axis.")
_declare_join("column_stack", jnp.column_stack, "1-D arrays as columns, matrices joined.")


def _declare_cut(name: str, axis_of: Any, text: str) -> None:
    def pieces(indices: tuple[int, ...], sections: int) -> int:
        return sections or len(indices)

    def cut(data, *, indices: Shape, axis: int = 1, squeeze_axis: bool = False, sections: int = 0):
        if data.ndim <= axis_of(data.ndim):
            raise ShapeError(
                f"{name}: an array of {data.ndim} axes has no axis {axis_of(data.ndim)}."
            )
        return split_v2.function(data, indices=indices, axis=axis_of(data.ndim), sections=sections)

    cut.__doc__ = f"{text}\n\nSource: MXNet operator ``_npi_{name}``."
    op(f"_npi_{name}", outputs=pieces)(cut)


_declare_cut(
    "hsplit", lambda ndim: 0 if ndim == 1 else 1, "Cut along the second axis, or of 1-D the first."
)
_declare_cut("dsplit", lambda ndim: 2, "Cut along the third axis.")


@op("_npi_flip")
def flip(data, *, axis: Shape):
    """The other way round along axes.

    Source: MXNet operator ``_npi_flip``.
    """
    for each in axis:
        _check_axis("flip", each, data.ndim)
    return jnp.flip(data, axis)


@op("_npi_rot90")
def rot90(data, *, k: int = 1, axes: Shape = (0, 1)):
    """Turned by 90 degrees ``k`` times in the plane of two axes.

    Source: MXNet operator ``_npi_rot90``.
    """
    return jnp.rot90(data, k, (axes[0], axes[1]))


@op("_np_roll")
def roll(data, *, shift: Shape | None = None, axis: Shape | None = None):
    """Shifted along axes, round the end; the flattened array without axes.

    Source: MXNet operator ``_np_roll``.
    """
    if shift is None:
        raise AttributeValueError(
            "roll: shift was not given; give a whole number, or one per axis."
        )
    if axis is None:
        return jnp.roll(data, sum(shift))
    return jnp.roll(data, shift if len(shift) > 1 or len(axis) > 1 else shift[0], axis)


@op("_npi_tril")
def tril(data, *, k: int = 0):
    """Zeros above diagonal ``k``.

    Source: MXNet operator ``_npi_tril``.
    """
    if data.ndim == 1:
        data = jnp.broadcast_to(data, (data.shape[0], data.shape[0]))
    return jnp.tril(data, k)


@op("_np_trace")
def trace(data, *, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """Sum of a diagonal.

    Source: MXNet operator ``_np_trace``.
    """
    return jnp.trace(data, offset, axis1, axis2, dtype=data.dtype)


@op("_np_diagonal")
def diagonal(data, *, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """A diagonal of two axes, along a new last axis.

    Source: MXNet operator ``_np_diagonal``.
    """
    return jnp.diagonal(data, offset, axis1, axis2)


@op("_np_diag")
def diag(data, *, k: int = 0):
    """A diagonal of a matrix, or the matrix with a 1-D array as diagonal.

    Source: MXNet operator ``_np_diag``.
    """
    if data.ndim not in (1, 2):
        raise ShapeError(f"diag takes 1-D or 2-D arrays, not one of shape {data.shape}.")
    return jnp.diag(data, k)


@op("_np_diagflat")
def diagflat(data, *, k: int = 0):
    """The matrix with the flattened array as diagonal ``k``.

    Source: MXNet operator ``_np_diagflat``.
    """
    return jnp.diagflat(data, k)


@op("_npi_diag_indices_from", differentiable=False)
def diag_indices_from(data):
    """The indices of the main diagonal: an int64 array of shape ``(ndim, extent)``.

    Source: MXNet operator ``_npi_diag_indices_from``.
    """
    if data.ndim < 2 or len(set(data.shape)) > 1:
        raise ShapeError(f"diag_indices_from takes arrays of equal extents, not {data.shape}.")
    return jnp.broadcast_to(jnp.arange(data.shape[0]), (data.ndim, data.shape[0]))


def _declare_atleast(ndim: int) -> None:
    function = {1: jnp.atleast_1d, 2: jnp.atleast_2d, 3: jnp.atleast_3d}[ndim]
    name = f"_np_atleast_{ndim}d"

    def atleast(*arys):
        return tuple(function(each) for each in arys)

    atleast.__doc__ = f"Arrays with at least {ndim} axes.\n\nSource: MXNet operator ``{name}``."
    op(name, num_args="num_args", outputs=lambda num_args: num_args)(atleast)


for _ndim in (1, 2, 3):
    _declare_atleast(_ndim)


@op("_np_copy")
def copy(a):
    """The same content in a new array.

    Source: MXNet operator ``_np_copy``.
    """
    return a


@op("_npi_pad")
def pad(
    data,
    *,
    pad_width: tuple,
    mode: Literal["constant", "edge", "reflect", "symmetric", "maximum", "minimum"] = "constant",
    constant_value: float = 0.0,
    reflect_type: str = "even",
):
    """With elements before and behind along every axis.

    Args:
        data: any shape.
        pad_width: ``((before, behind), ...)`` for every axis.
        mode: as ``numpy.pad`` has it.

    Source: MXNet operator ``_npi_pad``.
    """
    if len(pad_width) != data.ndim:
        raise ShapeError(
            f"pad: pad_width {pad_width} needs one pair for each axis of {data.shape}."
        )
    if mode == "constant":
        return jnp.pad(data, pad_width, mode, constant_values=constant_value)
    if mode in ("reflect", "symmetric"):
        return jnp.pad(data, pad_width, mode, reflect_type=reflect_type)
    return jnp.pad(data, pad_width, mode)


@op("_npi_where")
def where(condition, x, y):
    """Elements of ``x`` where ``condition`` is true, else of ``y``; all broadcast together.

    Source: MXNet operator ``_npi_where``.
    """
    shape = x.shape
    for each in (y.shape, condition.shape):
        check_broadcast("where", shape, each)
        shape = jnp.broadcast_shapes(shape, each)
    dtype = promoted("where", x.dtype, y.dtype, True)
    return jnp.where(condition != 0, x.astype(dtype), y.astype(dtype))


@op("_npi_where_lscalar")
def where_lscalar(condition, x, *, scalar: Scalar = 0.0):
    """Elements of ``x`` where ``condition`` is true, else a number.

    Source: MXNet operator ``_npi_where_lscalar``.
    """
    check_broadcast("where", condition.shape, x.shape)
    return jnp.where(condition != 0, x, jnp.asarray(scalar).astype(x.dtype))


@op("_npi_where_rscalar")
def where_rscalar(condition, y, *, scalar: Scalar = 0.0):
    """A number where ``condition`` is true, else elements of ``y``.

    Source: MXNet operator ``_npi_where_rscalar``.
    """
    check_broadcast("where", condition.shape, y.shape)
    return jnp.where(condition != 0, jnp.asarray(scalar).astype(y.dtype), y)


@op("_npi_where_scalar2", differentiable=False)
def where_scalar2(condition, *, x: Scalar = 0.0, y: Scalar = 0.0):
    """One number where ``condition`` is true, another elsewhere; float32.

    Source: MXNet operator ``_npi_where_scalar2``.
    """
    return jnp.where(condition != 0, x, y).astype(jnp.float32)


def _with_positions(
    name: str, extent: int, start: Any, stop: Any, step: Any, int_ind: Any
) -> list[int]:
    """The positions along an axis that a slice or a number selects."""
    if int_ind is not None:
        if not -extent <= int_ind <= extent:
            raise ShapeError(f"{name}: index {int_ind} is out of bounds for extent {extent}.")
        return [int_ind]
    return list(range(*slice(start, stop, step).indices(extent)))


@op("_npi_delete", arguments=lambda int_ind, step, start, stop: ("arr",) if (
    int_ind, step, start, stop) != (None,) * 4 else ("arr", "obj"))  # fmt: skip
def delete(
    arr,
    obj=None,
    *,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    int_ind: int | None = None,
    axis: int | None = None,
):
    """Without the elements at an index, a slice, or the positions ``obj``, along ``axis``.

    Args:
        arr: any shape; flattened where ``axis`` is None.
        obj: positions that all differ.

    Source: MXNet operator ``_npi_delete``.
    """
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    axis = _check_axis("delete", axis, arr.ndim)
    extent = arr.shape[axis]
    if obj is not None:
        where = obj.reshape(-1).astype(jnp.int64)
        where = jnp.where(where < 0, where + extent, where)
        keep = jnp.ones((extent,), bool).at[where].set(False)
        kept = jnp.argsort(~keep, stable=True)[: extent - where.shape[0]]
        return jnp.take(arr, kept, axis)
    gone = _with_positions("delete", extent, start, stop, step, int_ind)
    gone_set = {each % extent for each in gone}
    return jnp.take(arr, jnp.asarray([i for i in range(extent) if i not in gone_set], int), axis)


def _inserted(arr: Any, values: Any, positions: Any, count: int, axis: int) -> Any:
    """``arr`` with ``values`` before each position: NumPy's insert for positions known or traced."""
    extent = arr.shape[axis]
    positions = jnp.where(positions < 0, positions + extent, positions)
    order = jnp.argsort(positions, stable=True)
    places = jnp.zeros((count,), jnp.int64).at[order].set(positions[order] + jnp.arange(count))
    old = jnp.ones((extent + count,), bool).at[places].set(False)
    rest = jnp.argsort(~old, stable=True)[:extent]
    moved = jnp.moveaxis(arr, axis, 0)
    shape = (count, *moved.shape[1:])
    made = jnp.zeros((extent + count, *moved.shape[1:]), arr.dtype)
    made = made.at[rest].set(moved)
    made = made.at[places].set(jnp.broadcast_to(values, shape).astype(arr.dtype))
    return jnp.moveaxis(made, 0, axis)


def _insert_arguments(val: float | None) -> tuple[str, ...]:
    return ("arr",) if val is not None else ("arr", "values")


def _insert_tensor_arguments(val: float | None) -> tuple[str, ...]:
    return ("arr", "obj") if val is not None else ("arr", "values", "obj")


def _insert(
    arr: Any,
    values: Any,
    val: Any,
    positions: Any,
    count: int,
    axis: int | None,
    single: bool,
    scalar: bool = False,
) -> Any:
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    axis = _check_axis("insert", axis, arr.ndim)
    if values is None:
        values = jnp.asarray(val)
    elif values.ndim:
        missing = arr.ndim - values.ndim
        values = values.reshape((1,) * missing + values.shape)
        if not scalar:  # before a single number NumPy puts the first axis of the values along axis
            values = jnp.moveaxis(values, axis, 0)
        # A single position takes the values as one block along the axis.
        if single and count == 1 and values.shape[0] > 1:
            count = values.shape[0]
            positions = jnp.broadcast_to(positions, (count,))
    return _inserted(arr, values, positions, count, axis)


@op("_npi_insert_scalar", arguments=_insert_arguments)
def insert_scalar(
    arr,
    values=None,
    *,
    val: float | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    int_ind: int | None = None,
    axis: int | None = None,
):
    """With values before the position ``int_ind`` along ``axis``.

    Source: MXNet operator ``_npi_insert_scalar``.
    """
    extent = arr.size if axis is None else arr.shape[axis]
    where = _with_positions("insert", extent, start, stop, step, int_ind)
    return _insert(arr, values, val, jnp.asarray(where, jnp.int64), len(where), axis, True, True)


@op("_npi_insert_slice", arguments=_insert_arguments)
def insert_slice(
    arr,
    values=None,
    *,
    val: float | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    int_ind: int | None = None,
    axis: int | None = None,
):
    """With values before the positions that a slice selects along ``axis``.

    Source: MXNet operator ``_npi_insert_slice``.
    """
    extent = arr.size if axis is None else arr.shape[axis]
    where = _with_positions("insert", extent, start, stop, step, int_ind)
    return _insert(
        arr, values, val, jnp.asarray(where, jnp.int64), len(where), axis, len(where) == 1
    )


@op("_npi_insert_tensor", arguments=_insert_tensor_arguments)
def insert_tensor(
    arr,
    values=None,
    obj=None,
    *,
    val: float | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    int_ind: int | None = None,
    axis: int | None = None,
):
    """With values before the positions ``obj`` along ``axis``.

    Source: MXNet operator ``_npi_insert_tensor``.
    """
    where = obj.reshape(-1).astype(jnp.int64)
    return _insert(arr, values, val, where, where.shape[0], axis, obj.size == 1)


@op("_npi_share_memory", differentiable=False)
def share_memory(a, b):
    """Whether two arrays share storage; the operator sees values, which never do.

    Source: MXNet operator ``_npi_share_memory``.
    """
    return jnp.zeros((1,), bool)


@op("_npx_constraint_check", differentiable=False)
def constraint_check(input, *, msg: str = "Constraint violated."):
    """Whether every element of a boolean array is true, as one boolean.

    ``npx.constraint_check`` raises where it is not; inside a compiled graph the answer is a value.

    Source: MXNet operator ``_npx_constraint_check``.
    """
    return jnp.all(input)


@op("_npi_boolean_mask_assign_scalar")
def boolean_mask_assign_scalar(data, mask, *, value: Scalar = 0.0, start_axis: int = 0):
    """``data`` with a number where the boolean ``mask`` over axes from ``start_axis`` is true.

    Source: MXNet operator ``_npi_boolean_mask_assign_scalar``.
    """
    return jnp.where(_over(mask, data, start_axis), jnp.asarray(value).astype(data.dtype), data)


@op("_npi_boolean_mask_assign_tensor")
def boolean_mask_assign_tensor(data, mask, value, *, start_axis: int = 0):
    """``data`` with successive elements of ``value`` where ``mask`` is true.

    Args:
        data: any shape.
        mask: booleans over axes of ``data`` from ``start_axis`` on.
        value: one element for all, or as many along ``start_axis`` as the mask has true ones.

    Source: MXNet operator ``_npi_boolean_mask_assign_tensor``.
    """
    over = _over(mask, data, start_axis)
    behind = data.ndim - start_axis - mask.ndim
    if value.ndim < 1 or value.ndim <= behind or value.shape[-behind - 1 :][0] == 1:
        return jnp.where(over, _spread(value, data, start_axis, mask.ndim), data)
    # The n-th true place takes the n-th row; the others take any row and are not used.
    rank = jnp.maximum(jnp.cumsum(mask.reshape(-1)) - 1, 0)
    taken = jnp.take(value, rank, axis=value.ndim - behind - 1, mode="clip")
    shape = taken.shape[: value.ndim - behind - 1] + mask.shape + value.shape[value.ndim - behind :]
    taken = taken.reshape(shape).astype(data.dtype)
    return jnp.where(over, jnp.broadcast_to(taken, data.shape), data)


def _spread(value: Any, data: Any, start_axis: int, mask_axes: int) -> Any:
    value = value.astype(data.dtype)
    if value.ndim > data.ndim - mask_axes:
        # An axis of extent one stands for the mask's axes.
        at = value.ndim - (data.ndim - start_axis - mask_axes) - 1
        value = value.reshape(value.shape[:at] + (1,) * mask_axes + value.shape[at + 1 :])
    return jnp.broadcast_to(value, data.shape)


def _over(mask: Any, data: Any, start_axis: int) -> Any:
    axes = data.shape[start_axis : start_axis + mask.ndim]
    if mask.shape != axes:
        raise ShapeError(
            f"boolean mask of shape {mask.shape} does not fit axes {axes} of an array of shape "
            f"{data.shape}."
        )
    behind = data.ndim - start_axis - mask.ndim
    return (mask != 0).reshape((1,) * start_axis + mask.shape + (1,) * behind)
