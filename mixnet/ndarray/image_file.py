"""Decoding images from the bytes of a file."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from mixnet.base import FileFormatError, MXNetError
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
        MXNetError: Pillow is not installed.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise MXNetError("imdecode needs Pillow: pip install pillow.") from None
    try:
        with Image.open(io.BytesIO(str_img)) as image:
            pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"), np.float32)
    except UnidentifiedImageError:
        raise FileFormatError("imdecode: the bytes are no image that Pillow reads.") from None
    pixels = pixels[..., None] if channels == 1 else pixels[..., ::-1]
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
