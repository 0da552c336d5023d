"""CSVIter, LibSVMIter and MNISTIter: files that fit into memory."""

from __future__ import annotations

import gzip
import itertools
import math
import re
import struct
from array import array as packed
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mixnet.base import FileFormatError, MXNetError, ShapeError
from mixnet.files.reading import lines_of, opened, read_packed
from mixnet.io.loader import BatchSource, MXDataIter
from mixnet.io.parameters import REQUIRED, BatchParameters, Parameters, Shape
from mixnet.io.shuffle import Shuffler
from mixnet.ndarray.create import array
from mixnet.ndarray.sparse import csr_matrix


def _names(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Take the names of data and label out of the arguments."""
    return {name: kwargs.pop(name) for name in ("data_name", "label_name") if name in kwargs}


def _opened(path: str) -> Any:
    """Open a binary file, decompressed if it is gzipped."""
    plain = opened(path)
    return _Unpacked(plain) if plain.peek(2)[:2] == b"\x1f\x8b" else plain


class _Unpacked(gzip.GzipFile):
    """A gzipped file; closing it also closes the underlying file."""

    def __init__(self, file: Any):
        super().__init__(fileobj=file)
        self.myfileobj = file


def part_of(size: int, num_parts: int, part_index: int, name: str) -> tuple[int, int]:
    """Begin and end of a part; all parts except the last have the same size."""
    if not 0 <= part_index < num_parts:
        raise MXNetError(f"{name}: part_index {part_index} is not below num_parts {num_parts}.")
    step = -(-size // num_parts)
    return min(step * part_index, size), min(step * (part_index + 1), size)


class Rows(BatchSource):
    """Samples in memory, taken by index."""

    count = 0

    def begin(self, epoch: int) -> None:
        """Go to the first row."""
        self._at = 0

    def take(self, count: int) -> Sequence[int]:
        """Indices of the next rows."""
        begin, self._at = self._at, min(self._at + count, self.count)
        return range(begin, self._at)

    def index(self, samples: Sequence[int]) -> np.ndarray:
        """Indices of the rows."""
        numbers = np.zeros(self.batch_size, np.uint64)
        numbers[: len(samples)] = samples
        return numbers


# ---- CSV ----------------------------------------------------------------------------------------


class CSVParameters(BatchParameters):
    """Parameters of :func:`CSVIter`.

    Args:
        data_csv: file with a sample in each line.
        data_shape: of a sample.
        label_csv: file with a label in each line; without it labels are 0.
        label_shape: of a label.
        num_parts: number of parts that the lines are split into, for several workers.
        part_index: which part.
    """

    data_csv: str = REQUIRED
    data_shape: Shape = REQUIRED
    label_csv: str = "NULL"
    label_shape: Shape = (1,)
    num_parts: int = 1
    part_index: int = 0


def read_csv(path: str, columns: int, dtype: np.dtype) -> np.ndarray:
    """Comma-separated numbers, ``(lines, columns)``; empty lines are skipped.

    Of numbers with a fraction, a whole ``dtype`` takes the whole part.

    Raises:
        MXNetError: the file cannot be read.
        FileFormatError: a line has a different number of columns, or a value that is not a number.
    """
    lines = _filled_lines(path)
    first = next(lines, None)
    if first is None:
        return np.empty((0, columns), dtype)
    try:
        texts = (line for _, line in itertools.chain([first], lines))
        values = np.loadtxt(texts, dtype, delimiter=",", ndmin=2, comments=None)
        if values.shape[1] == columns:
            return values
    except FileFormatError:
        raise
    except (ValueError, DeprecationWarning):  # whole numbers written as 1.0, if warnings are errors
        pass
    rows = []
    for number, line in _filled_lines(path):  # slowly, to say where
        cells = line.strip().removesuffix(",").split(",")
        try:
            if len(cells) == columns:
                rows.append([_number(cell, dtype) for cell in cells])
                continue
        except (ValueError, OverflowError):
            pass
        raise FileFormatError(
            f"{path}, line {number}: a sample has {columns} number(s) of {dtype.name}, but this line "
            f"is {line.strip()!r:.80}. The data size in CSV do not match size of shape."
        )
    return np.array(rows, dtype)


def _number(text: str, dtype: np.dtype) -> Any:
    """A number of a CSV file; a whole dtype takes the whole part of one with a fraction."""
    try:
        return dtype.type(text)
    except ValueError:
        if dtype.kind != "i":
            raise
        return dtype.type(int(float(text)))


def _filled_lines(path: str) -> Iterator[tuple[int, str]]:
    return (each for each in lines_of(_opened(path), path) if each[1].strip())


class _CSV(Rows):
    def __init__(self, settings: CSVParameters):
        dtype = np.dtype(settings.dtype or "float32")
        if dtype.name not in ("float32", "int32", "int64"):
            raise MXNetError(
                f"CSVIter: dtype={dtype.name!r} is not supported; use float32, int32 or int64."
            )
        labels = () if settings.label_shape in ((1,), ()) else tuple(settings.label_shape)
        super().__init__(
            "CSVIter",
            settings.batch_size,
            settings.round_batch,
            (settings.data_shape, dtype),
            (labels, dtype),
        )
        columns = int(np.prod(settings.data_shape, dtype=np.int64))
        self._rows = read_csv(settings.data_csv, columns, dtype).reshape(-1, *settings.data_shape)
        size = len(self._rows)
        begin, end = part_of(size, settings.num_parts, settings.part_index, "CSVIter")
        self._rows = self._rows[begin:end]
        self.count = end - begin
        if settings.label_csv == "NULL":
            self._labels = np.zeros((self.count, *labels), dtype)
            return
        width = int(np.prod(settings.label_shape, dtype=np.int64))
        self._labels = read_csv(settings.label_csv, width, dtype).reshape(-1, *labels)
        if len(self._labels) < size:
            raise ShapeError(
                f"CSVIter: {settings.data_csv} has {size} samples, but {settings.label_csv} has "
                f"{len(self._labels)} labels."
            )
        self._labels = self._labels[begin:end]

    def fill(self, buffers: Any, samples: Sequence[int], first: int, seed: tuple[int, int]) -> None:
        end = first + len(samples)
        buffers[0][first:end] = self._rows[samples]
        buffers[1][first:end] = self._labels[samples]


def CSVIter(*args: object, **kwargs: object) -> MXDataIter:
    """Batches of the lines of CSV files.

    Args:
        args: none; parameters are given by name.
        kwargs: see :class:`CSVParameters` and :class:`~mixnet.io.parameters.BatchParameters`;
            ``data_name``, ``label_name``. The dtype is float32, int32 or int64.
    """
    names = _names(kwargs)
    return MXDataIter(_CSV(CSVParameters("CSVIter", args, kwargs)), **names)


# ---- LibSVM -------------------------------------------------------------------------------------


class LibSVMParameters(BatchParameters):
    """Parameters of :func:`LibSVMIter`.

    Args:
        data_libsvm: file of lines ``label column:value column:value ...``; columns count from 0.
            ``label:weight`` and ``qid:number`` after it are accepted, weight and number ignored.
        data_shape: number of columns.
        label_libsvm: file of the same format whose columns and values are the labels; the first
            number of its lines is ignored. By default the first number of each data line is the label.
        label_shape: of a label.
        num_parts: number of parts of about the same number of bytes, as in MXNet; a line belongs to the
            part in which the byte before it is.
        part_index: which part.
    """

    data_libsvm: str = REQUIRED
    data_shape: Shape = REQUIRED
    label_libsvm: str = "NULL"
    label_shape: Shape = (1,)
    num_parts: int = 1
    part_index: int = 0


class SparseLines:
    """Lines of a LibSVM file: labels, row starts, columns and values, and the number of each line.

    Args:
        path: of the file.
        columns: number of columns.

    Raises:
        FileFormatError: a line has the wrong format, or a column index is too large.
    """

    def __init__(self, path: str, columns: int):
        labels, starts = packed("f"), packed("q", [0])
        where, values, numbers = packed("q"), packed("f"), packed("q")
        for number, line in lines_of(_opened(path), path):
            parts = line.split("#")[0].split()
            if not parts:
                continue
            try:
                # A weight may follow the label after a colon, and the number of a query the label.
                labels.append(float(parts.pop(0).partition(":")[0]))
                for part in parts[1:] if parts and parts[0].startswith("qid:") else parts:
                    text, _, value = part.partition(":")
                    column = int(text)
                    if not 0 <= column < columns:
                        raise ValueError
                    where.append(column)
                    values.append(float(value))
            except ValueError:
                raise FileFormatError(
                    f"{path}, line {number}: expected a label and column:value with columns from "
                    f"0 to {columns - 1}, not {line.strip()!r:.80}."
                ) from None
            starts.append(len(values))
            numbers.append(number)
        self.numbers = np.array(numbers, np.int64)
        self.labels = np.array(labels, np.float32)
        self.starts = np.array(starts, np.int64)
        self.columns = np.array(where, np.int64)
        self.values = np.array(values, np.float32)

    def rows(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, columns and starts of some lines."""
        lengths = self.starts[numbers + 1] - self.starts[numbers]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[numbers] - starts[:-1], lengths)
        return self.values[places], self.columns[places], starts


def _line_starts(path: str) -> tuple[np.ndarray, int]:
    """Where each line of a file begins, in bytes, and the length of the file."""
    with _opened(path) as file:
        content = file.read()
    ends = (match.end() for match in re.finditer(rb"\r\n?|\n", content))
    return np.array([0, *ends], np.int64), len(content)


class _LibSVM(Rows):
    def __init__(self, settings: LibSVMParameters):
        if not settings.round_batch:
            raise MXNetError(
                "LibSVMIter: its batches are sparse, for which round_batch must be True; leave it out."
            )
        if len(settings.data_shape) != 1:
            raise ShapeError(
                f"LibSVMIter: data_shape must be (columns,), not {settings.data_shape}."
            )
        labels = () if settings.label_shape in ((1,), ()) else tuple(settings.label_shape)
        super().__init__(
            "LibSVMIter",
            settings.batch_size,
            True,
            (settings.data_shape, np.float32),
            (labels, np.float32),
        )
        self._lines = SparseLines(settings.data_libsvm, settings.data_shape[0])
        size = len(self._lines.labels)
        self._label_lines = None
        if settings.label_libsvm != "NULL":
            self._width = int(np.prod(settings.label_shape, dtype=np.int64))
            self._label_lines = SparseLines(settings.label_libsvm, self._width)
            count = len(self._label_lines.labels)
            if count < size:
                raise ShapeError(
                    f"LibSVMIter: {settings.data_libsvm} has {size} rows, but {settings.label_libsvm} "
                    f"has {count}."
                )
        self._first, end = 0, size
        if settings.num_parts != 1 or settings.part_index:
            starts, length = _line_starts(settings.data_libsvm)
            bounds = part_of(length, settings.num_parts, settings.part_index, self.name)
            rows = starts[self._lines.numbers - 1]
            self._first, end = (
                int(np.searchsorted(rows, at, "right")) if at else 0 for at in bounds
            )
        self.count = end - self._first

    def allocate(self) -> Any:
        return ()

    def fill(
        self, buffers: object, samples: Sequence[int], first: int, seed: tuple[int, int]
    ) -> None:
        """Nothing to do: a sparse batch is created as a whole."""

    def finish(self, buffers: object, samples: Sequence[int]) -> tuple[Any, Any]:
        numbers = np.asarray(samples) + self._first
        data = csr_matrix(self._lines.rows(numbers), self.data[0])
        if self._label_lines is None:
            return data, array(self._lines.labels[numbers])
        return data, csr_matrix(self._label_lines.rows(numbers), (len(numbers), self._width))


def LibSVMIter(*args: object, **kwargs: object) -> MXDataIter:
    """Batches of csr matrices from LibSVM files.

    Args:
        args: none; parameters are given by name.
        kwargs: see :class:`LibSVMParameters` and :class:`~mixnet.io.parameters.BatchParameters`;
            ``data_name``, ``label_name``.
    """
    names = _names(kwargs)
    return MXDataIter(_LibSVM(LibSVMParameters("LibSVMIter", args, kwargs)), **names)


# ---- MNIST --------------------------------------------------------------------------------------


class MNISTParameters(Parameters):
    """Parameters of :func:`MNISTIter`.

    Args:
        image: file of images, gzipped or not.
        label: file of labels.
        batch_size: samples in a batch; an incomplete last batch is dropped.
        shuffle: one random order for all epochs, determined by ``seed``.
        flat: ``(784,)`` instead of ``(1, 28, 28)``.
        seed: of the order.
        silent: ignored.
        num_parts: number of parts.
        part_index: which part.
        prefetch_buffer: ignored; the files are in memory.
        ctx: ignored.
        dtype: float32.
    """

    image: str = "./train-images-idx3-ubyte"
    label: str = "./train-labels-idx1-ubyte"
    batch_size: int = 128
    shuffle: bool = True
    flat: bool = False
    seed: int = 0
    silent: bool = False
    num_parts: int = 1
    part_index: int = 0
    prefetch_buffer: int = 4
    ctx: str = "gpu"
    dtype: str = "float32"


def read_idx(path: str, axes: int) -> np.ndarray:
    """An array of uint8 from a file of the MNIST format (LeCun, "The MNIST database").

    Args:
        path: of the file, gzipped or not.
        axes: of the array.

    Raises:
        MXNetError: the file cannot be read.
        FileFormatError: it is a different kind of file, or truncated.
    """
    with _opened(path) as file:
        head = read_packed(file, 4 + 4 * axes, path)
        magic = 0x0800 | axes
        if len(head) < 4 + 4 * axes or struct.unpack_from(">I", head)[0] != magic:
            raise FileFormatError(
                f"{path} is not an idx file of {axes} axes, which begins with {struct.pack('>I', magic)!r}; "
                f"this one begins with {head[:4]!r}."
            )
        shape = struct.unpack_from(f">{axes}I", head, 4)
        size = math.prod(shape)
        content = read_packed(file, size + 1, path)
    if len(content) != size:
        longer = len(content) > size
        raise FileFormatError(
            f"{path} is {'damaged' if longer else 'truncated'}: the header says "
            f"{' x '.join(map(str, shape))}, there are {'more' if longer else len(content)} bytes."
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


class _MNIST(Rows):
    def __init__(self, settings: MNISTParameters):
        images = read_idx(settings.image, 3)
        labels = read_idx(settings.label, 1)
        if len(images) != len(labels):
            raise ShapeError(
                f"MNISTIter: {settings.image} has {len(images)} images, but {settings.label} has "
                f"{len(labels)} labels."
            )
        if settings.dtype not in ("float32", "None"):
            raise MXNetError(
                f"MNISTIter: dtype must be float32, not {settings.dtype}; leave it out, and "
                f"cast batches with astype()."
            )
        if not images.size:
            raise FileFormatError(f"{settings.image} contains no images.")
        shape = (images[0].size,) if settings.flat else (1, *images.shape[1:])
        super().__init__(
            "MNISTIter", settings.batch_size, False, (shape, np.float32), ((), np.float32)
        )
        begin, end = _equal_part(len(images), settings.num_parts, settings.part_index)
        self._order = np.arange(begin, end)
        if settings.shuffle:
            self._order = begin + Shuffler(settings.seed).permutation(end - begin)
        self._images, self._labels = images.reshape(-1, *shape), labels
        self.count = len(self._order) // settings.batch_size * settings.batch_size

    def fill(self, buffers: Any, samples: Sequence[int], first: int, seed: tuple[int, int]) -> None:
        rows = self._order[samples]
        np.multiply(self._images[rows], np.float32(1 / 256), out=buffers[0])
        buffers[1][:] = self._labels[rows]

    def index(self, samples: Sequence[int]) -> np.ndarray:
        return np.zeros(self.batch_size, np.uint64)


def _equal_part(size: int, num_parts: int, part_index: int) -> tuple[int, int]:
    part_of(size, num_parts, part_index, "MNISTIter")
    return size * part_index // num_parts, size * (part_index + 1) // num_parts


def MNISTIter(*args: object, **kwargs: object) -> MXDataIter:
    """Batches of the MNIST files, with values from 0 to 1.

    Args:
        args: none; parameters are given by name.
        kwargs: see :class:`MNISTParameters`; ``data_name``, ``label_name``.
    """
    names = _names(kwargs)
    return MXDataIter(_MNIST(MNISTParameters("MNISTIter", args, kwargs)), **names)
