"""Image processing of record iterators: the default augmenter, and conversion to numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet.base import MXNetError
from mixnet.image.augment import GREY, PCA_VALUES, PCA_VECTORS
from mixnet.image.draw import Draws
from mixnet.image.host import AREA, NEAREST, interpolation, resize
from mixnet.io.parameters import Parameters


class AugmentParameters(Parameters):
    """Parameters of the default augmenter, in the order in which they are applied.

    Args:
        resize: shorter side, applied first; -1 for no resizing.
        rand_crop: crop at a random position, otherwise at the centre.
        random_resized_crop: crop a random area and aspect ratio, and resize it.
        max_rotate_angle: greatest random angle, degrees.
        max_aspect_ratio: greatest change of the aspect ratio, or the greatest ratio of
            ``random_resized_crop``.
        min_aspect_ratio: least ratio of ``random_resized_crop``.
        max_shear_ratio: greatest random shear.
        max_crop_size: greatest side of a random square that is cropped and resized; -1 for none.
        min_crop_size: least side of it.
        max_random_scale: greatest random scale.
        min_random_scale: least random scale.
        max_random_area: greatest share of the area in ``random_resized_crop``.
        min_random_area: least share.
        max_img_size: greatest width and height after scaling.
        min_img_size: least width and height after scaling.
        brightness: greatest change of brightness, 0 to 1.
        contrast: the same of contrast.
        saturation: the same of saturation.
        pca_noise: standard deviation of the PCA colour noise.
        random_h: greatest change of the hue, 0 to 180.
        random_s: greatest change of the saturation, 0 to 255.
        random_l: greatest change of the lightness, 0 to 255.
        rotate: angle in degrees; -1 for none.
        fill_value: of pixels that the image does not cover.
        data_shape: ``(channels, height, width)``.
        inter_method: interpolation code.
        pad: width of a border, before cropping.
    """

    resize: int = -1
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = 1e10
    min_img_size: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    pca_noise: float = 0.0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    rotate: int = -1
    fill_value: int = 255
    inter_method: int = 1
    pad: int = 0


def warp(
    pixels: np.ndarray, matrix: np.ndarray, size: tuple[int, int], fill: int, interp: int
) -> Any:
    """An affine transform of an image, with positions rounded to 1/32 pixel as in MXNet's OpenCV.

    Args:
        pixels: ``(height, width, channels)``.
        matrix: ``(2, 3)``, from positions in the image to positions in the result.
        size: (width, height) of the result.
        fill: of pixels that the image does not cover.
        interp: interpolation code.
    """
    import cv2

    inverse = cv2.invertAffineTransform(matrix.astype(np.float64))
    width, height = size
    one, half = 1024, 512 if interp == NEAREST else 16
    x, y = np.arange(width), np.arange(height)[:, None]
    places = [
        np.rint((row[1] * y + row[2]) * one).astype(np.int64)
        + half
        + np.rint(row[0] * x * one).astype(np.int64)
        for row in inverse
    ]
    border = {"borderMode": cv2.BORDER_CONSTANT, "borderValue": (fill,) * 4}
    if interp == NEAREST:
        positions = np.stack([each >> 10 for each in places], -1).astype(np.int16)
        return cv2.remap(pixels, positions, None, cv2.INTER_NEAREST, **border)  # type: ignore[call-overload]
    u, v = (each >> 5 for each in places)
    positions = np.stack([u >> 5, v >> 5], -1).astype(np.int16)
    parts = ((v & 31) * 32 + (u & 31)).astype(np.uint16)
    code = cv2.INTER_LINEAR if interp == AREA else interp  # there is no area to average in a map
    return cv2.remap(pixels, positions, parts, code, **border)  # type: ignore[call-overload]


class DefaultAugmenter:
    """The operations defined by the parameters, on images ``(height, width, channels)``.

    Args:
        settings: the parameters.
        height: of the result.
        width: of the result.

    Raises:
        MXNetError: two kinds of cropping are requested.
    """

    def __init__(self, settings: AugmentParameters, height: int, width: int):
        crops = settings.min_crop_size != -1 or settings.max_crop_size != -1 or settings.rand_crop
        if settings.random_resized_crop and (
            crops or settings.min_random_scale != 1 or settings.max_random_scale != 1
        ):
            raise MXNetError(
                "Setting random_resized_crop to true conflicts with min_random_scale, "
                "max_random_scale, min_crop_size, max_crop_size, and rand_crop."
            )
        self.settings = settings
        self.height, self.width = height, width
        self._affine = (
            settings.max_rotate_angle > 0
            or settings.max_shear_ratio > 0
            or settings.rotate > 0
            or settings.max_random_scale != 1
            or settings.min_random_scale != 1
            or (settings.max_aspect_ratio != 0 and not settings.random_resized_crop)
            or settings.max_img_size != 1e10
            or settings.min_img_size != 0
        )
        self._squares = settings.max_crop_size != -1 or settings.min_crop_size != -1
        jitters = {
            "brightness": settings.brightness,
            "contrast": settings.contrast,
            "saturation": settings.saturation,
        }
        self._jitters = {name: most for name, most in jitters.items() if most > 0}
        self.is_random = bool(
            settings.rand_crop or settings.random_resized_crop or self._affine or self._squares
            or self._jitters or settings.pca_noise or settings.random_h or settings.random_s
            or settings.random_l or settings.inter_method == 10
        )  # fmt: skip

    @property
    def words(self) -> int | None:
        """How many words an image takes; None: it depends on the image."""
        settings = self.settings
        depends = (
            settings.random_resized_crop or self._jitters or settings.pca_noise
            or settings.random_h or settings.random_s or settings.random_l
            or settings.inter_method == 10
        )  # fmt: skip
        if depends:
            return None
        return 4 * self._affine + self._squares + 2 * settings.rand_crop

    def __call__(self, pixels: np.ndarray, draw: Draws) -> np.ndarray:
        """The transformed image, uint8.

        Args:
            pixels: red first.
            draw: the generator.
        """
        settings = self.settings
        if settings.resize > 0:
            h, w = pixels.shape[:2]
            wide = (w, settings.resize * h // w), (settings.resize * w // h, settings.resize)
            size = (settings.resize, wide[0][1]) if h > w else wide[1]
            pixels = self._resize(pixels, size[1], size[0], draw)
        if self._affine:
            pixels = self._warped(pixels, draw)
        if settings.pad > 0:
            pixels = self._padded(pixels)
        pixels = self._cropped(pixels, draw)
        if (
            self._jitters
            or settings.pca_noise > 0
            or settings.random_h
            or settings.random_s
            or settings.random_l
        ):
            pixels = self._coloured(pixels, draw)
        return pixels

    def _resize(self, pixels: np.ndarray, height: int, width: int, draw: Draws) -> Any:
        h, w = pixels.shape[:2]
        code = interpolation(self.settings.inter_method, (h, w, height, width), draw)
        return resize(pixels, width, height, code)

    def _warped(self, pixels: np.ndarray, draw: Draws) -> np.ndarray:
        settings = self.settings
        h, w = pixels.shape[:2]
        shear = draw.uniform(-settings.max_shear_ratio, settings.max_shear_ratio)
        degrees = draw.randint(-settings.max_rotate_angle, settings.max_rotate_angle)
        if settings.rotate > 0:
            degrees = settings.rotate
        cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        scale = ratio = 1.0
        if not settings.random_resized_crop:
            scale = draw.uniform(settings.min_random_scale, settings.max_random_scale)
            ratio += draw.uniform(-settings.max_aspect_ratio, settings.max_aspect_ratio)
        high = 2 * scale / (1 + ratio)
        wide = ratio * high
        new_w = max(settings.min_img_size, min(settings.max_img_size, scale * w))
        new_h = max(settings.min_img_size, min(settings.max_img_size, scale * h))
        matrix = np.array(
            [
                [high * cos - shear * sin * wide, high * sin + shear * cos * wide, 0],
                [-sin * wide, cos * wide, 0],
            ],
            np.float32,
        )
        matrix[:, 2] = (
            np.array([new_w, new_h], np.float32) - matrix[:, :2] @ np.array([w, h], np.float32)
        ) / 2
        code = interpolation(settings.inter_method, (h, w, int(new_h), int(new_w)), draw)
        warped: np.ndarray = warp(
            pixels, matrix, (int(new_w), int(new_h)), settings.fill_value, code
        )
        return warped if warped.ndim == 3 else warped[:, :, None]

    def _padded(self, pixels: np.ndarray) -> np.ndarray:
        import cv2

        border, fill = self.settings.pad, (self.settings.fill_value,) * 4
        padded = cv2.copyMakeBorder(
            pixels, border, border, border, border, cv2.BORDER_CONSTANT, value=fill
        )
        return padded if padded.ndim == 3 else padded[:, :, None]

    def _cropped(self, pixels: np.ndarray, draw: Draws) -> np.ndarray:
        settings = self.settings
        resized: np.ndarray
        if settings.random_resized_crop:
            area = self._random_area(pixels, draw)
            if area is not None:
                resized = self._resize(area, self.height, self.width, draw)
                return resized
        h, w = pixels.shape[:2]
        if self._squares:
            largest = settings.max_crop_size if settings.max_crop_size != -1 else min(h, w)
            least = settings.min_crop_size if settings.min_crop_size != -1 else largest
            side = min(draw.randint(min(least, largest), largest), h, w)
            square = self._placed(pixels, side, side, draw)
            resized = self._resize(square, self.height, self.width, draw)
            return resized
        return self._placed(self._enlarged(pixels, draw), self.height, self.width, draw)

    def _enlarged(self, pixels: np.ndarray, draw: Draws) -> np.ndarray:
        """An image at least as high and as wide as the result: enlarged for each, one after the other."""
        h, w = pixels.shape[:2]
        # As in MXNet, a random interpolation is drawn for every image.
        code = interpolation(self.settings.inter_method, (h, w, self.height, self.width), draw)
        if h < self.height:
            w = int(np.float32(self.height) / np.float32(h) * np.float32(w))
            h = self.height
            pixels = resize(pixels, w, h, code)
        if w < self.width:
            h = int(np.float32(self.width) / np.float32(w) * np.float32(h))
            pixels = resize(pixels, self.width, h, code)
        return pixels

    def _placed(self, pixels: np.ndarray, height: int, width: int, draw: Draws) -> np.ndarray:
        room_y, room_x = pixels.shape[0] - height, pixels.shape[1] - width
        if self.settings.rand_crop:
            y, x = draw.randint(0, room_y), draw.randint(0, room_x)
        else:
            y, x = room_y // 2, room_x // 2
        return pixels[y : y + height, x : x + width]

    def _random_area(self, pixels: np.ndarray, draw: Draws) -> np.ndarray | None:
        """Szegedy et al. 2015, "Going deeper with convolutions"; None after ten that do not fit."""
        settings = self.settings
        if (
            settings.min_random_area == settings.max_random_area == 1
            and not settings.max_aspect_ratio
        ):
            return None
        h, w = pixels.shape[:2]
        greatest = settings.max_aspect_ratio or 1.0
        least = 1 / greatest if settings.min_aspect_ratio is None else settings.min_aspect_ratio
        for _ in range(10):
            area = draw.uniform(settings.min_random_area, settings.max_random_area) * h * w
            ratio = draw.uniform(least, greatest)
            width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if draw.random() > 0.5:
                width, height = height, width
            if 0 < width <= w and 0 < height <= h:
                y, x = draw.randint(0, h - height), draw.randint(0, w - width)
                return pixels[y : y + height, x : x + width]
        return None

    def _coloured(self, pixels: np.ndarray, draw: Draws) -> np.ndarray:
        import cv2

        settings = self.settings
        if pixels.shape[2] != 3:
            return pixels
        if self._jitters or settings.pca_noise > 0:
            coloured = pixels.astype(np.float32)
            names = list(self._jitters)
            draw.shuffle(names)
            for name in names:
                most = self._jitters[name]
                alpha = np.float32(1 + draw.uniform(-most, most))
                coloured *= alpha
                if name == "contrast":
                    coloured += (1 - alpha) * float(pixels.mean(axis=(0, 1)) @ GREY[0, 0])
                elif name == "saturation":
                    coloured += (1 - alpha) * (pixels @ GREY[0, 0])[:, :, None]
                np.clip(coloured, 0, 255, out=coloured)
            if settings.pca_noise > 0:
                noise = [draw.gauss(0, settings.pca_noise) for _ in range(3)]
                coloured += (PCA_VECTORS * noise @ PCA_VALUES).astype(np.float32)
            pixels = np.clip(coloured, 0, 255).astype(np.uint8)
        if settings.random_h or settings.random_s or settings.random_l:
            hls = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2HLS).astype(np.int16)
            limits = ((settings.random_h, 180), (settings.random_l, 255), (settings.random_s, 255))
            for channel, (most, top) in enumerate(limits):
                hls[:, :, channel] += draw.randint(-most, most)
                np.clip(hls[:, :, channel], 0, top, out=hls[:, :, channel])
            pixels = cv2.cvtColor(hls.astype(np.uint8), cv2.COLOR_HLS2RGB)
        return pixels


_SMALL = 3 * 64 * 64


class NormalizeParameters(Parameters):
    """Converts pixels to numbers: ``((pixel - mean) * contrast + illumination) * scale / std``.

    Args:
        mirror: all images left to right.
        rand_mirror: half of the images.
        mean_img: file of a mean image; computed and written if it is missing.
        mean_r: mean of red, or of the first channel.
        mean_g: of green.
        mean_b: of blue.
        mean_a: of the fourth channel.
        std_r: standard deviation of red.
        std_g: of green.
        std_b: of blue.
        std_a: of the fourth channel.
        scale: factor.
        max_random_contrast: greatest change of the contrast.
        max_random_illumination: greatest value added.
    """

    mirror: bool = False
    rand_mirror: bool = False
    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 1.0
    std_g: float = 1.0
    std_b: float = 1.0
    std_a: float = 1.0
    scale: float = 1.0
    max_random_contrast: float = 0.0
    max_random_illumination: float = 0.0


class Normalizer:
    """Writes pixels as numbers with the channels first.

    A channel can have 256 values, so the results are precomputed in a table.

    Args:
        settings: the parameters.
        dtype: of the result: float32; uint8, the pixels themselves; or int8, from which only the mean is
            subtracted, rounded to whole numbers.
        divides: divide by the standard deviation at the end; otherwise ``scale / std`` is one factor. MXNet
            uses both, which differ in the last bit.
    """

    def __init__(self, settings: NormalizeParameters, dtype: np.dtype, divides: bool = False):
        self.settings = settings
        self.dtype = dtype
        self.mean_image: np.ndarray | None = None  # (channels, height, width)
        means = (settings.mean_r, settings.mean_g, settings.mean_b, settings.mean_a)
        self._mean = np.array(means, np.float32)
        std = [
            each or 1.0 for each in (settings.std_r, settings.std_g, settings.std_b, settings.std_a)
        ]
        self._factor = np.float32(settings.scale) / np.array(std, np.float32)
        self._std = np.array(std, np.float32) if divides else None
        self._varies = dtype == np.float32 and (
            settings.max_random_contrast > 0 or settings.max_random_illumination > 0
        )
        self.is_random = settings.rand_mirror or self._varies
        # Of a coin, and of contrast and illumination, which MXNet also draws where it does not change them.
        self.words = 2 * settings.rand_mirror + 2 * (dtype != np.uint8)
        self._table = self._values(1.0, 0.0)
        self._tables: dict[int, np.ndarray] = {}  # by channels, with the channels last

    def use_mean_image(self, mean: np.ndarray) -> None:
        """Subtract an image ``(channels, height, width)`` instead of a number per channel."""
        self.mean_image = mean
        self._table = self._values(1.0, 0.0)
        self._tables.clear()

    def _table_for(self, channels: int, table: np.ndarray) -> np.ndarray:
        if table is not self._table:
            return np.ascontiguousarray(table[:channels].T)[None]
        normalized = self._tables.get(channels)
        if normalized is None:
            normalized = self._tables[channels] = np.ascontiguousarray(table[:channels].T)[None]
        return normalized

    def _values(self, contrast: float, illumination: float) -> np.ndarray:
        """``(4, 256)``: the result for each pixel value."""
        pixel = np.arange(256)
        mean = np.float32(0) if self.mean_image is not None else self._mean[:, None]
        if self.dtype == np.uint8:
            return np.tile(pixel.astype(np.uint8), (4, 1))
        if self.dtype == np.int8:
            return _as_int8(np.tile(pixel, (4, 1)), mean)
        values = (pixel.astype(np.float32) - mean) * np.float32(contrast) + np.float32(illumination)
        if self._std is not None:
            return values * np.float32(self.settings.scale) / self._std[:, None]
        return values * self._factor[:, None]

    def __call__(self, pixels: np.ndarray, out: np.ndarray, draw: Draws) -> None:
        """Write an image.

        Args:
            pixels: ``(height, width, channels)`` of uint8.
            out: ``(channels, height, width)``.
            draw: the generator.
        """
        import cv2

        settings = self.settings
        mirrored = settings.rand_mirror and draw.is_heads()
        mirrored |= settings.mirror
        table, contrast = self._table, 1.0
        if self._varies:
            contrast += draw.uniform(-settings.max_random_contrast, settings.max_random_contrast)
            light = draw.uniform(
                -settings.max_random_illumination, settings.max_random_illumination
            )
            table = self._values(contrast, light)
        if self.dtype == np.float32 and out.size <= _SMALL:
            # For few pixels, the number of calls determines the time.
            looked_up = cv2.LUT(pixels, self._table_for(len(out), table))
            out[...] = (
                (looked_up[:, ::-1] if mirrored else looked_up)
                .reshape(*pixels.shape)
                .transpose(2, 0, 1)
            )
            planes: Sequence[np.ndarray] = ()
        else:
            planes = cv2.split(pixels)
        for index, (plane, values, target) in enumerate(zip(planes, table, out, strict=False)):
            if mirrored:
                plane = cv2.flip(plane, 1)
            if self.dtype == np.uint8:
                target[...] = plane
            elif self.dtype == np.int8 and self.mean_image is not None:
                target[...] = _as_int8(plane, self.mean_image[index])
            else:
                cv2.LUT(plane, values, dst=target)
        if self.mean_image is not None and self.dtype == np.float32:
            factor = self._factor[: len(out), None, None] * np.float32(contrast)
            out -= self.mean_image * factor


def _as_int8(pixels: np.ndarray, mean: np.ndarray | np.float32) -> np.ndarray:
    """The pixels minus the mean, which is rounded half away from zero, within the range of int8."""
    rounded = np.copysign(np.floor(np.abs(mean) + 0.5), mean)
    result: np.ndarray = np.clip(pixels - rounded, -128, 127).astype(np.int8)
    return result
