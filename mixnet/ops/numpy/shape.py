"""Shapes, axis order and diagonals with NumPy semantics, for ``mx.np``."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import AxisError, OperatorValueError, ShapeError
from mixnet.ops.array.rearrange import odd_axes
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Axes, Axis, AxisPair, Shape
from mixnet.ops.schema.dtypes import PLACES
from mixnet.ops.schema.ranges import AxisOf
from mixnet.ops.schema.rewrites import COPY, TRANSPOSE, Rewrites, free_of_codes


def check_axis(name: str, axis: int, ndim: int) -> int:
    """The axis, counted from 0.

    Raises:
        AxisError: the array has no such axis.
    """
    AxisOf().check(name, "axis", axis, ndim)
    return axis % ndim


def check_two_axes(name: str, data: jax.Array, first: int, second: int) -> None:
    """Whether two axes of an array, which exist, are different ones.

    Raises:
        AxisError: they are one.
    """
    if first % data.ndim == second % data.ndim:
        raise AxisError(
            f"{name}: axes {first} and {second} are the same axis of {data.shape}; give two."
        )


def filled_shape(name: str, shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """``target`` with its one -1 replaced by what is left of ``shape``."""
    size, known = math.prod(shape), math.prod(n for n in target if n != -1)
    if target.count(-1) == 1 and known and size % known == 0:
        target = tuple(size // known if n == -1 else n for n in target)
    if any(n < 0 for n in target) or math.prod(target) != size:
        raise ShapeError(f"{name}: {size} elements of shape {shape} do not fit into {target}.")
    return target


@op(
    "_np_reshape",
    rewrites=Rewrites(
        keeps_order=True,
        sets_shape=lambda *, newshape: free_of_codes(newshape),
        keeps_dtype=True,
        constant=lambda a, *, newshape: a.reshape(filled_shape("reshape", a.shape, newshape)),
    ),
)
def reshape(a, *, newshape: Shape, order: str | None = "C"):
    """The elements in the shape ``newshape``, in which one -1 stands for the extent that is left.

    Source: MXNet operator ``_np_reshape``.
    """
    if order not in ("C", None):
        raise OperatorValueError(f"reshape: order={order!r} is not supported; only 'C' is.")
    return a.reshape(filled_shape("reshape", a.shape, newshape))


def extended_shape(shape: tuple[int, ...], codes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that the codes of ``npx.reshape`` stand for.

    -1 is what is left, -2 keeps an axis, -3 drops one of extent one, -4 keeps all that remain, -5
    joins two, and -6 splits one into the two codes that follow.

    Raises:
        ShapeError: the codes do not fit the shape.
    """
    extents: list[int] = []
    axis = 0
    waiting = iter(range(len(codes)))

    def extent(axis: int) -> int:
        if axis >= len(shape):
            raise ShapeError(f"npx.reshape: newshape {codes} needs more axes than {shape} has.")
        return shape[axis]

    for i in waiting:
        code = codes[i]
        if code == -2:
            extents.append(extent(axis))
            axis += 1
        elif code == -3:
            if extent(axis) != 1:
                raise ShapeError(
                    f"npx.reshape: -3 drops an axis of extent 1, but axis {axis} has extent {shape[axis]}."
                )
            axis += 1
        elif code == -4:
            extents += shape[axis:]
            axis = len(shape)
        elif code == -5:
            extents.append(extent(axis) * extent(axis + 1))
            axis += 2
        elif code == -6:
            if i + 2 >= len(codes):
                raise ShapeError(f"npx.reshape: -6 needs two extents after it in {codes}.")
            first, second = codes[i + 1], codes[i + 2]
            extents += filled_shape("npx.reshape", (extent(axis),), (first, second))
            axis += 1
            next(waiting), next(waiting)
        else:
            extents.append(code)
            axis += 1
    return filled_shape("npx.reshape", shape, tuple(extents))


def _by_codes(a: jax.Array, *, newshape: tuple[int, ...], reverse: bool) -> Any:
    if not reverse:
        return a.reshape(extended_shape(a.shape, newshape))
    codes = list(newshape)
    for i, code in enumerate(codes):
        if code == -6:  # its two extents stand behind it in either direction
            codes[i : i + 3] = [codes[i + 2], codes[i + 1], -6]
    return a.reshape(extended_shape(a.shape[::-1], tuple(codes[::-1]))[::-1])


@op(
    "_npx_reshape",
    aliases=["_npi_reshape"],
    rewrites=Rewrites(
        keeps_order=True,
        sets_shape=lambda *, newshape: free_of_codes(newshape),
        keeps_dtype=True,
        constant=_by_codes,
    ),
)
def npx_reshape(a, *, newshape: Shape, reverse: bool = False, order: str | None = "C"):
    """The elements in another shape, by codes: see :func:`extended_shape`.

    Args:
        a: any shape.
        newshape: extents and codes from -6 to -1.
        reverse: read the codes from the last axis on.

    Source: MXNet operator ``_npx_reshape``.
    """
    return _by_codes(a, newshape=newshape, reverse=reverse)


@op("_np_transpose", rewrites=TRANSPOSE)
def transpose(a, *, axes: Shape | None = None):
    """The axes in the order ``axes``, reversed by default.

    Source: MXNet operator ``_np_transpose``.
    """
    order = tuple(reversed(range(a.ndim))) if axes in (None, ()) else axes
    if sorted(i % a.ndim for i in order if -a.ndim <= i < a.ndim) != list(range(a.ndim)):
        raise ShapeError(
            f"transpose: axes={order} is not a permutation of the {a.ndim} axes of {a.shape}."
        )
    return jnp.transpose(a, order)


@op("_np_squeeze", rewrites=Rewrites(keeps_order=True, keeps_dtype=True))
def squeeze(a, *, axis: Shape | None = None):
    """The array without its axes of extent one: all of them, or those in ``axis``.

    Source: MXNet operator ``_np_squeeze``.
    """
    if not a.ndim and all(each in (0, -1) for each in axis or ()):  # NumPy takes these as well
        return a
    AxisOf().check("squeeze", "axis", axis, a.ndim)
    for each in axis or ():
        if a.shape[each] != 1:
            raise ShapeError(f"squeeze: axis {each} of {a.shape} does not have extent 1.")
    return jnp.squeeze(a, axis and tuple({each % a.ndim for each in axis}))


@op("_np_moveaxis")
def moveaxis(a, *, source: Shape, destination: Shape):
    """The array with its axes moved from the positions ``source`` to ``destination``.

    Source: MXNet operator ``_np_moveaxis``.
    """
    if len(source) != len(destination) or len(set(source)) < len(source):
        raise ShapeError(
            f"moveaxis: source={source} and destination={destination} must be the same number of "
            f"distinct axes."
        )
    for each in (*source, *destination):
        check_axis("moveaxis", each, a.ndim)
    return jnp.moveaxis(a, source, destination)


@op("_npi_broadcast_to")
def broadcast_to(array, *, shape: Shape = ()):
    """The array repeated to ``shape``, along its axes of extent one and along new axes in front.

    Source: MXNet operator ``_npi_broadcast_to``.
    """
    target = tuple(
        array.shape[i - len(shape)] if n in (-1, -2) and len(shape) - i <= array.ndim else n
        for i, n in enumerate(shape)
    )
    if any(isinstance(each, int) and each < 0 for each in target):
        raise ShapeError(
            f"broadcast_to: shape={shape} is out of range: a new axis needs an extent of 0 or more."
        )
    if len(target) < array.ndim or any(
        d not in (1, n) for d, n in zip(reversed(array.shape), reversed(target), strict=False)
    ):
        raise ShapeError(f"broadcast_to: {array.shape} cannot be repeated to {shape}.")
    return jnp.broadcast_to(array, target)


@op("_npi_flip")
def flip(data, *, axis: Axes | None):
    """The array with its elements in reverse order along ``axis``.

    Source: MXNet operator ``_npi_flip``.
    """
    return jnp.flip(data, odd_axes(range(data.ndim) if axis is None else axis, data.ndim))


@op("_npi_rot90")
def rot90(data, *, k: int = 1, axes: AxisPair = (0, 1)):
    """The array rotated by 90 degrees ``k`` times in the plane of two axes.

    Source: MXNet operator ``_npi_rot90``.
    """
    check_two_axes("rot90", data, *axes)
    return jnp.rot90(data, k, (axes[0], axes[1]))


@op("_np_roll")
def roll(data, *, shift: Shape | None = None, axis: Axes | None = None):
    """The elements shifted cyclically by ``shift`` along ``axis``, in the flattened array if that is None.

    Source: MXNet operator ``_np_roll``.
    """
    if shift is None:
        raise OperatorValueError("roll: shift was not given; give a whole number, or one per axis.")
    if axis is None:
        return jnp.roll(data, sum(shift))
    return jnp.roll(data, shift if len(shift) > 1 or len(axis) > 1 else shift[0], axis)


@op("_npi_tril")
def tril(data, *, k: int = 0):
    """The matrices with zeros above diagonal ``k``.

    Source: MXNet operator ``_npi_tril``.
    """
    if data.ndim == 1:
        data = jnp.broadcast_to(data, (data.shape[0], data.shape[0]))
    return jnp.tril(data, k)


@op("_np_trace", booleans=False)
def trace(data, *, offset: int = 0, axis1: Axis = 0, axis2: Axis = 1):
    """Sum of diagonal ``offset`` of the matrices on axes ``axis1`` and ``axis2``.

    Source: MXNet operator ``_np_trace``.
    """
    check_two_axes("trace", data, axis1, axis2)
    return jnp.trace(data, offset, axis1, axis2, dtype=data.dtype)


@op("_np_diagonal")
def diagonal(data, *, offset: int = 0, axis1: Axis = 0, axis2: Axis = 1):
    """Diagonal ``offset`` of the matrices on axes ``axis1`` and ``axis2``, as a new last axis.

    Source: MXNet operator ``_np_diagonal``.
    """
    check_two_axes("diagonal", data, axis1, axis2)
    return jnp.diagonal(data, offset, axis1, axis2)


@op("_np_diag")
def diag(data, *, k: int = 0):
    """Diagonal ``k`` of a matrix; of a 1-D array, the matrix with it on diagonal ``k``.

    Source: MXNet operator ``_np_diag``.
    """
    if data.ndim not in (1, 2):
        raise ShapeError(f"diag takes 1-D or 2-D arrays, not one of shape {data.shape}.")
    return jnp.diag(data, k)


@op("_np_diagflat")
def diagflat(data, *, k: int = 0):
    """The matrix with the flattened array on diagonal ``k``.

    Source: MXNet operator ``_np_diagflat``.
    """
    return jnp.diagflat(data, k)


@op("_npi_diag_indices_from", differentiable=False, dtypes=PLACES)
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


@op("_np_copy", rewrites=COPY)
def copy(a):
    """A copy of the array.

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
    """The array with elements added before and after along every axis.

    Args:
        data: any shape.
        pad_width: ``((before, after), ...)`` for every axis.
        mode: as in ``numpy.pad``.

    Source: MXNet operator ``_npi_pad``.
    """
    if len(pad_width) != data.ndim:
        raise ShapeError(
            f"pad: pad_width {pad_width} needs one pair for each axis of {data.shape}."
        )
    if any(width < 0 for pair in pad_width for width in pair):
        raise OperatorValueError(
            f"pad: pad_width={pad_width} is out of range; give numbers of 0 or more."
        )
    if mode == "constant":
        return jnp.pad(data, pad_width, mode, constant_values=constant_value)
    if mode in ("reflect", "symmetric"):
        return jnp.pad(data, pad_width, mode, reflect_type=reflect_type)
    return jnp.pad(data, pad_width, mode)
