"""Elementwise operators with broadcasting, and broadcasting alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import DTypeError, OperatorValueError, ShapeError
from mixnet.ops.array.plain import filled_like, on_axis
from mixnet.ops.math.elementwise import BINARY, FUSIONS, IN_FLOAT32, WHOLE, check_same_kind
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import Axes, Extents, Shape
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.rewrites import Rewrites
from mixnet.ops.schema.shape_constraints import same_choices

_ALIASES = {
    "add": ["broadcast_plus", "_sparse_broadcast_add", "_sparse_broadcast_plus"],
    "sub": ["broadcast_minus", "_sparse_broadcast_minus", "_sparse_broadcast_sub"],
    "mul": ["_sparse_broadcast_mul"],
    "div": ["_sparse_broadcast_div"],
    "maximum": ["_npi_maximum"],
    "minimum": ["_npi_minimum"],
}
_STORAGE = {
    **dict.fromkeys(("add", "sub"), storage_rules.CSR_PLUS_DENSE),
    **dict.fromkeys(("mul", "div"), storage_rules.CSR_TIMES_DENSE),
}


def _declare(key: str) -> Op:
    function, text, grad = BINARY[key]
    name = f"broadcast_{key}"

    def broadcasting(lhs, rhs):
        check_broadcast(name, lhs.shape, rhs.shape)
        check_same_kind(name, lhs, rhs)
        return function(lhs, rhs).astype(lhs.dtype)

    broadcasting.__doc__ = (
        f"{text} For two arrays; axes of extent one are repeated.\n\nSource: MXNet operator "
        f"``{name}``."
    )
    return op(
        name,
        booleans=False,
        aliases=_ALIASES.get(key, []),
        differentiable=grad,
        precision="full" if key in IN_FLOAT32 else "widest",
        rewrites=Rewrites(keeps_dtype=True, constant=WHOLE.get(key)),
        fusion=FUSIONS.get(key),
        storage=_STORAGE.get(key),
        bfloat16="full" if key == "mul" else None,
    )(broadcasting)


def check_broadcast(name: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Raise unless two shapes broadcast.

    Raises:
        ShapeError: they do not; the message has both.
    """
    pairs = zip(reversed(left), reversed(right), strict=False)
    if any(a != b and a != 1 and b != 1 for a, b in pairs):
        raise ShapeError(
            f"{name}: shapes {left} and {right} do not fit: counted from the last axis, extents "
            f"must be equal, or one of them 1. Reshape one of the arrays."
        )


for _key in BINARY:
    _declare(_key)


@op("broadcast_to", flops=0)
def broadcast_to(data, *, shape: Extents = ()):
    """The array repeated along its axes of extent one to ``shape``, where 0 keeps an axis as it is.

    Source: MXNet operator ``broadcast_to``.
    """
    if len(shape) != data.ndim:
        raise ShapeError(f"broadcast_to: {data.shape} does not have as many axes as {shape}.")
    target = [n or d for n, d in zip(shape, data.shape, strict=True)]
    if any(d not in (1, n) for n, d in zip(target, data.shape, strict=True)):
        raise ShapeError(
            f"broadcast_to: data {data.shape} cannot become {shape}; only axes of extent 1 are repeated."
        )
    return _repeat("broadcast_to", data, target)


@op("broadcast_axis", booleans=False, aliases=["broadcast_axes"], method=True, flops=0)
def broadcast_axis(data, *, axis: Axes = (), size: Extents = ()):
    """The array repeated ``size[i]`` times along each ``axis[i]``, which has extent one.

    Source: MXNet operator ``broadcast_axis``.
    """
    if len(axis) != len(size):
        raise ShapeError(f"broadcast_axis: axis={axis} and size={size} must have the same length.")
    shape = list(data.shape)
    for each, extent in zip(axis, size, strict=True):
        if shape[each] != 1:
            raise ShapeError(
                f"broadcast_axis: axis {each} of data {data.shape} has {shape[each]} elements; only one "
                f"of extent 1 can be repeated."
            )
        shape[each] = extent
    return _repeat("broadcast_axis", data, shape)


@op("broadcast_like", flops=0, dtypes=Dtypes(own={"rhs": None}))
def broadcast_like(lhs, rhs, *, lhs_axes: Axes | None = None, rhs_axes: Shape | None = None):
    """The left array repeated to the shape of the right one, or to some of its axes.

    Args:
        lhs_axes: axes of the left array, of extent 1, that are repeated.
        rhs_axes: as many axes of the right array, whose extents they get.

    Raises:
        ShapeError: without axes, the arrays have different numbers of axes; or a repeated axis has
            an extent other than 1.
        OperatorValueError: the lists of axes are empty or of different lengths.

    Source: MXNet operator ``broadcast_like``.
    """
    if lhs_axes is None or rhs_axes is None:
        if lhs.ndim != rhs.ndim:
            raise ShapeError(
                f"broadcast_like: {lhs.shape} and {rhs.shape} must have the same number of axes. Give "
                f"lhs_axes and rhs_axes, or reshape the left array."
            )
        return _repeat("broadcast_like", lhs, rhs.shape)
    if not lhs_axes or len(lhs_axes) != len(rhs_axes):
        raise OperatorValueError(
            f"broadcast_like: lhs_axes={tuple(lhs_axes)} and rhs_axes={tuple(rhs_axes)} must name as "
            f"many axes each, one at least."
        )
    shape = list(lhs.shape)
    for left, right in zip(lhs_axes, rhs_axes, strict=True):
        if lhs.shape[left] != 1:
            raise ShapeError(
                f"broadcast_like: axis {left} of {lhs.shape} has extent {lhs.shape[left]}; only axes of "
                f"extent 1 are repeated."
            )
        shape[left] = rhs.shape[right]
    return _repeat("broadcast_like", lhs, shape)


def _repeat(name: str, data: jax.Array, shape: Sequence[int]) -> Any:
    check_broadcast(name, data.shape, tuple(shape))
    return jnp.broadcast_to(data, shape)


@op(
    "where",
    dtypes=Dtypes(own={"condition": None}),
    precision="widest",
    shape_constraint=same_choices,
    aliases=["_sparse_where"],
    storage=storage_rules.CHOSEN,
)
def where(condition, x, y):
    """``x`` where the condition is not 0, else ``y``.

    Args:
        condition: the shape of ``x``, or ``(n,)`` to choose among rows.
        x: any shape.
        y: as ``x``.

    Source: MXNet operator ``where``.
    """
    if x.shape != y.shape:
        raise ShapeError(f"where: x is {x.shape}, y is {y.shape}; both must have the same shape.")
    check_same_kind("where", x, y)
    if x.dtype == jnp.bool_:
        raise DTypeError(
            "where: x and y are booleans; cast them with astype(), or use mx.np.where."
        )
    if condition.shape != x.shape:
        if condition.ndim != 1 or condition.shape[0] != x.shape[0]:
            raise ShapeError(
                f"where: condition is {condition.shape}; give it the shape of x, {x.shape}, or "
                f"{x.shape[:1]}."
            )
        condition = on_axis(condition, x.shape, 0)
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    return jax.lax.select(jax.lax.ne(condition, filled_like(condition, 0)), x, y)
