"""Atomic writing: a file exists completely or not at all, even after a kill, a full disk or a power cut."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from mixnet.base import FileError, FilePermissionError, MissingFileError, PathNotFoundError

try:
    import fcntl
except ImportError:  # Windows: what a killed process leaves stays there
    fcntl = None  # type: ignore[assignment]

_MOST_LETTERS = 50  # of the file's name in that of the temporary file: names end at 255 bytes
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


def write_whole(
    fname: str | os.PathLike[str],
    content: bytes | Iterable[bytes],
    missing: type[MissingFileError] = MissingFileError,
) -> None:
    """Write a file, whole or in pieces, under a temporary name in its folder, then rename it.

    What it replaces stays as it is until all of the new content is on the disk. The temporary file
    of a process that was killed is removed when the same file is next written; a lock that ends with
    its process tells it from one that is being written.

    Args:
        fname: its path.
        content: all of it, or pieces.
        missing: class of the error if the folder does not exist.

    Raises:
        MissingFileError: the folder does not exist.
        FileError: the file cannot be written; also a ``PermissionError`` where that is why.
    """
    pieces = [content] if isinstance(content, bytes) else content
    path = Path(os.path.realpath(fname))  # through links, and not in place of them
    if not path.parent.is_dir():
        raise missing(
            fname, f"it cannot be written, because folder {str(path.parent)!r} does not exist"
        )
    with _named(fname, _NOT_WRITTEN):
        mode = _mode(fname)
    if mode is not None and not stat.S_ISREG(mode):  # a device or a pipe
        with _named(fname, _NOT_WRITTEN), open(fname, "wb") as device:
            device.writelines(pieces)
        return
    _remove_left(path)
    # Known before the file is there: an interrupt at any point leaves nothing behind.
    temporary = path.with_name(f"{_beginning(path)}{secrets.token_hex(8)}")
    try:
        with _named(fname, _NOT_WRITTEN):
            file = _begin(temporary)
        with file:
            for piece in pieces:
                with _named(fname, _NOT_WRITTEN):
                    _write(file, piece)
            with _named(fname, _NOT_WRITTEN):
                _sync(file.fileno())
                if mode is not None:
                    with suppress(OSError):
                        os.chmod(temporary, stat.S_IMODE(mode))
                if fcntl is None:  # an open file cannot be renamed there
                    file.close()
                os.replace(temporary, path)
        _sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def put_in_place(temporary: str | os.PathLike[str], fname: str | os.PathLike[str]) -> None:
    """Rename a complete file to its final name; a device or a pipe of that name gets its content instead.

    Args:
        temporary: path of the complete file, in the same folder; it is there no more afterwards.
        fname: the final path.
    """
    mode = _mode(fname)
    if mode is None or stat.S_ISREG(mode):
        os.replace(temporary, fname)
        return
    with open(temporary, "rb") as source, open(fname, "wb") as device:
        shutil.copyfileobj(source, device)
    os.unlink(temporary)


def read_whole(fname: str | os.PathLike[str]) -> bytes:
    """The content of a file.

    Raises:
        PathNotFoundError: there is no such file.
        FileError: it cannot be read; also a ``PermissionError`` where that is why.
    """
    try:
        with _named(fname, "it cannot be read"), open(fname, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise PathNotFoundError(fname) from None


_NOT_WRITTEN = "it was not written"


@contextmanager
def _named(fname: str | os.PathLike[str], failure: str) -> Iterator[None]:
    """Errors of the system get the name of the file that the caller gave."""
    try:
        yield
    except OSError as error:
        reason = f"{failure}: {error.strerror or error}"
        if isinstance(error, FileNotFoundError):
            raise MissingFileError(fname, reason) from error
        kind = FilePermissionError if isinstance(error, PermissionError) else FileError
        raise kind(fname, reason, error.errno) from error


def _mode(fname: str | os.PathLike[str]) -> int | None:
    """Kind and rights of a file; None: there is none."""
    try:
        return os.stat(fname).st_mode
    except FileNotFoundError:
        return None


def _begin(temporary: Path) -> FileIO:
    """A new file, locked as long as this process writes it."""
    while True:
        # Without a buffer: on a full disk closing it would fail once more.
        file = open(temporary, "xb", buffering=0)  # noqa: SIM115 - the caller closes it
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another process took it for one that was left, before it was locked


def _write(file: FileIO, piece: bytes | memoryview) -> None:
    left = memoryview(piece).cast("B")
    while left:
        left = left[file.write(left) :]


def _beginning(path: Path) -> str:
    """The prefix of temporary files' names for ``path``."""
    return f".{path.name[:_MOST_LETTERS]}."


def _remove_left(path: Path) -> None:
    """Remove temporary files for ``path`` that no process is writing."""
    if fcntl is None:
        return
    name = re.compile(re.escape(_beginning(path)) + "[0-9a-f]{16}")
    with suppress(OSError):
        for each in os.listdir(path.parent):
            if name.fullmatch(each):
                with suppress(OSError):
                    _remove_unlocked(path.with_name(each))


def _remove_unlocked(path: Path) -> None:
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while another process writes
        os.unlink(path)
    finally:
        os.close(file)


def _sync(file: int) -> None:
    """Let the disk have what was written to a file or folder."""
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def _sync_folder(folder: Path) -> None:
    # The content is there under its name already: what fails here is no failed write.
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
