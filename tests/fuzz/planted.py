"""No format, but mistakes of every kind, to see that the driver finds them."""

from __future__ import annotations

import os
import signal
import time
import zlib
from pathlib import Path

import numpy as np

CONTENT = b"planted mistakes\n" * 4
KINDS = ("nothing", "error", "crash", "hang", "memory")
memory: list[np.ndarray] = []


def kind_of(content: bytes) -> str:
    """What loading this content does."""
    return "nothing" if content == CONTENT else KINDS[zlib.crc32(content) % len(KINDS)]


def corpus(folder: Path) -> list[Path]:
    """One file."""
    (folder / "a.txt").write_bytes(CONTENT)
    return [folder / "a.txt"]


def load(path: Path) -> None:
    """Make the mistake."""
    kind = kind_of(path.read_bytes())
    if kind == "error":
        raise KeyError("planted")
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "hang":
        time.sleep(1000)
    if kind == "memory":
        memory.append(np.ones(200 << 20, np.uint8))
        memory.pop()
