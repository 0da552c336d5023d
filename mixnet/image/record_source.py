"""Records of a file: in order, partitioned or shuffled, read on demand."""

from __future__ import annotations

import numpy as np

from mixnet.base import FileFormatError
from mixnet.files.reading import FileBytes
from mixnet.io.files import part_of
from mixnet.io.shuffle import Shuffler
from mixnet.recordio import (
    _FIRST,
    _HEAD,
    _LAST,
    _MAGIC_BYTES,
    _MIDDLE,
    _WHOLE,
    MAGIC,
    MXIndexedRecordIO,
)

SHUFFLE_SEED = 111  # what MXNet adds to the seed; it is another number for detection

_CHUNK = 8 << 20
"""Bytes that MXNet reads at once."""


class Records:
    """The records of a part of a file.

    Without shuffling, they are read sequentially; then an index is needed only to
    split the file into parts with equal numbers of records. To shuffle, their offsets must be known: from the
    index, or by scanning the file once.

    Args:
        path: record file.
        index: index file, or None.
        shuffle: another order in each epoch.
        seed: of the orders, with what MXNet adds to it.
        num_parts: number of parts; split by bytes without an index, by records with one.
        part_index: which part.
        skip: skip invalid records and count them in ``skipped``, instead of raising an error.

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
        # Records are read at their offsets, in any order, without moving the file's position.
        self._content = FileBytes(path)
        size = self._content.size
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
        self._place = self._begin
        self._chunk, self._in_chunk = self._begin, 0  # where it begins, and its records so far
        self.numbers: list[int] = []

    def _byte_part(self, size: int, num_parts: int, part_index: int) -> tuple[int, int]:
        part_of(1, num_parts, part_index, "ImageRecordIter")  # checks the numbers
        step = -(-size // num_parts)
        step = -(-step // 4) * 4
        bounds = (min(step * part_index, size), min(step * (part_index + 1), size))
        begin, end = (self._first_record(each, size) for each in bounds)
        return begin, end

    def _first_record(self, offset: int, end: int) -> int:
        """The start of the first record at or after ``offset``."""
        if offset == 0:
            return 0
        while 0 <= offset < end:
            offset = self._content.find(_MAGIC_BYTES, offset, end)
            if offset < 0 or offset + 8 > end:
                break
            flag = self._content.read(offset + 7, 1)[0] >> 5
            if offset % 4 == 0 and flag in (_WHOLE, _FIRST):
                return offset
            offset += 1
        return end

    def _part(self, offset: int, flags: tuple[int, int]) -> tuple[int, int, int]:
        """Flag, start and end of the part of a record at ``offset``.

        Raises:
            FileFormatError: it is truncated or invalid.
        """
        content = self._content
        if offset + 8 > content.size:
            raise FileFormatError(
                f"{self.path}: the last record is cut off: it begins at byte {offset} of "
                f"{content.size}.{content.change()}"
            )
        magic, word = _HEAD.unpack(content.read(offset, 8))
        flag, length = word >> 29, word & ((1 << 29) - 1)
        if magic != MAGIC or flag not in flags:
            raise FileFormatError(
                f"{self.path}: there is no record at byte {offset}; the file is corrupted or not "
                f"a record file.{content.change()}"
            )
        end = offset + 8 + length
        if end + -length % 4 > content.size:
            raise FileFormatError(
                f"{self.path}: the last record is cut off at byte {content.size}.{content.change()}"
            )
        return flag, offset + 8, end

    def _parts(self, offset: int) -> list[tuple[int, int]]:
        """Begin and end of all parts of the record at ``offset``."""
        flag, begin, end = self._part(offset, (_WHOLE, _FIRST))
        parts = [(begin, end)]
        while flag not in (_WHOLE, _LAST):
            flag, begin, end = self._part(end + (begin - end) % 4, (_MIDDLE, _LAST))
            parts.append((begin, end))
        return parts

    def _known_offsets(self) -> np.ndarray:
        if self._offsets is None:
            offsets, offset = [], self._begin
            while offset < self._end:
                try:
                    begin, end = self._parts(offset)[-1]
                except FileFormatError:
                    if not self.skip:
                        raise
                    self.skipped += 1
                    offset = self._first_record(offset + 4, self._end)
                    continue
                offsets.append(offset)
                offset = end + (begin - end) % 4
            self._offsets = np.array(offsets, np.int64)
        return self._offsets

    @property
    def number(self) -> int:
        """How many records the part has, which are read once to count them."""
        return len(self._known_offsets())

    def begin(self, epoch: int) -> None:
        """Go to the first record of an epoch."""
        self._at = self._in_chunk = 0
        self._place = self._chunk = self._begin
        if self._shuffler is None:
            return
        offsets = self._known_offsets()
        # An epoch that was prefetched and then abandoned starts again.
        while self._orders <= epoch:
            drawn = [*self._drawn[-3:], self._shuffler.permutation(len(offsets))]
            self._drawn, self._orders = drawn, self._orders + 1  # both or none after Ctrl-C
        self._order = self._drawn[epoch - self._orders]

    def _number(self, offset: int, end: int) -> int:
        """The number of a record from ``offset`` to ``end`` in the chunk in which MXNet reads it."""
        # A chunk that does not reach the end of the part is cut before the last record that begins in it.
        is_cut = self._end - self._chunk >= _CHUNK
        if is_cut and end > self._chunk + _CHUNK - _HEAD.size:
            self._chunk, self._in_chunk = offset, 0
        self._in_chunk += 1
        return self._in_chunk - 1

    def take(self, count: int) -> list[bytes]:
        """The next records; fewer at the end of the part.

        ``numbers`` are then theirs: in the order of the file if they are shuffled, otherwise in the
        chunk in which MXNet reads them.

        Raises:
            FileFormatError: a record is truncated or invalid.
        """
        records: list[bytes] = []
        self.numbers = []
        while len(records) < count:
            if self._order is not None:
                if self._at == len(self._order):
                    break
                number = int(self._order[self._at])
                offset = int(self._known_offsets()[number])
                self._at += 1
            else:
                offset = self._place
                if offset >= self._end:
                    break
            try:
                parts = self._parts(offset)
                pieces = [self._content.read(begin, end - begin) for begin, end in parts]
            except FileFormatError:
                if not self.skip:
                    raise
                self.skipped += 1
                self._place = self._first_record(offset + 4, self._end)
                continue
            begin, end = parts[-1]
            self._place = end + (begin - end) % 4
            if self._order is None:
                number = self._number(offset, self._place)
            self.numbers.append(number)
            records.append(pieces[0] if len(pieces) == 1 else _MAGIC_BYTES.join(pieces))
        return records
