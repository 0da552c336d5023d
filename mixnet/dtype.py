"""Data types: names, NumPy dtypes, and MXNet's type codes in files."""

from __future__ import annotations

import contextlib
from typing import Any

import ml_dtypes
import numpy as np

from mixnet.array_like import HasDType, has_dtype
from mixnet.base import UnknownDTypeError

bfloat16: np.dtype = np.dtype(ml_dtypes.bfloat16)

# Codes as MXNet 1.9.1 writes them into .params files.
CODES: dict[np.dtype, int] = {
    np.dtype("float32"): 0,
    np.dtype("float64"): 1,
    np.dtype("float16"): 2,
    np.dtype("uint8"): 3,
    np.dtype("int32"): 4,
    np.dtype("int8"): 5,
    np.dtype("int64"): 6,
    np.dtype("bool"): 7,
    np.dtype("int16"): 8,
    np.dtype("uint16"): 9,
    np.dtype("uint32"): 10,
    np.dtype("uint64"): 11,
    bfloat16: 12,
}
BY_CODE: dict[int, np.dtype] = {code: dtype for dtype, code in CODES.items()}
BY_NAME: dict[str, np.dtype] = {dtype.name: dtype for dtype in CODES}
# NumPy puts a name together whenever it is read.
_NAMES = {dtype: name for name, dtype in BY_NAME.items()}

_known: dict[Any, np.dtype] = {np.float32: np.dtype("float32"), "float32": np.dtype("float32")}


DTypeLike = str | type | np.dtype | HasDType | None
"""A dtype, its name, a NumPy or Python type, or an array with the dtype; None is float32."""


def as_dtype(dtype: DTypeLike) -> np.dtype:
    """NumPy dtype of a name, type, dtype or array, in this machine's byte order; ``None`` is float32.

    Raises:
        DTypeError: not a dtype that arrays can have.
    """
    if dtype is None:
        return _known["float32"]
    try:
        return _known[dtype]
    except (KeyError, TypeError):
        pass
    try:
        if isinstance(dtype, str) and dtype in BY_NAME:
            result = BY_NAME[dtype]
        elif hasattr(dtype, "asnumpy") and has_dtype(dtype):  # an array says its own
            result = np.dtype(dtype.dtype)
        else:
            result = np.dtype(dtype).newbyteorder("=")
        CODES[result]
    except (KeyError, TypeError, ValueError, SyntaxError):  # NumPy's texts of structures
        raise UnknownDTypeError(
            f"{dtype!r} is not a data type of arrays; use one of {', '.join(BY_NAME)}."
        ) from None
    with contextlib.suppress(TypeError):
        _known[dtype] = result
    return result


def dtype_name(dtype: DTypeLike) -> str:
    """Name of a dtype that is given as :func:`as_dtype` takes it."""
    return _NAMES[as_dtype(dtype)]


def as_numbers(source: object, dtype: np.dtype | None = None) -> np.ndarray:
    """A NumPy array of ``dtype`` (by default its own) with the numbers of ``source``.

    As NumPy converts: texts are read, ``None`` among numbers is NaN, dates are counted.

    Raises:
        TypeError: the source does not hold numbers, or complex ones.
        ValueError: a text is not a number, or the lists have different lengths.
    """
    if source is None:
        raise TypeError("None is not an array.")
    data = np.asarray(source)
    is_numbers = data.dtype.kind in "fiub" or data.dtype == bfloat16
    if is_numbers and dtype is None:
        return data
    if (data.dtype.kind in "cV" and not is_numbers) or dtype is None:
        raise TypeError(f"{data.dtype} is not a data type of arrays.")
    if (
        data.dtype.kind == "f"
        and dtype.kind in "iu"
        and not isinstance(source, np.ndarray | np.generic)
    ):
        data = _truncated(data)
    with np.errstate(invalid="ignore", over="ignore"):  # what does not fit wraps, as everywhere
        return data.astype(dtype)


def _truncated(numbers: np.ndarray) -> np.ndarray:
    """The whole parts of Python's numbers, which then wrap; an array's would saturate."""
    if not (np.abs(numbers) < 2.0**63).all():  # nor NaN
        raise TypeError("NaN, infinity and numbers beyond int64 are not whole numbers.")
    return numbers.astype(np.int64)
