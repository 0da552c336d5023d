"""Operators whose output size depends on values; the values are read first."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import DTypeError, OperatorValueError, ShapeError, TraceError
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import Axis, Count
from mixnet.ops.schema.dtypes import PLACES, Dtypes


def needs_values(name: str) -> TraceError:
    """The error for an operator in a program, such as a loop's, that would have to give its result's shape.

    Args:
        name: of the operator.
    """
    return TraceError(
        f"{name}: the shape of the result depends on values, which a graph does not have. Call it on "
        f"arrays, or in a symbol or a hybridized block outside of its loops and branches."
    )


def _known(name: str, size: int | None) -> int:
    if size is None:
        raise needs_values(name)
    return size


@op("_contrib_boolean_mask", aliases=["_npi_boolean_mask"])
def boolean_mask(data, index, *, axis: Axis = 0, size: int | None = None):
    """The slices of ``data`` along ``axis`` where ``index`` is not 0.

    Args:
        data: any shape.
        index: 1-D, with the extent of that axis.
        size: number of these slices; counted in ``index`` by default.

    Source: MXNet operator ``_contrib_boolean_mask``.
    """
    if index.ndim != 1 or index.shape[0] != data.shape[axis]:
        raise ShapeError(
            f"boolean_mask: index of shape {index.shape} needs one element for each of the "
            f"{data.shape[axis]} slices of data {data.shape} along axis {axis}."
        )
    (where,) = jnp.nonzero(index, size=_known("boolean_mask", size))
    return jnp.take(data, where, axis)


@boolean_mask.set_size
def _(index):
    return np.count_nonzero(index)


@op("_npx_nonzero", aliases=["_npi_nonzero"], dtypes=PLACES, differentiable=False)
def nonzero(x, *, size: int | None = None):
    """Indices of the nonzero elements, int64: a row for each element, a column for each axis.

    Source: MXNet operator ``_npx_nonzero``.
    """
    count = _known("nonzero", size)
    x = jnp.atleast_1d(x)
    return jnp.stack(jnp.nonzero(x, size=count), axis=1).astype(jnp.int64)


@nonzero.set_size
def _(x):
    return np.count_nonzero(x)


def _unique_outputs(return_index: bool, return_inverse: bool, return_counts: bool) -> int:
    return 1 + return_index + return_inverse + return_counts


@op("_npi_unique", outputs=_unique_outputs, differentiable=False)
def unique(
    data,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Axis | None = None,
    size: int | None = None,
):
    """The unique elements, or slices along ``axis``, in ascending order.

    Returns:
        The unique values; if requested, also int64 arrays: where each occurs first, which of them each
        element is, and how often each occurs.

    Source: MXNet operator ``_npi_unique``.
    """
    count = _known("unique", size)
    results = jnp.unique(data, True, True, True, axis, size=count)
    values, first, inverse, counts = results
    extras = [(return_index, first), (return_inverse, inverse), (return_counts, counts)]
    outputs = [each.reshape(-1).astype(jnp.int64) for requested, each in extras if requested]
    return (values, *outputs)


@unique.set_size
def _(data, axis):
    return np.unique(data, axis=axis).shape[axis or 0]


@op(
    "_npi_bincount",
    arguments=lambda has_weights: ("data", "weights") if has_weights else ("data",),
    differentiable=False,
)
def bincount(
    data, weights=None, *, minlength: Count = 0, has_weights: bool = False, size: int | None = None
):
    """Count how often each number occurs in ``data``, or add up its weights.

    Returns:
        ``(max(largest number + 1, minlength),)``, in the dtype of the weights, or of ``data`` without
        weights.

    Raises:
        DTypeError: ``data`` does not hold whole numbers.
        ShapeError: ``data`` is not 1-D.

    Source: MXNet operator ``_npi_bincount``.
    """
    if not jnp.issubdtype(data.dtype, jnp.integer):
        raise DTypeError(f"bincount takes whole numbers, not {data.dtype.name}.")
    if data.ndim != 1:
        raise ShapeError(f"bincount takes a 1-D array, not one of shape {data.shape}.")
    length = _known("bincount", size)
    added = 1 if weights is None else weights
    dtype = data.dtype if weights is None else weights.dtype
    return jnp.zeros((length,), dtype).at[data].add(jnp.asarray(added, dtype))


@bincount.set_size
def _(data, minlength):
    if data.size and data.dtype.kind in "iu" and data.min() < 0:
        raise OperatorValueError(f"bincount: {data.min()} in data is below 0.")
    return max(int(data.max()) + 1 if data.size else 0, minlength)


@op(
    "_contrib_getnnz",
    differentiable=False,
    storage=storage_rules.COUNTED,
    dtypes=Dtypes(result="int64"),
)
def getnnz(data, *, axis: Axis | None = None):
    """Number of nonzero elements, int64: of the matrix, each column (``axis=0``) or each row (``axis=1``).

    Of a csr array, elements that are stored, zeros among them.

    Source: MXNet operator ``_contrib_getnnz``.
    """
    count = jnp.sum(jax.lax.ne(data, jnp.zeros((), data.dtype)), axis, dtype=jnp.int64)
    return count.reshape(count.shape or (1,))
