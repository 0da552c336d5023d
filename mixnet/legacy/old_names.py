"""Names that programs of MXNet's time read from NumPy and Python, and that newer versions no longer have."""

from __future__ import annotations

import collections
import collections.abc
import fractions
import inspect
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class ArgSpec(NamedTuple):
    """What ``inspect.getargspec`` returned."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _getargspec(func: Any) -> ArgSpec:
    """Names and default values of a function's parameters, as until Python 3.11.

    Raises:
        ValueError: there are keyword-only parameters or annotations, which need ``getfullargspec``.
    """
    spec = inspect.getfullargspec(func)
    if spec.kwonlyargs or spec.annotations:
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature() API which can "
            "support them"
        )
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def _asfarray(a: Any, dtype: Any = np.float64) -> np.ndarray:
    """The array in a floating-point dtype: ``dtype``, or float64 if that is none."""
    if not np.issubdtype(dtype, np.inexact):
        dtype = np.float64
    return np.asarray(a, dtype=dtype)


def _asscalar(a: np.ndarray) -> Any:
    """The only element of an array."""
    return a.item()


def _msort(a: Any) -> np.ndarray:
    """A copy sorted along the first axis."""
    return np.sort(a, axis=0)


class _Casts:
    """Functions by dtype: ``cast["float32"](x)`` is an array in that dtype."""

    def __getitem__(self, dtype: Any) -> Callable[[Any], np.ndarray]:
        return lambda x: np.asarray(x).astype(dtype)


_fromstring = np.fromstring


def _fromstring_or_bytes(
    string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", **keywords: Any
) -> np.ndarray:
    """``np.fromstring``; without ``sep``, an array of the bytes, as until NumPy 2.3."""
    if sep:
        return _fromstring(string, dtype, count, sep=sep, **keywords)
    content = string.encode("latin1") if isinstance(string, str) else string
    return np.frombuffer(content, dtype, count).copy()


_OF_NUMPY: dict[str, Any] = {
    # Types of Python, until 1.24; ``bool`` and ``long`` are types of NumPy's since 2.0.
    "int": int,
    "float": float,
    "complex": complex,
    "object": object,
    "str": str,
    "unicode": str,
    # Other names of types, until 1.24 or 2.0.
    "bool8": np.bool_,
    "int0": np.intp,
    "uint0": np.uintp,
    "float_": np.float64,
    "longfloat": np.longdouble,
    "complex_": np.complex128,
    "cfloat": np.complex128,
    "singlecomplex": np.complex64,
    "longcomplex": np.clongdouble,
    "clongfloat": np.clongdouble,
    "string_": np.bytes_,
    "bytes0": np.bytes_,
    "unicode_": np.str_,
    "str0": np.str_,
    "object0": np.object_,
    "void0": np.void,
    "typeDict": np.sctypeDict,
    # Functions and numbers, until 2.0; ``asscalar`` until 1.23.
    "mat": np.asmatrix,
    "round_": np.round,
    "product": np.prod,
    "cumproduct": np.cumprod,
    "alltrue": np.all,
    "sometrue": np.any,
    "asfarray": _asfarray,
    "asscalar": _asscalar,
    "msort": _msort,
    "Inf": np.inf,
    "Infinity": np.inf,
    "infty": np.inf,
    "PINF": np.inf,
    "NINF": -np.inf,
    "NaN": np.nan,
    "NAN": np.nan,
    "PZERO": 0.0,
    "NZERO": -0.0,
    # In ``np.exceptions`` since 2.0.
    "AxisError": np.exceptions.AxisError,
    "ComplexWarning": np.exceptions.ComplexWarning,
    "TooHardError": np.exceptions.TooHardError,
    "VisibleDeprecationWarning": np.exceptions.VisibleDeprecationWarning,
    "RankWarning": np.exceptions.RankWarning,
    # Types by kind, and conversions by type, until 2.0.
    "sctypes": {
        "int": [np.int8, np.int16, np.int32, np.int64],
        "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
        "float": [np.float16, np.float32, np.float64, np.longdouble],
        "complex": [np.complex64, np.complex128, np.clongdouble],
        "others": [bool, object, bytes, str, np.void],
    },
    "cast": _Casts(),
    # Modules that NumPy happened to import.
    "math": math,
    "os": os,
    "sys": sys,
    "warnings": warnings,
}

_NAMES: list[tuple[ModuleType | type, Mapping[str, Any]]] = [
    (np, _OF_NUMPY),
    (np.lib, {"pad": np.pad}),
    # Until Python 3.10, 3.9, 3.11, 3.8 and 3.9.
    (collections, {name: getattr(collections.abc, name) for name in collections.abc.__all__}),
    (fractions, {"gcd": math.gcd}),
    (inspect, {"ArgSpec": ArgSpec, "getargspec": _getargspec}),
    (time, {"clock": time.process_time}),
    (threading.Thread, {"isAlive": threading.Thread.is_alive}),
]


def restore() -> None:
    """Give NumPy and Python's library these names back in this process, where they are missing.

    Arrays have no ``tostring`` since NumPy 2.3, which nothing can add.
    """
    for owner, names in _NAMES:
        for name, value in names.items():
            if name not in vars(owner):
                setattr(owner, name, value)
    np.fromstring = _fromstring_or_bytes  # type: ignore[assignment]
