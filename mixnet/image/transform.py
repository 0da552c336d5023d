"""Decoding, resizing, cropping and rotating images ``(height, width, channels)``."""

from __future__ import annotations

import math
import os
import random
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    DTypeError,
    FileFormatError,
    MXNetError,
    SizeError,
)
from mixnet.files.reading import content_of
from mixnet.image import host
from mixnet.image.host import Size, as_array, interpolation, on_host
from mixnet.ndarray import _internal
from mixnet.ndarray.create import array
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _into(out: NDArray | np.ndarray | None, result: object) -> Any:
    if out is None:
        return result
    out[:] = result
    return out


def _decoded(
    buf: Any,
    flag: int = 1,
    to_rgb: Any = True,
    out: Any = None,
) -> Any:
    if flag not in (0, 1):
        raise MXNetError(f"imdecode: flag must be 0 for grey or 1 for colour, not {flag!r}.")
    return _into(out, as_array(host.decode(buf, flag, to_rgb)))


def imdecode(
    buf: bytes | bytearray | memoryview | np.ndarray | NDArray, *args: Any, **kwargs: Any
) -> Any:
    """The pixels of an encoded image.

    Args:
        buf: content of a JPEG, PNG, ... file: bytes, bytearray, NumPy array or array of uint8.
        args: ``flag``, 1 for three channels or 0 for one; ``to_rgb``, red first (the default) or
            blue first; ``out``, an array to write to.
        kwargs: the same by name.

    Returns:
        ``(height, width, channels)`` of uint8.

    Raises:
        ValueError: ``buf`` is not a buffer.
        FileFormatError: the bytes are not an image.
    """
    if isinstance(buf, NDArray):
        if buf.dtype != np.uint8:
            raise MXNetError(
                f"imdecode: the buffer must be of uint8, not {np.dtype(buf.dtype).name}."
            )
        buf = buf.asnumpy()
    elif not isinstance(buf, (bytes, bytearray, memoryview, np.ndarray)):
        raise AttributeValueError(
            f"imdecode: buf must be of type bytes, bytearray or numpy.ndarray, not {type(buf).__name__}; "
            f"imread reads a file by its name."
        )
    return _decoded(buf, *args, **kwargs)


def imread(filename: str, *args: Any, **kwargs: Any) -> Any:
    """The pixels of an image file; arguments as :func:`imdecode`.

    Args:
        filename: path of the file.
        args: ``flag``, ``to_rgb`` and ``out`` of :func:`imdecode`.
        kwargs: the same by name.

    Raises:
        MXNetError: the file cannot be read.
        FileFormatError: it is not an image.
    """
    content = content_of(filename if isinstance(filename, os.PathLike) else str(filename))
    try:
        return _decoded(content, *args, **kwargs)
    except FileFormatError as error:
        raise FileFormatError(f"{filename}: {error}") from None


def imresize(src: NDArray | np.ndarray, w: int, h: int, *args: Any, **kwargs: Any) -> Any:
    """Resize an image.

    Args:
        src: ``(height, width, channels)``.
        w: new width.
        h: new height.
        args: ``interp``, OpenCV's code, 1 (bilinear) by default; ``out``.
        kwargs: the same by name.
    """
    return _resized(src, w, h, *args, **kwargs)


def _resized(
    src: NDArray | np.ndarray,
    w: int,
    h: int,
    interp: int = 1,
    out: NDArray | np.ndarray | None = None,
) -> Any:
    for name, extent in (("w", w), ("h", h)):
        if not isinstance(extent, (int, float, np.number)):
            raise AttributeTypeError(
                f"imresize: {name} must be a number of pixels, not {extent!r:.60}."
            )
    return _into(out, on_host(host.resize, src, int(w), int(h), int(interp)))


def extents_of(src: NDArray | np.ndarray) -> tuple[int, int]:
    """Height and width of an image.

    Raises:
        SizeError: it does not have three axes.
    """
    if len(src.shape) != 3:
        raise SizeError(f"An image must be (height, width, channels), not {src.shape}.")
    return src.shape[0], src.shape[1]


def scale_down(src_size: Size, size: Size) -> Size:
    """Shrink a size (width, height), keeping its aspect ratio, until it fits into ``src_size``."""
    try:
        w, h = size
    except TypeError:
        raise AttributeTypeError(
            f"A size must be (width, height), such as (224, 224), not {size!r:.60}."
        ) from None
    sw, sh = src_size
    if sh < h:
        w, h = float(w * sh) / h, sh  # type: ignore[assignment]
    if sw < w:
        w, h = sw, float(h * sw) / w  # type: ignore[assignment]
    return int(w), int(h)


def resize_short(src: NDArray | np.ndarray, size: int, interp: int = 2) -> Any:
    """Resize an image so that its shorter side has ``size`` pixels.

    Args:
        src: an image ``(height, width, channels)``.
        interp: method of interpolation, as for :func:`imresize`.
    """
    h, w = extents_of(src)
    if h > w:
        new_h, new_w = size * h // w, size
    else:
        new_h, new_w = size, size * w // h
    return imresize(src, new_w, new_h, interp=interpolation(interp, (h, w, new_h, new_w)))


def copyMakeBorder(
    src: NDArray | np.ndarray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
    out: NDArray | np.ndarray | None = None,
) -> Any:
    """Add a border to an image.

    Args:
        src: ``(height, width, channels)``.
        top: rows above.
        bot: rows below.
        left: columns before.
        right: columns after.
        type: OpenCV's border type: 0 constant, 1 replicate, 2 reflect, 3 wrap, 4 reflect without
            the edge.
        value: of a constant border, for all channels.
        values: of a constant border, per channel.
        out: array to write to.
    """
    import cv2

    def border(pixels: np.ndarray) -> np.ndarray:
        channels = tuple(np.atleast_1d(values).tolist())
        fill = channels or (value,) * 4
        try:
            bordered = cv2.copyMakeBorder(pixels, top, bot, left, right, type, value=fill)
        except cv2.error as error:
            raise MXNetError(f"copyMakeBorder: {str(error).strip()}") from None
        return bordered if bordered.ndim == 3 else bordered[:, :, None]

    return _into(out, on_host(border, src))


def fixed_crop(
    src: NDArray | np.ndarray,
    x0: int,
    y0: int,
    w: int,
    h: int,
    size: Size | None = None,
    interp: int = 2,
) -> Any:
    """Crop ``w`` × ``h`` pixels at ``(x0, y0)``, and resize to ``size`` if given.

    Args:
        src: ``(height, width, channels)``.
        x0: left edge.
        y0: upper edge.
        w: width.
        h: height.
        size: (width, height) of the result.
        interp: see :func:`mixnet.image.host.interpolation`.
    """
    return on_host(host.crop, src, int(x0), int(y0), int(w), int(h), size, interp)


def random_crop(
    src: NDArray | np.ndarray, size: Size, interp: int = 2
) -> tuple[Any, tuple[int, int, int, int]]:
    """Crop a rectangle of ``size`` at a random position; from a smaller image, the largest one, enlarged.

    Args:
        src: an image ``(height, width, channels)``.
        interp: method of interpolation, as for :func:`imresize`.

    Returns:
        The image and its position ``(x0, y0, width, height)``.
    """
    h, w = extents_of(src)
    new_w, new_h = scale_down((w, h), size)
    return _crop_somewhere(src, new_w, new_h, size, interp)


def _crop_somewhere(
    src: NDArray | np.ndarray, width: int, height: int, size: Size, interp: int
) -> tuple[Any, tuple[int, int, int, int]]:
    """Crop a rectangle at a random position, and resize it; the image and the position."""
    h, w = extents_of(src)
    x0 = random.randint(0, w - width)
    y0 = random.randint(0, h - height)
    return fixed_crop(src, x0, y0, width, height, size, interp), (x0, y0, width, height)


def center_crop(
    src: NDArray | np.ndarray, size: Size, interp: int = 2
) -> tuple[Any, tuple[int, int, int, int]]:
    """Crop a rectangle of ``size`` at the centre; from a smaller image, the largest one, enlarged.

    Args:
        src: an image ``(height, width, channels)``.
        interp: method of interpolation, as for :func:`imresize`.

    Returns:
        The image and its position ``(x0, y0, width, height)``.
    """
    h, w = extents_of(src)
    new_w, new_h = scale_down((w, h), size)
    x0, y0 = int((w - new_w) / 2), int((h - new_h) / 2)
    return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)


def color_normalize(
    src: NDArray | np.ndarray, mean: ArrayLike | None, std: ArrayLike | None = None
) -> Any:
    """``(src - mean) / std`` of an image, in place; None skips a step.

    Raises:
        DTypeError: ``mean`` or ``std`` is of floats, the image of whole numbers.
    """
    try:
        if mean is not None:
            src -= mean
        if std is not None:
            src /= std
    except TypeError as error:
        if isinstance(error, MXNetError):
            raise
        raise DTypeError(
            f"color_normalize: {error}; make the image float with astype('float32')."
        ) from None
    return src


def _area_range(name: str, area: ArrayLike, kwargs: dict[str, Any]) -> Any:
    if "min_area" in kwargs:
        warnings.warn(
            "`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=3
        )
        area = kwargs.pop("min_area")
    if kwargs:
        raise CheckError(f"unexpected keyword arguments for `{name}`: {sorted(kwargs)}.")
    return area


def random_size_crop(
    src: NDArray | np.ndarray,
    size: Size,
    area: Any,
    ratio: tuple[float, float],
    interp: int = 2,
    **kwargs: object,
) -> tuple[Any, tuple[int, int, int, int]]:
    """Crop a random area, aspect ratio and position, and resize (Szegedy et al. 2015, "Going deeper").

    Args:
        src: ``(height, width, channels)``.
        size: (width, height) of the result.
        area: minimum fraction of the image, or minimum and maximum.
        ratio: minimum and maximum ratio of width to height.
        interp: see :func:`mixnet.image.host.interpolation`.
        kwargs: ``min_area``, an older name of ``area``.

    Returns:
        The image and its position ``(x0, y0, width, height)``. After ten rectangles that do
        not fit, it is the centre crop.
    """
    area = _area_range("random_size_crop", area, kwargs)
    if isinstance(area, Number):
        area = (area, 1.0)
    h, w = extents_of(src)
    log_ratio = [float(np.log(each)) for each in ratio]
    for _ in range(10):
        target = random.uniform(area[0], area[1]) * (h * w)
        shape = float(np.exp(random.uniform(*log_ratio)))
        new_w = round(math.sqrt(target * shape))
        new_h = round(math.sqrt(target / shape))
        if new_w <= w and new_h <= h:
            return _crop_somewhere(src, new_w, new_h, size, interp)
    return center_crop(src, size, interp)


def _rotation_grid(h: int, w: int, degrees: float, zoom_in: bool, zoom_out: bool) -> np.ndarray:
    """The sampling position of each pixel of the result, ``(2, h, w)`` from -1 to 1."""
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    x -= (w - 1) / 2
    y -= (h - 1) / 2
    scale = 1.0
    if zoom_in or zoom_out:
        # Width and height of the rotated frame, in those of the image.
        wide = (w * abs(cos) + h * abs(sin)) / w
        high = (w * abs(sin) + h * abs(cos)) / h
        scale = 1 / max(wide, high) if zoom_in else max(wide, high)
    return np.stack([
        (x * cos - y * sin) * scale / ((w - 1) / 2),
        (x * sin + y * cos) * scale / ((h - 1) / 2),
    ]).astype(np.float32)  # fmt: skip


def imrotate(src: Any, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False) -> Any:
    """Rotate images about their centres; uncovered pixels are 0.

    Args:
        src: ``(channels, height, width)``, or a batch of them, of float32.
        rotation_degrees: a number, or an array of one number for each image of a batch.
        zoom_in: enlarge until no corner is empty.
        zoom_out: shrink until the whole image is seen.

    Raises:
        ValueError: both zooms are set, or the number of angles and images differs.
        TypeError: the dtype is not float32, or a single image has an array of angles.
    """
    if zoom_in and zoom_out:
        raise AttributeValueError("`zoom_in` and `zoom_out` cannot be both True; give one of them.")
    if src.dtype != np.float32:
        raise AttributeTypeError(
            f"Images to rotate must be float32, not {np.dtype(src.dtype).name}; cast them with "
            f"astype('float32')."
        )
    single = src.ndim == 3
    if single and not isinstance(rotation_degrees, Number):
        raise AttributeTypeError(
            f"rotation_degrees must be one number for a single image, not {rotation_degrees!r:.60}."
        )
    if not single and src.ndim != 4:
        raise AttributeValueError(
            f"Images to rotate must be (channels, height, width) or (batch, channels, height, width), "
            f"not {src.shape}."
        )
    h, w = src.shape[-2:]
    count = 1 if single else src.shape[0]
    if isinstance(rotation_degrees, Number):
        angles = [float(rotation_degrees)] * count  # type: ignore[arg-type]
    else:
        angles = [float(each) for each in np.ravel(_plain(rotation_degrees))]
    if len(angles) != count:
        raise AttributeValueError(
            f"{len(angles)} rotation angles for {count} images; give one number, or one for each image."
        )
    grids = np.stack([_rotation_grid(h, w, each, zoom_in, zoom_out) for each in angles])
    batch = src.expand_dims(axis=0) if single else src
    grid = array(grids, src.context)
    rotated = invoke(find("BilinearSampler"), (batch, type(src)._wrap(grid._read())), {})
    return rotated[0] if single else rotated


def _plain(values: object) -> np.ndarray:
    return values.asnumpy() if isinstance(values, NDArray) else np.asarray(values)


def random_rotate(
    src: NDArray | np.ndarray,
    angle_limits: tuple[float, float],
    zoom_in: bool = False,
    zoom_out: bool = False,
) -> Any:
    """Rotate images by random angles from ``angle_limits`` (degrees), drawn from NumPy's generator.

    Arguments as :func:`imrotate`.

    Args:
        src: an image ``(channels, height, width)``, or a batch of them.
        zoom_in: enlarge until no corner is empty.
        zoom_out: shrink until the whole image is seen.
    """
    angles: Any
    if src.ndim == 3:
        angles = np.random.uniform(*angle_limits)
    else:
        angles = array(np.random.uniform(*angle_limits, size=src.shape[0]))
    return imrotate(src, angles, zoom_in=zoom_in, zoom_out=zoom_out)


__all__ = [
    "center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imdecode", "imread",
    "imresize", "imrotate", "random_crop", "random_rotate", "random_size_crop", "resize_short",
    "scale_down",
]  # fmt: skip


# The names of MXNet's operators behind these functions, which programs call in mx.nd._internal.
for _name, _function in (
    ("_cvimdecode", imdecode),
    ("_cvimresize", imresize),
    ("_cvcopyMakeBorder", copyMakeBorder),
):
    setattr(_internal, _name, _function)
