"""Computations on the stored values of sparse arrays, recorded by ``mixnet.ndarray.sparse``.

A row_sparse array is ``data`` (rows, ...) with the number of each row in ``indices``; a csr matrix
is ``data`` (nnz,) with the column of each in ``indices``, and here, the row of each in ``rows``.
"""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import DTypeError, OperatorValueError
from mixnet.ops.array.indexing import OUTSIDE, slices_at, sums_at
from mixnet.ops.array.plain import in_dtype
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import Axes, Long, Scalar, Shape
from mixnet.ops.schema.dtypes import Dtypes, beside_number, number_of_dtype
from mixnet.ops.schema.shape_constraints import all_same


def _whole(numbers: jax.Array) -> Any:
    return in_dtype(numbers, np.dtype(np.int64))


def _not_boolean(data: jax.Array) -> Any:
    """Booleans as whole numbers."""
    return _whole(data) if data.dtype == jnp.bool_ else data


def _weighted(rows: jax.Array, weights: jax.Array) -> Any:
    """Rows, each times its number."""
    return jax.lax.mul(rows, jax.lax.broadcast_in_dim(weights, rows.shape, (0,)))


@op("_rows_to_dense", in_amp_lists=False)
def rows_to_dense(data, indices, *, shape: Shape):
    """The dense array of a row_sparse one; numbers beyond the last row are dropped."""
    return jnp.zeros(shape, data.dtype).at[_whole(indices)].set(data, mode="drop")


@op("_csr_to_dense", in_amp_lists=False)
def csr_to_dense(data, indices, rows, *, shape: Shape):
    """The dense matrix of a csr one; of several values at one position, the last counts."""
    return jnp.zeros(shape, data.dtype).at[_whole(rows), _whole(indices)].set(data)


@op("_take_rows", in_amp_lists=False)
def take_rows(dense, indices):
    """The rows with these numbers; for numbers beyond the last row, the last."""
    return dense.at[_whole(indices)].get(mode="clip")


@op("_put_rows", in_amp_lists=False)
def put_rows(dense, indices, data):
    """``dense`` with the rows with these numbers replaced; those beyond the last row are dropped."""
    return dense.at[_whole(indices)].set(data.astype(dense.dtype), mode="drop")


@op("_sum_rows", in_amp_lists=False)
def sum_rows(data, places, *, count: Long):
    """Rows with the same number added up: ``(count, ...)``."""
    return sums_at(data, _whole(places), count)


@op("_take_elements", in_amp_lists=False)
def take_elements(dense, rows, indices):
    """The elements of a matrix at ``(rows, indices)``."""
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    numbers = jax.lax.GatherDimensionNumbers((), (0, 1), (0, 1))
    places = [jax.lax.reshape(_whole(each), (*each.shape, 1)) for each in (rows, indices)]
    both = jax.lax.concatenate(places, places[0].ndim - 1)
    return jax.lax.gather(dense, both, numbers, (1, 1), mode=OUTSIDE)


@op("_csr_dot", in_amp_lists=False)
def csr_dot(data, indices, rows, rhs, *, extent: Long):
    """A csr matrix of ``extent`` rows times a dense matrix or vector."""
    rows_read = slices_at(rhs, _whole(indices), 0, OUTSIDE)
    return sums_at(_weighted(rows_read, data), _whole(rows), extent)


@csr_dot.set_row_gradient("rhs")
def _(head, data, indices, rows, rhs):
    return indices, _weighted(slices_at(head, _whole(rows), 0, OUTSIDE), data)


@op("cast_storage", aliases=["_sparse_cast_storage"], storage=storage_rules.CAST)
def cast_storage(data, *, stype: Literal["default", "row_sparse", "csr"]):
    """The array in storage type ``stype``; ``mx.nd`` makes it sparse, in a graph it stays dense.

    Source: MXNet operator ``cast_storage``.
    """
    return data


@op("_sparse_retain", dtypes=Dtypes(own={"indices": None}), storage=storage_rules.RETAINED)
def sparse_retain(data, indices):
    """The rows of ``data`` at ``indices``; the others are 0.

    Source: MXNet operator ``_sparse_retain``.
    """
    rows = indices.astype(jnp.int64)
    return jnp.zeros_like(data).at[rows].set(data[rows])


@op("_square_sum", precision="full", storage=storage_rules.SQUARE_SUM)
def square_sum(data, *, axis: Axes | None = None, keepdims: bool = False, exclude: bool = False):
    """Sum of the squares along ``axis``.

    Source: MXNet operator ``_square_sum``.
    """
    if exclude:
        raise OperatorValueError("_square_sum: exclude=True is not supported; name the axis.")
    total = jnp.sum(data * data, axis, keepdims=keepdims)
    return total.reshape((1,)) if total.ndim == 0 else total


@op("_scatter_plus_scalar", storage=storage_rules.ZERO_STAYS)
def scatter_plus_scalar(data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """``scalar`` added to the stored values of a sparse array, or to all of a dense one.

    Source: MXNet operator ``_scatter_plus_scalar``.
    """
    data = beside_number(data, is_int)
    return data + number_of_dtype(scalar, data.dtype)


@op("_scatter_minus_scalar", storage=storage_rules.ZERO_STAYS)
def scatter_minus_scalar(data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """``scalar`` subtracted from the stored values of a sparse array, or from all of a dense one.

    Source: MXNet operator ``_scatter_minus_scalar``.
    """
    data = beside_number(data, is_int)
    return data - number_of_dtype(scalar, data.dtype)


@op(
    "_scatter_elemwise_div",
    one_dtype=True,
    precision="widest",
    storage=storage_rules.DIVIDED_ROWS,
    shape_constraint=all_same,
)
def scatter_elemwise_div(lhs, rhs):
    """Quotient of two arrays; if the left one is row_sparse, of its stored rows alone.

    Source: MXNet operator ``_scatter_elemwise_div``.
    """
    if lhs.dtype == jnp.bool_:
        raise DTypeError(
            "_scatter_elemwise_div: booleans are not divided; cast with astype('float32')."
        )
    if jnp.issubdtype(lhs.dtype, jnp.integer):
        return jax.lax.div(lhs, rhs)
    return lhs / rhs
