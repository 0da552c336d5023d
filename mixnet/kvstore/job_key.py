"""The key of a job: a file readable only by its user, which authenticates workers and servers."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
import time
from pathlib import Path

from mixnet import config
from mixnet.distributed.job import JobError
from mixnet.process.handlers import pause

_BYTES = 32
_LATE_SECONDS = 5.0  # a network disk may show a new file to other machines that much later


def folder() -> Path:
    """The folder of job keys and server databases: ``MIXNET_SERVER_FOLDER``, or one in the user's cache."""
    named = config.get("MIXNET_SERVER_FOLDER")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "mixnet" / "servers"


def make() -> Path:
    """Create a new key.

    Raises:
        JobError: the folder is not writable, or belongs to another user.
    """
    where = folder()
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(".key", "job-", where)  # for its owner alone
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(secrets.token_hex(_BYTES))
    except OSError as error:
        raise JobError(
            f"The key of the job cannot be written to {where}: {error.strerror}. MIXNET_SERVER_FOLDER names "
            f"another folder, which all machines of the job share."
        ) from None
    return Path(name)


def read(path: str) -> bytes:
    """Read the key from a file, which may appear within a few seconds.

    Raises:
        JobError: it does not exist, or other users may read it or have written it.
    """
    end = time.monotonic() + _LATE_SECONDS
    while not os.path.exists(path) and time.monotonic() < end:
        pause(0.1)
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            content = file.read(2 * _BYTES + 1)
    except OSError as error:
        raise JobError(
            f"The key of the job, {path}, cannot be read: {error.strerror}. Workers and servers "
            f"use it to authenticate: MIXNET_SERVER_FOLDER has to name a folder that all "
            f"machines of the job share."
        ) from None
    if about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o077 or len(content) < _BYTES:
        raise JobError(
            f"{path} is not a key of a job: it must belong to this user alone (mode 0600), "
            f"with {2 * _BYTES} "
            f"characters in it."
        )
    return content
