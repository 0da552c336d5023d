"""Augmenters: callables that change an image, and the default augmenter list."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.array_like import has_shape
from mixnet.base import CheckError, DTypeError, IndexingError, NotDefinedError, ShapeError
from mixnet.image.host import Size, as_array, interpolation, pixels_of
from mixnet.image.transform import (
    _area_range,
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.dtype import DTypeLike

GREY = np.array([[[0.299, 0.587, 0.114]]], np.float32)  # luma of ITU-R BT.601
PCA_VALUES = np.array([55.46, 4.794, 1.148])  # of the colours of ImageNet (Krizhevsky et al. 2012)
PCA_VECTORS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)
IMAGENET_MEAN = np.array([123.68, 116.28, 103.53])
IMAGENET_STD = np.array([58.395, 57.12, 57.375])


class WithArguments:
    """Keeps the arguments that an augmenter was created with, for :meth:`dumps`."""

    def __init__(self, **kwargs: object):
        for key, value in kwargs.items():
            if isinstance(value, NDArray):
                value = value.asnumpy()
            kwargs[key] = value.tolist() if isinstance(value, np.ndarray) else value
        self._kwargs = kwargs

    def dumps(self) -> Any:
        """JSON of the lower-case name and the arguments."""
        return json.dumps([self.__class__.__name__.lower(), self._kwargs])

    @property
    def _mx_parts(self) -> Sequence[WithArguments]:
        """The augmenters that it calls."""
        return ()


class Augmenter(WithArguments):
    """Base of augmenters: override ``__call__``.

    Args:
        kwargs: the arguments that :meth:`dumps` returns; arrays become lists.
    """

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        """The transformed image; an array for an array, NumPy for NumPy.

        Args:
            src: ``(height, width, channels)``.
        """
        raise NotDefinedError(f"{type(self).__name__} does not define __call__(self, src).")


class _Augmenters(Augmenter):
    """Augmenters that are called one after another."""

    def __init__(self, ts: list[Augmenter]):
        super().__init__()
        self.ts = ts

    @property
    def _mx_parts(self) -> Sequence[Augmenter]:
        return self.ts

    def dumps(self) -> Any:
        """JSON of the name and of the parts."""
        return [self.__class__.__name__.lower(), [each.dumps() for each in self.ts]]


class SequentialAug(_Augmenters):
    """A sequence of augmenters.

    Args:
        ts: list of augmenters.
    """

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        for each in self.ts:
            src = each(src)
        return src


class RandomOrderAug(_Augmenters):
    """A sequence of augmenters in a random order, drawn for each image.

    Args:
        ts: list of augmenters.
    """

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        random.shuffle(self.ts)
        for each in self.ts:
            src = each(src)
        return src


class ResizeAug(Augmenter):
    """Resize the shorter side to a given size.

    Args:
        size: pixels of the shorter side.
        interp: interpolation code.
    """

    def __init__(self, size: int, interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        return resize_short(src, self.size, self.interp)


class _SizedAugmenter(Augmenter):
    """Resize or crop images to one size, (width, height)."""

    def __init__(self, size: Size, interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp


class ForceResizeAug(_SizedAugmenter):
    """Resize to a given size, ignoring the aspect ratio.

    Args:
        size: (width, height).
        interp: interpolation code.
    """

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        h, w = src.shape[:2]
        width, height = self.size
        from_to = (h, w, height, width)
        return imresize(src, width, height, interp=interpolation(self.interp, from_to))


class RandomCropAug(_SizedAugmenter):
    """Crop a rectangle at a random position.

    Args:
        size: (width, height).
        interp: interpolation code, used if the image is smaller.
    """

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Crop a rectangle of random area, aspect ratio and position, and resize it.

    Args:
        size: (width, height).
        area: minimum fraction of the image, or minimum and maximum.
        ratio: minimum and maximum ratio of width to height.
        interp: interpolation code.
        kwargs: ``min_area``, an older name of ``area``.
    """

    def __init__(
        self,
        size: Size,
        area: ArrayLike,
        ratio: tuple[float, float],
        interp: int = 2,
        **kwargs: object,
    ):
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size = size
        self.area = _area_range("RandomSizedCropAug", area, kwargs)
        self.ratio = ratio
        self.interp = interp

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(_SizedAugmenter):
    """Crop the rectangle in the centre.

    Args:
        size: (width, height).
        interp: interpolation code, used if the image is smaller.
    """

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        return center_crop(src, self.size, self.interp)[0]


@contextlib.contextmanager
def _colours_of(pixels: np.ndarray, augmenter: Augmenter) -> Iterator[None]:
    """Report an image whose axes do not fit the arithmetic of an augmenter."""
    try:
        yield
    except ValueError as error:
        raise ShapeError(
            f"{type(augmenter).__name__} takes images of shape (height, width, 3), not {pixels.shape}."
        ) from error


class _ColourAugmenter(Augmenter):
    """Changes the colours of a float image in place, as MXNet does."""

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        pixels = np.array(pixels_of(src))
        if isinstance(src, np.ndarray):
            pixels = src if src.flags.writeable else pixels
        if pixels.dtype.kind != "f" and not self._takes_integers:
            raise DTypeError(
                f"{type(self).__name__} takes images of floats, not {pixels.dtype.name}; put "
                f"CastAug() before it."
            )
        with _colours_of(pixels, self):
            self._change(pixels)
        if isinstance(src, np.ndarray):
            return pixels
        src[:] = as_array(pixels, src)
        return src

    _takes_integers = False

    def _change(self, pixels: np.ndarray) -> None:
        raise NotImplementedError


def _factor(change: float) -> float:
    """A random number that differs from 1 by at most ``change``."""
    return 1.0 + random.uniform(-change, change)


class BrightnessJitterAug(_ColourAugmenter):
    """Multiply the brightness by ``1 + uniform(-brightness, brightness)``.

    Args:
        brightness: maximum change, 0 to 1.
    """

    _takes_integers = True

    def __init__(self, brightness: float):
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def _change(self, pixels: np.ndarray) -> None:
        alpha = _factor(self.brightness)
        pixels *= np.asarray(alpha).astype(pixels.dtype)


class ContrastJitterAug(_ColourAugmenter):
    """Blend the image with its mean grey value.

    Args:
        contrast: maximum change, 0 to 1.
    """

    def __init__(self, contrast: float):
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = array(GREY)

    def _change(self, pixels: np.ndarray) -> None:
        alpha = _factor(self.contrast)
        grey = pixels.reshape(-1, 3).sum(axis=0, dtype=np.float64) @ GREY[0, 0]
        pixels *= np.float32(alpha)
        pixels += np.float32(3.0 * (1.0 - alpha) / pixels.size * grey)


class SaturationJitterAug(_ColourAugmenter):
    """Blend the image with its greyscale version.

    Args:
        saturation: maximum change, 0 to 1.
    """

    def __init__(self, saturation: float):
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = array(GREY)

    def _change(self, pixels: np.ndarray) -> None:
        alpha = _factor(self.saturation)
        grey = (pixels @ GREY[0, 0])[:, :, None]
        grey *= np.float32(1.0 - alpha)
        pixels *= np.float32(alpha)
        pixels += grey


class HueJitterAug(Augmenter):
    """Rotate the hue, in the YIQ colour space.

    Args:
        hue: maximum change; 1 is a rotation by 180 degrees.
    """

    def __init__(self, hue: float):
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = np.array(
            [[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]]
        )
        self.ityiq = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        alpha = random.uniform(-self.hue, self.hue)
        u, w = np.cos(alpha * np.pi), np.sin(alpha * np.pi)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, u, -w], [0.0, w, u]])
        return _mixed(src, (self.ityiq @ turn @ self.tyiq).T.astype(np.float32), self)


def _mixed(src: NDArray | np.ndarray, matrix: np.ndarray, augmenter: Augmenter) -> Any:
    """Colours times a matrix."""
    pixels = pixels_of(src)
    if pixels.dtype.kind != "f":
        raise DTypeError(
            f"{type(augmenter).__name__} takes images of floats, not {pixels.dtype.name}; put "
            f"CastAug() before it."
        )
    with _colours_of(pixels, augmenter):
        mixed = pixels @ matrix
    return mixed if isinstance(src, np.ndarray) else as_array(mixed, src)


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation in random order.

    Args:
        brightness: maximum change, 0 for none.
        contrast: the same.
        saturation: the same.
    """

    def __init__(self, brightness: float, contrast: float, saturation: float):
        parts: list[Augmenter] = []
        if brightness > 0:
            parts.append(BrightnessJitterAug(brightness))
        if contrast > 0:
            parts.append(ContrastJitterAug(contrast))
        if saturation > 0:
            parts.append(SaturationJitterAug(saturation))
        super().__init__(parts)


class LightingAug(_ColourAugmenter):
    """Noise along the principal axes of colours (Krizhevsky et al. 2012, section 4.1).

    Args:
        alphastd: standard deviation of the noise.
        eigval: ``(3,)``.
        eigvec: ``(3, 3)``, in columns.
    """

    def __init__(self, alphastd: float, eigval: np.ndarray, eigvec: np.ndarray):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = eigval
        self.eigvec = eigvec

    def _change(self, pixels: np.ndarray) -> None:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        pixels += np.dot(self.eigvec * alpha, self.eigval).astype(np.float32)


class ColorNormalizeAug(Augmenter):
    """Subtract a mean and divide by a standard deviation, in place.

    Args:
        mean: for each channel; None skips this step.
        std: the same.
    """

    def __init__(self, mean: ArrayLike | None, std: ArrayLike | None):
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, NDArray) else array(mean)
        self.std = std if std is None or isinstance(std, NDArray) else array(std)
        self._host = tuple(None if v is None else v.asnumpy() for v in (self.mean, self.std))

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        if isinstance(src, np.ndarray):
            return color_normalize(src if src.flags.writeable else src.copy(), *self._host)
        changed = color_normalize(np.array(pixels_of(src)), *self._host)
        src[:] = as_array(changed, src)
        return src


class RandomGrayAug(Augmenter):
    """Convert to grey with probability ``p``, in three channels.

    Args:
        p: probability.
    """

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p
        self.mat = array([[0.21, 0.21, 0.21], [0.72, 0.72, 0.72], [0.07, 0.07, 0.07]])

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        if random.random() < self.p:
            src = _mixed(src, self.mat.asnumpy(), self)
        return src


class HorizontalFlipAug(Augmenter):
    """Mirror left to right with probability ``p``.

    Args:
        p: probability.
    """

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        if random.random() < self.p:
            flipped = pixels_of(src)[:, ::-1]
            src = flipped if isinstance(src, np.ndarray) else as_array(flipped, src)
        return src


class CastAug(Augmenter):
    """Convert to a dtype.

    Args:
        typ: dtype.
    """

    def __init__(self, typ: DTypeLike = "float32"):
        super().__init__(type=typ)
        self.typ: Any = typ

    def __call__(self, src: NDArray | np.ndarray) -> Any:
        return src.astype(self.typ)


def _normalizer(mean: ArrayLike | None, std: ArrayLike | None) -> list[Augmenter]:
    """The normalization for ``mean`` and ``std``; True means ImageNet's values."""
    values = []
    for value, default in ((mean, IMAGENET_MEAN), (std, IMAGENET_STD)):
        if value is True:
            value = array(default)
        elif value is not None and (not has_shape(value) or value.shape[0] not in (1, 3)):
            raise CheckError(
                f"mean and std must be arrays of 1 or 3 numbers, True or None, not {value!r}."
            )
        values.append(value)
    return [] if all(value is None for value in values) else [ColorNormalizeAug(*values)]


def CreateAugmenter(
    data_shape: tuple[int, int, int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: ArrayLike | None = None,
    std: ArrayLike | None = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """The default list of augmenters for classification.

    Args:
        data_shape: ``(channels, height, width)`` of the result.
        resize: shorter side, before cropping; 0 for no resizing.
        rand_crop: crop at a random position, otherwise at the centre.
        rand_resize: also crop a random size; requires ``rand_crop``.
        rand_mirror: mirror half of the images.
        mean: subtracted from each channel; True for ImageNet's.
        std: divides each channel; True for ImageNet's.
        brightness: maximum change, 0 to 1.
        contrast: the same.
        saturation: the same.
        hue: the same.
        pca_noise: standard deviation of the PCA colour noise.
        rand_gray: probability of grey.
        inter_method: interpolation code.

    Raises:
        AssertionError: ``rand_resize`` without ``rand_crop``; an invalid mean.
    """
    if len(data_shape) != 3:
        raise IndexingError(f"data_shape must be (channels, height, width), not {data_shape!r}.")
    chain: list[Augmenter] = []
    if resize > 0:
        chain.append(ResizeAug(resize, inter_method))
    size = (data_shape[2], data_shape[1])
    if rand_resize:
        if not rand_crop:
            raise CheckError("rand_resize needs rand_crop=True.")
        chain.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    elif rand_crop:
        chain.append(RandomCropAug(size, inter_method))
    else:
        chain.append(CenterCropAug(size, inter_method))
    if rand_mirror:
        chain.append(HorizontalFlipAug(0.5))
    chain.append(CastAug())
    return chain + _colour_chain(
        brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std
    )


def _colour_chain(
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
    mean: ArrayLike | None,
    std: ArrayLike | None,
) -> list[Augmenter]:
    chain: list[Augmenter] = []
    if brightness or contrast or saturation:
        chain.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        chain.append(HueJitterAug(hue))
    if pca_noise > 0:
        chain.append(LightingAug(pca_noise, PCA_VALUES, PCA_VECTORS))
    if rand_gray > 0:
        chain.append(RandomGrayAug(rand_gray))
    return chain + _normalizer(mean, std)
