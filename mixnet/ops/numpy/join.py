"""Joining and splitting with NumPy semantics, for ``mx.np``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.array.join import split_v2
from mixnet.ops.numpy.arithmetic import promoted
from mixnet.ops.numpy.shape import check_axis
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Count, NewAxis, Shape
from mixnet.ops.schema.shape_constraints import joined_along


def _joined(name: str, data: tuple[Any, ...]) -> list[Any]:
    """The arrays in one dtype, as MXNet joins none of different dtypes."""
    dtype = data[0].dtype
    for each in data[1:]:
        dtype = promoted(name, dtype, each.dtype)
    return [each.astype(dtype) for each in data]


@op(
    "_npi_concatenate",
    one_dtype=True,
    num_args="num_args",
    output_names=("out",),
    shape_constraint=joined_along,
)
def concatenate(*data, axis: int | None = 0, dim: int | None = None):
    """The arrays joined along ``axis``; flattened first if that is None.

    Source: MXNet operator ``_npi_concatenate``.
    """
    axis = axis if dim is None else dim
    parts = _joined("concatenate", data)
    if axis is None:
        return jnp.concatenate([each.reshape(-1) for each in parts])
    where = check_axis("concatenate", axis, parts[0].ndim)
    rest = {each.shape[:where] + each.shape[where + 1 :] for each in parts}
    if len(rest) > 1:
        raise ShapeError(
            f"concatenate: shapes {[each.shape for each in data]} differ in axes other than {axis}."
        )
    return jnp.concatenate(parts, where)


@op("_npi_stack", one_dtype=True, num_args="num_args")
def stack(*data, axis: NewAxis = 0):
    """The arrays, all of one shape, joined along a new axis at position ``axis``.

    Source: MXNet operator ``_npi_stack``.
    """
    if len({each.shape for each in data}) > 1:
        raise ShapeError(f"stack: shapes {[each.shape for each in data]} differ.")
    check_axis("stack", axis, data[0].ndim + 1)
    return jnp.stack(_joined("stack", data), axis)


def _declare_join(name: str, function: Callable[..., Any], text: str) -> None:
    def joined(*data):
        try:
            return function(_joined(name, data))
        except (ValueError, TypeError):
            shapes = [each.shape for each in data]
            raise ShapeError(
                f"{name}: arrays of shapes {shapes} do not join; all extents but those along the axis "
                f"of joining must be equal."
            ) from None

    def with_dim(*data, dim: int = 1):  # MXNet's attribute, which says nothing here
        return joined(*data)

    join = with_dim if name in ("dstack", "hstack") else joined
    join.__doc__ = f"{text}\n\nSource: MXNet operator ``_npi_{name}``."
    out = ("out",) if name in ("dstack", "hstack") else ("output",)
    op(f"_npi_{name}", num_args="num_args", one_dtype=True, output_names=out)(join)


_declare_join("vstack", jnp.vstack, "Arrays joined as rows.")
_declare_join("hstack", jnp.hstack, "Arrays joined along the second axis, the first for 1-D.")
_declare_join("dstack", jnp.dstack, "Arrays joined along the third axis.")
_declare_join(
    "column_stack", jnp.column_stack, "1-D arrays as columns, and matrices, joined side by side."
)


def _declare_cut(name: str, axis_of: Any, text: str) -> None:
    def pieces(indices: tuple[int, ...] | None, sections: int) -> int:
        return sections or len(indices or ())

    def cut(
        data,
        *,
        indices: Shape | None,
        axis: int = 1,
        squeeze_axis: bool = False,
        sections: Count = 0,
    ):
        if data.ndim <= axis_of(data.ndim):
            raise ShapeError(
                f"{name}: an array of {data.ndim} axes has no axis {axis_of(data.ndim)}."
            )
        axis = axis_of(data.ndim)
        return split_v2.function(data, indices=indices or (), axis=axis, sections=sections)

    cut.__doc__ = f"{text}\n\nSource: MXNet operator ``_npi_{name}``."
    op(f"_npi_{name}", outputs=pieces)(cut)


_declare_cut(
    "hsplit", lambda ndim: 0 if ndim == 1 else 1, "Cut along the second axis, or of 1-D the first."
)
_declare_cut("dsplit", lambda ndim: 2, "Cut along the third axis.")
