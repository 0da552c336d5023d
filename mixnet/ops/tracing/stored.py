"""What common operators do, as it was traced when the package was made.

A first call of an operator costs a third of a millisecond of tracing, of a gradient milliseconds, although
what JAX finds is the same in every process. So the package brings the templates of families and the forms
without shapes that its own programs need (``python -m mixnet.tools.store_traces`` writes them). They are those
of one version of JAX; with another one, with other settings of JAX that tracing reads, and where a
source file of the operators is another one, everything is traced as if there were none.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from mixnet.ops.operator import Operator, Statics
from mixnet.ops.registry import OPERATORS
from mixnet.private_jax import pickling

FOLDER = Path(__file__).parent / "stored_traces"
SOURCES = Path(__file__).parents[2]
"""The package."""
ROOMS = ("ops", "passes", "private_jax")
"""Folders whose files decide what is traced."""

_UNCHANGED_SECONDS = 120
"""A source file that is not newer than the traces by more is taken for the one they were made from: the files
of a package are unpacked one after another.
"""
_PLAIN = (str, int, float, bool, type(None))
_SETTINGS = (
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_threefry_partitionable",
)
_USUAL = {name: jax.config.values.get(name) for name in _SETTINGS}


class File(NamedTuple):
    """The content of a file of traces.

    Args:
        sources: size and checksum of each source file that decided on them, by its path in the package.
        entries: pickled templates and forms by their keys.
    """

    sources: dict[str, tuple[int, int]]
    entries: dict[bytes, bytes]


def path_for(version: str) -> Path:
    """The file of traces for a version of JAX."""
    return FOLDER / f"jax-{version}.pickle"


def key_of(kind: str, op: Operator, *rest: object) -> bytes | None:
    """The key of an entry; None where it would not be the same in another process.

    Args:
        kind: of entry.
        op: the operator.
        rest: what else decides: statics, dtypes, tuples of these.
    """
    name = _name(op)
    if name is None or not all(map(_is_plain, rest)):
        return None
    # repr tells 1, 1.0 and True apart, which are equal.
    return blake2b(repr((kind, name, rest)).encode(), digest_size=12).digest()


def _name(op: Operator) -> str | None:
    if op.takes_key or op.calls_python:
        return None
    if op.forward is not None:  # its gradient, of one kind or another
        inner = _name(op.forward)
        return None if inner is None else f"{type(op).__module__}.{type(op).__name__}({inner})"
    return op.name if OPERATORS.get(op.name) is op else None


def _is_plain(each: object) -> bool:
    kind = type(each)
    if kind in _PLAIN or isinstance(each, np.dtype):
        return True
    return isinstance(each, tuple) and all(map(_is_plain, each))


def find(kind: str, op: Operator, *rest: object) -> Any:
    """The stored object of a key; None if there is none.

    Args:
        kind: of entry.
        op: the operator.
        rest: what else decides.
    """
    entries = _entries()
    if not entries:
        return None
    key = key_of(kind, op, *rest)
    content = None if key is None else entries.get(key)
    return None if content is None else pickling.loads(content)


_loaded: dict[bytes, bytes] | None = None


def _entries() -> dict[bytes, bytes]:
    global _loaded
    if _loaded is None:
        _loaded = _read()
    if any(jax.config.values.get(name) != each for name, each in _USUAL.items()):
        return {}
    return _loaded


def _read() -> dict[bytes, bytes]:
    path = path_for(jax.__version__)
    if not pickling.can_write() or not path.exists():
        return {}
    file: File = File(*pickle.loads(path.read_bytes()))
    newest = path.stat().st_mtime + _UNCHANGED_SECONDS
    present = dict(_sources())
    if present.keys() != file.sources.keys():
        return {}
    for name, (size, checksum) in file.sources.items():
        entry = present[name]
        facts = entry.stat()
        if facts.st_size != size:
            return {}
        if facts.st_mtime > newest and zlib.crc32(Path(entry.path).read_bytes()) != checksum:
            return {}
    return file.entries


def _sources() -> list[tuple[str, os.DirEntry[str]]]:
    """The source files that decide what is traced, by their paths in the package."""
    pending = [(room, SOURCES / room) for room in ROOMS]
    files: list[tuple[str, os.DirEntry[str]]] = []
    while pending:
        name, folder = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        pending.append((f"{name}/{entry.name}", Path(entry.path)))
                elif entry.name.endswith(".py"):
                    files.append((f"{name}/{entry.name}", entry))
    return files


def write(entries: dict[bytes, bytes]) -> Path:
    """Write the file for this version of JAX; returns its path.

    Args:
        entries: pickled templates and forms by their keys.
    """
    sources = {}
    for name, entry in sorted(_sources(), key=lambda each: each[0]):
        content = Path(entry.path).read_bytes()
        sources[name] = (len(content), zlib.crc32(content))
    path = path_for(jax.__version__)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps((sources, dict(sorted(entries.items()))), protocol=5))
    return path


def parts(kind: str, op: Operator, rest: Sequence[object], content: object) -> tuple[bytes, bytes] | None:
    """Key and bytes of an entry; None if it cannot be stored."""
    key = key_of(kind, op, *rest)
    if key is None:
        return None
    try:
        return key, pickling.dumps(content)
    except pickling.UnwritableError:
        return None


def forget() -> None:
    """Read the file again at the next call."""
    global _loaded
    _loaded = None
