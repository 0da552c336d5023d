"""ImageIter: batches of images from record files, list files or lists in memory."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mixnet import config, engine
from mixnet.base import (
    AttributeValueError,
    CheckError,
    FileFormatError,
    MXNetError,
    PathNotFoundError,
    ShapeError,
    SizeError,
)
from mixnet.engine.variable import Var
from mixnet.files.reading import content_of, lines_of, opened
from mixnet.image import host
from mixnet.image.augment import Augmenter, CreateAugmenter, WithArguments
from mixnet.image.host import given_away
from mixnet.image.transform import imdecode
from mixnet.io.batch import DataBatch
from mixnet.io.iterator import DataIter
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.recordio import MXIndexedRecordIO, MXRecordIO, unpack
from mixnet.runtime.value.value import aligned_empty

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mixnet.dtype import DTypeLike

_OURS = "mixnet.image."
_IMAGES_PER_TASK = 8  # below that a task costs more than it saves


def in_parallel(work: Callable[[Any], Any], items: Sequence[Any], name: str) -> list[Any]:
    """Run ``work`` for each item on the engine's I/O workers; raises the first error."""
    results: list[Any] = [None] * len(items)

    def run(begin: int) -> None:
        for i in range(begin, min(begin + _IMAGES_PER_TASK, len(items))):
            results[i] = work(items[i])

    variables = []
    for begin in range(0, len(items), _IMAGES_PER_TASK):
        variables.append(Var(name))
        engine.push(partial(run, begin), (), variables[-1:], "io", name=name)
    for variable in variables:
        engine.wait_for_var(variable)
    return results


def read_image_list(path: str) -> dict[int, tuple[np.ndarray, str]]:
    """Labels and file names by number from lines of number, labels and file name.

    Raises:
        FileNotFoundError: there is no such file.
        FileFormatError: a line is something else.
    """
    return {number: (labels, name) for number, labels, name in image_lines(path)}


def image_lines(path: str) -> Iterator[tuple[int, np.ndarray, str]]:
    """Numbers, labels and file names of the lines of a list; errors as of ``read_image_list``."""
    for place, line in lines_of(opened(path, PathNotFoundError), path):
        parts = line.strip().split("\t")
        if not line.strip():
            continue
        try:
            if len(parts) < 3:
                raise ValueError
            yield int(parts[0]), np.array(parts[1:-1], np.float32), parts[-1]
        except ValueError:
            raise FileFormatError(
                f"{path}, line {place}: expected an index, labels and a file name separated by "
                f"tabs, not {line.rstrip()!r:.100}."
            ) from None


class ImageIter(DataIter):
    """Batches of augmented images.

    Decoding is done by the engine's I/O workers. These methods may be overridden: ``next_sample``,
    ``imdecode``, ``augmentation_transform``, ``postprocess_data``; they take and return arrays.

    Args:
        batch_size: images in a batch.
        data_shape: ``(3, height, width)``.
        label_width: labels of an image.
        path_imgrec: record file.
        path_imglist: file of numbers, labels and file names; with records its labels count.
        path_root: folder of the files.
        path_imgidx: index of the record file; needed to shuffle and for parts.
        shuffle: a new order at every reset, by Python's generator.
        part_index: which part.
        num_parts: number of parts; left-over samples are in none.
        aug_list: augmenters; by default those of :func:`CreateAugmenter` for ``kwargs``.
        imglist: ``[label(s) ..., file name]`` for each image.
        data_name: of the data.
        label_name: of the labels.
        dtype: of the labels of a list.
        last_batch_handle: ``'pad'`` fills the last batch up with the first images, ``'discard'``
            drops it, ``'roll_over'`` puts its images at the start of the next epoch.
        kwargs: for :func:`CreateAugmenter`.

    Raises:
        AssertionError: there is no source, or shuffling and parts without an index.
        ValueError: ``data_shape`` is not that of a colour image.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, int, int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[Augmenter] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ):
        super().__init__()
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            raise CheckError("ImageIter needs path_imgrec, path_imglist or a list imglist.")
        if dtype not in ("int32", "float32", "int64", "float64"):
            raise CheckError(f"{dtype} label not supported; use int32, float32, int64 or float64.")
        self.imgrec: Any = None
        self.imgidx: list[Any] | None = None
        self.imglist: dict[Any, tuple[Any, str]] | None = None
        self.seq: list[Any] | None = None
        logging.info("Using %s threads for decoding...", config.get("MXNET_CPU_WORKER_NTHREADS"))
        logging.info(  # MXNet's spelling
            "Set enviroment variable MXNET_CPU_WORKER_NTHREADS to a larger number to use more threads."
        )
        self._open_records(path_imgrec, path_imgidx)
        self._read_list(path_imglist, imglist, dtype)
        self.path_root = path_root
        self.check_data_shape(data_shape)
        self.provide_data: list[tuple[str, tuple[int, ...]]] = [
            (data_name, (batch_size, *data_shape))
        ]
        labels = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label: list[tuple[str, tuple[int, ...]]] = [(label_name, labels)]
        self.batch_size = batch_size
        self.data_shape = data_shape
        self.label_width = label_width
        self.shuffle = shuffle
        if (num_parts > 1 or shuffle) and self.seq is None:
            raise CheckError("Shuffling and parts of a record file need path_imgidx.")
        self._take_part(part_index, num_parts)
        self.auglist: Any = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.cur = 0
        self.last_batch_handle = last_batch_handle
        self.num_image = None if self.seq is None else len(self.seq)
        self._ended = False
        self._rest: tuple[np.ndarray, np.ndarray] | None = None
        self.reset()

    def _open_records(self, path: str | None, index: str | None) -> None:
        if not path:
            return
        logging.info("%s: loading recordio %s...", self.__class__.__name__, path)
        if index:
            self.imgrec = MXIndexedRecordIO(index, path, "r")
            self.imgidx = list(self.imgrec.keys)
        else:
            self.imgrec = MXRecordIO(path, "r")

    def _read_list(self, path: str | None, entries: object, dtype: DTypeLike) -> None:
        """Labels and files by key; without a list the order is that of the record file's index."""
        if path:
            logging.info("%s: loading image list %s...", self.__class__.__name__, path)
            self.imglist = {
                key: (array(labels, dtype=dtype), file)
                for key, (labels, file) in read_image_list(path).items()
            }
        elif isinstance(entries, list):
            logging.info("%s: loading image list...", self.__class__.__name__)
            self.imglist = {
                str(i): (array(_labels_of(entry), dtype=dtype), entry[-1])
                for i, entry in enumerate(entries, 1)
            }
        self.seq = self.imgidx if self.imglist is None else list(self.imglist)

    def _take_part(self, part_index: int, num_parts: int) -> None:
        if num_parts <= 1:
            return
        if not 0 <= part_index < num_parts:
            raise CheckError(f"part_index {part_index} is not below num_parts {num_parts}.")
        size = len(self.seq or ()) // num_parts
        self.seq = (self.seq or [])[part_index * size : (part_index + 1) * size]

    # ---- epochs ---------------------------------------------------------------------------------

    def reset(self) -> None:
        """Begin an epoch; images that roll over are kept."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over":
            self._rest = None
        self._rewind()
        self._ended = False

    def hard_reset(self) -> None:
        """Begin an epoch; rolled-over images are discarded."""
        self._rest = None
        self.reset()

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0

    # ---- samples --------------------------------------------------------------------------------

    def next_sample(self) -> tuple[Any, bytes]:
        """Label and encoded image of the next sample.

        Raises:
            StopIteration: there is none.
        """
        if self._ended:
            raise StopIteration
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                self._stop()
            header, content = unpack(record)
            return header.label, content
        if self.cur >= len(self.seq):
            self._stop()
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            assert self.imglist is not None
            label, name = self.imglist[key]
            return label, self.read_image(name)
        header, content = unpack(self.imgrec.read_idx(key))
        return header.label if self.imglist is None else self.imglist[key][0], content

    def _stop(self) -> NoReturn:
        """End the epoch; reading then restarts with the first samples, except with ``discard``."""
        if self.last_batch_handle != "discard":
            self._rewind()
        raise StopIteration

    def _place(self) -> str:
        """The sample that was read last, for error messages."""
        if self.seq is None:
            return "in the record file"
        key = self.seq[self.cur - 1]
        if self.imgrec is not None:
            return f"index: {key}"
        assert self.imglist is not None
        return f"filename: {os.path.join(self.path_root or '', self.imglist[key][1])}"

    def read_image(self, fname: str) -> bytes:
        """Read a file below ``path_root``.

        Args:
            fname: path of the file, relative to ``path_root``.
        """
        return content_of(os.path.join(self.path_root or "", fname))

    def imdecode(self, s: bytes) -> Any:
        """Decode an image ``(height, width, 3)`` from the bytes of a file.

        Args:
            s: the bytes.
        """
        return imdecode(s)

    def check_data_shape(self, data_shape: tuple[int, ...]) -> None:
        """Raise ValueError unless the shape is ``(3, height, width)``.

        Args:
            data_shape: the shape.
        """
        if not len(data_shape) == 3:
            raise AttributeValueError(f"data_shape must be (3, height, width), not {data_shape}.")
        if not data_shape[0] == 3:
            raise AttributeValueError(
                f"data_shape must have 3 channels, (3, height, width), not {data_shape}."
            )

    def check_valid_image(self, data: Sequence[NDArray | np.ndarray]) -> None:
        """Raise RuntimeError if an image has no axes: it is left out.

        Args:
            data: a list of the image.
        """
        if len(data[0].shape) == 0:
            raise MXNetError(
                "Data shape is wrong: an image must be (height, width, channels); this one has no axes."
            )

    def augmentation_transform(self, data: NDArray | np.ndarray) -> Any:
        """The image after all augmenters.

        Args:
            data: an image ``(height, width, channels)``.
        """
        for each in self.auglist:
            data = each(data)
        return data

    def postprocess_data(self, datum: NDArray | np.ndarray) -> Any:
        """Channels first.

        Args:
            datum: an image ``(height, width, channels)``.
        """
        if isinstance(datum, np.ndarray):
            return datum.transpose(2, 0, 1)
        return datum.transpose((2, 0, 1))

    # ---- batches --------------------------------------------------------------------------------

    def _in_numpy(self) -> bool:
        """Whether no method or augmenter is overridden, so that no array is created per image."""
        names = ("imdecode", "check_valid_image", "augmentation_transform", "postprocess_data")
        ours = all(getattr(type(self), name).__module__.startswith(_OURS) for name in names)
        return ours and all(_is_ours(each) for each in self.auglist)

    def _batchify(self, batch_data: Any, batch_label: Any, start: int = 0) -> int:
        """Fill the arrays of a batch from position ``start``; returns the end position."""
        if not isinstance(batch_data, NDArray):
            return self._read(batch_data, batch_label, start)
        data, label = batch_data.asnumpy().copy(), batch_label.asnumpy().copy()
        end = self._read(data, label, start)
        batch_data[:], batch_label[:] = data, label
        return end

    def _read(self, data: np.ndarray, label: np.ndarray, begin: int) -> int:
        fast = self._in_numpy()
        at_end = False
        while begin < self.batch_size and not at_end:
            samples = []
            for _ in range(begin, self.batch_size):
                try:
                    sample = self.next_sample()
                except StopIteration:
                    at_end = True
                    break
                samples.append((*sample, self._place()))
            if not samples:
                break
            images: list[Any] = [None] * len(samples)
            if fast:
                images = in_parallel(_decoded, samples, "decode images")
            for image, (raw_label, content, place) in zip(images, samples, strict=True):
                if not fast:
                    try:
                        image = self.imdecode(content)
                    except MXNetError as error:
                        raise _broken(place, error) from None
                    if not self._is_valid(image):
                        continue
                augmented = self._augmented(image, raw_label, place)
                if augmented is None:
                    continue
                pixels = host.pixels_of(self.postprocess_data(augmented[0]))
                try:  # one channel fills all, as in MXNet
                    data[begin] = pixels
                except ValueError:
                    raise SizeError(
                        f"The augmenters made an image of shape {pixels.shape}, but data_shape is "
                        f"{data.shape[1:]}."
                    ) from None
                self._write_label(label[begin : begin + 1], augmented[1])
                begin += 1
        return begin

    def _is_valid(self, image: Any) -> bool:
        try:
            self.check_valid_image(image)
        except RuntimeError as error:
            logging.debug("Invalid image, skipping:  %s", error)
            return False
        return True

    def _augmented(
        self, image: NDArray | np.ndarray, raw_label: object, place: str
    ) -> tuple[Any, Any] | None:
        """The transformed image and label; None for a sample to skip."""
        return self.augmentation_transform(image), self._checked_label(raw_label, place)

    def _write_label(self, row: np.ndarray, label: ArrayLike) -> None:
        row[0] = label

    def _checked_label(self, raw_label: object, place: str) -> Any:
        values = raw_label.asnumpy() if isinstance(raw_label, NDArray) else np.asarray(raw_label)
        if values.size != self.label_width:
            raise ShapeError(
                f"Image {place} has {values.size} label(s), but label_width is {self.label_width}."
            )
        return values.reshape(self.label_width) if self.label_width > 1 else values.reshape(())

    def _buffers(self) -> tuple[np.ndarray, np.ndarray]:
        # Not of ``provide_data``: subclasses describe there what they make of a batch.
        data = self.batch_size, *self.data_shape
        return aligned_empty(data, np.float32), aligned_empty(self.provide_label[0][1], np.float32)

    def next(self) -> DataBatch:
        """The next batch.

        Raises:
            RuntimeError: an image is damaged.
            ShapeError: an image or a label has the wrong size.
        """
        if self._ended:
            raise StopIteration
        data, label = self._buffers()
        begin = 0
        rest, self._rest = self._rest, None
        if rest is not None:
            begin = len(rest[0])
            data[:begin], label[:begin] = rest
        pad = self.batch_size - begin if begin else 0
        filled = self._batchify(data, label, begin)
        if filled < self.batch_size:
            if filled == 0 or self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over" and rest is None:
                self._rest = data[:filled].copy(), label[:filled].copy()
                raise StopIteration
            pad = self.batch_size - filled
            self._fill(data, label, filled)
            self._ended = self.last_batch_handle == "pad"
        return DataBatch([given_away(data)], [given_away(label)], pad=pad)

    def _fill(self, data: np.ndarray, label: np.ndarray, filled: int) -> None:
        while filled < self.batch_size:
            self._rewind()
            more = self._batchify(data, label, filled)
            if more == filled:
                raise MXNetError("There are no images to fill the batch with.")
            filled = more


def _labels_of(entry: Sequence[Any]) -> Any:
    if len(entry) > 2:
        return entry[:-1]
    return [entry[0]] if isinstance(entry[0], Number) else entry[0]


def _decoded(sample: tuple[Any, bytes, str]) -> np.ndarray:
    try:
        return host.decode(sample[1], 1, True)
    except MXNetError as error:
        raise _broken(sample[2], error) from None


def _broken(place: str, error: Exception) -> MXNetError:
    return FileFormatError(f"Broken image {place}, {error}")


def _is_ours(augmenter: WithArguments) -> bool:
    """Whether an augmenter and its parts also accept NumPy arrays."""
    return type(augmenter).__module__.startswith(_OURS) and all(map(_is_ours, augmenter._mx_parts))
