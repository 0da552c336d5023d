"""Record files: byte strings one after another, with an optional index file.

A record is one or more parts: the magic word, a word with a flag in its 3 high bits and the length
in the others, the bytes, zeros up to a multiple of 4; all little-endian. A payload that contains the
magic word at a multiple of 4 is cut there and the word left out, so that readers can find the start of
a record from anywhere: flag 0 is a whole record, 1 its first part, 2 one in between, 3 the last.
"""

from __future__ import annotations

import numbers
import os
import struct
from collections import namedtuple as namedtuple
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    FileFormatError,
    MXNetError,
    StateError,
    UnknownNameError,
    open_file,
)
from mixnet.files import pixels
from mixnet.files.reading import lines_of, read_up_to
from mixnet.ndarray.ndarray import NDArray
from mixnet.process.interrupt import Deferred
from mixnet.process.lazy import names_later as _names_later

MAGIC = 0xCED7230A
_MAGIC_BYTES = struct.pack("<I", MAGIC)
_HEAD = struct.Struct("<II")
_LENGTH_BITS = 29
_MOST = (1 << 63) - 1  # the last place in a file that there can be
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)


class _ShortRecordError(FileFormatError, struct.error, mxnet_name="error"):
    """A record ends within its header."""


class HEADER(NamedTuple):
    """The header of an image in its record.

    ``flag`` is 0 for a single label, else how many labels there are; ``label`` is a number or a
    float32 array; ``id`` and ``id2`` number the image.
    """

    flag: int
    label: Any
    id: int
    id2: int


IRHeader = HEADER
_IR_FORMAT = "IfQQ"
_IR_SIZE = struct.calcsize(_IR_FORMAT)


def parts_of(payload: bytes) -> Iterator[tuple[int, bytes]]:
    """Flag and content of each part that a payload is written in."""
    cuts = []
    at = payload.find(_MAGIC_BYTES)
    while at >= 0:
        if at % 4 == 0:
            cuts.append(at)
            at = payload.find(_MAGIC_BYTES, at + 4)
        else:
            at = payload.find(_MAGIC_BYTES, at + 1)
    if not cuts:
        yield _WHOLE, payload
        return
    begin = 0
    for at in cuts:
        yield (_MIDDLE if begin else _FIRST), payload[begin:at]
        begin = at + 4
    yield _LAST, payload[begin:]


def read_record(file: IO[bytes], name: str) -> bytes | None:
    """The next record of an open file, None at the end.

    Args:
        name: of the file, for error messages.

    Raises:
        FileFormatError: the record is cut off, or there is something else.
    """
    head = file.read(8)
    if not head:
        return None
    parts: list[bytes] = []
    while True:
        if len(head) < 8:
            raise _truncated(file, name)
        magic, word = _HEAD.unpack(head)
        flag, length = word >> _LENGTH_BITS, word & ((1 << _LENGTH_BITS) - 1)
        expected = (_MIDDLE, _LAST) if parts else (_WHOLE, _FIRST)
        if magic != MAGIC or flag not in expected:
            raise FileFormatError(
                f"{name}: there is no record at byte {file.tell() - 8}; the file is corrupted or "
                f"not a record file."
            )
        padded = -(-length // 4) * 4
        body = read_up_to(file, padded)
        if len(body) < padded:
            raise _truncated(file, name)
        parts.append(body if padded == length else body[:length])
        if flag in (_WHOLE, _LAST):
            return parts[0] if flag == _WHOLE else _MAGIC_BYTES.join(parts)
        head = file.read(8)


def _truncated(file: IO[bytes], name: str) -> FileFormatError:
    return FileFormatError(f"{name}: the last record is cut off at byte {file.tell()}.")


class MXRecordIO:
    """Reads or writes the records of a file one after another.

    A pickled reader begins at the start of the file again. A forked process may call ``reset`` to
    have a place in the file of its own.

    Args:
        uri: path of the file.
        flag: ``'r'`` to read, ``'w'`` to write.

    Raises:
        ValueError: the flag is another.
        MXNetError: the file cannot be opened.
    """

    is_open = False

    def __init__(self, uri: str, flag: str):
        self.uri = os.fspath(uri)
        self.flag = flag
        self.handle: Any = None
        self.pid: int | None = None
        self.is_open = False
        self.open()

    def open(self) -> None:
        """Open the file, at its start."""
        if self.flag not in ("r", "w"):
            raise AttributeValueError(f"Invalid flag {self.flag}; use 'r' or 'w'.")
        self.writable = self.flag == "w"
        try:
            # A writer has no buffer: a forked process would write its copy of it a second time.
            size = 0 if self.writable else 1 << 18
            self.handle = open(self.uri, self.flag + "b", buffering=size)  # noqa: SIM115
        except OSError as error:
            raise MXNetError(f"Open {self.uri!r}: {error.strerror}") from None
        self.pid = os.getpid()
        self.is_open = True

    def __del__(self) -> None:
        if self.is_open:
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["handle"] = state["pid"] = None
        return state

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        if self.is_open:
            if self.writable:
                self.is_open = False
                raise MXNetError(
                    f"A writer of {self.uri!r} was pickled, and opening it again would empty the file. "
                    f"Pickle a reader, or create a writer in each process."
                )
            self.open()

    def _check_pid(self, allow_reset: bool = False) -> None:
        if not self.is_open:
            raise StateError(f"The record file {self.uri!r} is closed.")
        if self.pid != os.getpid():
            if not allow_reset:
                raise StateError(
                    "Forbidden operation in multiple processes: call reset() first in this one."
                )
            self.reset()

    def close(self) -> None:
        """Close the file, which completes it."""
        if not self.is_open:
            return
        self.is_open = False
        self.handle.close()
        self.pid = None

    def reset(self) -> None:
        """Go to the start: a reader reads again, a writer begins a new file."""
        with Deferred():  # an interrupt in between would leave it closed
            self.close()
            self.open()

    def write(self, buf: bytes) -> None:
        """Append a record.

        Args:
            buf: its bytes, less than 512 MiB.

        Raises:
            AssertionError: the file is open for reading.
            ShapeError: the record has 512 MiB or more.
        """
        if not self.writable:
            raise CheckError(
                f"{self.uri!r} is open for reading; open it with the flag 'w' to write."
            )
        self._check_pid()
        if not isinstance(buf, (bytes, bytearray, memoryview)):
            raise AttributeTypeError(
                f"write takes bytes, not {type(buf).__name__}; encode strings first."
            )
        payload = bytes(buf)
        if len(payload) >> _LENGTH_BITS:
            raise MXNetError(f"A record holds less than 512 MiB, not {len(payload)} bytes.")
        pieces = []
        for flag, part in parts_of(payload):
            head = _HEAD.pack(MAGIC, flag << _LENGTH_BITS | len(part))
            pieces += [head, part, b"\0" * (-len(part) % 4)]
        rest = memoryview(b"".join(pieces))
        while rest:
            rest = rest[self.handle.write(rest) :]

    def read(self) -> bytes | None:
        """The next record, None at the end of the file.

        Raises:
            AssertionError: the file is open for writing.
            FileFormatError: the record is cut off, or there is something else.
        """
        if self.writable:
            raise CheckError(
                f"{self.uri!r} is open for writing; open it with the flag 'r' to read."
            )
        self._check_pid()
        return read_record(self.handle, self.uri)


class MXIndexedRecordIO(MXRecordIO):
    """Record files with an index: lines of key, tab and byte offset of the record.

    Args:
        idx_path: path of the index.
        uri: path of the records.
        flag: ``'r'`` to read, ``'w'`` to write.
        key_type: of the keys.

    Raises:
        FileNotFoundError: there is no such index.
        FileFormatError: a line of the index is something else.
    """

    def __init__(self, idx_path: str, uri: str, flag: str, key_type: Callable[[Any], Any] = int):
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: Any = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open both files; a reader reads the index."""
        super().open()
        self.idx, self.keys = {}, []
        try:
            if self.writable:
                self.fidx = open_file(self.idx_path, self.flag, buffering=1, encoding="utf-8")
            else:
                self.fidx = open_file(self.idx_path, "rb")
                self._read_index()
        except BaseException:
            self.close()
            raise

    def _read_index(self) -> None:
        for number, line in lines_of(self.fidx, self.idx_path):
            if not line.strip():
                continue
            try:
                text, place = line.rstrip("\n").split("\t")[:2]
                key, offset = self.key_type(text), int(place)
                if not 0 <= offset <= _MOST:
                    raise ValueError
                self.idx[key] = offset
                self.keys.append(key)
            except (ValueError, TypeError, OverflowError):
                raise FileFormatError(
                    f"{self.idx_path}, line {number}: expected a key of type "
                    f"{getattr(self.key_type, '__name__', self.key_type)}, a tab and an offset, "
                    f"not {line!r}."
                ) from None

    def close(self) -> None:
        """Close both files."""
        if not self.is_open:
            return
        super().close()
        if self.fidx is not None:
            self.fidx.close()
            self.fidx = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "fidx": None}

    def seek(self, idx: object) -> None:
        """Go to the record with a key.

        Args:
            idx: the key, of the type ``key_type``.

        Raises:
            AssertionError: the file is open for writing.
            KeyError: there is no such key.
        """
        if self.writable:
            raise CheckError(
                f"{self.uri!r} is open for writing; open it with the flag 'r' to read."
            )
        self._check_pid(allow_reset=True)
        if idx not in self.idx:
            raise UnknownNameError(
                f"{self.idx_path!r} has no record {idx!r}; it has {len(self.idx)} records, keys lists "
                f"them."
            )
        try:
            self.handle.seek(self.idx[idx])
        except OSError:  # further than any file of this system goes
            raise self._misplaced(idx) from None

    def _misplaced(self, idx: object) -> FileFormatError:
        return FileFormatError(
            f"{self.idx_path} has record {idx!r} at byte {self.idx[idx]}, where {self.uri} has ended. "
            f"They were not written together, or one of them is cut off."
        )

    def tell(self) -> int:
        """Byte offset of the next record."""
        self._check_pid()
        position: int = self.handle.tell()
        return position

    def read_idx(self, idx: object) -> bytes:
        """The record with a key.

        Args:
            idx: the key, of the type ``key_type``.

        Raises:
            KeyError: there is no such key.
            FileFormatError: there is no record at that offset.
        """
        self.seek(idx)
        record = self.read()
        if record is None:
            raise self._misplaced(idx)
        return record

    def write_idx(self, idx: object, buf: bytes) -> None:
        """Append a record under a key.

        Args:
            idx: the key, of the type ``key_type``.
            buf: the bytes of the record.
        """
        key = self.key_type(idx)
        offset = self.tell()
        self.write(buf)
        self.fidx.write(f"{key}\t{offset}\n")
        self.idx[key] = offset
        self.keys.append(key)


def pack(header: object, s: bytes) -> bytes:
    """Bytes of a record: a header before ``s``.

    Args:
        header: an :class:`IRHeader`; its flag follows from its label.
        s: content, such as an encoded image.
    """
    if not isinstance(header, (list, tuple)) or len(header) != len(IRHeader._fields):
        raise AttributeTypeError(
            "pack: header must be an IRHeader(flag, label, id, id2), such as IRHeader(0, 3.0, 7, 0), "
            f"not {header!r:.60}."
        )
    header = IRHeader(*header)
    if isinstance(header.label, numbers.Number):
        labels = b""
        header = header._replace(flag=0)
    else:
        label = header.label.asnumpy() if isinstance(header.label, NDArray) else header.label
        values = np.asarray(label, dtype=np.float32)
        labels = values.tobytes()
        header = header._replace(flag=values.size, label=0)
    return struct.pack(_IR_FORMAT, *header) + labels + s


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Header and content of a record.

    Args:
        s: the bytes of the record.

    Raises:
        FileFormatError: the record is shorter than its header says.
    """
    if len(s) < _IR_SIZE:
        raise _ShortRecordError(
            f"unpack: a header has {_IR_SIZE} bytes, but the record only {len(s)}."
        )
    header = IRHeader(*struct.unpack_from(_IR_FORMAT, s))
    if header.flag == 0:
        return header, s[_IR_SIZE:]
    end = _IR_SIZE + 4 * header.flag
    if len(s) < end:
        raise FileFormatError(
            f"unpack: the header claims {header.flag} labels, but the record has only {len(s)} bytes."
        )
    label = np.frombuffer(s, np.float32, header.flag, _IR_SIZE)
    return header._replace(label=label), s[end:]


def _opencv() -> Any:
    import cv2

    return cv2


def pack_img(header: Any, img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Bytes of a record: a header before an image, which is encoded.

    Args:
        header: an :class:`IRHeader`.
        img: ``(height, width)`` or ``(height, width, channels)``, blue first.
        quality: 1 to 100 for JPEG, 0 to 9 (how hard to compress) for PNG.
        img_fmt: ``'.jpg'`` or ``'.png'``.
    """
    cv2 = _opencv()
    options = []
    if img_fmt.lower() in (".jpg", ".jpeg"):
        options = [cv2.IMWRITE_JPEG_QUALITY, quality]
    elif img_fmt.lower() == ".png":
        # Programs give JPEG's quality; OpenCV would warn of each image, then take 9 itself.
        options = [cv2.IMWRITE_PNG_COMPRESSION, min(quality, 9)]
    pixels = img.asnumpy() if isinstance(img, NDArray) else img
    try:
        done, encoded = cv2.imencode(img_fmt, pixels, options)
    except cv2.error:
        done = False
    if not done:
        raise MXNetError(
            f"pack_img: OpenCV could not encode an image of shape {np.shape(pixels)} as "
            f"{img_fmt!r}; use '.jpg' or '.png'."
        )
    return pack(header, encoded.tobytes())


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, Any]:
    """Header and image of a record.

    Args:
        s: a record.
        iscolor: 1 for 3 channels, 0 for grey, -1 as it was stored.

    Returns:
        The header and ``(height, width, channels)`` of uint8, blue first; None if the content is no
        image.

    Raises:
        FileFormatError: the record has no content, or an image larger than it can hold.
    """
    header, content = unpack(s)
    if not content:
        raise FileFormatError(f"unpack_img: the record with {header} has no image.")
    return header, pixels.decode(content, iscolor, "unpack_img", needed=False)


# OpenCV is imported on first use.
__getattr__, __dir__ = _names_later(globals(), {"cv2": "cv2"})

# What `import *` brings: what MXNet's module brings.
__all__ = [
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "cv2",  # noqa: F822 - see above
    "namedtuple",
    "np",
    "numbers",
    "pack",
    "pack_img",
    "struct",
    "unpack",
    "unpack_img",
]
