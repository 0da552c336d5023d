"""ImageDetIter: batches of images with the boxes of their objects."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import AttributeValueError, CheckError, MXNetError
from mixnet.image import host
from mixnet.image.augment import IMAGENET_MEAN, IMAGENET_STD
from mixnet.image.box_label import widths_of
from mixnet.image.detection_augment import CreateDetAugmenter, DetAugmenter
from mixnet.image.iterator import ImageIter, _broken
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _is_object(label: np.ndarray) -> np.ndarray:
    """Which rows of a label have a class and an area."""
    return (label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])


class ImageDetIter(ImageIter):
    """Batches of augmented images and the boxes in them.

    The label of an image consists of the header width, the object width, the rest of the header
    and the objects one after another: class, left, top, right, bottom as fractions of the image, and
    optional values. Objects without area are removed; a batch has as many rows as the image
    with the most objects, filled up with -1.

    Args:
        batch_size: images in a batch.
        data_shape: ``(3, height, width)``.
        path_imgrec: record file.
        path_imglist: file of numbers, labels and file names.
        path_root: folder of the files.
        path_imgidx: index of the record file; needed to shuffle and for parts.
        shuffle: a new order at every reset, from Python's generator.
        part_index: which part.
        num_parts: how many parts.
        aug_list: augmenters; by default those of :func:`CreateDetAugmenter` for ``kwargs``.
        imglist: ``[label, file name]`` for each image.
        data_name: of the data.
        label_name: of the labels.
        last_batch_handle: ``'pad'``, ``'discard'`` or ``'roll_over'``, see :class:`ImageIter`.
        kwargs: for :func:`CreateDetAugmenter`.

    Raises:
        RuntimeError: a label is invalid, or has no object with an area.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, int, int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[DetAugmenter] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ):
        super().__init__(
            batch_size=batch_size, data_shape=data_shape, path_imgrec=path_imgrec,
            path_imglist=path_imglist, path_root=path_root, path_imgidx=path_imgidx,
            shuffle=shuffle, part_index=part_index, num_parts=num_parts, aug_list=[],
            imglist=imglist, data_name=data_name, label_name=label_name,
            last_batch_handle=last_batch_handle,
        )  # fmt: skip
        self.auglist: Any = (
            CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        )
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [(label_name, (self.batch_size, *self.label_shape))]

    # ---- labels ---------------------------------------------------------------------------------

    def _estimate_label_shape(self) -> tuple[int, int]:
        """Maximum number of objects per image, and the width of an object."""
        count, width = 0, 0
        self.reset()
        try:
            while True:
                label = self._parse_label(self.next_sample()[0])
                count, width = max(count, label.shape[0]), label.shape[1]
        except StopIteration:
            pass
        self.reset()
        return count, width

    def _parse_label(self, label: ArrayLike) -> np.ndarray:
        """The objects of a label, ``(objects, width)``.

        Raises:
            MXNetError: the label is invalid, or has no object with an area.
        """
        raw = (label.asnumpy() if isinstance(label, NDArray) else np.asarray(label)).ravel()
        if raw.size < 7:
            raise MXNetError(
                f"Label shape is invalid: {raw.shape}. A label has at least 7 numbers: the widths of "
                f"header and object, then class, left, top, right, bottom of each object."
            )
        widths = widths_of(raw)
        if widths is None:
            raise MXNetError(
                f"Label shape {raw.shape} is inconsistent with annotation width {raw[1]:g}, after a "
                f"header of width {raw[0]:g}."
            )
        header, width = widths
        out = raw[header:].reshape(-1, width)
        valid = (out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2])
        if not valid.any():
            raise MXNetError(
                "No object of the label has an area: right must be above left, and bottom above top."
            )
        return out[valid]

    def _check_valid_label(self, label: np.ndarray) -> None:
        """Raise MXNetError unless a label has an object with a class and an area."""
        if label.ndim != 2 or label.shape[1] < 5:
            raise MXNetError(f"A label has the shape (objects, 5 or more), not {label.shape}.")
        if not _is_object(label).any():
            raise MXNetError("No row of the label is an object with a class and an area.")

    def check_label_shape(self, label_shape: tuple[int, ...]) -> None:
        """Raise ValueError unless labels fit into a shape ``(objects, width)``.

        Args:
            label_shape: the shape.
        """
        if len(label_shape) != 2:
            raise AttributeValueError(f"label_shape must be (objects, width), not {label_shape}.")
        if label_shape[0] < self.label_shape[0]:
            raise AttributeValueError(
                f"label_shape={label_shape} has room for fewer objects than before, "
                f"{self.label_shape[0]}; it can only grow."
            )
        width = self.provide_label[0][1][2]
        if label_shape[1] != width:
            raise AttributeValueError(
                f"label_shape={label_shape}: objects of these labels have width {width}, not "
                f"{label_shape[1]}."
            )

    def reshape(
        self, data_shape: tuple[int, int, int] | None = None, label_shape: Any = None
    ) -> None:
        """Change the size of images or the maximum number of objects.

        Args:
            data_shape: ``(3, height, width)``; the augmenters must produce it.
            label_shape: ``(objects, width)``.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            name = self.provide_data[0][0]
            self.provide_data = [(name, (self.batch_size, *data_shape))]
            self.data_shape = data_shape
        if label_shape is not None:
            self.check_label_shape(label_shape)
            name = self.provide_label[0][0]
            self.provide_label = [(name, (self.batch_size, *label_shape))]
            self.label_shape = tuple(label_shape)

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give this iterator and another (training and validation) the same maximum number of objects.

        Args:
            it: the other iterator.
            verbose: log what changed.
        """
        if not isinstance(it, ImageDetIter):
            raise CheckError(f"sync_label_shape takes an ImageDetIter, not {type(it).__name__}.")
        mine, other = self.label_shape, it.label_shape
        if mine[1] != other[1]:
            raise CheckError(
                f"sync_label_shape: objects have width {mine[1]} here and {other[1]} in the other "
                f"iterator; both must be equal."
            )
        count = max(mine[0], other[0])
        for each in (self, it):
            if each.label_shape[0] < count:
                each.reshape(None, (count, mine[1]))
        if verbose and count > min(mine[0], other[0]):
            logging.info("Resized label_shape to (%d, %d).", count, mine[1])
        return it

    # ---- samples --------------------------------------------------------------------------------

    def augmentation_transform(  # type: ignore[override]
        self, data: NDArray | np.ndarray, label: np.ndarray
    ) -> tuple[Any, np.ndarray]:
        """Image and boxes after all augmenters.

        Args:
            data: an image ``(height, width, channels)``.
            label: its objects ``(objects, width)``.
        """
        for each in self.auglist:
            data, label = each(data, label)
        return data, label

    def _augmented(
        self, image: NDArray | np.ndarray, raw_label: Any, place: str
    ) -> tuple[Any, Any] | None:
        label = self._parse_label(raw_label).copy()
        image, label = self.augmentation_transform(image, label)
        try:
            self._check_valid_label(label)
        except MXNetError:
            warnings.warn(f"Image {place} has no valid object and is skipped.", stacklevel=5)
            return None
        return image, label[_is_object(label)]

    def _write_label(self, row: np.ndarray, label: Any) -> None:
        row[0] = -1
        if label.shape[0] > row.shape[1]:
            raise AttributeValueError(
                f"An image has {label.shape[0]} objects, but label_shape has room for {row.shape[1]}."
            )
        row[0, : label.shape[0], : label.shape[1]] = label

    def _is_valid(self, image: Any) -> bool:
        return super()._is_valid([image])  # as MXNet gives it to programs that override the check

    def draw_next(
        self,
        color: Any = None,
        thickness: int = 2,
        mean: ArrayLike | None = None,
        std: ArrayLike | None = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: dict[int, str] | None = None,
    ) -> Iterator[np.ndarray]:
        """The augmented images with their boxes drawn, one after another.

        Args:
            color: of the boxes, ``(red, green, blue)``; random by default.
            thickness: of the lines.
            mean: to add; True for ImageNet's.
            std: to multiply by; True for ImageNet's.
            clip: to 0 to 255.
            waitKey: milliseconds to show each image for in a window, where OpenCV has windows.
            window_name: of the window.
            id2labels: names of classes, written next to the boxes.

        Yields:
            ``(height, width, 3)`` of uint8, red first.
        """
        import cv2

        while True:
            try:
                raw_label, content = self.next_sample()
            except StopIteration:
                return
            try:
                image = host.decode(content, 1, True)
            except MXNetError as error:
                raise _broken(self._place(), error) from None
            augmented = self._augmented(image, raw_label, self._place())
            if augmented is None:
                continue
            pixels, label = np.array(host.pixels_of(augmented[0])), augmented[1]
            pixels = _undone(pixels, mean, std)
            if clip:
                pixels = np.clip(pixels, 0, 255)
            pixels = np.ascontiguousarray(pixels.astype(np.uint8))
            height, width = pixels.shape[:2]
            for box in label:
                left, top = int(box[1] * width), int(box[2] * height)
                right, bottom = int(box[3] * width), int(box[4] * height)
                line = color if color is not None else (np.random.rand(3) * 255).tolist()
                line = (line,) * 3 if np.isscalar(line) else tuple(float(each) for each in line)
                cv2.rectangle(pixels, (left, top), (right, bottom), line, thickness)
                if id2labels is not None and int(box[0]) in id2labels:
                    text = id2labels[int(box[0])]
                    cv2.putText(
                        pixels, text, (left + 5, top + 20), cv2.FONT_HERSHEY_SIMPLEX, 0.6, line, 2
                    )
            if waitKey is not None:
                cv2.imshow(window_name, pixels[:, :, ::-1])
                cv2.waitKey(waitKey)
            yield pixels


def _undone(pixels: np.ndarray, mean: ArrayLike | None, std: ArrayLike | None) -> np.ndarray:
    for value, default, inverse in (
        (std, IMAGENET_STD, np.multiply),
        (mean, IMAGENET_MEAN, np.add),
    ):
        if value is True:
            value = default
        if value is not None and value is not False:
            pixels = inverse(pixels, value.asnumpy() if isinstance(value, NDArray) else value)
    return pixels
