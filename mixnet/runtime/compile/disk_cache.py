"""Compiled programs on disk, so that a second start compiles little: XLA's persistent cache."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax

from mixnet import config
from mixnet.process import locks
from mixnet.runtime.compile import program_files
from mixnet.runtime.compile.program_files import TEMPORARY

MOST_BYTES = 2 << 30
"""The size to which the folder is trimmed; the oldest programs are removed first."""


def folder() -> Path | None:
    """The cache folder, set by ``MIXNET_CACHE_DIR``; None: no cache."""
    named = config.get("MIXNET_CACHE_DIR")
    if named.lower() == "off":
        return None
    if named:
        return Path(named).expanduser()
    try:
        home = Path.home()
    except RuntimeError:  # no home, no cache
        return None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "mixnet" / "xla"


def use() -> Path | None:
    """Let XLA cache compiled programs in ``folder()``; call this before anything is compiled.

    If the user's own JAX configuration sets or disables a cache, that is respected. A folder that
    other users may write to is not used, with a warning: programs from there run in this process.

    Returns:
        The folder in use; None if there is none, or it is not writable or not trusted.
    """
    settings = jax.config.values
    if settings["jax_compilation_cache_dir"] or not settings["jax_enable_compilation_cache"]:
        return None
    path = folder()
    if path is None:
        return None
    try:
        # Owner only: anyone who can write here can run code in this process.
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            return None
        danger = _danger(path)
    except OSError:
        return None
    if danger:
        warnings.warn(
            f"Compiled programs are not stored in {str(path)!r}: {danger}, and anyone who can "
            f"write there can run code in this process. Remove it, or if you trust its contents, "
            f"restrict it to yourself (chown, chmod 700); or set MIXNET_CACHE_DIR to another "
            f"folder, or to 'off'.",
            stacklevel=2,
        )
        return None
    program_files.install(path)
    jax.config.update("jax_compilation_cache_dir", str(path))
    # A notebook has many small programs: a second start is quick only if all of them are stored.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    trim(path)
    return path


def _danger(path: Path) -> str:
    """Other users who may write to a folder or replace it; empty if there are none."""
    if os.name != "posix":
        return ""
    facts = path.stat()
    if facts.st_uid != os.getuid():
        return f"it belongs to another user (number {facts.st_uid})"
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(facts.st_mode):o})"
    for parent in path.resolve().parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"everybody may replace it (mode {stat.S_IMODE(mode):o} of {str(parent)!r})"
    return ""


def trim(path: Path) -> None:
    """Once a day, remove the oldest programs until the folder holds at most ``MOST_BYTES``.

    JAX can bound the folder itself, but then looks at every file each time it writes one, which
    takes longer than compiling once there are thousands.
    """
    stamp = path / "trimmed"
    try:
        if stamp.exists() and time.time() - stamp.stat().st_mtime < 24 * 3600:
            return
        stamp.touch()
        files = [(each.stat(), each) for each in path.iterdir() if each.is_file()]
        for facts, each in files:
            if each.name.endswith(TEMPORARY) and time.time() - facts.st_mtime > 3600:
                each.unlink(missing_ok=True)  # of a process that was killed
        total = sum(facts.st_size for facts, _ in files)
        for facts, each in sorted(files, key=lambda pair: pair[0].st_mtime):
            if total <= MOST_BYTES:
                return
            if each != stamp:
                each.unlink(missing_ok=True)
                total -= facts.st_size
    except OSError:  # another process is trimming, or owns the files
        return


_SECONDS = "jax_persistent_cache_min_compile_time_secs"
_lock = locks.renewed(threading.Lock())
_thresholds: list[float] = []  # the previous threshold, for each open scope


@contextmanager
def not_on_disk() -> Iterator[None]:
    """Scope in which compiled programs are not written to the folder.

    This also affects programs that other threads compile in the meantime, which are compiled again later.
    """
    with _lock:
        _thresholds.append(_thresholds[0] if _thresholds else jax.config.values[_SECONDS])
        jax.config.update(_SECONDS, float("inf"))
    try:
        yield
    finally:
        with _lock:
            before = _thresholds.pop()
            if not _thresholds:
                jax.config.update(_SECONDS, before)
