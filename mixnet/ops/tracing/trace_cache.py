"""Traces in the cache folder: what a program has traced, its next start need not trace again.

The package comes with traces of common calls (:mod:`mixnet.ops.tracing.stored`). Those of other calls are
written to one file when the process ends, and read when an operator would have to be traced. They are
valid for the same source files and versions; of anything else, the file is replaced.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import zlib
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jaxlib
import numpy as np

from mixnet.ops.operator import Operator
from mixnet.ops.tracing import stored
from mixnet.ops.tracing.family import Family
from mixnet.ops.tracing.inlined import inlined
from mixnet.ops.tracing.template import Call, Template
from mixnet.private_jax import pickling
from mixnet.private_jax.jaxprs import ClosedJaxpr

NAME = "operators.traces"
"""The name of the file."""

MOST_BYTES = 16 << 20
"""The size of the entries beyond which those that were written first are dropped."""

MOST_FAMILIES = 10_000
"""The most families that a process reads or writes."""

_KIND = "family"
_SOURCES = ("ops", "passes", "private_jax")
"""Folders of the package whose files decide what an operator is traced to."""
_STAMP_BYTES = 16
_UNWRITABLE = b""
"""The entry of a family whose traces cannot be written, so that no process tries again."""


class Learned(NamedTuple):
    """What is known of a family of calls.

    Args:
        templates: proved ones.
        traces: those of calls that no template gives.
    """

    templates: list[Template]
    traces: list[tuple[Call, ClosedJaxpr]]


class _Cache:
    """The file of a folder.

    Args:
        folder: only its owner may write to it.
    """

    def __init__(self, folder: Path):
        self.path = folder / NAME
        self.process = os.getpid()  # a fork does not write: its parent does
        self._entries: dict[bytes, bytes] | None = None

    def entries(self) -> dict[bytes, bytes]:
        """The compressed entries by their keys, read at the first call."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> dict[bytes, bytes]:
        try:
            content = self.path.read_bytes()
            if content[:_STAMP_BYTES] != stamp():
                return {}
            entries: dict[bytes, bytes] = pickle.loads(memoryview(content)[_STAMP_BYTES:])
        except Exception:  # there is none, or it is damaged: operators are traced
            return {}
        return entries

    def add(self, entries: dict[bytes, bytes]) -> None:
        """Write more entries; a process that does so at the same time may replace them."""
        every = self._read() | entries
        size = sum(map(len, every.values()))
        for key in list(every):
            if size <= MOST_BYTES:
                break
            size -= len(every.pop(key))
        temporary = self.path.with_name(f"{NAME}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(stamp() + pickle.dumps(every, protocol=5))
            os.replace(temporary, self.path)
        except OSError:  # a full disk: the next start traces again
            temporary.unlink(missing_ok=True)


_cache: _Cache | None = None
_families: dict[bytes, Family] = {}
"""The families that have looked into the cache, or would have, by their keys."""


def use(folder: Path | None) -> None:
    """Read and write traces in a folder from now on.

    Args:
        folder: only its owner may write to it; None: no traces are read or written.
    """
    global _cache
    if _cache is None and folder is not None:
        atexit.register(write)
    _families.clear()
    _cache = None if folder is None or not pickling.can_write() else _Cache(folder)


def recall(family: Family, op: Operator, *rest: object) -> bool:
    """Add to a family what an earlier process has learned; returns whether that is anything.

    Args:
        family: the family.
        op: its operator.
        rest: what else all of its calls share.
    """
    cache = _cache
    if cache is None or not stored.has_usual_settings():
        return False
    key = stored.key_of(_KIND, op, *rest, local=True)
    if key is None or key in _families or len(_families) >= MOST_FAMILIES:
        return False
    _families[key] = family
    entry = cache.entries().get(key)
    if entry == _UNWRITABLE:
        del _families[key]
    if not entry:
        return False
    try:
        learned: Learned = pickling.loads(zlib.decompress(entry))
        family.recall(*learned)
    except Exception:  # damaged, or a name in it no longer exists
        return False
    return True


def write() -> None:
    """Write what the families have learned in this process; called when it ends."""
    cache = _cache
    if cache is None or cache.process != os.getpid() or not stored.has_usual_settings():
        return
    entries = dict(_new_entries())
    if entries:
        cache.add(entries)


def _new_entries() -> Iterator[tuple[bytes, bytes]]:
    for key, family in list(_families.items()):
        if family.has_learned:
            templates, traces = family.learned()
            calls = [(call, inlined(jaxpr)) for call, jaxpr in traces]
            content = stored.content_of(Learned(templates, calls), optimize=False)
            yield key, _UNWRITABLE if content is None else zlib.compress(content)


_stamps: list[bytes] = []


def stamp() -> bytes:
    """A digest of everything but the call that decides what an operator is traced to."""
    if not _stamps:
        versions = (jax.__version__, jaxlib.__version__, np.__version__, sys.version_info)
        digest = blake2b(repr((versions, str(stored.SOURCES))).encode(), digest_size=_STAMP_BYTES)
        for name in _SOURCES:
            for facts in sorted(_facts_of(str(stored.SOURCES / name))):
                digest.update(repr(facts).encode())
        _stamps.append(digest.digest())
    return _stamps[0]


def _facts_of(folder: str) -> Iterator[tuple[Any, ...]]:
    """Path, size and time of each source file in a folder."""
    with os.scandir(folder) as files:
        for each in files:
            if each.name.endswith(".py"):
                facts = each.stat()
                yield each.path, facts.st_size, facts.st_mtime_ns
            elif each.is_dir() and each.name != "__pycache__":
                yield from _facts_of(each.path)
