"""Files of ``jax.export``: written with a checksum, and read as untrusted data.

JAX expects exactly what it has written: damage may end the process. So mixnet recognizes its own
files by their checksum, and any other is first read in a separate process.

Such a file is a flatbuffer: it begins with the position of its first table, and all other
positions in it are relative. So data of mixnet's fits behind that number: the rest is moved,
and JAX reads it as before.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

from mixnet.base import FileFormatError
from mixnet.files.reading import content_of
from mixnet.files.whole_file import write_whole

_MARK = b"mixnet stablehlo, sha256 of what follows: "
_MOVED = 128  # bytes; a multiple of what flatbuffers align to
_SECONDS = 120
_LOOK = """
import sys
from jax import export
program = export.deserialize(bytearray(sys.stdin.buffer.read()))
program.mlir_module()
print("good")
"""


def write_program(path: str, content: bytes) -> None:
    """Write a serialized program, with a checksum in it that JAX does not look at.

    Raises:
        FileError: it cannot be written.
    """
    write_whole(path, [_head(content), content])


def read_program(path: str | os.PathLike[str]) -> tuple[Any, str]:
    """A program of ``jax.export``, and the checksum of its file.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is truncated, damaged, or no such file.
    """
    content, name = content_of(path), os.fspath(path)
    if _is_ours(content):
        head, content = content[:_MOVED], content[_MOVED:]
        if head != _head(content):
            raise FileFormatError(
                f"{name} is truncated or damaged: its content does not match the checksum at its "
                f"beginning. Copy or export it again."
            )
        program = _deserialized(content, name)
    else:
        program = _deserialized(content, name)
        _check_in_another_process(content, name)
    return program, hashlib.sha256(content).hexdigest()


def _head(content: bytes) -> bytes:
    place = int.from_bytes(content[:4], "little") + _MOVED
    checksum = hashlib.sha256(content).hexdigest().encode()
    return (place.to_bytes(8, "little")[:4] + _MARK + checksum).ljust(_MOVED, b"\0")


def _is_ours(content: bytes) -> bool:
    """Whether a file was written here, also if the beginning is damaged."""
    same = sum(a == b for a, b in zip(content[4:], _MARK, strict=False))
    return same > len(_MARK) // 4


def _deserialized(content: bytes, name: str) -> Any:
    """The program; its StableHLO is read later."""
    from jax import export

    try:
        return export.deserialize(bytearray(content))
    except Exception as error:  # whatever the reader trips over, of its version as well
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise _not_readable(name, line) from None


def _check_in_another_process(content: bytes, name: str) -> None:
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    try:
        run = subprocess.run(
            [sys.executable, "-c", _LOOK],
            input=content,
            capture_output=True,
            timeout=_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _not_readable(name, f"reading it takes more than {_SECONDS} seconds") from None
    if run.stdout.strip() != b"good":
        lines = run.stderr.decode(errors="replace").strip().splitlines()
        raise _not_readable(
            name, lines[-1][:200] if lines else f"reading it exits with {run.returncode}"
        )


def _not_readable(name: str, why: str) -> FileFormatError:
    return FileFormatError(
        f"{name} is not a StableHLO program written by JAX's export, is damaged, or has a "
        f"version that this JAX does not read: {why}."
    )
