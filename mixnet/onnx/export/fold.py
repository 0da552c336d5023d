"""Constant folding at export: shapes, indices and numbers are computed when the model is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.onnx.package import onnx_package

MOST = 4096
"""Elements of a constant that is computed so; larger ones are left to the runtime."""


def _unsqueeze(x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return np.expand_dims(x, tuple(int(axis) for axis in axes))


def _cast(x: np.ndarray, to: int) -> np.ndarray:
    return x.astype(onnx_package().helper.tensor_dtype_to_np_dtype(to))


def _expand(x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return (
        x * np.ones(tuple(shape), x.dtype)
        if x.dtype != np.bool_
        else np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape)))
    )


def _reshape(x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return x.reshape([x.shape[i] if e == 0 else int(e) for i, e in enumerate(shape)])


def _concat(*parts: np.ndarray, axis: int) -> np.ndarray:
    return np.concatenate(parts, axis)


_FOLDS: dict[str, Callable[..., np.ndarray]] = {
    "Add": np.add,
    "Cast": _cast,
    "Concat": _concat,
    "Equal": np.equal,
    "Expand": _expand,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Not": np.logical_not,
    "Reshape": _reshape,
    "Sub": np.subtract,
    "Unsqueeze": _unsqueeze,
    "Where": np.where,
}


def folded(
    op_type: str, inputs: Sequence[np.ndarray], attributes: Mapping[str, Any]
) -> np.ndarray | None:
    """The result of a node with constant inputs; None if it must remain a node."""
    function = _FOLDS.get(op_type)
    if function is None or not inputs or any(each.size > MOST for each in inputs):
        return None
    arguments = {key: value for key, value in attributes.items() if value is not None}
    if (
        op_type == "Expand" and np.prod(inputs[1], dtype=np.int64) > MOST
    ) or "allowzero" in arguments:
        return None
    result = np.asarray(function(*inputs, **arguments))
    return result if result.size <= MOST else None
