"""Records of a file in order, by parts or shuffled, read as they are needed."""

from __future__ import annotations

import os
import struct

import numpy as np

from mixnet.base import FileFormatError, MXNetError
from mixnet.io.files import part_of
from mixnet.io.shuffle import Shuffler
from mixnet.recordio import MAGIC, MXIndexedRecordIO, read_record

_MAGIC_BYTES = struct.pack("<I", MAGIC)
SHUFFLE_SEED = 111  # what MXNet adds to the seed; it is another number for detection


class Records:
    """The records of a part of a file.

    Without shuffling they are read one after another; an index is needed for nothing then but to
    cut parts between records of equal number. To shuffle, their places must be known: from the
    index, or by going through the file once.

    Args:
        path: record file.
        index: index file, or nothing.
        shuffle: another order in each epoch.
        seed: of the orders, with what MXNet adds to it.
        num_parts: how many parts; by bytes without an index, by records with one.
        part_index: which part.
        skip: leave out what is no record, and count it in ``skipped``, rather than raise.

    Raises:
        MXNetError: the file cannot be read.
    """

    def __init__(
        self,
        path: str,
        index: str = "",
        shuffle: bool = False,
        seed: int = 0,
        num_parts: int = 1,
        part_index: int = 0,
        skip: bool = False,
    ):
        self.path = path
        self.skip = skip
        self.skipped = 0
        try:
            self._file = open(path, "rb", buffering=1 << 20)  # noqa: SIM115 - as long as this lives
        except OSError as error:
            raise MXNetError(f"Open {path!r}: {error.strerror}") from None
        size = os.fstat(self._file.fileno()).st_size
        self._offsets: np.ndarray | None = None
        if index:
            reader = MXIndexedRecordIO(index, path, "r")
            offsets = np.sort(np.array([reader.idx[key] for key in reader.keys], np.int64))
            reader.close()
            begin, end = part_of(len(offsets), num_parts, part_index, "ImageRecordIter")
            self._offsets = offsets[begin:end]
            self._begin = int(offsets[begin]) if begin < len(offsets) else size
            self._end = int(offsets[end]) if end < len(offsets) else size
        else:
            self._begin, self._end = self._byte_part(size, num_parts, part_index)
        self._order: np.ndarray | None = None
        self._shuffler = Shuffler(seed) if shuffle else None
        self._drawn: list[np.ndarray] = []  # orders, the last of which are kept
        self._orders = 0
        self._at = 0

    def _byte_part(self, size: int, num_parts: int, part_index: int) -> tuple[int, int]:
        part_of(1, num_parts, part_index, "ImageRecordIter")  # checks the numbers
        step = -(-size // num_parts)
        step = -(-step // 4) * 4
        bounds = (min(step * part_index, size), min(step * (part_index + 1), size))
        begin, end = (self._first_record(each, size) for each in bounds)
        return begin, end

    def _first_record(self, offset: int, size: int) -> int:
        """Where the first record begins that does so at ``offset`` or later."""
        if offset in (0, size):
            return offset
        self._file.seek(offset)
        while offset < size:
            head = self._file.read(8)
            if len(head) < 8:
                break
            magic, word = struct.unpack("<II", head)
            if magic == MAGIC and word >> 29 in (0, 1):
                return offset
            offset += 4
            self._file.seek(offset)
        return size

    def _known_offsets(self) -> np.ndarray:
        if self._offsets is None:
            found = []
            self._file.seek(self._begin)
            while self._file.tell() < self._end:
                found.append(self._file.tell())
                while True:
                    head = self._file.read(8)
                    if len(head) < 8 or not head.startswith(_MAGIC_BYTES):
                        raise FileFormatError(
                            f"{self.path}: there is no record at byte {self._file.tell() - len(head)}."
                        )
                    word = struct.unpack_from("<I", head, 4)[0]
                    length = word & ((1 << 29) - 1)
                    self._file.seek(-(-length // 4) * 4, os.SEEK_CUR)
                    if word >> 29 in (0, 3):
                        break
            self._offsets = np.array(found, np.int64)
        return self._offsets

    def begin(self, epoch: int) -> None:
        """Go to the first record of an epoch."""
        self._at = 0
        if self._shuffler is None:
            self._file.seek(self._begin)
            return
        offsets = self._known_offsets()
        # An epoch that was read ahead of and then given up is begun a second time.
        while self._orders <= epoch:
            self._drawn = [*self._drawn[-3:], self._shuffler.permutation(len(offsets))]
            self._orders += 1
        self._order = offsets[self._drawn[epoch - self._orders]]

    def take(self, count: int) -> list[bytes]:
        """The next records, fewer at the end of the part.

        Raises:
            FileFormatError: a record is cut off, or there is something else.
        """
        found: list[bytes] = []
        while len(found) < count:
            if self._order is not None:
                if self._at == len(self._order):
                    break
                self._file.seek(int(self._order[self._at]))
                self._at += 1
            start = self._file.tell()
            if start >= self._end:
                if self._order is None:
                    break
                raise FileFormatError(
                    f"{self.path} ends before byte {start}, where the index has a record."
                )
            try:
                record = read_record(self._file, self.path)
            except FileFormatError:
                if not self.skip:
                    raise
                self.skipped += 1
                if self._order is None:
                    self._file.seek(self._first_record(start + 4, self._end))
                continue
            if record is not None:
                found.append(record)
        return found

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()


__all__ = ["Records"]
