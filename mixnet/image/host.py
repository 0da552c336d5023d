"""Image processing on the host: conversion between arrays and NumPy, decoding, OpenCV resizing."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet.base import (
    AttributeValueError,
    DTypeError,
    NotAnArrayError,
    OperatorValueError,
    ShapeError,
)
from mixnet.context import current_context
from mixnet.files import pixels as encoded
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.ndarray import ndarray as np_ndarray
from mixnet.runtime.record.copy import host_view
from mixnet.runtime.value.state import is_on_host
from mixnet.runtime.value.value import adopt, aligned_empty
from mixnet.util import is_np_array

Size = tuple[int, int]
NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)
_RESIZABLE = ("uint8", "int16", "uint16", "float32", "float64")


def pixels_of(src: NDArray | np.ndarray) -> np.ndarray:
    """The content of an image as NumPy, read-only.

    Raises:
        TypeError: it is not an array.
    """
    if isinstance(src, np.ndarray):
        return src
    if not isinstance(src, NDArray):
        raise NotAnArrayError(f"Argument src must have NDArray type, but got {type(src).__name__}.")
    return host_view(src._read(), "image")


def as_array(pixels: np.ndarray, like: NDArray | np.ndarray | None = None) -> NDArray:
    """A new array with the class and device of ``like``; by default as set by NumPy mode."""
    copied = pixels if is_on_host() else aligned_empty(pixels.shape, pixels.dtype)
    if copied is not pixels:  # on the host arrays may lie anywhere, and are never written to
        copied[...] = pixels
    if isinstance(like, NDArray):
        return type(like)._wrap(adopt(copied, like.context))
    return given_away(copied)


def given_away(data: np.ndarray) -> NDArray:
    """An array that takes ownership of data from ``aligned_empty``."""
    kind = np_ndarray if is_np_array() else NDArray
    return kind._wrap(adopt(data, current_context()))


def on_host(function: Callable[..., np.ndarray], src: NDArray | np.ndarray, *args: object) -> Any:
    """Apply ``function`` to the pixels of ``src``: NumPy for NumPy, an array for an array."""
    result = function(pixels_of(src), *args)
    return result if isinstance(src, np.ndarray) else as_array(result, src)


def decode(content: bytes | np.ndarray | memoryview, flag: int, to_rgb: int) -> np.ndarray:
    """``(height, width, channels)`` of uint8 from the bytes of an image file.

    Args:
        content: of the file.
        flag: 0 for grey, with one channel; 1 for three channels; -1 as stored.
        to_rgb: red first, otherwise blue first.

    Raises:
        FileFormatError: the bytes are not an image, or too few for the declared size.
    """
    import cv2

    mode = {0: cv2.IMREAD_GRAYSCALE, 1: cv2.IMREAD_COLOR}.get(flag, cv2.IMREAD_UNCHANGED)
    if flag == 1 and to_rgb and hasattr(cv2, "IMREAD_COLOR_RGB"):
        # Red first straight from the decoder: no pass over the pixels to change their order.
        mode, to_rgb = cv2.IMREAD_COLOR_RGB, False
    pixels: np.ndarray = encoded.decode(content, mode)
    if to_rgb and pixels.ndim == 3:
        codes = {3: cv2.COLOR_BGR2RGB, 4: cv2.COLOR_BGRA2RGBA}
        pixels = cv2.cvtColor(pixels, codes[pixels.shape[2]])
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def resize(pixels: np.ndarray, width: int, height: int, interp: int) -> np.ndarray:
    """Resize an image ``(height, width, channels)`` with OpenCV.

    Raises:
        ShapeError: it is not an image, or the size is invalid.
        DTypeError: OpenCV does not resize this dtype.
        AttributeValueError: OpenCV does not know the interpolation.
    """
    import cv2

    if pixels.ndim != 3 or 0 in pixels.shape:
        raise ShapeError(f"An image must be (height, width, channels), not {pixels.shape}.")
    if width < 1 or height < 1:
        raise ShapeError(f"An image must have at least 1 x 1 pixels, not {width} x {height}.")
    if pixels.dtype.name not in _RESIZABLE:
        raise DTypeError(
            f"Images of {pixels.dtype.name} cannot be resized; use one of {', '.join(_RESIZABLE)}."
        )
    # MXNet's OpenCV has no other methods; 9 and 10, which choose one by size, were resolved by the caller.
    if not NEAREST <= interp <= cv2.INTER_LINEAR_EXACT:
        raise OperatorValueError(
            f"Unknown interpolation method {interp}: 0 nearest, 1 bilinear, 2 bicubic, 3 area, "
            f"4 Lanczos, 5 bilinear in integers."
        )
    try:
        with _portable(cv2, interp):
            resized = cv2.resize(pixels, (width, height), interpolation=interp)
    except cv2.error as error:
        raise AttributeValueError(
            f"OpenCV cannot resize this image: {str(error).strip()}"
        ) from None
    return resized if resized.ndim == 3 else resized[:, :, None]


class _portable:
    """OpenCV's own bilinear and bicubic kernels, which round as those of MXNet's OpenCV.

    Those of Intel's IPP, which OpenCV uses by default on some processors, differ in the last bits. The
    switch belongs to the thread.
    """

    def __init__(self, cv2: Any, interp: int):
        self._ipp = getattr(cv2, "ipp", None) if interp in (LINEAR, CUBIC) else None

    def __enter__(self) -> None:
        if self._ipp is not None:
            self._before = self._ipp.useIPP()
            self._ipp.setUseIPP(False)

    def __exit__(self, *error: object) -> None:
        if self._ipp is not None:
            self._ipp.setUseIPP(self._before)


def interpolation(
    interp: int, sizes: tuple[int, int, int, int] | None = None, draw: Any = random
) -> int:
    """OpenCV's interpolation for a code.

    Args:
        interp: 0 to 4 are used as given; 9 chooses by the sizes: area to shrink, bicubic to enlarge,
            bilinear where one side shrinks and the other grows; 10 chooses at random.
        sizes: old height and width, new height and width.
        draw: the generator.

    Raises:
        ValueError: another code.
    """
    if interp == 9:
        if not sizes:
            return CUBIC
        old_h, old_w, new_h, new_w = sizes
        if new_h > old_h and new_w > old_w:
            return CUBIC
        return AREA if new_h < old_h and new_w < old_w else LINEAR
    if interp == 10:
        drawn: int = draw.randint(0, 4)
        return drawn
    if interp not in (NEAREST, LINEAR, CUBIC, AREA, LANCZOS):
        raise AttributeValueError(
            f"Unknown interp method {interp}; use 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos, "
            f"9 to choose by size, or 10 at random."
        )
    return interp


def crop(
    pixels: np.ndarray, x0: int, y0: int, w: int, h: int, size: Size | None, interp: int
) -> np.ndarray:
    """A rectangle of an image, resized to ``size`` (width, height) if that is another.

    Raises:
        OperatorValueError: the rectangle has no pixels of the image.
    """
    out = pixels[y0 : y0 + h, x0 : x0 + w]
    if not out.size and pixels.size:
        raise OperatorValueError(
            f"crop: {w} by {h} pixels at ({x0}, {y0}) contain none of an image of {pixels.shape[1]} by "
            f"{pixels.shape[0]}. Give a width and a height above 0, and a corner inside the image."
        )
    if size is None or (w, h) == tuple(size):
        return out
    return resize(out, size[0], size[1], interpolation(interp, (h, w, size[1], size[0])))
