"""ImageDetRecordIter: images with boxes from a record file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mixnet.base import MXNetError, ShapeError
from mixnet.image.box_label import widths_of
from mixnet.image.draw import Draws
from mixnet.image.host import interpolation, resize
from mixnet.image.record_augment import NormalizeParameters, Normalizer
from mixnet.image.record_iterator import RecordParameters, RecordSource
from mixnet.io.files import _names
from mixnet.io.loader import MXDataIter
from mixnet.recordio import unpack

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Scales = tuple[float, ...]


class ImageDetRecordParameters(NormalizeParameters, RecordParameters):
    """Parameters of :func:`ImageDetRecordIter`, in addition to those of records and normalization.

    Args:
        label_width: labels of an image; -1 for any number.
        label_pad_width: length of the longest label; by default determined from the file.
        label_pad_value: fills up the labels of the others.
        resize: shorter side, applied first; -1 for no resizing.
        rand_crop_prob: probability of cropping.
        min_crop_scales: least share of the image's sides, for each of ``num_crop_sampler`` ways.
        max_crop_scales: greatest share.
        min_crop_aspect_ratios: least ratio of width to height.
        max_crop_aspect_ratios: greatest ratio.
        min_crop_overlaps: least intersection over union with an object.
        max_crop_overlaps: greatest one.
        min_crop_sample_coverages: least share of the crop that an object covers.
        max_crop_sample_coverages: greatest share.
        min_crop_object_coverages: least share of an object that the crop covers.
        max_crop_object_coverages: greatest share.
        num_crop_sampler: ways of cropping; one that succeeds is taken.
        crop_emit_mode: keep objects whose centre is inside, or those that overlap enough.
        emit_overlap_thresh: how much of an object must be left where the mode is ``overlap``.
        max_crop_trials: crops that are tried, for each way.
        rand_pad_prob: probability of padding.
        max_pad_scale: greatest multiple of the sides.
        max_random_hue: greatest change of the hue, 0 to 180.
        random_hue_prob: its probability.
        max_random_saturation: greatest change of the saturation, 0 to 255.
        random_saturation_prob: its probability.
        max_random_illumination: greatest value added.
        random_illumination_prob: its probability.
        max_random_contrast: greatest change of the contrast.
        random_contrast_prob: its probability.
        rand_mirror_prob: probability of mirroring.
        fill_value: of pixels that the image does not cover.
        inter_method: interpolation code.
        resize_mode: ``force`` to data_shape, ``fit`` into it, or ``shrink`` larger images.
    """

    path_imgrec: str = "./data/imgrec.rec"
    aug_seq: str = "det_aug_default"
    label_width: int = -1
    label_pad_width: int = 0
    label_pad_value: float = -1.0
    resize: int = -1
    rand_crop_prob: float = 0.0
    min_crop_scales: Scales = (0.0,)
    max_crop_scales: Scales = (1.0,)
    min_crop_aspect_ratios: Scales = (1.0,)
    max_crop_aspect_ratios: Scales = (1.0,)
    min_crop_overlaps: Scales = (0.0,)
    max_crop_overlaps: Scales = (1.0,)
    min_crop_sample_coverages: Scales = (0.0,)
    max_crop_sample_coverages: Scales = (1.0,)
    min_crop_object_coverages: Scales = (0.0,)
    max_crop_object_coverages: Scales = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: Literal["center", "overlap"] = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: tuple[int, ...] = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: int = 0
    random_hue_prob: float = 0.0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: float = 0.0
    random_illumination_prob: float = 0.0
    max_random_contrast: float = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: int = 127
    inter_method: int = 1
    resize_mode: Literal["fit", "force", "shrink"] = "force"
    std_r: float = 0.0
    std_g: float = 0.0
    std_b: float = 0.0
    std_a: float = 0.0


class Sampler(NamedTuple):
    """One way of cropping: ranges (least, greatest)."""

    scale: tuple[float, float]
    aspect: tuple[float, float]
    overlap: tuple[float, float]
    sample: tuple[float, float]
    object: tuple[float, float]
    trials: int


def samplers_of(settings: ImageDetRecordParameters) -> list[Sampler]:
    """The ways of cropping; a list with one entry counts for all.

    Raises:
        MXNetError: a list has another length, or a range is empty.
    """
    count = settings.num_crop_sampler

    def spread(name: str) -> tuple[Any, ...]:
        values: tuple[Any, ...] = vars(settings)[name]
        if len(values) == 1:
            return values * count
        if len(values) != count:
            raise MXNetError(
                f"ImageDetRecordIter: {name} has {len(values)} entries, but num_crop_sampler is {count}."
            )
        return values

    samplers = []
    names = ("scales", "aspect_ratios", "overlaps", "sample_coverages", "object_coverages")
    lows = [spread(f"min_crop_{name}") for name in names]
    highs = [spread(f"max_crop_{name}") for name in names]
    trials = spread("max_crop_trials")
    for i in range(count):
        ranges: list[Any] = [(low[i], high[i]) for low, high in zip(lows, highs, strict=True)]
        for name, (low, high) in zip(names, ranges, strict=True):
            if low > high:
                raise MXNetError(
                    f"ImageDetRecordIter: min_crop_{name} {low:g} is above max_crop_{name} {high:g}."
                )
        samplers.append(Sampler._make([*ranges, trials[i]]))
    return samplers


def _area(boxes: np.ndarray) -> np.ndarray:
    areas: np.ndarray = np.maximum(boxes[:, 2] - boxes[:, 0], 0) * np.maximum(
        boxes[:, 3] - boxes[:, 1], 0
    )
    return areas


class DefaultDetAugmenter:
    """The augmentation defined by the parameters, for an image and its boxes.

    Args:
        settings: the parameters.
    """

    def __init__(self, settings: ImageDetRecordParameters):
        self.settings = settings
        self._samplers = samplers_of(settings) if settings.rand_crop_prob > 0 else []
        self._height, self._width = settings.data_shape[1:]

    def __call__(
        self, pixels: np.ndarray, objects: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """The transformed image and objects.

        Args:
            pixels: ``(height, width, channels)`` of uint8.
            objects: ``(objects, 5 or more)``: class, left, top, right, bottom in shares.
            draw: the generator.
        """
        settings = self.settings
        if settings.resize > 0:
            h, w = pixels.shape[:2]
            short = settings.resize
            high, wide = (short * h // w, short) if h > w else (short, short * w // h)
            pixels = self._resize(pixels, high, wide, draw)
        pixels = self._coloured(pixels, draw)
        if draw.random() < settings.rand_mirror_prob:
            pixels = pixels[:, ::-1]
            objects[:, [1, 3]] = 1 - objects[:, [3, 1]]
        if settings.max_pad_scale > 1 and draw.random() < settings.rand_pad_prob:
            pixels, objects = self._padded(pixels, objects, draw)
        if self._samplers and draw.random() < settings.rand_crop_prob:
            pixels, objects = self._cropped(pixels, objects, draw)
        h, w = pixels.shape[:2]
        if settings.resize_mode == "force":
            pixels = self._resize(pixels, self._height, self._width, draw)
        elif settings.resize_mode == "fit" or h > self._height or w > self._width:
            scale = min(self._height / h, self._width / w)
            size = (min(self._height, int(h * scale)), min(self._width, int(w * scale)))
            pixels = self._resize(pixels, max(size[0], 1), max(size[1], 1), draw)
        return pixels, objects

    def _resize(self, pixels: np.ndarray, height: int, width: int, draw: Draws) -> Any:
        h, w = pixels.shape[:2]
        code = interpolation(self.settings.inter_method, (h, w, height, width), draw)
        return resize(np.ascontiguousarray(pixels), width, height, code)

    def _coloured(self, pixels: np.ndarray, draw: Draws) -> np.ndarray:
        import cv2

        settings = self.settings
        hue = settings.max_random_hue if draw.random() < settings.random_hue_prob else 0
        saturation = settings.max_random_saturation
        saturation = saturation if draw.random() < settings.random_saturation_prob else 0
        light = settings.max_random_illumination
        light = light if draw.random() < settings.random_illumination_prob else 0
        contrast = settings.max_random_contrast
        contrast = contrast if draw.random() < settings.random_contrast_prob else 0
        if pixels.shape[2] == 3 and (hue or saturation or light):
            hls = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2HLS).astype(np.float32)
            for channel, (most, top) in enumerate(((hue, 180), (light, 255), (saturation, 255))):
                hls[:, :, channel] += draw.uniform(-most, most)
                np.clip(hls[:, :, channel], 0, top, out=hls[:, :, channel])
            pixels = cv2.cvtColor(hls.astype(np.uint8), cv2.COLOR_HLS2RGB)
        if contrast:
            factor = 1 + draw.uniform(-contrast, contrast)
            pixels = np.clip(pixels * np.float32(factor), 0, 255).astype(np.uint8)
        return pixels

    def _padded(
        self, pixels: np.ndarray, objects: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        import cv2

        h, w = pixels.shape[:2]
        scale = draw.uniform(1, self.settings.max_pad_scale)
        high, wide = int(h * scale), int(w * scale)
        y, x = draw.randint(0, high - h), draw.randint(0, wide - w)
        border = (y, high - h - y, x, wide - w - x)
        fill = (self.settings.fill_value,) * 4
        padded = cv2.copyMakeBorder(
            np.ascontiguousarray(pixels), *border, cv2.BORDER_CONSTANT, value=fill
        )
        objects[:, [1, 3]] = (objects[:, [1, 3]] * w + x) / wide
        objects[:, [2, 4]] = (objects[:, [2, 4]] * h + y) / high
        return padded.reshape(high, wide, -1), objects

    def _cropped(
        self, pixels: np.ndarray, objects: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        h, w = pixels.shape[:2]
        samplers = list(self._samplers)
        draw.shuffle(samplers)
        for way in samplers:
            for _ in range(way.trials):
                box = self._proposal(way, h, w, draw)
                if box is None or not self._fits(way, box, objects):
                    continue
                emitted = self._emitted(box, objects)
                if len(emitted):
                    left, top, right, bottom = box
                    x0, y0 = int(left * w), int(top * h)
                    x1, y1 = max(int(right * w), x0 + 1), max(int(bottom * h), y0 + 1)
                    return pixels[y0:y1, x0:x1], emitted
        return pixels, objects

    def _proposal(self, way: Sampler, h: int, w: int, draw: Draws) -> np.ndarray | None:
        scale = draw.uniform(*way.scale)
        ratio = draw.uniform(*way.aspect) * h / w  # of the shares, for one of the pixels
        wide, high = scale * math.sqrt(ratio), scale / math.sqrt(ratio)
        if not (0 < wide <= 1 and 0 < high <= 1):
            return None
        left, top = draw.uniform(0, 1 - wide), draw.uniform(0, 1 - high)
        return np.array([left, top, left + wide, top + high])

    def _fits(self, way: Sampler, box: np.ndarray, objects: np.ndarray) -> bool:
        """Whether an object satisfies the crop's conditions."""
        boxes = objects[:, 1:5]
        both = np.concatenate(
            [np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, 2:], box[2:])], axis=1
        )
        common, areas = _area(both), np.maximum(_area(boxes), 1e-12)
        crop = float(_area(box[None])[0])
        good = np.ones(len(objects), bool)
        for (low, high), share in (
            (way.overlap, common / (areas + crop - common)),
            (way.sample, common / crop),
            (way.object, common / areas),
        ):
            if low > 0 or high < 1:
                good &= (share >= low) & (share <= high)
        return bool(good.any())

    def _emitted(self, box: np.ndarray, objects: np.ndarray) -> np.ndarray:
        """The remaining objects, in coordinates of the crop."""
        out = objects.copy()
        sides = box[2:] - box[:2]
        if self.settings.crop_emit_mode == "center":
            centre = (objects[:, 1:3] + objects[:, 3:5]) / 2
            inside = ((centre >= box[:2]) & (centre <= box[2:])).all(axis=1)
        else:
            both = np.concatenate(
                [np.maximum(objects[:, 1:3], box[:2]), np.minimum(objects[:, 3:5], box[2:])], axis=1
            )
            share = _area(both) / np.maximum(_area(objects[:, 1:5]), 1e-12)
            inside = share > self.settings.emit_overlap_thresh
        corners = objects[:, 1:5].reshape(-1, 2, 2)
        out[:, 1:5] = np.clip((corners - box[:2]) / sides, 0, 1).reshape(-1, 4)
        emitted: np.ndarray = out[inside]
        return emitted


class DetectionSource(RecordSource):
    """Images with boxes.

    Args:
        settings: the parameters.
    """

    settings: ImageDetRecordParameters
    uses_index = False  # parts are of bytes, as in MXNet

    def __init__(self, settings: ImageDetRecordParameters):
        super().__init__(
            settings,
            "ImageDetRecordIter",
            np.dtype(np.float32),
            (1,),
            counts=True,
            shuffle_seed=233,
        )
        if settings.aug_seq != "det_aug_default":
            raise MXNetError(
                f"ImageDetRecordIter: aug_seq must be 'det_aug_default', not {settings.aug_seq!r}."
            )
        widest = self._widest()
        width = settings.label_pad_width if settings.label_pad_width > 0 else widest
        if width < widest:
            raise MXNetError(
                f"ImageDetRecordIter: label_pad_width: {width} smaller than estimated width: {widest}"
            )
        self._width = width
        self.label = (self.batch_size, width + 4), np.dtype(np.float32)
        self._augment = DefaultDetAugmenter(settings)
        plain = {name: vars(settings)[name] for name in NormalizeParameters.table()}
        plain |= {"max_random_contrast": 0, "max_random_illumination": 0, "mirror": False}
        values = NormalizeParameters(self.name, (), plain)
        self._normalize = Normalizer(values, np.dtype(np.float32), divides=True)

    def _widest(self) -> int:
        """The maximum label length of an image, or ``label_width``."""
        settings = self.settings
        if self.labels is not None:
            sizes = [len(labels) for labels, _ in self.labels.values()]
        else:
            sizes = []
            self.records.begin(0)
            while records := self.records.take(64):
                for record in records:
                    header = unpack(record)[0]
                    sizes.append(self._checked(header, header.label)[0].size)
        if not sizes:
            raise MXNetError(f"{self.records.path} has no records.")
        if settings.label_width > 0 and set(sizes) != {settings.label_width}:
            other = next(size for size in sizes if size != settings.label_width)
            raise ShapeError(
                f"{self.records.path} has an image with {other} labels, but label_width is "
                f"{settings.label_width}."
            )
        return max(sizes)

    def _checked(self, header: Any, label: ArrayLike) -> tuple[np.ndarray, int, int]:
        """The label of an image, the width of its header, and of an object."""
        raw = np.asarray(label, np.float32).ravel()
        widths = widths_of(raw)
        if widths is None:
            raise ShapeError(
                f"{self.records.path}: the label of image {header.id} is not a list of boxes (header "
                f"width, object width, ..., class, left, top, right, bottom, ...): {raw.size} "
                f"number(s)."
            )
        return (raw, *widths)

    def write(self, buffers: Any, place: int, header: Any, content: bytes, draw: Draws) -> None:
        raw, start, width = self._checked(header, self.label_of(header))
        objects = raw[start:].reshape(-1, width).copy()
        pixels, objects = self._augment(self.decoded(content), objects, draw)
        h, w = pixels.shape[:2]
        target = buffers[0][place]
        if (h, w) != target.shape[1:]:  # in the upper left corner; what is around it is black
            whole = np.zeros((*target.shape[1:], *pixels.shape[2:]), pixels.dtype)
            whole[:h, :w] = pixels
            pixels = whole
        self._normalize(pixels, target, draw)
        row = buffers[1][place]
        row[:] = self.settings.label_pad_value
        size = start + objects.size
        row[:4] = self.settings.data_shape[0], h, w, size
        row[4 : 4 + start] = raw[:start]
        row[4 + start : 4 + size] = objects.ravel()


def ImageDetRecordIter(*args: object, **kwargs: object) -> MXDataIter:
    """Batches of images with boxes from a record file.

    A row of the labels is: channels, height and width of the image in its frame, number of labels,
    the labels (width of the header, width of an object, ..., objects), and padding.

    Args:
        args: none; parameters are given by name.
        kwargs: see :class:`ImageDetRecordParameters`; ``data_name``, ``label_name``.

    Raises:
        MXNetError: a parameter is invalid, or a label is not a list of boxes.
    """
    names = _names(kwargs)
    settings = ImageDetRecordParameters("ImageDetRecordIter", args, kwargs)
    if settings.dtype not in (None, "float32"):
        raise MXNetError(
            f"ImageDetRecordIter: dtype must be float32, not {settings.dtype}; leave it out, and cast "
            f"batches with astype()."
        )
    return MXDataIter(DetectionSource(settings), **names)
