"""Sources of the rows of a batch: arrays, sparse matrices and datasets in files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.array_like import HasDType, is_array_like
from mixnet.base import AttributeTypeError, CheckError
from mixnet.ndarray.create import array
from mixnet.ndarray.csr_array import CSRNDArray
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse import array as sparse_array
from mixnet.ndarray.sparse_array import BaseSparseNDArray
from mixnet.runtime.record.copy import host_view
from mixnet.runtime.value.value import adopt, aligned_empty

KINDS = "NDArray, numpy.ndarray, h5py.Dataset"

Source = NDArray | np.ndarray | HasDType
"""Samples along the first axis: an array, a sparse matrix of SciPy, a dataset of a file."""

Sources = Source | Sequence[Source] | Mapping[str, Source]
"""Data or labels that an iterator accepts."""


def _is_of_scipy(source: object) -> bool:
    """Whether it is a SciPy sparse matrix; if so, SciPy has been imported already."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and bool(scipy_sparse.issparse(source))


def is_stored(source: object) -> bool:
    """Whether rows are read from a file on demand: an ``h5py.Dataset`` or similar."""
    return (
        not isinstance(source, (NDArray, np.ndarray, np.generic))
        and is_array_like(source)
        and hasattr(source, "__getitem__")
        and not _is_of_scipy(source)
    )


def named_sources(data: object, allow_empty: bool, default_name: str) -> list[tuple[str, Any]]:
    """The arrays of an iterator by name: dicts in the order of their names, lists by number.

    Args:
        data: an array, a list of them, a dict of them, or None.
        allow_empty: whether there may be no arrays.
        default_name: of a single array; those of a list are ``_0_name``, ``_1_name``, ...

    Raises:
        TypeError: something is not an array.
        AssertionError: there is none.
    """
    if data is None:
        data = []
    if _is_array(data):
        data = [data]
    if isinstance(data, (list, tuple)) and not isinstance(data, dict):
        if not allow_empty and not len(data):
            raise CheckError(f"There must be data: got no {default_name!r}.")
        if len(data) == 1:
            data = {default_name: data[0]}
        else:
            data = {f"_{i}_{default_name}": each for i, each in enumerate(data)}
    if not isinstance(data, dict):
        raise AttributeTypeError(
            f"Input must be {KINDS} a list of them or dict with them as values, "
            f"not {type(data).__name__}. Make an array of it with numpy.array."
        )
    return [(name, _converted(name, data[name])) for name in sorted(data, key=str)]


def _is_array(source: object) -> bool:
    return isinstance(source, (NDArray, np.ndarray)) or _is_of_scipy(source) or is_stored(source)


def _converted(name: str, source: Any) -> Any:
    if isinstance(source, NDArray) or is_stored(source):
        return source
    try:
        if _is_of_scipy(source):
            return sparse_array(source, dtype=np.float32)
        return array(source)
    except (TypeError, ValueError):
        raise AttributeTypeError(
            f"Invalid type '{type(source)}' for {name}, should be {KINDS} of numbers."
        ) from None


def take_rows(source: Any, rows: slice | np.ndarray) -> NDArray:
    """A new array of some rows of a source.

    Args:
        source: from ``named_sources``.
        rows: a slice with step 1, or row indices.
    """
    if isinstance(source, CSRNDArray):
        part = source[rows] if isinstance(rows, slice) else source._take_rows(rows)
        dense: NDArray = part.tostype("default")
        return dense
    if isinstance(source, BaseSparseNDArray):
        source = source.tostype("default")
    if not isinstance(source, NDArray):
        return array(_read_stored(source, rows), dtype=source.dtype)
    if source.context.device_type == "gpu":
        if isinstance(rows, slice):
            rows = np.arange(rows.start, rows.stop)
        selected: NDArray = source.take(array(rows, source.context, np.int64))
        return selected
    # On the host a batch costs one copy, straight into the buffer that XLA will read.
    host = host_view(source._read(), "batch")
    count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    out = aligned_empty((count, *host.shape[1:]), host.dtype)
    if isinstance(rows, slice):
        out[...] = host[rows]
    else:
        host.take(rows, axis=0, out=out, mode="wrap")  # with 'raise' NumPy copies twice
    return type(source)._wrap(adopt(out, source.context))


def _read_stored(source: Any, rows: slice | np.ndarray) -> np.ndarray:
    """Rows of a dataset in a file, which accepts only ascending, unique indices."""
    if isinstance(rows, slice):
        return np.asarray(source[rows])
    unique_rows, places = np.unique(rows, return_inverse=True)
    return np.asarray(source[unique_rows])[places]
