"""Reading untrusted files, which may be damaged and may change while they are read.

Nothing here is mapped. Where another program cuts a mapped file off, the next look at it ends the
process; ``pread`` of what is not there any more gives fewer bytes, and that is an error.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from mixnet.base import AttributeTypeError, FileFormatError, MissingFileError, MXNetError

_CHUNK = 1 << 20


def opened(
    path: str | os.PathLike[str], missing: type[MissingFileError] = MissingFileError
) -> io.BufferedReader:
    """A file, open to be read.

    Args:
        path: its path.
        missing: class of the error if there is none.

    Raises:
        MissingFileError: there is none.
        MXNetError: it is a folder, may not be read, or the name cannot be one of a file.
        AttributeTypeError: it is not a path.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):  # a number is a file that is open already
        raise AttributeTypeError(f"A path must be a string or an os.PathLike, not {path!r:.60}.")
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise missing(path, "couldn't open file: No such file or directory") from None
    except OSError as error:
        raise MXNetError(f"{os.fspath(path)!r} couldn't open file: {error.strerror}") from None
    except ValueError as error:  # a name with a zero byte, from some list
        raise MXNetError(f"{os.fspath(path)!r} couldn't open file: {error}") from None


def content_of(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file; errors as of :func:`opened`."""
    with opened(path) as file:
        return file.read()


def text_of(path: str | os.PathLike[str]) -> str:
    """All of a text in UTF-8.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is no such text; says where.
    """
    content = content_of(path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{os.fspath(path)}: byte {error.start} is {content[error.start]:#04x}, which is not "
            f"valid UTF-8. Use a text file, or save it as UTF-8."
        ) from None


def lines_of(
    file: IO[bytes], path: str | os.PathLike[str], encoding: str = "utf-8"
) -> Iterator[tuple[int, str]]:
    """Numbers from 1, and lines of a text.

    Args:
        file: open to be read; closed at the end.
        path: its name, for messages.
        encoding: of the text.

    Raises:
        FileFormatError: a line is no such text, or what is packed is damaged.
    """
    # Bytes that are not text pass as surrogates, so that an error can name their line.
    with io.TextIOWrapper(file, encoding, errors="surrogateescape") as text:
        number = 0
        try:
            for number, line in enumerate(text, 1):
                if not line.isascii():
                    line.encode(encoding)
                yield number, line
        except UnicodeError as error:
            raise FileFormatError(
                f"{os.fspath(path)}, line {number}: this is not text in {encoding} ({error}). "
                f"Use a "
                f"text file, or save it as {encoding}."
            ) from None
        except (EOFError, zlib.error, OSError) as error:
            raise unpacking(path, error) from None


def unpacking(path: str | os.PathLike[str], error: Exception) -> FileFormatError:
    """The error for a packed file that cannot be unpacked."""
    return FileFormatError(
        f"{os.fspath(path)}: the compressed content is damaged: {error}. Copy or download it again."
    )


def read_up_to(file: IO[bytes], size: int) -> bytes:
    """The next ``size`` bytes of a file, fewer at its end.

    Memory grows with the file's content, not with the size that a header claims.
    """
    if size <= _CHUNK:
        return file.read(max(size, 0))
    parts: list[bytes] = []
    while size > 0 and (part := file.read(min(size, _CHUNK))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_packed(file: IO[bytes], size: int, path: str | os.PathLike[str]) -> bytes:
    """:func:`read_up_to` of a file that may be packed.

    Raises:
        FileFormatError: what is packed is damaged.
    """
    try:
        return read_up_to(file, size)
    except (EOFError, zlib.error, OSError) as error:
        raise unpacking(path, error) from None


class FileBytes:
    """The bytes of a file, read where they are wanted; any number of threads may do so.

    Args:
        path: of the file.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.name = os.fspath(path)
        self._file = opened(path)
        self._number = self._file.fileno()
        self.size = os.fstat(self._number).st_size
        """Bytes when it was opened."""

    def __enter__(self) -> FileBytes:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __del__(self) -> None:
        if "_file" in vars(self):  # the file could be opened
            self._file.close()

    def read(self, offset: int, size: int) -> bytes:
        """``size`` bytes from ``offset`` on.

        Raises:
            FileFormatError: they are not there.
        """
        content = os.pread(self._number, size, offset)
        if len(content) < size:
            # The system gives at most 2 GiB at once.
            array = np.empty(size, np.uint8)
            self.read_into(offset, array)
            return array.tobytes()
        return content

    def read_into(self, offset: int, target: np.ndarray) -> None:
        """Fill an array of contiguous elements with the bytes from ``offset`` on.

        Raises:
            FileFormatError: they are not there.
        """
        if not target.nbytes:
            return
        room = memoryview(target.reshape(-1).view(np.uint8))
        while room:
            count = os.preadv(self._number, [room], offset)
            if not count:
                raise FileFormatError(
                    f"{self.name} ends before byte {offset}, where {len(room)} more bytes "
                    f"are expected.{self.change()}"
                )
            room, offset = room[count:], offset + count

    def find(self, pattern: bytes, offset: int, end: int) -> int:
        """Where ``pattern`` begins first from ``offset`` on, wholly below ``end``; -1 if nowhere."""
        # The next one is often near, and in a badly damaged file this runs very often.
        step = 1 << 10
        while offset < end:
            content = os.pread(self._number, min(step, end - offset), offset)
            step = min(2 * step, _CHUNK)
            place = content.find(pattern)
            if place >= 0:
                return offset + place
            if len(content) < len(pattern):
                return -1
            offset += len(content) - len(pattern) + 1
        return -1

    def change(self) -> str:
        """A sentence for messages, if the file is not as long as it was when it was opened."""
        size = os.fstat(self._number).st_size
        if size == self.size:
            return ""
        return (
            f" It was written to while it was read: it had {self.size} bytes when it was opened, and "
            f"has {size} now. Open it again when it is complete."
        )


class MemoryBytes:
    """Bytes in memory, with the interface of :class:`FileBytes`.

    Args:
        content: bytes, or anything that has their interface.
        name: for messages.
    """

    def __init__(self, content: Any, name: str):
        self.name = name
        self._content = memoryview(content).cast("B")
        self.size = len(self._content)

    def read(self, offset: int, size: int) -> bytes:
        """``size`` bytes from ``offset`` on."""
        return bytes(self._content[offset : offset + size])

    def read_into(self, offset: int, target: np.ndarray) -> None:
        """Fill an array of contiguous elements with the bytes from ``offset`` on."""
        part = np.frombuffer(self._content, np.uint8, target.nbytes, offset)
        target.reshape(-1).view(np.uint8)[:] = part

    def change(self) -> str:
        """Nothing: bytes in memory stay."""
        return ""
