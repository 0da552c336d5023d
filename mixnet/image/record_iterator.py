"""Iterators over image record files: decoded, augmented and batched by the engine's I/O workers."""

from __future__ import annotations

import os
import threading
import warnings
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from mixnet.base import FileFormatError, MXNetError, ShapeError
from mixnet.image import host
from mixnet.image.draw import FIRST_SEED, Draws, of_seed, of_words
from mixnet.image.iterator import read_image_list
from mixnet.image.record_augment import (
    AugmentParameters,
    DefaultAugmenter,
    NormalizeParameters,
    Normalizer,
)
from mixnet.image.record_source import SHUFFLE_SEED, Records
from mixnet.io.files import _names
from mixnet.io.loader import BatchSource, MXDataIter, to_array
from mixnet.io.parameters import REQUIRED, BatchParameters, Shape
from mixnet.ndarray.params_file import load, save
from mixnet.ops.generators.mersenne import Twister
from mixnet.recordio import unpack


class RecordParameters(BatchParameters):
    """Parameters of the source of images.

    Args:
        path_imglist: file of labels that replace those of the records, by their numbers.
        path_imgrec: record file.
        path_imgidx: index of the record file.
        aug_seq: the default augmenter is the only one.
        label_width: labels of an image.
        data_shape: ``(channels, height, width)``: 3 channels, 1 for grey or 4 with opacity.
        preprocess_threads: number of tasks that share the work of a batch.
        verbose: ignored.
        num_parts: how many parts.
        part_index: which part.
        device_id: ignored.
        shuffle_chunk_size: ignored; the whole file is shuffled.
        shuffle_chunk_seed: ignored.
        seed_aug: of random augmentation. An image has a seed that follows from it and from the place of
            the image in its batch, or without ``path_imgidx`` in the 8 MB of the file that hold it; by
            default the random numbers go on from image to image.
        shuffle: another order in each epoch.
        seed: of the orders.
        corrupt: what to do with an invalid record or an image that cannot be decoded: raise,
            or skip it, warn and count it in ``handle.skipped``; the batch then has more padding.
    """

    path_imglist: str = ""
    path_imgrec: str = ""
    path_imgidx: str = ""
    aug_seq: str = "aug_default"
    label_width: int = 1
    data_shape: Shape = REQUIRED
    preprocess_threads: int = 4
    verbose: bool = True
    num_parts: int = 1
    part_index: int = 0
    device_id: int = 0
    shuffle_chunk_size: int = 0
    shuffle_chunk_seed: int = 0
    seed_aug: int | None = None
    shuffle: bool = False
    seed: int = 0
    corrupt: Literal["raise", "skip"] = "raise"


class ImageRecordParameters(AugmentParameters, NormalizeParameters, RecordParameters):
    """All parameters of :func:`ImageRecordIter`."""


class RecordSource(BatchSource):
    """Images of a record file.

    Args:
        settings: the parameters.
        name: of the iterator.
        dtype: of the data.
        label: shape of the label of an image.
        counts: return the positions of the images as their index.
        shuffle_seed: added to the seed of the shuffle orders.
    """

    uses_index = True  # whether path_imgidx determines the parts
    words: int | None = None  # that an image takes; None: that depends on the image

    def __init__(
        self,
        settings: RecordParameters,
        name: str,
        dtype: np.dtype,
        label: tuple[int, ...],
        counts: bool = False,
        shuffle_seed: int = SHUFFLE_SEED,
    ):
        shape = tuple(settings.data_shape)
        if len(shape) != 3 or shape[0] not in (1, 3, 4):
            raise ShapeError(f"{name}: data_shape must be (channels, height, width), not {shape}.")
        super().__init__(
            name, settings.batch_size, settings.round_batch, (shape, dtype), (label, np.float32),
            prefetch=max(settings.prefetch_buffer, 1), workers=settings.preprocess_threads,
        )  # fmt: skip
        if not settings.path_imgrec:
            raise MXNetError(
                f"{name}: path_imgrec was not given; give the path of the record file."
            )
        index = settings.path_imgidx if self.uses_index else ""
        self.records = Records(
            settings.path_imgrec, index, settings.shuffle, settings.seed + shuffle_seed, settings.num_parts,
            settings.part_index, settings.corrupt == "skip",
        )  # fmt: skip
        self.settings = settings
        self._counts = counts
        self._index = np.zeros(self.batch_size, np.uint64)
        self.labels = read_image_list(settings.path_imglist) if settings.path_imglist else None
        self._sequence = Twister(FIRST_SEED)
        self._epoch_words: np.ndarray | None = None  # of all records, in the order of the file
        self._chunk_place = 0  # in its batch, of the first record of the chunk that is read
        self._undecoded = self._reported = 0
        self._counting = threading.Lock()

    @property
    def skipped(self) -> int:
        """Number of records and images skipped so far, if ``corrupt='skip'``."""
        return self.records.skipped + self._undecoded

    def begin(self, epoch: int) -> None:
        self.records.begin(epoch)
        self._epoch_words = None

    def take(self, count: int) -> list[tuple[bytes, Draws | None]]:
        records = self.records.take(count)
        each, seed = self.words, self.settings.seed_aug
        draws: Iterable[Draws | None] = [None] * len(records)
        if seed is not None:
            places = self._places(self.batch_size - count)
            draws = [of_seed(seed + FIRST_SEED + place) for place in places]
        elif each:
            draws = map(of_words, self._words(each, len(records)))
        return list(zip(records, draws, strict=True))

    def _words(self, each: int, count: int) -> np.ndarray:
        """The words of the records just taken; MXNet draws them before it shuffles without an index."""
        if not self.settings.shuffle or self.settings.path_imgidx:
            return self._sequence.take(0, 1, each * count).reshape(count, each)
        if self._epoch_words is None:
            number = self.records.number
            self._epoch_words = self._sequence.take(0, 1, each * number).reshape(number, each)
        return self._epoch_words[self.records.numbers]

    def _places(self, first: int) -> Iterable[int]:
        """The places from which the seeds of the records just taken count, as in MXNet.

        Args:
            first: the place of the first one in the batch.
        """
        numbers = self.records.numbers
        if self.settings.path_imgidx:
            return range(first, first + len(numbers))
        if self.settings.shuffle:
            return [self.batch_size + number for number in numbers]
        places = []
        for i, number in enumerate(numbers):
            if number == 0:
                self._chunk_place = first + i
            places.append(self._chunk_place + number)
        return places

    def allocate(self) -> Any:
        data, label = super().allocate()
        left_out = np.zeros(self.batch_size, bool)
        return data, label, left_out, np.zeros(self.batch_size, np.uint64)

    def blank(self, buffers: Any, first: int) -> None:
        super().blank(buffers[:2], first)

    def _draws(self, seed: tuple[int, int], place: int) -> Draws:
        """The random numbers of an image for which none are drawn in order."""
        epoch, batch = seed  # not of the worker: the number of workers changes nothing
        number = batch * self.batch_size + place
        return of_seed(zlib.crc32(f"{self.settings.seed} {epoch} {number}".encode()))

    def fill(self, buffers: Any, samples: Sequence[Any], first: int, seed: tuple[int, int]) -> None:
        for place, (record, drawn) in enumerate(samples, first):
            header, content = unpack(record)
            draw = drawn or self._draws(seed, place)
            try:
                self.write(buffers, place, header, content, draw)
            except FileFormatError as error:
                if self.settings.corrupt == "raise":
                    raise FileFormatError(
                        f"{self.records.path}, image {header.id}: {error}"
                    ) from None
                with self._counting:
                    self._undecoded += 1
                buffers[2][place] = True
            if self._counts:
                buffers[3][place] = header.id

    def write(
        self, buffers: object, place: int, header: object, content: bytes, draw: Draws
    ) -> None:
        """Write an image and its label."""
        raise NotImplementedError

    def decoded(self, content: bytes) -> np.ndarray:
        """The image, red first, with the channels of ``data_shape``."""
        channels = self.settings.data_shape[0]
        flag = {1: 0, 3: 1, 4: -1}[channels]
        pixels = host.decode(content, flag, True)
        if pixels.shape[2] != channels:
            raise FileFormatError(f"the image has {pixels.shape[2]} channel(s), not {channels}.")
        return pixels

    def label_of(self, header: Any) -> Any:
        """Labels of an image.

        Raises:
            MXNetError: the list has no labels for it.
        """
        if self.labels is None:
            return header.label
        label = self.labels.get(header.id)
        if label is None:
            raise MXNetError(
                f"{self.settings.path_imglist} has no image {header.id}. Add its line, or leave "
                f"path_imglist out to use the labels of the records."
            )
        return label[0]

    def finish(self, buffers: Any, samples: Sequence[Any]) -> tuple[Any, Any]:
        data, label, left_out, self._index = buffers
        if left_out.any():
            good = np.flatnonzero(~left_out[: len(samples)])
            if not len(good):
                raise FileFormatError(f"{self.records.path}: no image of a batch can be decoded.")
            order = np.resize(good, self.batch_size)
            data[...], label[...] = data[order], label[order]
            self._index = self._index[order]
        if self.skipped > self._reported:
            self._reported = self.skipped
            warnings.warn(
                f"{self.records.path}: {self.skipped} record(s) skipped so far.", stacklevel=4
            )
        return to_array(data), to_array(label)

    def padding(self, buffers: Any) -> int:
        return int(buffers[2].sum())

    def index(self, samples: Sequence[Any]) -> np.ndarray:
        return self._index


class ImageSource(RecordSource):
    """Images for classification.

    Args:
        settings: the parameters.
        name: of the iterator.
        dtype: of the data.
    """

    settings: ImageRecordParameters

    def __init__(self, settings: ImageRecordParameters, name: str, dtype: np.dtype):
        width = settings.label_width
        older = name.endswith("_v1")
        super().__init__(settings, name, dtype, () if width == 1 else (width,), counts=older)
        if settings.aug_seq != "aug_default":
            raise MXNetError(f"{name}: aug_seq must be 'aug_default', not {settings.aug_seq!r}.")
        self._augment = DefaultAugmenter(settings, *settings.data_shape[1:])
        self._normalize = Normalizer(settings, dtype, divides=older)
        if self._augment.is_random or self._normalize.is_random:
            of_augmenter = self._augment.words
            self.words = None if of_augmenter is None else of_augmenter + self._normalize.words
        else:
            self.words = 0
        if settings.mean_img and dtype != np.uint8:
            self._normalize.use_mean_image(self._mean_image(settings))

    def _mean_image(self, settings: ImageRecordParameters) -> np.ndarray:
        if not os.path.exists(settings.mean_img):
            average = self._computed_mean()
            save(settings.mean_img, {"mean_img": to_array(average)})
            return average
        loaded = load(settings.mean_img)
        if not loaded:
            raise FileFormatError(
                f"{settings.mean_img} has no array; delete it to compute it again."
            )
        mean: np.ndarray = next(
            iter(loaded.values() if isinstance(loaded, dict) else loaded)
        ).asnumpy()
        if mean.shape != tuple(settings.data_shape):
            raise ShapeError(
                f"{settings.mean_img} has a mean of shape {mean.shape}, but data_shape is "
                f"{settings.data_shape}; delete it to compute it again."
            )
        return mean

    def _computed_mean(self) -> np.ndarray:
        """The mean of all cropped images, pixel by pixel."""
        total, count = np.zeros(self.settings.data_shape, np.float64), 0
        self.begin(0)
        buffers = self.allocate()
        plain = Normalizer(NormalizeParameters(self.name, (), {}), np.dtype(np.float32))
        fixed = of_seed(0)
        while records := self.records.take(self.batch_size):
            for record in records:
                pixels = self._augment(self.decoded(unpack(record)[1]), fixed)
                plain(pixels, buffers[0][0], fixed)
                total += buffers[0][0]
            count += len(records)
        if not count:
            raise MXNetError(f"{self.records.path} has no images to take the mean of.")
        return (total / count).astype(np.float32)

    def write(self, buffers: Any, place: int, header: Any, content: bytes, draw: Draws) -> None:
        pixels = self._augment(self.decoded(content), draw)
        self._normalize(pixels, buffers[0][place], draw)
        label = np.asarray(self.label_of(header))
        if label.size != self.settings.label_width:
            raise ShapeError(
                f"{self.records.path}: image {header.id} has {label.size} label(s), but label_width "
                f"is {self.settings.label_width}."
            )
        buffers[1][place] = label if self.settings.label_width > 1 else label.reshape(())


def _image_iterator(name: str, kind: str | None, args: Any, kwargs: dict[str, Any]) -> MXDataIter:
    names = _names(kwargs)
    settings = ImageRecordParameters(name, args, kwargs)
    dtype = np.dtype(kind or settings.dtype or "float32")
    if dtype.name not in ("float32", "uint8", "int8"):
        raise MXNetError(f"unknown dtype for {name}: {dtype.name}; use float32, uint8 or int8.")
    return MXDataIter(ImageSource(settings, name, dtype), **names)


def ImageRecordIter(*args: object, **kwargs: object) -> MXDataIter:
    """Batches of the images of a record file, decoded, augmented and normalized.

    The engine's I/O workers prefetch batches; random augmentation depends on the seed, the
    epoch and the position of the image, not on the number of workers.

    Args:
        args: none; parameters are given by name.
        kwargs: see :class:`RecordParameters`, :class:`~mixnet.io.parameters.BatchParameters`,
            :class:`~mixnet.image.record_augment.AugmentParameters` and
            :class:`~mixnet.image.record_augment.NormalizeParameters`; ``data_name``,
            ``label_name``.

    Raises:
        MXNetError: a required parameter is missing or invalid, or a file cannot be read.
    """
    return _image_iterator("ImageRecordIter", None, args, kwargs)


def ImageRecordIter_v1(*args: object, **kwargs: object) -> MXDataIter:
    """An older name of :func:`ImageRecordIter`.

    Args:
        args: none: its parameters are given by name.
        kwargs: parameters of :func:`ImageRecordIter`.
    """
    return _image_iterator("ImageRecordIter_v1", None, args, kwargs)


def ImageRecordUInt8Iter(*args: object, **kwargs: object) -> MXDataIter:
    """:func:`ImageRecordIter` with unchanged uint8 pixels.

    Args:
        args: none: its parameters are given by name.
        kwargs: parameters of :func:`ImageRecordIter`.
    """
    return _image_iterator("ImageRecordUInt8Iter", "uint8", args, kwargs)


def ImageRecordUInt8Iter_v1(*args: object, **kwargs: object) -> MXDataIter:
    """An older name of :func:`ImageRecordUInt8Iter`.

    Args:
        args: none: its parameters are given by name.
        kwargs: parameters of :func:`ImageRecordIter`.
    """
    return _image_iterator("ImageRecordUInt8Iter_v1", "uint8", args, kwargs)


def ImageRecordInt8Iter(*args: object, **kwargs: object) -> MXDataIter:
    """:func:`ImageRecordIter` with pixels of int8; values above 127 become 127.

    Args:
        args: none: its parameters are given by name.
        kwargs: parameters of :func:`ImageRecordIter`.
    """
    return _image_iterator("ImageRecordInt8Iter", "int8", args, kwargs)
