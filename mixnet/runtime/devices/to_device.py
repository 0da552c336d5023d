"""Fast transfer of NumPy arrays to a device, a few microseconds each."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from mixnet.runtime.value.value import ALIGNMENT, Spec, handed_over


def to_device(data: np.ndarray, spec: Spec) -> Any:
    """A JAX array from data that will not be modified; views of other memory are copied.

    Args:
        data: of the shape and dtype of the spec.
        spec: gives the device.
    """
    return handed_over(owned(data), spec)


def owned(data: np.ndarray) -> np.ndarray:
    """Data as a contiguous array; views of other memory are copied."""
    if type(data) is not np.ndarray:  # NumPy turns arrays without axes into numbers
        return np.asarray(data)
    if (data.base is not None and not _is_all_of_its_base(data)) or not data.flags.c_contiguous:
        return np.array(data, order="C")
    return data


def _references_to_base(data: np.ndarray) -> int:
    return sys.getrefcount(data.base)


_REFERENCES = _references_to_base(np.empty(2).reshape(2, 1))
"""References to memory with a single view; the count differs between versions of Python."""


def _is_all_of_its_base(data: np.ndarray) -> bool:
    """Whether an array is the only view of its memory in another shape, such as a reshape of a new array,
    or what :func:`mixnet.runtime.value.value.aligned_empty` returns.
    """
    return (
        type(data.base) is np.ndarray
        and data.base.base is None
        and data.base.nbytes <= data.nbytes + ALIGNMENT
        and _references_to_base(data) == _REFERENCES
    )
