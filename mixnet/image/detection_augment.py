"""Augmenters for detection: they change an image and its boxes together.

Labels are ``(objects, 5 or more)``: class, left, top, right, bottom in shares of the image, and more.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from math import sqrt
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError, CheckError, NotDefinedError
from mixnet.image.augment import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Augmenter,
    CastAug,
    ForceResizeAug,
    ResizeAug,
    WithArguments,
    _colour_chain,
)
from mixnet.image.host import as_array, pixels_of
from mixnet.image.transform import copyMakeBorder, fixed_crop
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Range = tuple[float, float]


class DetAugmenter(WithArguments):
    """Base of augmenters for detection: override ``__call__``.

    Args:
        kwargs: the arguments that :meth:`dumps` returns; arrays become lists.
    """

    def __call__(self, src: NDArray | np.ndarray, label: np.ndarray) -> tuple[Any, np.ndarray]:
        """The transformed image and label.

        Args:
            src: ``(height, width, channels)``.
            label: ``(objects, 5 or more)``.
        """
        raise NotDefinedError(f"{type(self).__name__} does not define __call__(self, src, label).")


class DetBorrowAug(DetAugmenter):
    """Wraps a classification augmenter that does not move boxes.

    Args:
        augmenter: of the image.

    Raises:
        TypeError: it is not an augmenter.
    """

    def __init__(self, augmenter: Augmenter):
        if not isinstance(augmenter, Augmenter):
            raise AttributeTypeError(
                f"DetBorrowAug takes an mx.image.Augmenter, not {type(augmenter).__name__}."
            )
        super().__init__()
        self.augmenter = augmenter

    @property
    def _mx_parts(self) -> Sequence[Augmenter]:
        return [self.augmenter]

    def dumps(self) -> Any:
        """JSON of the name and of the augmenter."""
        return [self.__class__.__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray | np.ndarray, label: np.ndarray) -> tuple[Any, np.ndarray]:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """Apply one of several augmenters, or none.

    Args:
        aug_list: a list of augmenters, or one.
        skip_prob: probability of none.

    Raises:
        ValueError: the list has other objects.
    """

    def __init__(self, aug_list: DetAugmenter | Sequence[DetAugmenter], skip_prob: float = 0):
        super().__init__(skip_prob=skip_prob)
        augmenters: list[Any] = (
            list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        )
        if not all(isinstance(each, DetAugmenter) for each in augmenters):
            raise AttributeValueError(
                f"DetRandomSelectAug takes DetAugmenters, not "
                f"{', '.join(type(each).__name__ for each in augmenters)}. Wrap an Augmenter in "
                f"DetBorrowAug."
            )
        self.aug_list = augmenters
        self.skip_prob = skip_prob if self.aug_list else 1

    @property
    def _mx_parts(self) -> Sequence[DetAugmenter]:
        return self.aug_list

    def dumps(self) -> Any:
        """JSON of the name and of the parts."""
        return [self.__class__.__name__.lower(), [each.dumps() for each in self.aug_list]]

    def __call__(self, src: NDArray | np.ndarray, label: np.ndarray) -> tuple[Any, np.ndarray]:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        augmented: tuple[Any, np.ndarray] = self.aug_list[0](src, label)
        return augmented


class DetHorizontalFlipAug(DetAugmenter):
    """Mirror left to right with probability ``p``.

    Args:
        p: probability.
    """

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray | np.ndarray, label: np.ndarray) -> tuple[Any, np.ndarray]:
        if random.random() < self.p:
            flipped = pixels_of(src)[:, ::-1]
            src = flipped if isinstance(src, np.ndarray) else as_array(flipped, src)
            left = 1.0 - label[:, 3]
            label[:, 3] = 1.0 - label[:, 1]
            label[:, 1] = left
        return src, label


def _range(bounds: object) -> Range:
    return (bounds, bounds) if isinstance(bounds, Number) else bounds  # type: ignore[return-value]


def _areas(boxes: np.ndarray) -> np.ndarray:
    """Areas of boxes (left, top, right, bottom), 0 for empty boxes."""
    sides = np.maximum(0, boxes[:, 2:4] - boxes[:, :2])
    areas: np.ndarray = sides[:, 0] * sides[:, 1]
    return areas


def _usable(name: str, area: Range, least: float, aspect: Range) -> bool:
    good = area[1] > least and area[0] <= area[1] and 0 < aspect[0] <= aspect[1]
    if not good:
        warnings.warn(
            f"Skip {name} due to invalid parameters: area_range {area}, aspect_ratio_range {aspect}",
            stacklevel=5,
        )
    return good


def _up_to(least: int, most: int) -> int:
    """A random number between two, or the second if it is not above the first."""
    return random.randint(least, most) if least < most else most


class _DetRandomArea(DetAugmenter):
    """Base of augmenters that replace an image by an area, if they find a suitable one."""

    def __init__(self, least_area: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.area_range: Range = kwargs["area_range"]
        self.aspect_ratio_range: Range = kwargs["aspect_ratio_range"]
        self.max_attempts: int = kwargs["max_attempts"]
        self.enabled = _usable(
            type(self).__name__, self.area_range, least_area, self.aspect_ratio_range
        )

    def __call__(self, src: NDArray | np.ndarray, label: np.ndarray) -> tuple[Any, np.ndarray]:
        proposal = self._proposal(label, *src.shape[:2])
        if proposal is None:
            return src, label
        *place, label = proposal
        return self._placed(src, *place), label

    def _proposal(self, label: np.ndarray, height: int, width: int) -> Any:
        """Left, top, width and height of the area, and the label in it; None if there is none."""
        if not self.enabled or height <= 0 or width <= 0:
            return None
        least, most = (share * height * width for share in self.area_range)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            if ratio <= 0:
                continue
            proposal = self._attempt(label, height, width, ratio, (least, most))
            if proposal is not None:
                return proposal
        return None

    def _attempt(
        self, label: np.ndarray, height: int, width: int, ratio: float, areas: tuple[float, float]
    ) -> Any:
        """A proposal of a ratio of width to height, between two areas; None if it does not fit."""
        raise NotImplementedError

    def _placed(self, src: NDArray | np.ndarray, x: int, y: int, w: int, h: int) -> Any:
        """The area of the image."""
        raise NotImplementedError


class DetRandomCropAug(_DetRandomArea):
    """Crop a random rectangle that covers enough of the objects (Liu et al. 2016, "SSD").

    Args:
        min_object_covered: fraction of every touched object that must remain.
        aspect_ratio_range: minimum and maximum ratio of width to height.
        area_range: minimum and maximum fraction of the image.
        min_eject_coverage: objects with less remaining coverage are removed.
        max_attempts: number of rectangles to try before the image is left unchanged.
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: ArrayLike = (0.75, 1.33),
        area_range: ArrayLike = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ):
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(
            0,
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage

    def _placed(self, src: NDArray | np.ndarray, x: int, y: int, w: int, h: int) -> Any:
        return fixed_crop(src, x, y, w, h, None)

    def _attempt(
        self, label: np.ndarray, height: int, width: int, ratio: float, areas: tuple[float, float]
    ) -> Any:
        least, most = areas
        h = round(sqrt(least / ratio))
        top = round(sqrt(most / ratio))
        if round(top * ratio) > width:
            top = int((width + 0.4999999) / ratio)
        h = _up_to(h, min(top, height))
        w = round(h * ratio)
        # Rounding may have left the range of areas by a row.
        if w * h < least:
            h += 1
            w = round(h * ratio)
        if w * h > most:
            h -= 1
            w = round(h * ratio)
        if not (least <= w * h <= most and 0 <= w <= width and 0 <= h <= height):
            return None
        y = random.randint(0, max(0, height - h))
        x = random.randint(0, max(0, width - w))
        if self._covers(label, x, y, x + w, y + h, width, height):
            changed = self._cropped(label, (x, y, w, h), height, width)
            if changed is not None:
                return x, y, w, h, changed
        return None

    def _covers(
        self,
        label: np.ndarray,
        left: int,
        top: int,
        right: int,
        bottom: int,
        width: int,
        height: int,
    ) -> bool:
        """Whether enough remains of the objects that the rectangle touches."""
        if (right - left) * (bottom - top) < 2:
            return False
        x1, y1, x2, y2 = left / width, top / height, right / width, bottom / height
        areas = _areas(label[:, 1:])
        large = np.where(areas * width * height > 2)[0]
        if not large.size:
            return False
        inside = label[large, 1:5].copy()
        inside[:, :2] = np.maximum(inside[:, :2], [x1, y1])
        inside[:, 2:] = np.minimum(inside[:, 2:], [x2, y2])
        covered = _areas(inside) / areas[large]
        covered = covered[covered > 0]
        return bool(covered.size > 0 and covered.min() > self.min_object_covered)

    def _cropped(
        self, label: np.ndarray, box: tuple[int, int, int, int], height: int, width: int
    ) -> np.ndarray | None:
        """The objects in coordinates of the rectangle; None if there are none."""
        x0, y0 = box[0] / width, box[1] / height
        w, h = box[2] / width, box[3] / height
        out = label.copy()
        out[:, (1, 3)] -= x0
        out[:, (2, 4)] -= y0
        out[:, (1, 3)] /= w
        out[:, (2, 4)] /= h
        out[:, 1:5] = np.maximum(0, out[:, 1:5])
        out[:, 1:5] = np.minimum(1, out[:, 1:5])
        left = _areas(out[:, 1:]) * w * h / _areas(label[:, 1:])
        visible = (
            (out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2]) & (left > self.min_eject_coverage)
        )
        return out[visible] if visible.any() else None


class DetRandomPadAug(_DetRandomArea):
    """Place the image at a random position of a larger one, so that objects get smaller.

    Args:
        aspect_ratio_range: minimum and maximum ratio of width to height.
        area_range: minimum and maximum multiple of the image's area.
        max_attempts: number of sizes to try before the image is left unchanged.
        pad_val: value of the new pixels, a number or one per channel.
    """

    def __init__(
        self,
        aspect_ratio_range: ArrayLike = (0.75, 1.33),
        area_range: ArrayLike = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: float | Sequence[float] = (128, 128, 128),
    ):
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(
            1.0,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.pad_val: Any = (pad_val,) * 4 if isinstance(pad_val, Number) else pad_val

    def _placed(self, src: NDArray | np.ndarray, x: int, y: int, w: int, h: int) -> Any:
        height, width = src.shape[:2]
        border = (y, h - y - height, x, w - x - width)
        return copyMakeBorder(src, *border, 0, values=self.pad_val)

    def _attempt(
        self, label: np.ndarray, height: int, width: int, ratio: float, areas: tuple[float, float]
    ) -> Any:
        least, most = areas
        h = round(sqrt(least / ratio))
        top = round(sqrt(most / ratio))
        if round(h * ratio) < width:
            h = int((width + 0.499999) / ratio)
        h = _up_to(max(h, height), top)
        w = round(h * ratio)
        if h - height < 2 or w - width < 2:  # too thin to matter
            return None
        y = random.randint(0, max(0, h - height))
        x = random.randint(0, max(0, w - width))
        out = label.copy()
        out[:, (1, 3)] = (out[:, (1, 3)] * width + x) / w
        out[:, (2, 4)] = (out[:, (2, 4)] * height + y) / h
        return x, y, w, h, out


def CreateMultiRandCropAugmenter(
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: ArrayLike = (0.75, 1.33),
    area_range: ArrayLike = (0.05, 1.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: int | list[int] = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Apply one of several croppers; arguments as for :class:`DetRandomCropAug`, each a value or a list.

    Args:
        min_object_covered: for all croppers, or a list with one for each.
        aspect_ratio_range: the same.
        area_range: the same.
        min_eject_coverage: the same.
        max_attempts: the same.
        skip_prob: probability of none.

    Raises:
        AssertionError: the lists have different lengths.
    """
    arguments = [
        min_object_covered,
        aspect_ratio_range,
        area_range,
        min_eject_coverage,
        max_attempts,
    ]
    lists = [each if isinstance(each, list) else [each] for each in arguments]
    count = max(len(each) for each in lists)
    if any(len(each) not in (1, count) for each in lists):
        raise CheckError(
            f"The lists of parameters have lengths {[len(each) for each in lists]}; give each one "
            f"or {count} entries."
        )
    lists = [each * count if len(each) == 1 else each for each in lists]
    return DetRandomSelectAug(
        [DetRandomCropAug(*each) for each in zip(*lists, strict=True)], skip_prob
    )


def CreateDetAugmenter(
    data_shape: tuple[int, int, int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: ArrayLike | None = None,
    std: ArrayLike | None = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: ArrayLike = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: Any = 50,
    pad_val: float | Sequence[float] = (127, 127, 127),
) -> list[DetAugmenter]:
    """The default list of augmenters for detection.

    Args:
        data_shape: ``(channels, height, width)`` of the result.
        resize: shorter side, applied first; 0 for no resizing.
        rand_crop: probability of cropping.
        rand_pad: probability of padding.
        rand_gray: probability of grey.
        rand_mirror: mirror half of the images.
        mean: subtracted from each channel; True for ImageNet's.
        std: divides each channel; True for ImageNet's.
        brightness: maximum change, 0 to 1.
        contrast: the same.
        saturation: the same.
        pca_noise: standard deviation of the PCA colour noise.
        hue: maximum change, 0 to 1.
        inter_method: interpolation code.
        min_object_covered: see :class:`DetRandomCropAug`; these may be lists.
        aspect_ratio_range: the same.
        area_range: of cropping; its upper bound also limits padding.
        min_eject_coverage: see :class:`DetRandomCropAug`.
        max_attempts: the same.
        pad_val: of padding.
    """
    chain: list[DetAugmenter] = []
    if resize > 0:
        chain.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        chain.append(
            CreateMultiRandCropAugmenter(
                min_object_covered, aspect_ratio_range, area_range, min_eject_coverage,
                max_attempts, skip_prob=1 - rand_crop,
            )
        )  # fmt: skip
    if rand_mirror:
        chain.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        chain.append(DetRandomSelectAug([pad], 1 - rand_pad))
    size = (data_shape[2], data_shape[1])
    plain: list[Augmenter] = [ForceResizeAug(size, inter_method), CastAug()]
    mean, std = (IMAGENET_MEAN if mean is True else mean), (IMAGENET_STD if std is True else std)
    plain += _colour_chain(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return chain + [DetBorrowAug(each) for each in plain]
