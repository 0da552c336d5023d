"""Decoding images from the bytes of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet import pixels as encoded
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray


def imdecode(
    str_img: bytes,
    clip_rect: tuple[int, int, int, int] = (0, 0, 0, 0),
    out: NDArray | None = None,
    index: int = 0,
    channels: int = 3,
    mean: NDArray | None = None,
) -> NDArray:
    """The pixels of an encoded image, ``(1, channels, height, width)`` in float32, blue first.

    ``mx.image.imdecode`` is what replaced it.

    Args:
        str_img: content of a JPEG or PNG file.
        clip_rect: ``(x0, y0, x1, y1)`` to cut out; all zeros for the whole.
        out: an array of a batch that the image is written to, at ``index``.
        index: place in ``out``.
        channels: 1 for grey, 3 for colours.
        mean: taken off the pixels.

    Raises:
        FileFormatError: the bytes are no image.
    """
    import cv2

    flag = cv2.IMREAD_GRAYSCALE if channels == 1 else cv2.IMREAD_COLOR
    pixels = encoded.decode(str_img, flag, "imdecode")
    pixels = pixels.astype(np.float32).reshape(*pixels.shape[:2], -1)
    x0, y0, x1, y1 = clip_rect
    if any(clip_rect):
        pixels = pixels[y0:y1, x0:x1]
    made: Any = array(np.ascontiguousarray(pixels.transpose(2, 0, 1))[None])
    if mean is not None:
        made = made - mean
    if out is None:
        return made
    out[index : index + 1] = made
    return out
