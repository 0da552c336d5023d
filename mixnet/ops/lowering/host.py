"""Operators on NumPy arrays, where NumPy or OpenCV is faster than the generic implementation.

Any operator runs on NumPy arrays primitive by primitive (``mixnet.runtime.interpret.on_numpy``). The ones
here are what images go through before they are a batch, and what parameters start from. A function takes
arrays and attributes of its operator; it returns ``NotImplemented`` for what it leaves to the
general way, errors among it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from mixnet.base import OperatorValueError
from mixnet.ops.generators.source import is_drawn_by_host, is_heads
from mixnet.ops.nn.resample import resized_extents
from mixnet.ops.quantized.calibrate import calibrate_entropy_on_host
from mixnet.ops.random.threefry import threefry

ON_HOST: dict[str, Callable[..., Any]] = {}


def _of(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        ON_HOST[name] = function
        return function

    return declare


@_of("_zeros")
def _zeros(*, shape: tuple[int, ...], ctx: str, dtype: Any) -> Any:
    return np.zeros(shape, jnp.dtype(dtype))


@_of("_ones")
def _ones(*, shape: tuple[int, ...], ctx: str, dtype: Any) -> Any:
    return np.ones(shape, jnp.dtype(dtype))


@_of("_view")
def _view(data: np.ndarray, *, offset: float, shape: tuple[int, ...]) -> Any:
    begin = int(offset)
    return data.reshape(-1)[begin : begin + math.prod(shape)].reshape(shape)


@_of("_npx_constraint_check")
def _constraint_check(input: np.ndarray, *, msg: str = "Constraint violated.") -> Any:
    if not np.all(input):
        raise OperatorValueError(msg)
    return np.ones((), bool)


_of("_contrib_calibrate_entropy")(calibrate_entropy_on_host)


@_of("_backend_part")
def _backend_part(*data: np.ndarray, part: Any) -> Any:
    return tuple(part.run(*data))


@_of("Cast")
def _cast(data: np.ndarray, *, dtype: Any) -> Any:
    kind = np.dtype(dtype) if dtype != "bfloat16" else None
    if kind is None or (data.dtype.kind == "f" and kind.kind in "iu"):
        return NotImplemented
    return data.astype(kind)


@_of("_image_to_tensor")
def _to_tensor(data: Any) -> Any:
    if data.ndim not in (3, 4) or (data.dtype.kind not in "iu" and data.dtype != np.float32):
        return NotImplemented
    if data.ndim == 3 and data.dtype == np.uint8 and data.size and data.flags.c_contiguous:
        import cv2

        tensor = np.empty((data.shape[2], *data.shape[:2]), np.float32)
        for plane, pixels in zip(tensor, cv2.split(data), strict=True):  # each stays in the cache
            plane[...] = pixels
            plane /= np.float32(255)
        return tensor
    tensor = np.moveaxis(data, -1, -3).astype(np.float32, order="C")
    tensor /= np.float32(255)
    return tensor


@_of("_image_normalize")
def _normalize(data: np.ndarray, *, mean: tuple[float, ...], std: tuple[float, ...]) -> Any:
    if data.ndim not in (3, 4) or data.dtype != np.float32:
        return NotImplemented
    channels = data.shape[-3]
    parts = []
    for values in (mean, std):
        numbers = values[:1] if len(values) == 4 and len(set(values)) == 1 else values
        if channels not in (1, 3) or len(numbers) not in (1, channels):
            return NotImplemented
        parts.append(np.asarray(numbers, np.float32).reshape(-1, 1, 1))
    normalized = data - parts[0]
    normalized /= parts[1]
    return normalized


@_of("_image_crop")
def _crop(data: np.ndarray, *, x: int, y: int, width: int, height: int) -> Any:
    if data.ndim not in (3, 4):
        return NotImplemented
    rows, columns = data.shape[-3:-1]
    if not (0 <= x <= columns - width and 0 <= y <= rows - height and min(width, height) > 0):
        return NotImplemented
    return data[..., y : y + height, x : x + width, :]


@_of("_image_flip_left_right")
def _flip_left_right(data: np.ndarray) -> Any:
    return _mirrored(data, 1) if data.ndim == 3 else NotImplemented


@_of("_image_flip_top_bottom")
def _flip_top_bottom(data: np.ndarray) -> Any:
    return _mirrored(data, 0) if data.ndim == 3 else NotImplemented


def _mirrored(data: Any, axis: int) -> Any:
    """Backwards along an axis; as a copy where that is quick, for what is next reads it faster."""
    import cv2

    plain = data.dtype in (np.uint8, np.float32) and data.flags.c_contiguous and data.size
    if not plain or data.shape[2] > 4:
        return np.flip(data, axis)
    return cv2.flip(data, axis).reshape(data.shape)


@_of("_image_resize")
def _resize(data: np.ndarray, *, size: tuple[int, ...], keep_ratio: bool, interp: int) -> Any:
    good = data.ndim == 3 and data.dtype in (np.uint8, np.float32) and data.shape[2] <= 4
    if not good or len(size) not in (1, 2) or min(size) <= 0 or not 0 <= interp <= 4:
        return NotImplemented
    import cv2

    height, width = resized_extents(data.shape[:2], size, keep_ratio)
    before = interp in (1, 2) and hasattr(cv2, "ipp") and cv2.ipp.useIPP()
    if before:
        cv2.ipp.setUseIPP(False)  # Intel's kernels round otherwise than OpenCV's
    try:
        resized = cv2.resize(np.ascontiguousarray(data), (width, height), interpolation=interp)
    finally:
        if before:
            cv2.ipp.setUseIPP(True)
    return resized.reshape(height, width, data.shape[2])


def _declare_random_flip(name: str, axis: int) -> None:
    @_of(name)
    def flip(data: Any, *, key: Any) -> Any:
        if data.ndim != 3:
            return NotImplemented
        if is_drawn_by_host(key):
            return _mirrored(data, axis) if is_heads(key) else data
        # As jax.random.bernoulli: below a half if the first of 64 random bits is 0.
        return data if int(threefry(key, 0, 0)[0]) >> 31 else _mirrored(data, axis)


_declare_random_flip("_image_random_flip_left_right", 1)
_declare_random_flip("_image_random_flip_top_bottom", 0)
