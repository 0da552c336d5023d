"""Compiled programs on disk, so that a second start compiles little: XLA's persistent cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import jax

from mixnet import config

MOST_BYTES = 2 << 30
"""The folder's size; programs that were not used for the longest time go first."""


def folder() -> Path | None:
    """Folder of compiled programs by the setting ``MIXNET_CACHE_DIR``; None: there is none."""
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
    """Let XLA keep compiled programs in ``folder()``; before anything is compiled.

    Where the user's own JAX configuration names a cache, or switches it off, that stays.

    Returns:
        The folder in use; None if there is none or it cannot be written to.
    """
    settings = jax.config.values
    if settings["jax_compilation_cache_dir"] or not settings["jax_enable_compilation_cache"]:
        return None
    path = folder()
    if path is None:
        return None
    try:
        # For the owner alone: who can write here can run code in this process.
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    if not os.access(path, os.W_OK):
        return None
    jax.config.update("jax_compilation_cache_dir", str(path))
    # Programs of a notebook are many and small: a second start is quick only with all of them.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_compilation_cache_max_size", MOST_BYTES)
    return path
