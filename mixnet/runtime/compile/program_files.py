"""Files of compiled programs: written atomically, verified when read, replaced when damaged.

JAX writes a program directly to its final path and never replaces one: a file truncated by a full disk or a
kill would be read, rejected and recompiled at every start.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

import jax

from mixnet.private_jax.programs import keep_files_by

ENDING = "-cache"
"""The suffix of the files' names, which is JAX's."""
TEMPORARY = ".partial"
_DIGEST = 16  # bytes of the digest before the program


class ProgramFiles:
    """A folder of programs by key, with the interface of JAX's cache.

    Args:
        folder: must exist.
    """

    def __init__(self, folder: Path):
        self._path = folder

    def get(self, key: str) -> bytes | None:
        """The program of a key; None if there is none. A damaged one is removed."""
        path = self._path / (key + ENDING)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        program = content[_DIGEST:]
        if content[:_DIGEST] == _digest(key, program):
            return program
        with suppress(OSError):
            path.unlink()
        return None

    def put(self, key: str, value: bytes) -> None:
        """Store a program, replacing an unreadable one.

        Raises:
            OSError: it cannot be written.
        """
        temporary = self._path / f"{secrets.token_hex(8)}{TEMPORARY}"
        try:
            temporary.write_bytes(_digest(key, value) + value)
            os.replace(temporary, self._path / (key + ENDING))
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def _digest(key: str, program: bytes) -> bytes:
    return hashlib.blake2b(program, digest_size=_DIGEST, key=key.encode()[-64:]).digest()


def install(folder: Path) -> None:
    """Make JAX use this cache for ``folder``.

    JAX has no setting for it. If a version of JAX is built differently, or the user has bounded the
    folder's size, JAX's own cache stays.
    """
    if jax.config.values.get("jax_compilation_cache_max_size", -1) != -1:
        return
    keep_files_by(str(folder), lambda: ProgramFiles(folder))
