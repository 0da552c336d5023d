"""Safetensors files: named dense arrays after a JSON header, as written by Hugging Face's tools."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mixnet.base import AttributeValueError, DTypeError, FileFormatError
from mixnet.context import cpu
from mixnet.dtype import bfloat16
from mixnet.files.reading import FileBytes, MemoryBytes
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.value.value import adopt, aligned_empty

ENDING = ".safetensors"
_DTYPES: dict[str, np.dtype] = {
    "F64": np.dtype("float64"), "F32": np.dtype("float32"), "F16": np.dtype("float16"), "BF16": bfloat16,
    "I64": np.dtype("int64"), "I32": np.dtype("int32"), "I16": np.dtype("int16"), "I8": np.dtype("int8"),
    "U64": np.dtype("uint64"), "U32": np.dtype("uint32"), "U16": np.dtype("uint16"), "U8": np.dtype("uint8"),
    "BOOL": np.dtype("bool"),
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_METADATA = "__metadata__"
_ALIGNED = 8
_MOST_AXES = 32
_LARGEST_HEADER = 100_000_000  # bytes; other readers of the format have the same limit


def is_named_so(fname: str | os.PathLike[str]) -> bool:
    """Whether a file is to be written in this format."""
    return os.fspath(fname).endswith(ENDING)


def begins_so(head: bytes) -> bool:
    """Whether the first 9 bytes of a file are those of this format: a length, then JSON."""
    return len(head) == 9 and head[8:] == b"{"


# ---- writing ------------------------------------------------------------------------------------


def checked(names: Sequence[str], arrays: Sequence[NDArray]) -> None:
    """Whether arrays can be written.

    Raises:
        AttributeValueError: they have no names, one has a name of the format's own, or one is sparse.
    """
    if len(names) != len(arrays):
        raise AttributeValueError(
            "save: a safetensors file names its arrays. Give a dict from names to arrays, or save to a "
            ".params file, which holds lists too."
        )
    for name, each in zip(names, arrays, strict=True):
        if name == _METADATA:
            raise AttributeValueError(
                f"save: {_METADATA!r} is the format's own entry and cannot name an array."
            )
        if each._is_sparse:
            raise AttributeValueError(
                f"save: array {name!r} is {each.stype}, and safetensors files hold dense arrays. "
                f"Call .tostype('default') first, or save to a .params file."
            )


def pieces(arrays: Sequence[NDArray], names: Sequence[str]) -> Iterator[Any]:
    """The content of a file, an array at a time."""
    header: dict[str, Any] = {_METADATA: {"format": "mixnet"}}
    offset = 0
    # Larger elements first: then all arrays begin at a multiple of their elements' size.
    order = sorted(range(len(arrays)), key=lambda i: -np.dtype(arrays[i].dtype).itemsize)
    for i in order:
        dtype, shape = np.dtype(arrays[i].dtype), arrays[i].shape
        end = offset + math.prod(shape) * dtype.itemsize
        header[names[i]] = {
            "dtype": _NAMES[dtype],
            "shape": list(shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNED)
    yield struct.pack("<Q", len(text)) + text
    for i in order:
        yield np.ascontiguousarray(arrays[i].asnumpy()).reshape(-1).view(np.uint8).data


# ---- reading ------------------------------------------------------------------------------------


def arrays_of(content: FileBytes | MemoryBytes) -> dict[str, NDArray]:
    """All arrays of a file by name.

    Raises:
        FileFormatError: it is truncated, or its header is damaged; says where.
        DTypeError: an array has a dtype that arrays of mixnet cannot have.
    """
    start, header = _header(content)
    entries = [
        _Entry(content, name, value, start) for name, value in header.items() if name != _METADATA
    ]
    _check_places(content, entries, content.size - start)
    arrays = {}
    for each in entries:
        data = aligned_empty(each.shape, each.dtype)
        content.read_into(start + each.begin, data)
        arrays[each.name] = NDArray._wrap(adopt(data, cpu()))
    return arrays


def _damaged(content: FileBytes | MemoryBytes, problem: str) -> FileFormatError:
    return FileFormatError(
        f"{content.name} is not an intact safetensors file: {problem}. Copy or save it again."
    )


def _header(content: FileBytes | MemoryBytes) -> tuple[int, dict[str, Any]]:
    """Where the arrays begin, and what the header says."""
    (size,) = struct.unpack("<Q", content.read(0, 8))
    if size > min(content.size - 8, _LARGEST_HEADER):
        raise _damaged(
            content, f"its header should have {size} bytes, but the file has {content.size}"
        )
    try:
        header = json.loads(content.read(8, size).decode(), object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise _damaged(content, f"its header is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise _damaged(content, "its header is not a dict of arrays")
    return 8 + size, header


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of the pairs, whose keys differ."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name occurs twice")
    return members


class _Entry:
    """The header's entry for one array."""

    def __init__(self, content: FileBytes | MemoryBytes, name: str, value: Any, start: int):
        title = f"array {name!r:.60}"
        try:
            code, shape, (begin, end) = value["dtype"], value["shape"], value["data_offsets"]
        except (TypeError, KeyError, ValueError):
            raise _damaged(
                content, f"{title} does not have dtype, shape and data_offsets"
            ) from None
        numbers = [*shape, begin, end] if isinstance(shape, list) else [None]
        if not all(type(n) is int and 0 <= n < 1 << 63 for n in numbers) or len(shape) > _MOST_AXES:
            raise _damaged(
                content, f"{title} has shape {shape!r:.60} and offsets {begin!r:.30}, {end!r:.30}"
            )
        if not isinstance(code, str) or code not in _DTYPES:
            raise DTypeError(
                f"{content.name}: {title} has dtype {code!r:.30}, which arrays of mixnet cannot have; it "
                f"can be one of {', '.join(_DTYPES)}."
            )
        self.name, self.shape, self.dtype = name, tuple(shape), _DTYPES[code]
        self.begin, self.end = begin, end
        if math.prod(shape) * self.dtype.itemsize != end - begin or end > content.size - start:
            raise _damaged(
                content,
                f"{title} of shape {self.shape} and dtype {code} should lie at bytes {begin} to {end} of "
                f"{content.size - start}",
            )
        if math.prod(filter(None, shape)) >= 1 << 60:
            raise _damaged(content, f"{title} has shape {self.shape}")  # also where it is empty


def _check_places(content: FileBytes | MemoryBytes, entries: Sequence[_Entry], size: int) -> None:
    """Whether the arrays fill the file and none overlaps another."""
    at = 0
    for each in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if each.begin != at:
            raise _damaged(
                content, f"array {each.name!r:.60} begins at byte {each.begin}, not {at}"
            )
        at = each.end
    if at != size:
        raise _damaged(content, f"its arrays end at byte {at} of {size}")
