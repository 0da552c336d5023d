"""LU factorization by the LAPACK in NumPy's wheel, for which NumPy has no function in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet.runtime.compile.blas import function_of_wheel

_PATTERNS = ("scipy_{}_64_", "{}_64_")
"""Patterns of the names of functions with 64-bit integers in the libraries of NumPy's wheels."""

_NAMES = {"f4": "sgetrf", "f8": "dgetrf"}

Factored = tuple[np.ndarray, np.ndarray]


def lu_of(dtype: np.dtype) -> Callable[[np.ndarray], Factored] | None:
    """A function that returns the factors of a matrix, in one matrix, and the pivots.

    None for a dtype that LAPACK does not support.
    """
    name = _NAMES.get(dtype.str[1:])
    if name is None:
        return None
    function = function_of_wheel(name, _PATTERNS)
    return _by_scipy(name) if function is None else _called(function, dtype)


def _called(function: Any, dtype: np.dtype) -> Callable[[np.ndarray], Factored]:
    def factor(matrix: np.ndarray) -> Factored:
        factors = np.array(matrix, dtype, order="F")
        rows, columns = factors.shape
        pivots = np.empty(min(rows, columns), np.int64)
        numbers = [ctypes.c_int64(each) for each in (rows, columns, max(rows, 1), 0)]
        m, n, leading, info = map(ctypes.byref, numbers)
        function(m, n, _address(factors), leading, _address(pivots), info)
        return factors, pivots - 1  # LAPACK counts from 1

    return factor


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _by_scipy(name: str) -> Callable[[np.ndarray], Factored]:
    from scipy.linalg import lapack  # slow to import

    function = getattr(lapack, name)

    def factor(matrix: np.ndarray) -> Factored:
        factors, pivots, _ = function(matrix)
        return factors, pivots

    return factor
