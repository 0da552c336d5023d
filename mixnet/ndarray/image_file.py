"""Decoding encoded images."""

from __future__ import annotations

import numpy as np

from mixnet.files import pixels as encoded
from mixnet.files.reading import content_of
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

    Replaced by ``mx.image.imdecode``.

    Args:
        str_img: content of a JPEG or PNG file.
        clip_rect: ``(x0, y0, x1, y1)`` to cut out; all zeros for the whole.
        out: an array of a batch that the image is written to, at ``index``.
        index: place in ``out``.
        channels: 1 for grey, 3 for colours.
        mean: subtracted from the pixels.

    Raises:
        FileFormatError: the bytes are not an image.
    """
    import cv2

    flag = cv2.IMREAD_GRAYSCALE if channels == 1 else cv2.IMREAD_COLOR
    pixels = encoded.decode(str_img, flag, "imdecode")
    pixels = pixels.astype(np.float32).reshape(*pixels.shape[:2], -1)
    x0, y0, x1, y1 = clip_rect
    if any(clip_rect):
        pixels = pixels[y0:y1, x0:x1]
    image = array(np.ascontiguousarray(pixels.transpose(2, 0, 1))[None])
    if mean is not None:
        image = image - mean
    if out is None:
        return image
    out[index : index + 1] = image
    return out


def imread(
    filename: str, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None
) -> NDArray:
    """The pixels of an image file, ``(height, width, channels)`` of uint8.

    Args:
        filename: path of a JPEG, PNG, ... file.
        flag: 1 for three channels, 0 for one.
        to_rgb: red first, else blue first.
        out: an array to write to.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is no image.
    """
    import cv2

    mode = cv2.IMREAD_COLOR if flag else cv2.IMREAD_GRAYSCALE
    pixels = encoded.decode(content_of(filename), mode, "imread")
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    if flag and to_rgb:
        pixels = pixels[..., ::-1]
    image = array(np.ascontiguousarray(pixels), dtype=np.uint8)
    if out is None:
        return image
    out[:] = image
    return out
