"""Parameter files: MXNet's ``.params``, byte for byte; safetensors detected by name or content."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError, FileFormatError, MXNetError
from mixnet.context import cpu
from mixnet.dtype import BY_CODE, CODES
from mixnet.files.reading import FileBytes, MemoryBytes
from mixnet.files.whole_file import write_whole
from mixnet.ndarray import safetensors_file
from mixnet.ndarray.csr_array import CSRNDArray
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray
from mixnet.ndarray.sparse_array import BaseSparseNDArray
from mixnet.runtime.record.files import Saving, read, write
from mixnet.runtime.value.value import adopt, aligned_empty
from mixnet.util import is_np_shape

Arrays = NDArray | Sequence[NDArray] | Mapping[str, NDArray]

_FILE_MAGIC = 0x112
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
STORAGE = {"default": 0, "row_sparse": 1, "csr": 2}
_MOST_AXES = 32
_MOST_BYTES = (1 << 63) - 1


def save(fname: str | os.PathLike[str], data: Arrays, wait: bool = True) -> Saving | None:
    """Write arrays to a file that MXNet 1.9.1 reads, or to a safetensors file.

    The file is complete or absent: it is written under a temporary name and then renamed.

    Args:
        fname: path of the file; a name that ends in ``.safetensors`` makes it one, which holds
            dense arrays by name.
        data: an array, a list of arrays, or a dict from names to arrays; their current
            values are written, even if the arrays change meanwhile.
        wait: return when the file is complete; otherwise at once, with a handle to wait on.

    Raises:
        TypeError: something in ``data`` is not an array.
        ValueError: a safetensors file cannot hold it.
        MissingFileError: the folder does not exist; raised by the handle if not waiting.
        FileError: the file cannot be written; also raised by the handle if not waiting.
    """
    names, arrays = _named(data)
    content_of = _pieces
    if safetensors_file.is_named_so(fname):
        safetensors_file.checked(names, arrays)
        content_of = safetensors_file.pieces
    now = [each.copy() if each._is_sparse else type(each)._wrap(each._read()) for each in arrays]
    values = [part._read() for each in now for part in _parts(each)]
    return write(fname, lambda: write_whole(fname, content_of(now, names)), values, wait)


def _parts(array: NDArray) -> Sequence[NDArray]:
    return (array._data, *array._aux) if isinstance(array, BaseSparseNDArray) else (array,)


def to_bytes(data: Arrays) -> bytes:
    """The content of a ``.params`` file."""
    return b"".join(pieces(data))


def pieces(data: Arrays) -> Iterator[bytes]:
    """The content of a ``.params`` file, an array at a time.

    Raises:
        TypeError: something in ``data`` is not an array; before the first piece.
    """
    names, arrays = _named(data)
    return _pieces(arrays, names)


def _named(data: Arrays) -> tuple[list[str], Sequence[Any]]:
    names: list[str] = []
    if isinstance(data, NDArray):
        arrays: Sequence[Any] = [data]
    elif isinstance(data, Mapping):
        names, arrays = list(data), list(data.values())
    elif isinstance(data, (list, tuple)):
        arrays = data
    else:
        raise AttributeValueError(
            f"save takes an array, a list or a dict of arrays, not {type(data).__name__}."
        )
    for name in names:
        if not isinstance(name, str):
            raise AttributeTypeError(f"save: names of arrays must be strings, not {name!r:.60}.")
    for i, each in enumerate(arrays):
        if not isinstance(each, NDArray):
            label = repr(names[i]) if names else f"number {i}"
            raise AttributeTypeError(
                f"save: entry {label} is a {type(each).__name__}, not an NDArray."
            )
    return names, arrays


def _pieces(arrays: Sequence[NDArray], names: Sequence[str]) -> Iterator[bytes]:
    yield struct.pack("<QQQ", _FILE_MAGIC, 0, len(arrays))
    for each in arrays:
        yield from array_pieces(each)
    yield struct.pack("<Q", len(names))
    for name in names:
        text = str(name).encode()
        yield struct.pack("<Q", len(text)) + text


def array_bytes(array: NDArray) -> bytes:
    """One array in the format of a file."""
    return b"".join(array_pieces(array))


def array_pieces(array: NDArray) -> Iterator[Any]:
    """One array in the format of a file: its description, then views of its content."""
    aux: list[np.ndarray] = []
    shape = array.shape
    if isinstance(array, BaseSparseNDArray):
        data, aux = array._data.asnumpy(), [each.asnumpy() for each in array._aux]
    else:
        data = array.asnumpy()
    # A shape without axes needs the later format, which can say so.
    later = is_np_shape() or not shape
    parts = [struct.pack("<Ii", _V3 if later else _V2, STORAGE[array.stype])]
    if aux:
        parts.append(_shape_bytes(data.shape))
    parts += [_shape_bytes(shape), struct.pack("<iii", 1, 0, CODES[data.dtype])]
    for each in aux:
        parts += [struct.pack("<i", CODES[each.dtype]), _shape_bytes(each.shape)]
    yield b"".join(parts)
    for each in (data, *aux):
        # Bytes of the array itself: it may be gigabytes.
        yield np.ascontiguousarray(each).reshape(-1).view(np.uint8).data


def _shape_bytes(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def load(fname: str | os.PathLike[str]) -> Any:
    """Load arrays from a ``.params`` or safetensors file: a dict if the arrays have names, else a list.

    Args:
        fname: path of the file.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is truncated, corrupted or of another format; or it was saved with numpy
            shapes on and they are off, or vice versa.
    """
    return read(fname, lambda: _load(fname))


def _load(fname: str | os.PathLike[str]) -> Any:
    with FileBytes(fname) as content:
        return _arrays(content)


def load_frombuffer(buf: object, name: str = "the buffer") -> Any:
    """Load arrays from the content of a ``.params`` or safetensors file.

    Args:
        buf: the bytes of the file.
        name: what error messages call the content.

    Raises:
        AttributeTypeError: it holds no bytes.
        FileFormatError: it is truncated, corrupted or of another format.
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise AttributeTypeError(
            f"load_frombuffer takes the bytes of a file, as open(path, 'rb').read() gives them, not "
            f"{type(buf).__name__}."
        )
    return _arrays(MemoryBytes(buf, name))


def _arrays(content: FileBytes | MemoryBytes) -> Any:
    if safetensors_file.begins_so(content.read(0, min(9, content.size))):
        return safetensors_file.arrays_of(content)
    reader, name = Reader(content), content.name
    magic, _ = reader.take("QQ", "the header")
    if magic != _FILE_MAGIC:
        raise FileFormatError(
            f"{name} is not a .params file: it starts with {magic:#x}, not {_FILE_MAGIC:#x}. Use a "
            f"file written by mx.nd.save, save_parameters, save_checkpoint or export, or a safetensors file."
        )
    count = reader.count("number of arrays", 4)
    arrays = [reader.array(i, of_a_file=True) for i in range(count)]
    name_count = reader.count("number of names", 8)
    if name_count not in (0, count):
        raise reader.corrupted(f"{name_count} names for {count} arrays")
    names = [reader.text() for _ in range(name_count)]
    return dict(zip(names, arrays, strict=True)) if names else arrays


class Reader:
    """Reads binary fields and says where a file breaks off."""

    def __init__(self, content: FileBytes | MemoryBytes):
        self.content = content
        self.name = content.name
        self.at = 0

    def corrupted(self, problem: str) -> FileFormatError:
        """The error for a file that says something impossible."""
        return FileFormatError(
            f"{self.name} is corrupted: {problem}, at byte {self.at} of {self.content.size}. Copy or "
            f"save it again."
        )

    def raw(self, size: int, part: str) -> bytes:
        """The next ``size`` bytes."""
        return self.content.read(self.skip(size, part), size)

    def skip(self, size: int, part: str) -> int:
        """Step over the next ``size`` bytes; returns where they begin."""
        if size < 0 or self.at + size > self.content.size:
            raise FileFormatError(
                f"{self.name} is truncated: {part} needs {size} bytes at byte {self.at}, but the "
                f"file has {self.content.size}. Copy or save it again."
            )
        self.at += size
        return self.at - size

    def take(self, fields: str, part: str) -> tuple[int, ...]:
        """The next fields, as ``struct`` spells them."""
        return struct.unpack("<" + fields, self.raw(struct.calcsize("<" + fields), part))

    def count(self, part: str, least: int) -> int:
        """A count of things of at least ``least`` bytes each: more cannot follow than fit."""
        (count,) = self.take("Q", part)
        if count * least > self.content.size - self.at:
            raise self.corrupted(f"{part} is {count}, more than fit into the rest of the file")
        return count

    def text(self) -> str:
        """A length and so many bytes of UTF-8."""
        size = self.count("length of a name", 1)
        try:
            return self.raw(size, "a name").decode()
        except UnicodeDecodeError:
            raise self.corrupted("a name is not UTF-8") from None

    def shape(self, axes: int, code: str, part: str) -> tuple[int, ...]:
        """``axes`` extents."""
        if not 0 <= axes <= _MOST_AXES:
            raise self.corrupted(f"{part} has {axes} axes")
        shape = self.take(f"{axes}{code}", f"the shape of {part}")
        if any(extent < 0 for extent in shape):
            raise self.corrupted(f"{part} has shape {shape}")
        return shape

    def elements(self, shape: tuple[int, ...], code: int, part: str) -> np.ndarray:
        """The content of an array, where XLA reads it in place: there is no other copy."""
        if code not in BY_CODE:
            raise self.corrupted(f"{part} has dtype code {code}")
        dtype = BY_CODE[code]
        if math.prod(filter(None, shape)) * dtype.itemsize > _MOST_BYTES:
            raise self.corrupted(f"{part} has shape {shape}")  # also where it is empty
        at = self.skip(math.prod(shape) * dtype.itemsize, f"the content of {part}")
        data = aligned_empty(shape, dtype)
        self.content.read_into(at, data)
        return data

    def _check_shapes(self, part: str, later: bool) -> None:
        """Refuse an array whose shape would mean something else now than when it was saved.

        Raises:
            FileFormatError: numpy shapes are on, and were off when the file was written, or the other way.
        """
        if later == is_np_shape():
            return
        saved, now = ("on", "off") if later else ("off", "on")
        remedy = "mx.npx.set_np()" if later else "mx.npx.reset_np()"
        raise FileFormatError(
            f"{self.name}: {part} was saved with numpy shapes {saved}, and they are {now}. Load it under "
            f"`with mx.util.np_shape({later}):`, or call {remedy} before."
        )

    def array(self, number: int, of_a_file: bool = False) -> NDArray:
        """One array, of any version and storage type of the format.

        Args:
            number: names it in errors.
            of_a_file: refuse shapes that were saved in another sense than that of now.
        """
        part = f"array {number}"
        (magic,) = self.take("I", part)
        if of_a_file and magic in (_V2, _V3):
            self._check_shapes(part, magic == _V3)
        if magic in (_V2, _V3):
            (storage,) = self.take("i", part)
            if storage not in (0, 1, 2):
                raise self.corrupted(f"{part} has storage type {storage}")
            if storage:
                return self.sparse(storage, part)
            shape = self.shape(self.take("i", part)[0], "q", part)
        elif magic == _V1:
            shape = self.shape(self.take("i", part)[0], "q", part)
        else:  # the oldest format begins with the number of axes
            shape = self.shape(magic, "I", part)
        if not shape and magic != _V3:
            return _wrapped(np.zeros((), np.float32))  # "no array": nothing follows
        _, _, code = self.take("iii", part)
        return _wrapped(self.elements(shape, code, part))

    def sparse(self, storage: int, part: str) -> NDArray:
        """A row_sparse (1) or csr (2) array, read after its storage type."""
        stored = self.shape(self.take("i", part)[0], "q", part)
        shape = self.shape(self.take("i", part)[0], "q", part)
        _, _, code = self.take("iii", part)
        described = []
        for _ in range(storage):
            (aux_code,) = self.take("i", part)
            described.append((aux_code, self.shape(self.take("i", part)[0], "q", part)))
        if not math.prod(stored):
            # MXNet writes this shape before it has waited for the array: it may be too early, and
            # its reader goes by the positions, which are written afterwards.
            places = described[-1][1]
            stored = places if storage == STORAGE["csr"] else (*places, *shape[1:])
        problem = _sparse_problem(storage, shape, stored, described)
        if problem:
            raise self.corrupted(f"{part}: {problem}")
        data = _wrapped(self.elements(stored, code, part))
        aux = tuple(_wrapped(self.elements(each, kind, part)) for kind, each in described)
        cls: type[BaseSparseNDArray] = RowSparseNDArray if storage == 1 else CSRNDArray
        array = cls._make(data, aux, shape)
        try:
            array._check_places()
        except MXNetError as error:
            raise self.corrupted(f"{part}: {error}") from None
        return array


def _sparse_problem(
    storage: int,
    shape: tuple[int, ...],
    stored: tuple[int, ...],
    described: Sequence[tuple[int, tuple[int, ...]]],
) -> str:
    """The reason why these shapes are not those of one sparse array; empty if they are."""
    kind = "row_sparse" if storage == STORAGE["row_sparse"] else "csr"
    if any(code not in BY_CODE or BY_CODE[code].kind not in "iu" for code, _ in described):
        return f"the positions of a {kind} array are not of a dtype of whole numbers"
    places = described[-1][1]
    if kind == "csr":
        fits = len(shape) == 2 and stored == places and len(places) == 1
        fits = fits and described[0][1] == (shape[0] + 1,)
    else:
        fits = len(shape) > 0 and len(places) == 1 and stored == (*places, *shape[1:])
    if fits:
        return ""
    positions = " and ".join(str(each) for _, each in described)
    return f"a {kind} array of shape {shape} cannot have values {stored} at positions {positions}"


def _wrapped(data: np.ndarray) -> NDArray:
    return NDArray._wrap(adopt(data, cpu()))


def _state_bytes(self: NDArray) -> bytes:
    return array_bytes(self)


def _from_state(self: NDArray, content: bytes) -> NDArray:
    return Reader(MemoryBytes(content, "the pickled array")).array(0)


NDArray._to_bytes = _state_bytes  # type: ignore[method-assign]
NDArray._from_bytes = _from_state  # type: ignore[method-assign]
