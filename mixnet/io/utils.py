"""MXNet's import path ``mx.io.utils``."""

from collections import OrderedDict as OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np  # noqa: F401

from mixnet.io.source import named_sources as _init_data  # noqa: F401
from mixnet.ndarray import sparse as _sparse
from mixnet.ndarray.create import array as array
from mixnet.ndarray.csr_array import CSRNDArray as CSRNDArray
from mixnet.ndarray.ndarray import NDArray as NDArray

sparse_array = _sparse.array
h5py = None


def _has_instance(data: Iterable[tuple[str, Any]], dtype: type | tuple[type, ...]) -> bool:
    """Whether one of the named arrays is of a class."""
    return any(isinstance(each, dtype) for _, each in data)


def _getdata_by_idx(data: Iterable[tuple[str, Any]], idx: Any) -> list[tuple[str, Any]]:
    """The rows ``idx`` of named arrays, those of sparse ones as sparse arrays.

    Args:
        data: pairs of name and array.
        idx: numbers of rows, or a slice.
    """
    return [
        (name, sparse_array(each.asscipy()[idx], each.context))
        if isinstance(each, CSRNDArray)
        else (name, array(each.asnumpy()[idx], each.context))
        for name, each in data
    ]
