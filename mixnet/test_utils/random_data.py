"""Random arrays, shapes, sparse arrays and matrices, sampled from NumPy's global generator."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.context import Context, current_context
from mixnet.ndarray.create import arange, array
from mixnet.ndarray.csr_array import CSRNDArray
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray
from mixnet.ndarray.sparse import csr_matrix, row_sparse_array, zeros
from mixnet.test_utils.settings import default_dtype

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


def random_arrays(*shapes: tuple[int, ...]) -> Any:
    """Normal float32 NumPy arrays: one for one shape, else a list.

    Args:
        shapes: a tuple for each array.
    """
    arrays: list[Any] = [np.asarray(np.random.randn(*shape), default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: tuple[int, ...], **kwargs: Any) -> list[np.ndarray]:
    """Uniform NumPy arrays.

    Args:
        shapes: their shapes.
        kwargs: ``low`` and ``high``, 0 and 1 by default; ``dtype``, by default float32.
    """
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", default_dtype())
    return [np.random.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> Any:
    """``k`` different items of a list, in random order.

    Args:
        population: the list.
    """
    shuffled = population[:]
    np.random.shuffle(shuffled)
    return shuffled[:k]


def _length(limit: int, allow_zero_size: bool) -> int:
    return np.random.randint(0 if allow_zero_size else 1, limit + 1)


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape of two axes, with lengths up to ``dim0`` and ``dim1``.

    Args:
        allow_zero_size: whether an extent may be 0.
    """
    return _length(dim0, allow_zero_size), _length(dim1, allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """A random shape of three axes, with lengths up to ``dim0``, ``dim1`` and ``dim2``.

    Args:
        allow_zero_size: whether an extent may be 0.
    """
    return tuple(_length(each, allow_zero_size) for each in (dim0, dim1, dim2))


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape of ``num_dim`` axes, with lengths up to ``dim``.

    Args:
        allow_zero_size: whether an extent may be 0.
    """
    low = 0 if allow_zero_size else 1
    return tuple(int(each) for each in np.random.randint(low, dim + 1, size=num_dim))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A random point: ``x_low <= x < x_high``, ``y_low <= y < y_high``."""
    x = np.random.randint(x_low, x_high, dtype=np.int64)
    return int(x), int(np.random.randint(y_low, y_high, dtype=np.int64))


def create_vector(size: int, dtype: DTypeLike = np.int64) -> NDArray:
    """The numbers 0, 1, ..., ``size`` - 1.

    Args:
        dtype: of the array.
    """
    return arange(0, size, dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: DTypeLike = np.int64) -> NDArray:
    """A matrix whose row ``i`` has ``i`` everywhere.

    Args:
        rows: number of rows.
        columns: number of columns.
        dtype: of the array.
    """
    return arange(0, rows, dtype=dtype).reshape(rows, 1).broadcast_to((rows, columns))


def get_identity_mat(size: int) -> NDArray:
    """The float32 identity of ``size`` rows."""
    return array(np.identity(size), dtype=default_dtype())


def get_identity_mat_batch(size: int) -> NDArray:
    """Two float32 identities of ``size`` rows: shape (2, ``size``, ``size``)."""
    return array(np.stack([np.identity(size)] * 2), dtype=default_dtype())


# ---- sparse ---------------------------------------------------------------------------------


def shuffle_csr_column_indices(csr: Any) -> None:
    """Shuffle the column indices of each row of a SciPy matrix in place, its values staying."""
    for begin, end in itertools.pairwise(csr.indptr):
        np.random.shuffle(csr.indices[begin:end])


def _modified(
    values: np.ndarray, data_init: object, modifier_func: Callable[..., Any] | None
) -> np.ndarray:
    if data_init is not None:
        values = np.full_like(values, data_init)
    if modifier_func is not None:
        values = np.array([modifier_func(each) for each in values.ravel()], values.dtype).reshape(
            values.shape
        )
    return values


def _check_density(shape: tuple[int, int], density: float) -> None:
    if not 0 <= density <= 1:
        raise ValueError(f"density={density} is not between 0 and 1.")
    if len(shape) != 2:
        raise ValueError(f"csr arrays have two axes; shape={shape} was given.")


def _uniform_csr(
    shape: tuple[int, int], density: float, dtype: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, rows and columns of ``density`` of the places, all equally likely."""
    rows, columns = shape
    count = round(density * rows * columns)
    # The draws of scipy.sparse.rand: places in column order, then values.
    places = np.random.permutation(rows * columns)[:count]
    values = np.random.uniform(size=count).astype(dtype)
    at, column = places % rows, places // rows
    order = np.lexsort((column, at))
    return values[order], at[order], column[order]


def _powerlaw_csr(
    shape: tuple[int, int], density: float, dtype: DTypeLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, with rows that are twice as full as the one before until all is used up."""
    rows, columns = shape
    total = int(rows * columns * density)
    if total < 2 * rows:
        raise ValueError(
            f"density={density} is too low for a powerlaw array of shape {shape}: it gives {total} "
            f"values; at least two a row are needed, {2 * rows}."
        )
    lengths, left = np.ones(rows, int), total - rows
    for row in range(rows):
        more = min(2 ** (row + 1) - 1, columns - 1, left)
        lengths[row] += more
        left -= more
    values = (1 + np.random.uniform(0.001, 2, lengths.sum())).astype(dtype)
    column = np.concatenate([np.arange(each) for each in lengths])
    return values, np.repeat(np.arange(rows), lengths), column


_CSR: dict[str, Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]] = {
    "uniform": _uniform_csr,
    "powerlaw": _powerlaw_csr,
}


def rand_sparse_ndarray(
    shape: tuple[int, ...],
    stype: str,
    density: float | None = None,
    dtype: DTypeLike = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: object = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> tuple[Any, Any]:
    """A random sparse array.

    Args:
        shape: of the array; two axes for ``'csr'``.
        stype: ``'row_sparse'`` or ``'csr'``.
        density: share of rows (row_sparse) or elements (csr) that are stored; random by default.
        dtype: float32 by default.
        distribution: ``'uniform'``, the default; or for csr ``'powerlaw'``, where each row has twice as
            many values as the one before.
        data_init: the stored values, if not random.
        rsp_indices: rows that a row_sparse array stores, an array.
        modifier_func: changes each value.
        shuffle_csr_indices: whether columns of a row are in random order.
        ctx: context of the array.

    Returns:
        The array, and its parts: (values, rows), or (row starts, columns, values).

    Raises:
        AssertionError: another ``stype`` or ``distribution``.
        ValueError: a density that cannot be had.
    """
    ctx = current_context() if ctx is None else ctx
    density = np.random.rand() if density is None else density
    dtype = default_dtype() if dtype is None else dtype
    distribution = "uniform" if distribution is None else distribution
    if stype == "row_sparse":
        assert distribution == "uniform", f"row_sparse arrays cannot be {distribution!r}."
        return _random_rows(shape, density, dtype, data_init, rsp_indices, modifier_func, ctx)
    assert stype == "csr", f"stype={stype!r} is neither 'row_sparse' nor 'csr'."
    assert distribution in _CSR, f"distribution={distribution!r} is none of {', '.join(_CSR)}."
    assert len(shape) == 2, f"csr arrays have two axes; shape={shape} was given."
    _check_density(shape, density)
    values, rows, columns = _CSR[distribution](shape, density, dtype)
    values = _modified(values, data_init, modifier_func)
    starts = np.searchsorted(rows, np.arange(shape[0] + 1))
    if shuffle_csr_indices:
        for begin, end in itertools.pairwise(starts):
            np.random.shuffle(columns[begin:end])
    matrix: CSRNDArray = csr_matrix((values, columns, starts), shape=shape, ctx=ctx, dtype=dtype)
    return matrix, (matrix.indptr, matrix.indices, matrix.data)


def _random_rows(
    shape: tuple[int, ...], density: float, dtype: Any, data_init: Any, rows: Any,
    modifier: Callable[..., Any] | None, ctx: Context,
) -> tuple[RowSparseNDArray, tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    if rows is None:
        drawn = np.random.rand(shape[0])
        rows = np.flatnonzero(drawn < density)
    rows = np.asarray(rows, np.int64)
    assert len(rows) <= shape[0], f"{len(rows)} rows were given for an array of {shape[0]}."
    if not len(rows):
        empty = zeros("row_sparse", shape, ctx=ctx, dtype=dtype)
        return empty, (np.zeros((0, *shape[1:]), dtype), rows)
    values = np.random.rand(len(rows), *shape[1:]).astype(dtype)
    values = _modified(values, data_init, modifier)
    empty = row_sparse_array((values, rows), shape=shape, ctx=ctx, dtype=dtype)
    return empty, (values, rows)


def rand_ndarray(
    shape: tuple[int, ...],
    stype: str = "default",
    density: float | None = None,
    dtype: DTypeLike = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Context | None = None,
) -> Any:
    """A random array, dense (normal values) or sparse; see ``rand_sparse_ndarray``.

    Args:
        shape: of the array.
        stype: ``'default'``, ``'row_sparse'`` or ``'csr'``.
        density: share of stored values of a sparse array.
        dtype: float32 by default.
        modifier_func: applied to each stored value of a sparse array.
        shuffle_csr_indices: store the columns of csr rows in random order.
        distribution: ``'uniform'`` or ``'powerlaw'``, of a sparse array.
        ctx: device of the array.
    """
    if stype == "default":
        ctx = current_context() if ctx is None else ctx
        return array(random_arrays(shape), ctx=ctx, dtype=dtype or default_dtype())
    return rand_sparse_ndarray(
        shape, stype, density=density, dtype=dtype, modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices, distribution=distribution, ctx=ctx,
    )[0]  # fmt: skip


def create_sparse_array(
    shape: tuple[int, ...],
    stype: str,
    data_init: float | None = None,
    rsp_indices: object = None,
    dtype: DTypeLike = None,
    modifier_func: Callable[[float], float] | None = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> Any:
    """A random sparse array; its stored rows may be given as a list."""
    rows = None if rsp_indices is None else np.asarray(rsp_indices)
    return rand_sparse_ndarray(
        shape, stype, density=density, dtype=dtype, data_init=data_init, rsp_indices=rows,
        modifier_func=modifier_func, shuffle_csr_indices=shuffle_csr_indices,
    )[0]  # fmt: skip


def create_sparse_array_zd(
    shape: tuple[int, ...],
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: object = None,
    dtype: DTypeLike = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
) -> Any:
    """A sparse array of a density that may be 0; a row_sparse one stores ``rsp_indices`` alone."""
    if stype == "row_sparse":
        density = 0.0
    return create_sparse_array(
        shape, stype, data_init=data_init, rsp_indices=rsp_indices, dtype=dtype,
        modifier_func=modifier_func, density=density, shuffle_csr_indices=shuffle_csr_indices,
    )  # fmt: skip


# ---- matrices -------------------------------------------------------------------------------


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random orthonormal matrix of ``n`` rows: Q of a normal matrix."""
    return np.linalg.qr(np.random.randn(n, n))[0]


def _eigenvalues(n: int) -> np.ndarray:
    return np.random.uniform(-10.0, 10.0, n)


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random matrix of ``n`` rows with real eigenvalues: Q T Q', T a triangle (Schur)."""
    q = new_orthonormal_matrix_2d(n)
    triangle = np.triu(np.random.uniform(-10.0, 10.0, (n, n)), 1) + np.diag(_eigenvalues(n))
    matrix: np.ndarray = q @ triangle @ q.T
    return matrix


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric matrix of ``n`` rows: Q D Q', D a diagonal."""
    q = new_orthonormal_matrix_2d(n)
    matrix: np.ndarray = q @ np.diag(_eigenvalues(n)) @ q.T
    matrix = (matrix + matrix.T) / 2
    return matrix


def _batch(shape: Sequence[int], make: Callable[[int], np.ndarray]) -> np.ndarray:
    *lead, n = shape[:-1]
    count = int(np.prod(lead))
    return np.array([make(n) for _ in range(count)]).reshape(shape)


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> np.ndarray:
    """Random matrices with real eigenvalues: an array of ``shape``, its last two axes equal."""
    return _batch(shape, new_matrix_with_real_eigvals_2d)


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> np.ndarray:
    """Random symmetric matrices: an array of ``shape``, its last two axes equal."""
    return _batch(shape, new_sym_matrix_with_real_eigvals_2d)
