"""Tolerances by dtype, and the values a caller may pass for them."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import numeric_types
from mixnet.ndarray.ndarray import NDArray
from mixnet.util import get_cuda_compute_capability, getenv

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_EXACT = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")
_AMPERE = 80


def _by_dtype(half: float, single: float, double: float) -> dict[np.dtype, float]:
    table = {"float16": half, "float32": single, "float64": double, **dict.fromkeys(_EXACT, 0)}
    return {np.dtype(name): value for name, value in table.items()}


def default_rtols() -> dict[np.dtype, float]:
    """Relative tolerance of each dtype; whole numbers and booleans are compared exactly."""
    return _by_dtype(1e-2, 1e-4, 1e-5)


def default_atols() -> dict[np.dtype, float]:
    """Absolute tolerance of each dtype; whole numbers and booleans are compared exactly."""
    return _by_dtype(1e-1, 1e-3, 1e-20)


def default_numeric_eps() -> dict[np.dtype, float]:
    """Steps of finite differences by dtype: powers of two, so that adding one is exact."""
    return {
        np.dtype("float16"): 2.0**-6,
        np.dtype("float32"): 2.0**-9,
        np.dtype("float64"): 2.0**-14,
    }


def effective_dtype(dat: Any) -> np.dtype:
    """The dtype whose tolerances fit an array.

    It is the array's own, but float16 for float32 arrays on GPUs that multiply matrices in TF32,
    which has float16's ten bits of fraction.

    Args:
        dat: an array.
    """
    dtype: np.dtype = np.dtype(dat.dtype)
    if (
        dtype == np.float32
        and isinstance(dat, NDArray)
        and dat.context.device_type == "gpu"
        and getenv("NVIDIA_TF32_OVERRIDE") != "0"
        and (get_cuda_compute_capability(dat.context) or 0) >= _AMPERE
    ):
        return np.dtype("float16")
    return dtype


def get_tolerance(dat: Any, tol: Any, default_tol: Mapping[np.dtype, float]) -> float:
    """The tolerance for an array.

    Args:
        dat: the array; plain numbers count as float64.
        tol: a number; or a dict from dtype to number; or None.
        default_tol: for dtypes that ``tol`` does not have.
    """
    if isinstance(tol, numbers.Number):
        return tol  # type: ignore[return-value]
    dtype = np.dtype("float64") if isinstance(dat, numeric_types) else effective_dtype(dat)
    tolerances: Mapping[np.dtype, float] = {} if tol is None else tol
    return tolerances.get(dtype, default_tol[dtype])


def get_tols(
    x: ArrayLike, y: ArrayLike, rtol: float | None, atol: float | None
) -> tuple[float, float]:
    """Relative and absolute tolerance for comparing two arrays: that of the coarser dtype.

    Args:
        x: an array.
        y: an array.
        rtol: relative tolerance; by default that of the dtype.
        atol: absolute tolerance; by default that of the dtype.
    """
    relative = [get_tolerance(each, rtol, default_rtols()) for each in (x, y)]
    absolute = [get_tolerance(each, atol, default_atols()) for each in (x, y)]
    return max(relative), max(absolute)


def get_rtol(rtol: float | None = None, dtype: Any = np.dtype("float64")) -> float:
    """``rtol``, or the default of a dtype."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: Any = np.dtype("float64")) -> float:
    """``atol``, or the default of a dtype."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """``etol``, the share of elements that may differ, or 0."""
    return 0 if etol is None else etol
