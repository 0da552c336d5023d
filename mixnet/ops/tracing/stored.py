"""Stored traces: programs of common operators that come with the package, so that calls need no tracing.

Tracing the first call of an operator takes a third of a millisecond, and that of a gradient milliseconds,
although the result is the same in every process. So the package contains the templates of families and the
forms of many calls (``python -m mixnet.tools.store_traces`` writes them). They are valid for one version of
JAX: with another one, or with other JAX settings that affect tracing, everything is traced. So are
operators whose source files have changed since.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from mixnet.ops.operator import Operator
from mixnet.private_jax import pickling

FOLDER = Path(__file__).parent / "stored_traces"
SOURCES = Path(__file__).parents[2]
"""The folder of the package."""
_UNCHANGED_SECONDS = 120
"""Seconds by which a source file may be newer than the traces and count as unchanged: the files of a
package are unpacked one after another.
"""
_PLAIN = frozenset({str, int, float, bool, type(None)})
_SETTINGS = (
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_threefry_partitionable",
)


def _settings() -> list[object]:
    # Not ``jax.config.values``, which builds a dict of all settings each time.
    return [getattr(jax.config, name, None) for name in _SETTINGS]


_USUAL = _settings()


class File(NamedTuple):
    """The content of a file of traces: few objects, because it is read before the first result.

    Args:
        sources: size and checksum of each source file, by its path in the package.
        dependencies: sets of numbers of source files.
        keys: the keys of all entries in ascending order, concatenated.
        places: for each entry the number of its dependencies, its start in ``contents`` and its end.
        dictionary: zlib's dictionary, with common parts of entries.
        contents: the entries, each compressed.
    """

    sources: dict[str, tuple[int, int]]
    dependencies: tuple[tuple[int, ...], ...]
    keys: bytes
    places: bytes
    dictionary: bytes
    contents: bytes | memoryview

    @classmethod
    def of_bytes(cls, content: bytes) -> File:
        """What ``to_bytes`` wrote; the entries are not copied, which took half of the time of reading.

        Raises:
            Exception: it is something else, or truncated.
        """
        (start,) = _START.unpack_from(content)
        view = memoryview(content)
        sources, dependencies, lengths = pickle.loads(view[_START.size : start])
        keys, places, dictionary, entries = (
            view[start + end - n : start + end] for n, end in _ends(lengths)
        )
        if start + sum(lengths) != len(content):
            raise ValueError("truncated")
        return cls(sources, dependencies, bytes(keys), bytes(places), bytes(dictionary), entries)

    def to_bytes(self) -> bytes:
        """The content of the file: the small parts, pickled, behind their length, then the others."""
        parts = self[2:]
        head = pickle.dumps((*self[:2], [len(each) for each in parts]), protocol=5)
        return b"".join((_START.pack(_START.size + len(head)), head, *parts))

    def all_keys(self) -> list[bytes]:
        """The keys of all entries."""
        return [*map(self._key, range(len(self.keys) // _KEY_BYTES))]

    def _key(self, number: int) -> bytes:
        return self.keys[number * _KEY_BYTES : (number + 1) * _KEY_BYTES]

    def entry(self, key: bytes) -> tuple[tuple[int, ...], bytes] | None:
        """The numbers of an entry's source files, and its pickled content; None if there is no entry."""
        numbers = range(len(self.keys) // _KEY_BYTES)
        number = bisect_left(numbers, key, key=self._key)
        if number == len(numbers) or self._key(number) != key:
            return None
        dependencies, start, end = _PLACE.unpack_from(self.places, number * _PLACE.size)
        unpacked = zlib.decompressobj(zdict=self.dictionary)
        return self.dependencies[dependencies], unpacked.decompress(self.contents[start:end])


NONE = File({}, (), b"", b"", b"", b"")


def _ends(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The length of each part, and where it ends."""
    return zip(lengths, accumulate(lengths), strict=True)


_START = struct.Struct("<Q")
_KEY_BYTES = 12
_PLACE = struct.Struct("<HII")
_DICTIONARY_BYTES = 30_000


def path_here() -> Path:
    """The file of traces for this version of JAX."""
    return FOLDER / f"jax-{jax.__version__}.traces"


def key_of(kind: str, op: Operator, *rest: object, local: bool = False) -> bytes | None:
    """The key of an entry; None if it would differ in another process.

    Args:
        kind: the kind of entry.
        op: the operator.
        rest: other values on which it depends: statics, dtypes, tuples of these.
        local: see :func:`name_of`.
    """
    name = name_of(op, local)
    if name is None:
        return None
    try:
        text = f"{kind} {name} {_text(rest)}"
    except _UnnamedError:
        return None
    return blake2b(text.encode(), digest_size=_KEY_BYTES).digest()


def name_of(op: Operator, local: bool = False) -> str | None:
    """A name that identifies the operator in every process; None if there is none.

    Args:
        op: the operator.
        local: whether operators of the package that are not registered have names, too, which its file does
            not hold.
    """
    if op.calls_python:
        return None
    if op.is_known_by_forward and op.forward is not None:
        inner = name_of(op.forward, local)
        return None if inner is None else f"{type(op).__module__}:{type(op).__name__}({inner})"
    if op.is_known_by_name:
        return op.name
    return _place_of(op) if local else None


def _place_of(op: Operator) -> str | None:
    """Module and name of an operator that a module of the package holds under its own name."""
    module = getattr(getattr(op, "function", None), "__module__", None) or ""
    if not module.startswith("mixnet.") or vars(sys.modules[module]).get(op.name) is not op:
        return None
    return f"{module}.{op.name}"


class _UnnamedError(Exception):
    """An attribute has no text that is the same in every process."""


_dtype_text = cache(repr)  # NumPy composes it in Python


def _text(each: object) -> str:
    """An attribute as text, which distinguishes equal values of different types, such as 1, 1.0 and True."""
    kind = type(each)
    if isinstance(each, tuple):
        return f"{kind.__name__}({' '.join(map(_text, each))})"
    if kind in _PLAIN:
        return repr(each)
    if isinstance(each, np.dtype):
        return _dtype_text(each)
    if each is int:  # replaces a number that differs between the calls of a family
        return "a number"
    if isinstance(each, int) and kind.__module__.startswith("mixnet."):
        return f"{kind.__name__}({int(each)})"
    raise _UnnamedError


def find(kind: str, op: Operator, *rest: object) -> Any:
    """The stored object of a key; None if there is none.

    Args:
        kind: the kind of entry.
        op: the operator.
        rest: other values on which it depends.
    """
    file = _file()
    if file is None:
        return None
    key = key_of(kind, op, *rest)
    if key is None:
        return None
    try:
        entry = file.entry(key)
        if entry is None or not _changed.isdisjoint(entry[0]):
            return None
        return pickling.loads(entry[1])
    except Exception:  # damaged, or a name in it no longer exists: the operator is traced
        return None


_loaded: File | None = None
_changed: set[int] = set()
"""The numbers of the source files that have changed since the traces were stored."""


def _file() -> File | None:
    """The stored traces, if they are valid in this process."""
    global _loaded
    if _loaded is None:
        _loaded = _read()
    return _loaded if has_usual_settings() else None


def has_usual_settings() -> bool:
    """Whether JAX's settings are those under which traces are stored."""
    return _settings() == _USUAL


def file_here() -> File:
    """The content of the file for this version of JAX; :data:`NONE` if there is none that can be read."""
    path = path_here()
    if not pickling.can_write() or not path.exists():
        return NONE
    try:
        return File.of_bytes(path.read_bytes())
    except Exception:  # truncated, for example: everything is traced
        return NONE


def is_unchanged(file: File, name: str) -> bool:
    """Whether a source file has the content that traces were made from.

    Args:
        file: the traces.
        name: the path of the source file in the package.
    """
    return (SOURCES / name).exists() and _checksum(name) == file.sources[name]


def _read() -> File:
    _changed.clear()
    file = file_here()
    if file is NONE:
        return NONE
    newest = path_here().stat().st_mtime + _UNCHANGED_SECONDS
    folder = f"{SOURCES}/"
    for number, (name, (size, checksum)) in enumerate(file.sources.items()):
        try:
            facts = os.stat(folder + name)
            if facts.st_size == size and (
                facts.st_mtime <= newest or _checksum(name) == (size, checksum)
            ):
                continue
        except OSError:
            pass
        _changed.add(number)
    return file


def _checksum(name: str) -> tuple[int, int]:
    content = (SOURCES / name).read_bytes()
    return len(content), zlib.crc32(content)


def write(entries: Mapping[bytes, tuple[Iterable[str], bytes]]) -> Path:
    """Write the file for this version of JAX; returns its path.

    Args:
        entries: for each key, the paths of the source files and the pickled template or form.
    """
    names = sorted({name for sources, _ in entries.values() for name in sources})
    numbers = {name: number for number, name in enumerate(names)}
    by_length = sorted((content for _, content in entries.values()), key=len)
    dictionary = b"".join(by_length[len(by_length) // 2 :])[:_DICTIONARY_BYTES]
    dependencies: dict[tuple[int, ...], int] = {}
    keys, places, contents = bytearray(), bytearray(), bytearray()
    for key, (sources, content) in sorted(entries.items()):
        own = tuple(sorted(numbers[name] for name in sources))
        packer = zlib.compressobj(9, zdict=dictionary)
        start = len(contents)
        contents += packer.compress(content) + packer.flush()
        keys += key
        place = dependencies.setdefault(own, len(dependencies))
        places += _PLACE.pack(place, start, len(contents))
    sums = {name: _checksum(name) for name in names}
    file = File(sums, tuple(dependencies), bytes(keys), bytes(places), dictionary, bytes(contents))
    path = path_here()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(file.to_bytes())
    return path


def content_of(templates: object, optimize: bool = True) -> bytes | None:
    """Templates or a form as the bytes of an entry; None if they cannot be pickled.

    Args:
        templates: what is written.
        optimize: take more time for bytes that read faster.
    """
    try:
        return pickling.dumps(templates, optimize)
    except pickling.UnwritableError:
        return None


def use(file: File | None) -> None:
    """Use these traces from now on.

    Args:
        file: the traces; None for those of the package, which are read at the next call.
    """
    global _loaded
    _loaded = file
    _changed.clear()
