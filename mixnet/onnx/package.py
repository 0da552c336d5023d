"""Import of the package ``onnx``, which reading and writing ONNX files needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.base import DTypeError, MXNetError

OLDEST_WRITTEN, NEWEST_WRITTEN = 13, 28
"""Operator sets that can be written. Runtimes follow the newest one with a delay."""


def onnx_package() -> Any:
    """The package ``onnx``.

    Raises:
        MXNetError: it is not installed; says how to install it.
    """
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise MXNetError(
            f"ONNX files need the package onnx, which is not installed ({error}). Install it with "
            f"pip install 'mixnet[onnx]'."
        ) from None
    return onnx


def type_code(dtype: Any) -> int:
    """ONNX's number of a dtype.

    Raises:
        DTypeError: ONNX has no such dtype.
    """
    try:
        return int(onnx_package().helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    except (KeyError, ValueError):
        raise DTypeError(f"ONNX has no tensors of dtype {np.dtype(dtype).name}.") from None
